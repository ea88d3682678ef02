"""Keep the edges whose entropic affinity is not too small (section 4 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from closeknit.graphs._input import check_graph, entropic_graph
from closeknit.graphs._select import keep_smallest, subgraph
from closeknit.graphs.base import BaseSparsifier

__all__ = ["EntropicSparsifier"]


class EntropicSparsifier(BaseSparsifier):
    """Entropic affinities, of which those below a threshold are set to zero.

    Parameters
    ----------
    perplexity : float, or list or tuple of floats, default=30.0
        Effective number of neighbours; see :class:`~closeknit.EntropicAffinities`. Given
        affinities are taken as they are.
    threshold : float or None, default=None
        Affinities below it are dropped; 0.001 unless `sparsity` is given. The symmetric affinities
        ``(P + Pᵀ)/2`` of a point add up to about 1.
    sparsity : float or None, default=None
        Instead of a threshold, the share of pairs that shall have no edge. Met as closely as ties
        permit: equal affinities are kept or dropped together.
    n_neighbors : "auto", int or None, default="auto"
        Neighbours each point is compared with. ``"auto"`` means ⌈3 · perplexity⌉, or twice as many
        as `sparsity` leaves on average if that is more; None means all, in an n × n array.
    input : {"data", "affinities", "distances"}, default="data"
        What `fit` is given: points; a square matrix of weights, dense or sparse; or a square matrix
        of distances, of which a sparse one stores the neighbours only.
    metric, neighbors, n_jobs, random_state, verbose
        As in :class:`~closeknit.EntropicAffinities`.

    Attributes
    ----------
    graph_ : csr_matrix of shape (n_samples, n_samples)
        The affinities that are left. Symmetric unless affinities were given that are not.
    sparsity_ : float
        Share of pairs without an edge.
    threshold_ : float
        The smallest affinity left; infinite if none is.

    References
    ----------
    Dupré and Lam, Graph sparsification for kernel methods, section 4.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(500, factor=0.5, noise=0.05, random_state=0)
    >>> sparsifier = ck.graphs.EntropicSparsifier(perplexity=30, sparsity=0.93)
    >>> sparsifier.fit_transform(X).shape
    (500, 500)
    >>> round(sparsifier.sparsity_, 3)
    0.93
    """

    saved_state = (*BaseSparsifier.saved_state, "threshold_")

    threshold_: float

    def __init__(
        self,
        perplexity: float | Sequence[float] = 30.0,
        *,
        threshold: float | None = None,
        sparsity: float | None = None,
        n_neighbors: int | str | None = "auto",
        input: str = "data",
        metric: str = "euclidean",
        neighbors: Any = "auto",
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.perplexity = perplexity
        self.threshold = threshold
        self.sparsity = sparsity
        self.n_neighbors = n_neighbors
        self.input = input
        self.metric = metric
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _sparsify(self, X: Any) -> Any:
        W = check_graph(X) if self.input == "affinities" else entropic_graph(X, self)
        if self.sparsity is None:
            kept = W.data >= (0.001 if self.threshold is None else self.threshold)
        else:
            kept = keep_smallest(-W.data, self._wanted_edges(W.shape[0], W.nnz))
        graph = subgraph(W, kept)
        self.threshold_ = float(graph.data.min(initial=np.inf))
        return graph

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.threshold is None:
            return
        if self.sparsity is not None:
            raise ValueError(
                f"threshold={self.threshold} and sparsity={self.sparsity} are two ways to say how "
                "many edges to keep; give one of them"
            )
        if not self.threshold >= 0.0:
            raise ValueError(f"threshold={self.threshold} must be a number of at least 0")
