"""Exact search among sparse rows, by sparse products in chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit._arrays import Array
from closeknit._threads import chunks, run_chunks
from closeknit.neighbors.candidates import candidate_distances, nearest_of, smallest_columns
from closeknit.neighbors.points import Data, Found, SearchEngine

_MARGIN = 1e-12  # float64's error in ‖x‖² + ‖y‖² − 2⟨x, y⟩, relative to the norms, generously


@dataclass(eq=False)
class SparseEngine(SearchEngine):
    """Squared distances by expansion select, squared distances by differences decide.

    Parameters
    ----------
    points : CSR matrix
    n_threads : int
    sq_offsets : (n_samples,) array or None
        Added to the squared distance to each point.
    scale : float
        A power of two that brings the data near 1.
    """

    sq_offsets: Array | None
    scale: float

    def __post_init__(self) -> None:
        self._scaled = self.points.astype(np.float64) * self.scale
        self._transposed = self._scaled.T.tocsr()
        self._sq_norms = np.asarray(self._scaled.power(2).sum(axis=1)).ravel()
        if self.sq_offsets is not None:
            self._sq_norms = self._sq_norms + self.sq_offsets * self.scale**2

    def search(
        self, n_neighbors: int, queries: Data | None = None, *, exclude_self: bool = False
    ) -> Found:
        """Find the nearest points; see `SearchEngine.search`."""
        n_points = self.points.shape[0]
        rows = self.points if queries is None else queries
        scaled = self._scaled if queries is None else queries.astype(np.float64) * self.scale
        indices = np.empty((rows.shape[0], n_neighbors), dtype=np.int64)
        sq_distances = np.empty((rows.shape[0], n_neighbors))

        def search_chunk(chunk: slice) -> None:
            norms = np.asarray(scaled[chunk].power(2).sum(axis=1)).ravel()
            estimates = (scaled[chunk] @ self._transposed).toarray()
            estimates *= -2.0
            estimates += self._sq_norms
            estimates += norms[:, None]
            own = np.arange(chunk.start, chunk.stop) if exclude_self else None
            if own is not None:
                estimates[np.arange(len(own)), own] = np.inf
            slack = _MARGIN * (norms + self._sq_norms.max())
            indices[chunk], sq_distances[chunk] = self._decide(
                rows[chunk], estimates, slack, n_neighbors
            )

        # A chunk of 64 million candidates takes less than a second, as an interrupt should.
        parts = chunks(rows.shape[0], 64 * n_points)
        run_chunks("neighbours", search_chunk, parts, self.n_threads)
        return indices, sq_distances

    def _decide(
        self,
        rows: Data,
        estimates: Array,
        slack: Array,
        n_neighbors: int,
    ) -> Found:
        n_points = estimates.shape[1]
        indices = np.empty((rows.shape[0], n_neighbors), dtype=np.int64)
        sq_distances = np.empty((rows.shape[0], n_neighbors))
        todo = np.arange(rows.shape[0])
        points = self._points_for(rows)
        n_candidates = min(n_points, n_neighbors + 8)
        while len(todo):
            here = estimates[todo]
            columns = smallest_columns(here, n_candidates)
            farthest = np.take_along_axis(here, columns, axis=1).max(axis=1)
            columns[np.isinf(np.take_along_axis(here, columns, axis=1))] = -1
            exact = candidate_distances(rows[todo], points, columns, sq_offsets=self.sq_offsets)
            indices[todo], sq_distances[todo] = nearest_of(columns, exact, n_neighbors)
            # A point that was not a candidate is at least this far; else there may be nearer ones.
            last = sq_distances[todo, -1] * self.scale**2
            proven = (farthest - slack[todo] > last) | (n_candidates == n_points)
            todo = todo[~proven]
            n_candidates = min(n_points, 4 * n_candidates)
        return indices, sq_distances
