"""Delimited text in which every line is a row, by Arrow where that is installed: much faster.

Whatever Arrow is in doubt about it leaves to `text.py`, which knows what to say of it.
"""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_plain"]


def read_plain(
    path: Path,
    *,
    delimiter: str,
    n_before: int,
    n_columns: int,
    numeric: list[int],
    missing: frozenset[str],
) -> tuple[NDArray[np.float64], dict[int, list[str]]] | None:
    r"""Read the rows of a file.

    Parameters
    ----------
    path : Path
    delimiter : str
    n_before : int
        Lines before the first row.
    n_columns : int
    numeric : list of int
        The columns that hold numbers.
    missing : frozenset of str
        What stands for a missing number, in lower case.

    Returns
    -------
    numbers : ndarray of shape (n_rows, len(numeric))
        NaN where one is missing.
    texts : dict of int to list of str
        The other columns.
    None
        Instead of both, if Arrow is not installed or cannot read the file as `text.py` would.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "flowers.csv")
    ...     _ = path.write_text("length,kind\n1.4,a\n4.7,b\n")
    ...     options = {"n_before": 1, "n_columns": 2, "numeric": [0], "missing": frozenset()}
    ...     numbers, texts = read_plain(path, delimiter=",", **options)
    >>> numbers.ravel(), texts
    (array([1.4, 4.7]), {1: ['a', 'b']})
    """
    try:
        pa, arrow = import_module("pyarrow"), import_module("pyarrow.csv")
    except ImportError:
        return None
    if not _lines_are_rows(path, delimiter, n_columns):
        return None
    names = list(map(str, range(n_columns)))
    words = [form for word in missing for form in {word, word.upper(), word.capitalize()}]
    try:
        table = arrow.read_csv(
            path,
            arrow.ReadOptions(skip_rows=n_before, column_names=names),
            arrow.ParseOptions(delimiter=delimiter),
            arrow.ConvertOptions(
                null_values=sorted(words),
                column_types={
                    name: pa.float64() if i in numeric else pa.string()
                    for i, name in enumerate(names)
                },
            ),
        )
    except (pa.ArrowException, OSError):
        return None
    numbers = np.empty((table.num_rows, len(numeric)))
    for place, i in enumerate(numeric):
        numbers[:, place] = table.column(i).to_numpy()
    others = sorted({*range(n_columns)} - {*numeric})
    return numbers, {i: table.column(i).to_pylist() for i in others}


def _lines_are_rows(path: Path, delimiter: str, n_columns: int) -> bool:
    """Whether a file is not compressed, and no quotes in it reach over lines or stand wrongly."""
    if path.suffix.lower() == ".gz":
        return False
    with path.open("rb") as file:
        quoted = (line.decode("utf-8-sig", "replace") for line in file if b'"' in line)
        reader = csv.reader(quoted, delimiter=delimiter, strict=True)
        try:
            return all(
                len(row) == n_columns and reader.line_num == number
                for number, row in enumerate(reader, start=1)
            )
        except csv.Error:
            return False
