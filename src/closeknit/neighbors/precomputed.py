"""Distances or graphs that the user has already, read as an index."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from closeknit.linalg import check_structure
from closeknit.neighbors import _graph
from closeknit.neighbors.points import check_n_neighbors, same_rows
from closeknit.neighbors.result import Neighbors


class PrecomputedIndex:
    """Neighbours from a matrix of distances or a graph in KNeighborsTransformer format.

    Examples
    --------
    >>> index = PrecomputedIndex().fit([[0, 1, 4], [1, 0, 2], [4, 2, 0]])
    >>> index.self_neighbors(1).indices.ravel()
    array([1, 0, 1], dtype=int32)
    >>> index.query([[3, 1, 2]], 2).indices
    array([[1, 2]], dtype=int32)
    """

    #: What :func:`closeknit.io.save` keeps of a fitted index.
    saved_state: ClassVar[tuple[str, ...]] = ("distances_",)

    def fit(self, X: Any) -> Self:
        """Take the distances between the fitted points.

        Parameters
        ----------
        X : (n_samples, n_samples) array-like or sparse matrix
            Distances, not squared. Entries a sparse matrix does not store are not neighbours.

        Returns
        -------
        self
        """
        check_structure(X)
        X = X if sp.issparse(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[0] != X.shape[1]:
            raise ValueError(
                f"metric='precomputed' needs a square matrix of distances, got shape {X.shape}"
            )
        if not sp.issparse(X):
            _graph.check_no_similarities(X)
        self.distances_ = X
        return self

    def self_neighbors(self, n_neighbors: int) -> Neighbors:
        """Find each fitted point's nearest other points.

        Parameters
        ----------
        n_neighbors : int

        Returns
        -------
        Neighbors
        """
        n_samples = self.distances_.shape[0]
        n_neighbors = check_n_neighbors(n_neighbors, n_samples, exclude_self=True)
        if sp.issparse(self.distances_):
            return Neighbors.from_graph(self.distances_, n_neighbors)
        return Neighbors.from_distances(self.distances_, n_neighbors)

    def query(self, X: Any, n_neighbors: int) -> Neighbors:
        """Take the neighbours of new points from their distances to the fitted ones.

        Parameters
        ----------
        X : (n_queries, n_samples) array-like or sparse matrix
        n_neighbors : int

        Returns
        -------
        Neighbors
        """
        n_samples = self.distances_.shape[0]
        n_neighbors = check_n_neighbors(n_neighbors, n_samples, exclude_self=False)
        check_structure(X)
        X = X if sp.issparse(X) else np.asarray(X)
        if X.ndim != 2 or X.shape[1] != n_samples:
            raise ValueError(
                f"expected distances to the {n_samples} fitted points, got shape {X.shape}"
            )
        if sp.issparse(X):
            return Neighbors(*_graph.from_csr(X, n_neighbors, drop_diagonal=False))
        return Neighbors(*_graph.from_rectangle(X, n_neighbors))

    def holds(self, X: Any) -> bool:
        """Whether `X` is what was fitted: all of it, in the same order.

        Parameters
        ----------
        X : (n_queries, n_samples) array or CSR matrix

        Returns
        -------
        bool
        """
        return same_rows(X, self.distances_)
