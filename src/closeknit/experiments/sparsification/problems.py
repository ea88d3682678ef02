"""The data sets of the experiment, and their graphs made sparse."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.affinities import EntropicAffinities
from closeknit.experiments import data as sets
from closeknit.experiments.data import Points
from closeknit.graphs import (
    EntropicSparsifier,
    KNNSparsifier,
    ResistanceSparsifier,
    ViewerSparsifier,
    symmetrize,
)

__all__ = [
    "LEVELS",
    "METHODS",
    "N_VIEWERS",
    "PERPLEXITY",
    "VIEW_PERPLEXITY",
    "Problem",
    "real_problems",
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
#: Points of a real data set.
MOST = 2_000
SEED = 0


@dataclass(frozen=True)
class Problem:
    """Labelled points and the graph that is made sparse."""

    name: str
    X: NDArray[Any] = field(repr=False)
    y: NDArray[Any] = field(repr=False)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Between all pairs."""
        from scipy.spatial.distance import pdist, squareform

        return np.asarray(squareform(pdist(self.X)))

    @cached_property
    def graph(self) -> Any:
        """Symmetric entropic affinities over all pairs."""
        affinities = EntropicAffinities(PERPLEXITY, n_neighbors=None, metric="precomputed")
        return symmetrize(affinities.fit_transform(self.distances))

    @cached_property
    def viewers(self) -> ViewerSparsifier:
        """Viewers, and their votes against all pairs."""
        return viewer_sparsifier().fit(self.distances)

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


def toy_problems() -> list[Problem]:
    """Circles, moons and blobs, two clusters of 250 points each."""
    from sklearn.datasets import make_blobs, make_circles, make_moons

    return [
        Problem("circles", *make_circles(500, factor=0.5, noise=0.05, random_state=SEED)),
        Problem("moons", *make_moons(500, noise=0.05, random_state=SEED)),
        Problem("blobs", *make_blobs(500, centers=2, random_state=SEED)),
    ]


def real_problems(folder: Path | None) -> list[Problem]:
    """Digits and, from a folder, COIL-20 and cord blood cells; at most 2,000 points of each."""
    found = [sets.digits()]
    if folder is not None:
        found += [sets.coil(folder, n_objects=20), sets.cells(folder)]
    return [_some_of(points) for points in found]


def _some_of(points: Points) -> Problem:
    assert points.y is not None
    some = np.sort(np.random.default_rng(SEED).permutation(len(points.X))[:MOST])
    _, classes = np.unique(points.y[some], return_inverse=True)
    return Problem(points.name, points.X[some], classes)


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
        return viewer_sparsifier().set_params(sparsity=level).fit_transform(problem.distances)
    sampler = ResistanceSparsifier(
        sparsity=level, n_projections=N_PROJECTIONS, input="affinities", random_state=SEED
    )
    return sampler.fit_transform(problem.graph)


def viewer_sparsifier() -> ViewerSparsifier:
    """The viewers of all figures."""
    return ViewerSparsifier(
        N_VIEWERS,
        perplexity=PERPLEXITY,
        view_perplexity=VIEW_PERPLEXITY,
        n_neighbors=None,
        input="distances",
        random_state=SEED,
    )
