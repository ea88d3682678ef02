"""Figures 1 and 2: graphs of points in the plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from closeknit._arrays import Array
from closeknit.experiments.drawing import new_figure
from closeknit.experiments.report import Section, claim, listed, table
from closeknit.experiments.sparsification.problems import Problem, sparsity_by_votes, votes_for
from closeknit.graphs import connected_components, sparsity

OURS = "the number of viewers and their bandwidth are ours; the report gives neither"
LEVELS = (0.93, 0.98)  # the report's sparsities
VOTES = (13, 6)  # and its votes there
KERNELS, N_VIEWERS = ("gaussian", "student", "epanechnikov"), (25, 50, 100)
#: The report's k and K at 93 %, and the scale of its kernel there.
N_NEIGHBORS, PERPLEXITY, SCALE = 25, 10.0, 0.3


def figure_1(problems: Sequence[Problem]) -> Section:
    """Nearest neighbours and entropic affinities at 93 %."""
    graphs = {
        problem.name: [problem.nearest(N_NEIGHBORS, SCALE), problem.entropic(PERPLEXITY)]
        for problem in problems
    }
    figure, grid = new_figure(2, len(problems))
    for column, problem in enumerate(problems):
        for axes, graph, title in zip(
            grid[:, column], graphs[problem.name], ("KNN", "entropic"), strict=True
        ):
            _draw_graph(axes, problem, graph, title)
    components = {
        name: [int(connected_components(graph).max()) + 1 for graph in both]
        for name, both in graphs.items()
    }
    text = f"k = {N_NEIGHBORS} and K = {PERPLEXITY:g}, as in the report's program for 93 %."
    verdict = claim(
        "At 93 % nearest neighbours and entropic affinities give a connected graph of the circles.",
        [count == 1 for count in components["circles"]],
        "components of the two: "
        + listed({name: f"{a} and {b}" for name, (a, b) in components.items()}),
    )
    return Section([text, verdict], figure)


def figure_2(problems: Sequence[Problem]) -> Section:
    """Viewers, in orange, at the votes that come closest to 93 and 98 %."""
    figure, grid = new_figure(2, len(problems))
    votes: dict[str, str] = {}
    lengths: dict[str, str] = {}
    for column, problem in enumerate(problems):
        counts = [votes_for(problem.kept_by_votes, level) for level in LEVELS]
        graphs = [problem.with_fewer_votes(count, SCALE) for count in counts]
        viewers = problem.X[[view.viewer for view in problem.viewers.viewers_]]
        for axes, graph, count in zip(grid[:, column], graphs, counts, strict=True):
            _draw_graph(axes, problem, graph, f"{count} votes")
            axes.scatter(*viewers.T, c="#D55E00", s=10, linewidths=0, zorder=3)
        others = [problem.nearest(N_NEIGHBORS, SCALE), problem.entropic(PERPLEXITY)]
        votes[problem.name] = "{} and {}".format(*counts)
        means = [np.sqrt(problem.sq_distances[graph.nonzero()]).mean() for graph in others + graphs]
        lengths[problem.name] = ", ".join(f"{mean:.3f}" for mean in means)
    text = claim(
        "At 93 % (13 votes) the links of viewers are gathered less densely along the shapes than "
        "those of the others; at 98 % (6 votes) they are reduced to the strongest ones.",
        None,
        f"votes at 93 and 98 %: {listed(votes)}; mean length of an edge for nearest neighbours, "
        f"entropic affinities, viewers at 93 and at 98 %: {listed(lengths)}",
        OURS,
    )
    words = (
        f"Votes of the {problems[0].name} by the kernel of mean shift and the number of viewers: "
        f"which drop an edge at 93 and 98 %, {VOTES[0]} and {VOTES[1]} in the report; and the "
        "sparsity at those."
    )
    return Section([words, votes_table(problems[0]), text], figure)


def votes_table(problem: Problem) -> str:
    """Votes at the report's sparsities, and sparsities at its votes."""
    rows = []
    for kernel in KERNELS:
        for n_viewers in N_VIEWERS:
            fitted = problem.look(n_viewers, kernel)
            sparsities = sparsity_by_votes(fitted)
            votes = [votes_for(sparsities, level) for level in LEVELS]
            # No pair has more votes than there are viewers: from there on all edges stay.
            reached = [sparsities[vote - 1] if vote <= len(sparsities) else 0.0 for vote in VOTES]
            shares = [f"{100 * share:.1f} %" for share in reached]
            rows.append([kernel, len(fitted.viewers_), *votes, *shares])
    header = ["kernel", "viewers", *(f"votes at {level:.0%}" for level in LEVELS)]
    return table([*header, *(f"sparsity at {vote} votes" for vote in VOTES)], rows)


def grows(values: Array) -> bool:
    """Whether each value is above the one before."""
    return bool((np.diff(values) > 0.0).all())


def growth(values: Array) -> str:
    """Write the first and the last of some values, and at how many steps they grow."""
    steps = int((np.diff(values) > 0.0).sum())
    return f"{values[0]:.3g} to {values[-1]:.3g} ({steps} of {len(values) - 1} steps)"


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
