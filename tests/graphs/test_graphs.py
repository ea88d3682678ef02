"""symmetrize and laplacian against dense twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import closeknit as ck
from closeknit.graphs import laplacian, symmetrize


def random_graph(n, density=0.3, seed=0):
    rng = np.random.default_rng([seed, n])
    W = rng.random((n, n)) * (rng.random((n, n)) < density)
    np.fill_diagonal(W, 0.0)
    return W


def array(W):
    return W.toarray() if sparse.issparse(W) else W


FORMATS = {
    "dense": np.asarray,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr_array": sparse.csr_array,
}
each_format = pytest.mark.parametrize("make", list(FORMATS.values()), ids=list(FORMATS))


# symmetrize


@each_format
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_symmetrize_averages_with_the_transpose(make, n):
    """(P + Pᵀ) / 2, sparse if P is."""
    P = random_graph(n)
    W = symmetrize(make(P))
    assert sparse.issparse(W) == sparse.issparse(make(P))
    np.testing.assert_allclose(array(W), (P + P.T) / 2, rtol=1e-15)
    assert (array(W) == array(W).T).all()


def test_symmetrize_keeps_the_sum():
    """Rows that sum to 1 give a matrix that sums to n."""
    P = ck.EntropicAffinities(5.0).fit_transform(np.random.default_rng(0).normal(size=(60, 3)))
    W = symmetrize(P)
    np.testing.assert_allclose(W.sum(), 60.0, rtol=1e-12)
    assert W.has_sorted_indices


def test_symmetrize_takes_lists_and_integers():
    np.testing.assert_array_equal(symmetrize([[0, 1], [0, 0]]), [[0.0, 0.5], [0.5, 0.0]])
    W = symmetrize(sparse.csr_matrix(np.array([[0, 1], [0, 0]])))
    np.testing.assert_array_equal(W.toarray(), [[0.0, 0.5], [0.5, 0.0]])


@each_format
def test_symmetrize_leaves_its_input_alone(make):
    P = make(random_graph(12))
    before = array(P).copy()
    W = symmetrize(P)
    if sparse.issparse(W):
        W.data[:] = -1.0
    else:
        W[:] = -1.0
    np.testing.assert_array_equal(array(P), before)


def test_symmetrize_of_a_symmetric_matrix_is_a_copy_of_it():
    W = symmetrize(random_graph(12))
    again = symmetrize(W)
    np.testing.assert_array_equal(again, W)
    assert not np.shares_memory(again, W)


@each_format
def test_symmetrize_needs_a_square_matrix(make):
    with pytest.raises(ValueError, match=r"must be square, got shape \(2, 3\)"):
        symmetrize(make(np.ones((2, 3))))


def test_symmetrize_needs_a_matrix():
    with pytest.raises(ValueError, match=r"must be square, got shape \(3,\)"):
        symmetrize([1.0, 2.0, 3.0])


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_symmetrize_merges_as_scipy_adds(index):
    """Rows of every length, empty ones too, unsorted and with doubled entries; to the bit."""
    rng = np.random.default_rng(0)
    n = 50
    rows = [rng.integers(n, size=k % 23) for k in range(n)]
    P = sparse.csr_matrix((n, n))
    P.indptr = np.cumsum([0, *map(len, rows)]).astype(index)
    P.indices = np.concatenate(rows).astype(index)
    P.data = np.round(rng.random(len(P.indices)) * 64) / 64  # sums of doubled entries are exact
    before = P.data.copy(), P.indices.copy(), P.indptr.copy()
    plain = P.copy()
    plain.sum_duplicates()
    W = symmetrize(P)
    np.testing.assert_array_equal(W.toarray(), (0.5 * (plain + plain.T)).toarray())
    assert W.has_canonical_format
    assert W.indices.dtype == W.indptr.dtype
    for array, old in zip((P.data, P.indices, P.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)
    assert not any(np.shares_memory(a, b) for a in (W.data, W.indices) for b in (P.data, P.indices))


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.floats(0.0, 1.0), st.integers(0, 2**16))
def test_symmetrize_of_any_pattern(n, density, seed):
    P = sparse.csr_matrix(random_graph(n, density, seed))
    W = symmetrize(P)
    expected = sparse.csr_matrix(0.5 * (P + P.T))
    expected.sort_indices()
    np.testing.assert_array_equal(W.indptr, expected.indptr)
    np.testing.assert_array_equal(W.indices, expected.indices)
    np.testing.assert_array_equal(W.data, expected.data)


def test_symmetrize_of_an_empty_matrix():
    assert symmetrize(sparse.csr_matrix((4, 4))).nnz == 0


# laplacian


@each_format
@pytest.mark.parametrize("n", [1, 2, 7, 40])
def test_laplacian_is_degrees_minus_weights(make, n):
    """L = D − W."""
    W = symmetrize(random_graph(n))
    L = laplacian(make(W))
    assert sparse.issparse(L)
    assert L.format == "csr"
    np.testing.assert_allclose(L.toarray(), np.diag(W.sum(axis=1)) - W, atol=1e-14)


def test_laplacian_ignores_the_diagonal():
    """A self-loop is in D and in W and cancels."""
    W = symmetrize(random_graph(9))
    loops = W + np.diag(np.arange(9.0))
    np.testing.assert_allclose(laplacian(loops).toarray(), laplacian(W).toarray(), atol=1e-14)


@each_format
def test_laplacian_leaves_its_input_alone(make):
    W = make(symmetrize(random_graph(12)))
    before = array(W).copy()
    laplacian(W).data[:] = -1.0
    np.testing.assert_array_equal(array(W), before)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.floats(0.0, 1.0), st.integers(0, 2**16))
def test_laplacian_measures_differences(n, density, seed):
    """uᵀLu = ½ Σ w_nm (u_n − u_m)² ≥ 0, and L1 = 0."""
    W = symmetrize(random_graph(n, density, seed))
    u = np.random.default_rng(seed).normal(size=n)
    L = laplacian(W)
    np.testing.assert_allclose(
        u @ (L @ u), 0.5 * (W * (u[:, None] - u) ** 2).sum(), rtol=1e-10, atol=1e-13
    )
    np.testing.assert_allclose(L @ np.ones(n), 0.0, atol=1e-13)
    assert np.linalg.eigvalsh(L.toarray()).min() >= -1e-12


@each_format
def test_laplacian_needs_a_square_matrix(make):
    with pytest.raises(ValueError, match=r"must be square, got shape \(2, 3\)"):
        laplacian(make(np.ones((2, 3))))


def test_names_are_public():
    assert ck.graphs.symmetrize is symmetrize
    assert ck.graphs.laplacian is laplacian
