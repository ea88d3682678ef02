"""Momentum along the gradient: no line search, no linear system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, AttractiveProblem
from closeknit.minimize.steps import FixedStep, Step
from closeknit.progress import log

__all__ = ["Momentum", "MomentumDescent", "MomentumRule"]

_SLOWER = 0.7


class MomentumRule(Direction[AttractiveProblem]):
    """What momentum along any direction has in common."""

    rate: float
    momentum: float
    max_step: float

    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")
    preferred_step: ClassVar[Step] = FixedStep()
    monotone: ClassVar[bool] = False
    patience: ClassVar[int] = 20

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < np.inf:
            raise ValueError(f"rate={self.rate!r} must be positive and finite")
        if not 0.0 <= self.momentum < 1.0:
            raise ValueError(f"momentum={self.momentum!r} must be at least 0 and below 1")
        if not self.max_step > 0.0:
            raise ValueError(f"max_step={self.max_step!r} must be positive")


class MomentumDescent(Descent[AttractiveProblem]):
    """Momentum at work; derived classes may bend the gradient first."""

    def __init__(self, problem: AttractiveProblem, rule: Any, X: Array) -> None:
        super().__init__(problem, rule, X)
        self.rate = rule.rate
        self.iteration = 0
        self._velocity = np.zeros(X.shape)
        self._gains = np.ones(len(X)) if rule.gains else None
        self._values: list[float] = []  # at the current λ

    def propose(self, X: Array, gradient: Array) -> Array:
        """Update the velocity, which need not go downhill."""
        rule = self.rule
        keep = rule.early_momentum if self.iteration < rule.early else rule.momentum
        self.iteration += 1
        _core.momentum_step(
            (self.rate, keep, rule.max_step),
            rule.gain,
            np.ascontiguousarray(gradient),
            self._velocity,
            self._gains,
            effective_n_jobs(rule.n_jobs),
        )
        return self._velocity

    def observe(self, value: float) -> None:
        """Go on slower if the objective has risen over the last `patience` iterations.

        Long after a map looks finished, the repulsion's own curvature can exceed what the rate
        allows for, and the points start to swing: on covertype after 1,500 iterations.
        """
        values, window = self._values, self.rule.patience
        values.append(value)
        # The first iterations at a new λ may go uphill on the velocity from the one before.
        if len(values) % window == 0 and len(values) > window and value > values[-window]:
            self.rate *= _SLOWER
            log("the objective has risen; the rate falls to %.2g", self.rate)

    def reset(self) -> bool:
        """Come to rest and go on slower, after a step to where the objective is not finite."""
        moved = bool(self._velocity.any())
        self.rate *= 0.5
        self._velocity[:] = 0.0
        if self._gains is not None:
            self._gains[:] = 1.0
        return moved

    def follow(self, problem: AttractiveProblem) -> None:
        """Keep the velocity from λ to λ."""
        self.problem = problem
        self._values.clear()


@dataclass(frozen=True)
class Momentum(MomentumRule, name="momentum"):
    """Let velocity build up along the gradient, with a rate per point that adapts.

    The classical way to train t-SNE: a step costs one evaluation, and unlike a line search it may
    go uphill for a while. Nothing in it depends on the axes: a start that is turned gives the map
    turned.

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
        Whether each point raises its rate while its gradient points against its velocity.
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

    #: What a gain grows by, and how far.
    gain: ClassVar[tuple[float, float]] = (0.2, np.inf)
    default_tol: ClassVar[float] = 4e-5
    exaggeration: ClassVar[tuple[tuple[float, int], ...]] = ((12.0, 30), (3.0, 30))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0.0 <= self.early_momentum < 1.0 and self.early >= 0):
            raise ValueError(
                f"early_momentum={self.early_momentum!r} must be at least 0 and below 1, and "
                f"early={self.early!r} must not be negative"
            )

    def start(self, problem: AttractiveProblem, X: Array) -> Descent[AttractiveProblem]:
        """Begin at rest."""
        descent = MomentumDescent(problem, self, X)
        degree = float(problem.attractive_weights(X).sum()) / len(X)
        descent.rate /= degree if degree > 0.0 else 1.0
        return descent
