"""Checks of what users pass: sparse matrices, arrays, numbers."""

from __future__ import annotations

from itertools import chain
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from closeknit._arrays import Array

#: Beyond it, and below its inverse, sums and reciprocals are at the ends of the range of numbers.
LARGEST = 1e290
#: Indices of points and features have 32 bits in the compiled core.
MOST = 2**31 - 1


def check_structure(X: Any, name: str = "the sparse matrix") -> Any:
    """Refuse what compiled code cannot take: masked entries, sparse indices out of range, …

    Complex numbers are refused as well, and more rows or columns than 32 bits can number. Compiled
    code trusts the structure of a sparse matrix, SciPy's as well as ours, so this comes
    before anything else is done with it.

    Parameters
    ----------
    X : object
        Anything; only arrays and sparse matrices are looked at.
    name : str, default="the sparse matrix"
        What messages call it.

    Returns
    -------
    object
        `X` itself; of a CSR matrix whose arrays have gaps, which SciPy leaves in slices such as
        ``data[::2]``, a copy without them.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import check_structure
    >>> damaged = csr_matrix([[0.0, 1.0], [1.0, 0.0]])
    >>> damaged.indices[0] = 7
    >>> check_structure(damaged)
    Traceback (most recent call last):
        ...
    ValueError: the sparse matrix of shape (2, 2) is damaged: column indices go up to 7
    """
    if hasattr(X, "obsm") and hasattr(X, "var"):  # NumPy would take minutes to make it an array
        raise TypeError(
            "X is an AnnData; use closeknit.io.anndata.tsne(adata), or embed and affinities "
            "beside it, or pass a matrix such as adata.obsm['X_pca'] or adata.X"
        )
    if np.ma.is_masked(X):
        raise ValueError(
            "the array has masked entries, whose values are not known; fill them in, or drop the "
            "rows or columns that hold them"
        )
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError("Complex data not supported: all numbers must be real")
    if max(getattr(X, "shape", None) or (0,)) > MOST:
        raise ValueError(
            f"an array of shape {X.shape} is too large: points and features are numbered with 32 "
            f"bits, so that there can be at most {MOST} of them"
        )
    if not issparse(X):
        return X
    if len(X.shape) != 2:
        raise ValueError(f"{name} must have two dimensions, got shape {X.shape}")
    problem = _PROBLEMS.get(X.format, lambda X: None)(X)
    if problem:
        raise ValueError(f"{name} of shape {X.shape} is damaged: {problem}")
    parts = (X.data, X.indices, X.indptr) if X.format == "csr" else ()
    return X if all(part.flags.c_contiguous for part in parts) else X.copy()


def check_finite(values: NDArray[Any], name: str) -> None:
    """Refuse NaN and infinities.

    Parameters
    ----------
    values : ndarray
    name : str
        What messages call what holds them.

    Examples
    --------
    >>> from closeknit.linalg import check_finite
    >>> check_finite(np.array([1.0, np.inf]), "the graph")
    Traceback (most recent call last):
        ...
    ValueError: the graph contains NaN or infinite values; check the data
    """
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinite values; check the data")


def real_array(X: Any, name: str) -> Array:
    """Return numbers in double precision, or raise an error that says why they are none.

    Parameters
    ----------
    X : array-like
        Not sparse.
    name : str
        What messages call it.

    Returns
    -------
    ndarray
        A view of `X` where that is possible. It may hold NaN and infinities.

    Examples
    --------
    >>> from closeknit.linalg import real_array
    >>> real_array([1, 2], "the sample")
    array([1., 2.])
    """
    check_structure(X, name)
    if issparse(X):
        raise TypeError(f"{name} must be dense, got a sparse matrix; use its toarray()")
    try:
        array = np.asarray(X)
        if array.dtype.kind not in "biufO":
            raise ValueError(f"got an array of {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from error


def _of_compressed(X: Any) -> str | None:
    """Return what is wrong with a matrix in CSR, CSC or BSR format."""
    shape, names = X.shape, ("row", "column")
    if X.format == "bsr":
        shape = tuple(n // max(1, size) for n, size in zip(shape, X.data.shape[1:], strict=True))
    if X.format == "csc":
        shape, names = shape[::-1], names[::-1]
    pointers, indices = X.indptr, X.indices
    if len(indices) != len(X.data):
        return f"{len(indices)} {names[1]} indices and {len(X.data)} values are stored"
    problem = _of_indices(pointers, len(indices) + 1, "index pointers")
    if problem:
        return problem
    if len(pointers) != shape[0] + 1 or pointers[0] != 0 or (pointers[1:] < pointers[:-1]).any():
        return "index pointers do not ascend from 0"
    return _of_indices(indices, shape[1], f"{names[1]} indices")


def _of_coordinates(X: Any) -> str | None:
    if not len(X.row) == len(X.col) == len(X.data):
        return f"{len(X.row)} rows, {len(X.col)} columns and {len(X.data)} values are stored"
    return _of_indices(X.row, X.shape[0], "row indices") or _of_indices(
        X.col, X.shape[1], "column indices"
    )


def _of_lists(X: Any) -> str | None:
    if len(X.rows) != X.shape[0] or list(map(len, X.rows)) != list(map(len, X.data)):
        return "its lists of columns and values differ in length"
    columns = np.fromiter(chain.from_iterable(X.rows), dtype=np.int64)
    return _of_indices(columns, X.shape[1], "column indices")


def _of_diagonals(X: Any) -> str | None:
    if len(X.offsets) != len(X.data):
        return f"it has {len(X.offsets)} offsets of {len(X.data)} diagonals"
    return None


_PROBLEMS = {
    "csr": _of_compressed,
    "csc": _of_compressed,
    "bsr": _of_compressed,
    "coo": _of_coordinates,
    "lil": _of_lists,
    "dia": _of_diagonals,
}


def _of_indices(indices: Any, bound: int, name: str) -> str | None:
    if indices.dtype not in (np.int32, np.int64):  # SciPy reads others as if they were
        return f"{name} are {indices.dtype}, neither int32 nor int64"
    if len(indices) and int(indices.min()) < 0:
        return f"{name} go down to {indices.min()}"
    if len(indices) and int(indices.max()) >= bound:
        return f"{name} go up to {indices.max()}"
    return None


def check_number(
    name: str,
    value: Any,
    *words: str | None,
    integer: bool = False,
    least: int = 0,
    share: bool = False,
) -> None:
    """Refuse what is neither one of the words nor a number of at least `least`.

    A `share` must lie between 0 and 1 instead, ends excluded.
    """
    if isinstance(value, str | None) and value in words:
        return
    number = isinstance(value, Integral if integer else Real) and not isinstance(value, bool)
    if number and (0.0 < value < 1.0 if share else value >= least):
        return
    if share:
        raise ValueError(f"{name}={value!r} must lie between 0 and 1")
    allowed = "".join(f"{word!r} or " for word in words)
    noun = "an integer" if integer else "a number"
    raise ValueError(f"{name}={value!r} must be {allowed}{noun} of at least {least}")
