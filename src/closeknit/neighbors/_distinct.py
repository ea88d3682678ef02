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
from closeknit.neighbors._order import chunks, nearest_of
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

    def hand_out(
        self,
        places: npt.NDArray[np.integer[Any]],
        sq_distances: npt.NDArray[np.float64],
        n_neighbors: int,
        self_indices: npt.NDArray[np.intp] | None,
    ) -> Found:
        """Turn each row's nearest places into its nearest points.

        Parameters
        ----------
        places, sq_distances : (n_rows, n_places_found) arrays
            Row r's nearest places, at least ``min(n_neighbors + 1, n_places)`` of them.
        n_neighbors : int
        self_indices : (n_rows,) array or None

        Returns
        -------
        indices, sq_distances : (n_rows, n_neighbors) arrays
        """
        sizes = np.bincount(self.place_of)
        starts = np.cumsum(sizes) - sizes
        by_place = np.argsort(self.place_of, kind="stable")
        # A row can use no more than n_neighbors + 1 points of one place, of the smallest indices.
        width = min(int(sizes.max()), n_neighbors + 1)
        nth = np.arange(width)
        indices = np.empty((places.shape[0], n_neighbors), dtype=np.int64)
        out = np.empty((places.shape[0], n_neighbors))
        # Most rows are full after a few places, and need no look at the others.
        for chunk in chunks(places.shape[0], 64 * places.shape[1] * width):
            here = places[chunk]
            there = nth < np.minimum(sizes[here], width)[:, :, None]
            members = by_place[np.where(there, starts[here][:, :, None] + nth, 0)]
            members = np.where(there, members, -1).reshape(here.shape[0], -1)
            own = None if self_indices is None else self_indices[chunk]
            repeated = np.repeat(sq_distances[chunk], width, axis=1)
            indices[chunk], out[chunk] = nearest_of(members, repeated, n_neighbors, own)
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
