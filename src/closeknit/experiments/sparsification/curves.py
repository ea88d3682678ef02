"""Figures 6 and 7: what each sparsifier keeps of a graph, over a range of sparsities."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.experiments.report import claim, legend_below, new_figure, table
from closeknit.experiments.sparsification.problems import SEED, Problem, sparsify
from closeknit.graphs import compare
from closeknit.plotting import PALETTE

__all__ = [
    "Curve",
    "accuracy",
    "describe_accuracies",
    "describe_distances",
    "describe_real",
    "draw_accuracies",
    "draw_distances",
    "evaluate",
    "real_table",
]

VIEWERS = "viewers by votes"
PAPERS = ("KNN", "entropic", VIEWERS)
MARKERS = {"KNN": "o", "entropic": "s", VIEWERS: "^", "resistance": "x"}
COLOURS = dict(zip(MARKERS, PALETTE, strict=False))
QUANTITIES = {"d1": "D₁", "d2": "D₂"}


@dataclass(frozen=True)
class Curve:
    """One sparsifier over a range of sparsities."""

    method: str
    sparsities: tuple[float, ...]
    d1: tuple[float, ...]
    d2: tuple[float, ...]
    accuracies: tuple[float, ...]


Curves = Mapping[str, Sequence[Curve]]


def evaluate(problem: Problem, levels: Iterable[float], methods: Iterable[str]) -> list[Curve]:
    """D₁, D₂ and clustering accuracy of each sparsifier over a range of sparsities.

    Parameters
    ----------
    problem : Problem
    levels : iterable of float
        The sparsities.
    methods : iterable of str
        As in :func:`~closeknit.experiments.sparsification.problems.sparsify`, or
        ``"viewers by votes"``, which takes the numbers of votes that come closest to the levels.
    """
    levels = tuple(levels)
    curves = []
    for method in methods:
        if method == VIEWERS:
            thresholds = sorted({problem.votes_for(level) for level in levels}, reverse=True)
            graphs = [problem.with_fewer_votes(votes) for votes in thresholds]
        else:
            graphs = [sparsify(problem, method, level) for level in levels]
        rows = compare(graphs, reference=problem.graph)
        curves.append(
            Curve(
                method,
                tuple(row.sparsity for row in rows),
                tuple(row.d1 for row in rows),
                tuple(row.d2 for row in rows),
                tuple(accuracy(graph, problem.y) for graph in graphs),
            )
        )
    return curves


def accuracy(graph: Any, y: NDArray[Any]) -> float:
    """Share of points that spectral clustering puts into their class, clusters matched at best."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import SpectralClustering
    from sklearn.metrics.cluster import contingency_matrix

    n_clusters = len(np.unique(y))
    clustering = SpectralClustering(n_clusters, affinity="precomputed", random_state=SEED)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        found = clustering.fit_predict(graph)
    counts = contingency_matrix(y, found)
    return float(counts[linear_sum_assignment(-counts)].sum() / len(y))


def draw_distances(curves: Curves) -> Any:
    """Figure 6: D₁ above, D₂ below."""
    figure, grid = new_figure(2, len(curves))
    for column, (name, found) in enumerate(curves.items()):
        for axes, (quantity, label) in zip(grid[:, column], QUANTITIES.items(), strict=True):
            _draw(axes, found, quantity)
            axes.set_title(f"{name}: {label}", fontsize="medium")
        grid[1, column].set(yscale="log", ylim=(1e-10, None))  # less is nothing, to rounding
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure


def draw_accuracies(curves: Curves) -> Any:
    """Figure 7."""
    figure, grid = new_figure(1, len(curves))
    for axes, (name, found) in zip(grid[0], curves.items(), strict=True):
        _draw(axes, found, "accuracies")
        axes.set_ylim(0.45, 1.03)
        axes.set_title(name, fontsize="medium")
    grid[0, 0].set_ylabel("clustering accuracy")
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure


def _draw(axes: Any, curves: Sequence[Curve], quantity: str) -> None:
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
    axes.spines[["top", "right"]].set_visible(False)


def describe_distances(curves: Curves) -> str:
    """The paper's claims about figure 6."""
    lines = [_grows(curves, quantity) for quantity in QUANTITIES]
    viewers = [_by_method(found)[VIEWERS].d1 for found in curves.values()]
    lines.append(
        claim(
            "D₁ of viewers falls when the sparsity gets close to 1.",
            [values[-1] < max(values) for values in viewers],
            "largest and last value: "
            + _each(curves, [f"{max(v):.4g} and {v[-1]:.4g}" for v in viewers]),
        )
    )
    lines += [_closest(curves, quantity) for quantity in QUANTITIES]
    slopes = [_steepening(_by_method(found)["KNN"]) for found in curves.values()]
    lines.append(
        claim(
            "Distances grow exponentially once the sparsity is close to 90 % (taken here as D₂ of "
            "nearest neighbours growing more above 90 % than below).",
            [above > below for below, above in slopes],
            "growth below and above: "
            + _each(curves, [f"{below:.3g} and {above:.3g}" for below, above in slopes]),
        )
    )
    return "\n".join(lines)


def _grows(curves: Curves, quantity: str) -> str:
    """Whether a distance is larger at the end than at the beginning, viewers aside."""
    growing = [
        all(_ends(curve, quantity)[1] > _ends(curve, quantity)[0] for curve in _stable(found))
        for found in curves.values()
    ]
    numbers = [
        ", ".join(
            "{} {:.3g} to {:.3g}".format(curve.method, *_ends(curve, quantity)) for curve in found
        )
        for found in curves.values()
    ]
    return claim(
        f"{QUANTITIES[quantity]} grows with the sparsity.",
        growing,
        f"first to last, judged without viewers: {_each(curves, numbers)}",
    )


def _ends(curve: Curve, quantity: str) -> tuple[float, float]:
    values = getattr(curve, quantity)
    return values[0], values[-1]


def _stable(found: Sequence[Curve]) -> list[Curve]:
    """The paper's sparsifiers but viewers, of which it says otherwise."""
    return [curve for curve in found if curve.method in ("KNN", "entropic")]


def _closest(curves: Curves, quantity: str) -> str:
    """Which of the paper's sparsifiers has the smallest distance near 93 %."""
    best = []
    for found in curves.values():
        at = {}
        for curve in found:
            nearest = int(np.abs(np.array(curve.sparsities) - 0.93).argmin())
            if curve.method in PAPERS:
                at[curve.method] = getattr(curve, quantity)[nearest]
        best.append(min(at, key=lambda method: at[method]))
    return claim(
        f"Nearest neighbours have the smallest {QUANTITIES[quantity]} of the paper's three (near "
        "93 %).",
        [method == "KNN" for method in best],
        f"smallest: {_each(curves, best)}",
    )


def _steepening(curve: Curve) -> tuple[float, float]:
    """By how much D₂ grows below and above 90 %."""
    at_90 = int(np.abs(np.array(curve.sparsities) - 0.9).argmin())
    return curve.d2[at_90] - curve.d2[0], curve.d2[-1] - curve.d2[at_90]


def _by_method(found: Sequence[Curve]) -> dict[str, Curve]:
    return {curve.method: curve for curve in found}


def _each(curves: Curves, numbers: Iterable[str]) -> str:
    return "; ".join(f"{name} {text}" for name, text in zip(curves, numbers, strict=True))


def describe_accuracies(curves: Curves) -> str:
    """The paper's claims about figure 7."""

    def per_method(number: Callable[[Curve], float]) -> list[dict[str, float]]:
        return [{curve.method: number(curve) for curve in found} for found in curves.values()]

    means = per_method(lambda curve: float(np.mean(curve.accuracies)))
    peaks = per_method(lambda curve: max(curve.accuracies))
    widths = per_method(_window)
    return "\n".join(
        [
            claim(
                "Nearest neighbours cluster best.",
                [one["KNN"] >= max(one[method] for method in PAPERS) - 1e-12 for one in means],
                "mean accuracy over the sparsities: "
                + _each(curves, [_listed(one, "{:.3f}") for one in means]),
            ),
            claim(
                "Entropic affinities cluster very well at a suitable sparsity (above 0.95).",
                [one["entropic"] > 0.95 for one in peaks],
                "best: " + _each(curves, [f"{one['entropic']:.3f}" for one in peaks]),
            ),
            claim(
                "Viewers have a really narrow window of good sparsities.",
                [one[VIEWERS] < min(one["KNN"], one["entropic"]) for one in widths],
                "share of the sparsities tried with an accuracy within 0.02 of the best: "
                + _each(curves, [_listed(one, "{:.0%}") for one in widths]),
            ),
        ]
    )


def _window(curve: Curve) -> float:
    values = np.array(curve.accuracies)
    return float(np.mean(values >= values.max() - 0.02))


def _listed(values: Mapping[str, float], pattern: str) -> str:
    return ", ".join(f"{method} {pattern.format(value)}" for method, value in values.items())


def describe_real(curves: Curves) -> str:
    """A table for each data set, and what the paper expects of real data."""
    tables = [f"### {name}\n\n{real_table(found)}" for name, found in curves.items()]
    papers = [
        [curve for curve in found if curve.method != "resistance"] for found in curves.values()
    ]
    best = [max(some, key=lambda one: float(np.mean(one.accuracies))).method for some in papers]
    verdict = claim(
        "Nearest neighbours may do worse than the others on real, richer data.",
        [method != "KNN" for method in best],
        f"best mean accuracy of the paper's three: {_each(curves, best)}",
    )
    return "\n\n".join(
        [
            "At most 2,000 points of each; edges to which equally many viewers object are dropped "
            "by weight. Accuracy is that of scikit-learn's spectral clustering with as many "
            "clusters as classes.",
            *tables,
            verdict,
        ]
    )


def real_table(found: Sequence[Curve]) -> str:
    """Accuracy, D₁ and D₂ at each sparsity, as a Markdown table."""
    rows = [
        [curve.method, f"{s:.4f}", f"{a:.3f}", f"{d1:.1f}", f"{d2:.3g}"]
        for curve in found
        for s, a, d1, d2 in zip(curve.sparsities, curve.accuracies, curve.d1, curve.d2, strict=True)
    ]
    return table(["sparsifier", "sparsity", "accuracy", "D₁", "D₂"], rows)
