"""Factorisations and inexact solves against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.sparse import csr_matrix, random_array

from closeknit.linalg import conjugate_gradients, factorize, factors
from closeknit.linalg.factors import DenseCholesky, DiagonalFactor, SparseFactor


def positive_definite(n, density, seed=0):
    A = random_array((n, n), density=density, rng=np.random.default_rng(seed)).tocsr()
    A = A + A.T
    return csr_matrix(A + (abs(A).sum(axis=1).max() + 0.1) * csr_matrix(np.eye(n)))


@pytest.mark.parametrize("solver", ["auto", "dense", "sparse"])
@pytest.mark.parametrize("columns", [1, 2, 5])
def test_solve(solver, columns):
    B = positive_definite(60, 0.05)
    rhs = np.random.default_rng(0).normal(size=(60, columns))
    kept = rhs.copy()
    np.testing.assert_allclose(
        factorize(B, solver).solve(rhs), np.linalg.solve(B.toarray(), rhs), atol=1e-12
    )
    np.testing.assert_array_equal(rhs, kept)


def test_auto_goes_by_size_and_neighbours():
    assert isinstance(factorize(csr_matrix(np.eye(3))), DiagonalFactor)
    assert isinstance(factorize(positive_definite(50, 0.05)), DenseCholesky)
    assert isinstance(factorize(positive_definite(1500, 0.0005)), SparseFactor)
    assert isinstance(factorize(positive_definite(1200, 0.05)), DenseCholesky)


@pytest.mark.parametrize("solver", ["dense", "sparse"])
def test_singular(solver):
    with pytest.raises(LinAlgError):
        factorize(csr_matrix([[1.0, 1.0], [1.0, 1.0]]), solver)


def test_singular_diagonal():
    with pytest.raises(LinAlgError):
        DiagonalFactor(csr_matrix([[1.0, 0.0], [0.0, 0.0]]))


@pytest.mark.parametrize("solver", ["dense", "sparse"])
def test_too_little_memory(monkeypatch, solver):
    monkeypatch.setattr(factors, "_physical_memory", lambda: 1000)
    with pytest.raises(
        MemoryError, match=r"60 points needs .* this machine has .*; keep fewer neighbours"
    ):
        factorize(positive_definite(60, 0.05), solver)


def test_memory_runs_out_during_the_factorisation(monkeypatch):
    def splu(*args, **kwargs):
        raise MemoryError

    monkeypatch.setattr(factors, "splu", splu)
    with pytest.raises(MemoryError, match="needs more memory than there is; keep fewer"):
        factorize(positive_definite(60, 0.05), "sparse")


@pytest.mark.parametrize("tol", [0.1, 1e-3, 1e-8])
def test_conjugate_gradients(tol):
    B = positive_definite(60, 0.05)
    rng = np.random.default_rng(0)
    rhs, start = rng.normal(size=(60, 2)), rng.normal(size=(60, 2))
    P, iterations = conjugate_gradients(lambda V: B @ V, rhs, start, tol, 200)
    assert np.linalg.norm(B @ P - rhs) <= tol * np.linalg.norm(rhs) * (1 + 1e-9)
    assert iterations < 200


def test_conjugate_gradients_stops():
    B = positive_definite(60, 0.05)
    rhs = np.ones((60, 1))
    _, iterations = conjugate_gradients(lambda V: B @ V, rhs, 0 * rhs, 0.0, 3)
    assert iterations == 3
    P, iterations = conjugate_gradients(lambda V: B @ V, 0 * rhs, 0 * rhs, 0.1, 3)
    assert iterations == 0
    np.testing.assert_array_equal(P, 0 * rhs)


def test_warm_start_at_the_solution_costs_nothing():
    B = positive_definite(60, 0.05)
    rhs = np.ones((60, 1))
    solution = np.linalg.solve(B.toarray(), rhs)
    assert conjugate_gradients(lambda V: B @ V, rhs, solution, 0.1, 50)[1] == 0
