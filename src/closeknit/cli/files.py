"""Files a command reads and writes, looked at before the work begins."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli.errors import USAGE, CommandError
from closeknit.cli.options import DataOptions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from closeknit.io import Table

__all__ = [
    "check_outputs",
    "is_picture",
    "named_after",
    "new_figure",
    "picture_format",
    "read",
    "read_image",
    "read_points",
    "save_figure",
]


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
        options.path,
        labels=options.labels or None,
        ids=options.ids,
        key=options.key,
        missing=options.missing.value,
    )
    if table.n_samples < least:
        raise CommandError(
            f"{options.path} has one row, which is close to nobody; give at least two"
        )
    return table


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
        raise CommandError(f"{path} is no picture; use .png, .jpg, .tif or .bmp", exit_code=USAGE)
    return io.read_image(path)


def is_picture(path: Path) -> bool:
    """Whether a file's ending is that of pixels.

    Examples
    --------
    >>> is_picture(Path("photo.JPG")), is_picture(Path("photo.csv"))
    (True, False)
    """
    return path.suffix.lower() in (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp")


def named_after(path: Path, what: str, suffix: str) -> Path:
    """A file in the current folder for what was made of `path`.

    Examples
    --------
    >>> named_after(Path("cells/blood.csv.gz"), "tsne", ".csv").name
    'blood-tsne.csv'
    """
    return Path(f"{path.name.split('.')[0]}-{what}{suffix}")


def check_outputs(inputs: Iterable[Path], outputs: Sequence[tuple[Path | None, Any]]) -> None:
    """Complain before any work about files that cannot, or must not, be written.

    Parameters
    ----------
    inputs : iterable of Path
    outputs : sequence of (Path or None, sequence of str or None)
        Each file with the endings it may have, None for any.
    """
    from closeknit.io.writers import check_suffix

    seen = {path.resolve(): "the input" for path in inputs}
    for path, suffixes in outputs:
        if path is None:
            continue
        place = path.resolve()
        if place in seen:
            raise CommandError(
                f"{path} would overwrite {seen[place]}; choose another file", exit_code=USAGE
            )
        seen[place] = "another output"
        if suffixes is not None:
            check_suffix(path, suffixes)
        _check_place(path)


class _EnoughError(Exception):
    """Ends the trial of a place to write to."""


def _check_place(path: Path) -> None:
    from closeknit.io.files import replacing

    try:
        with replacing(path):
            raise _EnoughError
    except _EnoughError:
        pass


def new_figure(size: tuple[float, float]) -> Figure:
    """A figure that draws in memory and needs neither a display nor a backend."""
    from closeknit.io.extras import require

    figure: Figure = require("matplotlib.figure", "plot", "drawing needs matplotlib").Figure(
        figsize=size, layout="constrained"
    )
    return figure


def picture_format(path: Path) -> str:
    """Matplotlib's name of the format that a file's ending asks for, or complain."""
    name = path.suffix.lstrip(".").lower()
    known = new_figure((1, 1)).canvas.get_supported_filetypes()
    if name not in known:
        raise CommandError(
            f"cannot draw {path}: its ending is unknown; use one of {', '.join(sorted(known))}",
            exit_code=USAGE,
        )
    return name


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure whole or not at all."""
    from closeknit.io.files import replacing

    with replacing(path) as file:
        figure.savefig(file, format=picture_format(path), dpi=200)
