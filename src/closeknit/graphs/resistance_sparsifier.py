"""Sample edges by their effective resistances, which keeps the spectrum of the Laplacian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from closeknit.graphs._input import check_graph, entropic_graph
from closeknit.graphs.base import BaseSparsifier
from closeknit.graphs.resistances import effective_resistances

__all__ = ["ResistanceSparsifier"]

Array = NDArray[np.float64]

#: Probability with which the bound on the spectrum may fail.
_FAILURE = 0.01


class ResistanceSparsifier(BaseSparsifier):
    """Keep a random sample of edges, reweighted so that the Laplacian stays what it was on average.

    Edge e is kept with the probability ``p = min(1, c·w·R)``, where R is its effective resistance,
    and then has the weight ``w/p``: bridges stay, edges with many detours share their weight with
    the ones left.

    Parameters
    ----------
    n_edges : int or None, default=None
        How many edges to keep, exactly, a pair of points counted once; ⌈n·log n⌉ (or all there are,
        if they are fewer) unless another target is given.
    sparsity : float or None, default=None
        Instead, the share of pairs that shall have no edge.
    epsilon : float or None, default=None
        Instead, how much every quadratic form may change: ``|xᵀL_s x − xᵀLx| ≤ ε·xᵀLx`` for all x.
        Edges are then drawn independently, with c such that this fails with a probability of at
        most 0.01, were the resistances exact. It takes many edges.
    n_projections : int, default=100
        As in :func:`effective_resistances`.
    perplexity, n_neighbors : default=30.0, "auto"
        Of the entropic affinities that points and distances are turned into, as in
        :class:`EntropicSparsifier`.
    input : {"data", "affinities", "distances"}, default="data"
        What `fit` is given: points; a square symmetric matrix of weights, dense or sparse; or a
        square matrix of distances.
    metric, neighbors, n_jobs, verbose
        As in :class:`~closeknit.EntropicAffinities`.
    random_state : int, RandomState or None, default=None
        Seeds the projections, the sample, and the approximate neighbour search.

    Attributes
    ----------
    graph_ : csr_matrix of shape (n_samples, n_samples)
        Symmetric; its edges are edges of the original graph, at least as heavy.
    sparsity_ : float
        Share of pairs without an edge.
    probabilities_ : csr_matrix of shape (n_samples, n_samples)
        With which each edge of the original graph was to be kept.

    References
    ----------
    Spielman and Srivastava (2011), Graph sparsification by effective resistances; Tropp (2012),
    User-friendly tail bounds for sums of random matrices, for the constant c.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> sparsifier = ck.graphs.ResistanceSparsifier(n_edges=2000, random_state=0)
    >>> sparsifier.fit_transform(X).nnz
    4000
    """

    saved_state = (*BaseSparsifier.saved_state, "probabilities_")

    probabilities_: Any

    def __init__(
        self,
        n_edges: int | None = None,
        *,
        sparsity: float | None = None,
        epsilon: float | None = None,
        n_projections: int = 100,
        perplexity: float | Sequence[float] = 30.0,
        n_neighbors: int | str | None = "auto",
        input: str = "data",
        metric: str = "euclidean",
        neighbors: Any = "auto",
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.n_edges = n_edges
        self.sparsity = sparsity
        self.epsilon = epsilon
        self.n_projections = n_projections
        self.perplexity = perplexity
        self.n_neighbors = n_neighbors
        self.input = input
        self.metric = metric
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _sparsify(self, X: Any) -> Any:
        W = check_graph(X) if self.input == "affinities" else entropic_graph(X, self)
        if abs(W - W.T).max() > 0.0:
            raise ValueError(
                "resistances need a symmetric graph; use closeknit.graphs.symmetrize first"
            )
        random = check_random_state(self.random_state)
        edges = sparse.coo_matrix(sparse.triu(W, k=1))
        self._say(f"resistances: {edges.nnz} edges, {self.n_projections} systems")
        leverages = _leverages(W, edges, self.n_projections, random, self.n_jobs)
        if self.epsilon is None:
            count = self._count(W.shape[0], edges.nnz)
            probabilities = _probabilities(leverages, count)
            kept = _draw_exactly(probabilities, count, random)
        else:
            factor = _factor_for(self.epsilon, W.shape[0])
            probabilities = np.minimum(1.0, factor * leverages)
            kept = np.flatnonzero(random.random_sample(edges.nnz) < probabilities)
        self.probabilities_ = _both_ways(edges, probabilities, slice(None))
        return _both_ways(edges, edges.data / probabilities, kept)

    def _count(self, n: int, available: int) -> int:
        """How many pairs to keep."""
        if self.sparsity is not None:
            return round(self._wanted_edges(n, 2 * available) / 2)
        if self.n_edges is None:
            return min(available, math.ceil(n * math.log(n)))
        if self.n_edges > available:
            raise ValueError(
                f"n_edges={self.n_edges} is more than the {available} edges of the graph; "
                "ask for fewer, or give a denser graph"
            )
        return int(self.n_edges)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        targets = {
            name: getattr(self, name)
            for name in ("n_edges", "sparsity", "epsilon")
            if getattr(self, name) is not None
        }
        if len(targets) > 1:
            given = " and ".join(f"{name}={value}" for name, value in targets.items())
            raise ValueError(f"{given} are ways to say how many edges to keep; give one of them")
        n_edges = self.n_edges
        if n_edges is not None and not (isinstance(n_edges, int | np.integer) and n_edges >= 1):
            raise ValueError(f"n_edges={n_edges!r} must be an integer of at least 1")
        if self.epsilon is not None and not 0.0 < self.epsilon < 1.0:
            raise ValueError(f"epsilon={self.epsilon} must lie between 0 and 1")


def _leverages(W: Any, edges: Any, n_projections: int, random: Any, n_jobs: int | None) -> Array:
    """Weight times resistance of each edge, kept within what is known of it.

    It is at most 1, and the resistance at least the mean of the reciprocal degrees (Lovász).
    """
    if not edges.nnz:
        return np.empty(0)
    resistances = effective_resistances(
        W, n_projections=n_projections, random_state=random, n_jobs=n_jobs
    )
    reciprocal = 1.0 / np.maximum(np.asarray(W.sum(axis=1)).ravel(), np.finfo(float).tiny)
    least = 0.5 * (reciprocal[edges.row] + reciprocal[edges.col])
    return np.minimum(1.0, edges.data * np.maximum(resistances.data, least))


def _factor_for(epsilon: float, n: int) -> float:
    """C for which matrix Chernoff bounds the failure: 2n·exp(−c ε²/(2 + 2ε/3)) ≤ 0.01."""
    return (2.0 + 2.0 * epsilon / 3.0) * math.log(2.0 * n / _FAILURE) / epsilon**2


def _probabilities(leverages: Array, count: int) -> Array:
    """min(1, c·leverage), with c such that they add up to `count`."""
    order = np.sort(leverages)[::-1]
    # With the k largest certain, c = (count − k)/(sum of the others); take the first k that fits.
    others = np.cumsum(order[::-1])[::-1]
    factors = (count - np.arange(len(order))) / others
    fits = np.flatnonzero(factors * order <= 1.0)
    if count >= len(leverages) or not len(fits):
        return np.ones(len(leverages))
    return np.minimum(1.0, factors[fits[0]] * leverages)


def _draw_exactly(probabilities: Array, count: int, random: Any) -> NDArray[np.intp]:
    """Draw `count` edges, each with its probability: a comb laid over them in random order."""
    order = random.permutation(len(probabilities))
    ends = np.cumsum(probabilities[order])
    teeth = random.random_sample() + np.arange(count)
    # Rounding may leave the last tooth beyond the end.
    hit = np.minimum(np.searchsorted(ends, teeth, side="right"), len(order) - 1)
    return np.sort(order[hit])


def _both_ways(edges: Any, values: Array, kept: Any) -> Any:
    upper = sparse.coo_matrix((values[kept], (edges.row[kept], edges.col[kept])), shape=edges.shape)
    graph = sparse.csr_matrix(upper + upper.T)
    graph.sort_indices()
    return graph
