"""Figure 6: six root finders times the orders, in iterations, seconds and points converged."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from closeknit._arrays import Array
from closeknit.affinities import (
    Bandwidths,
    Density,
    Gap,
    MinimumSpanningTree,
    Oracle,
    RandomOrder,
    Raster,
    Regression,
    RowProblem,
    solve_bandwidths,
)
from closeknit.experiments.affinities.algorithm import (
    METHODS,
    Counts,
    MiddleOfBounds,
    algorithm_1,
    starts_in_order,
)
from closeknit.experiments.drawing import legend_below, new_figure, plain_log_ticks
from closeknit.experiments.report import table
from closeknit.neighbors import Neighbors

FREE = ("ridders", "brent", "bisection")
PERPLEXITY = 30.0
N_NEIGHBORS = 250
SEED = 0
REPEATS = 2
KAPPA = 10  # neighbours in the graph whose tree is built
_COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#CC79A7", "#D55E00")


@dataclass(frozen=True)
class Trial:
    """Root finders and orders on one data set.

    Attributes
    ----------
    name : str
    n_samples : int
    own : bool
        Whether each point is among its own neighbours, at distance 0.
    counts : dict of (finder, order) to Counts
        Of Algorithm 1 within the bounds of Theorem 1.1, for rows that have a root.
    seconds : dict of (finder, order) to float
        Of one thread, order included; methods without derivatives have no order.
    passes : dict of str to float
        Mean passes over a row of the methods without derivatives, and of the library's choice.
    """

    name: str
    n_samples: int
    own: bool
    counts: Mapping[tuple[str, str], Counts]
    seconds: Mapping[tuple[str, str], float]
    passes: Mapping[str, float]

    @property
    def orders(self) -> list[str]:
        """Names of the orders."""
        return list(dict.fromkeys(order for _, order in self.counts))

    def iterations(self, finder: str, order: str) -> float:
        """Mean iterations of Algorithm 1."""
        return float(self.counts[finder, order].iterations.mean())


def with_itself(found: Neighbors) -> Neighbors:
    """Put each point before its neighbours, and leave out the last of them."""
    own = np.arange(len(found.indices), dtype=found.indices.dtype)[:, None]
    indices = np.hstack([own, found.indices[:, :-1]])
    zeros = np.zeros((len(own), 1))
    return Neighbors(indices, np.hstack([zeros, found.sq_distances[:, :-1]]), found.n_samples)


def try_methods(
    name: str,
    found: Neighbors,
    *,
    own: bool,
    shape: tuple[int, int] | None = None,
    every: int = 1,
    timed: bool = True,
) -> Trial:
    """Solve for the bandwidths with every root finder in every order.

    Parameters
    ----------
    name : str
    found : Neighbors
    own : bool
        Whether to count each point among its own neighbours.
    shape : (height, width), optional
        Of the image whose pixels the points are; adds the raster order.
    every : int, default=1
        Iterations are counted on every so many points, at their starts among all.
    timed : bool, default=True
        Whether to measure seconds, too; else they are NaN.
    """
    found = with_itself(found) if own else found
    best, _ = seconds_to_solve(found.sq_distances, "auto", "auto")  # warms up
    orders: dict[str, Any] = {
        "oracle": Oracle(best.betas),
        "D_K": Density(),
        "MST": MinimumSpanningTree(KAPPA + own),
        **({} if shape is None else {"raster": Raster(shape)}),
        "bounds": MiddleOfBounds(),
        "random": RandomOrder(SEED),
        "ours: gap": Gap(),
        "ours: regression": Regression(),
    }
    solve = partial(seconds_to_solve, found.sq_distances, indices=found.indices)
    problem = RowProblem(found.sq_distances, np.array([PERPLEXITY]), found.indices)
    some = np.flatnonzero(best.converged)[::every]
    rows = np.ascontiguousarray(found.sq_distances[some], dtype=np.float64)
    counts, seconds, passes = {}, {}, {}
    for label, order in orders.items():
        starts = starts_in_order(order, problem, best.betas)[some]
        for finder in METHODS:
            counts[finder, label] = algorithm_1(rows, PERPLEXITY, finder, starts)
            seconds[finder, label] = solve(finder, order)[1] if timed else np.nan
    for finder in FREE if timed else ():
        solution, seconds[finder, ""] = solve(finder, MiddleOfBounds())
        passes[finder] = float(solution.evaluations.mean())
    seconds["auto", ""] = seconds_to_solve(found.sq_distances, "auto", "auto")[1]
    passes["auto"] = float(best.evaluations.mean())
    return Trial(name, len(best.betas), own, counts, seconds, passes)


def seconds_to_solve(
    sq_distances: Array,
    method: str,
    order: Any,
    perplexity: float = PERPLEXITY,
    indices: Any = None,
) -> tuple[Bandwidths, float]:
    """Return the bandwidths, and the least processor time of one thread."""
    least = np.inf
    for _ in range(REPEATS):
        begin = time.process_time()
        solution = solve_bandwidths(
            sq_distances,
            perplexity,
            method=method,
            order=order,
            indices=indices,
            random_state=SEED,
            n_jobs=1,
        )
        least = min(least, time.process_time() - begin)
    return solution, least


def orders_table(trial: Trial) -> str:
    """Mean iterations, share of points with bisections, and seconds, a row for each order."""
    rows = []
    for order in trial.orders:
        rows.append([order, *(_cell(trial, finder, order) for finder in METHODS)])
    return table(["order", *METHODS], rows)


def _cell(trial: Trial, finder: str, order: str) -> str:
    seconds, counts = trial.seconds[finder, order], trial.counts[finder, order]
    parts = [f"{trial.iterations(finder, order):.2f}", f"{counts.bisected:.1%}"]
    return " / ".join(parts if np.isnan(seconds) else [*parts, f"{seconds:.2f}"])


def draw(trials: Sequence[Trial]) -> Any:
    """A row for each data set: seconds, iterations, and points converged by iterations."""
    figure, grid = new_figure(len(trials), 3, width=4.0, height=2.9)
    most = range(1, 13)
    for (seconds, iterations, converged), trial in zip(grid, trials, strict=True):
        orders = trial.orders
        for finder, colour in zip(METHODS, _COLOURS, strict=False):
            style = {"color": colour, "marker": "o", "lw": 0.7, "ms": 4}
            seconds.plot(orders, [trial.seconds[finder, o] for o in orders], label=finder, **style)
            iterations.plot(orders, [trial.iterations(finder, o) for o in orders], **style)
            counts = trial.counts[finder, "MST"]
            converged.plot(most, [counts.within(count) for count in most], color=colour)
        for finder, colour in zip(FREE, _COLOURS[3:], strict=True):
            style = {"color": colour, "lw": 1.2, "ls": "--"}
            seconds.axhline(trial.seconds[finder, ""], label=finder, **style)
            iterations.axhline(trial.passes[finder], **style)
        iterations.set_title(f"{trial.name}, n = {trial.n_samples:,}", fontsize="medium")
        converged.set(xlabel="iterations", ylabel="share converged (MST)")
        labels = ("seconds of one thread", "iterations per point")
        for axes, label in zip((seconds, iterations), labels, strict=True):
            axes.set(yscale="log", ylabel=label)
            plain_log_ticks(axes.yaxis)
            axes.tick_params(axis="x", rotation=35)
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure
