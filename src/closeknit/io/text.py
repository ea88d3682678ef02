"""Delimited text: CSV, TSV and the like, by the standard library alone.

Rows are read in blocks. The first block tells numeric columns from others, and every later cell
must agree with it, so that a slip of the pen does not turn a feature into a label unnoticed. Long
files that raise no questions are read by Arrow, if it is there; see `plain_text.py`.
"""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from closeknit.exceptions import DataError
from closeknit.io.table import Selection, Table, assemble, default_names

__all__ = ["read_text"]

#: Rows that are converted together; more would not fit into a processor's cache.
_BLOCK = 1024
_DELIMITERS = ",;\t|"
_MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "-", "missing"})
_WHOLE = re.compile("-?(0|[1-9][0-9]{0,17})")  # int64 has room for 18 digits
_CODE = re.compile("0[0-9]+")  # 007 is a name


@dataclass(frozen=True)
class _Block:
    """Some rows of text, and the line each of them ends on."""

    rows: list[list[str]]
    lines: list[int]

    def column(self, i: int) -> list[str]:
        return [row[i] for row in self.rows]


def read_text(
    path: Path, *, delimiter: str | None, header: bool | None, selection: Selection
) -> Table:
    r"""Read delimited text.

    Parameters
    ----------
    path : Path
        Compressed if it ends in ``.gz``.
    delimiter : str or None
        None takes the one of comma, semicolon, tab and bar that is most frequent in the first line.
    header : bool or None
        Whether the first line holds names; None looks at it.
    selection : Selection

    Returns
    -------
    Table

    Examples
    --------
    >>> import tempfile
    >>> from closeknit.io.table import Selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "flowers.csv")
    ...     _ = path.write_text("length,width,kind\n1.4,0.2,a\n4.7,1.4,b\n")
    ...     read_text(path, delimiter=None, header=None, selection=Selection()).X
    array([[1.4, 0.2],
           [4.7, 1.4]])
    """
    with _open(path) as file:
        start = _first_lines(file)
        if not start:
            raise DataError("it is empty; write or download it again")
        lines: Iterable[str] = chain(start, file)
        delimiter = delimiter or _guess_delimiter(start[-1])
        if delimiter == " ":
            lines = (" ".join(line.split()) for line in lines)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            names, rows, headed = _split_header(reader, header)
            blocks = _blocks(rows, reader, names)
            first = next(blocks, None)
            if first is None:
                raise DataError("it has a header, but no rows; write or download it again")
            numeric = _find_numeric(names, first, selection)
            if len(first.rows) == _BLOCK and delimiter != " ":
                n_before = len(start) - (not headed)
                table = _read_plain(path, delimiter, n_before, names, numeric, selection)
                if table is not None:
                    return table
            return _read_rows(names, numeric, chain([first], blocks), selection)
        except csv.Error as error:
            raise DataError(f"line {reader.line_num}: {error}; check the quotes there") from error


def _open(path: Path) -> TextIO:
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _first_lines(file: TextIO) -> list[str]:
    """The lines up to the first that is not blank, or nothing if all are."""
    lines = []
    for line in file:
        lines.append(line)
        if line.strip():
            return lines
    return []


def _guess_delimiter(line: str) -> str:
    """The most frequent of the usual ones; blanks if there is none of them."""
    found = max(_DELIMITERS, key=line.count)
    return found if found in line or len(line.split()) < 2 else " "


def _split_header(reader: Any, header: bool | None) -> tuple[list[str], Iterator[list[str]], bool]:
    """The names of the columns, the rows, and whether the file has a line for the names."""
    first = next(row for row in reader if row)
    if header is None:
        header = not all(map(_is_number, first)) or _counts_up(first)
    if header:
        return [name.strip() for name in first], reader, True
    return list(default_names(len(first))), chain([first], reader), False


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell  # Python reads 1_000, but no other program writes it


def _counts_up(cells: Sequence[str]) -> bool:
    """Whether numbers are the names that pandas gives the columns of an array: 0, 1, 2, …"""
    return len(cells) > 1 and [cell.strip() for cell in cells] == [
        str(i) for i in range(len(cells))
    ]


def _blocks(rows: Iterator[list[str]], reader: Any, names: Sequence[str]) -> Iterator[_Block]:
    cells: list[list[str]] = []
    lines: list[int] = []
    for row in rows:
        if not row:
            continue
        if len(row) != len(names):
            raise DataError(
                f"line {reader.line_num} has {len(row)} cells, but there are {len(names)} columns; "
                "correct that line or check the separator"
            )
        cells.append(row)
        lines.append(reader.line_num)
        if len(cells) == _BLOCK:
            yield _Block(cells, lines)
            cells, lines = [], []
    if cells:
        yield _Block(cells, lines)


def _read_plain(
    path: Path,
    delimiter: str,
    n_before: int,
    names: list[str],
    numeric: list[int],
    selection: Selection,
) -> Table | None:
    """Read the whole file by Arrow, or nothing if that cannot tell what the user should know."""
    from closeknit.io.plain_text import read_plain

    read = read_plain(
        path,
        delimiter=delimiter,
        n_before=n_before,
        n_columns=len(names),
        numeric=numeric,
        missing=_MISSING,
    )
    if read is None:
        return None
    numbers, texts = read
    if selection.missing == "error" and not np.isfinite(numbers).all():
        return None  # where, only a second look at the lines can say
    named = {names[i]: cells for i, cells in texts.items()}
    return _assemble(numbers, names, numeric, named, selection, "row {}".format)


def _read_rows(
    names: list[str], numeric: list[int], blocks: Iterator[_Block], selection: Selection
) -> Table:
    lines: list[int] = []
    numbers: list[NDArray[np.float64]] = []
    texts: dict[str, list[str]] = {names[i]: [] for i in sorted({*range(len(names))} - {*numeric})}
    for block in blocks:
        numbers.append(_to_numbers(block, numeric, names))
        lines += block.lines
        for i, name in enumerate(names):
            if name in texts:
                texts[name] += block.column(i)
    return _assemble(
        np.concatenate(numbers),
        names,
        numeric,
        texts,
        selection,
        lambda row: f"line {lines[row]}",
    )


def _assemble(
    numbers: NDArray[np.float64],
    names: list[str],
    numeric: list[int],
    texts: dict[str, list[str]],
    selection: Selection,
    where: Callable[[int], str],
) -> Table:
    return assemble(
        numbers,
        [names[column] for column in numeric],
        {name: _to_labels(cells) for name, cells in texts.items()},
        order=names,
        selection=selection,
        kind="text",
        where=where,
    )


def _find_numeric(names: Sequence[str], block: _Block, selection: Selection) -> list[int]:
    numeric = []
    apart = selection.apart(names)
    for i, name in enumerate(names):
        if name in apart:
            continue
        cells = block.column(i)
        present = [cell for cell in cells if cell.strip().lower() not in _MISSING]
        count = sum(map(_is_number, present))
        if 0 < count < len(present) <= 2 * count:
            wrong = next(cell for cell in present if not _is_number(cell))
            raise _not_a_number(wrong, block.lines[cells.index(wrong)], name)
        # A column in which nothing is present counts as numeric, to be reported as missing.
        if count == len(present):
            numeric.append(i)
    return numeric


def _to_numbers(block: _Block, numeric: list[int], names: Sequence[str]) -> NDArray[np.float64]:
    if not numeric:
        return np.empty((len(block.rows), 0))
    rows = list(map(itemgetter(*numeric), block.rows))
    try:
        return np.array(rows, dtype=np.float64).reshape(len(rows), -1)
    except ValueError:  # some are missing, or worse
        return np.array(
            [
                [_to_number(row[i], line, names[i]) for i in numeric]
                for row, line in zip(block.rows, block.lines, strict=True)
            ]
        )


def _to_number(cell: str, line: int, name: str) -> float:
    if cell.strip().lower() in _MISSING:
        return float("nan")
    try:
        return float(cell)
    except ValueError:
        raise _not_a_number(cell, line, name) from None


def _not_a_number(cell: str, line: int, name: str) -> DataError:
    shown = cell if len(cell) <= 40 else cell[:40] + "…"
    return DataError(
        f"line {line}, column {name!r}: {shown!r} is not a number, as most of that column is; "
        f"correct it, or keep the column as a label with labels=[{name!r}]"
    )


def _to_labels(cells: list[str]) -> NDArray[Any]:
    """Whole numbers, numbers or text, whichever all cells are."""
    if all(map(_WHOLE.fullmatch, cells)):
        return np.array(list(map(int, cells)))
    if all(map(_is_number, cells)) and not any(map(_CODE.fullmatch, cells)):
        return np.array(cells, dtype=np.float64)
    return np.array(cells, dtype=object)
