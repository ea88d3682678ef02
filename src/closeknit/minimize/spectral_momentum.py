"""The spectral direction without a line search: velocity builds up along it instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.linalg import (
    ApproximateCholesky,
    canonical,
    same_weights,
    strongest_entries,
    take_entries,
    with_data,
)
from closeknit.minimize.attractive import check_n_neighbors
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.momentum import Momentum, Moving
from closeknit.minimize.problem import Array, Problem
from closeknit.minimize.steps import FixedStep, Step

__all__ = ["SpectralMomentum"]

#: What the diagonal gets on top of the Laplacian, over the degrees: whole clusters move at most a
#: thousand times as far as a point would under the fixed point. With ten times that they move too
#: little, with a tenth too far.
_EXCESS = 1e-3


@dataclass(frozen=True)
class SpectralMomentum(Direction):
    """Momentum along the spectral direction, for Student kernels with its factor kept up to date.

    A line search on t-SNE's objective takes steps that fling points far out, and a factor of the
    start knows nothing of the map to come. Short fixed steps and a factor that is made anew every
    few iterations need half the evaluations of :class:`Momentum`, and end lower; the maps are
    wider, and neighbours on them a little less so (``benchmarks/results/embedding.md``).

    Parameters
    ----------
    rate : float, default=0.3
        Share of the spectral step that is added to the velocity.
    momentum : float, default=0.8
        Share of the velocity that is kept.
    max_step : float, default=3.0
        Longest move of a point in one iteration.
    n_neighbors : int or None, default=10
        Weights of each point that enter the factor, the largest, scaled up to the sum of all; None
        takes all. Which these are is decided at the start.
    refresh : int or None, default=20
        Iterations after which the factor is made anew, if the weights depend on X; None never does.
    random_state : int, default=0
        For the approximate factorisation; the same number gives the same steps.
    n_jobs : int or None, default=-1

    Examples
    --------
    >>> from closeknit.minimize import SpectralMomentum, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> direction = SpectralMomentum(rate=0.003, momentum=0.5)
    >>> minimize(springs, [[5.0], [5.0]], direction=direction).X.round(2)
    array([[1.2],
           [1.8]])
    """

    rate: float = 0.3
    momentum: float = 0.8
    max_step: float = 3.0
    n_neighbors: int | None = 10
    refresh: int | None = 20
    random_state: int = 0
    n_jobs: int | None = -1

    preferred_step: ClassVar[Step] = FixedStep()
    monotone: ClassVar[bool] = False
    patience: ClassVar[int] = 20

    def __post_init__(self) -> None:
        self._rule()  # says what is wrong with the numbers
        check_n_neighbors(self.n_neighbors, self.refresh)
        if self.n_neighbors == 0:
            raise ValueError("n_neighbors=0 leaves no weights to factorise; use Momentum")

    def start(self, problem: Problem, X: Array) -> Descent:
        """Factorise at X, and begin at rest."""
        return _Moving(problem, self, self._rule(), X)

    def _rule(self) -> Momentum:
        return Momentum(
            rate=self.rate,
            momentum=self.momentum,
            early=0,
            gains=False,
            max_step=self.max_step,
            n_jobs=self.n_jobs,
        )


class _Moving(Moving):
    def __init__(self, problem: Problem, rule: SpectralMomentum, plain: Momentum, X: Array) -> None:
        super().__init__(problem, plain, plain.rate, X.shape)
        self._spectral = rule
        self._weights = canonical(problem.attractive_weights(X), dtype=None)
        self._kept_at = strongest_entries(self._weights, rule.n_neighbors, rule.n_jobs)
        self._factor = ApproximateCholesky.of_graph(
            *self._system(), rule.random_state, n_jobs=rule.n_jobs
        )
        self._age = 0

    def propose(self, X: Array, gradient: Array) -> Array:
        """Update the velocity along the spectral direction."""
        self._keep_up(X)
        return super().propose(X, self._factor.solve(gradient))

    def _keep_up(self, X: Array) -> None:
        """Count an iteration, and factorise if it is time and the weights have changed."""
        refresh = self._spectral.refresh
        if refresh is not None and self._age >= refresh:
            self._age = 0
            weights = canonical(self.problem.attractive_weights(X), dtype=None)
            if not same_weights(weights, self._weights):
                self._weights = weights
                self._factor = self._factor.refreshed(*self._system())
        self._age += 1

    def _system(self) -> tuple[csr_matrix, Array]:
        """Return the strongest weights, scaled up to the sum of all, and the diagonal's excess."""
        weights = self._weights
        degrees = np.empty(weights.shape[0])
        threads = effective_n_jobs(self._spectral.n_jobs)
        _core.sum_rows(_core.Graph(weights), degrees, threads)
        kept = take_entries(weights, self._kept_at)
        scale = 4.0 * degrees.sum() / (kept.data.sum() or 1.0)
        degrees[degrees <= 0.0] = degrees.mean() or 1.0  # points without attraction move, too
        return with_data(kept, scale * kept.data), 4.0 * _EXCESS * degrees
