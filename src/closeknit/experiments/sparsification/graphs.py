"""Figures 1 and 2: graphs of points in the plane."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from closeknit.experiments.report import claim, new_figure
from closeknit.experiments.sparsification.problems import Problem, sparsify
from closeknit.graphs import connected_components, sparsity

__all__ = ["describe_neighbors", "describe_viewers", "draw_neighbors", "draw_viewers"]

LEVEL, HIGH_LEVEL = 0.93, 0.98  # the paper's sparsities


def draw_neighbors(problems: Sequence[Problem]) -> Any:
    """Nearest neighbours and entropic affinities at 93 %."""
    figure, grid = new_figure(2, len(problems))
    for column, problem in enumerate(problems):
        for axes, method in zip(grid[:, column], ("KNN", "entropic"), strict=True):
            _draw_graph(axes, problem, sparsify(problem, method, LEVEL), method)
    return figure


def draw_viewers(problems: Sequence[Problem]) -> Any:
    """Viewers, in orange, at the votes that come closest to 93 and 98 %."""
    figure, grid = new_figure(2, len(problems))
    for column, problem in enumerate(problems):
        seen_from = problem.X[[view.viewer for view in problem.viewers.viewers_]]
        for axes, level in zip(grid[:, column], (LEVEL, HIGH_LEVEL), strict=True):
            votes = problem.votes_for(level)
            _draw_graph(axes, problem, problem.with_fewer_votes(votes), f"{votes} votes")
            axes.scatter(*seen_from.T, c="#D55E00", s=10, linewidths=0, zorder=3)
    return figure


def _draw_graph(axes: Any, problem: Problem, graph: Any, title: str) -> None:
    """Points and the edges of a graph; each edge once."""
    from matplotlib.collections import LineCollection

    rows, columns = graph.nonzero()
    once = rows < columns
    ends = np.stack([problem.X[rows[once]], problem.X[columns[once]]], axis=1)
    # The more edges lie on each other, the fainter each has to be.
    alpha = float(np.clip(2_000.0 / max(1, len(ends)), 0.2, 0.8))
    axes.add_collection(LineCollection(list(ends), colors="#0072B2", linewidths=0.35, alpha=alpha))
    axes.scatter(*problem.X.T, c="black", s=3, linewidths=0, zorder=2)
    name = f"{problem.name}: {title}, sparsity {100 * sparsity(graph):.1f} %"
    axes.set_title(name, fontsize="medium")
    axes.set_aspect("equal")
    axes.set_axis_off()


def describe_neighbors(problems: Sequence[Problem]) -> str:
    """Whether the graphs are connected."""
    counts = [
        [
            int(connected_components(sparsify(problem, method, LEVEL)).max()) + 1
            for method in ("KNN", "entropic")
        ]
        for problem in problems
    ]
    return claim(
        "At 93 % nearest neighbours and entropic affinities give a connected graph.",
        [max(both) == 1 for both in counts],
        "components of the two: " + _each(problems, lambda i: f"{counts[i][0]} and {counts[i][1]}"),
    )


def describe_viewers(problems: Sequence[Problem]) -> str:
    """How long the edges are that viewers leave, beside those of the other two."""
    lengths = []
    for problem in problems:
        graphs = [sparsify(problem, method, LEVEL) for method in ("KNN", "entropic")]
        graphs += [problem.with_fewer_votes(problem.votes_for(at)) for at in (LEVEL, HIGH_LEVEL)]
        lengths.append([_mean_length(problem, graph) for graph in graphs])
    first = claim(
        "At 93 % the links of viewers are gathered less densely along the shapes than those of "
        "the others.",
        [viewers > max(knn, entropic) for knn, entropic, viewers, _ in lengths],
        "mean length of an edge for nearest neighbours, entropic affinities and viewers: "
        + _each(problems, lambda i: "{:.3f}, {:.3f} and {:.3f}".format(*lengths[i][:3])),
    )
    second = claim(
        "At 98 % the links of viewers are reduced to the strongest ones along the shapes.",
        [last < before for _, _, before, last in lengths],
        "mean length at 93 % and at 98 %: "
        + _each(problems, lambda i: "{:.3f} and {:.3f}".format(*lengths[i][2:])),
    )
    return f"{first}\n{second}"


def _mean_length(problem: Problem, graph: Any) -> float:
    return float(problem.distances[graph.nonzero()].mean())


def _each(problems: Sequence[Problem], numbers: Callable[[int], str]) -> str:
    return "; ".join(f"{problem.name} {numbers(i)}" for i, problem in enumerate(problems))
