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

__all__ = ["check_outputs", "named_after", "new_figure", "picture_format", "read", "save_figure"]


def read(options: DataOptions) -> Table:
    """Read the input.

    Parameters
    ----------
    options : DataOptions

    Returns
    -------
    Table
    """
    from closeknit.io import read_table

    return read_table(
        options.path,
        labels=options.labels or None,
        ids=options.ids,
        key=options.key,
        missing=options.missing.value,
    )


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

    seen = {path.resolve(): path for path in inputs}
    for path, suffixes in outputs:
        if path is None:
            continue
        known = seen.setdefault(path.resolve(), path)
        if known is not path:
            raise CommandError(
                f"{path} would overwrite {'the input' if known in set(inputs) else 'another output'}"
                "; choose another file",
                exit_code=USAGE,
            )
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

    figure: Figure = require(
        "matplotlib.figure", "plot", "drawing needs matplotlib"
    ).Figure(figsize=size, layout="constrained")
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
