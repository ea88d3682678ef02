"""Axes to draw on, their scales, styles of curves, and legends that stay off what is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closeknit._arrays import Array
from closeknit.linalg import real_array
from closeknit.plotting._categories import category_colors

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

#: Beyond it Matplotlib's own squares overflow.
_LARGEST = 1e150


_DASHES = ("-", "--", ":", "-.")
#: Each has a colour of its own, in this order.
_DIRECTIONS = (
    "gradient", "fixed-point", "diagonal-hessian", "cg", "spectral-minus", "lbfgs", "spectral",
    "spectral-growing", "spectral-lbfgs", "momentum", "spectral-momentum", "spectral-gradient",
    "spectral-diagonal",
)  # fmt: skip
_ROWS = 20  # entries in one column of a legend
_WIDTH, _LINES = 26, 3  # of a name in it, in characters and lines


def axes_for(ax: Axes | None, projection: str | None = None) -> Axes:
    """Return the given axes, or those of a new figure that leaves room for a legend."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise ImportError(
            'plotting needs matplotlib, which is not installed; run: pip install "closeknit[plot]"'
        ) from error
    return pyplot.subplots(layout="constrained", subplot_kw={"projection": projection})[1]


def check_positions(positions: ArrayLike, name: str, dimensions: Sequence[int] = (2,)) -> Array:
    """Return positions that can be drawn as floats, or say what is wrong with them."""
    Y = real_array(positions, name)
    if Y.ndim != 2 or Y.shape[1] not in dimensions:
        shapes = " or ".join(f"(n_samples, {d})" for d in dimensions)
        raise ValueError(
            f"{name} must have shape {shapes}, got {Y.shape}; choose the columns to draw, "
            f"such as {name}[:, :2]"
        )
    if len(Y) == 0:
        raise ValueError(f"{name} has no points; pass at least one row")
    bad = ~(np.abs(Y) <= _LARGEST).all(axis=1)
    if bad.any():
        raise ValueError(
            f"{name} has NaN or infinite positions, or some beyond {_LARGEST:g}, "
            f"in {np.count_nonzero(bad)} rows, first in row {int(np.argmax(bad))}; "
            "leave these rows out"
        )
    return Y


def frame_plane(ax: Axes, Y: Array) -> None:
    """Show all of the plane's points, x and y to the same scale."""
    low, high = Y.min(axis=0), Y.max(axis=0)
    # Points in one place still need an extent that floating point can distinguish from zero.
    margin = 0.03 * float((high - low).max()) or 0.03 * (float(np.abs(Y).max()) or 1.0)
    ax.set_xlim(low[0] - margin, high[0] + margin)
    ax.set_ylim(low[1] - margin, high[1] + margin)
    ax.set_aspect("equal")


def color_bar(ax: Axes, mappable: Any, label: str) -> None:
    """Put a colour bar to the right of the axes."""
    bar: Any = ax.figure.colorbar(mappable, ax=ax, label=label, shrink=0.8)
    bar.outline.set_visible(False)


def legend_beside(
    ax: Axes, handles: Sequence[Artist], names: Sequence[str], title: str | None = None
) -> None:
    """Put a legend to the right of the axes, and make room for it unless the layout does."""
    legend = ax.legend(
        handles,
        [_in_lines(name) for name in names],
        title=title,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        frameon=False,
        ncols=-(-len(names) // _ROWS),
        columnspacing=1.0,
        handletextpad=0.4,
    )
    figure: Any = ax.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        for _ in range(2):  # ahead of drawing, because wide legends take several passes
            engine.execute(figure)
        return
    excess = (legend.get_window_extent().x1 - figure.bbox.x1) / figure.bbox.width
    place = ax.get_position(original=True)
    if 0.0 < excess < 0.8 * place.width:
        ax.set_position((place.x0, place.y0, place.width - excess, place.height))


def _in_lines(name: str) -> str:
    r"""A long name on several lines, so that the legend leaves room for the map.

    Examples
    --------
    >>> _in_lines("CD14+ monocytes"), _in_lines("plasmacytoid dendritic cells, activated")
    ('CD14+ monocytes', 'plasmacytoid dendritic\ncells, activated')
    """
    lines = wrap(name, _WIDTH, max_lines=_LINES, placeholder=" …")
    return "\n".join(lines) if len(name) > _WIDTH else name


def curve_styles(curves: int | Sequence[str]) -> list[dict[str, Any]]:
    """Colours, and dashes that differ between curves whose colours are easily confused.

    Parameters
    ----------
    curves : int or sequence of str
        How many, or what they are called. Directions of :mod:`closeknit.minimize` look the same in
        all pictures, whatever else these show; other names take what is left.

    Returns
    -------
    list of dict
        Keywords of Matplotlib's ``plot``.

    Examples
    --------
    >>> from closeknit.plotting import curve_styles
    >>> [style["linestyle"] for style in curve_styles(7)]
    ['-', '-', '-', '-', '-', '-', '--']
    >>> curve_styles(["mine", "spectral"])[1] == curve_styles(["spectral", "lbfgs"])[0]
    True
    """
    names = [""] * curves if isinstance(curves, int) else list(curves)
    known = [_DIRECTIONS.index(name) if name in _DIRECTIONS else None for name in names]
    free = (i for i in count() if i not in known)
    places = [next(free) if place is None else place for place in known]
    colors = category_colors([str(i) for i in range(max(places, default=-1) + 1)])
    return [
        {"color": tuple(colors[i]), "linestyle": _DASHES[i // 6 % len(_DASHES)]} for i in places
    ]


def resolve_scale(name: str, scale: str, values: NDArray[Any], wide: float = 100.0) -> str:
    """Return "linear" or "log"; for "auto" the latter if values are positive and differ widely.

    Parameters
    ----------
    name : str
        What the parameter is called, for messages.
    scale : {"auto", "linear", "log"}
    values : ndarray
    wide : float, default=100.0
        Ratio of the largest to the smallest value from which on "auto" is logarithmic.

    Examples
    --------
    >>> import numpy as np
    >>> resolve_scale("y_scale", "auto", np.array([1.0, 1000.0]))
    'log'
    >>> resolve_scale("y_scale", "auto", np.array([-1.0, 1000.0]))
    'linear'
    """
    if scale not in ("auto", "linear", "log"):
        raise ValueError(f"{name}={scale!r} is unknown; choose 'auto', 'linear' or 'log'")
    finite = values[np.isfinite(values)]
    positive = len(finite) > 0 and bool((finite > 0.0).all())
    if scale == "log" and not positive:
        raise ValueError(
            f"{name}='log' needs positive values, but the least is "
            f"{finite.min() if len(finite) else 'missing'}; choose 'linear'"
        )
    if scale == "auto":
        return "log" if positive and finite.max() >= wide * finite.min() else "linear"
    return scale
