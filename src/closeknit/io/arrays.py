"""Arrays on disk: NPY, NPZ and Matrix Market. Nothing is ever unpickled."""

from __future__ import annotations

import re
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Literal
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import mmread

from closeknit.exceptions import DataError
from closeknit.io.files import check_expansion, parts_of
from closeknit.io.table import Selection, Table, assemble, default_names

#: The members that scipy.sparse.save_npz always writes.
_SPARSE = {"format", "shape", "data"}
#: Members of an NPZ file that are about the others.
_NAMES, _IDS = "feature_names", "ids"
_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
#: How often a header is read that Python's parser fails on because another thread is parsing.
_ATTEMPTS = 5
_CHUNK = 2**24  # bytes read at a time, so that an array is not in memory twice

#: A Matrix Market file up to the line of its sizes, and a number in it.
_HEAD = re.compile(
    rb"%%MatrixMarket +\w+ +(\w+) +(\w+) +[\w-]+[ \t\r]*\n(?:%.*\n|\s*\n)*+(.*)\n", re.I
)
_NUMBER = rb"[-+]?+(?:(?:[0-9]++\.?+|\.(?=[0-9]))[0-9]*+(?:e[-+]?+[0-9]++)?+|nan|inf(?:inity)?+)"


def read_npy(path: Path, selection: Selection) -> Table:
    """Read one array of rows and columns; see `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.npy")
    ...     np.save(path, np.eye(2))
    ...     read_npy(path, Selection()).feature_names
    ('x0', 'x1')
    """
    with path.open("rb") as file:
        X = _matrix(load_array(file, path.stat().st_size), "it")
    return _table(X, default_names(X.shape[1]), {}, selection, "numpy")


def read_npz(path: Path, selection: Selection, key: str | None = None) -> Table:
    """Read named arrays, or a sparse matrix as scipy.sparse.save_npz writes it.

    A `key` of None is "X" or, if there is no "X", the only matrix. Other arrays with one value per
    row are labels; ``feature_names`` and ``ids`` are what they say.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.npz")
    ...     np.savez(path, X=np.eye(2), y=[3, 4])
    ...     read_npz(path, Selection()).labels
    {'y': array([3, 4])}
    """
    with ZipFile(path) as archive:
        found = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        members = {info.filename.removesuffix(".npy"): info for info in found}
        check_expansion(path, sum(info.file_size for info in members.values()))
        names = ["shape"] if key is None and members.keys() >= _SPARSE else list(members)
        arrays = {}
        for name in names:
            with archive.open(members[name]) as member:
                arrays[name] = load_array(member, members[name].file_size)
    if names == ["shape"]:
        _check_shape(path, *arrays["shape"].tolist())
        X = check_csr(sparse.load_npz(path))
        return _table(X, default_names(X.shape[1]), {}, selection, "numpy")
    key = _find_key(arrays, key)
    return replace(_named_table(arrays, key, selection), key=key)


def read_matrix_market(path: Path, selection: Selection) -> Table:
    """Read a Matrix Market file, sparse (coordinate) or dense (array); see `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import mmwrite
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "graph.mtx")
    ...     mmwrite(path, sparse.eye(3))
    ...     read_matrix_market(path, Selection()).X.nnz
    3
    """
    content = b"".join(parts_of(path))
    if not content.endswith(b"\n"):
        content += b"\n"
    _check_text(path, content)
    found = mmread(BytesIO(content))
    if np.iscomplexobj(found):
        raise DataError("it holds complex numbers; store real ones")
    X = check_csr(found) if sparse.issparse(found) else _matrix(np.asarray(found), "it")
    return _table(X, default_names(X.shape[1]), {}, selection, "matrix market")


def load_array(file: IO[bytes], size: int) -> NDArray[Any]:
    """Read an array in NumPy's format, whose header must fit the size of the file.

    Parameters
    ----------
    file : binary file
    size : int
        Bytes of the whole file.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> file = BytesIO()
    >>> np.save(file, np.arange(3))
    >>> _ = file.seek(0)
    >>> load_array(file, len(file.getvalue()))
    array([0, 1, 2])
    """
    shape, fortran, dtype = _read_header(file)
    length = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if min(shape, default=0) < 0 or length != size - file.tell():
        raise ValueError(f"it does not have the length that shape {shape} and type {dtype} need")
    content = np.empty(length, dtype=np.uint8)
    rest = content.data
    while rest:
        n_read = file.readinto(rest[:_CHUNK])  # type: ignore[attr-defined]
        if not n_read:
            raise EOFError("it ends inside an array")
        rest = rest[n_read:]
    file.read(1)  # at the end of a member of an archive the checksum is looked at
    return np.ndarray(shape, dtype, content, order="F" if fortran else "C")


def map_array(path: Path) -> NDArray[Any]:
    """Map an array in NumPy's format into memory, for reading some of it.

    Parameters
    ----------
    path : Path

    Returns
    -------
    memmap

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "numbers.npy")
    ...     np.save(path, np.arange(100))
    ...     map_array(path)[40:42].tolist()
    [40, 41]
    """
    with path.open("rb") as file:
        shape, fortran, dtype = _read_header(file)
        order: Literal["F", "C"] = "F" if fortran else "C"
        return np.memmap(file, dtype, mode="r", offset=file.tell(), shape=shape, order=order)


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read what comes before an array's numbers: its shape, its order and its type.

    The header is a Python expression, and up to Python 3.11.7 and 3.12.1 the parser may fail with
    a SystemError if another thread parses at the same time (python/cpython#106905). Nothing is
    wrong with the file then.
    """
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"its format has the unknown version {version}")
    start = file.tell()
    for attempt in range(_ATTEMPTS):
        try:
            shape, fortran, dtype = _HEADERS[version](file)
            break
        except SystemError:
            if attempt == _ATTEMPTS - 1:
                raise
            file.seek(start)
    if dtype.hasobject:
        raise DataError(
            "it holds Python objects, which may run code when they are loaded; "
            "store arrays of numbers or strings"
        )
    return shape, fortran, dtype


def check_csr(X: Any) -> Any:
    """Return a CSR matrix of floats whose indices lie inside it, or raise an error.

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


def _check_text(path: Path, content: bytes) -> None:
    """Refuse lines that are not the numbers that the first line promises.

    SciPy would read 2.8 for each of 2.8E, 2.8x and 2,8, and may crash where the file ends in one.
    """
    head = _HEAD.match(content)
    if head is None:
        raise ValueError("it does not begin as a Matrix Market file does")
    form, field, sizes = head[1].lower(), head[2].lower(), [int(n) for n in head[3].split()]
    if len(sizes) != (3 if form == b"coordinate" else 2):
        raise ValueError(f"its sizes are {sizes}")
    _check_shape(path, sizes[0], sizes[1], sizes[2] if sizes[2:] else sizes[0] * sizes[1])
    n_cells = (2 if form == b"coordinate" else 0) + {b"pattern": 0, b"complex": 2}.get(field, 1)
    cells = rb"[ \t]++".join([_NUMBER] * n_cells)
    lines = re.compile(rb"(?:[ \t]*+(?:" + cells + rb"[ \t]*+)?+\r?+\n)*+", re.IGNORECASE)
    end = lines.match(content, head.end()).end()  # type: ignore[union-attr]
    if end < len(content):
        line = content.count(b"\n", 0, end) + 1
        raise ValueError(f"line {line} does not hold {n_cells} numbers")


def _check_shape(path: Path, n_rows: int, n_columns: int, n_entries: int = 0) -> None:
    """Refuse a size that the header gives and the file is far too small for."""
    check_expansion(path, 8 * n_rows + 64 * n_columns + 8 * n_entries)


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
    names = arrays.get(_NAMES, np.array(default_names(X.shape[1])))
    fitting = names.shape == (X.shape[1],)
    if not fitting and (key == "X" or "X" not in arrays):
        raise DataError(
            f"its array {_NAMES!r} has shape {names.shape}, but {key!r} has {X.shape[1]} columns; "
            "store one name for each"
        )
    if not fitting:  # they are those of another matrix
        names = default_names(X.shape[1])
    columns = {
        name: array.ravel()
        for name, array in arrays.items()
        if name not in (key, _NAMES) and array.shape in (X.shape[:1], (X.shape[0], 1))
    }
    if _IDS in columns and selection.ids is None and _IDS not in selection.wanted():
        columns = {_IDS: columns.pop(_IDS), **columns}  # where identifiers are looked for
    return _table(X, tuple(map(str, names)), columns, selection, "numpy")


def _matrix(array: NDArray[Any], name: str) -> NDArray[Any]:
    if array.dtype.names is not None or array.dtype.kind not in "biuf":
        raise DataError(f"{name} holds values of type {array.dtype}; store real numbers")
    if array.ndim != 2:
        raise DataError(
            f"{name} has shape {array.shape}, but a table has rows and columns; "
            "store X.reshape(len(X), -1)"
        )
    if 0 in array.shape:
        raise DataError(f"{name} has shape {array.shape}, which holds no numbers")
    return array


def _table(
    X: Any, names: tuple[str, ...], others: dict[str, Any], selection: Selection, kind: str
) -> Table:
    order = [*others, *names] if _IDS in others else [*names, *others]
    return assemble(X, names, others, order=order, selection=selection, kind=kind)
