"""Graphs in parts that no edge joins, and factors that are made of them part by part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix, diags, random_array
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.neighbors import kneighbors_graph

from closeknit.linalg import ApproximateCholesky, divide, map_order

POINTS = np.random.default_rng(0).random((3000, 2))


def neighbour_graph(X, k=8):
    G = kneighbors_graph(X, k, mode="distance")
    G.data = np.exp(-G.data / np.median(G.data))
    return csr_matrix(G.maximum(G.T))


def random_graph(n, seed, density=0.1):
    W = random_array((n, n), density=density, random_state=np.random.default_rng(seed))
    W = csr_matrix(W + W.T)
    W.setdiag(0.0)
    W.eliminate_zeros()
    return W


def path(n):
    return csr_matrix(diags([np.ones(n - 1), np.ones(n - 1)], [-1, 1]))


def laplacian(W):
    return csr_matrix(diags(np.asarray(W.sum(axis=1)).ravel()) - W)


# Parts


def assert_apart(W, parts):
    W = W.tocoo()
    inside = (parts[W.row] >= 0) & (parts[W.col] >= 0) & (W.data > 0.0)
    assert (parts[W.row] == parts[W.col])[inside].all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(1, 9), st.integers(0, 2**32))
def test_no_edge_joins_two_parts(n, n_parts, seed):
    W = random_graph(n, seed)
    order = np.random.default_rng(seed).permutation(n)
    parts, n_border = divide(W, order, n_parts)
    assert_apart(W, parts)
    assert np.count_nonzero(parts < 0) == n_border
    given_parts = np.empty(n, dtype=int)
    given_parts[order] = np.arange(n) * min(n_parts, n) // n
    np.testing.assert_array_equal(parts[parts >= 0], given_parts[parts >= 0])
    one_thread, _ = divide(W, order, n_parts, n_jobs=1)
    np.testing.assert_array_equal(parts, one_thread)


def test_of_a_cut_edge_the_busier_end_goes():
    """A star cut off its centre loses the centre only; a path one end of each cut edge."""
    star = np.zeros((7, 7))
    star[0, 1:] = star[1:, 0] = 1.0
    parts, n_border = divide(csr_matrix(star), np.arange(7), n_parts=7)
    assert n_border == 1
    np.testing.assert_array_equal(parts, [-1, 1, 2, 3, 4, 5, 6])
    assert divide(path(100), np.arange(100), n_parts=4)[1] == 3


def test_weights_of_zero_join_nothing():
    W = path(10)
    W.data[:] = 0.0
    assert divide(W, np.arange(10), n_parts=5)[1] == 0


def test_few_points_are_between_the_parts_of_a_map():
    W = neighbour_graph(POINTS)
    _, along_the_map = divide(W, map_order(POINTS), n_parts=8)
    _, anyhow = divide(W, np.arange(len(POINTS)), n_parts=8)
    assert along_the_map < 0.15 * len(POINTS) < 0.7 * len(POINTS) < anyhow


def test_no_points():
    parts, n_border = divide(csr_matrix((0, 0)), np.arange(0), n_parts=3)
    assert parts.shape == (0,)
    assert n_border == 0


# Factors


def parted(W, n_parts, excess=0.0, **options):
    order = map_order(POINTS) if W.shape[0] == len(POINTS) else np.arange(W.shape[0])
    parts, _ = divide(W, order, n_parts)
    return ApproximateCholesky(W, np.full(W.shape[0], excess), parts=parts, **options)


def assembled(factor):
    offsets, rows, values, pivots = factor._factor.columns()
    n = len(factor.order)
    F = np.eye(n) - csr_matrix((values, rows, offsets), shape=(n, n)).toarray().T
    out = np.empty((n, n))
    out[np.ix_(factor.order, factor.order)] = F * pivots @ F.T
    return out


def test_a_tree_is_factorised_exactly():
    W = path(50)
    L = laplacian(W).toarray() + 0.1 * np.eye(50)
    for n_parts in (1, 2, 7, 50):
        factor = parted(W, n_parts, 0.1)
        np.testing.assert_allclose(assembled(factor), L, rtol=1e-12, atol=1e-14)
        rhs = np.random.default_rng(0).normal(size=(50, 5))
        np.testing.assert_allclose(factor.solve(rhs), np.linalg.solve(L, rhs), rtol=1e-10)


@settings(max_examples=40, deadline=None)
@example(2, 4, 0, 0.0)
@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32), st.sampled_from([0.0, 0.3]))
def test_solves_are_those_of_the_columns(n, n_parts, seed, excess):
    """Of several components, too, and with parts and borders that are empty."""
    W = random_graph(n, seed, density=0.08)
    factor = parted(W, n_parts, excess)
    np.testing.assert_array_equal(np.sort(factor.order), np.arange(n))
    inverse = np.linalg.pinv(assembled(factor), rcond=1e-10, hermitian=True)
    rhs = np.random.default_rng(seed).normal(size=(n, 3))
    solved = factor.solve(rhs)
    np.testing.assert_allclose(solved, inverse @ rhs, atol=1e-8 * max(1.0, abs(solved).max()))


def test_a_mean_over_seeds_is_the_matrix():
    """What the parts leave to the border is sampled without bias, as all else is."""
    W = random_graph(24, 3, density=0.4)
    L = laplacian(W).toarray() + np.eye(24)
    parts, n_border = divide(W, np.arange(24), 3)
    assert 0 < n_border < 24
    found = [
        assembled(ApproximateCholesky(W, np.ones(24), seed, parts=parts)) for seed in range(4000)
    ]
    error = (np.mean(found, axis=0) - L) / np.maximum(np.std(found, axis=0) / 4000**0.5, 1e-12)
    assert np.abs(error).max() < 5.0


def test_as_good_a_preconditioner_as_a_factor_in_one_part():
    W = neighbour_graph(POINTS)
    L = laplacian(W) + 1e-3 * diags(laplacian(W).diagonal())
    rhs = np.random.default_rng(0).normal(size=len(POINTS))

    def iterations(factor):
        count = []
        _, failed = cg(
            L,
            rhs,
            rtol=1e-8,
            M=LinearOperator(L.shape, matvec=factor.solve, dtype=float),
            callback=lambda _: count.append(1),
        )
        assert not failed
        return len(count)

    excess = 1e-3 * laplacian(W).diagonal()
    parts, _ = divide(W, map_order(POINTS), 8)
    whole, in_parts = ApproximateCholesky(W, excess), ApproximateCholesky(W, excess, parts=parts)
    assert iterations(in_parts) <= 1.3 * iterations(whole)
    assert in_parts.nnz <= 1.1 * whole.nnz


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
def test_same_bits_on_any_number_of_threads(d):
    W = neighbour_graph(POINTS)
    rhs = np.random.default_rng(0).normal(size=(len(POINTS), d))
    solved = []
    for n_jobs in (1, 2, 3, 8):
        factor = parted(W, 6, 0.01, n_jobs=n_jobs)
        again = ApproximateCholesky(W, np.full(len(POINTS), 0.02), like=factor, n_jobs=n_jobs)
        solved.append((factor.solve(rhs).tobytes(), again.solve(rhs).tobytes()))
    assert len(set(solved)) == 1


def test_another_takes_the_parts_with_the_order():
    W = neighbour_graph(POINTS)
    first = parted(W, 4, 0.01)
    weaker = csr_matrix((0.5 * W.data, W.indices, W.indptr), shape=W.shape)
    second = ApproximateCholesky(weaker, np.full(len(POINTS), 0.005), like=first)
    np.testing.assert_array_equal(second.order, first.order)
    assert second.nnz <= 1.1 * first.nnz


def test_another_pattern_may_join_the_parts():
    """It is refused: the order that is taken has parts, and this graph does not have them."""
    with pytest.raises(ValueError, match="an edge joins two parts"):
        ApproximateCholesky(random_graph(50, 0), np.ones(50), like=parted(path(50), 3, 1.0))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (np.zeros(5, dtype=int), "parts must be 6 whole numbers, one for each point"),
        (np.zeros(6), "parts must be 6 whole numbers"),
        (np.full(6, -2), "numbered from 0"),
        (np.full(6, 6), "numbered from 0"),
        (np.arange(6), "an edge joins two parts"),
    ],
)
def test_refuses_other_parts(parts, message):
    with pytest.raises(ValueError, match=message):
        ApproximateCholesky(path(6), np.ones(6), parts=parts)


def test_parts_are_those_of_the_earlier_factor():
    factor = parted(path(6), 2, 1.0)
    with pytest.raises(ValueError, match="parts= and like= cannot both be given"):
        ApproximateCholesky(path(6), np.ones(6), parts=np.zeros(6, dtype=int), like=factor)


def test_many_parts_and_a_large_border():
    """Every other point of a path is a part of its own."""
    n = 20_001
    parts = np.where(np.arange(n) % 2, -1, np.arange(n) // 2)
    factor = ApproximateCholesky(path(n), np.ones(n), parts=parts)
    rhs = np.random.default_rng(0).normal(size=n)
    A = laplacian(path(n)) + diags(np.ones(n))
    np.testing.assert_allclose(A @ factor.solve(rhs), rhs, atol=1e-10)
