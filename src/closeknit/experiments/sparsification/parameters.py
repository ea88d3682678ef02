"""Figures 4 and 5: sparsity by the number of neighbours, by the entropy and by the votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.experiments.report import claim, legend_below, new_figure
from closeknit.experiments.sparsification.problems import Problem
from closeknit.graphs import EntropicSparsifier, KNNSparsifier
from closeknit.plotting import PALETTE

__all__ = [
    "Sparsities",
    "by_parameter",
    "by_votes",
    "describe_linearity",
    "describe_votes",
    "draw_linearity",
    "draw_votes",
]

#: The affinity below which edges are dropped, ε in section 4 of the paper.
THRESHOLD = 0.001
STRAIGHT, NEARLY_STRAIGHT = 0.99, 0.95  # R² of what is called linear and quasi-linear
Curves = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Sparsities:
    """Sparsity by parameter.

    Attributes
    ----------
    neighbors, entropies : ndarray
        The parameters: k, and log₂ K.
    by_neighbors, by_entropy : dict of str to list of float
        Sparsities of each data set.
    """

    neighbors: NDArray[np.int64]
    entropies: NDArray[np.float64]
    by_neighbors: Curves
    by_entropy: Curves


def by_parameter(problems: Sequence[Problem], n_parameters: int) -> Sparsities:
    """Graphs of 5 to 250 neighbours, and of perplexities 5 to 250 above a threshold."""
    neighbors = np.unique(np.linspace(5, 250, n_parameters).astype(int))
    entropies = np.linspace(np.log2(5.0), np.log2(250.0), n_parameters)
    by_neighbors, by_entropy = {}, {}
    for problem in problems:
        by_neighbors[problem.name] = [
            KNNSparsifier(int(k)).fit(problem.X).sparsity_ for k in neighbors
        ]
        by_entropy[problem.name] = [
            EntropicSparsifier(float(K), threshold=THRESHOLD, n_neighbors=None)
            .fit(problem.X)
            .sparsity_
            for K in np.exp2(entropies)
        ]
    return Sparsities(neighbors, entropies, by_neighbors, by_entropy)


def by_votes(problem: Problem) -> list[float]:
    """Sparsity for each number of votes from 1."""
    n = len(problem.X)
    kept = np.cumsum(np.bincount(problem.viewers.votes_.data))
    return [float(1.0 - count / (n * (n - 1))) for count in kept]


def draw_linearity(found: Sparsities) -> Any:
    """Figure 4."""
    figure, grid = new_figure(1, 2)
    panels = (
        ("nearest neighbours k", found.neighbors, found.by_neighbors),
        (f"entropy log₂ K (affinities ≥ {THRESHOLD:g})", found.entropies, found.by_entropy),
    )
    for axes, (label, x, values) in zip(grid[0], panels, strict=True):
        _draw(axes, {name: (x, one) for name, one in values.items()}, label, marker=".")
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure


def draw_votes(found: Curves) -> Any:
    """Figure 5."""
    figure, grid = new_figure(1, 1, width=4.5)
    lines = {name: (np.arange(1, len(values) + 1), values) for name, values in found.items()}
    _draw(grid[0, 0], lines, "votes that drop an edge")
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure


def _draw(axes: Any, lines: Mapping[str, tuple[Any, Any]], label: str, **style: Any) -> None:
    for colour, (name, (x, y)) in zip(PALETTE, lines.items(), strict=False):
        axes.plot(x, y, color=colour, label=name, **style)
    axes.set(xlabel=label, ylabel="sparsity", ylim=(0.0, 1.02))
    axes.spines[["top", "right"]].set_visible(False)


def describe_linearity(found: Sparsities) -> str:
    """How straight the curves of figure 4 are."""
    lines = {name: _r_squared(found.neighbors, v) for name, v in found.by_neighbors.items()}
    quasi = {name: _r_squared(found.entropies, v) for name, v in found.by_entropy.items()}
    return "\n".join(
        [
            claim(
                f"Sparsity falls linearly with k (taken here as R² above {STRAIGHT:g}).",
                [value > STRAIGHT for value in lines.values()],
                "R² of a straight line " + _listed(lines),
            ),
            claim(
                f"It falls quasi-linearly with the entropy (R² above {NEARLY_STRAIGHT:g}).",
                [value > NEARLY_STRAIGHT for value in quasi.values()],
                "R² of a straight line " + _listed(quasi),
            ),
        ]
    )


def _listed(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in values.items())


def _r_squared(x: NDArray[Any], y: Sequence[float]) -> float:
    return float(np.corrcoef(x, y)[0, 1] ** 2)


def describe_votes(found: Curves) -> str:
    """Whether the curves of figure 5 turn: less than half as steep at both ends as in between."""
    places, turning = [], []
    for name, values in found.items():
        slope = np.convolve(-np.diff(values), np.ones(5) / 5.0, mode="valid")
        places.append(f"{int(slope.argmax()) + 3} of {len(values)} votes on {name}")
        turning.append(bool(max(slope[0], slope[-1]) < 0.5 * slope.max()))
    return claim(
        "With the votes sparsity changes slowly at first, faster up to a turning point, then "
        "slowly again (taken here as less than half as steep at both ends).",
        turning,
        "steepest at " + ", ".join(places),
    )
