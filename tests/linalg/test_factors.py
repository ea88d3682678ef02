"""Factorisations and inexact solves against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.sparse import csr_matrix, random_array

from closeknit.linalg import factorize, factors
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
