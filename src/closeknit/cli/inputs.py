"""What a command reads, and what its summary says about that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli.errors import USAGE, CommandError
from closeknit.cli.options import DataOptions, InputKind
from closeknit.cli.reporting import Fact

if TYPE_CHECKING:
    from closeknit.io import Table

__all__ = [
    "data_facts",
    "holds_affinities",
    "is_picture",
    "read",
    "read_image",
    "read_like",
    "read_points",
]

#: Names of columns that a summary lists.
_SHOWN = 8


def read(options: DataOptions, least: int = 2) -> Table:
    """Read the input.

    Parameters
    ----------
    options : DataOptions
    least : int, default=2
        Rows it must have.

    Returns
    -------
    Table
    """
    from closeknit.io import read_table

    table = read_table(
        options.path, labels=options.label or None, ids=options.ids, **options.reading
    )
    if table.n_samples < least:
        raise CommandError(f"{options.path} has one row; give at least two")
    return table


def read_like(names: tuple[str, ...], options: DataOptions, path: Path) -> Table:
    """Read a file whose feature columns must be those of the fitted data, in any order.

    Parameters
    ----------
    names : tuple of str
        Of the fitted features; empty if they had none.
    options : DataOptions
        How the fitted data were read.
    path : Path

    Returns
    -------
    Table
    """
    from closeknit.io import default_names, kind_of, read_table

    kind = kind_of(path)
    options = replace(options, path=path)
    if kind not in ("npz", "h5ad"):
        options = replace(options, key=None)
    if kind != "text":
        options = replace(options, sep=None, decimal=None, encoding=None, header=None)
    if kind in ("text", "parquet", "h5ad") and names and names != default_names(len(names)):
        return read_table(path, features=names, ids=options.ids, **options.reading)
    return read(options, least=1)


def read_points(options: DataOptions) -> tuple[Table, tuple[int, ...] | None]:
    """Read the input; the pixels of a picture are points (i, j, L, u, v).

    Parameters
    ----------
    options : DataOptions

    Returns
    -------
    table : Table
    shape : tuple of int or None
        Height and width of a picture.
    """
    if is_picture(options.path):
        from closeknit.apps import pixel_features
        from closeknit.io import Table

        image = read_image(options.path)
        names = ("row", "column", "L", "u", "v")
        return Table(pixel_features(image), names, kind="image"), image.shape[:2]
    return read(options), None


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
        raise CommandError(
            f"{path} is not a picture; use .png, .jpg, .tif or .bmp", exit_code=USAGE
        )
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


def data_facts(options: DataOptions, table: Table, *, affinities: bool = False) -> list[Fact]:
    """What was read, and which columns were taken for what.

    Parameters
    ----------
    options : DataOptions
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
    >>> table = Table(np.eye(2), ("length", "width"), id_name="cell")
    >>> {f.label: f.shown for f in data_facts(DataOptions(Path("a.csv")), table) if f.value}
    {'': "['length', 'width']", 'points': '2', 'features': '2 (length, width)',
     'names of rows': 'cell'}
    """
    names, labels = table.feature_names, list(table.labels)
    dialect = table.dialect
    shown = f"{len(names)} ({_listed(names)})"
    as_read = None if dialect is None else vars(dialect)
    words = "" if dialect is None else f"separator {dialect.sep!r}, decimal {dialect.decimal!r}"
    if dialect is not None and not dialect.header:
        words += ", no header"
    facts = [
        Fact("input", "", str(options.path)),
        Fact("n_samples", "points", table.n_samples),
        Fact("n_dropped", "rows dropped" if table.n_dropped else "", table.n_dropped),
        Fact("n_features", "" if affinities else "features", table.n_features, words=shown),
        Fact("features", "", list(names[:_SHOWN])),
        Fact("labels", "labels" if labels else "", labels, words=_listed(labels)),
        Fact("id", "names of rows", table.id_name),
        Fact("key", "representation" if table.kind == "h5ad" else "array", table.key),
        Fact("text", "read with", as_read, words=words),
    ]
    if affinities:
        return [replace(fact, value=None) if "features" in fact.key else fact for fact in facts]
    return facts


def _listed(names: Any) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
