"""Viewers: points that tell others apart by the modes of their distances (section 3 of the paper).

A viewer looks at its distances to all points and finds their modes. Two points between whose
distances there are at least two modes lie in different clusters, as far as it can see, and get its
vote to be parted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.affinities import solve_bandwidths
from closeknit.exceptions import NoBandwidthWarning
from closeknit.graphs.dip import dip_modes
from closeknit.graphs.modes import find_modes, silverman_bandwidth
from closeknit.progress import report

__all__ = ["View", "choose_viewers", "look"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class View:
    """What one viewer sees.

    Attributes
    ----------
    viewer : int
        Index of the point.
    bandwidth : float
        Of the kernel under which the modes were found; 0 if all points are equally far.
    modes : ndarray of shape (n_modes,)
        Modes of the distances from the viewer.
    n_votes : int
        Pairs of points that it would part.
    """

    viewer: int
    bandwidth: float
    modes: Array
    n_votes: int
    _places: NDArray[np.int32] = field(repr=False)

    @property
    def good(self) -> bool:
        """Whether it parts anybody, for which it has to see at least two modes."""
        return self.n_votes > 0

    def parts(self, first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether at least two modes lie between the points of each pair.

        Points that the viewer does not see get no vote.
        """
        a, b = self._places[first], self._places[second]
        return (np.abs(a - b) >= 2) & (a >= 0) & (b >= 0)


def look(
    distances: Array, viewer: int, bandwidth: float | str, perplexity: float, modes: str
) -> View:
    """Look at all points from one of them.

    Parameters
    ----------
    distances : ndarray of shape (n_samples,)
        From the viewer; infinite for points that it does not see.
    viewer : int
    bandwidth : float, "entropic" or "silverman"
    perplexity : float
        For the entropic bandwidth.
    modes : {"mean-shift", "dip"}

    Returns
    -------
    View
    """
    seen = np.isfinite(distances)
    seen[viewer] = False
    sample = distances[seen]
    seen[viewer] = True
    width, found = 0.0, np.empty(0)
    if len(sample):
        width = _bandwidth_of(sample, bandwidth, perplexity)
        if modes == "dip":
            found = dip_modes(sample)
        else:
            found = find_modes(sample, width) if width > 0.0 else sample[:1]
    # How many modes lie before each point; those out of sight have no place.
    places = np.searchsorted(found, distances, side="right").astype(np.int32)
    places[~seen] = -1
    return View(viewer, width, found, _count_votes(places[seen]), places)


def _bandwidth_of(sample: Array, rule: float | str, perplexity: float) -> float:
    """The viewer's own bandwidth; Silverman's where no bandwidth has the perplexity."""
    if not isinstance(rule, str):
        return float(rule)
    if rule == "entropic" and perplexity < len(sample):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoBandwidthWarning)
            sigma = solve_bandwidths(np.square(sample)[None], perplexity, n_jobs=1).sigmas[0]
        if 0.0 < sigma < np.inf:
            return float(sigma)
    return silverman_bandwidth(sample)


def _count_votes(places: NDArray[np.int32]) -> int:
    """Number of pairs at least two places apart."""
    counts = np.bincount(places).astype(np.int64)
    before = np.concatenate([[0, 0], np.cumsum(counts)])[: len(counts)]  # two places or more
    return int(counts @ before)


def choose_viewers(
    n: int,
    n_viewers: int,
    look_from: Callable[[int], tuple[View, Array]],
    *,
    spread: bool,
    random: np.random.RandomState,
) -> list[View]:
    """Draw candidates one after another until enough of them are good viewers.

    Parameters
    ----------
    n : int
        Number of points.
    n_viewers : int
        How many good viewers are wanted.
    look_from : callable
        Returns what a candidate sees, and how little affinity every point has to it.
    spread : bool
        Whether candidates are drawn far from those before, as in k-means++: with weights that are
        the summed rarities seen from all past candidates. Uniformly otherwise.
    random : RandomState

    Returns
    -------
    list of View
        All candidates, good and bad, at most four times as many as wanted.
    """
    candidates: list[View] = []
    fresh = np.ones(n, dtype=bool)
    weights = np.zeros(n)
    reached = np.zeros(n, dtype=bool)
    good = 0
    while good < n_viewers and len(candidates) < 4 * n_viewers and fresh.any():
        report("viewers", good, n_viewers)
        drawn = _draw(weights, fresh, random)
        view, rarity = look_from(drawn)
        candidates.append(view)
        good += view.good
        fresh[drawn] = False
        if spread:
            weights += rarity
            # Zero is what a flat kernel gives the points in its range: one view of them is enough.
            reached |= rarity == 0.0
            fresh &= ~reached
    return candidates


def _draw(weights: Array, fresh: NDArray[np.bool_], random: np.random.RandomState) -> int:
    free = np.flatnonzero(fresh)
    among = weights[free]
    total = among.sum()
    shares = among / total if 0.0 < total < np.inf else None
    return int(random.choice(free, p=shares))
