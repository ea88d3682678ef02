"""Conjugate gradients against LAPACK, and when they stop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from closeknit.linalg import ApproximateCholesky, conjugate_gradients


def positive_definite(n, density, seed=0):
    A = random_array((n, n), density=density, random_state=np.random.default_rng(seed)).tocsr()
    A = A + A.T
    return csr_matrix(A + (abs(A).sum(axis=1).max() + 0.1) * csr_matrix(np.eye(n)))


def path_laplacian(n):
    L = 2.0 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    L[0, 0] = L[-1, -1] = 1.0
    return csr_matrix(L)


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


def test_columns_do_not_depend_on_each_other():
    """Each column has its own steps; one that is solved stays where it is."""
    B = positive_definite(60, 0.05)
    rng = np.random.default_rng(1)
    rhs = rng.normal(size=(60, 3)) * [1.0, 1e-6, 0.0]
    X, _ = conjugate_gradients(lambda V: B @ V, rhs, np.zeros((60, 3)), 1e-10, 200)
    np.testing.assert_allclose(X, np.linalg.solve(B.toarray(), rhs), rtol=1e-6, atol=1e-14)
    np.testing.assert_array_equal(X[:, 2], 0.0)


def test_arguments_are_not_changed():
    B = positive_definite(30, 0.1)
    rhs, start = np.ones((30, 2)), np.full((30, 2), 3.0)
    conjugate_gradients(lambda V: B @ V, rhs, start, 1e-8, 100)
    assert (rhs == 1.0).all()
    assert (start == 3.0).all()


def test_preconditioner_saves_iterations_and_keeps_the_solution():
    """On a path its approximate factor is exact: one iteration, where there were hundreds."""
    n = 300
    L = path_laplacian(n)
    rhs = np.random.default_rng(0).normal(size=(n, 2))
    rhs -= rhs.mean(axis=0)
    plain, many = conjugate_gradients(lambda V: L @ V, rhs, 0 * rhs, 1e-9, 2000)
    factor = ApproximateCholesky(
        csr_matrix(-np.triu(L.toarray(), 1) - np.tril(L.toarray(), -1)), np.zeros(n)
    )
    found, few = conjugate_gradients(
        lambda V: L @ V, rhs, 0 * rhs, 1e-9, 2000, precondition=factor.solve
    )
    assert few <= 2 < 100 < many
    np.testing.assert_allclose(found, plain - plain.mean(axis=0), atol=1e-4)


def test_patience_ends_what_rounding_cannot_solve():
    """A right-hand side outside the range of a singular matrix has no solution."""
    L, rhs = path_laplacian(40), np.ones((40, 1))
    rhs[0] = 2.0
    _, impatient = conjugate_gradients(lambda V: L @ V, rhs, 0 * rhs, 1e-12, 5000, patience=7)
    _, patient = conjugate_gradients(lambda V: L @ V, rhs, 0 * rhs, 1e-12, 5000)
    assert impatient < patient


def test_matrix_that_is_not_positive_definite_ends_the_iteration():
    rhs = np.ones((3, 1))
    X, n_iter = conjugate_gradients(lambda V: -V, rhs, 0 * rhs, 1e-8, 50)
    assert n_iter == 0
    np.testing.assert_array_equal(X, 0.0)
