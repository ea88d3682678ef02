"""Many points as an image: in each pixel the mean colour, the more opaque the more points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import convolve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["shade_points"]

_DPI = 200.0  # at least; figures are often saved finer than they are shown
_FAINTEST = 0.65  # opacity of a single point, so that outliers are seen


def shade_points(
    ax: Axes,
    Y: NDArray[np.float64],
    colors: NDArray[np.float64],
    size: float,
    alpha: float | None = None,
    *,
    zorder: float = 2.0,
) -> None:
    """Count points in the pixels of the axes and show the counts on a logarithmic scale.

    Parameters
    ----------
    ax : Axes
        Its limits must contain the points.
    Y : ndarray of shape (n_samples, 2)
    colors : ndarray of shape (n_samples, 3)
    size : float
        Area of a point in square typographic points.
    alpha : float, optional
        Opacity of a pixel with one point.
    zorder : float
    """
    if len(Y) == 0:
        return
    limits = (*ax.get_xlim(), *ax.get_ylim())
    ax.apply_aspect()
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    finer = max(1.0, _DPI / dpi)
    shape = (max(1, round(box.height * finer)), max(1, round(box.width * finer)))
    radius = finer * max(0.7, 0.5 * np.sqrt(size) * dpi / 72.0)  # more than a pixel on the screen
    counts, mean = _mean_colors(Y, colors, limits, shape, _disc(radius))
    ax.imshow(
        np.dstack([mean, _opacity(counts, _FAINTEST if alpha is None else alpha)]),
        extent=limits,
        origin="lower",
        aspect=ax.get_aspect(),
        zorder=zorder,
    )


def _mean_colors(
    Y: NDArray[np.float64],
    colors: NDArray[np.float64],
    limits: tuple[float, float, float, float],
    shape: tuple[int, int],
    dot: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Number of dots on each pixel, (height, width), and their mean colour, (height, width, 3)."""
    x0, x1, y0, y1 = limits
    height, width = shape
    column = np.clip(((Y[:, 0] - x0) / (x1 - x0) * width).astype(np.intp), 0, width - 1)
    row = np.clip(((Y[:, 1] - y0) / (y1 - y0) * height).astype(np.intp), 0, height - 1)
    pixel = row * width + column
    # Squares are about proportional to light, which is what mixes.
    weights = [None, *(colors.T**2)]
    planes = [
        convolve(
            np.bincount(pixel, weights=w, minlength=height * width).reshape(shape).astype(float),
            dot,
            mode="constant",
        )
        for w in weights
    ]
    counts = planes[0]
    light = np.dstack(planes[1:]) / np.maximum(counts, 1e-9)[:, :, None]
    return counts, np.sqrt(np.clip(light, 0.0, 1.0))


def _disc(radius: float) -> NDArray[np.float64]:
    """How much of each pixel a dot covers, at least its own."""
    reach = np.arange(-np.ceil(radius), np.ceil(radius) + 1)
    distance = np.hypot(reach[:, None], reach[None, :])
    cover: NDArray[np.float64] = np.clip(radius + 0.5 - distance, 0.0, 1.0)
    cover[distance == 0.0] = 1.0
    return cover


def _opacity(counts: NDArray[np.float64], faintest: float) -> NDArray[np.float64]:
    many = max(2.0, float(np.quantile(counts[counts > 0.0], 0.99)))
    dense = np.clip(np.log(np.maximum(counts, 1.0)) / np.log(many), 0.0, 1.0)
    opacity: NDArray[np.float64] = np.minimum(counts, 1.0) * (faintest + (1.0 - faintest) * dense)
    return opacity
