"""Frames of pandas, Polars and Arrow, all read and written through narwhals."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closeknit._arrays import Array
from closeknit.exceptions import DataError
from closeknit.io.extras import require
from closeknit.io.files import check_expansion
from closeknit.io.table import Selection, Table, assemble


def from_frame(
    frame: Any,
    *,
    features: Collection[str] | None = None,
    labels: Collection[str] | None = None,
    ids: str | None = None,
    missing: str = "error",
) -> Table:
    """Take the numbers, labels and identifiers out of a frame.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or another that narwhals knows
        It is not modified.
    features, labels, ids, missing
        As in `read_table`. A pandas index that is more than a count is taken for the identifiers,
        also where an Arrow table or a Parquet file holds it as a column.

    Returns
    -------
    Table

    Examples
    --------
    >>> import polars as pl
    >>> from closeknit.io import from_frame
    >>> table = from_frame(pl.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "kind": ["x", "y"]}))
    >>> table.X
    array([[1. , 0.5],
           [2. , 1.5]])
    >>> table.labels["kind"]
    array(['x', 'y'], dtype=object)
    """
    return _to_table(frame, Selection(features, labels, ids, missing))


def to_frame_like(frame: Any, embedding: ArrayLike, columns: Sequence[str] | None = None) -> Any:
    """Put an embedding into a frame of the same kind as the data's.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or another that narwhals knows
        Where the data came from. A pandas index is kept.
    embedding : array-like of shape (n_samples, n_components)
    columns : sequence of str or None, default=None
        Names of the components; None is "x0", "x1" and so on.

    Returns
    -------
    frame of the same kind, of shape (n_samples, n_components)

    Examples
    --------
    >>> import pandas as pd
    >>> from closeknit.io import to_frame_like
    >>> data = pd.DataFrame({"a": [1.0, 2.0]}, index=["first", "second"])
    >>> to_frame_like(data, [[0.5, 0.1], [0.7, 0.2]], ["left", "up"])
            left   up
    first    0.5  0.1
    second   0.7  0.2
    """
    import narwhals as nw

    wrapped = _wrap(frame)
    values = np.asarray(embedding)
    if values.ndim != 2 or values.shape[0] != wrapped.shape[0]:
        raise ValueError(
            f"the embedding has shape {values.shape}, but the frame has {wrapped.shape[0]} rows"
        )
    names = [f"x{i}" for i in range(values.shape[1])] if columns is None else list(columns)
    if len(names) != values.shape[1]:
        raise ValueError(f"{len(names)} column names for {values.shape[1]} components")
    new = nw.from_dict(
        {name: np.ascontiguousarray(values[:, i]) for i, name in enumerate(names)},
        backend=wrapped.implementation,
    )
    native = nw.to_native(new)
    index = nw.maybe_get_index(wrapped)
    if index is not None:
        native.index = index
    return native


def read_parquet(path: Path, selection: Selection) -> Table:
    """Read a Parquet file; see `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.parquet")
    ...     pl.DataFrame({"a": [1.0, 2.0]}).write_parquet(path)
    ...     read_parquet(path, Selection()).feature_names
    ('a',)
    """
    parquet = require("pyarrow.parquet", "frames", "reading Parquet needs pyarrow")
    sizes = parquet.read_metadata(path)
    check_expansion(path, 8 * sizes.num_rows * sizes.num_columns)
    return replace(_to_table(parquet.read_table(path), selection), kind="parquet")


def read_feather(path: Path, selection: Selection) -> Table:
    """Read a Feather or Arrow file; see `read_table`.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "data.feather")
    ...     pl.DataFrame({"a": [1.0, 2.0]}).write_ipc(path)
    ...     read_feather(path, Selection()).feature_names
    ('a',)
    """
    pa = require("pyarrow", "frames", "reading Feather needs pyarrow")
    ipc = require("pyarrow.ipc", "frames", "reading Feather needs pyarrow")
    size, batches = 0, []
    with ipc.open_file(path) as file:
        for number in range(file.num_record_batches):
            batches.append(file.get_batch(number))
            size += batches[-1].nbytes
            check_expansion(path, size)
        table = pa.Table.from_batches(batches, file.schema)
    return replace(_to_table(table, selection), kind="feather")


def label_columns(frame: Any) -> dict[str, NDArray[Any]]:
    """Every column of a frame as a label.

    Examples
    --------
    >>> import pandas as pd
    >>> label_columns(pd.DataFrame({"n": [1, 2]}))
    {'n': array([1, 2])}
    """
    return {str(column.name): _labels(column) for column in _wrap(frame).iter_columns()}


def _to_table(frame: Any, selection: Selection) -> Table:
    wrapped = _wrap(frame)
    if not wrapped.shape[0]:
        raise DataError(f"there are no rows, only {wrapped.shape[1]} columns")
    columns = [*wrapped.iter_columns()]
    order = [str(column.name) for column in columns]
    index = _named_rows(wrapped) if selection.ids is None else None
    if index is not None:
        order, columns = ["", *order], [index, *columns]
        selection = replace(selection, ids="")
    said = getattr(getattr(frame, "schema", None), "pandas_metadata", None)
    return _assemble(columns, order, _as_in_pandas(said, order, selection) if said else selection)


def _wrap(frame: Any) -> Any:
    nw = require("narwhals", "frames", "frames of pandas, Polars and Arrow need narwhals")
    try:
        return nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        names = [*(frame.column_names if hasattr(frame, "column_names") else frame.columns)]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"two columns are called {twice!r}; rename one of them") from error
    except TypeError as error:
        lazy = ": call collect() first" if hasattr(frame, "collect") else ""
        raise TypeError(
            f"expected a frame of pandas, Polars or Arrow, got {type(frame).__name__}{lazy}"
        ) from error


def _named_rows(wrapped: Any) -> Any:
    """The index of a pandas frame as a series, unless it only counts."""
    import narwhals as nw

    index = nw.maybe_get_index(wrapped)
    if index is None or type(index).__name__ == "RangeIndex":
        return None
    if index.nlevels > 1:
        index = index.map(lambda levels: ", ".join(map(str, levels)))
    return nw.from_native(index.to_series(), series_only=True)


def _as_in_pandas(said: dict[str, Any], order: Sequence[str], selection: Selection) -> Selection:
    """The selection without numbers that were an index or categories when pandas stored them."""
    index = [name for name in said.get("index_columns", ()) if isinstance(name, str)]
    categories = [
        column.get("field_name")
        for column in said.get("columns", ())
        if column.get("pandas_type") == "categorical"
    ]
    known = {*order} - {*selection.wanted()}
    labels = [name for name in (*index, *categories) if name in known]
    ids = selection.ids
    if ids is None and len(index) == 1 and index[0] in known:
        ids = index[0]
    return replace(selection, labels=[*(selection.labels or ()), *labels], ids=ids)


def _assemble(columns: list[Any], order: list[str], selection: Selection) -> Table:
    apart, numeric, others = selection.apart(order), {}, {}
    for name, column in zip(order, columns, strict=True):
        found = None if name in apart else _numbers(column)
        if found is None:
            others[name] = _labels(column)
        else:
            numeric[name] = found
    single = bool(numeric) and all(found.dtype == np.float32 for found in numeric.values())
    X = np.empty((len(columns[0]), len(numeric)), dtype=np.float32 if single else np.float64)
    for i, found in enumerate(numeric.values()):
        X[:, i] = found
    return assemble(X, [*numeric], others, order=order, selection=selection, kind="frame")


def _numbers(column: Any) -> NDArray[Any] | None:
    """The numbers in a column, NaN where one is missing; None if it holds something else."""
    import narwhals as nw

    if column.dtype in (nw.Object, nw.Unknown):
        return _numbers_of_objects(column)
    if not column.dtype.is_numeric():
        return None
    if column.null_count() or column.dtype in (nw.Int128, nw.UInt128):  # which NumPy has not
        return np.asarray(column.cast(nw.Float64).fill_null(float("nan")).to_numpy())
    return np.asarray(column.to_numpy())


def _numbers_of_objects(column: Any) -> Array | None:
    """As `_numbers`, of cells of any type, as pandas keeps them after a transposition or where
    zeros are not stored.
    """
    missing = column.is_null().to_list()
    cells = [None if absent else c for c, absent in zip(column.to_list(), missing, strict=True)]
    wrong = next((c for c in cells if isinstance(c, complex | list | tuple | np.ndarray)), None)
    if wrong is not None:
        raise DataError(
            f"column {column.name!r} holds values of type {type(wrong).__name__}; make a column of "
            "each of their numbers, or leave it out of the frame"
        )
    others = [row for row, c in enumerate(cells) if not (c is None or _is_number(c))]
    count = sum(map(_is_number, cells))
    if not count or count < len(others):
        return None
    if others:
        cell = cells[others[0]]
        raise DataError(
            f"row {others[0]}, column {column.name!r}: {cell!r} of type {type(cell).__name__} is "
            "not a number, as most of that column is; convert it, for example by "
            f"pandas.to_numeric, or keep the column as a label with labels=[{column.name!r}]"
        )
    return np.array([np.nan if c is None else float(c) for c in cells])


def _is_number(cell: Any) -> bool:
    return isinstance(cell, Real | Decimal) and not isinstance(cell, bool | np.bool_)


def _labels(column: Any) -> NDArray[Any]:
    """Numbers and truth values as they are, the rest as text."""
    dtype = column.dtype
    if not column.null_count() and (dtype.is_numeric() or str(dtype) == "Boolean"):
        return np.asarray(column.to_numpy())
    if dtype.is_numeric():
        return np.asarray(_numbers(column))
    if dtype.is_nested():
        raise DataError(f"column {column.name!r} holds {dtype}; leave it out of the frame")
    cells = zip(column.to_list(), column.is_null().to_list(), strict=True)
    return np.array(["" if missing else str(cell) for cell, missing in cells], dtype=object)
