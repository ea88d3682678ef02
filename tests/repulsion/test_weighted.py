"""Weighted sums in little memory against those with all weights in an array."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from closeknit.kernels import EPANECHNIKOV, GAUSSIAN, STUDENT
from closeknit.repulsion import DistanceRepulsion, ExactRepulsion, GridRepulsion, SparseRepulsion

RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 2))
DATA = RNG.normal(size=(N, 7)) + 5.0 * np.eye(3, 7)[np.arange(N) % 3]
V = RNG.normal(size=(N, 2))
POINT_WEIGHTS = RNG.random(N)
each_kernel = pytest.mark.parametrize("kernel", [GAUSSIAN, STUDENT, EPANECHNIKOV])


def thinned():
    W = RNG.random((N, N)) * (RNG.random((N, N)) < 0.1)
    W[:, 3] = W[3] = 0.0  # a point without any
    return np.triu(W, 1) + np.triu(W, 1).T


def assert_same(repulsion, weights, kernel):
    """All sums of a repulsion are those of the weights in an array."""
    exact = ExactRepulsion(1, np.ascontiguousarray(weights))
    np.testing.assert_allclose(repulsion.values(X, kernel), exact.values(X, kernel), rtol=1e-10)
    for point_weights in (None, POINT_WEIGHTS):
        got, expected = (r.curvatures(X, kernel, point_weights) for r in (repulsion, exact))
        for name in ("value", "force", "slope", "curvature"):
            a, b = getattr(got, name), getattr(expected, name)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12 * np.abs(b).max())
        sums = repulsion.sums(X, kernel, point_weights)
        np.testing.assert_allclose(sums.force, expected.force, rtol=1e-9, atol=1e-10)
        moved, turned = (
            r.curvature_product(X, kernel, V, point_weights) for r in (repulsion, exact)
        )
        np.testing.assert_allclose(moved, turned, rtol=1e-9, atol=1e-12 * np.abs(turned).max())
    assert repulsion.total_weight(N) == pytest.approx(weights.sum())
    assert repulsion.is_weighted


@each_kernel
def test_sparse_weights(kernel):
    W = thinned()
    assert_same(SparseRepulsion(pair_weights=sparse.csr_matrix(W)), W, kernel)


def test_sparse_weights_need_no_square_array():
    """A million points, whose array of weights would take 8 TB."""
    n = 10**6
    ring = sparse.csr_matrix(
        (np.ones(2 * n), (np.r_[:n, 1 : n + 1] % n, np.r_[1 : n + 1, :n] % n)), shape=(n, n)
    )
    far = np.arange(n, dtype=float)[:, None]
    sums = SparseRepulsion(pair_weights=ring).sums(far, STUDENT)
    np.testing.assert_allclose(sums.value[1:-1], 1.0)  # half from either side
    np.testing.assert_allclose(sums.force[1:-1], 0.0, atol=1e-12)


@each_kernel
@pytest.mark.parametrize("kept", [True, False])
def test_squared_distances_block_by_block(monkeypatch, kernel, kept):
    monkeypatch.setattr("closeknit._threads._BUDGET", 8 * N * 25)  # four blocks
    if not kept:
        monkeypatch.setattr("closeknit.repulsion.weighted._KEPT", 0)
    assert_same(DistanceRepulsion(1, data=DATA), cdist(DATA, DATA, "sqeuclidean"), kernel)


def test_a_function_of_distances_in_another_metric():
    repulsion = DistanceRepulsion(1, data=DATA, metric="cityblock", weigh=lambda sq: 1.0 + sq**0.5)
    weights = 1.0 + cdist(DATA, DATA, "cityblock")
    np.fill_diagonal(weights, 0.0)
    assert_same(repulsion, weights, GAUSSIAN)


def test_an_interrupt_leaves_no_half_of_the_weights(monkeypatch):
    monkeypatch.setattr("closeknit._threads._BUDGET", 8 * N * 25)
    repulsion = DistanceRepulsion(1, data=DATA)
    calls = []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    real = ExactRepulsion._sum_pairs
    monkeypatch.setattr(ExactRepulsion, "_sum_pairs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        repulsion.values(X, GAUSSIAN)
    monkeypatch.setattr(ExactRepulsion, "_sum_pairs", real)
    assert_same(repulsion, cdist(DATA, DATA, "sqeuclidean"), GAUSSIAN)


@pytest.mark.parametrize("kernel", [GAUSSIAN, STUDENT])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("accuracy", [0.02, 1e-4])
def test_squared_distances_on_a_grid(kernel, d, accuracy):
    """A sum for each feature and two more, nearly as accurate as the grid."""
    rng = np.random.default_rng(1)
    data = np.vstack([rng.normal(size=(300, 5)) + shift for shift in (0.0, 9.0, -9.0)])
    Y = 6.0 * data[:, :d] + 2.0 * rng.normal(size=(900, d))
    grid = DistanceRepulsion(data=data, grid=GridRepulsion(accuracy))
    exact = DistanceRepulsion(data=data).sums(Y, kernel)
    sums = grid.sums(Y, kernel)
    assert np.linalg.norm(sums.force - exact.force) < 3.0 * accuracy * np.linalg.norm(exact.force)
    np.testing.assert_allclose(sums.value.sum(), exact.value.sum(), rtol=0.1 * accuracy)
    np.testing.assert_array_equal(grid.values(Y, kernel), sums.value)
    assert grid.total_weight(900) == pytest.approx(cdist(data, data, "sqeuclidean").sum())
    assert not grid.is_exact
    assert grid.dtype == GridRepulsion(accuracy).dtype
    assert grid.potential(Y, kernel) is not None
    assert DistanceRepulsion(data=data).potential(Y, kernel) is None
