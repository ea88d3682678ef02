"""Exact search for every other metric scikit-learn knows, in chunks of full distance rows."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from closeknit._threads import effective_n_jobs
from closeknit.neighbors import _graph
from closeknit.neighbors._order import chunks
from closeknit.neighbors._report import Reporter
from closeknit.neighbors._rows import Data
from closeknit.neighbors._validate import check_data, check_n_neighbors
from closeknit.neighbors.result import Neighbors

__all__ = ["PairwiseIndex"]


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

    saved_state: ClassVar[tuple[str, ...]] = ("points_", "params_")

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = -1,
        verbose: bool = False,
    ) -> None:
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any) -> Self:
        """Take the points among which to search.

        Parameters
        ----------
        X : (n_samples, n_features) array-like or sparse matrix

        Returns
        -------
        self
        """
        self.points_ = self._convert(check_data(X))
        self.params_ = dict(self.metric_params or {})
        if self.metric == "seuclidean" and "V" not in self.params_:
            self.params_["V"] = np.var(self.points_, axis=0, ddof=1, dtype=np.float64)
        if self.metric == "mahalanobis" and not self.params_.keys() & {"V", "VI"}:
            covariance = np.atleast_2d(np.cov(self.points_, rowvar=False))
            self.params_["VI"] = np.linalg.inv(covariance)
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
        X = self._convert(check_data(X, self.points_.shape[1]))
        n_neighbors = check_n_neighbors(n_neighbors, self.points_.shape[0], exclude_self=False)
        return self._search(X, n_neighbors, None)

    def _convert(self, X: Data) -> Data:
        from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS

        if self.metric in PAIRWISE_BOOLEAN_FUNCTIONS and not sp.issparse(X):
            return X.astype(bool)
        return X.astype(np.float64, copy=False)

    def _search(
        self, rows: Data, n_neighbors: int, self_indices: npt.NDArray[np.intp] | None
    ) -> Neighbors:
        from sklearn.metrics import pairwise_distances

        n_targets = self.points_.shape[0]
        n_threads = effective_n_jobs(self.n_jobs)
        indices = np.empty((rows.shape[0], n_neighbors), dtype=np.int64)
        sq_distances = np.empty((rows.shape[0], n_neighbors))
        report = Reporter(self.verbose)
        report(f"exact search by full rows of distances, metric {self.metric!r}")

        def search_chunk(chunk: slice) -> None:
            block = pairwise_distances(
                rows[chunk], self.points_, metric=self.metric, **self.params_
            )
            own = None if self_indices is None else self_indices[chunk]
            indices[chunk], sq_distances[chunk], _ = _graph.from_rectangle(
                np.asarray(block), n_neighbors, own
            )

        # Chunks of one size on threads of our own: scikit-learn's n_jobs would cut the work, and
        # round its results, by the number of threads.
        parts = chunks(rows.shape[0], 64 * n_targets)
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(n_threads) as pool:
            running = [pool.submit(search_chunk, chunk) for chunk in parts]
            for future in report.progress("distances", running):
                future.result()
        return Neighbors(indices, sq_distances, n_targets)
