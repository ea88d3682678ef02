"""Exact search is exact on every path, for every metric that reduces to Euclidean distances."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from closeknit.neighbors import ApproximateIndex, ExactIndex, PairwiseIndex, find_neighbors


@pytest.mark.parametrize("algorithm", ["tree", "sketch", "scan"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n_samples", "n_features"), [(2, 1), (60, 1), (300, 3), (700, 37)])
def test_euclidean(twin, rng, algorithm, dtype, n_samples, n_features):
    X = rng.normal(size=(n_samples, n_features)).astype(dtype)
    k = min(7, n_samples - 1)
    neighbors = ExactIndex(algorithm=algorithm).fit(X).self_neighbors(k)
    twin.assert_nearest(neighbors, twin.sq_euclidean(X, X), k)


@pytest.mark.parametrize("algorithm", ["sketch", "scan"])
def test_sketches_of_many_points(twin, clusters, algorithm):
    neighbors = ExactIndex(algorithm=algorithm).fit(clusters).self_neighbors(30)
    twin.assert_nearest(neighbors, twin.sq_euclidean(clusters, clusters), 30)


def test_more_features_than_directions(twin, rng):
    """Above 256 features the basis is a random range, and the residual does real work."""
    X = (rng.normal(size=(2500, 20)) @ rng.normal(size=(20, 400))).astype(np.float32)
    X += 0.5 * rng.normal(size=X.shape).astype(np.float32)
    neighbors = ExactIndex(algorithm="sketch").fit(X).self_neighbors(10)
    twin.assert_nearest(neighbors, twin.sq_euclidean(X, X), 10)


def test_without_dominant_directions(twin, rng):
    X = rng.normal(size=(2500, 300)).astype(np.float32)
    neighbors = ExactIndex(algorithm="sketch").fit(X).self_neighbors(10)
    twin.assert_nearest(neighbors, twin.sq_euclidean(X, X), 10)


@pytest.mark.parametrize("algorithm", ["tree", "sketch", "scan"])
def test_ties_go_to_the_smaller_index(twin, algorithm):
    grid = np.stack(np.meshgrid(*[np.arange(7.0)] * 3), axis=-1).reshape(-1, 3)
    for k in (1, 4, 6, 13, 30):
        neighbors = ExactIndex(algorithm=algorithm).fit(grid).self_neighbors(k)
        indices, sq_distances = twin.brute_force(twin.sq_euclidean(grid, grid), k)
        np.testing.assert_array_equal(neighbors.indices, indices)
        np.testing.assert_array_equal(neighbors.sq_distances, sq_distances)


@pytest.mark.parametrize("algorithm", ["tree", "sketch", "scan"])
@pytest.mark.parametrize("n_places", [1, 3, 40])
def test_crowded_places(twin, rng, algorithm, n_places):
    """Many copies in one place: self goes by identity, the others stay, lowest indices first."""
    X = rng.integers(0, 3, size=(n_places, 4))[rng.integers(n_places, size=500)].astype(float)
    for k in (1, 20, 499):
        neighbors = ExactIndex(algorithm=algorithm).fit(X).self_neighbors(k)
        indices, sq_distances = twin.brute_force(twin.sq_euclidean(X, X), k)
        np.testing.assert_array_equal(neighbors.indices, indices)
        np.testing.assert_array_equal(neighbors.sq_distances, sq_distances)


@pytest.mark.parametrize("algorithm", ["tree", "sketch", "scan"])
def test_a_few_duplicates(twin, rng, algorithm):
    X = rng.normal(size=(200, 6))
    X[50:60] = X[:10]
    neighbors = ExactIndex(algorithm=algorithm).fit(X).self_neighbors(5)
    np.testing.assert_array_equal(neighbors.indices[:10, 0], np.arange(50, 60))
    np.testing.assert_array_equal(neighbors.indices[50:60, 0], np.arange(10))
    assert (neighbors.sq_distances[:10, 0] == 0).all()


@pytest.mark.parametrize("algorithm", ["tree", "sketch", "scan"])
@pytest.mark.parametrize("n_features", [2, 30])
def test_no_cancellation(algorithm, n_features):
    """Points at 1e8 with gaps of 1e-3, against exact rationals."""
    rng = np.random.default_rng(3)
    X = 1e8 + 1e-3 * rng.integers(0, 50, size=(120, n_features))
    exact = [[Fraction(v) for v in row] for row in X]
    neighbors = ExactIndex(algorithm=algorithm).fit(X).self_neighbors(6)
    for i in range(0, 120, 7):
        row = sorted(
            (sum((a - b) ** 2 for a, b in zip(exact[i], exact[j], strict=True)), j)
            for j in range(120)
            if j != i
        )
        expected = [float(d) for d, _ in row[:6]]
        np.testing.assert_allclose(neighbors.sq_distances[i], expected, rtol=1e-14)


@pytest.mark.parametrize("algorithm", ["tree", "sketch", "scan"])
@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_any_units(twin, rng, algorithm, scale):
    X = rng.normal(size=(400, 8))
    neighbors = ExactIndex(algorithm=algorithm).fit(X * scale).self_neighbors(9)
    twin.assert_nearest(neighbors, twin.sq_euclidean(X * scale, X * scale), 9)


@pytest.mark.parametrize("offset", [1e3, 1e6, 1e9])
def test_large_offset(twin, rng, offset):
    X = rng.normal(size=(400, 25)) + offset
    neighbors = ExactIndex(algorithm="sketch").fit(X).self_neighbors(9)
    twin.assert_nearest(neighbors, twin.sq_euclidean(X, X), 9)


def test_clusters_far_apart(twin, rng):
    """Clusters so tight that float32 cannot tell their points apart."""
    X = np.repeat(rng.normal(size=(4, 30)), 50, axis=0) + 1e-7 * rng.normal(size=(200, 30))
    neighbors = ExactIndex(algorithm="sketch").fit(X).self_neighbors(12)
    twin.assert_nearest(neighbors, twin.sq_euclidean(X, X), 12)


@pytest.mark.parametrize("size", [1e12, 1e30])
@pytest.mark.parametrize("k", [5, 999])
def test_outliers(twin, rng, size, k):
    """Each finds the nearest of all, and nobody finds them before the others."""
    X = rng.normal(size=(1000, 20))
    X[[17, 500, 501]] *= size
    index = pickle.loads(pickle.dumps(ExactIndex(algorithm="sketch").fit(X)))
    twin.assert_nearest(index.self_neighbors(k), twin.sq_euclidean(X, X), k)
    queries = np.concatenate([X[:20] + 0.1, X[[17]] * 1.1, X[[3]] * 1e8])
    expected = twin.sq_euclidean(queries, X)
    twin.assert_nearest(index.query(queries, k), expected, k, exclude_self=False)
    approximate = ApproximateIndex().fit(X)
    found = approximate.self_neighbors(k)
    exact = index.self_neighbors(k)
    np.testing.assert_array_equal(found.indices[[17, 500]], exact.indices[[17, 500]])
    assert np.mean(found.sq_distances <= exact.sq_distances[:, -1:]) > 0.99
    assert approximate.built_for_ == (k if k < 997 else 0)


def test_outliers_do_not_take_the_digits_of_the_others(rng):
    """Which would make every point a candidate for every other, and the search ten times slower."""
    X = rng.normal(size=(2000, 20))
    X[17] = 1e30
    searched = ExactIndex(algorithm="sketch").fit(X)._engine
    assert len(searched._engine.points) == 1999


def test_points_apart_need_no_medians_to_know_that_none_is_an_outlier(rng, monkeypatch):
    monkeypatch.setattr(np, "median", None)
    for n in (2, 3, 700, 701):
        ExactIndex(algorithm="sketch").fit(rng.normal(size=(n, 20)))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product", "sqeuclidean"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_disguised_metrics(twin, rng, metric, sparse, dtype):
    X = rng.normal(size=(300, 20)) * (rng.random((300, 20)) < 0.4)
    X[:, 0] += 0.5
    X = X.astype(dtype)
    Y = X[:40] + dtype(0.1)
    wide, wide_y = X.astype(np.float64), Y.astype(np.float64)
    if metric == "cosine":

        def reference(a, b):
            return pairwise_distances(a, b, metric="cosine") ** 2

    elif metric == "inner_product":

        def reference(a, b):
            largest = (wide**2).sum(axis=1).max()
            return (a**2).sum(axis=1)[:, None] + largest - 2 * a @ b.T

    else:
        reference = twin.sq_euclidean
    container = sp.csr_matrix if sparse else np.asarray
    index = ExactIndex(metric).fit(container(X))
    tolerance = {"rtol": 1e-11, "atol": 1e-28}
    twin.assert_nearest(index.self_neighbors(11), reference(wide, wide), 11, **tolerance)
    found = index.query(container(Y), 11)
    twin.assert_nearest(found, reference(wide_y, wide), 11, exclude_self=False, **tolerance)


def test_cosine_of_near_parallel_vectors(rng):
    """1 − cos by subtraction would be rounding noise here; the truth is about gap²/2."""
    angles = 1e-9 * np.arange(5)
    X = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    neighbors = find_neighbors(X, 1, metric="cosine")
    np.testing.assert_allclose(np.sqrt(neighbors.sq_distances), 0.5e-18, rtol=1e-6)


def test_sparse_duplicates_and_empty_rows(twin, rng):
    X = np.where(rng.random((200, 30)) < 0.1, rng.integers(1, 3, size=(200, 30)), 0.0)
    X[20:60] = 0.0
    neighbors = find_neighbors(sp.csr_matrix(X), 15, neighbors="exact")
    indices, sq_distances = twin.brute_force(twin.sq_euclidean(X, X), 15)
    np.testing.assert_array_equal(neighbors.indices, indices)
    np.testing.assert_array_equal(neighbors.sq_distances, sq_distances)


METRICS = {
    "manhattan": {},
    "chebyshev": {},
    "minkowski": {"p": 3},
    "canberra": {},
    "braycurtis": {},
    "correlation": {},
    "seuclidean": {},
    "mahalanobis": {},
    "hamming": {},
    "nan_euclidean": {},
}


@pytest.mark.parametrize("metric", METRICS)
def test_every_other_metric(twin, rng, metric):
    X = rng.random(size=(150, 6))
    params = METRICS[metric]
    expected = pairwise_distances(X, metric=metric, **params) ** 2
    neighbors = find_neighbors(X, 8, metric=metric, metric_params=params)
    twin.assert_nearest(neighbors, expected, 8, rtol=1e-9, atol=1e-14)


@pytest.mark.filterwarnings("ignore:Data was converted to boolean")
def test_boolean_metric(twin, rng):
    X = rng.random(size=(80, 12)) < 0.5
    neighbors = find_neighbors(X, 5, metric="jaccard")
    twin.assert_nearest(neighbors, pairwise_distances(X, metric="jaccard") ** 2, 5)


def test_callable_metric(twin, rng):
    X = rng.normal(size=(60, 3))
    neighbors = find_neighbors(X, 4, metric=lambda a, b: np.abs(a - b).sum())
    twin.assert_nearest(neighbors, pairwise_distances(X, metric="manhattan") ** 2, 4)


def test_fitted_covariance_is_used_for_queries(twin, rng):
    X, Y = rng.normal(size=(100, 4)) * [1, 5, 10, 50], rng.normal(size=(10, 4))
    inverse = np.linalg.inv(np.cov(X, rowvar=False))
    expected = pairwise_distances(Y, X, metric="mahalanobis", VI=inverse) ** 2
    found = PairwiseIndex("mahalanobis").fit(X).query(Y, 6)
    twin.assert_nearest(found, expected, 6, exclude_self=False, rtol=1e-9)
