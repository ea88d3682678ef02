"""Factorisations and inexact solves against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.sparse import csr_matrix, random_array

from closeknit.linalg import choose_solver, factorize, factors
from closeknit.linalg.factors import DiagonalFactor


def positive_definite(n, density, seed=0):
    A = random_array((n, n), density=density, random_state=np.random.default_rng(seed)).tocsr()
    A = A + A.T
    return csr_matrix(A + (abs(A).sum(axis=1).max() + 0.1) * csr_matrix(np.eye(n)))


@pytest.mark.parametrize("solver", ["dense", "sparse"])
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
    sizes = {"dense": (50, 500), "sparse": (1500, 4000), "approximate": (70_000, 10**6)}
    assert {name: choose_solver(n, nnz) for name, (n, nnz) in sizes.items()} == {
        n: n for n in sizes
    }
    assert choose_solver(1200, 1200 * 120) == "dense"


def test_nothing_off_the_diagonal():
    diagonal = csr_matrix(np.diag([1.0, 2.0, 4.0]))
    for solver in ("dense", "sparse"):
        factor = factorize(diagonal, solver)
        assert isinstance(factor, DiagonalFactor)
        np.testing.assert_array_equal(factor.solve(np.ones((3, 1))).ravel(), [1.0, 0.5, 0.25])


@pytest.mark.parametrize("solver", ["dense", "sparse"])
def test_singular(solver):
    with pytest.raises(LinAlgError):
        factorize(csr_matrix([[1.0, 1.0], [1.0, 1.0]]), solver)


def test_singular_diagonal():
    with pytest.raises(LinAlgError):
        DiagonalFactor(csr_matrix([[1.0, 0.0], [0.0, 0.0]]))


@pytest.mark.parametrize("solver", ["dense", "sparse"])
def test_too_little_memory(monkeypatch, solver):
    monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 10, "SC_PAGE_SIZE": 100}.get)
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
