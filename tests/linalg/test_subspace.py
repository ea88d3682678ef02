"""Best approximations to eigenvectors in a growing space."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, qr

from closeknit.linalg import subspace
from closeknit.linalg.subspace import Subspace

N = 2100  # rows, in three pieces


@pytest.fixture
def matrix():
    """A diagonal matrix will do: nothing is known about the coordinates."""
    return np.linspace(0.1, 3.0, N)[:, None]


def random(n_columns: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(N, n_columns))


def ritz_values(basis: np.ndarray, matrix: np.ndarray, size: int) -> np.ndarray:
    """Independently, from an orthonormal basis."""
    Q = qr(basis, mode="economic")[0]
    return eigh(Q.T @ (matrix * Q), eigvals_only=True)[:size]


def test_first_vectors_are_the_best_of_the_start(matrix):
    X = random(4)
    space = Subspace(X, matrix * X)
    np.testing.assert_allclose(space.values, ritz_values(X, matrix, 4), rtol=1e-12)
    V = space.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-12)
    R, squares = space.residuals()
    np.testing.assert_allclose(R, matrix * V - V * space.values, atol=1e-12)
    np.testing.assert_allclose(squares, np.square(R).sum(axis=0))


@pytest.mark.parametrize("active", [(True,) * 4, (False,) * 4])
def test_each_step_is_the_best_of_all_there_is(matrix, active):
    """Of the vectors, those before the last step if it was kept, and the new directions."""
    X = random(4)
    space = Subspace(X, matrix * X)
    last = np.empty((N, 0))
    for seed in (1, 2, 3):
        before, H = space.vectors, random(4, seed)
        space.orthogonalize(H)
        np.testing.assert_allclose(before.T @ H, 0.0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(H, axis=0), 1.0)
        expected = ritz_values(np.hstack([before, last, H]), matrix, 4)
        space.improve(H, matrix * H, np.array(active))
        np.testing.assert_allclose(space.values, expected, rtol=1e-10)
        last = before[:, list(active)]


def test_directions_that_add_nothing_do_no_harm(matrix):
    X = random(3)
    space = Subspace(X, matrix * X)
    values = space.values
    H = np.hstack([space.vectors[:, :1], np.zeros((N, 1))])
    space.improve(H, matrix * H, np.ones(3, dtype=bool))
    np.testing.assert_allclose(space.values, values, rtol=1e-12)
    H = np.zeros((N, 2))
    space.orthogonalize(H)
    np.testing.assert_array_equal(H, 0.0)


def test_same_bits_on_any_number_of_threads(matrix, monkeypatch):
    monkeypatch.setattr(subspace, "_FEW", 0)
    found = []
    for n_jobs in (1, 2, 5):
        X, H = random(4), random(4, seed=1)
        space = Subspace(X, matrix * X, n_jobs)
        space.orthogonalize(H)
        space.improve(H, matrix * H, np.ones(4, dtype=bool))
        found.append(space.vectors)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
