"""Graphs as sparse matrices: the one way to bring them into order, and products with them.

Inner products do without BLAS, whose last digits depend on the number of its threads.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._checks import LARGEST, check_structure
from closeknit._threads import effective_n_jobs


def canonical(
    matrix: Any, *, dtype: DTypeLike | None = np.float64, name: str = "the matrix"
) -> csr_matrix:
    """Return a square matrix in canonical CSR format: sorted rows, each place stored once.

    Parameters
    ----------
    matrix : sparse matrix or array-like of shape (n_samples, n_samples)
        Not changed.
    dtype : dtype or None, default=float64
        None keeps single precision as it is and converts all else to double.
    name : str, default="the matrix"
        What messages call it.

    Returns
    -------
    csr_matrix
        It shares its arrays with the input where that is in order already, and must not be changed.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import canonical
    >>> twice = csr_matrix(([1, 2, 3], [1, 0, 1], [0, 3, 3]), shape=(2, 2))
    >>> canonical(twice).data
    array([2., 4.])
    """
    out = csr_matrix(check_structure(matrix, name), dtype=dtype)
    if out.shape[0] != out.shape[1]:
        raise ValueError(
            f"{name} must be square, got shape {out.shape}; closeknit.entropic_affinities makes "
            "affinities of data"
        )
    if out.dtype not in (np.float32, np.float64):
        out = out.astype(np.float64)
    if not out.has_sorted_indices:
        out = sorted_rows(out)
    if not out.has_canonical_format:
        out = out.copy()
        out.sum_duplicates()
    return out


def sorted_rows(matrix: csr_matrix) -> csr_matrix:
    """Return a copy with sorted rows; rows of one length are sorted at once, which is faster.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import sorted_rows
    >>> sorted_rows(csr_matrix(([0.1, 0.9], [2, 1], [0, 2]), shape=(1, 3))).indices
    array([1, 2], dtype=int32)
    """
    n, k = matrix.shape[0], int(matrix.indptr[1]) if len(matrix.indptr) > 1 else 0
    if not k or matrix.nnz != n * k or (np.diff(matrix.indptr) != k).any():
        return matrix.sorted_indices()
    keys = matrix.indices.reshape(n, k).astype(np.int64)
    if n >= 2**31 or k >= 2**31:  # a key holds an index and its place in the row
        return matrix.sorted_indices()
    keys <<= 32
    keys |= np.arange(k)
    keys.sort(axis=1)
    data = np.take_along_axis(matrix.data.reshape(n, k), keys & (2**32 - 1), axis=1).ravel()
    keys >>= 32
    indices = keys.astype(matrix.indices.dtype).ravel()
    return csr_matrix((data, indices, matrix.indptr), shape=matrix.shape)


def check_weights(weights: Any, name: str = "affinities") -> csr_matrix:
    """Return weights in canonical format, without diagonal and zeros, or say what is wrong.

    Parameters
    ----------
    weights : sparse matrix or array-like of shape (n_samples, n_samples)
        Finite and non-negative. Not changed.
    name : str, default="affinities"
        What messages call them; a plural.

    Returns
    -------
    csr_matrix
        Of float64; it may share its arrays with the input, and must not be changed.

    Examples
    --------
    >>> from closeknit.linalg import check_weights
    >>> check_weights([[5.0, 1.0], [2.0, 0.0]]).toarray()
    array([[0., 1.],
           [2., 0.]])
    """
    W = canonical(weights, name=name)
    if not np.isfinite(W.data).all():
        raise ValueError(f"{name} contain NaN or infinite values; check the data")
    if (W.data < 0.0).any():
        raise ValueError(f"{name} must not be negative, got {W.data.min():g}")
    largest = float(W.data.max(initial=0.0))
    if largest and not 1.0 / LARGEST <= largest <= LARGEST:
        raise ValueError(
            f"the largest of the {name} is {largest:g}, so sums of them overflow or vanish; "
            "multiply them by a constant"
        )
    if W.diagonal().any():
        W = W.copy()
        W.setdiag(0.0)
    if not W.data.all():
        W = W.copy()
        W.eliminate_zeros()
    return W


def check_symmetric(
    weights: Any, name: str = "affinities", *, n_jobs: int | None = -1
) -> csr_matrix:
    """Return weights as :func:`check_weights` does, if they are symmetric up to rounding.

    Parameters
    ----------
    weights, name
        As in :func:`check_weights`.
    n_jobs : int or None, default=-1

    Returns
    -------
    csr_matrix

    Examples
    --------
    >>> from closeknit.linalg import check_symmetric
    >>> check_symmetric([[0.0, 1.0], [2.0, 0.0]])
    Traceback (most recent call last):
        ...
    ValueError: affinities must be symmetric; use closeknit.graphs.symmetrize(P) for a matrix whose
    rows are distributions
    """
    W = check_weights(weights, name)
    threads = effective_n_jobs(n_jobs)
    if W.nnz and _core.asymmetry(core_graph(W), threads) > 1e-10 * W.data.max():
        raise ValueError(
            f"{name} must be symmetric; use closeknit.graphs.symmetrize(P) for a matrix whose "
            "rows are distributions"
        )
    return W


def entry_rows(W: csr_matrix) -> NDArray[Any]:
    """Return the row of each stored entry, as ``W.indices`` holds its column.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import entry_rows
    >>> entry_rows(csr_matrix([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]]))
    array([0, 0, 2], dtype=int32)
    """
    return np.repeat(np.arange(W.shape[0], dtype=W.indices.dtype), np.diff(W.indptr))


def row_sums(W: csr_matrix) -> Array:
    """Return the sum of each row; of a graph's weights, the degrees of its points.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import row_sums
    >>> row_sums(csr_matrix([[0.0, 1.0], [1.0, 0.5]]))
    array([1. , 1.5])
    """
    return np.asarray(W.sum(axis=1)).ravel()


def with_data(W: csr_matrix, data: NDArray[Any]) -> csr_matrix:
    """Return a matrix with the pattern of W, sharing it, and other entries.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import with_data
    >>> W = csr_matrix([[0.0, 1.0], [2.0, 0.0]])
    >>> with_data(W, -W.data).toarray()
    array([[ 0., -1.],
           [-2.,  0.]])
    """
    return csr_matrix((data, W.indices, W.indptr), shape=W.shape)


def same_weights(a: csr_matrix, b: csr_matrix) -> bool:
    """Whether two weight matrices are equal, at once if they are one object.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import same_weights
    >>> W = csr_matrix([[0.0, 1.0], [2.0, 0.0]])
    >>> same_weights(W, W.copy()), same_weights(W, 2 * W)
    (True, False)
    """
    return a is b or (_equal(a.data, b.data) and same_pattern(a, b))


def same_pattern(a: csr_matrix, b: csr_matrix) -> bool:
    """Whether two matrices store entries at the same places, at once if they share them.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import same_pattern
    >>> W = csr_matrix([[0.0, 1.0], [2.0, 0.0]])
    >>> same_pattern(W, 2 * W), same_pattern(W, W.T @ W)
    (True, False)
    """
    return _equal(a.indptr, b.indptr) and _equal(a.indices, b.indices)


def _equal(a: NDArray[Any], b: NDArray[Any]) -> bool:
    return a is b or np.array_equal(a, b)


def permuted(W: csr_matrix, order: Integers, n_jobs: int | None = -1) -> csr_matrix:
    """Return the graph in which point i is point ``order[i]`` of W.

    Parameters
    ----------
    W : csr_matrix of shape (n_samples, n_samples)
    order : ndarray of int of shape (n_samples,)
        A permutation.
    n_jobs : int or None, default=-1

    Returns
    -------
    csr_matrix
        Its rows keep the order of their entries, and so are not sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import permuted
    >>> path = csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    >>> permuted(path, np.array([2, 1, 0])).toarray()
    array([[0., 2., 0.],
           [2., 0., 1.],
           [0., 1., 0.]])
    """
    indptr = np.zeros_like(W.indptr)
    np.cumsum(np.diff(W.indptr)[order], out=indptr[1:])
    indices, data = np.empty_like(W.indices), np.empty_like(W.data)
    order = np.ascontiguousarray(order, dtype=np.int64)
    _core.permute(core_graph(W), order, indptr, indices, data, effective_n_jobs(n_jobs))
    out = csr_matrix((data, indices, indptr), shape=W.shape)
    out.has_sorted_indices = False
    return out


def core_graph(matrix: Any) -> _core.Graph:
    """Hand a CSR matrix to the compiled core.

    SciPy's `shape` is Python code, in which a Ctrl-C may strike; if that were read within the core,
    the interrupt would come out as another error.

    Parameters
    ----------
    matrix : csr_matrix

    Returns
    -------
    _core.Graph

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import core_graph
    >>> type(core_graph(csr_matrix([[0.0, 1.0], [1.0, 0.0]]))).__name__
    'Graph'
    """
    parts = {name: getattr(matrix, name) for name in ("indptr", "indices", "data", "shape")}
    return _core.Graph(SimpleNamespace(**parts))


def multiply(matrix: csr_matrix, X: Array, n_jobs: int | None = -1) -> Array:
    """Return matrix @ X for a square matrix of float64, the same bits for any number of threads.

    Parameters
    ----------
    matrix : csr_matrix of shape (n_samples, n_samples)
    X : ndarray of shape (n_samples, n_columns)
    n_jobs : int or None, default=-1

    Returns
    -------
    ndarray of shape (n_samples, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import multiply
    >>> multiply(csr_matrix([[0.0, 2.0], [1.0, 0.0]]), np.array([[1.0], [3.0]]))
    array([[6.],
           [1.]])
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = np.empty_like(X)
    threads = effective_n_jobs(n_jobs)
    _core.multiply(core_graph(matrix), X, out, threads)
    return out


def inner(a: Array, b: Array) -> float:
    """Return ⟨a, b⟩, the sum over all entries.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.linalg import inner
    >>> inner(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    11.0
    """
    return float(np.einsum("i,i->", a.ravel(), b.ravel()))


def norm(a: Array) -> float:
    """Return the Frobenius norm of a.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.linalg import norm
    >>> norm(np.array([[3.0, 4.0]]))
    5.0
    """
    return float(np.sqrt(inner(a, a)))
