"""Write embeddings and graphs, all of them or nothing."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from closeknit.exceptions import OutputError
from closeknit.io.extras import require
from closeknit.io.files import COMPRESSED, replacing, without_compression
from closeknit.io.table import default_names

_TEXT = tuple(f"{kind}{packed}" for kind in (".csv", ".tsv") for packed in ("", *COMPRESSED))
TABLES = (*_TEXT, ".parquet", ".feather", ".npy", ".npz")
#: What a command that places or labels rows can write.
MAPS = (*TABLES, ".h5ad")
GRAPHS = (".npz", ".mtx")

Columns = dict[str, NDArray[Any]]


def write_table(
    path: str | Path,
    X: ArrayLike,
    *,
    columns: Sequence[str] | None = None,
    ids: ArrayLike | None = None,
    id_name: str = "id",
    labels: Mapping[str, ArrayLike] | None = None,
) -> None:
    """Write an embedding, or any other matrix, with names and labels for its rows.

    The file appears when it is complete; until then, and if anything goes wrong, what was there
    stays. Numbers read back are the same to the bit.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.tsv`` (each also with ``.gz``, ``.xz`` or ``.bz2``), ``.parquet``,
        ``.feather``, ``.npy`` (only `X`) or ``.npz``.
    X : array-like of shape (n_samples, n_components)
    columns : sequence of str or None, default=None
        Names of the components; None is "x0", "x1" and so on.
    ids : array-like of shape (n_samples,) or None, default=None
        Written as the first column; as an array called "ids" in NPZ files, unless they have
        another name.
    id_name : str, default="id"
        The name of that column.
    labels : mapping of str to array-like of shape (n_samples,) or None, default=None
        Further columns.

    Raises
    ------
    OutputError
        Saying why the file cannot be written, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> import closeknit as ck
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/embedding.csv"
    ...     ck.io.write_table(path, [[0.5, 1.0], [0.1, 2.0]], labels={"kind": ["a", "b"]})
    ...     print(open(path).read())
    x0,x1,kind
    0.5,1.0,a
    0.1,2.0,b
    <BLANKLINE>
    """
    suffix = check_suffix(path, TABLES)
    matrix = np.asarray(X)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise ValueError(
            f"X must be a matrix of numbers, got shape {matrix.shape} and type {matrix.dtype}"
        )
    names = _check_columns(columns, matrix.shape[1])
    before = {} if ids is None else {id_name: np.asarray(ids)}
    after = {str(name): np.asarray(values) for name, values in (labels or {}).items()}
    _check_extras([*before.items(), *after.items()], names, len(matrix))
    target = Path(path)
    if suffix == ".npy":
        with replacing(target) as file:
            np.save(file, matrix, allow_pickle=False)
    elif suffix == ".npz":
        _write_npz(target, matrix, names, {**before, **after})
    else:
        write = _write_arrow if suffix in (".parquet", ".feather") else _write_text
        middle = {name: np.ascontiguousarray(matrix[:, i]) for i, name in enumerate(names)}
        write(target, {**before, **middle, **after})


def write_graph(path: str | Path, W: Any) -> None:
    """Write a sparse matrix of affinities.

    Parameters
    ----------
    path : str or path
        ``.npz`` (as scipy.sparse.load_npz reads it) or ``.mtx`` (Matrix Market).
    W : sparse matrix or array-like of shape (n_samples, n_samples)

    See Also
    --------
    write_table : Raises the same errors.

    Examples
    --------
    >>> import tempfile
    >>> from scipy import sparse
    >>> import closeknit as ck
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ck.io.write_graph(f"{folder}/W.npz", sparse.eye(3))
    ...     sparse.load_npz(f"{folder}/W.npz").nnz
    3
    """
    suffix = check_suffix(path, GRAPHS)
    graph = sparse.csr_matrix(W)
    with replacing(path) as file:
        if suffix == ".npz":
            parts = {name: getattr(graph, name) for name in ("indices", "indptr", "data")}
            parts |= {"format": np.array(b"csr"), "shape": np.array(graph.shape)}
            _write_arrays(file, parts, ZIP_DEFLATED)
            return
        from scipy.io import mmwrite

        # 17 digits give every float64 back.
        mmwrite(file, graph, precision=17, symmetry="general")


def check_suffix(path: str | Path, known: Sequence[str]) -> str:
    """Return the ending of `path`, or raise an error if it is not one of those known.

    Examples
    --------
    >>> check_suffix("a.b.CSV.gz", (".csv", ".csv.gz"))
    '.csv.gz'
    """
    name = Path(path).name.lower()
    fitting = [suffix for suffix in known if name.endswith(suffix)]
    if not fitting:
        raise OutputError(
            f"cannot write {path}: its ending is unknown; use one of {', '.join(known)}"
        )
    return max(fitting, key=len)


def _check_columns(columns: Sequence[str] | None, n: int) -> list[str]:
    names = list(default_names(n) if columns is None else map(str, columns))
    if len(names) != n:
        raise ValueError(f"{len(names)} column names for {n} columns")
    return names


def _check_extras(extras: Sequence[tuple[str, NDArray[Any]]], names: Sequence[str], n: int) -> None:
    seen = {*names}
    for name, values in extras:
        if name in seen:
            raise ValueError(f"two columns would be called {name!r}; rename one of them")
        if values.shape != (n,):
            raise ValueError(f"{name!r} has shape {values.shape}, but there are {n} rows")
        seen.add(name)


def _write_text(path: Path, columns: Columns) -> None:
    delimiter = "\t" if without_compression(path).suffix.lower() == ".tsv" else ","
    with replacing(path) as file, _text_layer(file, path) as text:
        writer = csv.writer(
            text, delimiter=delimiter, lineterminator="\n", quoting=_quoting(columns)
        )
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def _quoting(columns: Columns) -> Any:
    """Quotes where they are needed; the csv module would forget them around a carriage return."""
    texts = (column for column in columns.values() if column.dtype.kind in "OU")
    returns = any("\r" in str(cell) for column in texts for cell in column.tolist())
    return csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL


@contextmanager
def _text_layer(file: BinaryIO, path: Path) -> Iterator[TextIO]:
    """Text for `file`, compressed if its name says so; `file` stays open."""
    with ExitStack() as stack:
        raw: Any = file
        suffix = path.suffix.lower()
        if suffix == ".gz":
            # Neither name nor time inside: the same data give the same bytes.
            raw = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        elif suffix in COMPRESSED:
            raw = stack.enter_context(COMPRESSED[suffix](file, "wb"))
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        stack.callback(text.detach)  # flushes
        yield text


def _write_arrow(path: Path, columns: Columns) -> None:
    kind = path.suffix.lower().lstrip(".")
    purpose = f"writing {kind.capitalize()} needs pyarrow"
    table = require("pyarrow", "frames", purpose).table(columns)
    module = require(f"pyarrow.{kind}", "frames", purpose)
    write = module.write_table if kind == "parquet" else module.write_feather
    with replacing(path) as file:
        write(table, file)


def _write_npz(path: Path, X: NDArray[Any], names: list[str], extras: Columns) -> None:
    named = {"ids" if name == "id" else name: _plain(column) for name, column in extras.items()}
    taken = named.keys() & {"X", "feature_names", "file"} or extras.keys() & {"ids"}
    if taken:
        raise ValueError(f"an NPZ file has another use for the name {min(taken)!r}; rename it")
    with replacing(path) as file:
        _write_arrays(file, {"X": X, "feature_names": np.array(names), **named}, ZIP_STORED)


def _write_arrays(file: BinaryIO, arrays: Columns, compression: int) -> None:
    """Write an NPZ file. NumPy 1 does not close one that a full disk has cut off."""
    with ZipFile(file, "w", compression) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    """Text of type object, which could only be pickled, as text of a fixed width."""
    return column.astype(str) if column.dtype == object else column
