"""Momentum, along the gradient or the spectral direction: no line search."""

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
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, AttractiveProblem
from closeknit.minimize.steps import FixedStep, Step

__all__ = ["Momentum", "SpectralMomentum"]

#: What the diagonal gets on top of the Laplacian, over the degrees: whole clusters move at most a
#: thousand times as far as a point would under the fixed point. With ten times that they move too
#: little, with a tenth too far.
_EXCESS = 1e-3


@dataclass(frozen=True)
class Momentum(Direction[AttractiveProblem]):
    """Let velocity build up along the gradient, with a rate per coordinate that adapts.

    The classical way to train t-SNE, and with the values below the fastest for many points: a step
    costs one evaluation, and unlike a line search it may go uphill for a while.

    Parameters
    ----------
    rate : float, default=1.0
        Learning rate over the inverse mean degree of the attractive graph, which makes it
        independent of the number of points and of the scale of the weights. 0.25 is the usual
        n / exaggeration of t-SNE. Where attraction is quadratic (Gaussian kernels) it does not
        weaken with distance, and 0.1 is as much as keeps the points from swinging.
    momentum : float, default=0.95
        Share of the velocity that is kept.
    early_momentum : float, default=0.8
        The same for the first `early` iterations, in which much of it would scatter the points.
    early : int, default=60
    gains : bool, default=True
        Whether each coordinate raises its rate while its gradient keeps its sign.
    max_step : float, default=3.0
        Longest move of a point in one iteration. Longer ones fling points out of the map, from
        where they take long to return.
    n_jobs : int or None, default=-1

    Examples
    --------
    >>> from closeknit.minimize import Momentum, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> direction = Momentum(rate=0.1, momentum=0.5, early=0)
    >>> minimize(springs, [[5.0], [5.0]], direction=direction).X.round(2)
    array([[1.2],
           [1.8]])

    References
    ----------
    Van der Maaten and Hinton (2008), Visualizing data using t-SNE, section 3.4; Belkina et al.
    (2019), Automated optimized parameters for t-SNE, for the rate.
    """

    rate: float = 1.0
    momentum: float = 0.95
    early_momentum: float = 0.8
    early: int = 60
    gains: bool = True
    max_step: float = 3.0
    n_jobs: int | None = -1

    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")
    preferred_step: ClassVar[Step] = FixedStep()
    monotone: ClassVar[bool] = False
    patience: ClassVar[int] = 20
    default_tol: ClassVar[float] = 4e-5
    exaggeration: ClassVar[tuple[tuple[float, int], ...]] = ((12.0, 30), (3.0, 30))

    def __post_init__(self) -> None:
        _check_rule(self)

    def start(self, problem: AttractiveProblem, X: Array) -> Descent[AttractiveProblem]:
        """Begin at rest."""
        degree = float(problem.attractive_weights(X).sum()) / len(X)
        rate = self.rate / degree if degree > 0.0 else self.rate
        return _MomentumDescent(problem, self, rate, X.shape)


def _check_rule(rule: Momentum | SpectralMomentum) -> None:
    """Refuse rates, shares and lengths that make no sense."""
    if not 0.0 < rule.rate < np.inf:
        raise ValueError(f"rate={rule.rate!r} must be positive and finite")
    for name in ("momentum", "early_momentum"):
        if not 0.0 <= getattr(rule, name) < 1.0:
            raise ValueError(f"{name}={getattr(rule, name)!r} must be at least 0 and below 1")
    if rule.early < 0:
        raise ValueError(f"early={rule.early!r} must not be negative")
    if not rule.max_step > 0.0:
        raise ValueError(f"max_step={rule.max_step!r} must be positive")


class _MomentumDescent(Descent[AttractiveProblem]):
    """Momentum at work; derived classes may bend the gradient first."""

    def __init__(
        self,
        problem: AttractiveProblem,
        rule: Momentum | SpectralMomentum,
        rate: float,
        shape: tuple[int, ...],
    ) -> None:
        super().__init__(problem)
        self._rule = rule
        self._rate = rate
        self._iteration = 0
        self._velocity = np.zeros(shape)
        self._gains = np.ones(shape) if rule.gains else None

    def step_towards(self, X: Array, gradient: Array) -> Array:
        """Return the velocity, which need not go downhill."""
        return self.propose(X, gradient)

    def propose(self, X: Array, gradient: Array) -> Array:
        """Update the velocity."""
        rule = self._rule
        keep = rule.early_momentum if self._iteration < rule.early else rule.momentum
        self._iteration += 1
        _core.momentum_step(
            self._rate,
            keep,
            rule.max_step,
            np.ascontiguousarray(gradient),
            self._velocity,
            self._gains,
            effective_n_jobs(rule.n_jobs),
        )
        return self._velocity

    def reset(self) -> bool:
        """Come to rest and go on slower, after a step to where the objective is not finite."""
        moved = bool(self._velocity.any())
        self._rate *= 0.5
        self._velocity[:] = 0.0
        if self._gains is not None:
            self._gains[:] = 1.0
        return moved

    def follow(self, problem: AttractiveProblem) -> None:
        """Keep the velocity from λ to λ."""
        self.problem = problem


@dataclass(frozen=True)
class SpectralMomentum(Direction[AttractiveProblem]):
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

    early_momentum: ClassVar[float] = 0.8
    early: ClassVar[int] = 0
    gains: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")
    preferred_step: ClassVar[Step] = FixedStep()
    monotone: ClassVar[bool] = False
    patience: ClassVar[int] = 20
    default_tol: ClassVar[float] = 1e-4
    exaggeration: ClassVar[tuple[tuple[float, int], ...]] = ((12.0, 15), (4.0, 8), (2.0, 8))

    def __post_init__(self) -> None:
        _check_rule(self)
        for name in ("n_neighbors", "refresh"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise ValueError(f"{name}={number!r} must be None or at least 1")

    def start(self, problem: AttractiveProblem, X: Array) -> Descent[AttractiveProblem]:
        """Factorise at X, and begin at rest."""
        return _SpectralMomentumDescent(problem, self, X)


class _SpectralMomentumDescent(_MomentumDescent):
    def __init__(self, problem: AttractiveProblem, rule: SpectralMomentum, X: Array) -> None:
        super().__init__(problem, rule, rule.rate, X.shape)
        self._spectral = rule
        self._weights = canonical(problem.attractive_weights(X), dtype=None)
        self._kept_at = strongest_entries(self._weights, rule.n_neighbors, rule.n_jobs)
        self._factor = ApproximateCholesky.of_graph(
            *self._system(), rule.random_state, n_jobs=rule.n_jobs
        )
        self._age = 0

    def propose(self, X: Array, gradient: Array) -> Array:
        """Update the velocity along the spectral direction, whose factor follows the weights."""
        refresh = self._spectral.refresh
        if refresh is not None and self._age >= refresh:
            self._age = 0
            weights = canonical(self.problem.attractive_weights(X), dtype=None)
            if not same_weights(weights, self._weights):
                self._weights = weights
                self._factor = self._factor.refreshed(*self._system())
        self._age += 1
        return super().propose(X, self._factor.solve(gradient))

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
