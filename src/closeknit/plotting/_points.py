"""Draw points: as dots while they are few, as a shaded image when they are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from closeknit.plotting._colors import MISSING
from closeknit.plotting._shade import shade_points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["RASTER", "dot_size", "draw_points", "jitter"]

_MANY = 30_000  # from here on dots overlap so much that shading by density shows more
RASTER = 5_000  # from here on a vector file of dots is large and slow to view
_GOLDEN_RATIO = (np.sqrt(5.0) - 1.0) / 2.0


def jitter(n_points: int) -> NDArray[np.float64]:
    """Offsets in [0, 1) that spread neighbours apart, the same in every run."""
    offsets: NDArray[np.float64] = np.arange(n_points) * _GOLDEN_RATIO % 1.0
    return offsets


def dot_size(ax: Axes, n_points: int) -> float:
    """Area of a dot in square typographic points: all of them would cover a fifth of the axes."""
    box = ax.get_window_extent()
    area = box.width * box.height * (72.0 / ax.figure.dpi) ** 2
    return float(np.clip(0.2 * area / n_points, 0.15, 36.0))


def draw_points(
    ax: Axes,
    Y: NDArray[np.float64],
    colors: NDArray[np.float64],
    missing: NDArray[np.bool_],
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
    if size is None:
        size = dot_size(ax, len(Y))
    shaded = len(Y) > _MANY if shade == "auto" else bool(shade)
    if Y.shape[1] == 2 and shaded:
        grey = np.tile(_grey(), (int(missing.sum()), 1))
        shade_points(ax, Y[missing], grey, size, alpha, zorder=1.0)
        shade_points(ax, Y[~missing], colors[~missing], size, alpha, zorder=2.0)
        return
    order = np.random.default_rng(0).permutation(len(Y))
    order = np.concatenate([order[missing[order]], order[~missing[order]]])
    style: dict[str, Any] = {
        "c": np.where(missing[:, None], _grey(), colors)[order],
        "s": size,
        "alpha": 0.85 if alpha is None else alpha,
        "linewidths": 0,
        "rasterized": len(Y) > RASTER,
    }
    if Y.shape[1] == 3:
        style["depthshade"] = False
    ax.scatter(*Y[order].T, **style)


def _grey() -> NDArray[np.float64]:
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(MISSING))
