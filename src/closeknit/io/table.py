"""A table: numbers to compute with, and what else is known about its rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit._arrays import Flags
from closeknit.exceptions import DataError

if TYPE_CHECKING:
    from closeknit.io.dialect import Dialect

#: A first column of such a name holds identifiers; the empty name is what pandas and R write for an
#: index.
_FIRST_ID = ("", "unnamed: 0", "ids", "index", "rowname", "rownames")
#: A column of such a name does wherever it stands: id, cell_id, PassengerId, barcode.
_ANY_ID = re.compile(r"(?:.*[_. -])?(?i:id|uuid|barcode)|.*[a-z]I[dD]")

#: How columns are called that have no name, before their numbers; pandas does so, too.
UNNAMED = "unnamed: "


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers with names, labels and identifiers.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n_samples, n_features)
        The numeric columns, as float64 (float32 where the source holds that), without missing or
        infinite values.
    feature_names : tuple of str
        One for each column of `X`.
    labels : dict of str to ndarray of shape (n_samples,)
        The other columns, for colours and the like. Text is of type object, with "" where it is
        missing.
    ids : ndarray of shape (n_samples,) or None
        What the rows are called.
    kind : str
        Where the table comes from: "text", "parquet", "numpy", "matrix market", "h5ad", "image",
        "frame" or "anndata".
    id_name : str or None
        The column of the identifiers, if it has a name.
    n_dropped : int
        Rows left out because of missing values.
    key : str or None
        The array or representation taken from a file that holds several.
    dialect : Dialect or None
        How a text file was read.

    Examples
    --------
    >>> import pandas as pd
    >>> from closeknit.io import from_frame
    >>> flowers = pd.DataFrame({"length": [1.4, 4.7], "width": [0.2, 1.4], "kind": ["a", "b"]})
    >>> table = from_frame(flowers)
    >>> table.X.shape, table.feature_names, list(table.labels)
    ((2, 2), ('length', 'width'), ['kind'])
    >>> table.column("kind"), table.column("width")
    (array(['a', 'b'], dtype=object), array([0.2, 1.4]))
    """

    X: Any
    feature_names: tuple[str, ...]
    labels: dict[str, NDArray[Any]] = field(default_factory=dict)
    ids: NDArray[Any] | None = None
    kind: str = "numpy"
    id_name: str | None = None
    n_dropped: int = 0
    key: str | None = None
    dialect: Dialect | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of numeric columns."""
        return int(self.X.shape[1])

    def column(self, name: str) -> NDArray[Any]:
        """A label or a feature, by name.

        Parameters
        ----------
        name : str

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        if name in self.labels:
            return self.labels[name]
        if name in self.feature_names:
            return _column(self.X, self.feature_names.index(name))
        raise DataError(_unknown([name], [*self.labels, *self.feature_names]))


@dataclass(frozen=True)
class Selection:
    """Which columns are what, as users say it; see `read_table`.

    Parameters
    ----------
    features, labels : collection of str or None, default=None
    ids : str or None, default=None
    missing : {"error", "drop"}, default="error"

    Examples
    --------
    >>> sorted(Selection(labels=["class"]).apart(["id", "height", "class"]))
    ['class', 'id']
    """

    features: Collection[str] | None = None
    labels: Collection[str] | None = None
    ids: str | None = None
    missing: str = "error"

    def __post_init__(self) -> None:
        if self.missing not in ("error", "drop"):
            raise ValueError(f"missing={self.missing!r} must be 'error' or 'drop'")
        for name in ("features", "labels"):
            value = getattr(self, name)
            if isinstance(value, str):  # one name; a string is a collection of letters, too
                object.__setattr__(self, name, (value,))

    def wanted(self) -> list[str]:
        """All columns that are named."""
        ids = [] if self.ids is None else [self.ids]
        return [*(self.features or ()), *(self.labels or ()), *ids]

    def apart(self, order: Sequence[str]) -> set[str]:
        """Columns that are not features even if they hold numbers, of those in `order`."""
        if self.features is not None:
            return {*order} - {*self.features}
        return {*(self.labels or ()), *self.id_columns(order)}

    def id_columns(self, order: Sequence[str]) -> list[str]:
        """Columns that may hold identifiers, of those in `order`: the one that the user names, and
        those whose names say so.
        """
        given = [] if self.ids is None else [self.ids]
        if len(order) < 2:
            return given
        first = order[:1] if order[0].strip().lower() in _FIRST_ID else []
        named = [name for name in order if name not in first and _ANY_ID.fullmatch(name.strip())]
        return [*given, *(name for name in (*first, *named) if name not in self.wanted())]


def default_names(n: int) -> tuple[str, ...]:
    """Names of columns that have none, as scikit-learn gives them.

    Examples
    --------
    >>> default_names(3)
    ('x0', 'x1', 'x2')
    """
    return tuple(f"x{i}" for i in range(n))


def assemble(
    X: Any,
    names: Sequence[str],
    others: dict[str, NDArray[Any]],
    *,
    order: Sequence[str],
    selection: Selection,
    kind: str,
    where: Callable[[int], str] = "row {}".format,
) -> Table:
    """Make a table of numeric and other columns.

    Parameters
    ----------
    X : ndarray or csr_matrix of shape (n_samples, n_numeric)
    names : sequence of str
        Of the columns of `X`.
    others : dict of str to ndarray
        Columns that are not numeric.
    order : sequence of str
        All columns as they stand in the source.
    selection : Selection
    kind : str
    where : callable
        What the source calls the i-th row.

    Returns
    -------
    Table

    Examples
    --------
    >>> import numpy as np
    >>> X, others = np.array([[5.0], [6.0]]), {"id": np.array(["a", "b"])}
    >>> order = ["id", "height"]
    >>> table = assemble(X, ["height"], others, order=order, selection=Selection(), kind="text")
    >>> table.ids, table.feature_names
    (array(['a', 'b'], dtype='<U1'), ('height',))
    """
    _check_names(order, selection)
    position = {name: i for i, name in enumerate(names)}

    def values(name: str) -> NDArray[Any]:
        return others[name] if name in others else _column(X, position[name])

    id_name = selection.ids
    if id_name is None:  # a column called "id" whose values repeat is a label like any other
        candidates = selection.id_columns(order)
        id_name = next((name for name in candidates if _all_different(values(name))), None)
    empty = _find_empty(X, names) if selection.features is None else set()
    if len(empty) < len(names):
        others = {**others, **{name: np.full(X.shape[0], "", dtype=object) for name in empty}}
        order = [name for name in order if name not in empty or not name.startswith(UNNAMED)]
        names = [name for name in names if name not in empty]
    features = _choose_features(names, order, selection, others)
    taken = {*features, id_name}
    labels = {name: values(name) for name in order if name not in taken}
    ids = None if id_name is None else values(id_name)
    columns = [position[name] for name in features]
    X = _to_floats(X if columns == list(range(X.shape[1])) else X[:, columns])
    keep = _finite_rows(X, features, selection, where)
    n_dropped = 0
    if keep is not None:
        n_dropped = int(np.count_nonzero(~keep))
        X, ids = X[keep], None if ids is None else ids[keep]
        labels = {name: column[keep] for name, column in labels.items()}
    return Table(X, tuple(features), labels, ids, kind, id_name or None, n_dropped)


def _find_empty(X: Any, names: Sequence[str]) -> set[str]:
    """Columns without a single value, as separators at the ends of lines make them."""
    if sparse.issparse(X) or not len(X):
        return set()
    return {names[int(i)] for i in np.flatnonzero(np.isnan(X[0])) if np.isnan(X[:, i]).all()}


def _to_floats(X: Any) -> Any:
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    if sparse.issparse(X):
        return X.astype(dtype, copy=False)
    return np.ascontiguousarray(X, dtype=dtype)


def _column(X: Any, i: int) -> NDArray[Any]:
    column = X[:, [i]]
    return np.asarray(column.toarray() if sparse.issparse(column) else column).ravel()


def _check_names(order: Sequence[str], selection: Selection) -> None:
    seen: set[str] = set()
    for name in order:
        if name in seen:
            raise DataError(f"two columns are called {name!r}; rename one of them")
        seen.add(name)
    unknown = [name for name in selection.wanted() if name not in seen]
    if unknown:
        raise DataError(_unknown(unknown, order))


def _unknown(unknown: Sequence[str], known: Sequence[str]) -> str:
    shown = ", ".join(map(repr, known[:20])) + (", …" if len(known) > 20 else "")
    close = get_close_matches(unknown[0], known, n=1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return f"there is no column {unknown[0]!r}; {meant}choose from {shown or 'none'}"


def _all_different(column: NDArray[Any]) -> bool:
    return len(set(column.tolist())) == len(column)


def _choose_features(
    names: Sequence[str],
    order: Sequence[str],
    selection: Selection,
    others: dict[str, NDArray[Any]],
) -> list[str]:
    if selection.features is not None:
        numeric = set(names)
        text = [name for name in selection.features if name not in numeric]
        if text:
            raise DataError(f"column {text[0]!r} is not numeric; choose other features")
        return list(selection.features)
    apart = selection.apart(order)
    features = [name for name in names if name not in apart]
    if not features:
        cells = [f" ({name!r} holds {column[0]!r})" for name, column in others.items()]
        raise DataError(
            "there is no numeric column to compute with, only "
            f"{', '.join(map(repr, order[:20])) or 'none at all'}{''.join(cells[:1])}; for a text "
            "file, pass another sep= or decimal=, or write plain numbers such as 1234.5"
        )
    return features


def _finite_rows(
    X: Any, names: Sequence[str], selection: Selection, where: Callable[[int], str]
) -> Flags | None:
    """Which rows to keep; None is all of them."""
    if sparse.issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        wrong = ~np.isfinite(X.data)
        bad = np.bincount(rows[wrong], minlength=X.shape[0]) > 0
        column = int(X.indices[np.argmax(wrong)]) if wrong.any() else 0
    else:
        # One sum mostly suffices and needs no memory; it may overflow, hence the second look.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(X.sum()):
                return None
        bad = ~np.isfinite(X).all(axis=1)
        column = int(np.argmax(~np.isfinite(X[np.argmax(bad)])))
    if not bad.any():
        return None
    if selection.missing == "drop":
        if bad.all():
            raise DataError("every row has a missing or infinite value; fill them in first")
        return ~bad
    row = int(np.argmax(bad))
    raise DataError(
        f"values are missing or infinite in {bad.sum()} of {len(bad)} rows, first in {where(row)}, "
        f"column {names[column]!r}; fill them in, leave that column out, or drop the rows with "
        "missing='drop'"
    )
