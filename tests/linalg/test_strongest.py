"""The strongest edges of each point against sorting, and thinned graphs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import block_diag, csr_matrix, diags
from scipy.sparse.csgraph import connected_components

import closeknit as ck
from closeknit.graphs import symmetrize
from closeknit.linalg import (
    sample_entries,
    sample_rows,
    strongest_entries,
    take_entries,
    thin,
    with_data,
)


def symmetric(n, seed, ties=False, density=0.4):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return csr_matrix(np.ceil(3 * (W + W.T)) if ties else W + W.T)


def keep_strongest(W, k, n_jobs=None):
    return take_entries(W, strongest_entries(W, k, n_jobs))


def plain_strongest(W, k):
    """Sort every row by weight, equal ones by number, and take either end's choice."""
    W = W.toarray()
    rank = np.argsort(np.argsort(-W, axis=1, kind="stable"), axis=1)
    chosen = (rank < k) & (W > 0)
    return np.where(chosen | chosen.T, W, 0.0)


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 25), st.integers(0, 30), st.integers(0, 2**32), st.booleans())
def test_keep_strongest_against_sorting(n, k, seed, ties):
    W = symmetric(n, seed, ties)
    for n_jobs in (1, 3):
        kept = keep_strongest(W, k, n_jobs=n_jobs)
        np.testing.assert_array_equal(kept.toarray(), plain_strongest(W, k))
        kept.check_format(full_check=True)


def test_keep_strongest_on_many_rows_and_threads():
    W = symmetric(3000, 0, density=0.01)
    one = keep_strongest(W, 4, n_jobs=1)
    two = keep_strongest(W, 4, n_jobs=2)
    np.testing.assert_array_equal(one.indices, two.indices)
    np.testing.assert_array_equal(one.indptr, two.indptr)
    assert one.nnz < W.nnz / 3


def test_keep_strongest_with_wide_indices():
    W = symmetric(30, 0)
    expected = plain_strongest(W, 2)
    wide = csr_matrix(W)
    wide.indptr, wide.indices = W.indptr.astype(np.int64), W.indices.astype(np.int64)
    np.testing.assert_array_equal(keep_strongest(wide, 2).toarray(), expected)


def test_single_precision_is_compared_as_it_is():
    """Weights are compared in single precision and returned in double."""
    W = symmetric(40, 0).astype(np.float32)
    kept = keep_strongest(W, 3)
    assert kept.dtype == np.float64
    np.testing.assert_array_equal(kept.toarray(), plain_strongest(W, 3))


@pytest.mark.parametrize("n_neighbors", [None, 29, 100])
def test_all_edges_are_kept_of_no_more_neighbours_than_there_are(n_neighbors):
    W = symmetric(30, 0)
    assert strongest_entries(W, n_neighbors) is None
    np.testing.assert_array_equal(keep_strongest(W, n_neighbors).toarray(), W.toarray())


def test_taken_entries_follow_other_weights_of_the_same_pattern():
    W = symmetric(30, 0)
    positions = strongest_entries(W, 3)
    other = W.copy()
    other.data = np.arange(1.0, 1.0 + W.nnz)
    pattern = plain_strongest(W, 3) > 0.0
    expected = np.where(pattern, other.toarray(), 0.0)
    np.testing.assert_array_equal(take_entries(other, positions).toarray(), expected)


def test_half_a_graph_is_refused():
    with pytest.raises(ValueError, match="must be symmetric, but row 0 differs from column 0"):
        keep_strongest(csr_matrix(np.triu(np.ones((5, 5)), 1)), 1)


# Thinned graphs


def neighbour_graph(n, seed):
    X = np.random.default_rng(seed).random((n, 2))
    return symmetrize(ck.EntropicAffinities(10.0).fit_transform(X))


@pytest.mark.parametrize("n_neighbors", [1, 2, 5])
def test_thinned_graph_has_the_same_components(n_neighbors):
    W = csr_matrix(block_diag([neighbour_graph(80, seed=1), neighbour_graph(50, seed=2)]))
    thinned = thin(W, n_neighbors)
    a, b = (connected_components(V, directed=False)[1] for V in (W, thinned))
    np.testing.assert_array_equal(a, b)
    assert thinned.nnz < W.nnz
    assert abs(thinned - thinned.T).max() == 0.0
    kept = thinned.toarray() > 0.0
    np.testing.assert_array_equal(thinned.toarray()[kept], W.toarray()[kept])
    assert (kept.sum(axis=1) >= n_neighbors).all()


def test_sparse_graph_is_not_thinned():
    W = csr_matrix(diags([np.ones(19)] * 2, [-1, 1]))
    np.testing.assert_array_equal(thin(W, 2).toarray(), W.toarray())
    assert np.shares_memory(thin(W, 2).data, W.data)


def sampled(W, k, seed=0, n_jobs=None):
    positions, factors = sample_entries(W, k, seed, n_jobs)
    kept = take_entries(W, positions)
    return with_data(kept, factors * kept.data)


@settings(max_examples=60, deadline=None)
@given(st.integers(6, 40), st.integers(1, 4), st.integers(0, 2**31), st.booleans())
def test_samples_are_symmetric_and_weigh_as_much(n, k, seed, ties):
    W = symmetric(n, seed, ties)
    S = sampled(W, k, seed)
    assert abs(S - S.T).max() < 1e-6 * max(1.0, W.max())  # factors have single precision
    assert S.sum() == pytest.approx(W.sum())
    rows = sample_rows(W, k, random_state=seed)
    np.testing.assert_allclose(rows.sum(axis=1), W.sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(((rows + rows.T) / 2).toarray(), S.toarray(), rtol=1e-6)
    strongest = plain_strongest(W, k // 2) > 0.0
    assert (S.toarray()[strongest] > 0.0).all()


def test_samples_are_the_graph_on_average():
    """Within five standard errors of every weight, which is drawn from either end."""
    W = symmetric(30, 0, density=0.7)
    draws = np.array([sampled(W, 5, seed).toarray() for seed in range(2000)])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - W.toarray()) <= 5.0 * error + 1e-6).all()


def test_copies_stay_connected_to_the_rest():
    """Of 40 copies each, the five strongest edges join copies only; a sample joins all groups."""
    groups = np.repeat(np.arange(12), 40)
    same = groups[:, None] == groups
    near = np.abs(groups[:, None] - groups) == 1
    W = csr_matrix((1.0 * same + 0.2 * near) * (1 - np.eye(len(groups))))
    assert connected_components(keep_strongest(W, 5))[0] == 12
    S = sampled(W, 5)
    assert connected_components(S)[0] == 1
    between = S.toarray()[near].sum() / W.toarray()[near].sum()
    assert between == pytest.approx(1.0, abs=0.15)
    assert S.nnz < 0.2 * W.nnz


def test_samples_are_the_same_on_any_number_of_threads_and_in_any_blocks():
    W = symmetric(3000, 0, density=0.01)
    one, two = (sampled(W, 5, n_jobs=n) for n in (1, 2))
    assert (one != two).nnz == 0
    whole = sample_rows(W, 5)
    assert (whole[1000:2000] != sample_rows(W[1000:2000], 5, first=1000)).nnz == 0


def test_all_edges_are_kept_where_there_are_few():
    W = symmetric(6, 0)
    assert sample_entries(W, None) is None
    assert sample_entries(W, 5) is None


def test_samples_need_symmetry():
    with pytest.raises(ValueError, match="must be symmetric"):
        sample_entries(csr_matrix(np.triu(np.ones((9, 9)), 1)), 2)


def test_thin_takes_rows_in_any_order_and_entries_in_parts():
    W = symmetric(12, 0, density=1.0)
    unsorted, halves = W.copy(), np.repeat(W.data / 2, 2)
    for row in range(12):
        part = slice(W.indptr[row], W.indptr[row + 1])
        unsorted.indices[part], unsorted.data[part] = W.indices[part][::-1], W.data[part][::-1]
    unsorted.has_sorted_indices = False
    in_parts = csr_matrix((halves, np.repeat(W.indices, 2), 2 * W.indptr), shape=W.shape)
    for same in (unsorted, in_parts):
        np.testing.assert_array_equal(thin(same, 2).toarray(), thin(W, 2).toarray())


@pytest.mark.parametrize("value", [np.inf, 1e308])
def test_weights_without_a_finite_sum_are_refused(value):
    W = with_data(symmetric(12, 0, density=1.0), np.full(132, value))
    calls = (lambda: thin(W, 4), lambda: sample_entries(W, 4), lambda: sample_rows(W, 4))
    for call in calls:
        with pytest.raises(ValueError, match=r"NaN or infinite|overflow"):
            call()
