"""How a text file is written: its separator, decimal mark, encoding and header."""

from __future__ import annotations

import codecs
import csv
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper

from closeknit.exceptions import CloseknitWarning, DataError

_SEPARATORS = (",", ";", "\t", "|")
MISSING = frozenset(
    {"", "na", "n/a", "n.a.", "nan", "null", "none", "missing", "?", "-", ".", ".."}
    | {"#n/a", "<na>"}  # what Excel and pandas write
)
_COMMA = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE)
#: 1,234 and 1.234 are a thousand to some and little more than one to others.
_AMBIGUOUS = re.compile(r"[-+]?[1-9]\d{0,2}[,.]\d{3}")
#: What Excel writes and reads above a table.
_EXCEL = re.compile("sep=(.)", re.IGNORECASE)
_MARKS = {codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


@dataclass(frozen=True)
class Dialect:
    r"""How a text file is written.

    Parameters
    ----------
    sep : str, default=","
        Between cells. A blank stands for any number of blanks and tabs.
    decimal : {".", ","}, default="."
        The decimal mark.
    encoding : str, default="utf-8"
    header : bool, default=True
        Whether the first row holds the names of the columns.

    Examples
    --------
    >>> from closeknit.io import Dialect
    >>> Dialect(sep=";", decimal=",")
    Dialect(sep=';', decimal=',', encoding='utf-8', header=True)
    """

    sep: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    header: bool = True


@dataclass(frozen=True)
class FirstRows:
    """The first rows of a file.

    Parameters
    ----------
    names : list of str or None
        The header; None if there is none.
    rows : list of list of str
        Those below the header.
    n_lines : int
        Lines up to the header and including it.
    """

    names: list[str] | None
    rows: list[list[str]]
    n_lines: int


def find_dialect(
    head: bytes,
    *,
    whole: bool = True,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> tuple[Dialect, FirstRows]:
    r"""Find out how a file is written from its first lines; what is given is not questioned.

    Parameters
    ----------
    head : bytes
        The start of the file, up to the end of some line.
    whole : bool, default=True
        Whether that is the end of the file. If not, a quoted cell may be cut there.
    sep, decimal, encoding, header
        As in `Dialect`; None is found out.

    Returns
    -------
    Dialect, FirstRows

    Examples
    --------
    >>> dialect, sample = find_dialect(b"a;b;cluster\n1,5;2,5;1\n")
    >>> dialect
    Dialect(sep=';', decimal=',', encoding='utf-8', header=True)
    >>> sample.names, sample.rows
    (['a', 'b', 'cluster'], [['1,5', '2,5', '1']])
    """
    encoding = encoding or next((e for mark, e in _MARKS.items() if head.startswith(mark)), "utf-8")
    lines = list(StringIO(_decode(head, encoding).removeprefix("\ufeff"), newline=""))
    if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
        encoding = "utf-8"  # under whatever name, with a mark or without
    first = _find_first(lines)
    declared = _EXCEL.fullmatch(lines[first].strip())
    if declared and len(lines) > first + 1:
        sep, first = sep or declared[1], first + 1
    lines[first] = lines[first].removeprefix("#").lstrip(" ")
    found = sep or _find_separator(lines[first:])
    if not whole:
        _, ends = _split(lines[first:], found)
        lines = lines[: first + ends[-2]] if len(ends) > 2 else lines
    _check_title(lines[first:], first, sep)
    sep = found
    rows, ends = _split(lines[first:], sep)
    rows[0] = _complete(rows[0], rows[1:])
    body = list(zip(*rows[1:], strict=False))
    decimal = decimal or find_decimal(body or [(cell,) for cell in rows[0]], sep)
    if header is None:
        header = _has_header(rows[0], body, decimal)
    dialect = Dialect(sep, decimal, encoding, header)
    if not header:
        return dialect, FirstRows(None, rows, first)
    names = [name.strip() for name in rows[0]]
    return dialect, FirstRows(names, rows[1:], first + ends[0])


def _complete(header: list[str], rows: list[list[str]]) -> list[str]:
    """The header with a name for a column that has none: R writes none above the names of rows."""
    if not rows or any(len(row) != len(header) + 1 for row in rows):
        return header
    if any(to_number(cell) is not None for cell in header):
        return header
    if all(is_missing(row[-1]) for row in rows):
        return [*header, ""]
    names = [row[0].strip() for row in rows]
    if len({*names}) < len(names) and all(to_number(name) is not None for name in names):
        raise DataError(
            f"its rows have one cell more than its header, and the first ones, such as "
            f"{names[0]!r}, do not name the rows, as they repeat; if commas are decimal marks, "
            "write another separator between cells, else give the first column a name"
        )
    return ["", *header]


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a number that is not known.

    Examples
    --------
    >>> is_missing(" NA"), is_missing("0")
    (True, False)
    """
    return cell.strip().lower() in MISSING


def to_number(cell: str, decimal: str = ".") -> float | None:
    """The number in a cell, or None if it holds something else.

    Examples
    --------
    >>> to_number("1,5", ","), to_number("1,5"), to_number("1_5")
    (1.5, None, None)
    """
    if "_" in cell or (decimal == "," and "." in cell):  # Python reads 1_000, as 1000
        return None
    cell = cell.replace("\N{MINUS SIGN}", "-")
    try:
        return float(cell.replace(",", ".", 1) if decimal == "," else cell)
    except ValueError:
        return None


def _decode(head: bytes, encoding: str) -> str:
    try:
        TextIOWrapper(BytesIO(), encoding)  # refuses what is no encoding of text
        text = codecs.getincrementaldecoder(encoding)().decode(head)
    except LookupError:
        raise DataError(f"encoding={encoding!r} is unknown; use one such as 'latin-1'") from None
    if "\0" in text:
        raise DataError("it holds zero bytes; if it is UTF-16, pass encoding='utf-16-le'")
    return text


def _find_first(lines: list[str]) -> int:
    """The line that holds the names, or else the first row: not blank, and no comment.

    Of the comments the last may hold the names: if it has as many cells as the row below it.
    """
    present = [i for i, line in enumerate(lines) if line.strip()]
    if not present:
        raise DataError("it is empty; write or download it again")
    first = next((i for i in present if not lines[i].startswith("#")), present[-1])
    before = next((i for i in reversed(present) if i < first), None)
    if before is not None:
        sep = _find_separator(lines[first:])
        cells = [_split([line], sep)[0] for line in (lines[before][1:].strip(), lines[first])]
        if len(cells[1][0]) > 1 and [*map(len, cells[0])] == [*map(len, cells[1])]:
            return before
    return first


def _check_title(lines: list[str], before: int, given: str | None) -> None:
    """Refuse lines above a table, which would be taken for its header or for its first row."""
    complaints = []
    for sep in (given,) if given else (*_SEPARATORS, " "):
        try:
            rows, ends = _split(lines, sep)
        except csv.Error:  # without the right separator, whole lines are cells, and too long
            continue
        counts = [len(row) for row in rows]
        above = next((i for i, n in reversed([*enumerate(counts, 1)]) if n != counts[-1]), 0)
        if counts[-1] == 1:
            continue
        if above == 0 or counts[-1] in counts[:above] or (above, counts[0]) == (1, counts[-1] - 1):
            return  # a table from the first line on; R leaves out a name
        if above <= 10 and len(counts) - above >= 5:
            complaints.append(
                f"a table of {counts[-1]} columns seems to begin below line "
                f"{before + ends[above - 1]}, after other text ({rows[0][0].strip()!r}); delete "
                "the lines above it"
            )
    if complaints:
        raise DataError(complaints[0])


def _split(lines: list[str], sep: str) -> tuple[list[list[str]], list[int]]:
    """The rows, and the number of lines up to the end of each."""
    reader = csv.reader(
        (" ".join(line.split()) for line in lines) if sep == " " else lines, delimiter=sep
    )
    pairs = [(row, reader.line_num) for row in reader if row]
    return [row for row, _ in pairs], [line for _, line in pairs]


def _find_separator(lines: list[str]) -> str:
    """The one that gives all rows as many cells, and makes most of them numbers.

    Blanks separate cells if nothing else does, or if commas are then the decimal marks of numbers.
    """
    found = [sep for sep in _SEPARATORS if sep in lines[0]]
    if not found:
        return " " if len(lines[0].split()) > 1 else ","
    if found == [","] and all(map(_are_decimals, (line.split() for line in lines if line.strip()))):
        return " "

    def fit(sep: str) -> tuple[float, float, int]:
        rows, _ = _split(lines, sep)
        cells = [cell for row in rows for cell in row]
        numbers = sum(
            to_number(cell, ",") is not None or to_number(cell) is not None for cell in cells
        )
        n = len(rows[0])
        return sum(len(row) == n for row in rows) / len(rows), numbers / len(cells), n

    return max(found, key=fit)


def _are_decimals(cells: Sequence[str]) -> bool:
    """Whether cells are several numbers, perhaps with decimal commas that follow a digit."""
    return len(cells) > 1 and all(
        _COMMA.fullmatch(cell) and cell.lstrip("+-")[0] != ","
        if "," in cell
        else is_missing(cell) or to_number(cell) is not None
        for cell in cells
    )


def find_decimal(columns: Sequence[Sequence[str]], sep: str) -> str:
    """The comma if there are numbers with one, and none with a point.

    Parameters
    ----------
    columns : sequence of sequences of str
    sep : str

    Returns
    -------
    {".", ","}

    Examples
    --------
    >>> find_decimal([["1,5", "20"], ["a", "b"]], ";")
    ','
    """
    cells = [[cell.strip() for cell in column if not is_missing(cell)] for column in columns]
    commas = [
        cell
        for column in cells
        if 2 * sum(to_number(cell, ",") is not None for cell in column) >= len(column)
        for cell in column
        if _COMMA.fullmatch(cell)
    ]
    points = [c for column in cells for c in column if "." in c and to_number(c) is not None]
    if not commas and not (sep == ";" and points and all(map(_AMBIGUOUS.fullmatch, points))):
        return "."
    if not points and (sep == ";" or not all(map(_AMBIGUOUS.fullmatch, commas))):
        return ","
    meant = "which may mean a thousand or about one"
    if commas and points:
        meant = f"beside {points[0]!r}"
    raise DataError(
        f"it holds {[*commas, *points][0]!r}, {meant}; pass decimal=',' or decimal='.', or write "
        "all numbers alike and without thousands separators"
    )


def _has_header(first: list[str], columns: list[tuple[str, ...]], decimal: str) -> bool:
    """Whether the first row holds names: no numbers, or text above a column of numbers."""
    numbers = [to_number(cell, decimal) is not None for cell in first]
    if not any(numbers) or _counts(first) or (not first[0].strip() and _counts(first[1:])):
        return True
    if all(numbers):
        alone = _ascends(first) and not any(map(_ascends, zip(*columns, strict=True)))
        if _are_whole(first) and (_has_no_whole_number(columns) or alone):
            _doubt_first_row(first)
        return False
    for cell, number, column in zip(first, numbers, columns, strict=False):
        present = [below for below in column if not is_missing(below)]
        numeric = bool(present) and all(to_number(below, decimal) is not None for below in present)
        if numeric and not number and not is_missing(cell):
            return True
    if not first[0].strip() and columns and not any(map(is_missing, columns[0])):
        return True  # what pandas writes above an index
    names = [cell.strip() for cell, number in zip(first, numbers, strict=True) if number]
    repeated = any(cell in column for cell, column in zip(first, columns, strict=False))
    if len(set(names)) == len(names) and all(map(str.isdecimal, names)) and not repeated:
        _doubt_first_row(first)
    return False


def _doubt_first_row(first: list[str]) -> None:
    warnings.warn(
        f"its first row ({', '.join(first[:4])}{', …' if len(first) > 4 else ''}) is taken for "
        "data because it holds numbers; pass header=True if these are names",
        CloseknitWarning,
        stacklevel=2,
    )


def _has_no_whole_number(columns: Sequence[Sequence[str]]) -> bool:
    cells = [cell.strip() for column in columns for cell in column if not is_missing(cell)]
    return bool(cells) and not any(cell.lstrip("+-").isdecimal() for cell in cells)


def _are_whole(cells: Sequence[str]) -> bool:
    return all(map(str.isdecimal, map(str.strip, cells)))


def _ascends(cells: Sequence[str]) -> bool:
    """Whether three or more whole numbers follow each other, as years above columns do."""
    if len(cells) < 3 or not _are_whole(cells):
        return False
    return list(map(int, cells)) == [*range(int(cells[0]), int(cells[0]) + len(cells))]


def _counts(cells: Sequence[str]) -> bool:
    """Whether numbers are the names that pandas gives the columns of an array: 0, 1, 2, …"""
    return len(cells) > 1 and [cell.strip() for cell in cells] == [
        str(i) for i in range(len(cells))
    ]
