"""Sort and select by (distance, index), so that ties never depend on chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["chunks", "nearest_of", "smallest_columns"]

_BUDGET = 2**26  # bytes of working memory per chunk: 64 MiB


def chunks(n_rows: int, bytes_per_row: int) -> list[slice]:
    """Cut rows into chunks that fit the memory budget.

    Examples
    --------
    >>> chunks(5, 2**25)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, _BUDGET // max(1, bytes_per_row))
    return [slice(start, min(n_rows, start + size)) for start in range(0, n_rows, size)]


def nearest_of(
    indices: npt.NDArray[np.integer[Any]],
    sq_distances: npt.NDArray[np.float64],
    n_neighbors: int,
    self_indices: npt.NDArray[np.integer[Any]] | None = None,
) -> tuple[npt.NDArray[np.integer[Any]], npt.NDArray[np.float64]]:
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
    >>> nearest_of(np.array([[3, 2, 0]]), np.array([[1.0, 1.0, 0.0]]), 2, np.array([0]))
    (array([[2, 3]]), array([[1., 1.]]))
    """
    drop = indices < 0
    if self_indices is not None:
        drop |= indices == self_indices[:, None]
    indices = np.where(drop, -1, indices)
    sq_distances = np.where(drop, np.inf, sq_distances)
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


def smallest_columns(
    distances: npt.NDArray[np.floating[Any]], n_smallest: int
) -> npt.NDArray[np.intp]:
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
