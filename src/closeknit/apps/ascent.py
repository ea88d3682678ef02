"""The ascent of points to the modes of a density, step by step.

A plain step goes to the weighted mean, and never decreases the density. Three things save work:

- The points that count are searched again only when a point has moved by half a bandwidth, and
  before it may stop.
- Steps in the same direction are stretched, to at most a quarter of a bandwidth, as long as the
  density increases; if it decreases, the point goes back and takes the plain step instead. When the
  direction turns round, steps are plain again.
- A point that comes within a tenth of a bandwidth of a known trajectory takes its end.

Every point moves on its own, whatever else is in its batch.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from closeknit._arrays import Array, Flags, Integers
from closeknit.apps.density import SamplePointDensity
from closeknit.apps.trajectories import Trajectories
from closeknit.progress import report

#: Moves, in bandwidths: after which neighbours are searched again, to which steps are stretched at
#: most, and within which trajectories are the same. Tests compare the labels of a photograph with
#: those of plain steps (adjusted Rand index above 0.99).
SEARCH, STRETCH, SAME = 0.5, 0.25, 0.1
#: How fast stretched steps grow.
GROWTH = 2.0
#: The logarithm of the density may decrease by this much because of rounding.
ROUNDING = 1e-12


class Ascent:
    """The ascent of many points to the modes.

    Parameters
    ----------
    density : SamplePointDensity
    starts : ndarray of shape (n_starts, n_features)
    near : ndarray of int of shape (n_starts, n_neighbors)
        The points that count at each start.
    tol : float
        A point has arrived when a step is shorter than this times the bandwidth at its start.
    known : Trajectories or None
        Trajectories that may be followed.

    Attributes
    ----------
    places : ndarray of shape (n_starts, n_features)
        Where the points are now.
    leaders : ndarray of int of shape (n_starts,)
        The point whose trajectory each one follows, or -1.
    moving : ndarray of int of shape (n_moving,)
        The points that have not arrived.
    n_iter : int
    """

    def __init__(
        self,
        density: SamplePointDensity,
        starts: Array,
        near: Integers,
        tol: float,
        known: Trajectories | None,
    ) -> None:
        n = len(starts)
        self._density = density
        self._known = known
        self.places = starts.copy()
        self._near = near.copy()
        self._searched = starts.copy()  # where the neighbours were searched
        self._scales = density.sigmas[near[:, 0]]
        self._shortest = tol * self._scales
        self._plain = starts.copy()  # where the plain step would have gone
        self._headings = np.zeros_like(starts)  # the last plain step
        self._logs = np.full(n, -np.inf)
        self._stretch = np.ones(n)
        self._tentative = np.zeros(n, dtype=bool)  # the last step may have decreased the density
        self._unsure = np.zeros(n, dtype=bool)  # arrived, but with neighbours of another place
        self.leaders = np.full(n, -1)
        self.moving: Integers = np.arange(n)
        self.n_iter = 0

    @property
    def is_moving(self) -> Flags:
        """Whether each point is still moving."""
        return np.isin(np.arange(len(self.places)), self.moving, assume_unique=True)

    def run(
        self, max_iter: int, record: Callable[[Integers, Array], None] | None, done: int, total: int
    ) -> None:
        """Continue until all points have arrived, recording the places that they pass.

        Parameters
        ----------
        max_iter : int
        record : callable or None
        done, total : int
            Points that have arrived in earlier batches, and points of all batches.
        """
        while len(self.moving) and self.n_iter < max_iter:
            report("modes", done + len(self.places) - len(self.moving), total)
            self.n_iter += 1
            self._follow(self.moving[~self._tentative[self.moving]])
            self._search()
            self._step(record)
        report("modes", done + len(self.places), total)

    def _follow(self, some: Integers) -> None:
        """Give points that have reached a known trajectory its end."""
        if self._known is not None:
            radii = SAME * self._scales[some]
            self.leaders[some] = self._known.leaders_near(self.places[some], radii)
            self.moving = self.moving[self.leaders[self.moving] < 0]

    def _search(self) -> None:
        some = self.moving[~self._tentative[self.moving]]
        some = some[self._is_far(some) | self._unsure[some]]
        if len(some):
            self._near[some] = near = self._density.search(self.places[some])
            self._searched[some] = self.places[some]
            self._scales[some] = self._density.sigmas[near[:, 0]]
            self._logs[some] = -np.inf  # densities over other points cannot be compared
            self._unsure[some] = False

    def _is_far(self, some: Integers) -> Flags:
        moved = np.linalg.norm(self.places[some] - self._searched[some], axis=1)
        return np.asarray(moved > SEARCH * self._scales[some])

    def _step(self, record: Callable[[Integers, Array], None] | None) -> None:
        some = self.moving
        logs, means = self._density.evaluate(self.places[some], self._near[some])
        decreased = logs < self._logs[some] - ROUNDING
        self._go_back(some[decreased])
        going_on = ~decreased
        self._follow(some[going_on & self._tentative[some]])
        going_on &= self.leaders[some] < 0
        some, logs, means = some[going_on], logs[going_on], means[going_on]
        if record is not None:
            record(some, self.places[some])
        lengths = np.linalg.norm(means - self.places[some], axis=1)
        short = lengths <= self._shortest[some]
        here = (self._searched[some] == self.places[some]).all(axis=1)
        arrived = some[short & here]
        self.places[arrived] = means[short & here]
        unsure = some[short & ~here]
        self._unsure[unsure], self._tentative[unsure] = True, False
        self.moving = np.setdiff1d(self.moving, arrived, assume_unique=True)
        self._advance(some[~short], logs[~short], means[~short], lengths[~short])

    def _go_back(self, some: Integers) -> None:
        self.places[some] = self._plain[some]
        self._stretch[some] = 1.0
        self._logs[some] = -np.inf
        self._tentative[some] = False

    def _advance(self, some: Integers, logs: Array, means: Array, lengths: Array) -> None:
        headings = means - self.places[some]
        # Past the mode: so close to it, rounding may hide that the density decreases.
        turned = np.einsum("ij,ij->i", headings, self._headings[some]) < 0.0
        self._stretch[some[turned]] = 1.0
        longest = STRETCH * self._scales[some] / lengths
        stretch = np.maximum(1.0, np.minimum(self._stretch[some], longest))
        # Before a new search the step must be plain, because densities do not compare after it.
        stretch[self._is_far(some)] = 1.0
        tentative = stretch > 1.0
        stretched = self.places[some] + headings * stretch[:, None]
        self.places[some] = np.where(tentative[:, None], stretched, means)
        self._plain[some], self._headings[some], self._logs[some] = means, headings, logs
        self._tentative[some] = tentative
        self._stretch[some] *= GROWTH
