"""Figure 6: six root finders times the orders, in passes, seconds and points converged."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.affinities import Bandwidths, Oracle, Raster, solve_bandwidths
from closeknit.experiments.report import legend_below, new_figure, plain_log_ticks, table
from closeknit.neighbors import Neighbors

__all__ = ["FINDERS", "Trial", "convergence_table", "draw", "methods_table", "try_methods"]

FINDERS = ("euler", "halley", "newton", "ridders", "brent", "bisection")
PERPLEXITY = 30.0
N_NEIGHBORS = 250
STEPS = (1, 2, 3, 4, 5, 6, 8, 12, 20, 36)
_MARKERS = dict(zip((*FINDERS, "auto"), "os^vD*x", strict=True))
_COLOURS = dict(
    zip(
        (*FINDERS, "auto"),
        ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#D55E00", "black"),
        strict=True,
    )
)


@dataclass(frozen=True)
class Trial:
    """Root finders and orders on one data set.

    Attributes
    ----------
    name : str
    n_samples : int
    passes, seconds : dict of (finder, order) to float
        Mean passes over a point's distances; seconds of the whole call, order included.
    counts : dict of str to ndarray of shape (n_samples,)
        Passes of every point in the MST order, and of the library's own choice as ``"auto"``.
    auto_seconds : float
    """

    name: str
    n_samples: int
    passes: Mapping[tuple[str, str], float]
    seconds: Mapping[tuple[str, str], float]
    counts: Mapping[str, NDArray[np.int32]]
    auto_seconds: float

    @property
    def orders(self) -> list[str]:
        """Names of the orders."""
        return list(dict.fromkeys(order for _, order in self.passes))


def try_methods(
    name: str,
    found: Neighbors,
    shape: tuple[int, int] | None = None,
    *,
    finders: Sequence[str] = FINDERS,
    repeats: int = 1,
    n_jobs: int | None = -1,
) -> Trial:
    """Solve for the bandwidths with every root finder in every order.

    Parameters
    ----------
    name : str
    found : Neighbors
    shape : (height, width), optional
        Of the image whose pixels the points are; adds the raster order.
    finders : sequence of str
    repeats : int, default=1
        Of which the least seconds are taken.
    n_jobs : int or None, default=-1
    """
    best, auto_seconds = _solve(found, "auto", "auto", repeats, n_jobs)
    orders: dict[str, Any] = {"oracle": Oracle(best.betas), "density": "density", "mst": "mst"}
    if shape is not None:
        orders["raster"] = Raster(shape)
    orders |= {"bounds": "bounds", "random": "random", "auto": "auto"}
    passes, seconds, counts = {}, {}, {}
    for finder in finders:
        for label, order in orders.items():
            solution, taken = _solve(found, finder, order, repeats, n_jobs)
            passes[finder, label] = float(solution.evaluations.mean())
            seconds[finder, label] = taken
            if label == "mst":
                counts[finder] = solution.evaluations
    counts["auto"] = best.evaluations
    return Trial(name, len(found.indices), passes, seconds, counts, auto_seconds)


def _solve(
    found: Neighbors, method: str, order: Any, repeats: int, n_jobs: int | None
) -> tuple[Bandwidths, float]:
    least = np.inf
    for _ in range(max(1, repeats)):
        begin = time.perf_counter()
        solution = solve_bandwidths(
            found.sq_distances,
            PERPLEXITY,
            method=method,
            order=order,
            indices=found.indices,
            random_state=0,
            n_jobs=n_jobs,
        )
        least = min(least, time.perf_counter() - begin)
    return solution, least


def methods_table(trial: Trial) -> str:
    """Mean passes and seconds, a row for each root finder."""
    finders = list(dict.fromkeys(finder for finder, _ in trial.passes))
    rows = [
        [finder, *(_cell(trial, finder, order) for order in trial.orders)] for finder in finders
    ]
    return table(["method", *trial.orders], rows)


def _cell(trial: Trial, finder: str, order: str) -> str:
    return f"{trial.passes[finder, order]:.2f} / {trial.seconds[finder, order]:.2f}"


def convergence_table(trial: Trial) -> str:
    """Share of points that converged within so many passes, in the MST order."""
    rows = [
        [finder, *(f"{np.mean(counts <= most):.4f}" for most in STEPS)]
        for finder, counts in trial.counts.items()
    ]
    return table(["method", *STEPS], rows)


def draw(trials: Sequence[Trial]) -> Any:
    """A row for each data set: seconds, passes, and points converged by the number of passes."""
    figure, grid = new_figure(len(trials), 3, width=4.0, height=2.9)
    for (seconds, passes, converged), trial in zip(grid, trials, strict=True):
        _draw_by_order(seconds, trial, trial.seconds, "seconds")
        _draw_by_order(passes, trial, trial.passes, "passes a point")
        for finder, counts in trial.counts.items():
            reached = [np.mean(counts <= most) for most in range(1, 61)]
            converged.plot(range(1, 61), reached, color=_COLOURS[finder], lw=1.6, label=finder)
        converged.set(xscale="log", xlabel="passes", ylabel="share converged (MST)")
        converged.set_xticks([1, 2, 3, 5, 10, 20, 40], list(map(str, [1, 2, 3, 5, 10, 20, 40])))
        converged.minorticks_off()
        passes.set_title(f"{trial.name}, n = {trial.n_samples:,}", fontsize="medium")
        for axes in (seconds, passes, converged):
            axes.spines[["top", "right"]].set_visible(False)
    legend_below(figure, [*grid[0, 0].lines, grid[0, 2].lines[-1]])
    return figure


def _draw_by_order(
    axes: Any, trial: Trial, values: Mapping[tuple[str, str], float], label: str
) -> None:
    for finder in dict.fromkeys(finder for finder, _ in values):
        axes.plot(
            trial.orders,
            [values[finder, order] for order in trial.orders],
            marker=_MARKERS[finder],
            color=_COLOURS[finder],
            lw=0.7,
            ms=5,
            label=finder,
        )
    axes.set(yscale="log", ylabel=label)
    plain_log_ticks(axes.yaxis)
    axes.tick_params(axis="x", rotation=35)
