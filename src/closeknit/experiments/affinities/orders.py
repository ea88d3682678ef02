"""Figure 4: β on uniformly distributed points, and the orders that follow it."""

from __future__ import annotations

from typing import Any

import numpy as np

from closeknit._arrays import Array
from closeknit.affinities import (
    Density,
    MinimumSpanningTree,
    Order,
    RandomOrder,
    RowProblem,
    Traversal,
    solve_bandwidths,
)
from closeknit.experiments.affinities.methods import N_NEIGHBORS, PERPLEXITY, SEED
from closeknit.experiments.drawing import new_figure
from closeknit.experiments.report import Section, claim, listed
from closeknit.neighbors import find_neighbors
from closeknit.plotting import plot_embedding


def figure_4(n_samples: int = 1000) -> Section:
    """β of uniform points, the distance to neighbour K, and the place in the tree's order."""
    from scipy.stats import spearmanr

    X = np.random.default_rng(SEED).uniform(size=(n_samples, 2))
    found = find_neighbors(X, N_NEIGHBORS, neighbors="exact")
    d = found.sq_distances
    problem = RowProblem(d, np.array([PERPLEXITY]), found.indices)
    orders: dict[str, Order] = {
        "D_K": Density(),
        "MST": MinimumSpanningTree(),
        "random": RandomOrder(SEED),
    }
    plans = {name: order.plan(problem) for name, order in orders.items()}
    betas, distances = solve_bandwidths(d, PERPLEXITY).betas, np.sqrt(d[:, int(PERPLEXITY) - 1])
    jumps = {name: mean_jump(betas, plan) for name, plan in plans.items()}
    correlation = float(spearmanr(betas, distances).statistic)
    text = f"{n_samples:,} uniform points of the unit square (seed {SEED}), K = {PERPLEXITY:g}."
    verdicts = [
        claim(
            "β is large where the points are dense.",
            correlation < 0.0,
            f"rank correlation of β with the distance to neighbour {PERPLEXITY:g}: "
            f"{correlation:.3f}",
        ),
        claim(
            "β changes gradually in any neighbourhood, and regions of similar density have similar "
            "β; so both orders start close to the root.",
            [jumps[name] < jumps["random"] for name in ("MST", "D_K")],
            "mean difference in log β between a point and the one it starts from: "
            + listed(jumps, "{:.3f}"),
        ),
    ]
    return Section([text, "\n".join(verdicts)], _draw(X, betas, distances, plans["MST"]))


def _draw(X: Array, betas: Array, distances: Array, plan: Traversal) -> Any:
    from matplotlib.collections import LineCollection

    figure, grid = new_figure(1, 3, width=4.0, height=3.2)
    place = np.empty(len(X))
    place[plan.sequence] = np.arange(len(X))
    panels = (
        ("β", betas, "viridis"),
        (f"distance to neighbour {PERPLEXITY:g}", distances, "viridis_r"),
        ("place in the MST order", place, "plasma"),
    )
    for axes, (name, values, colours) in zip(grid[0], panels, strict=True):
        plot_embedding(X, values=values, ax=axes, colormap=colours, size=10)
        axes.set_title(name, fontsize="medium")
    child = plan.parent >= 0
    ends = np.stack([X[plan.sequence[child]], X[plan.parent[child]]], axis=1)
    edges = LineCollection(list(ends), colors="0.6", linewidths=0.6, zorder=0.5)
    grid[0, 2].add_collection(edges)
    return figure


def mean_jump(betas: Array, plan: Traversal) -> float:
    """Return the mean |Δ log β| between a point and the one it starts from."""
    child = plan.parent >= 0
    return float(np.abs(np.log(betas[plan.sequence[child]] / betas[plan.parent[child]])).mean())
