"""Distances of pairs, all pairs of a tile at a time: the bits of distances pair by pair."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit import _core
from closeknit.neighbors import candidate_distances


def pair_distances(X, wanted, n_jobs=2):
    """Distances of the pairs that a matrix marks, as a matrix with NaN elsewhere."""
    marked = sp.csr_matrix(wanted)
    marked.sort_indices()
    out = np.full(marked.nnz, np.nan)
    starts, columns = marked.indptr.astype(np.int64), marked.indices.astype(np.int32)
    _core.pair_distances(_core.Rows(X), starts, columns, out, n_jobs)
    D = np.full(wanted.shape, np.nan)
    D[wanted] = out
    return D


def one_by_one(X):
    n = len(X)
    return candidate_distances(X, X, np.broadcast_to(np.arange(n), (n, n)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [1, 15, 16, 17, 255, 256, 257, 272, 530])
def test_the_bits_of_candidate_distances(twin, rng, dtype, n_features):
    """Fewer features than a vector, whole stretches, and what is left of them."""
    X = (1e6 + rng.normal(size=(70, n_features))).astype(dtype)
    X[60:] = X[:10]  # duplicates
    expected = one_by_one(X)
    np.testing.assert_array_equal(pair_distances(X, np.ones((70, 70), dtype=bool)), expected)
    np.testing.assert_allclose(expected, twin.sq_euclidean(X, X), rtol=1e-12)


@pytest.mark.parametrize("density", [0.0, 0.001, 0.01, 0.1, 1.0])
@pytest.mark.parametrize("n", [255, 256, 257, 600])
def test_tiles_of_many_and_few_pairs(rng, density, n):
    """Where each point has few pairs they are taken one by one; some rows and tiles have none."""
    X = rng.normal(size=(n, 290))
    wanted = rng.random((n, n)) < density
    wanted[n // 3] = False
    D = pair_distances(X, wanted)
    np.testing.assert_array_equal(D[wanted], one_by_one(X)[wanted])
    assert np.isnan(D[~wanted]).all()
    for n_jobs in (1, 3):
        assert pair_distances(X, wanted, n_jobs).tobytes() == D.tobytes()


def test_no_points():
    assert pair_distances(np.empty((0, 3)), np.empty((0, 0), dtype=bool)).shape == (0, 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 60), st.integers(1, 600), st.floats(-150, 150))
def test_any_shape_and_magnitude(seed, n, n_features, exponent):
    rng = np.random.default_rng(seed)
    dtype = rng.choice([np.float32, np.float64]) if abs(exponent) < 30 else np.float64
    X = (rng.normal(size=(n, n_features)) * 10.0**exponent).astype(dtype)
    wanted = rng.random((n, n)) < rng.random()
    np.testing.assert_array_equal(pair_distances(X, wanted)[wanted], one_by_one(X)[wanted])
