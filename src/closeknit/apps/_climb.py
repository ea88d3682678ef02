"""The way up: from each start to a mode of the density.

A plain step goes to the weighted mean, and the density cannot fall by it. Three things save work:

- The points that count are searched anew only when a climber has moved by half a bandwidth, and
  before it may stop.
- Steps in the same direction are stretched, to at most a quarter of a bandwidth, as long as the
  density grows; if it falls, the climber goes back and takes the plain step instead. When the
  direction turns round, steps are plain again.
- A climber that comes within a tenth of a bandwidth of a place where another one passed ends where
  that one did.

Every climber goes its own way, whoever else is in its batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.apps._density import Density, unheard
from closeknit.neighbors import fit_index
from closeknit.progress import report

__all__ = ["Ascent", "Paths", "climb", "climb_together"]

Array = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]

#: Moves, in bandwidths, after which neighbours are searched anew, to which steps are stretched at
#: most, and within which ways are the same. Tests compare the labels of a photograph with those of
#: plain steps (adjusted Rand index above 0.99).
SEARCH, STRETCH, SAME_WAY = 0.5, 0.25, 0.1
#: How fast stretched steps grow.
GROWTH = 2.0
#: The logarithm of the density may fall by this much because of rounding.
ROUNDING = 1e-12
#: Points of the first generation, at least; each generation is four times as large as all before.
FIRST, FACTOR = 1024, 4
#: Points that climb at a time: the numbers of their neighbours take some 10 to 100 MB.
BATCH = 16_384


class Paths:
    """Places where climbers passed, and who passed there.

    Parameters
    ----------
    index : NeighborIndex
        Fitted to the places.
    owners : ndarray of int of shape (n_places,)
    """

    saved_state = ()

    def __init__(self, index: Any, owners: Integers) -> None:
        if owners.shape != index.points_.shape[:1]:
            raise ValueError("the places of paths and their owners do not fit each other")
        self.index = index
        self.owners = owners

    @classmethod
    def through(cls, places: Array, owners: Integers, n_jobs: int | None) -> Paths:
        """Remember who passed at some places."""
        with unheard():
            return cls(fit_index(places, n_jobs=n_jobs), owners)

    def owners_near(self, places: Array, radii: Array) -> Integers:
        """Return who passed nearest to each place, -1 if nobody did within the radius."""
        if not len(places):
            return np.empty(0, dtype=np.int64)
        with unheard():
            found = self.index.query(places, 1)
        near = found.sq_distances[:, 0] <= radii**2
        return np.where(near, self.owners[found.indices[:, 0]], -1)


@dataclass(frozen=True)
class Ascent:
    """Where climbers ended.

    Attributes
    ----------
    ends : ndarray of shape (n_starts, n_features)
        The last place of each: where it arrived, or where it joined the way of an owner.
    owners : ndarray of int of shape (n_starts,)
        Whose way each joined, or -1.
    moving : ndarray of bool of shape (n_starts,)
        Who was still on the way.
    n_iter : int
        Steps of the one that took the most.
    interrupted : bool, default=False
        Whether that is because of Ctrl-C, and not of the number of steps.
    """

    ends: Array
    owners: Integers
    moving: NDArray[np.bool_]
    n_iter: int
    interrupted: bool = False


def climb_together(
    density: Density,
    X: Array,
    near: NDArray[np.int32],
    tol: float,
    max_iter: int,
    n_jobs: int | None,
) -> tuple[Ascent, Paths | None]:
    """Let all points of a set climb, in generations: later ones join the ways of earlier ones.

    Parameters
    ----------
    density : Density
    X : ndarray of shape (n_samples, n_features)
    near : ndarray of int of shape (n_samples, n_counting)
        The points that count at each point.
    tol, max_iter
        As in `climb`.
    n_jobs : int or None

    Returns
    -------
    Ascent
        Owners have ends of their own. Ctrl-C ends the climb, and is passed on only if nobody has
        arrived.
    Paths or None
        For climbers who come later; they start with the points themselves. None if the points are
        so few that everybody went alone.
    """
    n = len(X)
    ends, owners, moving = X.copy(), np.full(n, -1), np.ones(n, dtype=bool)
    trail = _Trail()
    paths = None
    n_iter = done = 0
    interrupted = False
    generations = _generations(n)
    try:
        for generation in generations:
            is_last = generation is generations[-1]
            for first in range(0, len(generation), BATCH):
                batch = generation[first : first + BATCH]
                climbers = _Climbers(density, X[batch], near[batch], tol, paths)
                try:
                    climbers.run(max_iter, None if is_last else trail.of(batch), done, n)
                finally:  # who has arrived before Ctrl-C has arrived
                    ends[batch], owners[batch] = climbers.places, climbers.owners
                    moving[batch] = climbers.is_moving
                    n_iter = max(n_iter, climbers.n_iter)
                done += len(batch)
            if not is_last:
                paths = Paths.through(*trail.gather(owners), n_jobs)
    except KeyboardInterrupt:
        if moving.all():
            raise
        interrupted = True
    if paths is not None:
        places, passed = trail.gather(owners)
        everyone = np.where(owners < 0, np.arange(n), owners)
        places, passed = np.concatenate([X, places]), np.concatenate([everyone, passed])
        known = ~moving[passed] if interrupted else slice(None)
        paths = Paths.through(places[known], passed[known], n_jobs)
    return Ascent(ends, owners, moving, n_iter, interrupted), paths


def climb(
    density: Density, starts: Array, tol: float, max_iter: int, paths: Paths | None = None
) -> Ascent:
    """Let points climb, each on its own.

    Parameters
    ----------
    density : Density
    starts : ndarray of shape (n_starts, n_features)
    tol : float
        A climber has arrived when a step is shorter than this times the bandwidth at its start.
    max_iter : int
    paths : Paths, optional
        Known ways, which may be joined.

    Returns
    -------
    Ascent
    """
    parts = []
    for first in range(0, len(starts), BATCH):
        batch = starts[first : first + BATCH]
        climbers = _Climbers(density, batch, density.search(batch), tol, paths)
        climbers.run(max_iter, None, first, len(starts))
        parts.append(climbers)
    return Ascent(
        np.concatenate([part.places for part in parts]),
        np.concatenate([part.owners for part in parts]),
        np.concatenate([part.is_moving for part in parts]),
        max(part.n_iter for part in parts),
    )


def _generations(n: int) -> list[Integers]:
    """Part 0 … n − 1 into sets that are spread evenly, each a few times as large as all before."""
    stride = 1
    while n // (FACTOR * stride) >= FIRST:
        stride *= FACTOR
    everyone = np.arange(n)
    generations: list[Integers] = [everyone[::stride]]
    while stride > 1:
        stride //= FACTOR
        some = everyone[::stride]
        generations.append(some[some % (FACTOR * stride) > 0])
    return generations


class _Trail:
    """Collects where climbers pass."""

    def __init__(self) -> None:
        self._places: list[Array] = []
        self._climbers: list[Integers] = []

    def of(self, batch: Integers) -> Any:
        def note(climbers: Integers, places: Array) -> None:
            self._places.append(places)
            self._climbers.append(batch[climbers])

        return note

    def gather(self, owners: Integers) -> tuple[Array, Integers]:
        """Return the places, and of each climber who passed there whose end it shares."""
        climbers = np.concatenate(self._climbers)
        shared = owners[climbers]
        return np.concatenate(self._places), np.where(shared < 0, climbers, shared)


class _Climbers:
    """Points on their way up, step by step."""

    def __init__(
        self,
        density: Density,
        starts: Array,
        near: NDArray[np.int32],
        tol: float,
        paths: Paths | None,
    ) -> None:
        n = len(starts)
        self._density = density
        self._paths = paths
        self.places = starts.copy()
        self._near = near.copy()
        self._searched = starts.copy()  # where the neighbours were searched
        self._scales = density.sigmas[near[:, 0]]
        self._shortest = tol * self._scales
        self._plain = starts.copy()  # where the plain step would have gone
        self._headings = np.zeros_like(starts)  # how the last plain step would have gone
        self._logs = np.full(n, -np.inf)
        self._stretch = np.ones(n)
        self._tentative = np.zeros(n, dtype=bool)  # the density may have fallen by the last step
        self._unsure = np.zeros(n, dtype=bool)  # arrived, but with neighbours of another place
        self.owners = np.full(n, -1)
        self.moving: Integers = np.arange(n)
        self.n_iter = 0

    @property
    def is_moving(self) -> NDArray[np.bool_]:
        """Who is still on the way."""
        return np.isin(np.arange(len(self.places)), self.moving, assume_unique=True)

    def run(self, max_iter: int, note: Any, done: int, total: int) -> None:
        """Go on until everybody has arrived; tell `note` who passes where."""
        while len(self.moving) and self.n_iter < max_iter:
            report("modes", done + len(self.places) - len(self.moving), total)
            self.n_iter += 1
            self._join(self.moving[~self._tentative[self.moving]])
            self._search()
            self._step(note)
        report("modes", done + len(self.places), total)

    def _join(self, some: Integers) -> None:
        """Let those of some climbers who have come to a known way take its end."""
        if self._paths is not None:
            radii = SAME_WAY * self._scales[some]
            self.owners[some] = self._paths.owners_near(self.places[some], radii)
            self.moving = self.moving[self.owners[self.moving] < 0]

    def _search(self) -> None:
        some = self.moving[~self._tentative[self.moving]]
        some = some[self._is_far(some) | self._unsure[some]]
        if len(some):
            self._near[some] = near = self._density.search(self.places[some])
            self._searched[some] = self.places[some]
            self._scales[some] = self._density.sigmas[near[:, 0]]
            self._logs[some] = -np.inf  # densities over other points do not compare
            self._unsure[some] = False

    def _is_far(self, some: Integers) -> NDArray[np.bool_]:
        moved = np.linalg.norm(self.places[some] - self._searched[some], axis=1)
        return np.asarray(moved > SEARCH * self._scales[some])

    def _step(self, note: Any) -> None:
        some = self.moving
        logs, means = self._density.evaluate(self.places[some], self._near[some])
        fell = logs < self._logs[some] - ROUNDING
        self._go_back(some[fell])
        rose = ~fell
        self._join(some[rose & self._tentative[some]])
        rose &= self.owners[some] < 0
        some, logs, means = some[rose], logs[rose], means[rose]
        if note is not None:
            note(some, self.places[some])
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
        # Past the top: so close to it the density itself may not tell.
        turned = np.einsum("ij,ij->i", headings, self._headings[some]) < 0.0
        self._stretch[some[turned]] = 1.0
        longest = STRETCH * self._scales[some] / lengths
        stretch = np.maximum(1.0, np.minimum(self._stretch[some], longest))
        # Neighbours are to be searched: where they are, the density must not have fallen already.
        stretch[self._is_far(some)] = 1.0
        tentative = stretch > 1.0
        stretched = self.places[some] + headings * stretch[:, None]
        self.places[some] = np.where(tentative[:, None], stretched, means)
        self._plain[some], self._headings[some], self._logs[some] = means, headings, logs
        self._tentative[some] = tentative
        self._stretch[some] *= GROWTH
