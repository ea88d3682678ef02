"""Exact search in few dimensions, by SciPy's k-d tree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from closeknit.neighbors._engine import Found
from closeknit.neighbors._order import chunks, nearest_of
from closeknit.neighbors._report import Reporter
from closeknit.neighbors._rows import candidate_distances

__all__ = ["TreeEngine"]

# The tree sums squares in another order than our kernel; distances this close may be ties.
_TIE = 1.0 + 1e-12


class TreeEngine:
    """A k-d tree, with ties at the last place resolved by index.

    Parameters
    ----------
    points : (n_samples, n_features) array
    n_threads : int
    report : Reporter
    """

    def __init__(self, points: npt.NDArray[np.floating], n_threads: int, report: Reporter) -> None:
        from scipy.spatial import cKDTree

        self._points = points
        self._tree = cKDTree(points)
        self._n_threads = n_threads
        self._report = report

    def search(
        self,
        n_neighbors: int,
        queries: npt.NDArray[np.floating] | None = None,
        *,
        exclude_self: bool = False,
    ) -> Found:
        """Find the nearest points; see `Engine.search`."""
        rows = self._points if queries is None else queries
        indices = np.empty((rows.shape[0], n_neighbors), dtype=np.int64)
        sq_distances = np.empty((rows.shape[0], n_neighbors))
        parts = chunks(rows.shape[0], 48 * (n_neighbors + 2))
        for chunk in self._report.progress("k-d tree", parts):
            own = np.arange(chunk.start, chunk.stop) if exclude_self else None
            indices[chunk], sq_distances[chunk] = self._search_chunk(rows[chunk], own, n_neighbors)
        return indices, sq_distances

    def _search_chunk(
        self,
        rows: npt.NDArray[np.floating],
        own: npt.NDArray[np.intp] | None,
        n_neighbors: int,
    ) -> Found:
        n_points = self._tree.n
        needed = n_neighbors + (own is not None)
        indices = np.empty((rows.shape[0], n_neighbors), dtype=np.int64)
        sq_distances = np.empty((rows.shape[0], n_neighbors))
        todo = np.arange(rows.shape[0])
        asked = min(n_points, needed + 1)
        while len(todo):
            distances, found = self._tree.query(
                rows[todo], k=np.arange(1, asked + 1), workers=self._n_threads
            )
            found = np.where(found == n_points, -1, found)  # SciPy's mark for overflow
            # One more than needed was asked: if it is no farther, it may belong in the answer,
            # and so may others in the same place or at the same distance; ask again for more.
            tied = (distances[:, -1] <= distances[:, needed - 1] * _TIE) & (asked < n_points)
            done = todo[~tied]
            exact = candidate_distances(
                rows[done], self._points, found[~tied], n_threads=self._n_threads
            )
            indices[done], sq_distances[done] = nearest_of(
                found[~tied], exact, n_neighbors, None if own is None else own[done]
            )
            todo = todo[tied]
            asked = min(n_points, 2 * asked)
        return indices, sq_distances
