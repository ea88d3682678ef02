"""Points that would slow a search down, set aside: copies of others, and outliers.

Thousands of equal points are thousands of ties: any search would have to look at them all to find
the ones of smallest index. Searching distinct points, and listing their copies afterwards, avoids
that.

Outliers are so far from all others that sketches in single precision could not hold both. The
others never have them as neighbours, and they are compared with everyone.
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass, replace

import numpy as np
import scipy.sparse as sp

from closeknit import _core
from closeknit._arrays import Array, Flags, Integers
from closeknit._threads import chunks
from closeknit.neighbors._sketch_engine import SketchEngine
from closeknit.neighbors.candidates import nearest_of_all
from closeknit.neighbors.points import Data, Found, SearchEngine, as_rows

_MANY_COPIES = 16  # with fewer copies of each point, an ordinary search copes
_SAMPLE = 512  # points that say how far apart points usually are
_MOST = 64  # outliers; more of them are a part of the data like any other
# Outliers are this many times as far from the centre, in the largest coordinate, as any other
# point. An outlier of 1e6 deviations leaves a search as fast as it was, one of 1e8 makes it ten
# times slower. Distances between others are at most 2√d as long, so they are never confused.
_GAP = 2.0**20


@dataclass(frozen=True)
class DuplicateGroups:
    """Which points are equal.

    Attributes
    ----------
    first : (n_groups,) array
        The first point of each group, ascending.
    group_of : (n_samples,) array
    """

    first: Integers
    group_of: Integers

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


def first_equal_rows(queries: Data, points: Data, scale: float, n_threads: int) -> Integers:
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


def _linear_form(X: Data, scale: float, n_threads: int) -> Array:
    n_samples, n_features = X.shape
    form = np.random.default_rng(0).standard_normal((n_features, 1)) * scale
    values = np.empty((n_samples, 1))
    center = np.zeros(n_features)
    _core.project(as_rows(X), center, form, values, np.empty(n_samples), n_threads)
    return values[:, 0]


def _differ(A: Data, B: Data) -> Flags:
    """Whether each row of `A` differs from the same row of `B`."""
    different = A != B
    if sp.issparse(different):
        return np.asarray(np.diff(different.tocsr().indptr) > 0)
    return np.asarray(different.any(axis=1))


def set_outliers_aside(engine: SketchEngine, scale: float) -> SearchEngine:
    """Return an engine for the same points that outliers do not slow down.

    Parameters
    ----------
    engine : SketchEngine
        As it is before the first search.
    scale : float
        As from `data_scale`.
    """
    points = engine.points
    if engine.sq_offsets is not None:  # then an outlier may be nearest
        return engine
    sample = points[:: -(-len(points) // _SAMPLE)].astype(np.float64)
    # If each is far from the next, one of every two is far from any centre: no point has the gap.
    # This spares most data the medians, which take long in many dimensions.
    if 0.25 * abs(sample - np.roll(sample, 1, axis=0)).max(axis=1).min() * _GAP * scale > 1.0:
        return engine
    center = np.median(sample, axis=0)
    if np.median(abs(sample - center).max(axis=1)) * _GAP * scale > 1.0:
        return engine
    deviations = _deviations(points, center)
    largest = np.sort(deviations)[-_MOST - 1 :]
    gaps = np.flatnonzero(largest[1:] > _GAP * largest[:-1])
    if len(gaps) == 0 or largest[gaps[0]] == 0.0:
        return engine
    radius = float(largest[gaps[0]])
    return _OutlierEngine(points, engine.n_threads, radius, center, deviations, engine)


@dataclass(eq=False)
class _OutlierEngine(SearchEngine):
    """Leaves all but a few points to another engine."""

    radius: float
    center: Array
    deviations: InitVar[Array]
    engine: InitVar[SketchEngine]

    def __post_init__(self, deviations: Array, engine: SketchEngine) -> None:
        self._near = np.flatnonzero(deviations <= self.radius)
        self._far = np.flatnonzero(deviations > self.radius)
        self._engine = replace(engine, points=self.points[self._near])

    @property
    def built_for(self) -> int:
        """The number of neighbours for which the other engine was built."""
        return self._engine.built_for

    @property
    def recall(self) -> float | None:
        """The recall that the other engine has measured."""
        return self._engine.recall

    def search(
        self, n_neighbors: int, queries: Data | None = None, *, exclude_self: bool = False
    ) -> Found:
        """Find the nearest points; see `SearchEngine.search`."""
        if queries is None:
            near, far = self._near, self._far
        else:
            inside = _deviations(queries, self.center) <= 2.0 * self.radius
            near, far = np.flatnonzero(inside), np.flatnonzero(~inside)
        rows = self.points if queries is None else queries
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
            n_threads=self.n_threads,
        )
        return indices, sq_distances


def _deviations(X: Data, center: Array) -> Array:
    """Return how far each row is from the centre in its largest coordinate."""
    deviations = np.empty(X.shape[0])
    for start in range(0, X.shape[0], 4096):  # so that no float64 copy of X is made
        part = slice(start, start + 4096)
        deviations[part] = abs(X[part] - center).max(axis=1)
    return deviations
