"""The input of commands: options for reading it, and its part of a summary."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from closeknit.cli.command import Command, Fact, argument, option
from closeknit.cli.errors import CommandError, UsageError, in_options
from closeknit.cli.preparation import Preparation
from closeknit.exceptions import CloseknitError

if TYPE_CHECKING:
    from closeknit.io import Table

_DATA, _TEXT = "Data", "Text files"
#: Names of columns that a summary lists.
_SHOWN = 8

OnMissing = StrEnum("OnMissing", ["error", "drop"])
InputKind = StrEnum("InputKind", ["auto", "data", "affinities"])


def input_kind() -> Any:
    """The option ``--input``, for commands that take graphs, too."""
    text = "What INPUT holds; auto takes a square sparse matrix for affinities."
    return option(text, _DATA, flags="--input", default=InputKind.auto)


@dataclass(frozen=True, kw_only=True)
class DataCommand(Command):
    """A command that reads a table.

    Examples
    --------
    >>> DataCommand(path=Path("a.csv"), sep="space").reading["sep"]
    ' '
    """

    path: Path = argument(
        "INPUT",
        "CSV, TSV, Parquet, Feather, NPY, NPZ, Matrix Market, H5AD or a picture; - is stdin.",
    )
    label: list[str] | None = option(
        "Columns that are not features, such as a class, as in a,b. May be repeated.",
        _DATA,
        metavar="COLUMNS",
    )
    ids: str | None = option(
        "The column that names the rows.", _DATA, flags="--id", metavar="COLUMN"
    )
    features: list[str] | None = option(
        "Compute with these columns only, as in a,b. May be repeated.",
        _DATA,
        shown="all numeric",
        metavar="COLUMNS",
    )
    drop: list[str] | None = option(
        "Leave these columns out. May be repeated.", _DATA, metavar="COLUMNS"
    )
    standardize: bool = option(
        "Divide each feature by its standard deviation.",
        _DATA,
        flags="--standardize",
        default=False,
    )
    pca: int | None = option(
        "Compute with this many principal components.", _DATA, min=1, metavar="INTEGER"
    )
    key: str | None = option("The array to take from an NPZ or H5AD file.", _DATA)
    missing: OnMissing = option(
        "What to do with rows that lack values.", _DATA, default=OnMissing.error
    )
    sep: str | None = option(
        "Between the cells: ';', '|', tab, space, …", _TEXT, shown="detected", metavar="CHARACTER"
    )
    decimal: str | None = option(
        "The decimal mark: '.' or ','.", _TEXT, shown="detected", metavar="MARK"
    )
    encoding: str | None = option("Such as latin-1 or utf-16.", _TEXT, shown="utf-8")
    header: bool | None = option(
        "Whether the first row holds the names of the columns.",
        _TEXT,
        flags="--header/--no-header",
        shown="detected",
    )

    @property
    def reading(self) -> dict[str, Any]:
        """How to read, as `read_table` takes it, but for the roles of columns."""
        names = ("key", "missing", "decimal", "encoding", "header")
        sep = {"tab": "\t", r"\t": "\t", "space": " "}.get(self.sep or "", self.sep)
        return {"sep": sep, **{name: getattr(self, name) for name in names}}

    @property
    def roles(self) -> dict[str, Any]:
        """Which columns are what, as `read_table` takes it."""
        features, drop = _split(self.features) or None, _split(self.drop)
        labels = [*_split(self.label), *(name for name in drop if name not in (features or ()))]
        return {"features": features, "labels": labels or None, "ids": self.ids}

    @property
    def arguments(self) -> dict[str, Any]:
        """How to read, with the roles of columns."""
        return {**self.roles, **self.reading}

    def read(self, least: int = 2) -> Table:
        """Read the input, of which there must be this many rows at least."""
        from closeknit.io import read_table

        with _readable(self.path) as path:
            table = read_table(path, **self.arguments)
        if table.n_samples < least:
            raise CommandError(f"{self.path} has one row; give at least two")
        table = self.without_dropped(table)
        self._doubt(table)
        return table

    def _doubt(self, table: Table) -> None:
        """Warn of columns that may have been taken for the wrong thing."""
        from closeknit.io import find_suspicious

        distances = getattr(self, "metric", "") == "precomputed"
        if table.kind in ("text", "parquet", "feather") and not self.features and not distances:
            for doubt in find_suspicious(table, scaled=self.standardize):
                self.warn(doubt)

    def without_dropped(self, table: Table) -> Table:
        """Leave out the columns of ``--drop``."""
        drop = _split(self.drop)
        kept = {name: column for name, column in table.labels.items() if name not in drop}
        return replace(table, labels=kept)

    def preparation(self, table: Table) -> Preparation:
        """What ``--standardize`` and ``--pca`` make of the features, learned from a table."""
        kind = getattr(self, "kind", InputKind.data)
        wanted = self.standardize or self.pca is not None
        if wanted and (
            getattr(self, "metric", "") == "precomputed" or holds_affinities(kind, table.X)
        ):
            raise UsageError(
                "--standardize and --pca need features, but INPUT holds distances or affinities"
            )
        seed = getattr(self, "seed", 0)
        return Preparation.learned(table, self.standardize, self.pca, seed)

    def refuse_unprepared(self, flag: str) -> None:
        """Refuse where a saved model would be given features that are not prepared."""
        if self.standardize or self.pca is not None:
            given = "--standardize" if self.standardize else "--pca"
            raise UsageError(
                f"{flag} keeps a model without {given}, and new rows would be misplaced; prepare "
                "the data beforehand, or leave one of the two out"
            )

    def read_prepared(self) -> tuple[Table, list[Fact]]:
        """Read the input, and prepare its features; also what a summary says of that."""
        table = self.read()
        prepared = self.preparation(table)
        return prepared(table), prepared.facts

    def read_like(self, names: tuple[str, ...], path: Path) -> Table:
        """Read a file whose feature columns must be those of the fitted data, in any order.

        Parameters
        ----------
        names : tuple of str
            Of the fitted features; empty if they had none.
        path : Path

        Returns
        -------
        Table
        """
        from closeknit.io import default_names, kind_of, read_table

        kind = kind_of(path)
        like = replace(self, path=path)
        if kind not in ("npz", "h5ad"):
            like = replace(like, key=None)
        if kind != "text":
            like = replace(like, sep=None, decimal=None, encoding=None, header=None)
        named = kind in ("text", "parquet", "feather", "h5ad") and names
        if named and names != default_names(len(names)):
            table = read_table(path, features=names, ids=like.ids, **like.reading)
            return self.without_dropped(table)
        return like.read(least=1)

    def data_facts(self, table: Table, *, affinities: bool = False) -> list[Fact]:
        """What was read, and which columns were taken for what.

        Parameters
        ----------
        table : Table
        affinities : bool, default=False
            Whether the matrix holds affinities, hence no features.

        Returns
        -------
        list of Fact

        Examples
        --------
        >>> import numpy as np
        >>> from closeknit.io import Table
        >>> table = Table(np.eye(2), ("length", "width"), ids=np.arange(2), id_name="cell")
        >>> facts = DataCommand(path=Path("a.csv")).data_facts(table)
        >>> {fact.label: fact.shown for fact in facts if fact.value}
        {'': "['length', 'width']", 'points': '2', 'features': '2 (length, width)',
         'row names': 'cell'}
        """
        names, labels, dialect = table.feature_names, list(table.labels), table.dialect
        counted, first = table.n_features, list(names[:_SHOWN])
        words = "" if dialect is None else f"separator {dialect.sep!r}, decimal {dialect.decimal!r}"
        if dialect is not None and not dialect.header:
            words += ", no header"
        return [
            Fact("input", "", self.path),
            Fact("n_samples", "points", table.n_samples),
            Fact("n_dropped", "rows dropped" if table.n_dropped else "", table.n_dropped),
            Fact(
                "n_features",
                "features",
                None if affinities else counted,
                words=f"{counted} ({_listed(names)})",
            ),
            Fact("features", "", None if affinities else first),
            Fact("labels", "labels" if labels else "", labels, words=_listed(labels)),
            _id_fact(table),
            Fact("key", "representation" if table.kind == "h5ad" else "array", table.key),
            Fact("text", "read with", None if dialect is None else vars(dialect), words=words),
        ]


def _id_fact(table: Table) -> Fact:
    """Where the names of the rows come from."""
    if table.ids is None:
        return Fact("id", "", None)
    nameless = "the first column" if table.kind in ("text", "parquet", "feather") else "in the file"
    return Fact("id", "row names", table.id_name or "", words=table.id_name or nameless)


def _split(names: list[str] | None) -> list[str]:
    """The names in lists such as a,b; one that holds a comma is quoted, as in a CSV file."""
    rows = csv.reader(names or (), skipinitialspace=True)
    return [name.strip() for row in rows for name in row if name.strip()]


#: How files begin that are not text, and what their names end in.
_MAGIC = {
    b"\x93NUMPY": ".npy",
    b"PK": ".npz",
    b"PAR1": ".parquet",
    b"ARROW1": ".feather",
    b"\x89HDF": ".h5ad",
    b"%%MatrixMarket": ".mtx",
    b"\x1f\x8b": ".csv.gz",
    b"\xfd7zXZ": ".csv.xz",
    b"BZh": ".csv.bz2",
}


@contextmanager
def _readable(path: Path) -> Iterator[Path]:
    """The file to read: the one given, or for ``-`` a copy of what comes from stdin."""
    if str(path) != "-":
        yield path
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError(
            "INPUT is -, but nothing comes from stdin; pipe a table in, or name a file"
        )
    content = sys.stdin.buffer.read()
    ending = next((end for magic, end in _MAGIC.items() if content.startswith(magic)), ".csv")
    with TemporaryDirectory() as folder:
        copy = Path(folder, f"stdin{ending}")
        copy.write_bytes(content)
        try:
            yield copy
        except CloseknitError as error:
            raise CommandError(in_options(str(error).replace(str(copy), "stdin"))) from error


def read_image(path: Path) -> Any:
    """Read a picture; a table is refused.

    Parameters
    ----------
    path : Path

    Returns
    -------
    ndarray of shape (height, width) or (height, width, 3)
    """
    from closeknit import io

    with io.files.reading(path):
        path.stat()
    if io.kind_of(path) != "image":
        raise UsageError(f"{path} is not a picture; use .png, .jpg, .tif or .bmp")
    return io.read_image(path)


def is_picture(path: Path) -> bool:
    """Whether a file's ending is that of pixels.

    Examples
    --------
    >>> is_picture(Path("photo.JPG")), is_picture(Path("photo.csv"))
    (True, False)
    """
    return path.suffix.lower() in (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")


def holds_affinities(kind: InputKind, X: Any) -> bool:
    """Whether the input is a graph: as the user says, or if it looks like one.

    That is: sparse, square, not negative, and without loops.

    Examples
    --------
    >>> from scipy import sparse
    >>> holds_affinities(InputKind.auto, sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]]))
    True
    >>> holds_affinities(InputKind.auto, sparse.eye(3, format="csr"))
    False
    """
    from scipy import sparse

    if kind is not InputKind.auto:
        return kind is InputKind.affinities
    square = sparse.issparse(X) and X.shape[0] == X.shape[1]
    return bool(square and X.min() >= 0.0 and not X.diagonal().any())


def _listed(names: Any) -> str:
    shown = [f'"{name}"' if "," in name else name for name in names[:_SHOWN]]
    return ", ".join(shown) + (", …" if len(names) > _SHOWN else "")
