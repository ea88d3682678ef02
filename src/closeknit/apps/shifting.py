"""The common parts of mean shift and its blurring variant: parameters, bandwidths, merging."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, ClusterMixin

from closeknit._arrays import Array, Integers
from closeknit._checks import check_number
from closeknit.affinities import EntropicAffinities
from closeknit.neighbors import Neighbors


@dataclass(repr=False, eq=False)
class BaseMeanShift(ClusterMixin, BaseEstimator):
    """Parameters of points that move under the bandwidths of entropic affinities."""

    perplexity: float = 30.0
    _: KW_ONLY
    n_neighbors: int | str = "auto"
    neighbors: Any = "auto"
    merge: float = 1.0
    tol: float = 1e-3
    max_iter: int = 300
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool = False

    def _affinities(self, X: Array) -> EntropicAffinities:
        """Return entropic affinities, with their neighbours and bandwidths."""
        return EntropicAffinities(
            self.perplexity,
            n_neighbors=self.n_neighbors,
            neighbors=self.neighbors,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        ).fit(X)

    def _check_parameters(self) -> None:
        check_number("max_iter", self.max_iter, integer=True, least=1)
        if self.n_neighbors is None:
            raise ValueError("n_neighbors=None has no meaning here; use 'auto' or a number")
        if isinstance(self.neighbors, Neighbors | tuple):
            raise ValueError(
                "points that move need new neighbours: neighbors= must be 'auto', 'exact', "
                "'approximate' or an index, not the neighbours themselves"
            )
        check_number("tol", self.tol, share=True)
        if not 0.0 < self.merge < math.inf:
            raise ValueError(f"merge={self.merge} must be a positive number")


def positive(sigmas: Array) -> Array:
    """Bandwidths, those of 0 (many duplicates) or ∞ (no differences) replaced by the nearest other.

    Examples
    --------
    >>> positive(np.array([0.0, 2.0, 3.0, np.inf]))
    array([2., 2., 3., 3.])
    """
    usable = sigmas[(sigmas > 0.0) & np.isfinite(sigmas)]
    limits = (usable.min(), usable.max()) if len(usable) else (1.0, 1.0)
    return np.clip(sigmas, *limits)


def merge_ends(
    ends: Array, heights: Array, scales: Array, merge: float
) -> tuple[Integers, Integers]:
    """Gather end points around the highest ones; return which each belongs to, and these.

    Parameters
    ----------
    ends : ndarray of shape (n_ends, n_features)
    heights, scales : ndarray of shape (n_ends,)
        Density or number of points, and bandwidth.
    merge : float
        How near an end is to a higher one to be the same, in bandwidths of the higher one.

    Examples
    --------
    >>> merge_ends(np.array([[0.0], [0.5], [9.0]]), np.array([1, 2, 1]), np.ones(3), 1.0)
    (array([0, 0, 1]), array([1, 2]))
    """
    tree = cKDTree(ends)
    labels = np.full(len(ends), -1)
    modes: list[int] = []
    for end in np.argsort(-heights, kind="stable"):
        if labels[end] < 0:
            around = np.array(tree.query_ball_point(ends[end], merge * scales[end]))
            labels[around[labels[around] < 0]] = len(modes)
            modes.append(int(end))
    return labels, np.array(modes)
