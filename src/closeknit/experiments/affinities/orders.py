"""Figure 4: β on uniformly distributed points, and the orders that follow it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.affinities import (
    Density,
    MinimumSpanningTree,
    RandomOrder,
    RowProblem,
    Traversal,
    solve_bandwidths,
)
from closeknit.experiments.report import claim, new_figure, table
from closeknit.neighbors import find_neighbors
from closeknit.plotting import plot_embedding

__all__ = ["Square", "describe", "draw", "uniform_square"]

PERPLEXITY = 30.0
N_NEIGHBORS = 250
SEED = 0


@dataclass(frozen=True)
class Square:
    """Points of the unit square, their β, and the plans of three orders.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 2)
    betas : ndarray of shape (n_samples,)
    distances : ndarray of shape (n_samples,)
        To the K-th neighbour.
    plans : dict of str to Traversal
    """

    X: NDArray[np.float64]
    betas: NDArray[np.float64]
    distances: NDArray[np.float64]
    plans: dict[str, Traversal]


def uniform_square(n_samples: int = 1000) -> Square:
    """Points as in the paper, and the bandwidths over their 250 neighbours."""
    X = np.random.default_rng(SEED).uniform(size=(n_samples, 2))
    found = find_neighbors(X, N_NEIGHBORS, neighbors="exact")
    d = found.sq_distances
    problem = RowProblem(d, np.array([PERPLEXITY]), found.indices)
    plans = {
        "D_K": Density().plan(problem),
        "MST": MinimumSpanningTree().plan(problem),
        "random": RandomOrder(SEED).plan(problem),
    }
    betas = solve_bandwidths(d, PERPLEXITY).betas
    return Square(X, betas, np.sqrt(d[:, int(PERPLEXITY) - 1]), plans)


def draw(square: Square) -> Any:
    """β, the distance to the K-th neighbour, and the place of each point in the tree's order."""
    figure, grid = new_figure(1, 3, width=4.0, height=3.2)
    plan = square.plans["MST"]
    place = np.empty(len(square.X))
    place[plan.sequence] = np.arange(len(square.X))
    panels = (
        ("β", square.betas, "viridis"),
        ("distance to neighbour 30", square.distances, "viridis_r"),
        ("place in the MST order", place, "plasma"),
    )
    for axes, (name, values, colours) in zip(grid[0], panels, strict=True):
        plot_embedding(square.X, values=values, ax=axes, colormap=colours, size=10)
        axes.set_title(name, fontsize="medium")
    _draw_tree(grid[0, 2], square.X, plan)
    return figure


def _draw_tree(axes: Any, X: NDArray[np.float64], plan: Traversal) -> None:
    from matplotlib.collections import LineCollection

    child = plan.parent >= 0
    ends = np.stack([X[plan.sequence[child]], X[plan.parent[child]]], axis=1)
    axes.add_collection(LineCollection(list(ends), colors="0.6", linewidths=0.6, zorder=0.5))


def describe(square: Square) -> str:
    """Our numbers beside the paper's claims."""
    from scipy.stats import spearmanr

    correlation = float(spearmanr(square.betas, square.distances).statistic)
    jumps = {name: _mean_jump(square.betas, plan) for name, plan in square.plans.items()}
    rows = [[name, f"{jump:.3f}"] for name, jump in jumps.items()]
    return "\n\n".join(
        [
            f"{len(square.X):,} uniform points, K = {PERPLEXITY:g}; the table shows the mean "
            "difference in log β between a point and the one it starts from.",
            table(["order", "mean abs(Δ log β)"], rows),
            "\n".join(
                [
                    claim(
                        "β is large where the points are dense.",
                        correlation < -0.5,
                        f"rank correlation of β with the distance to neighbour 30: "
                        f"{correlation:.3f}",
                    ),
                    claim(
                        "β changes gradually in any neighbourhood, and regions of similar density "
                        "have similar β; so both orders start close to the root.",
                        [jumps[name] < 0.5 * jumps["random"] for name in ("MST", "D_K")],
                        f"{jumps['MST']:.3f} along the tree and {jumps['D_K']:.3f} along D_K "
                        f"against {jumps['random']:.3f} in random order",
                    ),
                ]
            ),
        ]
    )


def _mean_jump(betas: NDArray[np.float64], plan: Traversal) -> float:
    child = plan.parent >= 0
    return float(np.abs(np.log(betas[plan.sequence[child]] / betas[plan.parent[child]])).mean())
