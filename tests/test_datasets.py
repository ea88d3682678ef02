"""Generated data have the sizes, spreads, distances and dimensions that were asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.datasets import make_gaussian_mixture, make_three_clusters
from closeknit.neighbors import find_neighbors
from closeknit.quality import knn_accuracy


def spreads(X, y):
    """Root mean square distance to the centre, for each cluster."""
    return np.array(
        [np.sqrt(((X[y == c] - X[y == c].mean(0)) ** 2).sum(1).mean()) for c in np.unique(y)]
    )


@given(
    n_samples=st.integers(1, 300),
    n_features=st.integers(1, 12),
    share=st.floats(0.0, 1.0),
    seed=st.integers(0, 2**32 - 1),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=60, deadline=None)
def test_shapes_dtypes_and_no_empty_cluster(n_samples, n_features, share, seed, dtype):
    n_clusters = max(1, round(share * n_samples))
    options = {"n_intrinsic": min(3, n_features), "dtype": dtype, "random_state": seed}
    X, y = make_gaussian_mixture(n_samples, n_features, n_clusters, **options)
    assert X.shape == (n_samples, n_features)
    assert X.dtype == dtype
    assert np.isfinite(X).all()
    assert sorted(set(y.tolist())) == list(range(n_clusters))
    again, labels = make_gaussian_mixture(n_samples, n_features, n_clusters, **options)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(labels, y)


def test_sizes_and_spreads_differ_as_far_as_asked():
    X, y = make_gaussian_mixture(40_000, 20, 30, imbalance=20.0, spread_ratio=4.0, random_state=1)
    sizes = np.bincount(y)
    assert 5.0 < sizes.max() / sizes.min() < 20.0 * 1.2
    of = spreads(X, y)
    assert 2.0 < of.max() / of.min() < 4.0 * 1.1
    same, labels = make_gaussian_mixture(40_000, 20, 30, imbalance=1.0, spread_ratio=1.0)
    assert np.ptp(np.bincount(labels)) < 6 * np.sqrt(40_000 / 30)
    np.testing.assert_allclose(spreads(same, labels), 1.0, rtol=0.1)


def test_centres_are_apart_and_clusters_near_a_flat():
    """The root mean square distance is `separation`; `noise` is what lies off the flat."""
    X, y = make_gaussian_mixture(
        20_000, 100, 50, separation=7.0, n_intrinsic=4, noise=0.1, spread_ratio=1.0
    )
    centers = np.array([X[y == c].mean(0) for c in range(50)])
    gaps = centers[:, None] - centers
    assert np.sqrt((gaps**2).sum(2).sum() / (50 * 49)) == pytest.approx(7.0, rel=0.05)
    values = np.linalg.svd(X[y == 0] - centers[0], compute_uv=False) ** 2
    assert np.sqrt(values[4:].sum() / values.sum()) == pytest.approx(0.1, rel=0.1)


def test_rows_are_in_random_order():
    """The first tenth has its share of every cluster."""
    _, y = make_gaussian_mixture(50_000, 5, 4, imbalance=1.0, n_intrinsic=2)
    np.testing.assert_allclose(np.bincount(y[:5000], minlength=4) / 5000, 0.25, atol=0.03)


def test_neighbours_mean_something_in_many_dimensions():
    """The nearest points are much nearer than the rest, and of the same cluster."""
    X, y = make_gaussian_mixture(3000, 200, 20, dtype=np.float32)
    near = np.sqrt(find_neighbors(X, 10).sq_distances[:, -1])
    typical = np.sqrt(2.0 * X.var(axis=0).sum())  # root mean square distance of two points
    assert np.median(near) < 0.25 * typical
    assert knn_accuracy(X, y) > 0.95


def test_seeds_differ_and_none_is_fixed():
    one, other = (make_gaussian_mixture(50, random_state=seed)[0] for seed in (1, 2))
    assert not np.array_equal(one, other)
    fixed = [make_gaussian_mixture(50)[0] for _ in range(2)]
    np.testing.assert_array_equal(*fixed)
    for source in (np.random.default_rng, np.random.RandomState):
        pair = [make_gaussian_mixture(50, random_state=source(5))[0] for _ in range(2)]
        np.testing.assert_array_equal(*pair)


@pytest.mark.parametrize("n_features", [1, 3])
@pytest.mark.parametrize("equidistant", [True, False])
def test_three_clusters_as_seen_from_the_first(n_features, equidistant):
    X, y = make_three_clusters(
        3000, n_features, equidistant=equidistant, distance=20.0, random_state=0
    )
    np.testing.assert_array_equal(X[0], 0.0)
    np.testing.assert_array_equal(np.bincount(y), 1000)
    far = [np.median(np.linalg.norm(X[y == c] - X[0], axis=1)) for c in (1, 2)]
    np.testing.assert_allclose(far, [20.0, 20.0 if equidistant else 40.0], rtol=0.02)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_samples": 0}, "n_samples=0 must be an integer of at least 1"),
        ({"n_features": 2.5}, "n_features=2.5"),
        ({"n_clusters": True}, "n_clusters=True"),
        ({"n_samples": 5, "n_clusters": 6}, "n_clusters=6 needs as many points"),
        ({"n_features": 3}, "n_intrinsic=8 must be at most n_features=3"),
        ({"imbalance": 0.5}, "at least 1"),
        ({"noise": float("nan")}, "at least 0"),
        ({"dtype": int}, "float32 or float64"),
    ],
)
def test_bad_arguments_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        make_gaussian_mixture(**change)
