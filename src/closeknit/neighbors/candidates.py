"""Candidates: their distances by the compiled core, sorted and selected.

Everything is ordered by (distance, index), so that ties never depend on chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import chunks
from closeknit.neighbors.points import Data, Found, as_rows


def candidate_distances(
    queries: Data,
    points: Data,
    candidates: Integers,
    *,
    sq_offsets: Array | None = None,
    n_threads: int = 1,
) -> Array:
    """Squared Euclidean distances Σ(x−y)² from each query to its own candidates, in float64.

    Parameters
    ----------
    queries, points : array or CSR matrix
        Both dense or both sparse, of one dtype.
    candidates : (n_queries, n_candidates) integer array
        Rows of `points`; negative entries get an infinite distance.
    sq_offsets : (n_points,) array, optional
        Added to the squared distance to each point.
    n_threads : int

    Returns
    -------
    (n_queries, n_candidates) array

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.neighbors import candidate_distances
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> candidate_distances(X, X, np.array([[1], [-1]]))
    array([[25.],
           [inf]])
    """
    out = np.empty(candidates.shape)
    _core.candidate_distances(
        as_rows(queries),
        as_rows(points),
        sq_offsets,
        np.ascontiguousarray(candidates, dtype=np.int64),
        out,
        n_threads,
    )
    return out


def nearest_of(
    indices: Integers, sq_distances: Array, n_neighbors: int, self_indices: Integers | None = None
) -> tuple[Integers, Array]:
    """Sort each row by (distance, index), leave out self and negative indices, keep the first.

    Parameters
    ----------
    indices, sq_distances : (n_rows, n_candidates) arrays
    n_neighbors : int
        At most n_candidates.
    self_indices : (n_rows,) array, optional
        The index each row leaves out.

    Returns
    -------
    indices, sq_distances : (n_rows, n_neighbors) arrays
        Padded with -1 and infinity.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.neighbors import nearest_of
    >>> nearest_of(np.array([[3, 2, 0]]), np.array([[1.0, 1.0, 0.0]]), 2, np.array([0]))
    (array([[2, 3]]), array([[1., 1.]]))
    """
    drop = indices < 0
    if self_indices is not None:
        drop |= indices == self_indices[:, None]
    ordered = (sq_distances[:, 1:] > sq_distances[:, :-1]).all()
    indices = np.where(drop, -1, indices)
    sq_distances = np.where(drop, np.inf, sq_distances)
    if ordered:  # then there is nothing to sort, only to leave out
        kept = np.argsort(drop, axis=1, kind="stable")[:, :n_neighbors]
        return (
            np.take_along_axis(indices, kept, axis=1),
            np.take_along_axis(sq_distances, kept, axis=1),
        )
    # Sorting by index first and then stably by distance leaves ties in order of index; what was
    # dropped must come after real neighbours that are infinitely far.
    by_index = np.argsort(np.where(drop, np.iinfo(indices.dtype).max, indices), axis=1)
    sq_distances = np.take_along_axis(sq_distances, by_index, axis=1)
    by_distance = np.argsort(sq_distances, axis=1, kind="stable")[:, :n_neighbors]
    order = np.take_along_axis(by_index, by_distance, axis=1)
    return (
        np.take_along_axis(indices, order, axis=1),
        np.take_along_axis(sq_distances, by_distance, axis=1),
    )


def nearest_of_all(
    queries: Data,
    points: Data,
    n_neighbors: int,
    self_indices: Integers | None = None,
    *,
    sq_offsets: Array | None = None,
    n_threads: int = 1,
) -> Found:
    """Find each query's nearest points by its distances to all of them, for a few queries.

    Parameters
    ----------
    queries, points, sq_offsets, n_threads
        As in :func:`candidate_distances`.
    n_neighbors : int
    self_indices : (n_queries,) array, optional
        The point that each query leaves out.

    Returns
    -------
    indices, sq_distances : (n_queries, n_neighbors) arrays
        Sorted by (distance, index).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> nearest_of_all(X[:2], X, 1, np.array([0, 1]))
    (array([[1],
           [0]]), array([[1.],
           [1.]]))
    """
    n_queries, n_points = queries.shape[0], points.shape[0]
    indices = np.empty((n_queries, n_neighbors), dtype=np.int64)
    sq_distances = np.empty((n_queries, n_neighbors))
    everyone = np.arange(n_points)
    for rows in chunks(n_queries, 32 * n_points):
        all_of_them = np.broadcast_to(everyone, (rows.stop - rows.start, n_points))
        distances = candidate_distances(
            queries[rows], points, all_of_them, sq_offsets=sq_offsets, n_threads=n_threads
        )
        own = None if self_indices is None else self_indices[rows]
        columns = smallest_columns(distances, n_neighbors + (own is not None))
        nearest = np.take_along_axis(distances, columns, axis=1)
        indices[rows], sq_distances[rows] = nearest_of(columns, nearest, n_neighbors, own)
    return indices, sq_distances


def smallest_columns(distances: npt.NDArray[np.floating[Any]], n_smallest: int) -> Integers:
    """Find each row's smallest entries, the leftmost among equals, in order of column.

    Parameters
    ----------
    distances : (n_rows, n_columns) array
    n_smallest : int
        At most n_columns.

    Returns
    -------
    (n_rows, n_smallest) array

    Examples
    --------
    >>> import numpy as np
    >>> smallest_columns(np.array([[1.0, 0.0, 1.0]]), 2)
    array([[0, 1]])
    """
    columns = np.argpartition(distances, n_smallest - 1, axis=1)[:, :n_smallest]
    last = np.take_along_axis(distances, columns[:, -1:], axis=1)
    crossing = np.flatnonzero(np.count_nonzero(distances <= last, axis=1) > n_smallest)
    if len(crossing):  # equals on both sides of the cut: take the leftmost
        rows, limit = distances[crossing], last[crossing]
        keep, tied = rows < limit, rows == limit
        room = n_smallest - keep.sum(axis=1, keepdims=True)
        keep |= tied & (np.cumsum(tied, axis=1, dtype=np.int32) <= room)
        columns[crossing] = np.nonzero(keep)[1].reshape(len(crossing), n_smallest)
    return np.sort(columns, axis=1)
