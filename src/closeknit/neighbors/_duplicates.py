"""Equal rows: search each of them once, and recognise new points among the fitted ones.

Thousands of equal points are thousands of ties: any search would have to look at them all to find
the ones of smallest index. Searching distinct points, and listing their copies afterwards, avoids
that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from closeknit import _core
from closeknit._threads import chunks
from closeknit.neighbors.points import Data, Found, as_rows

__all__ = ["DuplicateGroups", "find_duplicates", "first_equal_rows"]

_MANY_COPIES = 16  # with fewer copies of each point, an ordinary search copes


@dataclass(frozen=True)
class DuplicateGroups:
    """Which points are equal.

    Attributes
    ----------
    first : (n_groups,) array
        The first point of each group, ascending.
    group_of : (n_samples,) array
    """

    first: npt.NDArray[np.intp]
    group_of: npt.NDArray[np.intp]

    def points_of(self, found: Found, n_neighbors: int) -> Found:
        """Turn each row's nearest groups into its nearest points.

        Parameters
        ----------
        found : pair of (n_rows, n_groups_found) arrays
            Groups and squared distances, sorted, at least ``min(n_neighbors, n_groups)`` of them.
        n_neighbors : int

        Returns
        -------
        indices, sq_distances : (n_rows, n_neighbors) arrays
        """
        groups, sq_distances = found
        sizes = np.bincount(self.group_of)
        starts = np.cumsum(sizes) - sizes
        by_group = np.argsort(self.group_of, kind="stable")
        indices = np.empty((groups.shape[0], n_neighbors), dtype=np.int64)
        out = np.empty((groups.shape[0], n_neighbors))
        for chunk in chunks(groups.shape[0], 256 * n_neighbors):
            here, near = groups[chunk], sq_distances[chunk]
            # A row can use no more than n_neighbors points of one group, those of the smallest
            # indices, and is full after a few groups; only ties with the last of them count, too.
            copies = np.minimum(sizes[here], n_neighbors)
            last = np.argmax(np.cumsum(copies, axis=1) >= n_neighbors, axis=1)
            copies[near > np.take_along_axis(near, last[:, None], axis=1)] = 0
            flat = copies.ravel()
            nth = np.arange(flat.sum()) - np.repeat(np.cumsum(flat) - flat, flat)
            points = by_group[np.repeat(starts[here.ravel()], flat) + nth]
            distances = np.repeat(near.ravel(), flat)
            rows = np.repeat(np.arange(here.shape[0]), copies.sum(axis=1))
            order = np.lexsort((points, distances, rows))
            first = np.searchsorted(rows, np.arange(here.shape[0]))
            kept = order[first[:, None] + np.arange(n_neighbors)]
            indices[chunk], out[chunk] = points[kept], distances[kept]
        return indices, out

    def others_of(self, found: Found, n_neighbors: int) -> Found:
        """Turn each group's nearest groups into each point's nearest other points.

        Parameters
        ----------
        found : pair of (n_groups, n_groups_found) arrays
            As for `points_of`, and one more of them.
        n_neighbors : int

        Returns
        -------
        indices, sq_distances : (n_samples, n_neighbors) arrays
        """
        near, near_sq_distances = self.points_of(found, n_neighbors + 1)
        n_samples = len(self.group_of)
        indices = np.empty((n_samples, n_neighbors), dtype=np.int64)
        out = np.empty((n_samples, n_neighbors))
        for chunk in chunks(n_samples, 64 * n_neighbors):
            here = self.group_of[chunk]
            own = near[here] == np.arange(chunk.start, chunk.stop)[:, None]
            own[~own.any(axis=1), -1] = True  # self is too far down the list: one more than needed
            indices[chunk] = near[here][~own].reshape(-1, n_neighbors)
            out[chunk] = near_sq_distances[here][~own].reshape(-1, n_neighbors)
        return indices, out


def find_duplicates(X: Data, scale: float, n_threads: int) -> DuplicateGroups | None:
    """Group equal rows, or return None if no group is large.

    Rows are compared by one random linear form each; equal rows have equal values, because the
    compiled projection treats every row alike, and rows of equal value are then compared in full.

    Parameters
    ----------
    X : array or CSR matrix
    scale : float
        A power of two that brings the data near 1.
    n_threads : int

    Returns
    -------
    DuplicateGroups or None
    """
    n_samples = X.shape[0]
    first, group_of, sizes = np.unique(
        _linear_form(X, scale, n_threads),
        return_index=True,
        return_inverse=True,
        return_counts=True,
    )[1:]
    if sizes.max() <= _MANY_COPIES:
        return None
    copies = np.flatnonzero(first[group_of] != np.arange(n_samples))
    if _differ(X[copies], X[first[group_of[copies]]]).any():
        return None  # two groups share a value by chance; then let the search cope
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return DuplicateGroups(np.sort(first), rank[group_of])


def first_equal_rows(
    queries: Data, points: Data, scale: float, n_threads: int
) -> npt.NDArray[np.int64]:
    """For each query the first point equal to it, or -1.

    Parameters
    ----------
    queries, points : array or CSR matrix
    scale : float
        A power of two that brings the points near 1.
    n_threads : int

    Returns
    -------
    (n_queries,) array
    """
    values, first = np.unique(_linear_form(points, scale, n_threads), return_index=True)
    wanted = _linear_form(queries, scale, n_threads)
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    found = np.where(values[place] == wanted, first[place], -1)
    alike = np.flatnonzero(found >= 0)
    found[alike[_differ(queries[alike], points[found[alike]])]] = -1
    return found


def _linear_form(X: Data, scale: float, n_threads: int) -> npt.NDArray[np.float64]:
    n_samples, n_features = X.shape
    form = np.random.default_rng(0).standard_normal((n_features, 1)) * scale
    values = np.empty((n_samples, 1))
    center = np.zeros(n_features)
    _core.project(as_rows(X), center, form, values, np.empty(n_samples), n_threads)
    return values[:, 0]


def _differ(A: Data, B: Data) -> npt.NDArray[np.bool_]:
    """Whether each row of `A` differs from the same row of `B`."""
    different = A != B
    if sp.issparse(different):
        return np.asarray(np.diff(different.tocsr().indptr) > 0)
    return np.asarray(different.any(axis=1))
