"""Graphs in canonical CSR: what is accepted, shared, refused; products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from closeknit import _core
from closeknit.linalg import (
    canonical,
    check_symmetric,
    check_weights,
    core_graph,
    entry_rows,
    inner,
    multiply,
    norm,
    permuted,
    row_sums,
    same_pattern,
    same_weights,
    with_data,
)

FORMATS = {
    "list": lambda W: W.tolist(),
    "float32": lambda W: W.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr_array": sparse.csr_array,
}
each_format = pytest.mark.parametrize("make", list(FORMATS.values()), ids=list(FORMATS))


def weights(n=10, seed=0):
    """Symmetric, without diagonal, with entries that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    W = np.triu(np.round(256 * rng.random((n, n))) / 256 * (rng.random((n, n)) < 0.5), 1)
    return W + W.T


def messy(W):
    """The same matrix as CSR with unsorted rows and every entry in two halves."""
    W = sparse.coo_matrix(W)
    order = np.random.default_rng(0).permutation(2 * W.nnz)
    rows, columns = np.tile(W.row, 2)[order], np.tile(W.col, 2)[order]
    by_row = np.argsort(rows, kind="stable")
    out = sparse.csr_matrix(W.shape)
    out.data = np.tile(W.data / 2, 2)[order][by_row]
    out.indices = columns[by_row].astype(np.int32)
    counts = np.bincount(rows, minlength=W.shape[0])
    out.indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    return out


def arrays(W):
    return [W.data.copy(), W.indices.copy(), W.indptr.copy()]


@each_format
@pytest.mark.parametrize("check", [canonical, check_weights, check_symmetric])
def test_all_formats_become_one(make, check):
    out = check(make(weights()))
    assert isinstance(out, sparse.csr_matrix)
    assert out.dtype == np.float64
    assert out.has_canonical_format
    np.testing.assert_array_equal(out.toarray(), weights())


@pytest.mark.parametrize("check", [canonical, check_weights, check_symmetric])
def test_unsorted_and_doubled_entries_are_summed_in_a_copy(check):
    given = messy(weights())
    before = arrays(given)
    out = check(given)
    assert out.has_canonical_format
    np.testing.assert_array_equal(out.toarray(), weights())
    for array, old in zip(arrays(given), before, strict=True):
        np.testing.assert_array_equal(array, old)


@pytest.mark.parametrize("check", [canonical, check_weights, check_symmetric])
def test_arrays_in_order_are_shared(check):
    """A million edges need not be copied to be checked."""
    W = sparse.csr_matrix(weights())
    out = check(W)
    for name in ("data", "indices", "indptr"):
        assert np.shares_memory(getattr(out, name), getattr(W, name)), name


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        (np.float32, np.float32),
        (np.float64, np.float64),
        (np.int64, np.float64),
        (bool, np.float64),
    ],
)
def test_precision_may_be_kept(dtype, kept):
    W = sparse.csr_matrix(weights() > 0).astype(dtype)
    assert canonical(W, dtype=None).dtype == kept
    assert canonical(W).dtype == np.float64


@pytest.mark.parametrize("spoil", ["diagonal", "zero"])
def test_diagonal_and_zeros_are_left_out_of_a_copy(spoil):
    given = sparse.csr_matrix(weights() + np.eye(10) * (spoil == "diagonal"))
    expected = weights()
    if spoil == "zero":
        i, j = given.nonzero()[0][0], given.nonzero()[1][0]
        given[i, j] = given[j, i] = 0.0
        expected[i, j] = expected[j, i] = 0.0
    before = arrays(given)
    out = check_weights(given)
    assert out.nnz == np.count_nonzero(expected)
    np.testing.assert_array_equal(out.toarray(), expected)
    for array, old in zip(arrays(given), before, strict=True):
        np.testing.assert_array_equal(array, old)
    assert canonical(given).nnz == given.nnz  # which leaves them


def test_graph_without_edges():
    assert check_symmetric(np.zeros((3, 3))).nnz == 0


@pytest.mark.parametrize("check", [canonical, check_weights, check_symmetric])
@each_format
def test_not_square(make, check):
    with pytest.raises(ValueError, match=r"the graph must be square, got shape \(10, 9\)"):
        check(make(weights()[:, :9]), name="the graph")


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value):
    W = weights()
    W[0, 1] = value
    with pytest.raises(ValueError, match="affinities contain NaN or infinite values"):
        check_weights(W)


def test_negative():
    W = weights()
    W[0, 1] = -0.25
    with pytest.raises(ValueError, match=r"distances must not be negative, got -0\.25"):
        check_weights(W, "distances")


@pytest.mark.parametrize("extra", [False, True], ids=["same pattern", "another pattern"])
def test_not_symmetric(extra):
    W = weights()
    i, j = np.argwhere((W == 0.0) & ~np.eye(10, dtype=bool) if extra else W > 0.0)[0]
    W[i, j] += 0.01
    with pytest.raises(ValueError, match=r"symmetric; use closeknit\.graphs\.symmetrize"):
        check_symmetric(W)
    check_weights(W)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
@pytest.mark.parametrize("seed", range(5))
def test_asymmetry_is_the_largest_difference(seed, n_jobs):
    rng = np.random.default_rng(seed)
    W = sparse.random(40, 40, density=0.2, random_state=seed, format="csr")
    nearly = sparse.csr_matrix(W + W.T)  # of symmetric pattern
    nearly.data += 1e-3 * rng.random(nearly.nnz)
    for matrix in (sparse.csr_matrix(W), nearly, sparse.csr_matrix(W + W.T)):
        expected = float(abs(matrix - matrix.T).max())
        assert _core.asymmetry(_core.Graph(matrix), n_jobs) == expected


def test_rounding_is_not_asymmetry():
    W = weights() / 3.0
    i, j = np.argwhere(W > 0.0)[0]
    W[i, j] *= 1 + 1e-15
    check_symmetric(W)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("indices", [1, 5]),
        ("indices", [-1, 0]),
        ("indptr", [0, 2, 1]),
        ("indptr", [1, 1, 2]),
        ("indptr", [0, 1, 9]),
    ],
)
@pytest.mark.parametrize("check", [canonical, check_weights, check_symmetric])
def test_broken_matrices_are_refused(name, values, check):
    """Compiled code trusts the indices."""
    W = sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]])
    setattr(W, name, np.array(values, dtype=np.int32))
    with pytest.raises(ValueError):  # noqa: PT011 - SciPy's words for some of them
        check(W)


def test_patterns():
    W = sparse.csr_matrix(weights())
    other = with_data(W, 2.0 * W.data)
    assert np.shares_memory(other.indices, W.indices)
    assert same_pattern(W, other)
    assert not same_weights(W, other)
    assert same_weights(W, W.copy())
    assert not same_pattern(W, sparse.csr_matrix(weights(seed=1)))


def test_rows_and_sums():
    W = sparse.csr_matrix(weights())
    np.testing.assert_array_equal(entry_rows(W), W.tocoo().row)
    np.testing.assert_allclose(row_sums(W), weights().sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_products_are_those_of_scipy_on_any_number_of_threads(k, dtype):
    rng = np.random.default_rng(0)
    A = sparse.random(5000, 5000, density=0.002, format="csr", random_state=0)
    A.indptr, A.indices = A.indptr.astype(dtype), A.indices.astype(dtype)
    X = rng.normal(size=(5000, k))
    one, two = (multiply(A, X, n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_allclose(one, A @ X, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(multiply(A, np.asfortranarray(X)), one)
    with pytest.raises(ValueError, match="one row per row of the matrix"):
        multiply(A, X[:7])


def test_inner_products():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 40, 3))
    assert inner(a, b) == pytest.approx(np.vdot(a, b), rel=1e-12)
    assert inner(a, np.asfortranarray(b)) == inner(a, b)
    assert norm(a) == pytest.approx(np.linalg.norm(a), rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 40),
    st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    st.sampled_from([np.int32, np.int64]),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 2**32),
)
def test_points_in_another_order(n, density, index, value, seed):
    """As SciPy's ``W[order][:, order]``, rows without entries included; W may be asymmetric."""
    rng = np.random.default_rng(seed)
    W = sparse.csr_matrix(rng.random((n, n)) * (rng.random((n, n)) < density), dtype=value)
    W.indptr, W.indices = W.indptr.astype(index), W.indices.astype(index)
    before, order = arrays(W), rng.permutation(n)
    out = permuted(W, order, n_jobs=int(rng.integers(1, 4)))
    assert (out.dtype, out.nnz, out.shape) == (W.dtype, W.nnz, W.shape)
    np.testing.assert_array_equal(out.toarray(), W.toarray()[np.ix_(order, order)])
    for now, then in zip(arrays(W), before, strict=True):
        np.testing.assert_array_equal(now, then)
    out.sort_indices()
    expected = W[order][:, order]
    expected.sort_indices()
    np.testing.assert_array_equal(out.indices, expected.indices)
    np.testing.assert_array_equal(out.data, expected.data)


def test_another_order_of_many_points_on_any_number_of_threads():
    """More rows than one task has."""
    W = sparse.random(9000, 9000, density=0.001, format="csr", random_state=0)
    order = np.random.default_rng(0).permutation(9000)
    one, two = (permuted(W, order, n_jobs) for n_jobs in (1, 2))
    for a, b in zip(arrays(one), arrays(two), strict=True):
        np.testing.assert_array_equal(a, b)
    assert abs(one - W[order][:, order]).max() == 0.0
    back = permuted(one, np.argsort(order))
    assert abs(back - W).max() == 0.0


@pytest.mark.parametrize("order", [[0, 1, 1], [0, 1, 3], [0, -1, 2]])
def test_an_order_must_name_every_point_once(order):
    W = sparse.csr_matrix(np.ones((3, 3)))
    with pytest.raises((ValueError, IndexError)):
        permuted(W, np.array(order))


def test_an_interrupt_while_a_matrix_is_looked_at_is_no_other_error():
    class Interrupted(sparse.csr_matrix):
        @property
        def shape(self):
            raise KeyboardInterrupt

    matrix = sparse.csr_matrix(np.eye(2))
    matrix.__class__ = Interrupted
    with pytest.raises(KeyboardInterrupt):
        core_graph(matrix)
