"""Delimited text: CSV, TSV and the like, read by Arrow.

How the file is written (see `dialect.py`) and which columns hold numbers is found from its first
lines.
What Arrow cannot convert is looked at cell by cell, so that messages name the line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array
from closeknit.exceptions import DataError
from closeknit.io.dialect import (
    MISSING,
    Dialect,
    FirstRows,
    find_decimal,
    find_dialect,
    is_missing,
    to_number,
)
from closeknit.io.extras import require
from closeknit.io.files import open_binary, parts_of
from closeknit.io.table import UNNAMED, Selection, Table, assemble, default_names

#: The dialect is found from this many bytes, and from at least this many lines.
_HEAD_BYTES, _HEAD_LINES = 2**18, 20
_PACKED = {b"\x1f\x8b": ".gz", b"\xfd7zXZ": ".xz", b"BZh": ".bz2"}
_WHOLE = re.compile("-?(0|[1-9][0-9]{0,17})")  # int64 has room for 18 digits
_LONG = re.compile("[-+]?[0-9]{16,}")  # double precision has not
_CODE = re.compile("0[0-9]+")  # 007 is a name


def read_delimited(path: Path, selection: Selection, **dialect: Any) -> Table:
    r"""Read delimited text; `dialect` holds those fields of `Dialect` that are known.

    Examples
    --------
    >>> import tempfile
    >>> from closeknit.io.table import Selection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "flowers.csv")
    ...     _ = path.write_text("length,width,kind\n1.4,0.2,a\n4.7,1.4,b\n")
    ...     read_delimited(path, Selection()).X
    array([[1.4, 0.2],
           [4.7, 1.4]])
    """
    require("pyarrow.csv", "cli", "reading text needs pyarrow")
    head, whole = _head(path)
    _check_text(path, head)
    try:
        found = find_dialect(head, whole=whole, **dialect)
    except csv.Error as error:
        raise DataError(f"{error}; check the quotes, or shorten such cells") from error
    file = _File(path, *found)
    if dialect.get("decimal") is None:
        file.check_points()
    return file.read(selection)


def _check_text(path: Path, head: bytes) -> None:
    """Refuse a file that is not text, whatever its name."""
    if head.startswith(b"PK"):
        raise DataError(
            "it is a workbook or a ZIP archive, not text; export it as CSV, or name it "
            f"{path.name}.zip"
        )
    ending = next((end for magic, end in _PACKED.items() if head.startswith(magic)), None)
    if ending is not None:
        raise DataError(f"it is compressed; name it {path.name}{ending}")


class _File:
    """A file whose dialect is known.

    Parameters
    ----------
    path : Path
    dialect : Dialect
    sample : FirstRows
    """

    def __init__(self, path: Path, dialect: Dialect, sample: FirstRows) -> None:
        self.path, self.dialect, self.sample = path, dialect, sample
        if not sample.rows:
            raise DataError("it has a header, but no rows; write or download it again")
        names = sample.names or default_names(len(sample.rows[0]))
        self.names = [name or (f"{UNNAMED}{i}" if i else "") for i, name in enumerate(names)]

    def check_points(self) -> None:
        """Refuse 1.234 between semicolons if it comes only after the first lines."""
        if self.dialect.sep != ";" or self.dialect.decimal != ".":
            return
        known = any(
            "." in cell for row in self.sample.rows for cell in row if to_number(cell) is not None
        )
        if not known and any(b"." in part for part in parts_of(self.path)):
            find_decimal([[cell for _, row in self._rows() for cell in row if "." in cell]], ";")

    def read(self, selection: Selection) -> Table:
        if any(len(row) != len(self.names) for row in self.sample.rows):
            self._check_rows()
        apart, ids = selection.apart(self.names), selection.id_columns(self.names)
        columns = zip(self.names, zip(*self.sample.rows, strict=True), strict=True)
        numeric = {
            i
            for i, (name, cells) in enumerate(columns)
            if name not in apart and _numbers(cells, self.dialect) is not None
        }
        if selection.features is None:
            self._check_text(numeric, apart)
        numbers, texts = self._read_columns(numeric)
        table = assemble(
            numbers,
            [name for name in self.names if name not in texts],
            {name: self._to_labels(cells, name in ids) for name, cells in texts.items()},
            order=self.names,
            selection=selection,
            kind="text",
            where=lambda row: f"line {self._line_of(row)}",
        )
        return replace(table, dialect=self.dialect)

    def _check_text(self, numeric: set[int], apart: set[str]) -> None:
        """Raise an error if a column of text holds numbers in quotes, or if most columns are text:
        more often than not that is a misreading.
        """
        text = [name for i, name in enumerate(self.names) if i not in numeric and name not in apart]
        for name in text:
            column = [row[self.names.index(name)] for row in self.sample.rows]
            if _are_quoted(column, self.dialect):
                raise DataError(
                    f"column {name!r} holds numbers in quotes that are no CSV, such as "
                    f"{_short(column[0])}; write none, or double quotes beside the separators, or "
                    f"keep the column as a label with labels=[{name!r}]"
                )
        if not numeric or len(text) <= len(numeric):
            return
        cells = [(name, self.sample.rows[0][self.names.index(name)]) for name in text]
        # The likeliest to be a number that was not understood.
        name, cell = max(cells, key=lambda pair: any(map(str.isdigit, pair[1])))
        shown = ", ".join(map(repr, text[:5])) + (", …" if len(text) > 5 else "")
        labels = f"labels=[{', '.join(map(repr, text))}]" if len(text) <= 5 else "labels="
        raise DataError(
            f"{len(text)} of its {len(self.names)} columns are text ({shown}; {name!r} holds "
            f"{_short(cell)}), read with sep={self.dialect.sep!r} and "
            f"decimal={self.dialect.decimal!r}; pass another sep= or decimal=, or {labels} if "
            "these columns are labels"
        )

    def _read_columns(self, numeric: set[int]) -> tuple[NDArray[Any], dict[str, list[str]]]:
        quoted = any(b'"' in part for part in parts_of(self.path))
        if quoted and not self._is_well_quoted():
            self._check_rows()  # Arrow accepts it if a quote swallows several cells
        table = self._read_arrow(numeric, quoted)
        if table is None:
            self._check_rows()
            table = self._read_arrow(set(), quoted)
        if table is None:
            raise ValueError("Arrow cannot read it")
        numbers, texts = [], {}
        for i, (name, column) in enumerate(zip(self.names, table.columns, strict=True)):
            values: Any = column.to_numpy() if i in numeric else None
            if values is not None and values.dtype == object:
                values = self._convert(name, column.to_pylist())
            if values is None:
                texts[name] = column.to_pylist()
            else:
                numbers.append(values)
        return np.column_stack(numbers) if numbers else np.empty((table.num_rows, 0)), texts

    def _is_well_quoted(self) -> bool:
        """Whether every quote opens or closes a whole cell, or is doubled inside one."""
        ends = b"[^\r\n" + re.escape(self.dialect.sep.encode()) + b"]"
        cell = b'(?<!%b)"(?:[^"]++|"")*+"(?!%b)' % (ends, ends)
        return bool(re.fullmatch(b'(?:[^"]++|%b)*+' % cell, b"".join(parts_of(self.path))))

    def _read_arrow(self, numeric: set[int], quoted: bool) -> Any:
        """The table by Arrow, or None if there are cells that do not fit."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        places = list(map(str, range(len(self.names))))
        types = {place: pa.string() for place in places}
        types.update({str(i): pa.float64() for i in numeric})
        words = {form for word in MISSING for form in (word, word.upper(), word.capitalize())}
        row = max(sum(map(len, cells)) + len(cells) for cells in self.sample.rows)
        source: Any = self.path
        blank = self.dialect.sep == " "
        if blank:
            source = BytesIO("\n".join([*self._lines()][self.sample.n_lines :]).encode())
        elif self.path.suffix.lower() in (".xz", ".bz2", ".zip"):  # Arrow unpacks others itself
            source = BytesIO(b"".join(parts_of(self.path)))
        try:
            return arrow.read_csv(
                source,
                arrow.ReadOptions(
                    skip_rows=0 if blank else self.sample.n_lines,
                    column_names=places,
                    encoding="utf8" if blank else self.dialect.encoding.replace("utf-8", "utf8"),
                    block_size=max(2**20, 16 * row),  # a block must hold a row
                ),
                arrow.ParseOptions(delimiter=self.dialect.sep, newlines_in_values=quoted),
                arrow.ConvertOptions(
                    column_types=types,
                    null_values=sorted(words),
                    decimal_point=self.dialect.decimal,
                ),
            )
        except pa.ArrowInvalid as error:
            if "UTF8" in str(error):
                self._check_rows()
            return None

    def _lines(self) -> Iterator[str]:
        """The lines, with one blank between cells if blanks separate them."""
        encoding = "utf-8-sig" if self.dialect.encoding == "utf-8" else self.dialect.encoding
        with TextIOWrapper(open_binary(self.path), encoding, newline="") as file:
            for line in file:
                yield " ".join(line.split()) if self.dialect.sep == " " else line

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """The rows below the header, each with the line it ends on."""
        reader = csv.reader(self._lines(), delimiter=self.dialect.sep, strict=True)
        last = 0
        try:
            for row in reader:
                last = reader.line_num
                if row and last > self.sample.n_lines:
                    yield last, row
        except csv.Error as error:
            raise DataError(f"line {last + 1}: {error}; check the quotes there") from error

    def _check_rows(self) -> None:
        """Refuse the first row that has another number of cells than there are columns."""
        for line, row in self._rows():
            if len(row) != len(self.names):
                raise DataError(
                    f"line {line} has {len(row)} cells, but there are {len(self.names)} columns; "
                    "correct that line, or pass another sep="
                )

    def _line_of(self, row: int) -> int:
        return next(line for i, (line, _) in enumerate(self._rows()) if i == row)

    def _convert(self, name: str, cells: list[str]) -> Array | None:
        """Numbers, or None if most cells are text and the first ones are empty."""
        found, advice = _numbers(cells, self.dialect), "as most of that column is; correct it"
        if found is None and not all(map(is_missing, cells[: len(self.sample.rows)])):
            found = _first_text(cells, self.dialect)
            advice = "as those above it are; correct it, pass another decimal="
        if isinstance(found, int):
            raise DataError(
                f"line {self._line_of(found)}, column {name!r}: {_short(cells[found])} is not a "
                f"number, {advice}, delete that line, or keep the column as a label with "
                f"labels=[{name!r}]"
            )
        return found

    def _to_labels(self, cells: list[str], are_ids: bool) -> NDArray[Any]:
        """Whole numbers, numbers or text, whichever all cells are.

        Text stays if it would not come out again: identifiers 1.1 and 1.10, or a long number.
        """
        if all(map(_WHOLE.fullmatch, cells)):
            return np.array(list(map(int, cells)))
        is_text = any(_CODE.fullmatch(c) or _LONG.fullmatch(c) or is_missing(c) for c in cells)
        if not are_ids and not is_text:
            numbers = _numbers(cells, self.dialect)
            if isinstance(numbers, np.ndarray):
                return numbers
        return np.array(cells, dtype=object)


def _numbers(cells: Sequence[str], dialect: Dialect) -> Array | int | None:
    """The numbers in a column, NaN where one is missing; None if most cells are text.

    If most are numbers but not all, the first that is none.
    """
    values = [to_number(cell, dialect.decimal) for cell in cells]
    wrong = [i for i, v in enumerate(values) if v is None and not is_missing(cells[i])]
    if not wrong:
        # A column in which nothing is present counts as numeric, to be reported as missing.
        return np.array([np.nan if value is None else value for value in values])
    count = sum(value is not None for value in values)
    return wrong[0] if count >= len(wrong) else None


def _are_quoted(cells: Sequence[str], dialect: Dialect) -> bool:
    """Whether cells are numbers but for quotes around them."""
    bare = [cell.strip().strip("\"'") for cell in cells]
    return bare != [*map(str.strip, cells)] and isinstance(_numbers(bare, dialect), np.ndarray)


def _first_text(cells: Sequence[str], dialect: Dialect) -> int | None:
    """The first cell that is neither a number nor missing."""
    return next(
        (
            i
            for i, cell in enumerate(cells)
            if not is_missing(cell) and to_number(cell, dialect.decimal) is None
        ),
        None,
    )


def _head(path: Path) -> tuple[bytes, bool]:
    """The first lines of a file, and whether these are all."""
    with open_binary(path) as file:
        parts = [file.read(_HEAD_BYTES)]
        while len(parts[-1]) == _HEAD_BYTES and sum(p.count(b"\n") for p in parts) < _HEAD_LINES:
            parts.append(file.read(_HEAD_BYTES))
        parts.append(file.readline())
        return b"".join(parts), not file.read(1)


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")
