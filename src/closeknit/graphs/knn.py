"""Keep the edges between nearest neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from closeknit.graphs._input import check_graph
from closeknit.graphs._select import edges_of_sparsity, keep_smallest, subgraph
from closeknit.graphs.base import BaseSparsifier
from closeknit.neighbors import Neighbors, fit_index

__all__ = ["KNNSparsifier"]

_DEFAULT = 10


# How near two points are is kept as n_samples minus the rank of one among the neighbours of the
# other: at least 1 for a pair with an edge, so that 0, the entry a sparse matrix does not store,
# means what it should.


class KNNSparsifier(BaseSparsifier):
    """Join points of which one is among the k nearest neighbours of the other.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        How many neighbours k; 10 unless `sparsity` is given.
    mutual : bool, default=False
        Whether each of two points must be among the neighbours of the other, instead of either.
    sparsity : float or None, default=None
        Instead of `n_neighbors`, the share of pairs that shall have no edge: k is chosen so that
        the graph comes as close to it as a whole number of neighbours permits.
    mode : {"connectivity", "distance"}, default="connectivity"
        Weights of the edges, 1 or the distance, if points or distances are given. Affinities that
        are given stay what they are.
    input : {"data", "affinities", "distances"}, default="data"
        What `fit` is given: points; a square matrix of weights, dense or sparse; or a square matrix
        of distances, of which a sparse one stores the neighbours only. Neighbours in a matrix of
        weights are the points of the largest weights.
    metric, neighbors, n_jobs, random_state, verbose
        As in :class:`~closeknit.EntropicAffinities`.

    Attributes
    ----------
    graph_ : csr_matrix of shape (n_samples, n_samples)
        Symmetric unless affinities were given that are not. Edges of length 0 are stored.
    sparsity_ : float
        Share of pairs without an edge.
    n_neighbors_ : int
        The number k of neighbours.

    Notes
    -----
    Where several points tie for the last place among the neighbours, given affinities keep them
    all; points and distances keep those of the lowest index, as neighbour searches do.

    References
    ----------
    Dupré and Lam, Graph sparsification for kernel methods, section 5.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(500, noise=0.05, random_state=0)
    >>> sparsifier = ck.graphs.KNNSparsifier(sparsity=0.95).fit(X)
    >>> sparsifier.n_neighbors_, round(sparsifier.sparsity_, 2)
    (23, 0.95)
    """

    saved_state = (*BaseSparsifier.saved_state, "n_neighbors_")

    n_neighbors_: int

    def __init__(
        self,
        n_neighbors: int | None = None,
        *,
        mutual: bool = False,
        sparsity: float | None = None,
        mode: str = "connectivity",
        input: str = "data",
        metric: str = "euclidean",
        neighbors: Any = "auto",
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.n_neighbors = n_neighbors
        self.mutual = mutual
        self.sparsity = sparsity
        self.mode = mode
        self.input = input
        self.metric = metric
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _sparsify(self, X: Any) -> Any:
        if self.input == "affinities":
            W = check_graph(X)
            near = self._join(_nearness_by_weight(W)).multiply(W > 0.0)
            return self._choose(near, W)
        near, distances = self._search(X)
        if self.mode == "connectivity":
            return self._choose(near, near.astype(bool).astype(np.float64))
        # Codes stand for distances, because a distance of 0 would not be stored.
        lengths, codes = np.unique(distances.data, return_inverse=True)
        coded = sparse.csr_matrix(
            (len(lengths) - codes, distances.indices, distances.indptr), shape=distances.shape
        )
        graph = self._choose(near, self._join(coded))
        graph.data = lengths[len(lengths) - graph.data.astype(np.int64)]
        return graph

    def _choose(self, near: Any, weights: Any) -> Any:
        """Keep the weights of the pairs that are near enough."""
        n = near.shape[0]
        near = sparse.csr_matrix(near)
        if self.sparsity is None:
            self.n_neighbors_ = self._count()
            kept = near.data >= n - self.n_neighbors_
        else:
            kept = keep_smallest(-near.data, self._wanted_edges(n, near.nnz))
            self.n_neighbors_ = int(n - near.data[kept].min(initial=n))
        graph = sparse.csr_matrix(weights.multiply(subgraph(near, kept) > 0))
        graph.sort_indices()
        return graph

    def _join(self, directed: Any) -> Any:
        """Take what is larger of both directions, or what is smaller and in both."""
        there, back = directed, sparse.csr_matrix(directed.T)
        return sparse.csr_matrix(there.minimum(back) if self.mutual else there.maximum(back))

    def _search(self, X: Any) -> tuple[Any, Any]:
        """Find neighbours; return how near each pair is, and the directed graph of distances."""
        find, most = self._searcher(X)
        n, k = X.shape[0], self._neighbors_to_search(X.shape[0], most)
        while True:
            distances = find(k).to_graph()
            near = self._join(_nearness_by_place(distances))
            if self.sparsity is None or k == most or near.nnz >= self._edges(n):
                return near, distances
            k = min(2 * k, most)  # how many of the edges are mutual, only the data tell

    def _searcher(self, X: Any) -> tuple[Callable[[int], Neighbors], int]:
        """A function from a number of neighbours to these, and the largest number it takes."""
        given = self.neighbors
        if isinstance(given, Neighbors | tuple):
            found = given if isinstance(given, Neighbors) else Neighbors.from_arrays(*given)
            if found.n_samples != X.shape[0] or found.n_targets != X.shape[0]:
                raise ValueError(
                    f"neighbors= describes {found.n_samples} points among {found.n_targets}, "
                    f"X has {X.shape[0]}; they must be the same points"
                )
            return found.truncate, found.n_neighbors
        metric = "precomputed" if self.input == "distances" else self.metric
        options = {"n_jobs": self.n_jobs, "random_state": self.random_state}
        index = fit_index(X, metric, given, verbose=self.verbose, **options)
        return index.self_neighbors, X.shape[0] - 1

    def _neighbors_to_search(self, n: int, most: int) -> int:
        if self.sparsity is not None:
            # Either end's neighbours make at least as many edges as wanted; mutual ones are fewer.
            return min(most, max(1, math.ceil(self._edges(n) * (1 + self.mutual) / n)))
        k = self._count()
        if k > n - 1:
            raise ValueError(
                f"n_neighbors={k} needs at least {k + 1} points, got n_samples = {n}; "
                "lower n_neighbors"
            )
        if k > most:
            raise ValueError(f"n_neighbors={k}, but neighbors= holds only {most} per point")
        return k

    def _edges(self, n: int) -> float:
        assert self.sparsity is not None
        return edges_of_sparsity(self.sparsity, n)

    def _count(self) -> int:
        return _DEFAULT if self.n_neighbors is None else int(self.n_neighbors)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.mode not in ("connectivity", "distance"):
            raise ValueError(f"mode={self.mode!r} is unknown; choose 'connectivity' or 'distance'")
        k = self.n_neighbors
        if k is None:
            return
        if self.sparsity is not None:
            raise ValueError(
                f"n_neighbors={k} and sparsity={self.sparsity} are two ways to say how many edges "
                "to keep; give one of them"
            )
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
            raise ValueError(f"n_neighbors={k!r} must be an integer of at least 1")


def _nearness_by_place(distances: Any) -> Any:
    """n_samples minus the rank of each entry in a graph whose rows are sorted by distance."""
    n, pointers = distances.shape[0], distances.indptr
    place = np.arange(distances.nnz) - np.repeat(pointers[:-1], np.diff(pointers))
    return sparse.csr_matrix((n - 1 - place, distances.indices, pointers), shape=distances.shape)


def _nearness_by_weight(W: Any) -> Any:
    """n_samples minus the rank of each entry within its row; equal weights share the best rank."""
    n = W.shape[0]
    rows = np.repeat(np.arange(n), np.diff(W.indptr))
    order = np.lexsort((-W.data, rows))
    rows, weights = rows[order], W.data[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (weights[1:] != weights[:-1])
    place = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0)) - W.indptr[rows]
    near = np.empty(len(order), dtype=np.int64)
    near[order] = n - 1 - place
    return sparse.csr_matrix((near, W.indices, W.indptr), shape=W.shape)
