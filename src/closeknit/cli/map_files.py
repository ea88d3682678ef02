"""Maps as tables and as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli.fitting import TITLES, short_name
from closeknit.cli.outputs import new_figure, save_figure, write_rows
from closeknit.cli.reporting import Reporter

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from closeknit.io import Table

__all__ = ["colors_of", "draw_map", "title_of", "write_map"]


def colors_of(reporter: Reporter, table: Table, color: str | None) -> dict[str, Any]:
    """What to colour by, as `plot_embedding` takes it."""
    if color is None:
        return {}
    column = table.column(color)
    if color in table.labels:
        return {"values" if column.dtype.kind == "f" else "labels": column}
    reporter.warn(
        f"--color {color} is one of the columns that are embedded; if it is a class, keep it out "
        f"with --label {color}"
    )
    return {"values": column}


def write_map(path: Path, Y: NDArray[np.float64], model: Any, table: Table) -> None:
    """Write positions, with the names and labels of the rows beside them."""
    write_rows(path, Y, [f"{short_name(model)}{i}" for i in range(Y.shape[1])], table)


def draw_map(
    path: Path, Y: NDArray[np.float64], colors: dict[str, Any], color: str | None, model: Any
) -> None:
    """Draw positions in the `colors` of the column `color`."""
    from closeknit.plotting import plot_embedding

    figure = new_figure((8.0, 7.0))
    axes = figure.add_subplot(projection="3d" if Y.shape[1] == 3 else None)
    plot_embedding(Y, ax=axes, **colors)
    axes.set_title(title_of(model) + (f", by {color}" if color else ""))
    save_figure(figure, path)


def title_of(model: Any) -> str:
    """What the start of a heading calls the model."""
    name = TITLES[type(model).__name__]
    return name[0].upper() + name[1:] if name != "t-SNE" else name
