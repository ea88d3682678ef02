"""Pictures of what the library computes, with matplotlib (``pip install "closeknit[plot]"``).

Every function draws into the axes it is given, or into new ones, and returns them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

__all__ = ["plot_sigmas", "plot_sigmas_by_class"]

_GOLDEN_RATIO = (np.sqrt(5.0) - 1.0) / 2.0


def plot_sigmas(
    coords: ArrayLike,
    sigmas: ArrayLike,
    ax: Axes | None = None,
    *,
    colormap: str = "viridis",
    size: float = 9.0,
) -> Axes:
    """Draw points in the plane, coloured by their bandwidths.

    Parameters
    ----------
    coords : array-like of shape (n_samples, 2)
        Where to draw the points, for example a projection of the data.
    sigmas : array-like of shape (n_samples,)
        Bandwidths, for example ``EntropicAffinities.sigmas_``.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    colormap : str, default="viridis"
        A matplotlib colour map. The default is perceptually uniform and safe for colour-blind
        readers.
    size : float, default=9.0
        Area of a point in square typographic points.

    Returns
    -------
    matplotlib Axes
        With a colour bar beside it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from closeknit.plotting import plot_sigmas
    >>> ax = plot_sigmas([[0, 0], [1, 0], [0, 2]], [0.5, 0.7, 1.1], ax=Figure().subplots())
    >>> len(ax.collections[0].get_offsets())
    3
    """
    points, bandwidths = np.asarray(coords), np.asarray(sigmas)
    if points.ndim != 2 or points.shape[1] != 2 or bandwidths.shape != points.shape[:1]:
        raise ValueError(
            "plot_sigmas needs coords of shape (n_samples, 2) and sigmas of shape (n_samples,), "
            f"got {points.shape} and {bandwidths.shape}"
        )
    axes = _new_axes() if ax is None else ax
    drawn = axes.scatter(
        points[:, 0], points[:, 1], c=bandwidths, cmap=colormap, s=size, linewidths=0
    )
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(False)
    axes.figure.colorbar(drawn, ax=axes, label="bandwidth σ")
    return axes


def plot_sigmas_by_class(
    sigmas: ArrayLike,
    labels: ArrayLike,
    ax: Axes | None = None,
    *,
    colormap: str = "viridis",
    size: float = 9.0,
) -> Axes:
    """Draw the bandwidths of each class as a column of points with a bar at their median.

    Parameters
    ----------
    sigmas : array-like of shape (n_samples,)
        Bandwidths, for example ``EntropicAffinities.sigmas_``.
    labels : array-like of shape (n_samples,)
        The class of each point.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    colormap : str, default="viridis"
        A matplotlib colour map, scaled as in `plot_sigmas`.
    size : float, default=9.0
        Area of a point in square typographic points.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from closeknit.plotting import plot_sigmas_by_class
    >>> ax = plot_sigmas_by_class([0.5, 0.7, 1.1], ["a", "b", "a"], ax=Figure().subplots())
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['a', 'b']
    """
    bandwidths, classes = np.asarray(sigmas), np.asarray(labels)
    if bandwidths.ndim != 1 or bandwidths.shape != classes.shape:
        raise ValueError(
            "plot_sigmas_by_class needs sigmas and labels of shape (n_samples,), "
            f"got {bandwidths.shape} and {classes.shape}"
        )
    axes = _new_axes() if ax is None else ax
    names, columns = np.unique(classes, return_inverse=True)
    axes.scatter(
        columns + _jitter(len(columns)),
        bandwidths,
        c=bandwidths,
        cmap=colormap,
        s=size,
        linewidths=0,
    )
    medians = [np.median(bandwidths[columns == column]) for column in range(len(names))]
    positions = np.arange(len(names))
    for color, width in (
        ("white", 4.0),
        ("black", 2.0),
    ):  # a white rim lifts the bar off the points
        axes.hlines(medians, positions - 0.4, positions + 0.4, colors=color, linewidths=width)
    axes.set_xticks(positions, [str(name) for name in names])
    axes.set_ylabel("bandwidth σ")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _jitter(n: int) -> NDArray[np.float64]:
    """Offsets in [-0.35, 0.35) that spread neighbours apart, the same in every run."""
    offsets: NDArray[np.float64] = 0.7 * (np.arange(n) * _GOLDEN_RATIO % 1.0 - 0.5)
    return offsets


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise ImportError(
            'plotting needs matplotlib, which is not installed; run: pip install "closeknit[plot]"'
        ) from error
    return pyplot.subplots()[1]
