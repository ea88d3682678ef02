"""The columns of the points: to colour by, to search, to summarise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._labels import find_missing
from closeknit.io import Table
from closeknit.plotting import categorize

__all__ = ["Column", "Columns", "summarize"]

#: Names that a legend has room for; whole numbers with more values are numbers.
_MAX_NAMES = 50
#: Features that are offered as colours.
_MAX_FEATURES = 1000
#: Lines of a summary.
_LINES = 12


@dataclass(frozen=True)
class Column:
    """A column as a colour.

    Attributes
    ----------
    names : tuple of str or None
        Of the categories; None if the values are numbers.
    values : ndarray of shape (n_samples,)
        Numbers as float32; categories as uint16, counted from 0, with 65535 for those without one.
    others : int, default=0
        Categories that have no name here, because they are rarer and there are too many.
    """

    names: tuple[str, ...] | None
    values: NDArray[Any]
    others: int = 0


class Columns:
    """The columns of a table, and those that the user adds.

    Parameters
    ----------
    table : Table

    Examples
    --------
    >>> table = Table(np.array([[1.0], [2.0]]), ("size",), {"kind": np.array(["a", "b"], object)})
    >>> columns = Columns(table)
    >>> columns.names, columns.column("kind").names
    (['kind', 'size'], ('a', 'b'))
    >>> columns.search("b")
    array([1])
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.added: Mapping[str, NDArray[Any]] = {}

    @property
    def labels(self) -> dict[str, NDArray[Any]]:
        """Columns that are no features."""
        return {**self.table.labels, **self.added}

    @property
    def names(self) -> list[str]:
        """What points can be coloured by."""
        return [*self.labels, *self.table.feature_names[:_MAX_FEATURES]]

    @cached_property
    def first(self) -> str | None:
        """What to colour by at first: a label of few names, else one of numbers, if there are."""
        numbers = None
        for name in self.table.labels:
            column = self.column(name)
            if column.names is None:
                numbers = numbers or name
            elif 1 < len(column.names) < self.table.n_samples and not column.others:
                return name
        return numbers

    def raw(self, name: str) -> NDArray[Any]:
        """The column as it was read."""
        added = self.added.get(name)
        return self.table.column(name) if added is None else added

    def column(self, name: str) -> Column:
        """The column as a colour."""
        raw = self.raw(name)
        values = raw if raw.dtype.kind in "biuf" else _numbers(raw)
        if values is None:
            return _categories(_as_text(raw))
        if name in self.labels:
            distinct = np.unique(values[: 2**16])
            distinct = distinct[np.isfinite(distinct)]
            if len(distinct) <= _MAX_NAMES and (distinct == np.round(distinct)).all():
                return _categories(raw if raw is values else _as_text(raw))
        return Column(None, values.astype(np.float32))

    def identifier(self, row: int) -> str:
        """What the point is called."""
        ids = self.table.ids
        return str(row) if ids is None else str(ids[row])

    def describe(self, row: int, most: int = 40) -> list[tuple[str, str]]:
        """The values of a point, as text."""
        return [(name, _text(self.raw(name)[row])) for name in self.names[:most]]

    def search(self, text: str) -> NDArray[np.intp]:
        """The points whose identifier, or a label of which, contains a text."""
        text, n = text.casefold(), self.table.n_samples
        ids = map(str, range(n)) if self.table.ids is None else map(str, self.table.ids.tolist())
        found = np.fromiter((text in name.casefold() for name in ids), bool, n)
        for values in self.labels.values():
            distinct, codes = np.unique(values.astype(str), return_inverse=True)
            found |= np.array([text in name.casefold() for name in distinct.tolist()])[codes]
        return np.flatnonzero(found)


def _categories(values: NDArray[Any]) -> Column:
    known: Any = values.astype(object)
    if values.dtype.kind == "U":
        known[values == ""] = None
    found = categorize(known if values.dtype.kind == "U" else values, len(values))
    counts = np.bincount(found.codes[found.codes >= 0], minlength=len(found.names))
    codes, names = found.codes, found.names
    others = max(0, len(names) - _MAX_NAMES)
    if len(names) > _MAX_NAMES:  # the most frequent ones; the others have no colour
        chosen = np.sort(np.argsort(-counts, kind="stable")[:_MAX_NAMES])
        ranks = np.full(len(names) + 1, -1)
        ranks[chosen] = np.arange(len(chosen))
        codes, names = ranks[codes], tuple(names[i] for i in chosen)
    return Column(names, np.where(codes < 0, 65535, codes).astype(np.uint16), others)


def _as_text(values: NDArray[Any]) -> NDArray[np.str_]:
    """Values as text, empty where there is none."""
    text = values.astype(str)
    text[find_missing(values)] = ""
    return text


def _numbers(values: NDArray[Any]) -> NDArray[np.float64] | None:
    """Text that is numbers, with NaN where there is none; None if it is something else."""
    text = _as_text(values)
    missing = (text == "") | (text == "NA")
    if missing.all():
        return None
    try:
        return np.where(missing, "nan", text).astype(np.float64)
    except ValueError:
        return None


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def summarize(columns: Columns, rows: NDArray[np.intp], inside: NDArray[np.bool_]) -> list[Any]:
    """How columns differ between the selected points and the others, the largest difference first.

    Parameters
    ----------
    columns : Columns
    rows : ndarray of shape (n_points,)
        The rows of the points on the map.
    inside : ndarray of bool of shape (n_points,)

    Returns
    -------
    list of dict
        With the name, and for numbers the means inside and outside and their difference in standard
        deviations, for categories the name whose shares differ most, and these.

    Examples
    --------
    >>> columns = Columns(Table(np.array([[1.0], [1.0], [4.0], [4.0]]), ("size",)))
    >>> summarize(columns, np.arange(4), np.array([False, False, True, True]))
    [{'name': 'size', 'inside': 4.0, 'outside': 1.0, 'effect': 2.0}]
    """
    found: list[dict[str, Any]] = []
    if not inside.any() or inside.all():
        return []
    for name in columns.names:
        column = columns.column(name)
        values = column.values[rows]
        if column.names is None:
            known = np.isfinite(values)
            parts = values[inside & known], values[~inside & known]
            if all(map(len, parts)):
                spread = float(values[known].std()) or 1.0
                means = float(parts[0].mean()), float(parts[1].mean())
                effect = (means[0] - means[1]) / spread
                found.append(
                    {"name": name, "inside": means[0], "outside": means[1], "effect": effect}
                )
        else:
            size = len(column.names) + 1
            codes = np.minimum(values, size - 1)
            shares = [
                np.bincount(codes[part], minlength=size) / part.sum() for part in (inside, ~inside)
            ]
            best = int(np.argmax((shares[0] - shares[1])[:-1])) if size > 1 else 0
            most = column.names[best] if size > 1 else ""
            effect = float(shares[0][best] - shares[1][best]) * 2.0
            found.append(
                {
                    "name": name,
                    "most": most,
                    "inside": float(shares[0][best]),
                    "outside": float(shares[1][best]),
                    "effect": effect,
                }
            )
    found.sort(key=lambda line: -abs(line["effect"]))
    return found[:_LINES]
