"""Plots of a homotopy along λ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from closeknit._arrays import Integers
from closeknit.minimize import Path
from closeknit.plotting._axes import axes_for, resolve_scale
from closeknit.plotting._categories import PALETTE
from closeknit.plotting.embedding import plot_embedding

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_path(
    path: Any, labels: Any = None, ax: Axes | None = None, *, n_maps: int = 5, y_scale: str = "auto"
) -> Axes:
    """Draw the objective at the minimum for each λ, and above it the map at some of them.

    Parameters
    ----------
    path : Path or fitted estimator
        The path must go through several, increasing values of λ.
    labels : array-like of shape (n_samples,), optional
        Colours of the maps, as for :func:`plot_embedding`.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    n_maps : int, default=5
        Maps at this many λ, evenly spread along the path; 0 for none.
    y_scale : {"auto", "linear", "log"}, default="auto"
        ``"auto"`` is logarithmic for ranges over two powers of ten or more.

    Returns
    -------
    matplotlib Axes
        The maps are in axes of their own.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.plotting import plot_path
    >>> X, y = load_iris(return_X_y=True)
    >>> ee = ck.ElasticEmbedding(lam=[0.1, 1.0, 10.0], max_iter=20).fit(X)
    >>> ax = plot_path(ee, y, ax=Figure().subplots(), n_maps=2)
    >>> [child.get_xlabel() for child in ax.figure.axes[-1].child_axes]
    ['λ = 0.1', 'λ = 10']
    """
    found = _check_path(path)
    if isinstance(n_maps, bool) or n_maps != int(n_maps) or n_maps < 0:
        raise ValueError(f"n_maps={n_maps!r} must be an integer of at least 0")
    objective = np.array([result.value for result in found.results])
    scale = resolve_scale("y_scale", y_scale, objective)
    shown = np.unique(np.linspace(0, len(found.lams) - 1, int(n_maps)).round().astype(int))
    axes = axes_for(ax)
    axes.plot(found.lams, objective, ".-", color=PALETTE[0], linewidth=1.4)
    axes.plot(found.lams[shown], objective[shown], "o", color=PALETTE[5], markersize=6)
    axes.set(xscale="log", yscale=scale, xlabel="λ", ylabel="objective at its minimum")
    axes.spines[["top", "right"]].set_visible(False)
    if len(shown):
        _draw_maps(axes, found, shown, labels)
    return axes


def _check_path(path: Any) -> Path:
    found = getattr(path, "path_", path)
    if not isinstance(found, Path) or len(found.lams) < 2 or not (np.diff(found.lams) > 0.0).all():
        raise TypeError(
            f"{type(path).__name__} has no path of increasing λ; pass the result of homotopy, or "
            "an estimator fitted with several values of lam"
        )
    return found


def _draw_maps(ax: Axes, path: Path, shown: Integers, labels: Any) -> None:
    """Draw maps in a row above the axes."""
    from matplotlib.colorbar import make_axes

    # Matplotlib makes room for a colour bar under every layout; here the maps take that room.
    row, _ = make_axes(ax, location="top", fraction=0.35, pad=0.1, aspect=max(3, len(shown)))
    row.set_axis_off()
    for place, index in enumerate(shown):
        inset = row.inset_axes((place / len(shown), 0.0, 0.92 / len(shown), 1.0))
        plot_embedding(path.results[index].X, labels, inset, names="none", size=6.0)
        # Frames of one size, with room around the points.
        inset.set_aspect("equal", adjustable="datalim")
        inset.margins(0.12)
        inset.autoscale()
        inset.spines[:].set(visible=True, color="0.85")
        inset.set_xlabel(f"λ = {path.lams[index]:.3g}", fontsize="small")
