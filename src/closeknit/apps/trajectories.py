"""Trajectories of points to their modes, which later points follow."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from closeknit._arrays import Array, Integers
from closeknit.neighbors import fit_index
from closeknit.progress import listening


@dataclass(eq=False)
class Trajectories:
    """Places that points passed, and for each place the point whose end it leads to.

    Parameters
    ----------
    index : NeighborIndex
        Fitted to the places.
    leaders : ndarray of int of shape (n_places,)
    """

    saved_state: ClassVar[tuple[str, ...]] = ()

    index: Any
    leaders: Integers

    @classmethod
    def through(
        cls, places: Array, leaders: Integers, n_jobs: int | None, *, method: str = "auto"
    ) -> Trajectories:
        """Index some places, by the given method of search."""
        with listening(None):  # no stage of its own
            return cls(fit_index(places, "euclidean", method, n_jobs=n_jobs), leaders)

    def leaders_near(self, places: Array, radii: Array | float = np.inf) -> Integers:
        """Return the leader of the nearest known place, or -1 if none is within the radius."""
        if not len(places):
            return np.empty(0, dtype=np.int64)
        with listening(None):
            found = self.index.query(places, 1)
        near = found.sq_distances[:, 0] <= np.square(radii)
        return np.where(near, self.leaders[found.indices[:, 0]], -1)


@dataclass(eq=False)
class Recorder:
    """Collects where points pass, batch by batch."""

    _places: list[Array] = field(default_factory=list)
    _points: list[Integers] = field(default_factory=list)

    def add(self, points: Integers, places: Array) -> None:
        """Record that points pass some places."""
        self._points.append(points)
        self._places.append(places)

    def gather(self, leaders: Integers) -> tuple[Array, Integers]:
        """Return all places, and of each the leader of the point that passed there, or itself."""
        points = np.concatenate(self._points)
        followed = leaders[points]
        return np.concatenate(self._places), np.where(followed < 0, points, followed)
