"""The attractive Hessian's building blocks, and its approximate factor at work."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from closeknit import _core
from closeknit.linalg import strongest_entries, take_entries
from closeknit.minimize import SpectralDirection, SpectralLBFGS, Springs, minimize
from closeknit.minimize.spectral import AttractiveHessian


def symmetric(n, seed, ties=False, density=0.4):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return csr_matrix(np.ceil(3 * (W + W.T)) if ties else W + W.T)


def plain_strongest(W, k):
    """Sort every row by weight, equal ones by number, and take either end's choice."""
    W = W.toarray()
    rank = np.argsort(np.argsort(-W, axis=1, kind="stable"), axis=1)
    chosen = (rank < k) & (W > 0)
    return np.where(chosen | chosen.T, W, 0.0)


def test_single_precision_is_taken_as_it_is():
    """Weights are chosen among as they are, and summed and factorised in double precision."""
    W = symmetric(40, 0).astype(np.float32)
    kept = take_entries(W, strongest_entries(W, 3))
    assert kept.dtype == np.float64
    np.testing.assert_array_equal(kept.toarray(), plain_strongest(W, 3))
    single, double = AttractiveHessian(W, 3), AttractiveHessian(W.astype(np.float64), 3)
    np.testing.assert_array_equal(single.degrees, double.degrees)
    np.testing.assert_array_equal(single.matrix.toarray(), double.matrix.toarray())


def test_row_sums_on_many_rows_and_threads():
    W = symmetric(3000, 0, density=0.01)
    expected = W.toarray().sum(axis=1)
    for n_jobs in (1, 2):
        sums = np.empty(3000)
        _core.sum_rows(_core.Graph(W), sums, n_jobs)
        np.testing.assert_allclose(sums, expected, rtol=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 40), st.integers(0, 2**32), st.sampled_from([0.0, 0.2]))
def test_components_against_scipy(n, seed, share):
    W = symmetric(n, seed, density=0.05)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    labels = np.empty(n, dtype=np.int32)
    count = _core.label_components(_core.Graph(W), degrees, share, labels)
    strong = W.toarray() > share * np.minimum.outer(degrees, degrees)
    expected_count, expected = connected_components(csr_matrix(strong), directed=False)
    assert count == expected_count
    np.testing.assert_array_equal(labels, expected)


class Stretching:
    """Springs whose weights fall with their length, as those of Student kernels do."""

    def __init__(self, W):
        self.W = W

    def attractive_weights(self, X, entries=None):
        rows = np.repeat(np.arange(len(X)), np.diff(self.W.indptr))
        gap = X[rows] - X[self.W.indices]
        data = self.W.data / (1.0 + np.einsum("ij,ij->i", gap, gap))
        return csr_matrix((data, self.W.indices, self.W.indptr), shape=self.W.shape)


def test_refresh_reuses_edges_and_order_and_follows_the_weights(monkeypatch):
    problem = Stretching(symmetric(60, 0))
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 60, 2))
    refreshed = []
    real = _core.approximate_cholesky
    monkeypatch.setattr(
        _core,
        "approximate_cholesky",
        lambda *given: real(*given) if given[3] is None else refreshed.append(1) or real(*given),
    )
    descent = SpectralDirection(3, "approximate", refresh=1).start(problem, X)
    first = descent.propose(X, X)
    np.testing.assert_array_equal(descent.propose(X, X), first)  # nothing has changed
    assert not refreshed
    second = descent.propose(Y, X)
    assert len(refreshed) == 1
    assert np.vdot(second, X) < 0
    assert abs(second - first).max() > 1e-3 * abs(first).max()


def test_kept_edges_are_those_of_the_first_weights():
    problem = Stretching(symmetric(60, 0))
    X, Y = np.random.default_rng(0).normal(size=(2, 60, 2))
    first = AttractiveHessian(problem.attractive_weights(X), 3)
    second = AttractiveHessian(problem.attractive_weights(Y), 3, like=first)
    np.testing.assert_array_equal(second.kept.indices, first.kept.indices)
    full = problem.attractive_weights(Y).toarray()
    pattern = first.kept.toarray() > 0
    np.testing.assert_array_equal(second.kept.toarray(), np.where(pattern, full, 0.0))
    other = AttractiveHessian(symmetric(60, 1), 3, like=first)  # another graph: chosen anew
    np.testing.assert_array_equal(other.kept.toarray(), plain_strongest(symmetric(60, 1), 3))


@pytest.mark.parametrize("n_neighbors", [None, 3])
def test_approximate_direction_descends(n_neighbors):
    W = symmetric(60, 0)
    rng = np.random.default_rng(0)
    problem = Springs(W, np.zeros((60, 2)))
    for seed in range(5):
        direction = SpectralDirection(n_neighbors, solver="approximate", random_state=seed)
        G = rng.normal(size=(60, 2))
        P = direction.start(problem, G).step_towards(G, G)
        assert np.vdot(P, G) < 0


@pytest.mark.parametrize("make", [SpectralDirection, SpectralLBFGS])
def test_approximate_minimisation_arrives_and_repeats(make):
    W = symmetric(60, 0)
    targets = np.random.default_rng(0).normal(size=(60, 2))
    springs = Springs(W, targets - targets.mean(axis=0), stiffness=0.5)
    runs = [
        minimize(springs, np.zeros((60, 2)), make(solver="approximate", random_state=s), tol=0)
        for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(runs[0].X, runs[1].X)
    assert (runs[0].X != runs[2].X).any()
    for run in runs:
        np.testing.assert_allclose(run.X, springs.solution(), atol=1e-3)


def test_degrees_of_very_different_size():
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.uniform(-8, 8, size=40)
    W = np.triu(rng.random((40, 40)) * np.sqrt(np.outer(scale, scale)), 1)
    problem = Springs(W + W.T, np.zeros((40, 2)))
    G = rng.normal(size=(40, 2))
    G -= G.mean(axis=0)
    direction = SpectralDirection(solver="approximate")
    P = direction.start(problem, G).step_towards(G, G)
    assert np.isfinite(P).all()
    assert np.vdot(P, G) < 0
