"""Read a table from a file whose ending says what it is."""

from __future__ import annotations

from collections.abc import Callable, Collection
from os import PathLike
from pathlib import Path
from typing import Any

from closeknit.exceptions import DataError
from closeknit.io.anndata import read_h5ad
from closeknit.io.arrays import read_matrix_market, read_npy, read_npz
from closeknit.io.delimited import read_delimited
from closeknit.io.files import reading, without_compression
from closeknit.io.frames import read_feather, read_parquet
from closeknit.io.images import read_pixels
from closeknit.io.table import Selection, Table

#: What reads each kind of file, and the endings that such files have.
_READERS: dict[str, tuple[Callable[..., Table], tuple[str, ...]]] = {
    "text": (read_delimited, (".csv", ".tsv", ".txt")),
    "parquet": (read_parquet, (".parquet",)),
    "feather": (read_feather, (".feather", ".arrow")),
    "npy": (read_npy, (".npy",)),
    "npz": (read_npz, (".npz",)),
    "matrix market": (read_matrix_market, (".mtx",)),
    "h5ad": (read_h5ad, (".h5ad",)),
    "image": (read_pixels, (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")),
}
_KINDS = {ending: kind for kind, (_, endings) in _READERS.items() for ending in endings}
_MAY_BE_COMPRESSED = ("text", "matrix market")


def kind_of(path: str | Path) -> str:
    """What a file holds, judged by its ending.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    {"text", "parquet", "feather", "npy", "npz", "matrix market", "h5ad", "image"}

    Examples
    --------
    >>> from closeknit.io import kind_of
    >>> kind_of("cells.h5ad"), kind_of("table.csv.gz")
    ('h5ad', 'text')
    """
    path = Path(path)
    suffix = path.suffix.lower()
    inner = without_compression(path)
    if inner != path and _KINDS.get(inner.suffix.lower()) in _MAY_BE_COMPRESSED:
        return _KINDS[inner.suffix.lower()]
    if suffix in _KINDS:
        return _KINDS[suffix]
    if suffix in (".xlsx", ".xls", ".ods"):
        raise DataError(f"cannot read {path}: it is a workbook; export the sheet as CSV")
    raise DataError(
        f"cannot read {path}: the ending {suffix or '(none)'} is unknown; use one of "
        f"{', '.join(_KINDS)}, and .csv, .tsv, .txt and .mtx also with .gz, .xz, .bz2 or .zip"
    )


def read_table(
    path: str | Path,
    *,
    features: Collection[str] | None = None,
    labels: Collection[str] | None = None,
    ids: str | None = None,
    missing: str = "error",
    key: str | None = None,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> Table:
    r"""Read data from a file whose ending says what it is.

    Numeric columns are features; the others are kept as labels. A column whose name says that it
    holds identifiers (``id``, ``cell_id``, ``PassengerId``, ``barcode``, or no name above a first
    column) names the rows if all its values differ, and is a label if they do not.

    What a file holds may take 1 GiB of memory, or a hundred times the size of the file if that is
    more; one that would take more, such as an archive of zeros, is refused.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.tsv``, ``.txt`` (each also with ``.gz``, ``.xz``, ``.bz2`` or ``.zip``),
        ``.parquet``, ``.feather``, ``.npy``, ``.npz`` (arrays X, y and others, or a SciPy sparse
        matrix), ``.mtx``, ``.h5ad``, or a picture, whose pixels are the rows.
    features : collection of str or None, default=None
        Columns to compute with; None takes all numeric ones that are not set apart by `labels` and
        `ids`. Those not taken become labels.
    labels : collection of str or None, default=None
        Columns to keep as labels although they are numeric, such as a class.
    ids : str or None, default=None
        The column that says what the rows are called; None goes by the names of columns, as above.
    missing : {"error", "drop"}, default="error"
        What to do with rows that have missing or infinite features.
    key : str or None, default=None
        The array to take from an NPZ file (default "X"), or the matrix of an H5AD file, such as
        "X_pca" or "X" (see `from_anndata`).
    sep : str or None, default=None
        Between the cells of a text file, such as ";"; None finds it out, as it does the next three.
    decimal : {".", ","} or None, default=None
        The decimal mark of a text file.
    encoding : str or None, default=None
        Of a text file, such as "latin-1"; None is UTF-16 if the file is marked so, else UTF-8.
    header : bool or None, default=None
        Whether the first row of a text file holds the names of the columns.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        Saying what is wrong with the file, where, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import closeknit as ck
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "flowers.csv")
    ...     _ = path.write_text("id,length,width,kind\nA,1.4,0.2,setosa\nB,4.7,1.4,virginica\n")
    ...     table = ck.io.read_table(path)
    >>> table.X
    array([[1.4, 0.2],
           [4.7, 1.4]])
    >>> table.feature_names, table.ids, table.labels["kind"]
    (('length', 'width'), array(['A', 'B'], dtype=object),
     array(['setosa', 'virginica'], dtype=object))
    """
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"read_table reads files, and {type(path).__name__} is no path; for a frame use "
            "closeknit.io.from_frame"
        )
    path = Path(path)
    selection = Selection(features, labels, ids, missing)
    with reading(path):
        path.stat()  # a missing file is reported as that, whatever its ending
    kind = kind_of(path)
    if key is not None and kind not in ("npz", "h5ad"):
        raise ValueError(f"key={key!r} has a meaning for .npz and .h5ad files only, not {path}")
    dialect = {"sep": sep, "decimal": decimal, "encoding": encoding, "header": header}
    given = [name for name, value in dialect.items() if value is not None]
    if given and kind != "text":
        raise ValueError(f"{given[0]}= has a meaning for text files only, not {path}")
    if sep is not None and (len(sep) != 1 or not sep.isascii() or sep in '"\r\n\0'):
        raise ValueError(
            f"sep={sep!r} must be one character, such as ';': ASCII, no quote and no line end"
        )
    if decimal not in (None, ".", ","):
        raise ValueError(f"decimal={decimal!r} must be '.' or ','")
    options: dict[str, Any] = {"key": key} if key is not None else {}
    if kind == "text":
        tabs = sep is None and without_compression(path).suffix.lower() == ".tsv"
        options = {**dialect, "sep": "\t" if tabs else sep}
    with reading(path):
        if path.stat().st_size == 0:
            raise DataError("it is empty; write or download it again")
        return _READERS[kind][0](path, selection, **options)
