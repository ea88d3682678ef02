"""Viewers: points that separate others by the modes of their distances (section 3 of the paper).

A viewer looks at its distances to all points and finds their modes. Two points between whose
distances there are at least two modes lie in different clusters, as far as it can see, and get its
vote to be separated.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from closeknit._arrays import Array, Flags, Integers
from closeknit.affinities import solve_bandwidths
from closeknit.exceptions import NoBandwidthWarning
from closeknit.graphs.dip import dip_modes
from closeknit.graphs.modes import find_modes, silverman_bandwidth
from closeknit.kernels import Kernel
from closeknit.linalg import entry_rows
from closeknit.progress import report, steps


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
        Pairs of points that it votes to separate.
    places : ndarray of int of shape (n_samples,)
        The number of modes before each point; -1 for points that it does not see.

    Examples
    --------
    >>> import closeknit as ck
    >>> X = [[0.0], [1.0], [2.0], [10.0], [11.0], [20.0], [21.0]]
    >>> sparsifier = ck.graphs.ViewerSparsifier(viewer_selection=[0], bandwidth=1.0, perplexity=3)
    >>> view = sparsifier.fit(X).viewers_[0]
    >>> view.modes.round(1), view.separates([1, 1], [3, 5])
    (array([ 1.5, 10.5, 20.5]), array([False,  True]))
    """

    viewer: int
    bandwidth: float
    modes: Array
    n_votes: int
    places: Integers = field(repr=False)

    def is_good(self, min_modes: int = 2, min_votes: int = 1) -> bool:
        """Whether it sees enough modes, and separates enough pairs of points.

        The report judges viewers by both.
        """
        return len(self.modes) >= min_modes and self.n_votes >= min_votes

    def separates(self, first: NDArray[Any], second: NDArray[Any]) -> Flags:
        """Whether at least two modes lie between the points of each pair.

        There are no votes on points that the viewer does not see.
        """
        a, b = self.places[first], self.places[second]
        return (np.abs(a - b) >= 2) & (a >= 0) & (b >= 0)


def look(
    distances: Array,
    viewer: int,
    bandwidth: float | str,
    perplexity: float,
    modes: str = "mean-shift",
    *,
    kernel: str | Kernel = "gaussian",
    alpha1: float = 0.05,
    alpha2: float = 0.05,
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
    modes : {"mean-shift", "dip"}, default="mean-shift"
    kernel : str or Kernel, default="gaussian"
        Of mean shift and of the entropic bandwidth.
    alpha1, alpha2 : float, default=0.05
        As in :func:`dip_modes`.

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
        width = _bandwidth_of(sample, bandwidth, perplexity, kernel)
        if modes == "dip":
            found = dip_modes(sample, alpha1=alpha1, alpha2=alpha2)
        else:
            found = find_modes(sample, width, kernel=kernel) if width > 0.0 else sample[:1]
    # A point's place is the number of modes before it; -1 if it is not seen.
    places = np.searchsorted(found, distances, side="right").astype(np.int32)
    places[~seen] = -1
    return View(viewer, width, found, _count_pairs(places[seen]), places)


def _bandwidth_of(
    sample: Array, rule: float | str, perplexity: float, kernel: str | Kernel
) -> float:
    """The viewer's own bandwidth; Silverman's where no bandwidth has the perplexity."""
    if not isinstance(rule, str):
        return float(rule)
    if rule == "entropic" and perplexity < len(sample):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoBandwidthWarning)
            d = np.square(sample)[None]
            sigma = solve_bandwidths(d, perplexity, kernel=kernel, n_jobs=1).sigmas[0]
        if 0.0 < sigma < np.inf:
            return float(sigma)
    return silverman_bandwidth(sample)


def _count_pairs(places: Integers) -> int:
    """Number of pairs at least two places apart."""
    counts = np.bincount(places).astype(np.int64)
    before = np.concatenate([[0, 0], np.cumsum(counts)])[: len(counts)]  # two places or more
    return int(counts @ before)


def count_votes(viewers: Sequence[View], W: csr_matrix) -> Integers:
    """Count the votes against each stored edge of a graph."""
    rows = entry_rows(W)
    votes = np.zeros(W.nnz, dtype=np.int32)
    for view in steps("votes", viewers):
        votes += view.separates(rows, W.indices)
    return votes


def choose_viewers(
    n: int,
    n_viewers: int,
    look_from: Callable[[int], tuple[View, Array]],
    *,
    spread: bool,
    random: np.random.RandomState,
    is_good: Callable[[View], bool] = View.is_good,
) -> list[View]:
    """Draw candidates one after another until enough of them are good viewers.

    Parameters
    ----------
    n : int
        Number of points.
    n_viewers : int
        How many good viewers are wanted.
    look_from : callable
        Returns what a candidate sees, and how remote every point is from it.
    spread : bool
        Whether candidates are drawn far from those before, as in k-means++: with weights that are
        the summed remoteness from all past candidates. Uniformly otherwise.
    random : RandomState
    is_good : callable
        Whether a candidate is a good viewer.

    Returns
    -------
    list of View
        All candidates, good and bad, at most four times as many as wanted.
    """
    candidates: list[View] = []
    eligible = np.ones(n, dtype=bool)
    weights = np.zeros(n)
    good = 0
    while good < n_viewers and len(candidates) < 4 * n_viewers and eligible.any():
        report("viewers", good, n_viewers)
        drawn = _draw(weights, eligible, random)
        view, remoteness = look_from(drawn)
        candidates.append(view)
        good += is_good(view)
        eligible[drawn] = False
        if spread:
            weights += remoteness
            # A flat kernel gives zero to the points in its range: one view of them is enough.
            eligible &= remoteness != 0.0
    return candidates


def _draw(weights: Array, eligible: Flags, random: np.random.RandomState) -> int:
    free = np.flatnonzero(eligible)
    among = weights[free]
    total = among.sum()
    shares = among / total if 0.0 < total < np.inf else None
    return int(random.choice(free, p=shares))
