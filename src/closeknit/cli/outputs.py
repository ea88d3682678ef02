"""The output of commands: checked before the work begins, written whole or not at all."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from closeknit.cli.command import option
from closeknit.cli.errors import UsageError
from closeknit.exceptions import CloseknitWarning, OutputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from closeknit.io import Table

#: What the help says of the two kinds of files that several commands write.
TABLE_FILE = (
    "The table to write: .csv, .tsv, .parquet, .feather, .npy, .npz, or .h5ad with the data; - is "
    "CSV on stdout."
)
GRAPH_FILE = "The sparse matrix to write: .npz (SciPy) or .mtx."


def output_file(text: str, default: str) -> Any:
    """The option ``--output``, with what is written and what the file is called by default."""
    return option(text, flags="--output -o", shown=f"{default} here")


def model_file() -> Any:
    """The option ``--save-model``."""
    text = "Keep the fitted model, for closeknit.io.load."
    return option(text, flags="--save-model", metavar="FILE")


def name_after(path: Path, result: str, suffix: str) -> Path:
    """A file in the current folder for what was made of `path`.

    Examples
    --------
    >>> name_after(Path("cells/blood.csv.gz"), "tsne", ".csv").name
    'blood-tsne.csv'
    """
    return path if str(path) == "-" else Path(f"{path.name.split('.')[0]}-{result}{suffix}")


class _EnoughError(Exception):
    """Raised to end a trial of writing."""


def check_outputs(inputs: Iterable[Path], outputs: Sequence[tuple[Path | None, Any]]) -> None:
    """Refuse, before any work, files that cannot, or must not, be written.

    Parameters
    ----------
    inputs : iterable of Path
    outputs : sequence of (Path or None, sequence of str or None)
        Each file with the endings it may have, None for any.
    """
    from closeknit.io.files import replacing
    from closeknit.io.writers import check_suffix

    seen = {os.path.realpath(path): "the input" for path in inputs if str(path) != "-"}
    for path, suffixes in outputs:
        if path is None:
            continue
        if suffixes is not None and str(path) == "-":
            if sys.__stdout__ is None:
                raise OutputError("cannot write to stdout: it is closed; name a file")
            continue
        place = os.path.realpath(path)
        if place in seen:
            raise UsageError(f"{path} would overwrite {seen[place]}; choose another file")
        seen[place] = "another output"
        if suffixes is not None:
            check_suffix(path, suffixes)
        # A trial, given up before it changes anything.
        with suppress(_EnoughError), replacing(path):
            raise _EnoughError


def write_rows(
    path: Path, X: Any, columns: Sequence[str], table: Table, source: Path | None = None
) -> None:
    """Write columns of numbers, with the names and labels of the rows beside them.

    Parameters
    ----------
    path : Path
        ``-`` is stdout.
    X : array-like of shape (n_samples, n_columns)
    columns : sequence of str
        Called ``closeknit_…`` in the file where a label or the names of the rows are called so.
    table : Table
        What was read.
    source : Path or None, default=None
        The file it was read from, which an H5AD file takes over.
    """
    from closeknit.io import write_table
    from closeknit.io.anndata import write_h5ad

    columns = _apart_from(columns, {*table.labels, table.id_name})
    if path.suffix.lower() == ".h5ad":
        whole = source is not None and table.kind == "h5ad" and str(source) != "-"
        write_h5ad(path, X, columns, table, source if whole else None)
        return
    named: dict[str, Any] = {
        "ids": table.ids,
        "id_name": table.id_name or "id",
        "labels": table.labels,
    }
    if str(path) != "-":
        write_table(path, X, columns=columns, **named)
        return
    with TemporaryDirectory() as folder:
        copy = Path(folder, "stdout.csv")
        write_table(copy, X, columns=columns, **named)
        # A table is in UTF-8 wherever it goes.
        sys.stdout.flush()
        sys.stdout.buffer.write(copy.read_bytes())


def _apart_from(columns: Sequence[str], taken: set[str | None]) -> list[str]:
    """Names for columns that are those of no column read, which would be lost or in the way."""
    found = {name: name for name in columns}
    for name in columns:
        while found[name] in taken:
            found[name] = f"closeknit_{found[name]}"
    changed = [f"{name!r} is called {new!r}" for name, new in found.items() if name != new]
    if changed:
        warnings.warn(
            f"INPUT has columns of these names already, so our {', '.join(changed)}",
            CloseknitWarning,
            stacklevel=3,
        )
    return list(found.values())


def write_model(estimator: Any, table: Table, path: Path) -> None:
    """Save a model together with the names of the columns it was fitted to, if they have any.

    Parameters
    ----------
    estimator : fitted estimator
    table : Table
    path : Path
    """
    import numpy as np

    from closeknit.io import default_names, save

    if table.feature_names != default_names(table.n_features):
        estimator.feature_names_in_ = np.array(table.feature_names, dtype=object)
    try:
        save(estimator, path)
    finally:
        vars(estimator).pop("feature_names_in_", None)  # here the new points are arrays


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure that draws in memory and needs neither a display nor a backend."""
    from closeknit.io.extras import require

    figure: Figure = require("matplotlib.figure", "plot", "drawing needs matplotlib").Figure(
        figsize=size, layout="constrained"
    )
    return figure


def picture_format(path: Path) -> str:
    """Matplotlib's name of the format that a file's ending asks for, or raise an error."""
    name = path.suffix.lstrip(".").lower()
    known = {*new_figure((1, 1)).canvas.get_supported_filetypes(), "html"}
    if name not in known:
        raise UsageError(
            f"cannot draw {path}: its ending is unknown; use one of {', '.join(sorted(known))}"
        )
    return name


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure whole or not at all."""
    from closeknit.io.files import replacing

    if picture_format(path) == "html":
        raise UsageError(f"cannot draw {path}: only embed draws .html; use .png, .pdf or .svg")
    content = drawn(figure, path, dpi=200, bbox_inches="tight")
    with replacing(path) as file:
        file.write(content)


def drawn(figure: Figure, path: Path, **options: Any) -> bytes:
    """What a file of a figure holds; written piece by piece, a full disk would break compressors.

    Examples
    --------
    >>> drawn(new_figure((1, 1)), Path("map.png"))[1:4]
    b'PNG'
    """
    content = BytesIO()
    figure.savefig(content, format=picture_format(path), **options)
    return content.getvalue()
