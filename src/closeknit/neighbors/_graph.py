"""Translate between neighbour arrays and sparse graphs or matrices of distances."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from closeknit._arrays import Array, Integers
from closeknit._threads import chunks
from closeknit.linalg import check_structure
from closeknit.neighbors._stored import csr_of_distances
from closeknit.neighbors.candidates import nearest_of, smallest_columns

_LARGEST = 1e153  # beyond it squares overflow, and below its inverse they vanish

Parts: TypeAlias = tuple[Integers, Array, int]


def to_csr(indices: Integers, sq_distances: Array, n_targets: int, mode: str) -> sp.csr_matrix:
    """Store the valid neighbours of each row, in their order."""
    valid = indices >= 0
    counts = np.count_nonzero(valid, axis=1)
    n_stored = int(counts.sum())
    index_dtype = np.int32 if max(n_stored, n_targets) <= np.iinfo(np.int32).max else np.int64
    indptr = np.zeros(indices.shape[0] + 1, dtype=index_dtype)
    np.cumsum(counts, out=indptr[1:])
    complete = n_stored == indices.size  # then there is nothing to pick, only to flatten
    columns = indices.ravel() if complete else indices[valid]
    if mode == "connectivity":
        data = np.ones(n_stored)
    else:
        data = np.sqrt(sq_distances.ravel() if complete else sq_distances[valid])
    # csr_matrix copies read-only indices on some operations; its own writable copy is needed once.
    columns = columns.astype(index_dtype, copy=not columns.flags.writeable)
    return sp.csr_matrix((data, columns, indptr), shape=(indices.shape[0], n_targets), copy=False)


def from_csr(graph: Any, n_neighbors: int | None, *, drop_diagonal: bool = True) -> Parts:
    """Read a graph of distances; see `Neighbors.from_graph`."""
    if not sp.issparse(graph):
        raise TypeError(
            f"expected a sparse graph of distances, got {type(graph).__name__}; "
            "use Neighbors.from_distances for a dense matrix"
        )
    check_structure(graph)
    graph = csr_of_distances(graph)
    n_samples, n_targets = graph.shape
    n_stored = int(graph.indptr[-1])
    distances = np.asarray(graph.data[:n_stored], dtype=np.float64)
    rows = np.repeat(np.arange(n_samples), np.diff(graph.indptr))
    columns = graph.indices[:n_stored]
    check_distances(distances, rows)
    _check_stored_once(rows, columns, graph)
    present = distances < np.inf
    if drop_diagonal and n_samples == n_targets:
        present &= columns != rows
    rows, columns, distances = rows[present], columns[present], distances[present]
    step, same_row = np.diff(distances), np.diff(rows) == 0
    if (same_row & ((step < 0) | ((step == 0) & (np.diff(columns) < 0)))).any():
        order = np.lexsort((columns, distances, rows))
        rows, columns, distances = rows[order], columns[order], distances[order]
    counts = np.bincount(rows, minlength=n_samples)
    place = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = int(counts.max(initial=0)) if n_neighbors is None else n_neighbors
    if width < 1:
        raise ValueError("the graph stores no neighbours; were explicit zeros eliminated?")
    kept = place < width
    indices = np.full((n_samples, width), -1, dtype=columns.dtype)
    sq_distances = np.full((n_samples, width), np.inf)
    indices[rows[kept], place[kept]] = columns[kept]
    sq_distances[rows[kept], place[kept]] = distances[kept] ** 2
    return indices, sq_distances, n_targets


def from_arrays(indices: npt.ArrayLike, distances: npt.ArrayLike, n_targets: int | None) -> Parts:
    """Clean up neighbours found elsewhere; see `Neighbors.from_arrays`."""
    check_structure(indices)
    check_structure(distances)
    indices, distances = np.asarray(indices), np.asarray(distances)
    if indices.ndim != 2 or indices.shape != distances.shape:
        raise ValueError(
            "indices and distances must be matrices of one shape, "
            f"got {indices.shape} and {distances.shape}"
        )
    if not np.issubdtype(indices.dtype, np.integer):
        raise TypeError(f"indices must be integers, got {indices.dtype}")
    n_samples, width = indices.shape
    bound = n_samples if n_targets is None else n_targets
    too_large = np.argwhere(indices >= bound)
    if len(too_large):
        row, column = too_large[0]
        raise ValueError(
            f"row {row} names point {indices[row, column]}, but there are only {bound} points"
        )
    indices = indices.astype(np.int64)
    distances = distances.astype(np.float64)
    present = indices >= 0
    check_distances(distances[present], np.nonzero(present)[0])
    indices[np.isinf(distances)] = -1
    self_indices = np.arange(n_samples) if n_targets is None else None
    result, sq_distances = nearest_of(indices, distances**2, width, self_indices)
    check_distinct(result)
    used = max(1, int(np.count_nonzero(result >= 0, axis=1).max(initial=0)))
    return result[:, :used], sq_distances[:, :used], bound


def from_square(distances: npt.ArrayLike, n_neighbors: int | None) -> Parts:
    """Select from a full matrix; see `Neighbors.from_distances`."""
    check_structure(distances)
    distances = np.asarray(distances)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1]:
        raise ValueError(
            f"expected a square matrix of distances, got shape {distances.shape}; "
            "for data, use find_neighbors"
        )
    check_no_similarities(distances)
    n_samples = distances.shape[0]
    width = n_samples - 1 if n_neighbors is None else n_neighbors
    return from_rectangle(distances, width, self_indices=np.arange(n_samples))


def from_rectangle(
    distances: npt.NDArray[Any], n_neighbors: int, self_indices: Integers | None = None
) -> Parts:
    """Select each row's nearest columns from a matrix of distances."""
    n_samples, n_targets = distances.shape
    indices = np.empty((n_samples, n_neighbors), dtype=np.int64)
    sq_distances = np.empty((n_samples, n_neighbors))
    for chunk in chunks(n_samples, 16 * n_targets):
        block = np.array(distances[chunk], dtype=np.float64)
        own = None if self_indices is None else self_indices[chunk]
        if own is not None:
            block[np.arange(len(block)), own] = np.inf
        check_distances(block, np.arange(chunk.start, chunk.stop))
        columns = smallest_columns(block, n_neighbors)
        nearest = np.take_along_axis(block, columns, axis=1)
        columns[np.isinf(nearest)] = -1
        indices[chunk], sq_distances[chunk] = nearest_of(columns, nearest**2, n_neighbors, own)
    return indices, sq_distances, n_targets


def check_distances(distances: npt.NDArray[Any], rows: Integers | None = None) -> None:
    """Refuse distances that are negative, NaN or without a square, naming the row.

    Parameters
    ----------
    distances : array
        Stored distances, or whole rows of them.
    rows : (len(distances),) array, optional
        What the rows are called.
    """
    good = distances >= 0  # False for NaN as well
    if not good.all():
        first = np.unravel_index(int(np.argmin(good)), good.shape)
        row = first[0] if rows is None else rows[first[0]]
        raise ValueError(
            f"row {row} has the distance {distances[first]}; distances must be non-negative numbers"
        )
    largest = float(distances.max(initial=0.0, where=distances < np.inf))
    if largest and not 1.0 / _LARGEST <= largest <= _LARGEST:
        raise ValueError(
            f"the largest distance is {largest:g}, so squares of distances overflow or vanish; "
            "multiply the distances by a constant"
        )


def check_no_similarities(distances: npt.NDArray[Any]) -> None:
    """Refuse a square matrix in which each point is farther from itself than from all others.

    Parameters
    ----------
    distances : (n_samples, n_samples) array
    """
    own = np.diagonal(distances)
    if not len(own) or not own.min() > 0:
        return
    if (own >= distances.max(axis=1)).all() and (own > distances.min(axis=1)).all():
        raise ValueError(
            "the diagonal holds the largest values of all rows, as in a matrix of similarities; "
            "pass distances, such as 1 - similarity, or similarities as affinities"
        )


def _check_stored_once(rows: Integers, columns: Integers, graph: Any) -> None:
    ordered = sp.csr_matrix(
        (np.empty(len(columns), dtype=bool), columns.copy(), graph.indptr), shape=graph.shape
    )
    ordered.sort_indices()
    if not ordered.has_canonical_format:
        twice = np.flatnonzero((np.diff(ordered.indices) == 0) & (np.diff(rows) == 0))[0]
        raise ValueError(
            f"row {rows[twice]} stores the distance to point {ordered.indices[twice]} more than "
            "once; sum_duplicates() would add the distances up, so decide which one counts"
        )


def check_distinct(indices: Integers) -> None:
    """Refuse rows that name a point more than once."""
    ordered = np.sort(indices, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        row, place = np.argwhere(twice)[0]
        raise ValueError(
            f"row {row} names point {ordered[row, place]} more than once; leave one of them out"
        )
