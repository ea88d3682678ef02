"""Bandwidths, point by point and pixel by pixel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from closeknit._arrays import Array
from closeknit.plotting._axes import axes_for, check_positions, color_bar, frame_plane
from closeknit.plotting._categories import MISSING
from closeknit.plotting.embedding import check_values, draw_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from numpy.typing import ArrayLike

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
        return _draw_pixels(axes_for(ax), numbers, shape, _LABELS[quantity], colormap, norm)
    points = check_positions(coords, "coords")  # type: ignore[arg-type]
    numbers = check_values(numbers, "sigmas", len(points))
    axes = axes_for(ax)
    frame_plane(axes, points)
    axes.spines[["top", "right"]].set_visible(False)
    draw_values(axes, points, numbers, _LABELS[quantity], colormap=colormap, norm=norm, size=size)
    return axes


def _draw_pixels(
    ax: Axes, numbers: Array, shape: Sequence[int], label: str, colormap: Any, norm: Any
) -> Axes:
    from matplotlib import colormaps

    height, width = tuple(shape)[:2] if len(shape) >= 2 else (0, 0)
    if numbers.size == 0 or numbers.size != height * width:
        raise ValueError(
            f"shape={tuple(shape)} has {height * width} pixels, but there are {numbers.size} "
            "sigmas; pass the height and width of the image"
        )
    image = np.where(np.isfinite(numbers), numbers, np.nan).reshape(height, width)
    with_grey = colormaps.get_cmap(colormap).with_extremes(bad=MISSING)
    drawn = ax.imshow(image, cmap=with_grey, norm=norm)
    ax.set(xticks=[], yticks=[])
    color_bar(ax, drawn, label)
    return ax
