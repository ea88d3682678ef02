"""Bandwidths, point by point, pixel by pixel and class by class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from closeknit.plotting._axes import axes_for, check_positions, color_bar, frame_plane
from closeknit.plotting._categories import categorize
from closeknit.plotting._colors import MISSING
from closeknit.plotting._points import RASTER, dot_size, jitter
from closeknit.plotting.embedding import check_values, draw_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from numpy.typing import ArrayLike, NDArray

__all__ = ["plot_sigmas", "plot_sigmas_by_class"]

_LABELS = {"sigma": "bandwidth σ", "beta": "precision β = 1/(2σ²)"}


def plot_sigmas(
    coords: ArrayLike | None,
    sigmas: ArrayLike,
    ax: Axes | None = None,
    *,
    shape: Sequence[int] | None = None,
    quantity: str = "sigma",
    colormap: str | Colormap = "viridis",
    norm: Normalize | str | None = None,
    size: float | None = None,
) -> Axes:
    """Draw bandwidths: of points in the plane, or of the pixels of an image.

    Parameters
    ----------
    coords : array-like of shape (n_samples, 2) or None
        Where to draw the points, for example a projection of the data. None if the points are
        pixels.
    sigmas : array-like of shape (n_samples,)
        Bandwidths, for example ``EntropicAffinities.sigmas_``. Those that are not finite are grey.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    shape : (height, width), optional
        Of the image whose pixels, row by row, have the bandwidths; ``image.shape`` will do.
    quantity : {"sigma", "beta"}, default="sigma"
        Show σ, or the precision β = 1/(2σ²) as in figure 5 of the paper.
    colormap : str or Colormap, default="viridis"
        The default is perceptually uniform and safe for colour-blind readers.
    norm : Normalize or str, optional
        How numbers map to colours, such as ``"log"``.
    size : float, optional
        Area of a point in square typographic points; by default it depends on their number.

    Returns
    -------
    matplotlib Axes
        With a colour bar for σ.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from closeknit.plotting import plot_sigmas
    >>> ax = plot_sigmas([[0, 0], [1, 0], [0, 2]], [0.5, 0.7, 1.1], ax=Figure().subplots())
    >>> len(ax.collections[0].get_offsets())
    3
    >>> ax = plot_sigmas(None, [1, 2, 1, 3, 2, 1], shape=(2, 3), ax=Figure().subplots())
    >>> ax.images[0].get_array().shape
    (2, 3)
    """
    if quantity not in _LABELS:
        raise ValueError(f"quantity={quantity!r} is unknown; choose 'sigma' or 'beta'")
    if (coords is None) == (shape is None):
        raise ValueError("plot_sigmas needs coords for points, or shape for pixels, but not both")
    numbers = np.asarray(sigmas, dtype=np.float64)
    if quantity == "beta":
        with np.errstate(divide="ignore"):
            numbers = 0.5 / numbers**2
    if shape is not None:
        pixels = _pixels(numbers, shape)
        axes = axes_for(ax)
        drawn = axes.imshow(pixels, cmap=_with_grey(colormap), norm=norm)
        axes.set(xticks=[], yticks=[])
        color_bar(axes, drawn, _LABELS[quantity])
        return axes
    points = check_positions(coords, "coords")  # type: ignore[arg-type]
    numbers = check_values(numbers, "sigmas", len(points))
    axes = axes_for(ax)
    frame_plane(axes, points)
    axes.spines[["top", "right"]].set_visible(False)
    draw_values(axes, points, numbers, _LABELS[quantity], colormap=colormap, norm=norm, size=size)
    return axes


def plot_sigmas_by_class(
    sigmas: ArrayLike,
    labels: ArrayLike,
    ax: Axes | None = None,
    *,
    colormap: str | Colormap = "viridis",
    size: float | None = None,
) -> Axes:
    """Draw the bandwidths of each class as a column of points with a bar at their median.

    Parameters
    ----------
    sigmas : array-like of shape (n_samples,)
        Bandwidths, for example ``EntropicAffinities.sigmas_``. Infinite ones count in the median,
        but cannot be drawn.
    labels : array-like of shape (n_samples,)
        The class of each point, as for :func:`plot_embedding`.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    colormap : str or Colormap, default="viridis"
        Scaled as in `plot_sigmas`.
    size : float, optional
        Area of a point in square typographic points; by default it depends on their number.

    Returns
    -------
    matplotlib Axes
        With the names of the classes along x.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from closeknit.plotting import plot_sigmas_by_class
    >>> ax = plot_sigmas_by_class([0.5, 0.7, 1.1], ["a", "b", "a"], ax=Figure().subplots())
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['a', 'b']
    """
    bandwidths = np.asarray(sigmas, dtype=np.float64)
    if bandwidths.ndim != 1 or len(bandwidths) == 0:
        raise ValueError(
            "plot_sigmas_by_class needs sigmas of shape (n_samples,), at least one, "
            f"got {bandwidths.shape}"
        )
    categories = categorize(labels, len(bandwidths))
    used, columns = np.unique(categories.codes, return_inverse=True)
    axes = axes_for(ax)
    positions = np.arange(len(used))
    axes.set_xlim(-0.6, len(used) - 0.4)
    axes.scatter(
        columns + 0.7 * (jitter(len(columns)) - 0.5),
        bandwidths,
        c=bandwidths,
        cmap=colormap,
        s=dot_size(axes, len(columns)) if size is None else size,
        linewidths=0,
        rasterized=len(columns) > RASTER,
    )
    medians = [np.median(bandwidths[columns == column]) for column in positions]
    for color, width in (("white", 4.0), ("black", 2.0)):  # a rim lifts the bar off the points
        axes.hlines(medians, positions - 0.4, positions + 0.4, colors=color, linewidths=width)
    names = [*categories.names, "no label"]  # of the code -1, too
    axes.set_xticks(positions, [names[code] for code in used])
    axes.set_ylabel(_LABELS["sigma"])
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _pixels(numbers: NDArray[np.float64], shape: Sequence[int]) -> NDArray[np.float64]:
    height, width = tuple(shape)[:2] if len(shape) >= 2 else (0, 0)
    if numbers.size == 0 or numbers.size != height * width:
        raise ValueError(
            f"shape={tuple(shape)} has {height * width} pixels, but there are {numbers.size} "
            "sigmas; pass the height and width of the image"
        )
    image = numbers.reshape(height, width)
    return np.where(np.isfinite(image), image, np.nan)


def _with_grey(colormap: str | Colormap) -> Any:
    from matplotlib import colormaps

    return colormaps.get_cmap(colormap).with_extremes(bad=MISSING)
