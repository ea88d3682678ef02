"""Nonlinear conjugate gradients, Polak–Ribière+."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from closeknit.linalg import inner
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, Problem
from closeknit.minimize.steps import Step
from closeknit.minimize.wolfe import StrongWolfe

__all__ = ["ConjugateGradient"]


@dataclass(frozen=True)
class ConjugateGradient(Direction[Problem]):
    """Nonlinear conjugate gradients with the Polak–Ribière+ formula.

    It restarts with the gradient where the formula's β would be negative, where the direction would
    not descend, and after as many iterations as there are unknowns (Nocedal and Wright 2006, 5.2).

    Examples
    --------
    >>> from closeknit.minimize import ConjugateGradient, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=ConjugateGradient()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    natural_step: ClassVar[bool] = False
    preferred_step: ClassVar[Step] = StrongWolfe(c2=0.1)

    def start(self, problem: Problem, X: Array) -> Descent[Problem]:
        """Nothing to prepare."""
        return _ConjugateDescent(problem)


class _ConjugateDescent(Descent[Problem]):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self._previous: tuple[Array, Array] | None = None  # gradient, direction
        self._since_restart = 0

    def reset(self) -> bool:
        had_memory = self._previous is not None
        self._previous = None
        return had_memory

    def propose(self, X: Array, gradient: Array) -> Array:
        beta = self._beta(gradient)
        direction = -gradient
        if self._previous is not None and beta > 0.0:
            direction += beta * self._previous[1]
            self._since_restart += 1
        else:
            self._since_restart = 0
        self._previous = (gradient, direction)
        return direction

    def _beta(self, gradient: Array) -> float:
        """Polak–Ribière's share of the previous direction; 0 when it is time to restart."""
        if self._previous is None or self._since_restart >= gradient.size:
            return 0.0
        before = self._previous[0]
        return inner(gradient, gradient - before) / inner(before, before)
