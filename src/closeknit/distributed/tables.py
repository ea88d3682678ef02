"""Tables in blocks: read where workers are, labels and names of rows beside the numbers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from closeknit.distributed.blocks import most_rows
from closeknit.exceptions import DataError
from closeknit.io import Table, default_names, from_frame, write_table
from closeknit.io.extras import require
from closeknit.io.files import reading, replacing

#: Rows that tell which columns are what.
_FIRST = 1000


def read(
    path: str | Path,
    *,
    features: Collection[str] | None = None,
    labels: Collection[str] | None = None,
    ids: str | None = None,
) -> Table:
    """Read a file, or a folder of files, in blocks: only as blocks are wanted, and by workers.

    Numeric columns are features; the others are kept as labels.

    Parameters
    ----------
    path : str or path
        ``.parquet`` or ``.npy``, or a folder of the one or the other, whose files are taken in the
        order of their names. All workers must see it.
    features : collection of str or None, default=None
        Columns to compute with; None takes all numeric ones that are not set apart by `labels` and
        `ids`.
    labels : collection of str or None, default=None
        Columns to keep as labels although they are numeric, such as a class.
    ids : str or None, default=None
        The column that says what the rows are called. None takes the first column if it is called
        "id" or "index", or nothing.

    Returns
    -------
    closeknit.io.Table
        Whose `X`, `labels` and `ids` are Dask arrays. Estimators take it as they take an array.

    Raises
    ------
    DataError
        Saying which file cannot be used, and why. What is wrong inside of one shows when it is
        read, that is in a fit.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from closeknit import distributed as ckd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(3):
    ...         frame = pl.DataFrame({"length": [1.0, 2.0], "kind": ["a", "b"]})
    ...         frame.write_parquet(f"{folder}/{part}.parquet")
    ...     table = ckd.read(folder)
    ...     table.X.shape, table.feature_names, table.labels["kind"].compute()[:2]
    ((6, 1), ('length',), array(['a', 'b'], dtype=object))
    """
    import dask.array
    from dask import delayed

    files = _files(Path(path))
    arrays = files[0].suffix == ".npy"
    if arrays and (features or labels or ids):
        raise ValueError("features=, labels= and ids= name columns, which NPY files do not have")
    like = _first_array(files[0]) if arrays else _first_rows(files[0], features, labels, ids)
    pieces = [piece for file in files for piece in (_slices if arrays else _groups)(file, like)]
    take = delayed(_take_slice if arrays else _take_groups, pure=True)
    facts = (like.feature_names, tuple(like.labels), like.id_name)
    tables = [take(file, where, facts) for file, where, _ in pieces]

    def joined(what: Any, name: str | None, sample: Any) -> Any:
        width = sample.shape[1:]
        parts = [
            dask.array.from_delayed(delayed(what)(table, name), (length, *width), sample.dtype)
            for table, (*_, length) in zip(tables, pieces, strict=True)
        ]
        return dask.array.concatenate(parts)

    return replace(
        like,
        X=joined(_part, "X", like.X),
        labels={name: joined(_label, name, column) for name, column in like.labels.items()},
        ids=None if like.ids is None else joined(_part, "ids", like.ids),
    )


def write_map(
    path: str | Path, embedding: Any, table: Table, columns: Collection[str] | None = None
) -> None:
    """Write positions with the names and labels of the rows beside them.

    Parameters
    ----------
    path : str or path
        A Parquet file is written block by block; others of :func:`closeknit.io.write_table` in one
        piece, for which there must be memory.
    embedding : dask array of shape (n_samples, n_components)
    table : Table
        As :func:`read` returns it.
    columns : collection of str or None, default=None
        Names of the components; None is "x0", "x1" and so on.

    Examples
    --------
    >>> import tempfile
    >>> import dask.array as da
    >>> import polars as pl
    >>> from closeknit import distributed as ckd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     frame = pl.DataFrame({"a": [1.0, 2.0], "kind": ["x", "y"]})
    ...     frame.write_parquet(f"{folder}/in.parquet")
    ...     table = ckd.read(f"{folder}/in.parquet")
    ...     ckd.write_map(f"{folder}/map.parquet", da.zeros((2, 1)), table)
    ...     pl.read_parquet(f"{folder}/map.parquet").columns
    ['x0', 'kind']
    """
    names = list(default_names(embedding.shape[1]) if columns is None else columns)
    id_name = table.id_name or "id"
    if Path(path).suffix.lower() != ".parquet":
        known: dict[str, Any] = {"ids": table.ids, "id_name": id_name, "labels": table.labels}
        write_table(path, embedding.compute(), columns=names, **known)
        return
    arrow = require("pyarrow", "frames", "writing Parquet needs pyarrow")
    parquet = require("pyarrow.parquet", "frames", "writing Parquet needs pyarrow")
    import dask

    chunks = embedding.chunks[0]
    given: dict[str, Any] = {} if table.ids is None else {id_name: table.ids}
    given |= table.labels
    beside = {name: column.rechunk((chunks,)) for name, column in given.items()}
    writer: Any = None
    with replacing(path) as file:
        for block in range(len(chunks)):
            parts = [column.blocks[block] for column in beside.values()]
            positions, *others = dask.compute(embedding.blocks[block], *parts)
            found = dict(zip(beside, others, strict=True))
            first = {id_name: found.pop(id_name)} if table.ids is not None else {}
            middle = {name: np.ascontiguousarray(positions[:, i]) for i, name in enumerate(names)}
            rows = arrow.table({**first, **middle, **found})
            writer = writer or parquet.ParquetWriter(file, rows.schema)
            writer.write_table(rows.cast(writer.schema))
        if writer is not None:
            writer.close()


def _files(path: Path) -> list[Path]:
    """The files to read, in order."""
    if not path.is_dir():
        with reading(path):
            path.stat()
        found = [path]
    else:
        visible = (file for file in path.iterdir() if not file.name.startswith((".", "_")))
        found = sorted(file for file in visible if file.is_file())
    kinds = {file.suffix.lower() for file in found}
    if len(kinds) != 1 or not kinds <= {".parquet", ".npy"}:
        what = ", ".join(sorted(kind or "no ending" for kind in kinds)) or "no files"
        raise DataError(f"{path} holds {what}; give a folder of .parquet files only, or of .npy")
    return found


def _first_array(file: Path) -> Table:
    X = _mapped(file)
    if X.ndim != 2:
        raise DataError(f"{file} has {X.ndim} dimensions; arrays need rows and columns")
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(float)
    return Table(np.empty((0, X.shape[1]), dtype), default_names(X.shape[1]), kind="numpy")


def _first_rows(file: Path, features: Any, labels: Any, ids: str | None) -> Table:
    parquet = require("pyarrow.parquet", "frames", "reading Parquet needs pyarrow")
    with reading(file), parquet.ParquetFile(file) as opened:
        batch = next(opened.iter_batches(_FIRST), None)
        if batch is None:
            raise DataError("it has no rows; leave it out")
        arrow = require("pyarrow", "frames", "reading Parquet needs pyarrow")
        rows = arrow.Table.from_batches([batch])
        table = from_frame(rows, features=features, labels=labels, ids=ids)
    return replace(table, kind="parquet")


def _slices(file: Path, like: Table) -> list[tuple[Path, Any, int]]:
    """Rows of an array that make a block each."""
    X = _mapped(file)
    if X.ndim != 2 or X.shape[1] != like.n_features:
        raise DataError(
            f"{file} has shape {X.shape}, but the first file has {like.n_features} columns"
        )
    rows = most_rows(X.shape[1], like.X.dtype.itemsize)
    starts = range(0, len(X), rows)
    return [(file, slice(i, min(len(X), i + rows)), min(rows, len(X) - i)) for i in starts]


def _groups(file: Path, like: Table) -> list[tuple[Path, Any, int]]:
    """Row groups of a Parquet file that make a block: as few as there are, or as fit in one."""
    parquet = require("pyarrow.parquet", "frames", "reading Parquet needs pyarrow")
    with reading(file):
        sizes = parquet.read_metadata(file)
    most = most_rows(like.n_features, like.X.dtype.itemsize)
    found: list[tuple[Path, Any, int]] = []
    group: list[int] = []
    length = 0
    for number in range(sizes.num_row_groups):
        rows = sizes.row_group(number).num_rows
        if group and length + rows > most:
            found.append((file, tuple(group), length))
            group, length = [], 0
        group.append(number)
        length += rows
    return [*found, (file, tuple(group), length)] if length else found


def _mapped(file: Path) -> Any:
    with reading(file):
        return np.load(file, mmap_mode="r", allow_pickle=False)


def _take_slice(file: Path, rows: slice, facts: Any) -> Table:
    return Table(np.array(_mapped(file)[rows]), facts[0], kind="numpy")


def _take_groups(file: Path, groups: tuple[int, ...], facts: Any) -> Table:
    """Read some row groups, with the columns that the first file has."""
    parquet = require("pyarrow.parquet", "frames", "reading Parquet needs pyarrow")
    features, labels, ids = facts
    with reading(file), parquet.ParquetFile(file) as opened:
        rows = opened.read_row_groups(groups)
        try:
            return from_frame(rows, features=features, labels=labels, ids=ids)
        except DataError as error:
            if len(groups) == opened.num_row_groups:
                raise
            raise DataError(f"row groups {groups[0]} to {groups[-1]}: {error}") from None


def _part(table: Table, name: str) -> Any:
    return getattr(table, name)


def _label(table: Table, name: str) -> Any:
    return table.labels[name]
