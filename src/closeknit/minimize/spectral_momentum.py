"""Momentum along the spectral direction, at first cautious and then bold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from closeknit.linalg import ApproximateCholesky, row_sums, strongest_entries, with_data
from closeknit.minimize.momentum import MomentumDescent, MomentumRule
from closeknit.minimize.problem import Array, AttractiveProblem

__all__ = ["SpectralMomentum"]

#: Rows whose whole weights tell how much of all weight the kept ones carry.
_SAMPLED_ROWS = 4096


class _SpectralMomentumDescent(MomentumDescent):
    def __init__(self, problem: AttractiveProblem, rule: Any, X: Array) -> None:
        super().__init__(problem, rule, X)
        weights = problem.attractive_weights(X)
        self._edges = strongest_entries(weights, rule.n_neighbors, rule.n_jobs)
        self._sample = np.arange(0, len(X), -(-len(X) // _SAMPLED_ROWS))
        begin, end = weights.indptr[self._sample], weights.indptr[self._sample + 1]
        self._sampled = np.concatenate([np.arange(b, e) for b, e in zip(begin, end, strict=True)])
        self._epsilon, self._kept = rule.stiffness, self._kept_weights(X)
        self._factor = self._factorize(None)

    def propose(self, X: Array, gradient: Array) -> Array:
        """Update the velocity along the spectral direction, whose factor follows the weights."""
        refresh = self.rule.refresh
        if refresh is not None and self.iteration > 0 and self.iteration % refresh == 0:
            epsilon, kept = self.rule.stiffness_at(self.iteration), self._kept_weights(X)
            if epsilon != self._epsilon or not np.array_equal(kept.data, self._kept.data):
                self._epsilon, self._kept = epsilon, kept
                self._factor = self._factorize(self._factor)
        direction = self._factor.solve(gradient)
        direction *= 1.0 + self._epsilon
        return super().propose(X, direction)

    def _kept_weights(self, X: Array) -> csr_matrix:
        """Return the strongest weights at X, scaled up to what all weights sum to."""
        kept = self.problem.attractive_weights(X, self._edges)
        if self._edges is None:
            return kept
        all_of_sample = float(self.problem.attractive_weights(X, self._sampled).data.sum())
        kept_of_sample = float(kept[self._sample].sum())
        scale = all_of_sample / kept_of_sample if kept_of_sample > 0.0 else 1.0
        return with_data(kept, scale * kept.data)

    def _factorize(self, like: ApproximateCholesky | None) -> ApproximateCholesky:
        """Factorise 4 times the Laplacian of the kept weights, with ε times the degrees added."""
        degrees = row_sums(self._kept)
        degrees[degrees <= 0.0] = degrees.mean() or 1.0  # points without attraction move, too
        weights = with_data(self._kept, 4.0 * self._kept.data.astype(np.float64))
        rule = self.rule
        return ApproximateCholesky(
            weights, 4.0 * self._epsilon * degrees, rule.random_state, n_jobs=rule.n_jobs, like=like
        )


@dataclass(frozen=True)
class SpectralMomentum(MomentumRule, name="spectral-momentum"):
    """Momentum along the spectral direction, with a factor that follows the map.

    The direction solves (4L⁺ + 4εD⁺) P = −G. With a large ε that is the fixed point iteration, in
    which every point follows its neighbours; with a small one it is the spectral direction, in
    which whole clusters move at once. Beginning with the first and lowering ε while the repulsion
    grows lets points find their neighbours before clusters find their places: maps keep more
    neighbours, large and small, than those of either alone or of plain :class:`Momentum`. There is
    no line search: on t-SNE's objective it would take steps that fling points far out. A point
    whose velocity turns against its direction takes shorter steps, so that nothing swings. Nothing
    depends on the axes.

    Parameters
    ----------
    rate : float, default=0.5
        Share of the direction that is added to the velocity.
    momentum : float, default=0.9
        Share of the velocity that is kept.
    max_step : float, default=3.0
        Longest move of a point in one iteration.
    stiffness : float, default=1.0
        ε at the start.
    final_stiffness : float, default=0.01
        The least ε.
    hold : int, default=20
        Iterations before ε begins to fall.
    half_life : float, default=30.0
        Iterations in which ε falls by half.
    n_neighbors : int or None, default=5
        Weights of each point that enter the factor, the largest, scaled up to the sum of all; None
        takes all. Which these are is decided at the start.
    refresh : int or None, default=20
        Iterations after which the factor is made anew; None never does, and keeps the first ε.
    random_state : int, default=0
        For the approximate factorisation; the same number gives the same steps.
    n_jobs : int or None, default=-1

    Notes
    -----
    The values were chosen on 20 newsgroups, digits, PBMC, parts of covertype and of flow cytometry;
    ``benchmarks/finished.py`` judges them on other sets too. t-SNE takes ten neighbours where all
    pairs are summed, which iris showed to be better.

    Examples
    --------
    >>> from closeknit.minimize import SpectralMomentum, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> direction = SpectralMomentum(rate=0.1, momentum=0.5)
    >>> minimize(springs, [[5.0], [5.0]], direction=direction).X.round(2)
    array([[1.2],
           [1.8]])
    """

    rate: float = 0.5
    momentum: float = 0.9
    max_step: float = 3.0
    stiffness: float = 1.0
    final_stiffness: float = 0.01
    hold: int = 20
    half_life: float = 30.0
    n_neighbors: int | None = 5
    refresh: int | None = 20
    random_state: int = 0
    n_jobs: int | None = -1

    early_momentum: ClassVar[float] = 0.0
    early: ClassVar[int] = 0
    gains: ClassVar[bool] = True
    #: What a gain grows by, and how far: points that swing are slowed, others hardly sped up.
    gain: ClassVar[tuple[float, float]] = (0.05, 1.5)
    descent: ClassVar[type[_SpectralMomentumDescent]] = _SpectralMomentumDescent
    default_tol: ClassVar[float] = 1e-4
    exaggeration: ClassVar[tuple[tuple[float, int], ...]] = (
        (12.0, 20),
        (6.0, 25),
        (3.0, 25),
        (1.5, 25),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_neighbors", "refresh"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise ValueError(f"{name}={number!r} must be None or at least 1")
        if not 0.0 < self.final_stiffness <= self.stiffness < np.inf:
            raise ValueError(
                f"final_stiffness={self.final_stiffness!r} must be positive and at most "
                f"stiffness={self.stiffness!r}, which must be finite"
            )
        if self.hold < 0 or not self.half_life > 0.0:
            raise ValueError(
                f"hold={self.hold!r} must not be negative, and half_life={self.half_life!r} must "
                "be positive"
            )

    def stiffness_at(self, iteration: int) -> float:
        """Return ε after so many iterations.

        Examples
        --------
        >>> from closeknit.minimize import SpectralMomentum
        >>> [SpectralMomentum().stiffness_at(n) for n in (0, 20, 50, 1000)]
        [1.0, 1.0, 0.5, 0.01]
        """
        halvings = max(0, iteration - self.hold) / self.half_life
        return max(self.final_stiffness, self.stiffness * 0.5**halvings)
