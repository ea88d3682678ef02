"""Keep the edges of large entropic affinity (section 4 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from closeknit.graphs.selection import keep_smallest
from closeknit.graphs.sparsifier import BaseSparsifier
from closeknit.linalg import take_entries


@dataclass(repr=False, eq=False)
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
        Instead of a threshold, the share of pairs that are to have no edge. Met as closely as ties
        permit: equal affinities are kept or dropped together.
    n_neighbors : "auto", int or None, default="auto"
        Neighbours each point is compared with. ``"auto"`` means ⌈3 · perplexity⌉, or twice as many
        as `sparsity` keeps on average if that is more; None means all, in an n × n array.
    input : {"data", "affinities", "distances"}, default="data"
        What `fit` is given: points; a square matrix of weights, dense or sparse; or a square matrix
        of distances, of which a sparse one stores the neighbours only.
    metric, neighbors, n_jobs, random_state, verbose
        As in :class:`~closeknit.EntropicAffinities`.

    Attributes
    ----------
    graph_ : csr_matrix of shape (n_samples, n_samples)
        The affinities kept. Symmetric unless affinities were given that are not.
    sparsity_ : float
        Share of pairs without an edge.
    threshold_ : float
        The smallest affinity kept; infinite if there is none.

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

    perplexity: float | Sequence[float] = 30.0
    _: KW_ONLY
    threshold: float | None = None
    n_neighbors: int | str | None = "auto"

    def _sparsify(self, X: Any) -> dict[str, Any]:
        W = self._affinity_graph(X)
        if self.sparsity is None:
            kept = W.data >= (0.001 if self.threshold is None else self.threshold)
        else:
            kept = keep_smallest(-W.data, self._wanted_edges(W.shape[0], W.nnz))
        graph = take_entries(W, np.flatnonzero(kept))
        return {"graph_": graph, "threshold_": float(graph.data.min(initial=np.inf))}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_one_target("threshold", "sparsity")
        if self.threshold is not None and not self.threshold >= 0.0:
            raise ValueError(f"threshold={self.threshold} must be a number of at least 0")
