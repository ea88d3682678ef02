"""Draw points: as dots while they are few, as a shaded image when they are many.

In each pixel of that image is the mean colour, the more opaque the more points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import convolve

from closeknit._arrays import Array, Flags, Integers
from closeknit.plotting._categories import MISSING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MANY = 30_000  # from here on dots overlap so much that shading by density shows more
_RASTER = 5_000  # from here on a vector file of dots is large and slow to view
_GOLDEN_RATIO = (np.sqrt(5.0) - 1.0) / 2.0
_DPI = 200.0  # at least; figures are often saved finer than they are shown
_FAINTEST = 0.65  # opacity of a single point, so that outliers are seen


def jitter(n_points: int) -> Array:
    """Offsets in [0, 1) that spread neighbours apart, the same in every run."""
    offsets: Array = np.arange(n_points) * _GOLDEN_RATIO % 1.0
    return offsets


def draw_points(
    ax: Axes,
    Y: Array,
    colors: Array,
    missing: Flags,
    *,
    size: float | None = None,
    alpha: float | None = None,
    shade: bool | str = "auto",
) -> None:
    """Draw points in a random order, so that no class covers another; missing ones below.

    Parameters
    ----------
    ax : Axes
        With limits set, or three-dimensional.
    Y : ndarray of shape (n_samples, 2) or (n_samples, 3)
    colors : ndarray of shape (n_samples, 3)
    missing : ndarray of shape (n_samples,)
        These are drawn in grey.
    size, alpha, shade
        As for :func:`closeknit.plotting.plot_embedding`.
    """
    from matplotlib.colors import to_rgb

    colors = np.where(missing[:, None], to_rgb(MISSING), colors)
    size = usual_size(ax, len(Y)) if size is None else size
    shaded = len(Y) > _MANY if shade == "auto" else bool(shade)
    if Y.shape[1] == 2 and shaded:
        for zorder, those in ((1.0, missing), (2.0, ~missing)):
            if those.any():
                _shade(ax, Y[those], colors[those], size, alpha, zorder)
        return
    order = np.random.default_rng(0).permutation(len(Y))
    order = np.concatenate([order[missing[order]], order[~missing[order]]])
    style: dict[str, Any] = {
        "c": colors[order],
        "s": size,
        "alpha": 0.85 if alpha is None else alpha,
        "linewidths": 0,
        "rasterized": len(Y) > _RASTER,
    }
    if Y.shape[1] == 3:
        style["depthshade"] = False
    ax.scatter(*Y[order].T, **style)


def usual_size(ax: Axes, n_points: int) -> float:
    """Return a size at which all points would cover a fifth of the axes."""
    box = ax.get_window_extent()
    area = box.width * box.height * (72.0 / ax.figure.dpi) ** 2
    return float(np.clip(0.2 * area / n_points, 0.15, 36.0))


def _shade(
    ax: Axes, Y: Array, colors: Array, size: float, alpha: float | None, zorder: float
) -> None:
    """Count points in the pixels of the axes and show the counts on a logarithmic scale."""
    canvas = Canvas.of(ax, size)
    canvas.show(ax, canvas.count(Y, colors), alpha, zorder)


@dataclass(frozen=True)
class Canvas:
    """The pixels of axes, to count points in; counts of several sets of points add up.

    Attributes
    ----------
    limits : tuple of float
        Left, right, lower and upper end.
    shape : tuple of int
        Height and width in pixels.
    radius : float
        Of a point, in pixels.
    """

    limits: tuple[float, float, float, float]
    shape: tuple[int, int]
    radius: float

    @classmethod
    def of(cls, ax: Axes, size: float) -> Canvas:
        """Take the pixels of axes that have their limits."""
        limits = (*ax.get_xlim(), *ax.get_ylim())
        ax.apply_aspect()
        box, dpi = ax.get_window_extent(), ax.figure.dpi
        finer = max(1.0, _DPI / dpi)
        shape = (max(1, round(box.height * finer)), max(1, round(box.width * finer)))
        # More than a pixel on the screen.
        return cls(limits, shape, finer * max(0.7, 0.5 * np.sqrt(size) * dpi / 72.0))

    def pixels(self, Y: Array) -> Integers:
        """The pixel that each point lies in."""
        x0, x1, y0, y1 = self.limits
        height, width = self.shape
        column = np.clip(((Y[:, 0] - x0) / (x1 - x0) * width).astype(np.intp), 0, width - 1)
        row = np.clip(((Y[:, 1] - y0) / (y1 - y0) * height).astype(np.intp), 0, height - 1)
        return np.asarray(row * width + column)

    def count(self, Y: Array, colors: Array) -> Array:
        """Number of points in each pixel, and their light, red, green and blue; (4, n_pixels)."""
        pixel, n = self.pixels(Y), self.shape[0] * self.shape[1]
        # Squares are about proportional to light, which is what mixes.
        return np.array(
            [np.bincount(pixel, weights=w, minlength=n) for w in (None, *(colors.T**2))],
            dtype=np.float64,
        )

    def mean_colors(self, counted: Array) -> tuple[Array, Array]:
        """Number of dots on each pixel, (height, width), and their mean colour."""
        dot = _disc(self.radius)
        planes = [convolve(plane.reshape(self.shape), dot, mode="constant") for plane in counted]
        light = np.dstack(planes[1:]) / np.maximum(planes[0], 1e-9)[:, :, None]
        return planes[0], np.sqrt(np.clip(light, 0.0, 1.0))

    def show(self, ax: Axes, counted: Array, alpha: float | None, zorder: float) -> None:
        """Draw what was counted."""
        counts, mean = self.mean_colors(counted)
        ax.imshow(
            np.dstack([mean, _opacity(counts, _FAINTEST if alpha is None else alpha)]),
            extent=self.limits,
            origin="lower",
            aspect=ax.get_aspect(),
            zorder=zorder,
        )


def _disc(radius: float) -> Array:
    """How much of each pixel a dot covers, at least its own."""
    reach = np.arange(-np.ceil(radius), np.ceil(radius) + 1)
    distance = np.hypot(reach[:, None], reach[None, :])
    cover: Array = np.clip(radius + 0.5 - distance, 0.0, 1.0)
    cover[distance == 0.0] = 1.0
    return cover


def _opacity(counts: Array, faintest: float) -> Array:
    many = max(2.0, float(np.quantile(counts[counts > 0.0], 0.99)))
    dense = np.clip(np.log(np.maximum(counts, 1.0)) / np.log(many), 0.0, 1.0)
    opacity: Array = np.minimum(counts, 1.0) * (faintest + (1.0 - faintest) * dense)
    return opacity
