"""The data sets of the report, and their graphs as it makes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit._arrays import Array
from closeknit.affinities import solve_bandwidths
from closeknit.graphs import KNNSparsifier, ViewerSparsifier

SEED = 0
N_SAMPLES = 400
PERPLEXITIES = tuple(range(10, 131, 10))
#: Below it an affinity exp(−d²/σ²), which is not normalised, is dropped.
THRESHOLD = 1e-6
#: Entropic affinities by the report's equations, and as its program computes them.
EQUATIONS, PROGRAM = "entropic", "entropic, report's program"
N_VIEWERS = 100
#: Perplexity under which viewers look for modes: small, or they see too few to reach 98 %.
VIEW_PERPLEXITY = 5.0


@dataclass(frozen=True)
class Problem:
    """Labelled points and the graphs that are made of them."""

    name: str
    X: NDArray[Any] = field(repr=False)
    y: NDArray[Any] = field(repr=False)

    @cached_property
    def sq_distances(self) -> Array:
        """Between all pairs."""
        from scipy.spatial.distance import pdist, squareform

        return np.asarray(squareform(pdist(self.X, "sqeuclidean")))

    def gaussian(self, scale: float) -> Any:
        """The reference graph, exp(−d²/scale²) for all pairs."""
        return _graph(np.exp(-self.sq_distances / scale**2))

    def nearest(self, n_neighbors: int, scale: float) -> Any:
        """The reference graph between nearest neighbours, of either end."""
        return KNNSparsifier(n_neighbors, input="affinities").fit_transform(self.gaussian(scale))

    def sigmas(self, perplexity: float, kind: str = EQUATIONS) -> Array:
        """Bandwidths over all points and the point itself."""
        d = self.sq_distances
        if kind == EQUATIONS:
            return solve_bandwidths(d, perplexity).sigmas
        return np.sqrt(0.5 / _mixed_betas(d, perplexity))

    def entropic(self, perplexity: float, kind: str = EQUATIONS, power: float = 2.0) -> Any:
        """Affinities above the threshold, averaged with their transpose."""
        scale = (2.0 if kind == EQUATIONS else 1.0) * self.sigmas(perplexity, kind) ** power
        W = np.exp(-self.sq_distances / scale[:, None])
        W[THRESHOLD > W] = 0.0
        return _graph(0.5 * (W + W.T))

    @cached_property
    def viewers(self) -> ViewerSparsifier:
        """Viewers, and their votes against all pairs."""
        return self.look()

    def look(self, n_viewers: int = N_VIEWERS, kernel: str = "gaussian") -> ViewerSparsifier:
        """Let this many viewers find modes under a kernel, and vote."""
        return ViewerSparsifier(
            n_viewers,
            kernel=kernel,
            view_perplexity=VIEW_PERPLEXITY,
            n_neighbors=None,
            input="distances",
            random_state=SEED,
        ).fit(np.sqrt(self.sq_distances))

    @cached_property
    def kept_by_votes(self) -> Array:
        """Sparsity if edges with 1, 2, … votes are dropped."""
        return sparsity_by_votes(self.viewers)

    def with_fewer_votes(self, votes: int, scale: float) -> Any:
        """The reference graph without the edges that this many viewers, or more, vote against."""
        kept = self.viewers.votes_.copy()
        kept.data = kept.data < votes
        kept.eliminate_zeros()
        return sparse.csr_matrix(kept.multiply(self.gaussian(scale)))


def sparsity_by_votes(fitted: ViewerSparsifier) -> Array:
    """Sparsity if edges with 1, 2, … votes are dropped."""
    n = fitted.votes_.shape[0]
    return np.asarray(1.0 - np.cumsum(np.bincount(fitted.votes_.data)) / (n * (n - 1)))


def votes_for(sparsities: Array, level: float) -> int:
    """The number of votes whose graph comes closest to a sparsity.

    Examples
    --------
    >>> votes_for(np.array([0.99, 0.95, 0.9]), 0.93)
    2
    """
    return int(np.abs(sparsities - level).argmin()) + 1


def _graph(W: Array) -> Any:
    np.fill_diagonal(W, 0.0)
    return sparse.csr_matrix(W)


def _mixed_betas(d: Array, perplexity: float) -> Array:
    """Roots of the F that the report's program solves: p of 2β in the mean, β in the sum."""
    low, high = np.full((2, len(d)), [[-20.0], [20.0]])
    for _ in range(60):
        middle = 0.5 * (low + high)
        beta = np.exp(middle)[:, None]
        p = np.exp(-2.0 * beta * d)
        mean = (p * d).sum(axis=1) / p.sum(axis=1)
        F = beta[:, 0] * mean + np.log(np.exp(-beta * d).sum(axis=1)) - np.log(perplexity)
        low, high = np.where(F > 0.0, middle, low), np.where(F > 0.0, high, middle)
    return np.asarray(np.exp(middle))


def toy_problems() -> list[Problem]:
    """Circles, moons and blobs, two clusters of 200 points each, standardised, drawn as there."""
    from sklearn.datasets import make_blobs, make_circles, make_moons
    from sklearn.preprocessing import StandardScaler

    rng = np.random.RandomState(SEED)  # of scikit-learn's generators
    drawn = {
        "moons": make_moons(N_SAMPLES, noise=0.05, random_state=rng),
        "blobs": make_blobs(N_SAMPLES, centers=2, random_state=rng),
        "circles": make_circles(N_SAMPLES, factor=0.5, noise=0.05, random_state=rng),
    }
    return [
        Problem(name, StandardScaler().fit_transform(drawn[name][0]), drawn[name][1])
        for name in ("circles", "moons", "blobs")
    ]
