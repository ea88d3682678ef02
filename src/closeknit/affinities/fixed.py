"""Gaussian affinities with bandwidths set by a rule, for the comparisons that the papers make."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np

from closeknit import _core
from closeknit._arrays import Array
from closeknit._threads import effective_n_jobs
from closeknit.affinities.base import BaseAffinities
from closeknit.affinities.solution import Bandwidths


@dataclass(repr=False, eq=False)
class FixedAffinities(BaseAffinities):
    """Gaussian affinities with one bandwidth for all points, or the distance to the k-th neighbour.

    Parameters
    ----------
    sigma : float or "neighbor", default="neighbor"
        The bandwidth σ of every point; ``"neighbor"`` takes each point's distance to its neighbour
        number `rank`.
    rank : int, default=7
        Zelnik-Manor and Perona's rule.
    n_neighbors : "auto", int or None, default="auto"
        Neighbours each point is compared with; ``"auto"`` means 90, as for the default perplexity
        of :class:`~closeknit.EntropicAffinities`. None means all other points.
    metric, metric_params, neighbors, include_self, n_jobs, random_state, verbose
        As in :class:`~closeknit.EntropicAffinities`.

    Attributes
    ----------
    affinities_ : csr_matrix or ndarray of shape (n_samples, n_samples)
        ``p_j ∝ exp(-d_j² / 2σ²)``; rows sum to 1.
    sigmas_, betas_, perplexities_, neighbors_
        As in :class:`~closeknit.EntropicAffinities`. A point with `rank` duplicates has σ = 0 and
        is uniform over them.

    References
    ----------
    Zelnik-Manor and Perona (2005), Self-tuning spectral clustering; Vladymyrov and
    Carreira-Perpiñán (2013), figure 1.

    Examples
    --------
    >>> from closeknit.affinities import FixedAffinities
    >>> from sklearn.datasets import load_iris
    >>> fixed = FixedAffinities(sigma=0.5).fit(load_iris().data)
    >>> bool(fixed.perplexities_.max() > 2 * fixed.perplexities_.min())
    True
    """

    sigma: float | str = "neighbor"
    _: KW_ONLY
    rank: int = 7

    def _solve(
        self, sq_distances: Any, indices: Any, *, fitting: bool, out: Array | None = None
    ) -> Bandwidths:
        n = len(sq_distances)
        if self.sigma == "neighbor":
            # A point itself is not its own first neighbour; rows with indices are sorted.
            place = self.rank - 1 + bool(self.include_self)
            rows = sq_distances if indices is not None else np.partition(sq_distances, place)
            sigmas = np.sqrt(rows[:, place])
        else:
            sigmas = np.full(n, float(self.sigma))
        with np.errstate(divide="ignore"):
            betas = 0.5 / sigmas**2
        affinities = np.empty(sq_distances.shape) if out is None else out
        threads = effective_n_jobs(self.n_jobs)
        # With the entropy asked for, the pass also finds rows it cannot take and repairs them.
        perplexities = np.empty(n)
        d = np.ascontiguousarray(sq_distances)
        _core.affinities_at(d, betas, indices is not None, affinities, perplexities, threads)
        return Bandwidths(betas, sigmas, affinities, np.ones(n, np.int32), np.zeros(n, np.uint8))

    def _check_parameters(self, n_samples: int) -> int:
        if isinstance(self.sigma, str):
            if self.sigma != "neighbor":
                raise ValueError(f"sigma={self.sigma!r} must be a positive number or 'neighbor'")
        elif not 0.0 < self.sigma < np.inf:
            raise ValueError(f"sigma={self.sigma} must be a positive number or 'neighbor'")
        rank: Any = self.rank
        if not isinstance(rank, Integral) or rank < 1:
            raise ValueError(f"rank={self.rank!r} must be a whole number of at least 1")
        k = self._count_neighbors(n_samples, 90)
        if self.sigma == "neighbor" and self.rank > k:
            raise ValueError(
                f"rank={self.rank} needs at least that many neighbours per point, got {k}; "
                "lower rank or use more neighbours"
            )
        return k
