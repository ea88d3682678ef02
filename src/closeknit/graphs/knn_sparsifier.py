"""Keep the edges between nearest neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from closeknit._checks import check_number
from closeknit.graphs.selection import keep_smallest
from closeknit.graphs.sparsifier import BaseSparsifier
from closeknit.linalg import canonical, check_weights, entry_rows, take_entries, with_data
from closeknit.neighbors import Neighbors, fit_index, given_neighbors

_DEFAULT = 10


# How near two points are is kept as n_samples minus the rank of one among the neighbours of the
# other: at least 1 for a pair with an edge, so that 0, the entry a sparse matrix does not store,
# means what it should.


@dataclass(repr=False, eq=False)
class KNNSparsifier(BaseSparsifier):
    """Join points of which one is among the k nearest neighbours of the other.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        How many neighbours k; 10 unless `sparsity` is given.
    mutual : bool, default=False
        Whether each of two points must be among the neighbours of the other, instead of either.
    sparsity : float or None, default=None
        Instead of `n_neighbors`, the share of pairs that are to have no edge: k is chosen so that
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

    n_neighbors: int | None = None
    _: KW_ONLY
    mutual: bool = False
    mode: str = "connectivity"

    def _sparsify(self, X: Any) -> dict[str, Any]:
        if self.input == "affinities":
            W = check_weights(X)
            near = canonical(self._join(_nearness_by_weight(W)).multiply(W > 0.0))
            weights = canonical(W.multiply(near > 0.0))
        else:
            near, distances = self._search(X)
            weights = with_data(near, np.ones(near.nnz))
            if self.mode == "distance":
                weights = self._join_distances(distances)
        n = near.shape[0]
        if self.sparsity is None:
            k = self._count()
            kept = near.data >= n - k
        else:
            kept = keep_smallest(-near.data, self._wanted_edges(n, near.nnz))
            k = int(n - near.data[kept].min(initial=n))
        return {"graph_": take_entries(weights, np.flatnonzero(kept)), "n_neighbors_": k}

    def _join(self, directed: csr_matrix) -> csr_matrix:
        """Take what is larger of both directions, or what is smaller and in both."""
        there, back = directed, csr_matrix(directed.T)
        return canonical(there.minimum(back) if self.mutual else there.maximum(back))

    def _join_distances(self, directed: csr_matrix) -> csr_matrix:
        """Distances of the edges between neighbours."""
        # Codes stand for distances, because a distance of 0 would not be stored.
        lengths, codes = np.unique(directed.data, return_inverse=True)
        joined = self._join(with_data(directed, len(lengths) - codes))
        return with_data(joined, lengths[len(lengths) - joined.data.astype(np.int64)])

    def _search(self, X: Any) -> tuple[csr_matrix, csr_matrix]:
        """Find neighbours; return how near each pair is, and the directed graph of distances."""
        find, most = self._searcher(X)
        n, k = X.shape[0], self._neighbors_to_search(X.shape[0], most)
        wanted = 0.0 if self.sparsity is None else self._edges(n)
        while True:
            # Rows are sorted by distance.
            found = find(k).to_graph()
            place = np.arange(found.nnz) - found.indptr[entry_rows(found)]
            near = self._join(with_data(found, n - 1 - place))
            if k == most or near.nnz >= wanted:
                return near, found
            k = min(2 * k, most)  # how many of the edges are mutual depends on the data

    def _searcher(self, X: Any) -> tuple[Callable[[int], Neighbors], int]:
        """A function from a number of neighbours to these, and the largest number it takes."""
        given = self.neighbors
        if isinstance(given, Neighbors | tuple):
            found = given_neighbors(given, X.shape[0])
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

    def _count(self) -> int:
        return _DEFAULT if self.n_neighbors is None else int(self.n_neighbors)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_one_target("n_neighbors", "sparsity")
        if self.mode not in ("connectivity", "distance"):
            raise ValueError(f"mode={self.mode!r} is unknown; choose 'connectivity' or 'distance'")
        if self.n_neighbors is not None:
            check_number("n_neighbors", self.n_neighbors, integer=True, least=1)


def _nearness_by_weight(W: csr_matrix) -> csr_matrix:
    """n_samples minus the rank of each entry within its row; equal weights share the best rank."""
    rows = entry_rows(W)
    order = np.lexsort((-W.data, rows))
    rows, weights = rows[order], W.data[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (weights[1:] != weights[:-1])
    place = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0)) - W.indptr[rows]
    near = np.empty(len(order), dtype=np.int64)
    near[order] = W.shape[0] - 1 - place
    return with_data(W, near)
