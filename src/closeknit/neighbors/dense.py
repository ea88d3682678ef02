"""Whole rows of squared distances, block by block, for affinities over all points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from closeknit._arrays import Array, Integers
from closeknit._threads import chunks, effective_n_jobs
from closeknit.neighbors._graph import check_distances, check_no_similarities
from closeknit.neighbors._set_aside import first_equal_rows
from closeknit.neighbors.candidates import candidate_distances
from closeknit.neighbors.geometry import GEOMETRIES
from closeknit.neighbors.pairwise import PairwiseIndex
from closeknit.neighbors.points import data_scale, same_rows
from closeknit.neighbors.search import check_metric_params


@dataclass(frozen=True)
class AllPoints:
    """Points whose neighbours are all of them.

    Parameters
    ----------
    X : (n_samples, n_features) array or CSR matrix
        Points; with ``metric="precomputed"`` distances.
    metric : str
        As in :func:`closeknit.neighbors.find_neighbors`.
    n_jobs : int or None, default=-1
    metric_params : dict or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.neighbors import AllPoints
    >>> points = AllPoints(np.array([[0.0], [1.0], [3.0]]), "euclidean")
    >>> [block for rows, block in points.blocks(np.array([[2.0]]))]
    [array([[4., 1., 1.]])]
    """

    X: Any
    metric: str
    n_jobs: int | None = -1
    metric_params: dict[str, Any] | None = None

    def blocks(self, queries: Any) -> Iterator[tuple[slice, Array]]:
        """Yield slices of the queries with their squared distances to all points."""
        threads = effective_n_jobs(self.n_jobs)
        return dense_sq_distances(queries, self.X, self.metric, threads, self.metric_params)

    def holds(self, queries: Any) -> bool:
        """Whether the queries are the points: all of them, in the same order."""
        return same_rows(queries, self.X)

    def equal_points(self, queries: Any) -> Integers:
        """For each query the first point equal to it, or -1."""
        scale = data_scale(self.X, refuse=False)
        return first_equal_rows(queries, self.X, scale, effective_n_jobs(self.n_jobs))


def dense_sq_distances(
    Q: Any, X: Any, metric: str, n_threads: int = 1, metric_params: dict[str, Any] | None = None
) -> Iterator[tuple[slice, Array]]:
    """Yield slices of `Q`'s rows with the squared distances of these rows to all of `X`.

    Euclidean distances, cosines and inner products are summed pair by pair in float64, so that a
    row does not depend on the others, to the bit, and near-identical points keep their digits.

    Parameters
    ----------
    Q, X : ndarray or csr_matrix
        Points; with ``metric="precomputed"`` `Q` holds the distances and `X` is not used.
    metric : str
        As in :func:`closeknit.neighbors.find_neighbors`.
    n_threads : int, default=1
    metric_params : dict or None, default=None

    Yields
    ------
    rows : slice
    block : ndarray of shape (rows, len(X))
        A fresh array, free to be changed.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.neighbors import dense_sq_distances
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> for rows, block in dense_sq_distances(X[:1], X, "euclidean"):
    ...     print(rows, block)
    slice(0, 1, None) [[0. 1. 9.]]
    """
    if metric == "precomputed" and sparse.issparse(Q):
        raise ValueError(
            "n_neighbors=None needs the distances to all points, which a sparse graph lacks; "
            "pass a dense matrix, or set n_neighbors"
        )
    n_columns = X.shape[0]
    if metric == "precomputed" and Q.shape[1] != n_columns:
        raise ValueError(
            f"expected the distances to all {n_columns} points, got shape {Q.shape}; "
            "for data, use another metric"
        )
    rows_of = _source(Q, X, metric, n_threads, metric_params)
    for rows in chunks(Q.shape[0], 8 * n_columns):
        block = rows_of(rows)
        if not np.isfinite(block).all():
            row = rows.start + int(np.argmin(np.isfinite(block).all(axis=1)))
            raise ValueError(
                f"row {row} has infinite or NaN distances; rescale the data if distances overflow"
            )
        yield rows, block


def _source(Q: Any, X: Any, metric: str, n_threads: int, params: dict[str, Any] | None) -> Any:
    """Return a function from a slice of rows to their squared distances."""
    metric = check_metric_params(metric, params)
    if metric == "precomputed":
        check_distances(Q)
        if Q is X:
            check_no_similarities(Q)
        return lambda rows: np.square(Q[rows], dtype=np.float64)
    if metric in GEOMETRIES:
        geometry = GEOMETRIES[metric]
        points, queries = X, Q
        if geometry.to_points is not None:
            points = geometry.to_points(X)
            queries = points if Q is X else geometry.to_points(Q)
        data_scale(points)  # refuses what has no squared distances
        kind = np.result_type(points.dtype, queries.dtype)
        points, queries = points.astype(kind, copy=False), queries.astype(kind, copy=False)
        sq_offsets = None if geometry.sq_offsets is None else geometry.sq_offsets(points)
        everyone = np.arange(points.shape[0])

        def direct(rows: slice) -> Array:
            some = queries[rows]
            candidates = np.broadcast_to(everyone, (some.shape[0], len(everyone)))
            block = candidate_distances(
                some, points, candidates, sq_offsets=sq_offsets, n_threads=n_threads
            )
            return block if geometry.to_metric is None else geometry.to_metric(block)

        return direct
    index = PairwiseIndex(metric, metric_params=params).fit(X)
    return lambda rows: np.square(index.distances(Q[rows]), dtype=np.float64)
