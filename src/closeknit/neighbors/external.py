"""Search by any estimator that turns data into a graph of neighbours."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Self

from closeknit.neighbors import _graph
from closeknit.neighbors.points import check_n_neighbors, same_rows
from closeknit.neighbors.result import Neighbors


class EstimatorIndex:
    """An index around an estimator like scikit-learn's KNeighborsTransformer.

    Parameters
    ----------
    estimator : object
        With `fit` and `transform`, returning a graph of distances (not squared). It is cloned; its
        ``n_neighbors`` is set where it has that parameter.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsTransformer
    >>> index = EstimatorIndex(KNeighborsTransformer()).fit([[0.0], [1.0], [3.0]])
    >>> index.self_neighbors(2).sq_distances[0]
    array([1., 9.])
    """

    def __init__(self, estimator: Any) -> None:
        if not (hasattr(estimator, "fit") and hasattr(estimator, "transform")) and not hasattr(
            estimator, "fit_transform"
        ):
            raise TypeError(
                f"neighbors={estimator!r} is neither 'auto', 'exact', 'approximate', an index nor "
                "an estimator with fit and transform like sklearn.neighbors.KNeighborsTransformer"
            )
        self.estimator = estimator

    def fit(self, X: Any) -> Self:
        """Take the points among which to search; the estimator is fitted when it is asked.

        Parameters
        ----------
        X : array-like or sparse matrix
            Whatever the estimator takes.

        Returns
        -------
        self
        """
        self._X = X
        self._n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
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
        n_neighbors = check_n_neighbors(n_neighbors, self._n_samples, exclude_self=True)
        estimator = self._configured(n_neighbors)
        with _sparse_output():
            if hasattr(estimator, "fit_transform"):
                graph = estimator.fit_transform(self._X)
            else:
                graph = estimator.fit(self._X).transform(self._X)
        return Neighbors.from_graph(graph, n_neighbors)

    def query(self, X: Any, n_neighbors: int) -> Neighbors:
        """Find each new point's nearest fitted points.

        Parameters
        ----------
        X : array-like or sparse matrix
        n_neighbors : int

        Returns
        -------
        Neighbors
        """
        n_neighbors = check_n_neighbors(n_neighbors, self._n_samples, exclude_self=False)
        with _sparse_output():
            graph = self._configured(n_neighbors).fit(self._X).transform(X)
        return Neighbors(*_graph.from_csr(graph, n_neighbors, drop_diagonal=False))

    def holds(self, X: Any) -> bool:
        """Whether `X` is what was fitted: all of it, in the same order.

        Parameters
        ----------
        X : array or CSR matrix

        Returns
        -------
        bool
        """
        return same_rows(X, self._X)

    def _configured(self, n_neighbors: int) -> Any:
        from sklearn.base import clone

        estimator = clone(self.estimator, safe=False)
        if hasattr(estimator, "set_params") and "n_neighbors" in estimator.get_params():
            estimator.set_params(n_neighbors=n_neighbors)
        return estimator


def _sparse_output() -> AbstractContextManager[None]:
    """Graphs as they are, also where scikit-learn is to return frames, which hold none."""
    from sklearn import config_context

    context: AbstractContextManager[None] = config_context(transform_output="default")
    return context
