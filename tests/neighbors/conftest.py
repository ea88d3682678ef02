"""Plain NumPy twins of what the library computes, slow and obvious."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest


def brute_force(sq_distances, n_neighbors, exclude_self=True):
    """The first n_neighbors of each row by (distance, index)."""
    sq_distances = np.array(sq_distances, dtype=np.float64)
    if exclude_self:
        np.fill_diagonal(sq_distances, np.nan)  # sorts last
    order = np.argsort(sq_distances, axis=1, kind="stable")[:, :n_neighbors]
    return order, np.take_along_axis(sq_distances, order, axis=1)


def sq_euclidean(A, B):
    A, B = np.asarray(A, dtype=np.float64), np.asarray(B, dtype=np.float64)
    return np.array([((B - a) ** 2).sum(axis=1) for a in A])


def assert_nearest(neighbors, sq_distances, n_neighbors, exclude_self=True, rtol=1e-12, atol=0.0):
    """Same distances, sorted rows, no index twice, and indices that belong to their distances."""
    sq_distances = np.asarray(sq_distances, dtype=np.float64)
    indices, expected = brute_force(sq_distances, n_neighbors, exclude_self)
    assert neighbors.indices.shape == indices.shape
    np.testing.assert_allclose(neighbors.sq_distances, expected, rtol=rtol, atol=atol)
    assert (np.diff(neighbors.sq_distances, axis=1) >= 0).all()
    own = np.take_along_axis(sq_distances, neighbors.indices.astype(int), axis=1)
    np.testing.assert_allclose(own, expected, rtol=rtol, atol=atol)
    if exclude_self:
        assert (neighbors.indices != np.arange(len(indices))[:, None]).all()
    ordered = np.sort(neighbors.indices, axis=1)
    assert (ordered[:, 1:] != ordered[:, :-1]).all()
    tied = np.diff(neighbors.sq_distances, axis=1) == 0
    assert (np.diff(neighbors.indices, axis=1)[tied] > 0).all()


def assert_same_bits(first, second):
    np.testing.assert_array_equal(first.indices, second.indices)
    np.testing.assert_array_equal(first.sq_distances, second.sq_distances)


@pytest.fixture
def twin():
    return SimpleNamespace(
        brute_force=brute_force,
        sq_euclidean=sq_euclidean,
        assert_nearest=assert_nearest,
        assert_same_bits=assert_same_bits,
    )


@pytest.fixture
def rng():
    return np.random.default_rng(20130616)


@pytest.fixture(scope="session")
def clusters():
    """5,000 points in 40 dimensions: clusters of different spread, decaying directions."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(30, 40)) * 4
    labels = rng.integers(30, size=5000)
    spread = rng.uniform(0.3, 2.0, size=30)[labels, None] * 0.93 ** np.arange(40)
    return (centers[labels] + spread * rng.normal(size=(5000, 40))).astype(np.float32)
