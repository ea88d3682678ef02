"""How a point's perplexity depends on its bandwidth (figures 2 and 3 of the paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from closeknit._arrays import Array
from closeknit.affinities import bandwidth_bounds, entropy_derivatives, solve_bandwidths
from closeknit.plotting._axes import axes_for
from closeknit.plotting._categories import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_GRID = 400  # points of each curve
_CURVE, _LOWER, _UPPER = PALETTE[5], "black", PALETTE[0]


def plot_entropy(
    sq_distances: ArrayLike,
    perplexity: float | None = None,
    ax: Axes | None = None,
    *,
    bounds: str | None = "sharp",
) -> Axes:
    """Draw one point's perplexity against β, both logarithmic, and the bounds of the root.

    For any perplexity, the root lies where the curve has that height, and the bounds of
    Theorem 1.1 lie to its left and right.

    Parameters
    ----------
    sq_distances : array-like of shape (n_neighbors,)
        Squared distances of one point to its neighbours, ``neighbors.sq_distances[i]``.
    perplexity : float, optional
        Mark it by a line, the root on it and the interval that brackets the root.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    bounds : {"sharp", "paper"} or None, default="sharp"
        Those of :func:`closeknit.bandwidth_bounds`; ``"paper"`` is Theorem 1.1 as printed. None
        draws none.

    Returns
    -------
    matplotlib Axes

    References
    ----------
    Vladymyrov and Carreira-Perpiñán (2013), figures 2 and 3.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from closeknit.plotting import plot_entropy
    >>> ax = plot_entropy([1.0, 2.0, 4.0, 7.0, 9.0, 12.0], 3.0, ax=Figure().subplots())
    >>> ax.get_xscale(), ax.get_yscale()
    ('log', 'log')
    """
    d = _check_distances(sq_distances)
    if bounds not in ("sharp", "paper", None):
        raise ValueError(f"bounds={bounds!r} is unknown; choose 'sharp', 'paper' or None")
    log_betas = _interesting_betas(d)
    heights = np.exp(entropy_derivatives(np.tile(d, (_GRID, 1)), log_betas)[:, 0])
    root = None if perplexity is None else solve_bandwidths(d[None], perplexity).betas[0]
    axes = axes_for(ax)
    axes.set(xscale="log", yscale="log")
    axes.plot(np.exp(log_betas), heights, color=_CURVE, linewidth=2.0, label="perplexity at β")
    if bounds is not None:
        _draw_bounds(axes, d, bounds)
    if perplexity is not None:
        _mark_root(axes, d, float(perplexity), float(root), bounds)  # type: ignore[arg-type]
    axes.set_xlabel("precision β = 1/(2σ²)")
    axes.set_ylabel("perplexity K")
    axes.set_xlim(np.exp(log_betas[0]), np.exp(log_betas[-1]))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="best")
    return axes


def _check_distances(sq_distances: ArrayLike) -> Array:
    d = np.asarray(sq_distances, dtype=np.float64)
    if d.ndim != 1:
        raise ValueError(
            f"plot_entropy draws one point, but sq_distances have shape {d.shape}; "
            "pass one row, such as sq_distances[0]"
        )
    d = np.sort(d[np.isfinite(d)])
    if len(d) < 3 or d[0] < 0.0 or d[0] == d[-1]:
        raise ValueError(
            "plot_entropy needs at least three squared distances, none negative and not all equal"
        )
    return d


def _interesting_betas(d: Array) -> Array:
    """From where nearly all neighbours count to where hardly more than the nearest does."""
    low, high = (float(solve_bandwidths(d[None], k).betas[0]) for k in (0.999 * len(d), _fewest(d)))
    margin = 0.1 * np.log(high / low)
    return np.linspace(np.log(low) - margin, np.log(high) + margin, _GRID)


def _fewest(d: Array) -> float:
    """A perplexity just above that of the nearest neighbours, of which several may tie."""
    return float(np.count_nonzero(d == d[0])) * 1.001


def _draw_bounds(ax: Axes, d: Array, kind: str) -> None:
    heights = np.geomspace(_fewest(d), 0.999 * len(d), _GRID)
    lower, upper = bandwidth_bounds(np.tile(d, (_GRID, 1)), heights, kind=kind)  # type: ignore[arg-type]
    ax.plot(lower, heights, color=_LOWER, linewidth=1.2, label="lower bound")
    ax.plot(upper, heights, color=_UPPER, linewidth=1.2, linestyle="--", label="upper bound")


def _mark_root(ax: Axes, d: Array, perplexity: float, root: float, bounds: str | None) -> None:
    ax.axhline(perplexity, color="0.5", linewidth=0.8, zorder=1.0)
    if bounds is not None:
        ends = [float(end[0]) for end in bandwidth_bounds(d[None], perplexity, kind=bounds)]  # type: ignore[arg-type]
        ax.plot(ends, [perplexity] * 2, "|-", color="0.3", linewidth=2.5, markersize=9)
    ax.plot(
        [root], [perplexity], "o", color=_CURVE, markersize=7, label=f"root, K = {perplexity:g}"
    )
