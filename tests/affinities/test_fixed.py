"""FixedAffinities against a plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from closeknit.affinities import FixedAffinities

X = np.random.default_rng(0).normal(size=(120, 4))
X_NEW = np.random.default_rng(1).normal(size=(25, 4))


def array(P):
    return P.toarray() if sparse.issparse(P) else P


def fixed_twin(D2, sigmas):
    """p_j ∝ exp(-d_j² / 2σ²) over the other points; uniform over the nearest if σ = 0."""
    P = np.empty_like(D2)
    for i, (d2, sigma) in enumerate(zip(D2, sigmas, strict=True)):
        gap = d2 - d2.min()
        P[i] = gap == 0.0 if sigma == 0.0 else np.exp(-gap / (2.0 * sigma**2))
        P[i] /= P[i].sum()
    return P


def others(points):
    D2 = np.square(points[:, None] - points).sum(axis=2)
    np.fill_diagonal(D2, np.inf)
    return D2


@pytest.mark.parametrize("n_neighbors", [119, None])
@pytest.mark.parametrize("sigma", [1e-3, 0.01, 0.03, 0.1, 0.5, 3.0, 1e3])
def test_fixed_affinities_with_one_sigma(sigma, n_neighbors):
    fixed = FixedAffinities(sigma=sigma, n_neighbors=n_neighbors).fit(X)
    expected = fixed_twin(others(X), np.full(120, sigma))
    np.testing.assert_allclose(array(fixed.affinities_), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(fixed.sigmas_, sigma)
    np.testing.assert_allclose(fixed.betas_, 0.5 / sigma**2)
    entropy = -(expected * np.log(np.where(expected > 0, expected, 1.0))).sum(axis=1)
    np.testing.assert_allclose(fixed.perplexities_, np.exp(entropy), rtol=1e-9)


@pytest.mark.parametrize("n_neighbors", [119, None])
@pytest.mark.parametrize("rank", [1, 7, 119])
def test_fixed_affinities_with_the_distance_to_a_neighbour(rank, n_neighbors):
    """Zelnik-Manor and Perona: σ is the distance to neighbour number `rank`."""
    fixed = FixedAffinities(rank=rank, n_neighbors=n_neighbors).fit(X)
    D2 = others(X)
    sigmas = np.sqrt(np.sort(D2, axis=1)[:, rank - 1])
    np.testing.assert_allclose(fixed.sigmas_, sigmas, rtol=1e-12)
    np.testing.assert_allclose(array(fixed.affinities_), fixed_twin(D2, sigmas), atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [20, None])
def test_fixed_affinities_include_self(n_neighbors):
    """A point itself is not its own first neighbour, but has an affinity."""
    fixed = FixedAffinities(rank=3, n_neighbors=n_neighbors, include_self=True).fit(X)
    D2 = others(X)
    np.testing.assert_allclose(fixed.sigmas_, np.sqrt(np.sort(D2, axis=1)[:, 2]), rtol=1e-12)
    P = array(fixed.affinities_)
    np.testing.assert_array_equal(P.argmax(axis=1), np.arange(120))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_neighbors", [30, None])
def test_fixed_affinities_of_duplicates(n_neighbors):
    """A point with `rank` duplicates has σ = 0 and is uniform over them."""
    points = X.copy()
    points[[10, 20, 30]] = points[0]
    fixed = FixedAffinities(rank=3, n_neighbors=n_neighbors).fit(points)
    P = array(fixed.affinities_)
    assert np.isfinite(P).all()
    for i in (0, 10, 20, 30):
        assert fixed.sigmas_[i] == 0.0
        assert fixed.betas_[i] == np.inf
        expected = np.zeros(120)
        expected[[j for j in (0, 10, 20, 30) if j != i]] = 1 / 3
        np.testing.assert_allclose(P[i], expected)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_fixed_affinities_of_new_points_and_oneself():
    """Whole rows are not sorted: the first distance may lie far above the smallest."""
    new = np.square(X_NEW[:, None] - X).sum(axis=2)
    old = others(X)
    np.fill_diagonal(old, 0.0)
    for sigma in np.geomspace(0.003, 1.0, 40):
        fixed = FixedAffinities(sigma=sigma, n_neighbors=None).fit(X)
        expected = fixed_twin(new, np.full(25, sigma))
        np.testing.assert_allclose(fixed.transform(X_NEW), expected, rtol=0, atol=1e-12)
        own = FixedAffinities(sigma=sigma, n_neighbors=None, include_self=True).fit(X)
        expected = fixed_twin(old, np.full(120, sigma))
        np.testing.assert_allclose(own.affinities_, expected, rtol=0, atol=1e-12)
