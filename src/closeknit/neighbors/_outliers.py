"""Points so far from all others that sketches in single precision could not hold both.

They are set aside: the others never have them as neighbours, and they are compared with everyone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from closeknit.neighbors.candidates import nearest_of_all
from closeknit.neighbors.points import Data, Engine, Found

__all__ = ["set_outliers_aside"]

_SAMPLE = 512  # points that say how far apart points usually are
_MOST = 64  # outliers; more of them are a part of the data like any other
# Outliers are this many times as far from the centre, in the largest coordinate, as any other
# point. An outlier of 1e6 deviations leaves a search as fast as it was, one of 1e8 makes it ten
# times slower. Distances between others are at most 2√d as long, so they are never confused.
_GAP = 2.0**20


def set_outliers_aside(
    points: Data, scale: float, n_threads: int, make: Callable[[Data], Engine]
) -> Engine:
    """Return an engine for dense points that outliers do not slow down.

    Parameters
    ----------
    points : array
    scale : float
        As from `data_scale`.
    n_threads : int
    make : callable
        Makes an engine for points without outliers.
    """
    sample = points[:: -(-len(points) // _SAMPLE)].astype(np.float64)
    center = np.median(sample, axis=0)
    if np.median(abs(sample - center).max(axis=1)) * _GAP * scale > 1.0:
        return make(points)
    deviations = _deviations(points, center)
    largest = np.sort(deviations)[-_MOST - 1 :]
    gaps = np.flatnonzero(largest[1:] > _GAP * largest[:-1])
    if len(gaps) == 0 or largest[gaps[0]] == 0.0:
        return make(points)
    return _OutlierEngine(points, deviations, float(largest[gaps[0]]), center, n_threads, make)


class _OutlierEngine(Engine):
    """Leaves all but a few points to another engine."""

    def __init__(
        self,
        points: Data,
        deviations: npt.NDArray[np.float64],
        radius: float,
        center: npt.NDArray[np.float64],
        n_threads: int,
        make: Callable[[Data], Engine],
    ) -> None:
        super().__init__(points, n_threads)
        self._near = np.flatnonzero(deviations <= radius)
        self._far = np.flatnonzero(deviations > radius)
        self._radius, self._center = radius, center
        self._engine = make(points[self._near])

    @property
    def built_for(self) -> int:
        """The number of neighbours for which the other engine was built."""
        return getattr(self._engine, "built_for", 0)

    def search(
        self, n_neighbors: int, queries: Data | None = None, *, exclude_self: bool = False
    ) -> Found:
        """Find the nearest points; see `Engine.search`."""
        if queries is None:
            near, far = self._near, self._far
        else:
            inside = _deviations(queries, self._center) <= 2.0 * self._radius
            near, far = np.flatnonzero(inside), np.flatnonzero(~inside)
        rows = self._points if queries is None else queries
        if n_neighbors + exclude_self > len(self._near):
            near, far = near[:0], np.arange(rows.shape[0])
        indices = np.empty((rows.shape[0], n_neighbors), dtype=np.int64)
        sq_distances = np.empty((rows.shape[0], n_neighbors))
        if len(near):
            found, sq_distances[near] = self._engine.search(
                n_neighbors, None if queries is None else queries[near], exclude_self=exclude_self
            )
            indices[near] = np.where(found < 0, -1, self._near[found])
        indices[far], sq_distances[far] = nearest_of_all(
            rows[far],
            self._points_for(rows),
            n_neighbors,
            far if exclude_self else None,
            n_threads=self._n_threads,
        )
        return indices, sq_distances


def _deviations(X: Data, center: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return how far each row is from the centre in its largest coordinate."""
    deviations = np.empty(X.shape[0])
    for start in range(0, X.shape[0], 4096):  # so that no float64 copy of X is made
        part = slice(start, start + 4096)
        deviations[part] = abs(X[part] - center).max(axis=1)
    return deviations
