"""Attraction along edges against NumPy: any precision, index type, dimension and row length."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from closeknit.kernels import EPANECHNIKOV, GAUSSIAN, STUDENT, student
from closeknit.objectives import Attraction

# −log K and its derivative; every kernel but Student's attracts as the Gaussian does.
SPRINGS = {
    "gaussian": (GAUSSIAN, lambda t: t, np.ones_like),
    "epanechnikov": (EPANECHNIKOV, lambda t: t, np.ones_like),
    "student": (STUDENT, np.log1p, lambda t: 1 / (1 + t)),
    "student(0.5)": (student(0.5), lambda t: 0.75 * np.log1p(2 * t), lambda t: 1.5 / (1 + 2 * t)),
    "student(3)": (student(3.0), lambda t: 2 * np.log1p(t / 3), lambda t: 2 / (3 + t)),
}
each_spring = pytest.mark.parametrize("spring", SPRINGS)


def graph(dtype, index, seed=0):
    """Rows of 0 to 20 edges, as the sums take them; they need not be symmetric for that."""
    rng = np.random.default_rng(seed)
    n = 43
    rows = [np.sort(rng.choice(n, k % 21, replace=False)) for k in range(n)]
    indptr = np.cumsum([0, *map(len, rows)]).astype(index)
    W = sparse.csr_matrix((n, n), dtype=dtype)
    W.indptr, W.indices = indptr, np.concatenate(rows).astype(index)
    W.data = rng.random(len(W.indices)).astype(dtype)
    return W


@each_spring
@pytest.mark.parametrize("d", [1, 2, 3, 5])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_forces_and_weights(spring, d, index, dtype):
    """Σ w (−log K), Σ_m w (−log K)' (x_n − x_m), and w (−log K)' on every edge."""
    kernel, energy, slope = SPRINGS[spring]
    W = graph(dtype, index)
    X = np.random.default_rng(d).normal(size=(43, d))
    before = X.copy(), W.data.copy(), W.indices.copy(), W.indptr.copy()
    attraction = Attraction(W, kernel, n_jobs=1)
    rows = np.repeat(np.arange(43), np.diff(W.indptr))
    gap = X[rows] - X[W.indices]
    t = (gap**2).sum(axis=1)
    weights = W.data.astype(float) * slope(t)
    force = np.zeros_like(X)
    np.add.at(force, rows, weights[:, None] * gap)
    value = (W.data.astype(float) * energy(t)).sum()
    rounding = 1e-5 if dtype is np.float32 else 1e-12
    pulled = np.empty_like(X)
    got = attraction.value(X, pulled)
    np.testing.assert_allclose(got, value, rtol=rounding)
    np.testing.assert_allclose(pulled, force, rtol=rounding, atol=10 * rounding)
    np.testing.assert_allclose(attraction.value(X), value, rtol=rounding)
    found = attraction.laplacian_weights(X)
    assert found.data.dtype == dtype
    np.testing.assert_allclose(found.data, weights, rtol=rounding, atol=rounding)
    np.testing.assert_array_equal(found.indices, W.indices)
    np.testing.assert_array_equal(found.indptr, W.indptr)
    for array, old in zip((X, W.data, W.indices, W.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)


@each_spring
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_same_bits_for_any_number_of_threads(spring, dtype):
    n = 9000
    rng = np.random.default_rng(0)
    ends = np.sort((np.arange(n)[:, None] + rng.integers(1, 200, size=(n, 9))) % n, axis=1)
    data = rng.random(9 * n).astype(dtype)
    W = sparse.csr_matrix((data, ends.ravel(), 9 * np.arange(n + 1)), shape=(n, n))
    X = rng.normal(size=(n, 2))
    results = []
    for n_jobs in (1, 2):
        attraction = Attraction(W, SPRINGS[spring][0], n_jobs)
        force = np.empty_like(X)
        value = attraction.value(X, force)
        weights = attraction.laplacian_weights(X).data
        results.append((value, attraction.value(X), force.tobytes(), weights.tobytes()))
    assert results[0] == results[1]


def test_no_edges():
    W = sparse.csr_matrix((5, 5))
    force = np.empty((5, 2))
    value = Attraction(W, STUDENT).value(np.ones((5, 2)), force)
    assert value == 0.0
    np.testing.assert_array_equal(force, 0.0)
