"""Sample edges by their effective resistances, which keeps the spectrum of the Laplacian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from closeknit._arrays import Array, Integers
from closeknit._checks import check_number
from closeknit.graphs.resistances import effective_resistances
from closeknit.graphs.sparsifier import BaseSparsifier
from closeknit.linalg import canonical, row_sums
from closeknit.progress import log

#: Probability with which the bound on the spectrum may fail.
_FAILURE = 0.01


@dataclass(repr=False, eq=False)
class ResistanceSparsifier(BaseSparsifier):
    """Keep a random sample of edges, reweighted so that the Laplacian is unchanged on average.

    An edge of weight w is kept with the probability ``p = min(1, c·w·R)``, where R is its effective
    resistance, and then has the weight ``w/p``: bridges stay, and of edges with many detours a few
    stand for the others.

    Parameters
    ----------
    n_edges : int or None, default=None
        How many edges to keep, exactly, a pair of points counted once; ⌈n·log n⌉ (or all there are,
        if they are fewer) unless another target is given.
    sparsity : float or None, default=None
        Instead, the share of pairs that are to have no edge.
    epsilon : float or None, default=None
        Instead, how much every quadratic form may change: ``|xᵀL_s x − xᵀLx| ≤ ε·xᵀLx`` for all x.
        Edges are then drawn independently, with c such that this fails with a probability of at
        most 0.01 if the resistances were exact. This keeps many edges.
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
        Of each edge of the original graph to be kept.

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

    n_edges: int | None = None
    _: KW_ONLY
    epsilon: float | None = None
    n_projections: int = 100
    perplexity: float | Sequence[float] = 30.0
    n_neighbors: int | str | None = "auto"

    def _sparsify(self, X: Any) -> dict[str, Any]:
        W = self._affinity_graph(X)
        random = check_random_state(self.random_state)
        edges = sparse.coo_matrix(sparse.triu(W, k=1))
        log("resistances: %d edges, %d systems", edges.nnz, self.n_projections)
        leverages = _leverages(W, edges, self.n_projections, random, self.n_jobs)
        if self.epsilon is None:
            count = self._count(W.shape[0], edges.nnz)
            probabilities = _probabilities(leverages, count)
            kept = _draw_exactly(probabilities, count, random)
        else:
            factor = _factor_for(self.epsilon, W.shape[0])
            probabilities = np.minimum(1.0, factor * leverages)
            kept = np.flatnonzero(random.random_sample(edges.nnz) < probabilities)
        return {
            # Edges that weigh nothing beside the others may have probability 0; they are not kept.
            "graph_": _both_ways(edges, edges.data / np.maximum(probabilities, 1e-300), kept),
            "probabilities_": _both_ways(edges, probabilities, slice(None)),
        }

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
        self._check_one_target("n_edges", "sparsity", "epsilon")
        if self.n_edges is not None:
            check_number("n_edges", self.n_edges, integer=True, least=1)
        if self.epsilon is not None:
            check_number("epsilon", self.epsilon, share=True)


def _leverages(W: Any, edges: Any, n_projections: int, random: Any, n_jobs: int | None) -> Array:
    """Weight times resistance of each edge, kept within what is known of it.

    It is at most 1, and the resistance at least the mean of the reciprocal degrees (Lovász).
    """
    resistances = effective_resistances(
        W, n_projections=n_projections, random_state=random, n_jobs=n_jobs
    )
    reciprocal = 1.0 / np.maximum(row_sums(W), np.finfo(float).tiny)
    least = 0.5 * (reciprocal[edges.row] + reciprocal[edges.col])
    return np.minimum(1.0, edges.data * np.maximum(resistances.data, least))


def _factor_for(epsilon: float, n: int) -> float:
    """Return c with 2n·exp(−c ε²/(2 + 2ε/3)) = 0.01, the matrix Chernoff bound of a failure."""
    return (2.0 + 2.0 * epsilon / 3.0) * math.log(2.0 * n / _FAILURE) / epsilon / epsilon


def _probabilities(leverages: Array, count: int) -> Array:
    """min(1, c·leverage), with c such that they add up to `count`."""
    order = np.sort(leverages)[::-1]
    # With the k largest certain, c = (count − k)/(sum of the others); take the first k that fits.
    others = np.cumsum(order[::-1])[::-1]
    factors = (count - np.arange(len(order))) / np.maximum(others, 1e-300)
    fits = np.flatnonzero(factors * order <= 1.0)
    if count >= len(leverages) or not len(fits):
        return np.ones(len(leverages))
    return np.minimum(1.0, factors[fits[0]] * leverages)


def _draw_exactly(probabilities: Array, count: int, random: Any) -> Integers:
    """Draw `count` edges, each with its probability: systematic sampling in random order."""
    order = random.permutation(len(probabilities))
    ends = np.cumsum(probabilities[order])
    points = random.random_sample() + np.arange(count)
    # Rounding may leave the last point beyond the end.
    hit = np.minimum(np.searchsorted(ends, points, side="right"), len(order) - 1)
    return np.sort(order[hit])


def _both_ways(edges: Any, values: Array, kept: Any) -> Any:
    """The symmetric graph of some edges above the diagonal."""
    upper = sparse.coo_matrix((values[kept], (edges.row[kept], edges.col[kept])), shape=edges.shape)
    return canonical(upper + upper.T)
