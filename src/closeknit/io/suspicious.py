"""Warnings about columns that were perhaps taken for the wrong thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.io.dialect import is_missing
from closeknit.io.table import Table

#: Names that classes have, whole or after a separator.
_CLASS = re.compile(
    r"(.*[_. -])?(batch|category|class|cluster|diagnosis|fold|group|label|leiden|louvain|outcome|"
    r"species|target|type|y)(es|s)?",
    re.IGNORECASE,
)
#: Names of columns that say when a row was measured.
_TIME = re.compile(r"(.*[_. -])?(date|datetime|time|timestamp|year)", re.IGNORECASE)
#: What a row that sums up those above it is called.
_SUMMARY = re.compile(
    r"(grand |sub)?total|sum|mean|average|median|std|min|max|count|gesamt|summe|mittelwert",
    re.IGNORECASE,
)
#: Double precision holds all whole numbers up to this one.
_EXACT = 2.0**53
#: Numbers with a unit, a currency or separators of thousands.
_DECORATED = re.compile(
    r"[-+(]?[$€£¥]?\s?(?=\d+\D)\d[\d.,'’ \u00a0\u202f]*\s?"
    r"([%‰$€£¥]|kg|g|mg|µg|km|m|cm|mm|h|s|ms|°C|°F|[NSEW])?\)?"
)
#: What stands for missing numbers where nothing else can.
_SENTINELS = (-99.0, -999.0, -9999.0, -99999.0)
#: Fewer rows say little about a column; so many are looked at where cells are text.
_FEWEST, _SAMPLE = 20, 1000
#: Different values up to which whole numbers may be classes.
_CLASSES = 100
#: Share of the variance above which a single feature decides who is close to whom.
_DOMINANT = 0.99


def find_suspicious(table: Table, *, scaled: bool = False) -> list[str]:
    """Look for columns that were perhaps taken for the wrong thing.

    These are features that count the rows, look like a class, a time or an identifier, hold -999
    for missing numbers or dwarf the others; labels that look like numbers, or are empty; a last row
    that sums up the others; and columns that are perhaps the points.

    Parameters
    ----------
    table : Table
    scaled : bool, default=False
        Whether features will be brought to one scale, so that none dwarfs the others.

    Returns
    -------
    list of str
        A sentence each, with what to do if the suspicion is right.

    Examples
    --------
    >>> from closeknit.io import Table
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=(60, 2)), np.arange(60) % 3])
    >>> find_suspicious(Table(X, ("length", "width", "class")))
    ["column 'class' holds 3 different whole numbers and is a feature; if these are classes, pass
      labels=['class']"]
    """
    found = [*_of_rows(table), *_of_labels(table)]
    if not sparse.issparse(table.X) and table.n_samples >= _FEWEST:
        found += _of_features(table, scaled)
    return found


def _of_rows(table: Table) -> Iterator[str]:
    n, columns = table.n_samples, dict(table.labels)
    if n < _FEWEST and table.n_features > 10 * n:
        yield (
            f"it has {n} rows and {table.n_features:,} features, and each row is a point; if the "
            "columns are the points, transpose it"
        )
    if table.ids is not None:
        columns[table.id_name or "names of the rows"] = table.ids
    for name, cells in columns.items():
        last = str(cells[-1]).strip() if n else ""
        alone = n and np.count_nonzero(cells == cells[-1]) == 1
        if alone and _SUMMARY.fullmatch(last.removesuffix(":")):
            yield (
                f"the last row, whose {name!r} is {last!r}, is a point like the others; if it sums "
                "them up, delete it"
            )


def _of_features(table: Table, scaled: bool) -> Iterator[str]:
    columns = dict(zip(table.feature_names, table.X.T, strict=True))
    counting = [name for name, column in columns.items() if _counts(column)]
    if counting and len(counting) < len(columns):
        yield (
            f"{_named(counting)} {_verb(counting, 'grows')} by the same number from row to row and "
            f"{_verb(counting, 'is')} a feature; if that is a row number, pass ids={counting[0]!r} "
            f"or labels={counting!r}"
        )
    named = set(counting)
    for name, column in columns.items():
        classes = _CLASS.fullmatch(name.strip()) and _n_classes(column)
        if classes:
            yield (
                f"column {name!r} holds {classes} different whole numbers and is a feature; if "
                f"these are classes, pass labels={[name]!r}"
            )
        elif _TIME.fullmatch(name.strip()) and name not in named:
            named.add(name)
            yield (
                f"column {name!r} is a feature; if it only says when a row was measured, pass "
                f"labels={[name]!r}"
            )
        if np.abs(column).max() > _EXACT and np.array_equal(column, np.rint(column)):
            named.add(name)
            yield (
                f"column {name!r} holds whole numbers beyond 2⁵³, which lose digits as a feature; "
                f"if they are identifiers, pass ids={name!r}"
            )
        mark, count = _sentinel(column)
        if count:
            named.add(name)
            yield (
                f"column {name!r} holds {mark:g} in {count} of {len(column)} rows, far from all "
                "its other values; if it stands for a missing number, leave these cells empty"
            )
    if not scaled:
        yield from _dominance({n: c for n, c in columns.items() if n not in named})


def _dominance(columns: dict[str, NDArray[Any]]) -> Iterator[str]:
    if len(columns) < 2:
        return
    with np.errstate(over="ignore", invalid="ignore"):
        variances = np.array([np.var(column, dtype=np.float64) for column in columns.values()])
        shares = variances / variances.sum()
    largest = int(np.argmax(shares))
    if np.count_nonzero(variances) > 1 and shares[largest] >= _DOMINANT:
        name = list(columns)[largest]
        yield (
            f"column {name!r} has {np.floor(1000 * shares[largest]) / 10:g}% of the variance of "
            f"all {len(columns)} features, so distances are almost its differences alone; "
            "standardise the features, or leave it out"
        )


def _of_labels(table: Table) -> Iterator[str]:
    empty = [name for name, column in table.labels.items() if _is_empty(column)]
    if empty:
        yield f"{_named(empty)} {_verb(empty, 'is')} empty"
    for name, column in table.labels.items():
        cells = [str(cell).strip() for cell in column[:_SAMPLE]] if column.dtype == object else []
        present = [cell for cell in cells if not is_missing(cell)]
        decorated = [cell for cell in present if _DECORATED.fullmatch(cell)]
        if decorated and len(decorated) == len(present):
            yield (
                f"column {name!r} is taken for text, hence for a label: it holds {decorated[0]!r}; "
                "to compute with it, write plain numbers"
            )


def _counts(column: NDArray[Any]) -> bool:
    """Whether each value is the one before and a constant step."""
    with np.errstate(over="ignore", invalid="ignore"):  # numbers too large are refused elsewhere
        steps = np.diff(column[:3])
        if steps[0] == 0.0 or steps[0] != steps[1]:
            return False
        return bool(np.array_equal(np.diff(column), np.full(len(column) - 1, steps[0])))


def _n_classes(column: NDArray[Any]) -> int:
    """How many different whole numbers there are; 0 if they are not whole, or too many."""
    if not np.array_equal(column, np.rint(column)):
        return 0
    count = len(np.unique(column))
    return count if 1 < count <= min(_CLASSES, len(column) // 3) else 0


def _sentinel(column: NDArray[Any]) -> tuple[float, int]:
    """A number that stands for missing ones, and how often: the least, and far from all others."""
    least = float(column.min())
    if least not in _SENTINELS:
        return least, 0
    rest = column[column != least]
    far = rest.size and float(rest.min()) - least > 2.0 * float(np.ptp(rest))
    return least, int(len(column) - rest.size) if far else 0


def _is_empty(column: NDArray[Any]) -> bool:
    return column.dtype == object and all(cell == "" for cell in column)


def _named(names: Iterable[str]) -> str:
    shown = list(map(repr, names))
    word = "column" if len(shown) == 1 else "columns"
    return f"{word} {', '.join(shown[:5])}{', …' if len(shown) > 5 else ''}"


def _verb(names: list[str], singular: str) -> str:
    plural = {"is": "are", "grows": "grow"}
    return singular if len(names) == 1 else plural[singular]
