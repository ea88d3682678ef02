"""Plots of learning curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array
from closeknit.minimize import History
from closeknit.plotting._axes import axes_for, curve_styles, legend_beside, resolve_scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curves: TypeAlias = Mapping[str, tuple[NDArray[Any], NDArray[Any]]]

_X = {"iteration": "iteration", "evaluations": "evaluations", "seconds": "seconds"}
#: Stages up to which each is labelled.
_MAX_LABELS = 8
_Y = {"objective": "objective", "gradient_norm": "norm of the gradient"}


def plot_history(
    histories: Any,
    ax: Axes | None = None,
    *,
    x: str = "iteration",
    y: str = "objective",
    above: float | None = None,
    x_scale: str = "auto",
    y_scale: str = "auto",
) -> Axes:
    """Draw learning curves of one or several minimisations.

    Where λ changed on the way, as in early exaggeration and homotopy, the objective is shown at the
    last λ throughout, which makes its values comparable. For problems that do not give their parts,
    and for the norm of the gradient, the stages are separate curves, each at its own λ. The stages
    of a single history are marked by their λ.

    Parameters
    ----------
    histories : one of, or a list of, or a mapping from names to
        `History` objects, results, paths or fitted estimators.
    ax : matplotlib Axes, optional
        Where to draw; new axes by default.
    x : {"iteration", "evaluations", "seconds"}, default="iteration"
    y : {"objective", "gradient_norm"}, default="objective"
    above : float, optional
        Draw the difference to this value, such as the lowest objective known.
    x_scale, y_scale : {"auto", "linear", "log"}, default="auto"
        ``"auto"`` is logarithmic for ranges over three powers of ten along x, two along y. The
        start, at iteration 0, stays on a logarithmic x axis.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.plotting import plot_history
    >>> fits = {
    ...     direction: ck.SymmetricSNE(direction=direction, max_iter=20).fit(load_iris().data)
    ...     for direction in ("gradient", "spectral")
    ... }
    >>> ax = plot_history(fits, x="evaluations", ax=Figure().subplots())
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['gradient', 'spectral']
    """
    if x not in _X or y not in _Y:
        raise ValueError(
            f"x={x!r} must be one of {', '.join(_X)}, and y={y!r} one of {', '.join(_Y)}"
        )
    named = dict(_named_histories(histories))
    offset = 0.0 if above is None else float(above)
    curves = {name: _curve(history, x, y, offset) for name, history in named.items()}
    x_chosen = resolve_scale("x_scale", x_scale, _after_start(curves), wide=1000.0)
    y_chosen = resolve_scale("y_scale", y_scale, np.concatenate([c[1] for c in curves.values()]))
    axes = axes_for(ax)
    for (name, (across, up)), style in zip(curves.items(), curve_styles([*curves]), strict=True):
        axes.plot(across, up, label=name, linewidth=1.6, **style)
    _scale_x(axes, x_chosen, curves)
    axes.set_yscale(y_chosen)
    axes.set_xlabel(_X[x])
    label = _label(list(named.values()), y)
    axes.set_ylabel(label if above is None else f"{label} above {offset:.6g}")
    if len(named) == 1:
        _mark_stages(axes, next(iter(named.values())), x)
    axes.spines[["top", "right"]].set_visible(False)
    if isinstance(histories, Mapping) or len(curves) > 1:
        legend_beside(axes, axes.lines[-len(curves) :], list(curves))
    return axes


def _named_histories(histories: Any) -> Iterator[tuple[str, History]]:
    if isinstance(histories, Mapping):
        items = [(str(name), item) for name, item in histories.items()]
    elif isinstance(histories, Sequence):
        items = [(f"{i} {type(item).__name__}", item) for i, item in enumerate(histories, 1)]
    else:
        items = [(type(histories).__name__, histories)]
    if not items:
        raise ValueError("there are no histories to draw; pass at least one")
    for name, item in items:
        history = getattr(item, "history_", getattr(item, "history", item))
        if not isinstance(history, History) or len(history) == 0:
            raise TypeError(
                f"{name} has no history; pass History objects, results of minimize or homotopy, "
                "or fitted estimators"
            )
        yield name, history


def _curve(history: History, x: str, y: str, offset: float) -> tuple[Array, Array]:
    """Return x and y, with a gap between stages that cannot be compared."""
    across, up = getattr(history, x).astype(np.float64), getattr(history, y) - offset
    if y == "objective" and _is_comparable(history):
        return across, history.objective_at(history.lam[-1]) - offset
    gaps = np.flatnonzero(np.diff(history.stage)) + 1
    return np.insert(across, gaps, np.nan), np.insert(up, gaps, np.nan)


def _is_comparable(history: History) -> bool:
    """Whether there are several stages, and the objective of all is known at the last λ."""
    return history.stage[-1] > 0 and bool(np.isfinite(history.objective_at(1.0)).all())


def _label(histories: Sequence[History], y: str) -> str:
    """Name the y axis, with λ if all curves show the objective at the same one."""
    lams = {float(history.lam[-1]) for history in histories if _is_comparable(history)}
    single = all(_is_comparable(history) for history in histories) and len(lams) == 1
    return f"{_Y[y]} at λ = {lams.pop():.3g}" if y == "objective" and single else _Y[y]


def _mark_stages(ax: Axes, history: History, x: str) -> None:
    """Draw a line where each stage begins, and write its λ beside it if there is room."""
    first = np.flatnonzero(np.diff(history.stage, prepend=-1))
    if len(first) == 1:
        return
    places, across = getattr(history, x)[first], ax.get_xaxis_transform()
    ax.vlines(places[1:], 0.0, 1.0, transform=across, color="0.85", linewidth=0.8, zorder=0)
    if len(first) > _MAX_LABELS:
        return
    for place, lam in zip(places, history.lam[first], strict=True):
        ax.annotate(
            f"λ = {lam:.3g}",
            (place, 1.0),
            xycoords=across,
            xytext=(2, -2),
            textcoords="offset points",
            rotation=90,
            va="top",
            color="0.4",
            fontsize="x-small",
        )


def _scale_x(ax: Axes, scale: str, curves: Curves) -> None:
    if scale == "linear":
        ax.set_xlim(left=0)
    elif all(across[0] > 0.0 for across, _ in curves.values()):
        ax.set_xscale("log")
    else:  # linear from the start, 0, to the first after it
        ax.set_xscale("symlog", linthresh=float(_after_start(curves).min()), linscale=0.3)
        ax.set_xlim(left=0)


def _after_start(curves: Curves) -> Array:
    """All positive x; 1 if there are none."""
    across = np.concatenate([c[0] for c in curves.values()]).astype(np.float64)
    positive = across[across > 0.0]
    return positive if len(positive) else np.ones(1)
