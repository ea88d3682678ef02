"""The pictures of :mod:`closeknit.experiments.sparsification`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from closeknit.experiments.sparsification import Curve, Problem

#: Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = {
    "KNN": "#0072b2",
    "entropic": "#d55e00",
    "viewers by votes": "#009e73",
    "resistance": "#7f7f7f",
    "circles": "#0072b2",
    "moons": "#d55e00",
    "blobs": "#009e73",
}
MARKERS = {"KNN": "o", "entropic": "s", "viewers by votes": "^", "resistance": "x"}


def _figure(rows: int, columns: int, **size: float) -> tuple[Figure, NDArray[Any]]:
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise ImportError(
            'figures need matplotlib, which is not installed; run: pip install "closeknit[plot]"'
        ) from error
    width, height = size.get("width", 3.6), size.get("height", 3.2)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=130)


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)


def _draw_graph(axes: Axes, problem: Problem, graph: Any, title: str) -> None:
    """Points and the edges of a graph; each edge once."""
    from matplotlib.collections import LineCollection

    rows, columns = graph.nonzero()
    once = rows < columns
    ends = np.stack([problem.X[rows[once]], problem.X[columns[once]]], axis=1)
    # The more edges lie on each other, the fainter each has to be.
    alpha = float(np.clip(2_000.0 / max(1, len(ends)), 0.2, 0.8))
    axes.add_collection(LineCollection(list(ends), colors="#2a8fd0", linewidths=0.35, alpha=alpha))
    axes.scatter(problem.X[:, 0], problem.X[:, 1], c="black", s=3, linewidths=0, zorder=2)
    axes.set_title(title, fontsize=10)
    axes.set_aspect("equal")
    axes.set_axis_off()


def draw_graphs(problems: Sequence[Problem], path: Path) -> None:
    """Figure 1: nearest neighbours and entropic affinities at 93 %."""
    from closeknit.experiments.sparsification import sparsify
    from closeknit.graphs import sparsity

    figure, grid = _figure(2, len(problems))
    for column, problem in enumerate(problems):
        for row, method in enumerate(("KNN", "entropic")):
            graph = sparsify(problem, method, 0.93)
            title = f"{problem.name}: {method}, sparsity {100 * sparsity(graph):.1f} %"
            _draw_graph(grid[row, column], problem, graph, title)
    _save(figure, path)


def draw_viewers(problems: Sequence[Problem], path: Path) -> None:
    """Figure 2: viewers, at the votes that come closest to 93 and 98 %."""
    from closeknit.graphs import sparsity

    figure, grid = _figure(2, len(problems))
    for column, problem in enumerate(problems):
        at = [view.viewer for view in problem.viewers.viewers_]
        for row, level in enumerate((0.93, 0.98)):
            votes = problem.votes_for(level)
            graph = problem.with_fewer_votes(votes)
            title = f"{problem.name}: {votes} votes, sparsity {100 * sparsity(graph):.1f} %"
            _draw_graph(grid[row, column], problem, graph, title)
            x, y = problem.X[at].T
            grid[row, column].scatter(x, y, c="#d62728", s=8, linewidths=0, zorder=3)
    figure.suptitle("viewers in red", fontsize=10)
    _save(figure, path)


def draw_sigmas(perplexities: NDArray[Any], sigmas: Mapping[str, NDArray[Any]], path: Path) -> None:
    """Figure 3: mean and standard deviation of the bandwidths."""
    figure, grid = _figure(1, len(sigmas))
    for axes, (name, values) in zip(grid[0], sigmas.items(), strict=True):
        mean, deviation = values.T
        axes.fill_between(
            perplexities, mean - deviation, mean + deviation, color=COLOURS[name], alpha=0.25
        )
        axes.plot(perplexities, mean, color=COLOURS[name], label="mean")
        axes.plot(perplexities, deviation, color=COLOURS[name], ls="--", label="standard deviation")
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("perplexity K")
        axes.legend(frameon=False, fontsize=8)
        _tidy(axes)
    grid[0, 0].set_ylabel("bandwidth σ")
    _save(figure, path)


def draw_sparsity(
    counts: NDArray[Any],
    by_neighbors: Mapping[str, Sequence[float]],
    perplexities: NDArray[Any],
    by_entropy: Mapping[str, Sequence[float]],
    path: Path,
) -> None:
    """Figure 4: sparsity by number of neighbours and by entropy."""
    figure, grid = _figure(1, 2)
    left, right = grid[0]
    for name in by_neighbors:
        left.plot(counts, by_neighbors[name], color=COLOURS[name], marker=".", label=name)
        right.plot(np.log2(perplexities), by_entropy[name], color=COLOURS[name], marker=".")
    left.set_xlabel("nearest neighbours k")
    right.set_xlabel("entropy log₂ K (affinities ≥ 0.001)")
    left.set_ylabel("sparsity")
    left.legend(frameon=False)
    for axes in (left, right):
        axes.set_ylim(0.0, 1.02)
        _tidy(axes)
    _save(figure, path)


def draw_votes(by_votes: Mapping[str, Sequence[float]], path: Path) -> None:
    """Figure 5: sparsity by number of votes."""
    figure, grid = _figure(1, 1, width=4.5)
    axes = grid[0, 0]
    for name, values in by_votes.items():
        axes.plot(np.arange(1, len(values) + 1), values, color=COLOURS[name], label=name)
    axes.set_xlabel("votes that drop an edge")
    axes.set_ylabel("sparsity")
    axes.set_ylim(0.0, 1.02)
    axes.legend(frameon=False)
    _tidy(axes)
    _save(figure, path)


def _draw_curves(axes: Axes, curves: Sequence[Curve], quantity: str) -> None:
    for curve in curves:
        axes.plot(
            curve.sparsities,
            getattr(curve, quantity),
            color=COLOURS[curve.method],
            marker=MARKERS[curve.method],
            ms=4,
            lw=1.2,
            label=curve.method,
        )
    axes.set_xlabel("sparsity")
    _tidy(axes)


def draw_distances(curves: Mapping[str, Sequence[Curve]], path: Path) -> None:
    """Figure 6: D₁ and D₂ by sparsity."""
    figure, grid = _figure(2, len(curves))
    for column, (name, found) in enumerate(curves.items()):
        for row, (quantity, label) in enumerate((("d1", "D₁"), ("d2", "D₂"))):
            axes = grid[row, column]
            _draw_curves(axes, found, quantity)
            if quantity == "d2":
                axes.set_yscale("log")
                axes.set_ylim(bottom=1e-10)  # less is nothing, to rounding
            axes.set_title(f"{name}: {label}", fontsize=10)
    grid[0, 0].legend(frameon=False, fontsize=8)
    _save(figure, path)


def draw_accuracies(curves: Mapping[str, Sequence[Curve]], path: Path) -> None:
    """Figure 7: accuracy of spectral clustering by sparsity."""
    figure, grid = _figure(1, len(curves))
    for axes, (name, found) in zip(grid[0], curves.items(), strict=True):
        _draw_curves(axes, found, "accuracies")
        axes.set_ylim(0.45, 1.03)
        axes.set_title(name, fontsize=10)
    grid[0, 0].set_ylabel("clustering accuracy")
    grid[0, 0].legend(frameon=False, fontsize=8)
    _save(figure, path)
