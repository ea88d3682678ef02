"""Gradient descent with momentum: no line search, no linear system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, Problem
from closeknit.minimize.steps import FixedStep, Step

__all__ = ["Momentum", "Moving"]


@dataclass(frozen=True)
class Momentum(Direction):
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

    preferred_step: ClassVar[Step] = FixedStep()
    monotone: ClassVar[bool] = False
    patience: ClassVar[int] = 20

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < np.inf:
            raise ValueError(f"rate={self.rate!r} must be positive and finite")
        for name in ("momentum", "early_momentum"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise ValueError(f"{name}={getattr(self, name)!r} must be at least 0 and below 1")
        if self.early < 0:
            raise ValueError(f"early={self.early!r} must not be negative")
        if not self.max_step > 0.0:
            raise ValueError(f"max_step={self.max_step!r} must be positive")

    def start(self, problem: Problem, X: Array) -> Descent:
        """Begin at rest."""
        degree = float(problem.attractive_weights(X).sum()) / len(X)
        return Moving(problem, self, self.rate / degree if degree > 0.0 else self.rate, X.shape)


class Moving(Descent):
    """Momentum at work; derived classes may bend the gradient first."""

    def __init__(
        self, problem: Problem, rule: Momentum, rate: float, shape: tuple[int, ...]
    ) -> None:
        super().__init__(problem)
        self._rule = rule
        self._rate = rate
        self._iteration = 0
        self._velocity = np.zeros(shape)
        self._gains = np.ones(shape) if rule.gains else None

    def step_towards(self, X: Array, value: float, gradient: Array) -> Array:
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

    def follow(self, problem: Problem) -> None:
        """Keep the velocity from λ to λ."""
        self.problem = problem
