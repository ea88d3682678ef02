"""Modes of a density: the ascents of many points, in batches and generations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit._arrays import Array, Flags, Integers
from closeknit.apps.ascent import Ascent
from closeknit.apps.density import SamplePointDensity
from closeknit.apps.trajectories import Recorder, Trajectories

#: Points of the first generation, at least; each generation is four times as large as all before.
FIRST, FACTOR = 1024, 4
#: Points that ascend at a time: the indices of their neighbours take some 10 to 100 MB.
BATCH = 16_384


@dataclass(frozen=True)
class Ends:
    """The places where points ended.

    Attributes
    ----------
    places : ndarray of shape (n_starts, n_features)
        The last place of each: where it arrived, or where it met the trajectory of its leader.
    leaders : ndarray of int of shape (n_starts,)
        The point whose trajectory each followed, or -1.
    moving : ndarray of bool of shape (n_starts,)
        Whether each was still moving.
    n_iter : int
        Steps of the point that took the most.
    interrupted : bool, default=False
        Whether that is due to Ctrl-C rather than to the number of steps.
    """

    places: Array
    leaders: Integers
    moving: Flags
    n_iter: int
    interrupted: bool = False

    @property
    def stopped_because(self) -> str:
        """One of "converged", "max_iter" and "interrupted"."""
        if self.interrupted:
            return "interrupted"
        return "max_iter" if self.moving.any() else "converged"


def find_ends_together(
    density: SamplePointDensity, near: Integers, tol: float, max_iter: int, n_jobs: int | None
) -> tuple[Ends, Trajectories | None]:
    """Let all points of a density ascend, in generations: later ones follow earlier ones.

    Parameters
    ----------
    density : SamplePointDensity
    near : ndarray of int of shape (n_samples, n_neighbors)
        The points that count at each point.
    tol, max_iter
        As in :func:`find_ends`.
    n_jobs : int or None

    Returns
    -------
    Ends
        Leaders have ends of their own. Ctrl-C ends the search, and is passed on only if no point
        has arrived.
    Trajectories or None
        For new points to follow; they start with the points themselves. None if there are so few
        points that each went on its own.
    """
    X = density.X
    n = len(X)
    places, leaders, moving = X.copy(), np.full(n, -1), np.ones(n, dtype=bool)
    recorder, known = Recorder(), None
    n_iter = done = 0
    interrupted = False
    generations = _generations(n)
    try:
        for generation in generations:
            is_last = generation is generations[-1]
            for first in range(0, len(generation), BATCH):
                batch = generation[first : first + BATCH]
                ascent = Ascent(density, X[batch], near[batch], tol, known)

                def record(points: Integers, at: Array, batch: Integers = batch) -> None:
                    recorder.add(batch[points], at)

                try:
                    ascent.run(max_iter, None if is_last else record, done, n)
                finally:  # points that have arrived before Ctrl-C keep their ends
                    places[batch], leaders[batch] = ascent.places, ascent.leaders
                    moving[batch] = ascent.is_moving
                    n_iter = max(n_iter, ascent.n_iter)
                done += len(batch)
            if not is_last:
                known = Trajectories.through(*recorder.gather(leaders), n_jobs)
    except KeyboardInterrupt:
        if moving.all():
            raise
        interrupted = True
    if known is not None:
        passed, led_by = recorder.gather(leaders)
        own = np.where(leaders < 0, np.arange(n), leaders)
        passed, led_by = np.concatenate([X, passed]), np.concatenate([own, led_by])
        ended = ~moving[led_by] if interrupted else slice(None)
        known = Trajectories.through(passed[ended], led_by[ended], n_jobs)
    return Ends(places, leaders, moving, n_iter, interrupted), known


def find_ends(
    density: SamplePointDensity,
    starts: Array,
    tol: float,
    max_iter: int,
    known: Trajectories | None = None,
) -> Ends:
    """Let points ascend, each on its own.

    Parameters
    ----------
    density : SamplePointDensity
    starts : ndarray of shape (n_starts, n_features)
    tol : float
        A point has arrived when a step is shorter than this times the bandwidth at its start.
    max_iter : int
    known : Trajectories, optional
        Trajectories that may be followed.

    Returns
    -------
    Ends
    """
    ascents = []
    for first in range(0, len(starts), BATCH):
        batch = starts[first : first + BATCH]
        ascent = Ascent(density, batch, density.search(batch), tol, known)
        ascent.run(max_iter, None, first, len(starts))
        ascents.append(ascent)
    return Ends(
        np.concatenate([ascent.places for ascent in ascents]),
        np.concatenate([ascent.leaders for ascent in ascents]),
        np.concatenate([ascent.is_moving for ascent in ascents]),
        max(ascent.n_iter for ascent in ascents),
    )


def _generations(n: int) -> list[Integers]:
    """Split 0 … n − 1 into evenly spread sets, each a few times as large as all before it."""
    stride = 1
    while n // (FACTOR * stride) >= FIRST:
        stride *= FACTOR
    every = np.arange(n)
    generations: list[Integers] = [every[::stride]]
    while stride > 1:
        stride //= FACTOR
        some = every[::stride]
        generations.append(some[some % (FACTOR * stride) > 0])
    return generations
