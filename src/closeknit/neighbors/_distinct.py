"""Search among distinct points, and hand out their copies afterwards.

Thousands of points in one place are thousands of ties: any search would have to look at them all
to find the ones of smallest index. Searching each place once avoids that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from closeknit import _core
from closeknit.neighbors._engine import Found
from closeknit.neighbors._order import chunks
from closeknit.neighbors._rows import Data, as_rows

__all__ = ["Places", "find_places"]

_CROWD = 16  # with fewer copies than this in one place, an ordinary search copes


@dataclass(frozen=True)
class Places:
    """Which points lie in the same place.

    Attributes
    ----------
    first : (n_places,) array
        The first point of each place, ascending.
    place_of : (n_samples,) array
    """

    first: npt.NDArray[np.intp]
    place_of: npt.NDArray[np.intp]

    def points_of(
        self,
        places: npt.NDArray[np.integer[Any]],
        sq_distances: npt.NDArray[np.float64],
        n_neighbors: int,
    ) -> Found:
        """Turn each row's nearest places into its nearest points.

        Parameters
        ----------
        places, sq_distances : (n_rows, n_places_found) arrays
            Sorted, and at least ``min(n_neighbors, n_places)`` of them.
        n_neighbors : int

        Returns
        -------
        indices, sq_distances : (n_rows, n_neighbors) arrays
        """
        sizes = np.bincount(self.place_of)
        starts = np.cumsum(sizes) - sizes
        by_place = np.argsort(self.place_of, kind="stable")
        indices = np.empty((places.shape[0], n_neighbors), dtype=np.int64)
        out = np.empty((places.shape[0], n_neighbors))
        for chunk in chunks(places.shape[0], 256 * n_neighbors):
            here, near = places[chunk], sq_distances[chunk]
            # A row can use no more than n_neighbors points of one place, those of the smallest
            # indices, and is full after a few places; only ties with the last of them count, too.
            copies = np.minimum(sizes[here], n_neighbors)
            last = np.argmax(np.cumsum(copies, axis=1) >= n_neighbors, axis=1)
            copies[near > np.take_along_axis(near, last[:, None], axis=1)] = 0
            flat = copies.ravel()
            nth = np.arange(flat.sum()) - np.repeat(np.cumsum(flat) - flat, flat)
            points = by_place[np.repeat(starts[here.ravel()], flat) + nth]
            distances = np.repeat(near.ravel(), flat)
            rows = np.repeat(np.arange(here.shape[0]), copies.sum(axis=1))
            order = np.lexsort((points, distances, rows))
            first = np.searchsorted(rows, np.arange(here.shape[0]))
            kept = order[first[:, None] + np.arange(n_neighbors)]
            indices[chunk], out[chunk] = points[kept], distances[kept]
        return indices, out

    def others_of(
        self,
        places: npt.NDArray[np.integer[Any]],
        sq_distances: npt.NDArray[np.float64],
        n_neighbors: int,
    ) -> Found:
        """Turn each place's nearest places into each point's nearest other points.

        Parameters
        ----------
        places, sq_distances : (n_places, n_places_found) arrays
            Sorted, and at least ``min(n_neighbors + 1, n_places)`` of them.
        n_neighbors : int

        Returns
        -------
        indices, sq_distances : (n_samples, n_neighbors) arrays
        """
        near, near_sq_distances = self.points_of(places, sq_distances, n_neighbors + 1)
        n_samples = len(self.place_of)
        indices = np.empty((n_samples, n_neighbors), dtype=np.int64)
        out = np.empty((n_samples, n_neighbors))
        for chunk in chunks(n_samples, 64 * n_neighbors):
            here = self.place_of[chunk]
            own = near[here] == np.arange(chunk.start, chunk.stop)[:, None]
            own[~own.any(axis=1), -1] = True  # self is too far down the list: one more than needed
            indices[chunk] = near[here][~own].reshape(-1, n_neighbors)
            out[chunk] = near_sq_distances[here][~own].reshape(-1, n_neighbors)
        return indices, out


def find_places(X: Data, scale: float, n_threads: int) -> Places | None:
    """Group equal rows, or return None if no place is crowded.

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
    Places or None
    """
    n_samples, n_features = X.shape
    form = np.random.default_rng(0).standard_normal((n_features, 1)) * scale
    values = np.empty((n_samples, 1))
    center = np.zeros(n_features)
    _core.project(as_rows(X), center, form, values, np.empty(n_samples), n_threads)
    first, place_of, sizes = np.unique(
        values[:, 0], return_index=True, return_inverse=True, return_counts=True
    )[1:]
    if sizes.max() <= _CROWD:
        return None
    copies = np.flatnonzero(first[place_of] != np.arange(n_samples))
    different = X[copies] != X[first[place_of[copies]]]
    if sp.issparse(different):
        unequal = np.diff(different.tocsr().indptr) > 0
    else:
        unequal = different.any(axis=1)
    if unequal.any():  # two places share a value by chance; then let the search cope
        return None
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    return Places(np.sort(first), rank[place_of])
