"""What the figures of the experiments have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from closeknit.io.extras import require


def new_figure(rows: int, columns: int, *, width: float = 3.6, height: float = 3.2) -> Any:
    """Return a figure and its axes, as an array of `rows` by `columns`, open at the top right."""
    module = require("matplotlib.figure", "plot", "the figures need Matplotlib")
    figure = module.Figure(figsize=(width * columns, height * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, grid


def legend_below(figure: Any, handles: Sequence[Any], columns: int = 8) -> None:
    """Put one legend for all axes below them."""
    columns = min(columns, len(handles))
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, frameon=False)


def plain_log_ticks(axis: Any) -> None:
    """Label a logarithmic axis 0.1, 0.2, 0.5, 1 and so on."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())
