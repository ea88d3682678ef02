"""Plots of embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from closeknit._arrays import Array, Integers
from closeknit.plotting._axes import (
    axes_for,
    check_positions,
    color_bar,
    frame_plane,
    legend_beside,
)
from closeknit.plotting._categories import MISSING, Categories, categorize, category_colors
from closeknit.plotting._fonts import families_for
from closeknit.plotting._points import draw_points, jitter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

_NAMES = ("auto", "legend", "medians", "both", "none")
_LEGEND_ROOM = 20  # more names than colours that can be told apart are better written on the map


def plot_embedding(
    embedding: Any,
    labels: Any = None,
    ax: Axes | None = None,
    *,
    values: ArrayLike | None = None,
    names: str = "auto",
    palette: Sequence[Any] | Mapping[str, Any] | None = None,
    colormap: str | Colormap = "viridis",
    norm: Normalize | str | None = None,
    size: float | None = None,
    alpha: float | None = None,
    shade: bool | str = "auto",
    color_title: str | None = None,
) -> Axes:
    """Draw an embedding, readable from a hundred to a million points.

    Points are drawn in a random order that is the same every time, so that no class hides another.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, 2) or fitted estimator
        Or with 1 column, drawn along a line, or 3, drawn in space. Of an estimator, its
        ``embedding_``.
    labels : array-like of shape (n_samples,), optional
        Classes, clusters or other categories: numbers, strings, bools or a pandas Categorical,
        whose order is kept. None, NaN and the number -1 stand for no label and are drawn in grey,
        below the others.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default. Three columns need ``projection="3d"``.
    values : array-like of shape (n_samples,), optional
        Numbers to colour the points by, instead of labels. Those that are not finite, or not on
        the scale of `norm`, are grey.
    names : {"auto", "legend", "medians", "both", "none"}, default="auto"
        Where to write the labels: in a legend beside the axes, on the map at the median of each
        label's points, or both. ``"auto"`` is the legend for up to 20 labels, else the medians. On
        the map names keep off each other; small classes are left unnamed where there is no room.
    palette : sequence of colours, or mapping from labels to colours, optional
        By default colours that colour-blind readers can tell apart.
    colormap : str or Colormap, default="viridis"
        For `values`.
    norm : Normalize or str, optional
        How `values` map to colours, such as ``"log"``.
    size : float, optional
        Area of a point in square typographic points; by default it depends on their number.
    alpha : float, optional
        Opacity of a single point.
    shade : bool, default="auto"
        Show an image of the mean colour in each pixel, the more opaque the more points, instead of
        dots. ``"auto"`` does so beyond 30,000 points. In space there are only dots.
    color_title : str, optional
        What the colours mean, written at the legend or the colour bar; by default the name that
        `labels` or `values` have, as columns of a data frame do.

    Returns
    -------
    matplotlib Axes
        With a legend for labels, or a colour bar for values.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.plotting import plot_embedding
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_embedding(X[:, :2], load_iris().target_names[y], ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['setosa', 'versicolor', 'virginica']
    """
    Y = check_positions(getattr(embedding, "embedding_", embedding), "embedding", (1, 2, 3))
    _check_options(Y, labels, values, names, shade)
    categories = None if labels is None else categorize(labels, len(Y))
    if categories is not None and color_title is not None:
        categories = replace(categories, title=color_title)
    numbers = None if values is None else check_values(values, "values", len(Y))
    axes = axes_for(ax, projection="3d" if Y.shape[1] == 3 else None)
    if (axes.name == "3d") != (Y.shape[1] == 3):
        raise ValueError(
            f"an embedding with {Y.shape[1]} columns cannot be drawn on {axes.name} axes; "
            'make them with projection="3d" for three columns and without otherwise'
        )
    Y = frame_map(axes, Y)
    style: dict[str, Any] = {"size": size, "alpha": alpha, "shade": shade}
    if numbers is not None:
        title = color_title or str(getattr(values, "name", None) or "value")
        with _writing([title]):
            draw_values(axes, Y, numbers, title, colormap=colormap, norm=norm, **style)
    elif categories is not None:
        texts = [] if names == "none" else [*categories.names, categories.title or ""]
        with _writing(texts):
            _draw_labels(axes, Y, categories, names, palette, style)
    else:
        colors = np.broadcast_to(category_colors(["points"]), (len(Y), 3))
        draw_points(axes, Y, colors, np.zeros(len(Y), dtype=bool), **style)
    return axes


def _writing(texts: Sequence[str]) -> AbstractContextManager[None]:
    """Write with fonts that have the characters of these texts, inside the block."""
    from matplotlib import rc_context

    return rc_context({"font.family": families_for(texts)})


def check_values(values: ArrayLike, name: str, n_samples: int) -> Array:
    """Return one float for each point, or say what is wrong."""
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "biuf" or numbers.shape != (n_samples,):
        raise ValueError(
            f"{name} must be one number for each of {n_samples} points, got dtype "
            f"{numbers.dtype} and shape {numbers.shape}"
        )
    return numbers.astype(np.float64)


def draw_values(
    ax: Axes,
    Y: Array,
    values: Array,
    title: str,
    *,
    colormap: str | Colormap,
    norm: Normalize | str | None,
    **style: Any,
) -> None:
    """Draw points coloured by numbers, and a colour bar."""
    from matplotlib.cm import ScalarMappable

    scale: Any = ScalarMappable(norm=norm, cmap=colormap)  # type: ignore[arg-type]
    scale.set_array(np.ma.masked_invalid(values))
    scale.autoscale_None()
    # What the scale cannot show, such as 0 on a logarithmic one, counts as missing, too.
    missing = np.ma.getmaskarray(scale.norm(scale.get_array()))
    draw_points(ax, Y, scale.to_rgba(scale.get_array())[:, :3], missing, **style)
    if not missing.all():
        color_bar(ax, scale, title)


def _check_options(Y: Array, labels: Any, values: Any, names: str, shade: bool | str) -> None:
    if labels is not None and values is not None:
        raise ValueError("labels and values both give colours; pass one of them")
    if names not in _NAMES:
        raise ValueError(f"names={names!r} is unknown; choose one of {', '.join(_NAMES)}")
    if Y.shape[1] == 3 and names in ("medians", "both"):
        raise ValueError("names cannot be written on points in space; choose names='legend'")
    if shade != "auto" and not isinstance(shade, bool):
        raise ValueError(f"shade={shade!r} is unknown; choose 'auto', True or False")


def frame_map(ax: Axes, Y: Array) -> Array:
    """Take away the ticks, which mean nothing on a map; lay points of one column along a line."""
    if Y.shape[1] == 1:
        frame_plane(ax, Y[:, [0, 0]])
        Y = np.column_stack([Y[:, 0], jitter(len(Y))])
        ax.set_aspect("auto")
        ax.set_ylim(-0.05, 1.05)
        ax.set_yticks([])
        ax.spines[["left", "top", "right"]].set_visible(False)
    elif Y.shape[1] == 2:
        frame_plane(ax, Y)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    else:
        sides = np.ptp(Y, axis=0)
        ax.set_box_aspect(np.maximum(sides, 0.01 * (sides.max() or 1.0)))
        ax.set(xticks=[], yticks=[], zticks=[])
    return Y


def _draw_labels(
    ax: Axes, Y: Array, categories: Categories, names: str, palette: Any, style: dict[str, Any]
) -> None:
    codes = categories.codes
    used = np.unique(codes[codes >= 0])
    colors = category_colors(categories.names, palette)
    if len(colors) == 0:
        colors = np.zeros((1, 3))  # nothing is labelled, all is drawn in grey
    draw_points(ax, Y, colors[codes], codes < 0, **style)
    if names == "auto":
        names = "legend" if len(used) <= _LEGEND_ROOM or Y.shape[1] == 3 else "medians"
    if names in ("legend", "both"):
        add_legend(ax, categories, used, colors)
    if names in ("medians", "both") and len(used):
        _write_names(ax, Y, categories, used)


def add_legend(ax: Axes, categories: Categories, used: Integers, colors: Array) -> None:
    """Name the categories that are used, and say if some points have none."""
    from matplotlib.lines import Line2D

    entries: list[tuple[str, Any]] = [(categories.names[code], colors[code]) for code in used]
    if (categories.codes < 0).any():
        entries.append(("no label", MISSING))
    handles = [
        Line2D([], [], color=color, marker="o", linestyle="", markersize=6) for _, color in entries
    ]
    legend_beside(ax, handles, [name for name, _ in entries], categories.title)


def _write_names(ax: Axes, Y: Array, categories: Categories, used: Integers) -> None:
    from closeknit.plotting._names import Names

    counts = np.bincount(categories.codes[categories.codes >= 0])
    by_size = used[np.argsort(-counts[used], kind="stable")]
    medians = np.array([np.median(Y[categories.codes == code], axis=0) for code in by_size])
    size = 11.0 if len(used) <= _LEGEND_ROOM else 8.0
    ax.add_artist(Names(medians, [categories.names[code] for code in by_size], size))
