"""Arrays on disk: NPY, NPZ and Matrix Market. Nothing is ever unpickled."""

from __future__ import annotations

import gzip
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.exceptions import DataError
from closeknit.io.table import Selection, Table, assemble, default_names

__all__ = ["check_csr", "read_matrix_market", "read_npy", "read_npz"]

#: The members that scipy.sparse.save_npz always writes.
_SPARSE = {"format", "shape", "data"}
#: Members of an NPZ file that are about the others.
_NAMES, _IDS = "feature_names", "ids"


def read_npy(path: Path, *, selection: Selection) -> Table:
    """Read one array of rows and columns; see `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.npy")
    ...     np.save(path, np.eye(2))
    ...     read_npy(path, selection=Selection()).feature_names
    ('x0', 'x1')
    """
    with path.open("rb") as file:
        if not file.peek(1):
            raise DataError("it is empty; write or download it again")
        X = _matrix(_load(file), "it")
    return _table(X, default_names(X.shape[1]), {}, selection, "numpy")


def read_npz(path: Path, *, key: str | None, selection: Selection) -> Table:
    """Read named arrays, or a sparse matrix as scipy.sparse.save_npz writes it.

    A `key` of None is "X" or, if there is no "X", the only matrix. Other arrays with one value per
    row are labels; ``feature_names`` and ``ids`` are what they say.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.npz")
    ...     np.savez(path, X=np.eye(2), y=[3, 4])
    ...     read_npz(path, key=None, selection=Selection()).labels
    {'y': array([3, 4])}
    """
    if path.stat().st_size == 0:
        raise DataError("it is empty; write or download it again")
    try:
        with np.load(path, allow_pickle=False) as archive:
            if set(archive.files) >= _SPARSE and key is None:
                X = check_csr(sparse.load_npz(path))
                return _table(X, default_names(X.shape[1]), {}, selection, "numpy")
            arrays = {name: _member(archive, name) for name in archive.files}
    except (AttributeError, TypeError) as error:
        raise ValueError(error) from error  # not an archive, or one of something else
    key = _find_key(arrays, key)
    return replace(_named_table(arrays, key, selection), key=key)


def read_matrix_market(path: Path, *, selection: Selection) -> Table:
    """Read a Matrix Market file, sparse (coordinate) or dense (array); see `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import mmwrite
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "graph.mtx")
    ...     mmwrite(path, sparse.eye(3))
    ...     read_matrix_market(path, selection=Selection()).X.nnz
    3
    """
    from scipy.io import mmread

    content = path.read_bytes()
    if path.suffix.lower() == ".gz":
        content = gzip.decompress(content)
    if not content.strip():
        raise DataError("it is empty; write or download it again")
    found = mmread(BytesIO(content))
    if np.iscomplexobj(found):
        raise DataError("it holds complex numbers; store real ones")
    X = check_csr(found) if sparse.issparse(found) else _matrix(np.asarray(found), "it")
    return _table(X, default_names(X.shape[1]), {}, selection, "matrix market")


def check_csr(X: Any) -> Any:
    """Return a CSR matrix of floats whose indices lie inside it, or complain.

    Parameters
    ----------
    X : sparse matrix
        From a file, which may say anything.

    Returns
    -------
    csr_matrix

    Examples
    --------
    >>> check_csr(sparse.eye(2, dtype=int)).dtype
    dtype('float64')
    """
    if not (np.issubdtype(X.dtype, np.number) or X.dtype == bool) or np.iscomplexobj(X):
        raise DataError(f"it holds values of type {X.dtype}; store real numbers")
    if X.format in ("csr", "csc", "bsr"):
        X.check_format(full_check=True)
    X = sparse.csr_matrix(X, dtype=X.dtype if X.dtype == np.float32 else np.float64)
    if 0 in X.shape:
        raise DataError(f"it holds a matrix of shape {X.shape}, which has no numbers")
    return X


def _load(file: Any) -> NDArray[Any]:
    try:
        return np.lib.format.read_array(file, allow_pickle=False)
    except ValueError as error:
        raise _unpickled(error) from error


def _member(archive: Any, name: str) -> Any:
    try:
        return archive[name]
    except ValueError as error:
        raise _unpickled(error) from error


def _unpickled(error: ValueError) -> ValueError:
    if "allow_pickle" in str(error):
        return DataError(
            "it holds Python objects, which may run code when they are loaded; "
            "store arrays of numbers or strings"
        )
    return error


def _find_key(arrays: dict[str, Any], key: str | None) -> str:
    known = ", ".join(map(repr, arrays)) or "none"
    if key is not None:
        if key not in arrays:
            raise DataError(f"it has no array {key!r}; choose one of its keys: {known}")
        return key
    if "X" in arrays:
        return "X"
    matrices = [name for name, array in arrays.items() if np.ndim(array) == 2]
    if len(matrices) != 1:
        raise DataError(
            f"it has no array 'X', and {len(matrices) or 'none'} of its arrays have rows and "
            f"columns; choose one of its keys with key=: {known}"
        )
    return matrices[0]


def _named_table(arrays: dict[str, Any], key: str, selection: Selection) -> Table:
    X = _matrix(arrays[key], f"its array {key!r}")
    n = X.shape[0]
    columns = {
        name: np.asarray(array)
        for name, array in arrays.items()
        if name not in (key, _NAMES) and np.shape(array) == (n,)
    }
    names = arrays.get(_NAMES)
    if names is None or np.shape(names) != (X.shape[1],):
        names = default_names(X.shape[1])
    if _IDS in columns and selection.ids is None and _IDS not in selection.wanted():
        columns = {_IDS: columns.pop(_IDS), **columns}  # where identifiers are looked for
    return _table(X, tuple(map(str, names)), columns, selection, "numpy")


def _matrix(array: NDArray[Any], what: str) -> NDArray[Any]:
    if array.dtype.names is not None or array.dtype.kind not in "biuf":
        raise DataError(f"{what} holds values of type {array.dtype}; store real numbers")
    if array.ndim != 2:
        raise DataError(
            f"{what} has shape {array.shape}, but a table has rows and columns; "
            "store X.reshape(len(X), -1)"
        )
    if 0 in array.shape:
        raise DataError(f"{what} has shape {array.shape}, which holds no numbers")
    return array


def _table(
    X: Any, names: tuple[str, ...], others: dict[str, Any], selection: Selection, kind: str
) -> Table:
    order = [*others, *names] if _IDS in others else [*names, *others]
    return assemble(X, names, others, order=order, selection=selection, kind=kind)
