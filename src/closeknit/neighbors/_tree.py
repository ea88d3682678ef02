"""Exact search in few dimensions, by SciPy's k-d tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit._threads import chunks, run_chunks
from closeknit.neighbors.candidates import candidate_distances, nearest_of
from closeknit.neighbors.points import Data, Found, SearchEngine

# The tree sums squares in another order than our kernel; distances this close may be ties.
_TIE = 1.0 + 1e-12
_ROWS = 512  # queries per chunk: well below a second


@dataclass(eq=False)
class TreeEngine(SearchEngine):
    """A k-d tree, with ties at the last place resolved by index.

    Parameters
    ----------
    points : (n_samples, n_features) array
    n_threads : int
    """

    def __post_init__(self) -> None:
        from scipy.spatial import cKDTree

        self._tree = cKDTree(self.points)

    def search(
        self, n_neighbors: int, queries: Data | None = None, *, exclude_self: bool = False
    ) -> Found:
        """Find the nearest points; see `SearchEngine.search`."""
        rows = self.points if queries is None else queries
        points = self.points if queries is None else self._points_for(queries)
        indices = np.empty((rows.shape[0], n_neighbors), dtype=np.int64)
        sq_distances = np.empty((rows.shape[0], n_neighbors))
        n_points = self._tree.n
        needed = n_neighbors + exclude_self

        def search_chunk(chunk: slice) -> None:
            todo = np.arange(chunk.start, chunk.stop)
            asked = min(n_points, needed + 1)
            while len(todo):
                # On threads of our own: those of SciPy go on writing after an interrupt.
                distances, found = self._tree.query(rows[todo], k=np.arange(1, asked + 1))
                found = np.where(found == n_points, -1, found)  # SciPy's mark for overflow
                # One more than needed was asked: if it is no farther, it may belong in the answer,
                # and so may others in the same place or at the same distance; ask again for more.
                tied = (distances[:, -1] <= distances[:, needed - 1] * _TIE) & (asked < n_points)
                done = todo[~tied]
                exact = candidate_distances(rows[done], points, found[~tied])
                indices[done], sq_distances[done] = nearest_of(
                    found[~tied], exact, n_neighbors, done if exclude_self else None
                )
                todo = todo[tied]
                asked = min(n_points, 2 * asked)

        parts = chunks(rows.shape[0], 48 * (n_neighbors + 2), _ROWS)
        run_chunks("neighbours", search_chunk, parts, self.n_threads)
        return indices, sq_distances
