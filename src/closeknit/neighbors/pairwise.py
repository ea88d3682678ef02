"""Exact search for every other metric scikit-learn knows, in chunks of full distance rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from closeknit._arrays import Array, Integers
from closeknit._threads import chunks, effective_n_jobs, run_chunks, single_threaded_blas
from closeknit.neighbors import _graph
from closeknit.neighbors.points import (
    Data,
    check_data,
    check_n_neighbors,
    data_scale,
    same_rows,
)
from closeknit.neighbors.result import Neighbors
from closeknit.progress import log, shown


@dataclass(eq=False)
class PairwiseIndex:
    """Exact search by `sklearn.metrics.pairwise_distances`, a few rows at a time.

    Parameters
    ----------
    metric : str or callable
        Any metric `sklearn.metrics.pairwise_distances` takes; `sq_distances` are the squares of
        its distances.
    metric_params : dict, optional
        Further arguments of the metric. Variances or covariances that the metric needs and that
        are not given are those of the fitted data.
    n_jobs : int or None
    verbose : bool

    Examples
    --------
    >>> index = PairwiseIndex("manhattan").fit([[0, 0], [1, 1], [3, 0]])
    >>> index.self_neighbors(1).sq_distances.ravel()
    array([4., 4., 9.])
    """

    #: What :func:`closeknit.io.save` keeps of a fitted index.
    saved_state: ClassVar[tuple[str, ...]] = ("points_", "params_")

    metric: str | Callable[..., float] = "euclidean"
    _: KW_ONLY
    metric_params: dict[str, Any] | None = None
    n_jobs: int | None = -1
    verbose: bool = False

    def fit(self, X: Any) -> Self:
        """Take the points among which to search.

        Parameters
        ----------
        X : (n_samples, n_features) array-like or sparse matrix

        Returns
        -------
        self
        """
        X = check_data(X)
        data_scale(X)  # refuses what has no squared distances
        if sp.issparse(X):
            _check_sparse(self.metric)
        self.points_ = self._convert(X)
        self.params_ = dict(self.metric_params or {})
        if self.metric == "seuclidean" and "V" not in self.params_:
            self.params_["V"] = _variances(self.points_)
        if self.metric == "mahalanobis" and not self.params_.keys() & {"V", "VI"}:
            self.params_["VI"] = _inverse_covariance(self.points_)
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
        n_samples = self.points_.shape[0]
        n_neighbors = check_n_neighbors(n_neighbors, n_samples, exclude_self=True)
        return self._search(self.points_, n_neighbors, np.arange(n_samples))

    def query(self, X: Any, n_neighbors: int) -> Neighbors:
        """Find each new point's nearest fitted points; none is left out.

        Parameters
        ----------
        X : (n_queries, n_features) array-like or sparse matrix
        n_neighbors : int

        Returns
        -------
        Neighbors
        """
        X = check_data(X, n_features=self.points_.shape[1])
        n_neighbors = check_n_neighbors(n_neighbors, self.points_.shape[0], exclude_self=False)
        return self._search(self._convert(X), n_neighbors, None)

    def holds(self, X: Any) -> bool:
        """Whether `X` is what was fitted: all of it, in the same order.

        Parameters
        ----------
        X : (n_queries, n_features) array or CSR matrix

        Returns
        -------
        bool
        """
        return same_rows(X, self.points_, self._convert)

    def distances(self, X: Any) -> npt.NDArray[Any]:
        """All distances from some points to the fitted ones, as the metric gives them.

        Parameters
        ----------
        X : (n_queries, n_features) array or CSR matrix

        Returns
        -------
        (n_queries, n_samples) array
        """
        from sklearn.metrics import pairwise_distances

        try:
            found = pairwise_distances(
                self._convert(X), self.points_, metric=self.metric, **self.params_
            )
        except TypeError as error:  # a parameter that the metric does not have
            raise ValueError(
                f"metric={self.metric!r} does not take metric_params={self.metric_params!r}: "
                f"{error}"
            ) from error
        return np.asarray(found)

    def _convert(self, X: Data) -> Data:
        from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

        if self.metric in PAIRWISE_BOOLEAN_FUNCTIONS and not sp.issparse(X):
            return X.astype(bool)
        return X.astype(np.float64, copy=False)

    def _search(self, rows: Data, n_neighbors: int, self_indices: Integers | None) -> Neighbors:
        n_targets = self.points_.shape[0]
        indices = np.empty((rows.shape[0], n_neighbors), dtype=np.int64)
        sq_distances = np.empty((rows.shape[0], n_neighbors))

        def search_chunk(chunk: slice) -> None:
            block = self.distances(rows[chunk])
            own = None if self_indices is None else self_indices[chunk]
            indices[chunk], sq_distances[chunk], _ = _graph.from_rectangle(block, n_neighbors, own)

        # Chunks of one size on threads of our own: scikit-learn's n_jobs would cut the work, and
        # round its results, by the number of threads.
        parts = chunks(rows.shape[0], 64 * n_targets)
        with shown(self.verbose), single_threaded_blas():
            log("exact search by full rows of distances, metric %r", self.metric)
            run_chunks("neighbours", search_chunk, parts, effective_n_jobs(self.n_jobs))
        return Neighbors(indices, sq_distances, n_targets)


def _check_sparse(metric: Any) -> None:
    from sklearn.neighbors import VALID_METRICS_SPARSE

    known = sorted({*VALID_METRICS_SPARSE["brute"]} - {"precomputed"})
    if not callable(metric) and metric not in known:
        raise ValueError(
            f"metric={metric!r} needs dense data; convert them with X.toarray(), or use one of "
            f"{', '.join(known)}"
        )


def _variances(X: Data) -> Array:
    variances = np.var(X, axis=0, ddof=1, dtype=np.float64)
    if not (variances > 0.0).all():
        raise ValueError(
            f"metric='seuclidean' divides by the variance of every feature, but feature "
            f"{int(np.argmin(variances))} is constant; leave it out"
        )
    return variances


def _inverse_covariance(X: Data) -> Array:
    covariance = np.atleast_2d(np.cov(X, rowvar=False))
    rank, n_features = int(np.linalg.matrix_rank(covariance, hermitian=True)), len(covariance)
    if rank < n_features:
        raise ValueError(
            f"metric='mahalanobis' needs an invertible covariance, but the {X.shape[0]} points "
            f"vary in only {rank} of {n_features} directions; leave out features that are "
            "constant or follow from others, or reduce the data with PCA first"
        )
    return np.asarray(np.linalg.inv(covariance))
