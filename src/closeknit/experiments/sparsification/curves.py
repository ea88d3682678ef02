"""Figures 6 and 7: what each sparsifier keeps of a graph, over a range of sparsities."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array
from closeknit.experiments.drawing import legend_below, new_figure, plain_log_ticks
from closeknit.experiments.report import Section, claim, listed
from closeknit.experiments.sparsification.graphs import OURS, grows, growth
from closeknit.experiments.sparsification.problems import (
    EQUATIONS,
    PROGRAM,
    SEED,
    Problem,
    votes_for,
)
from closeknit.graphs import compare, laplacian, sparsity
from closeknit.plotting import PALETTE

VIEWERS = "viewers"
ENTROPIC = (EQUATIONS, PROGRAM)
#: Scale of the reference graph in figures 6 and 7 of the report.
DISTANCE_SCALE, CLUSTER_SCALE = 0.8, 0.3
#: Exponent of σ in the affinities of figure 7 in the report's program.
CLUSTER_POWER = 1.7
N_EIGENVECTORS = 20
#: What the report's program printed for D₂ of nearest neighbours, k = 35, 70, ….
PRINTED_D2 = (10311.0, 2329.8, 493.4, 93.5, 18.5)


@dataclass(frozen=True)
class Curve:
    """One sparsifier over a range of sparsities, the largest first; a row for each quantity."""

    sparsities: Array
    values: Array

    def below(self, other: Curve, quantity: int) -> tuple[int, int]:
        """At how many sparsities of another curve this one is lower, and of how many it reaches."""
        at = np.interp(
            other.sparsities,
            self.sparsities[::-1],
            self.values[quantity, ::-1],
            left=np.nan,
            right=np.nan,
        )
        known = np.isfinite(at)
        return int((at < other.values[quantity])[known].sum()), int(known.sum())


Curves = Mapping[str, Mapping[str, Curve]]


def curves_of(
    problem: Problem,
    perplexities: Sequence[int],
    scale: float,
    measure: Callable[[Problem, Sequence[Any]], Array],
    power: float = 2.0,
) -> dict[str, Curve]:
    """Measure graphs of each sparsifier, the sparsest first: k = 3.5 K neighbours, as there."""
    ks = [min(round(3.5 * K), len(problem.X) - 2) for K in perplexities]
    graphs = {"KNN": [problem.nearest(k, scale) for k in ks]}
    graphs[EQUATIONS] = [problem.entropic(K) for K in perplexities]
    graphs[PROGRAM] = [problem.entropic(K, PROGRAM, power) for K in perplexities]
    levels = [0.98, *map(sparsity, graphs["KNN"])]
    votes = sorted({votes_for(problem.kept_by_votes, level) for level in levels})
    graphs[VIEWERS] = [problem.with_fewer_votes(count, scale) for count in votes]
    return {
        method: Curve(np.array(list(map(sparsity, some))), measure(problem, some))
        for method, some in graphs.items()
    }


def distances(problem: Problem, graphs: Sequence[Any]) -> Array:
    """D₁ and D₂ from the reference."""
    reference = problem.gaussian(DISTANCE_SCALE)
    rows = compare(graphs, reference=reference, n_eigenvectors=N_EIGENVECTORS)
    return np.array([[row.d1, row.d2] for row in rows]).T


def accuracies(problem: Problem, graphs: Sequence[Any]) -> Array:
    """Accuracy of spectral clustering."""
    return np.array([[accuracy(graph, problem.y) for graph in graphs]])


def accuracy(graph: Any, y: NDArray[Any]) -> float:
    """Share of points that spectral clustering puts into their class, clusters matched at best."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import SpectralClustering
    from sklearn.metrics.cluster import contingency_matrix

    n_clusters = len(np.unique(y))
    clustering = SpectralClustering(n_clusters, affinity="precomputed", random_state=SEED)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        found = clustering.fit_predict(graph.toarray())  # sparse, it would factorise slowly
    counts = contingency_matrix(y, found)
    return float(counts[linear_sum_assignment(-counts)].sum() / len(y))


def _draw(curves: Curves, quantities: Sequence[str]) -> tuple[Any, Any]:
    figure, grid = new_figure(len(quantities), len(curves))
    for row, quantity in enumerate(quantities):
        for axes, (name, found) in zip(grid[row], curves.items(), strict=True):
            for (method, curve), colour, marker in zip(
                found.items(), PALETTE, "osD^", strict=False
            ):
                style = {"color": colour, "marker": marker, "ms": 4, "lw": 1.2}
                axes.plot(curve.sparsities, curve.values[row], label=method, **style)
            axes.set_xlabel("sparsity")
            axes.set_title(f"{name}: {quantity}", fontsize="medium")
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure, grid


def figure_6(problems: Sequence[Problem], perplexities: Sequence[int]) -> Section:
    """D₁ above, D₂ below."""
    curves = {
        problem.name: curves_of(problem, perplexities, DISTANCE_SCALE, distances)
        for problem in problems
    }
    figure, grid = _draw(curves, ("D₁", "D₂"))
    for above, below in grid.T:
        above.set_yscale("log")
        plain_log_ticks(above.yaxis)
        below.set(yscale="log", ylim=(1e-10, None))  # less is nothing, to rounding
    pairs = zip(program_d2(problems[0]), PRINTED_D2, strict=True)
    text = (
        f"The reference is exp(−d²/{DISTANCE_SCALE:g}²); D₁ is taken over all eigenvalues, D₂ over "
        f"{N_EIGENVECTORS} eigenvectors. The report's program takes rows instead of columns of the "
        "matrix of eigenvectors, of graphs that are not symmetric; so computed, its D₂ of nearest "
        "neighbours of the circles for k = 35, 70, … (and what it printed, for its own sample): "
        + ", ".join(f"{ours:.4g} ({theirs:.4g})" for ours, theirs in pairs)
        + ". Below, D₂ is what the report's formula says."
    )
    return Section([text, _distance_verdicts(curves)], figure)


def program_d2(problem: Problem) -> list[float]:
    """D₂ of nearest neighbours by rows of the matrix of eigenvectors, one end's edges only."""
    A = problem.gaussian(DISTANCE_SCALE).toarray()
    L = laplacian(A).toarray()
    rows = np.linalg.eigh(L)[1][-N_EIGENVECTORS:]
    found = []
    for k in 35 * np.arange(1, len(PRINTED_D2) + 1):
        kept = np.where(np.sort(A, axis=1)[:, [-k]] > A, 0.0, A)
        sparser = np.diag(kept.sum(axis=0)) - kept
        found.append(float((np.einsum("ij,jk,ik->i", rows, L - sparser, rows) ** 2).sum()))
    return found


def _distance_verdicts(curves: Curves) -> str:
    lines = []
    for row, quantity in enumerate(("D₁", "D₂")):
        growing = {
            f"{name}, {method}:": found[method].values[row, ::-1]
            for name, found in curves.items()
            for method in ("KNN", *ENTROPIC)
        }
        ends = {name: growth(values) for name, values in growing.items()}
        wins = {
            f"{name}, {method}:": found["KNN"].below(found[method], row)
            for name, found in curves.items()
            for method in ENTROPIC
        }
        lines += [
            claim(
                f"{quantity} grows with the sparsity.",
                [grows(values) for values in growing.values()],
                f"from densest to sparsest (and at how many steps it grows): {listed(ends)}",
            ),
            claim(
                f"Nearest neighbours have a smaller {quantity} than entropic affinities.",
                [won == tried for won, tried in wins.values()],
                "at as many of the sparsities that both have: "
                + listed({name: f"{won} of {tried}" for name, (won, tried) in wins.items()}),
            ),
        ]
    viewers = {name: found[VIEWERS].values[0] for name, found in curves.items()}
    nearest = {name: found["KNN"].values[1, :4] for name, found in curves.items()}
    lines += [
        claim(
            "D₁ of viewers falls when the sparsity gets close to 1; else they are almost as good "
            "as nearest neighbours.",
            None,
            "largest and last D₁: "
            + listed({name: f"{v.max():.4g} and {v[0]:.4g}" for name, v in viewers.items()}),
            OURS,
        ),
        claim(
            "Distances grow exponentially once the sparsity is close to 90 %.",
            None,
            "D₂ of nearest neighbours, the sparsest first: "
            + listed({name: ", ".join(f"{x:.3g}" for x in v) for name, v in nearest.items()}),
            "the report gives no measure",
        ),
    ]
    return "\n".join(lines)


def figure_7(problems: Sequence[Problem], perplexities: Sequence[int]) -> Section:
    """Clustering."""
    curves = {
        problem.name: curves_of(problem, perplexities, CLUSTER_SCALE, accuracies, CLUSTER_POWER)
        for problem in problems
    }
    complete = {p.name: accuracy(p.gaussian(CLUSTER_SCALE), p.y) for p in problems}
    figure, grid = _draw(curves, ("accuracy",))
    for axes in grid.flat:
        axes.set_ylim(0.45, 1.03)
    text = (
        f"The reference is exp(−d²/{CLUSTER_SCALE:g}²), and scikit-learn's spectral clustering has "
        f"an accuracy of {listed(complete, '{:.3f}')} on it. The report's program takes "
        f"exp(−d²/σ^{CLUSTER_POWER:g}) for entropic affinities here."
    )
    return Section([text, _cluster_verdicts(curves, complete)], figure)


def _cluster_verdicts(curves: Curves, complete: Mapping[str, float]) -> str:
    means, as_good = {}, {}
    for name, found in curves.items():
        for method, curve in found.items():
            means[name, method] = curve.values.mean()
            as_good[name, method] = int((curve.values >= complete[name]).sum())
    pairs = [(name, method) for name in curves for method in ENTROPIC]
    numbers = {f"{n}, {m}:": f"{means[n, m]:.3f} ({as_good[n, m]})" for n, m in means}
    return "\n".join(
        [
            claim(
                "Nearest neighbours cluster better than entropic affinities.",
                [means[name, "KNN"] >= means[name, method] for name, method in pairs],
                "mean accuracy over the sparsities (and at how many it is as high as on the "
                f"reference): {listed(numbers)}",
            ),
            claim(
                "Entropic affinities cluster very well at a suitable sparsity (as well as the "
                "reference).",
                [as_good[pair] > 0 for pair in pairs],
                "the same numbers",
            ),
            claim(
                "On moons and blobs they do so at more sparsities than on circles.",
                [as_good[n, m] > as_good["circles", m] for n, m in pairs if n != "circles"],
                "the same numbers",
            ),
            claim(
                "Viewers have a really narrow window of good sparsities.",
                None,
                "the same numbers",
                OURS,
            ),
        ]
    )
