"""Graph sparsification for kernel methods (Dupré and Lam): figures 1 to 7 and the dip experiment.

Circles, moons and blobs of 500 points. The original graph is that of symmetric entropic affinities
over all pairs at perplexity 30, and every sparsifier keeps edges of it, so that D₁ and D₂ compare
graphs of the same weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.affinities import EntropicAffinities
from closeknit.graphs import (
    Comparison,
    EntropicSparsifier,
    KNNSparsifier,
    ResistanceSparsifier,
    ViewerSparsifier,
    compare,
    dip_test,
    symmetrize,
)

__all__ = [
    "LEVELS",
    "METHODS",
    "Curve",
    "DipCount",
    "Problem",
    "accuracy",
    "dip_experiment",
    "evaluate",
    "load",
    "reproduce",
    "sparsify",
    "toy_problems",
]

METHODS = ("KNN", "entropic", "viewers", "resistance")
LEVELS = (0.80, 0.90, 0.93, 0.95, 0.98)

PERPLEXITY = 30.0
#: Perplexity under which viewers look for modes: small, or they see too few to reach 98 %.
VIEW_PERPLEXITY = 5.0
N_VIEWERS = 100
#: Of resistances, which take most of the time on graphs of all pairs.
N_PROJECTIONS = 40
#: The affinity below which figure 4 drops edges, ε in section 4 of the paper.
THRESHOLD = 0.001
SEED = 0


@dataclass(frozen=True)
class Problem:
    """Labelled points and the graph that is made sparse."""

    name: str
    X: NDArray[Any] = field(repr=False)
    y: NDArray[Any] = field(repr=False)

    @cached_property
    def graph(self) -> Any:
        """Symmetric entropic affinities over all pairs."""
        return symmetrize(EntropicAffinities(PERPLEXITY, n_neighbors=None).fit_transform(self.X))

    @cached_property
    def viewers(self) -> ViewerSparsifier:
        """Viewers, and their votes against all pairs."""
        return _viewers().fit(self.X)

    def with_fewer_votes(self, votes: int) -> Any:
        """The graph without the edges that so many viewers, or more, vote against."""
        kept = self.viewers.votes_.copy()
        kept.data = kept.data < votes
        kept.eliminate_zeros()
        return sparse.csr_matrix(kept.multiply(self.graph))

    def votes_for(self, level: float) -> int:
        """The number of votes whose graph comes closest to a sparsity."""
        n = len(self.X)
        counts = np.cumsum(np.bincount(self.viewers.votes_.data))  # edges with up to so many votes
        return int(np.abs(1.0 - counts / (n * (n - 1)) - level).argmin()) + 1


@dataclass(frozen=True)
class Curve:
    """One sparsifier over a range of sparsities."""

    method: str
    sparsities: tuple[float, ...]
    d1: tuple[float, ...]
    d2: tuple[float, ...]
    accuracies: tuple[float, ...]


@dataclass(frozen=True)
class DipCount:
    """How often two equally far clusters beat two unequally far ones in the dip experiment."""

    distances: tuple[float, float]
    repetitions: int
    larger_dip: int
    lower_p: int
    equal_p: int


def toy_problems() -> list[Problem]:
    """Circles, moons and blobs, two clusters of 250 points each."""
    from sklearn.datasets import make_blobs, make_circles, make_moons

    return [
        Problem("circles", *make_circles(500, factor=0.5, noise=0.05, random_state=SEED)),
        Problem("moons", *make_moons(500, noise=0.05, random_state=SEED)),
        Problem("blobs", *make_blobs(500, centers=2, random_state=SEED)),
    ]


def load(data: Path | None) -> list[Problem]:
    """Digits and, from a folder, COIL-20 and cord blood cells; at most 2,000 points of each.

    Parameters
    ----------
    data : Path or None
        Folder with ``coil20.npz`` and ``cbmc_cite_pca50.npz``.

    Returns
    -------
    list of Problem
    """
    from sklearn.datasets import load_digits

    problems = [Problem("digits", *load_digits(return_X_y=True))]
    for name, file in (("COIL-20", "coil20.npz"), ("CBMC", "cbmc_cite_pca50.npz")):
        if data is None:
            break
        with np.load(data / file, allow_pickle=False) as arrays:
            X, y = arrays["X"].astype(np.float64), arrays["y"]
        some = np.sort(np.random.default_rng(SEED).permutation(len(X))[:2_000])
        problems.append(Problem(name, X[some], np.unique(y[some], return_inverse=True)[1]))
    return problems


def sparsify(problem: Problem, method: str, level: float) -> Any:
    """Make a problem's graph sparse.

    Parameters
    ----------
    problem : Problem
    method : {"KNN", "entropic", "viewers", "resistance"}
    level : float
        The sparsity.

    Returns
    -------
    csr_matrix
    """
    if method == "KNN":
        return KNNSparsifier(sparsity=level, input="affinities").fit_transform(problem.graph)
    if method == "entropic":
        return EntropicSparsifier(sparsity=level, input="affinities").fit_transform(problem.graph)
    if method == "viewers":
        return _viewers().set_params(sparsity=level).fit_transform(problem.X)
    sampler = ResistanceSparsifier(
        sparsity=level, n_projections=N_PROJECTIONS, input="affinities", random_state=SEED
    )
    return sampler.fit_transform(problem.graph)


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
    table = contingency_matrix(y, found)
    return float(table[linear_sum_assignment(-table)].sum() / len(y))


def evaluate(
    problem: Problem, levels: Iterable[float] = LEVELS, methods: Iterable[str] = METHODS
) -> list[Curve]:
    """D₁, D₂ and clustering accuracy of each sparsifier over a range of sparsities."""
    levels = tuple(levels)
    curves = []
    for method in methods:
        if method == "viewers by votes":
            thresholds = sorted({problem.votes_for(level) for level in levels}, reverse=True)
            graphs = [problem.with_fewer_votes(votes) for votes in thresholds]
        else:
            graphs = [sparsify(problem, method, level) for level in levels]
        table: Comparison = compare(graphs, reference=problem.graph)
        curves.append(
            Curve(
                method,
                tuple(row.sparsity for row in table),
                tuple(row.d1 for row in table),
                tuple(row.d2 for row in table),
                tuple(accuracy(graph, problem.y) for graph in graphs),
            )
        )
    return curves


def sigmas_by_perplexity(problem: Problem, perplexities: Iterable[float]) -> NDArray[np.float64]:
    """Mean and standard deviation of the bandwidths, a row per perplexity (figure 3)."""
    fits = (EntropicAffinities(K, n_neighbors=None).fit(problem.X) for K in perplexities)
    return np.array([[ea.sigmas_.mean(), ea.sigmas_.std()] for ea in fits])


def sparsity_by_neighbors(problem: Problem, counts: Iterable[int]) -> list[float]:
    """Sparsity of the graph of k nearest neighbours (figure 4, left)."""
    return [KNNSparsifier(int(k)).fit(problem.X).sparsity_ for k in counts]


def sparsity_by_perplexity(problem: Problem, perplexities: Iterable[float]) -> list[float]:
    """Sparsity of entropic affinities above a threshold (figure 4, right)."""
    return [
        EntropicSparsifier(K, threshold=THRESHOLD, n_neighbors=None).fit(problem.X).sparsity_
        for K in perplexities
    ]


def sparsity_by_votes(problem: Problem) -> list[float]:
    """Sparsity for each number of votes from 1 (figure 5)."""
    n = len(problem.X)
    return (1.0 - np.cumsum(np.bincount(problem.viewers.votes_.data)) / (n * (n - 1))).tolist()


def dip_experiment(other: float, repetitions: int) -> DipCount:
    """Three clusters seen from a point of one of them: others equally far, or not (section 6).

    Clusters of 100 points with unit variance in the plane. The centres of two of them are 10 away
    from that of the first, at a right angle; or one of them is `other` away.
    """
    rng = np.random.default_rng(SEED)
    larger = lower = equal = 0
    for _ in range(repetitions):
        noise = rng.normal(size=(3, 100, 2))
        equally, unequally = (
            dip_test(_distances_from_first(noise, [(0, 0), (10, 0), (0, far)]))
            for far in (10, other)
        )
        larger += equally.statistic > unequally.statistic
        lower += equally.p_value < unequally.p_value
        equal += equally.p_value == unequally.p_value
    return DipCount((10.0, other), repetitions, int(larger), int(lower), int(equal))


def _distances_from_first(noise: NDArray[Any], centres: list[tuple[float, float]]) -> NDArray[Any]:
    points = (noise + np.array(centres, dtype=float)[:, None]).reshape(-1, 2)
    return np.linalg.norm(points[1:] - points[0], axis=1)


def _viewers() -> ViewerSparsifier:
    return ViewerSparsifier(
        N_VIEWERS,
        perplexity=PERPLEXITY,
        view_perplexity=VIEW_PERPLEXITY,
        n_neighbors=None,
        random_state=SEED,
    )


def reproduce(out: Path, *, quick: bool = False, data: Path | None = None) -> Path:
    """Draw figures 1 to 7, repeat the dip experiment, and write a page that compares the claims.

    Parameters
    ----------
    out : Path
        Folder for the PNG files and ``sparsification.md``; made if it does not exist.
    quick : bool, default=False
        Fewer points on the curves, fewer repetitions, the paper's three sparsifiers only and no
        real data; below two minutes.
    data : Path or None, default=None
        Folder with ``coil20.npz`` and ``cbmc_cite_pca50.npz``; without it digits are the only real
        data.

    Returns
    -------
    Path
        Of the page.
    """
    from closeknit.experiments import _sparsification_figures as figures
    from closeknit.experiments import _sparsification_page as page

    out.mkdir(parents=True, exist_ok=True)
    problems = toy_problems()
    perplexities = np.geomspace(5.0, 250.0, 6 if quick else 20)
    counts = np.unique(np.linspace(5, 250, 6 if quick else 20).astype(int))
    levels = (0.5, 0.8, 0.93, 0.98) if quick else (*np.arange(0.1, 0.9, 0.1), *LEVELS[1:], 0.99)
    methods = ("KNN", "entropic", "viewers by votes", *([] if quick else ["resistance"]))

    sigmas = {p.name: sigmas_by_perplexity(p, perplexities) for p in problems}
    by_neighbors = {p.name: sparsity_by_neighbors(p, counts) for p in problems}
    by_entropy = {p.name: sparsity_by_perplexity(p, perplexities) for p in problems}
    by_votes = {p.name: sparsity_by_votes(p) for p in problems}
    curves = {p.name: evaluate(p, levels, methods) for p in problems}
    dips = [dip_experiment(other, 100 if quick else 1_000) for other in (5.0, 20.0)]
    real = {} if quick else {p.name: evaluate(p) for p in load(data)}

    figures.draw_graphs(problems, out / "figure-1.png")
    figures.draw_viewers(problems, out / "figure-2.png")
    figures.draw_sigmas(perplexities, sigmas, out / "figure-3.png")
    figures.draw_sparsity(counts, by_neighbors, perplexities, by_entropy, out / "figure-4.png")
    figures.draw_votes(by_votes, out / "figure-5.png")
    figures.draw_distances(curves, out / "figure-6.png")
    figures.draw_accuracies(curves, out / "figure-7.png")
    text = page.write(
        problems,
        figure_3=(perplexities, sigmas),
        figure_4=(counts, by_neighbors, by_entropy),
        figure_5=by_votes,
        curves=curves,
        dips=dips,
        real=real,
    )
    path = out / "sparsification.md"
    path.write_text(text, encoding="utf-8")
    return path
