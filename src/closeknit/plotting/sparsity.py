"""Plots of a measure of graphs against their sparsity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from closeknit._arrays import Array
from closeknit.plotting._axes import axes_for, curve_styles, legend_beside, resolve_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKERS = "osD^vP*X<>"


def plot_sparsity(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    ax: Axes | None = None,
    *,
    measure: str = "measure",
    y_scale: str = "auto",
) -> Axes:
    """Draw a measure of the graph against its sparsity, a curve for each method.

    Parameters
    ----------
    curves : mapping from names to (sparsities, values)
        Sparsities are shares of zeros, from 0 to 1, in any order. A value that is NaN leaves a gap.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    measure : str
        What the values are, for the axis.
    y_scale : {"auto", "linear", "log"}, default="auto"
        ``"auto"`` is logarithmic for ranges over two powers of ten or more.

    Returns
    -------
    matplotlib Axes
        With a legend beside it.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from closeknit.plotting import plot_sparsity
    >>> curves = {"kNN": ([0.5, 0.9], [0.1, 0.4]), "entropic": ([0.9, 0.5], [0.3, 0.1])}
    >>> ax = plot_sparsity(curves, ax=Figure().subplots(), measure="distance of spectra")
    >>> ax.lines[1].get_xdata()
    array([50., 90.])
    """
    if not isinstance(curves, Mapping) or not curves:
        raise ValueError("curves must map the name of each method to (sparsities, values)")
    checked = {str(name): _check_curve(name, curve) for name, curve in curves.items()}
    scale = resolve_scale("y_scale", y_scale, np.concatenate([c[1] for c in checked.values()]))
    axes = axes_for(ax)
    for i, ((name, (x, y)), style) in enumerate(
        zip(checked.items(), curve_styles(len(checked)), strict=True)
    ):
        marker = _MARKERS[i % len(_MARKERS)]
        axes.plot(100.0 * x, y, label=name, marker=marker, markersize=4.0, **style)
    axes.set(xlabel="sparsity [%]", ylabel=measure, yscale=scale)
    axes.spines[["top", "right"]].set_visible(False)
    legend_beside(axes, axes.lines[-len(checked) :], list(checked))
    return axes


def _check_curve(name: str, curve: tuple[ArrayLike, ArrayLike]) -> Array:
    """Return sparsities and values as two rows, sorted."""
    try:
        x, y = (np.asarray(part, dtype=np.float64) for part in curve)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the curve of {name} must be (sparsities, values): {error}") from error
    if x.ndim != 1 or x.shape != y.shape or len(x) == 0:
        raise ValueError(
            f"the curve of {name} needs as many values as sparsities, got {x.shape} and {y.shape}"
        )
    if not ((x >= 0.0) & (x <= 1.0)).all():
        raise ValueError(
            f"the sparsities of {name} must lie between 0 and 1, the share of zeros; divide "
            "percentages by 100"
        )
    order = np.argsort(x, kind="stable")
    return np.stack([x[order], y[order]])
