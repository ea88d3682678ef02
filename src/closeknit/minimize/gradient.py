"""Gradient descent: B = I."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, Problem

__all__ = ["Gradient"]


@dataclass(frozen=True)
class Gradient(Direction[Problem]):
    """Steepest descent, P = −G.

    Examples
    --------
    >>> from closeknit.minimize import Gradient, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=Gradient()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    natural_step: ClassVar[bool] = False

    def start(self, problem: Problem, X: Array) -> Descent[Problem]:
        """Nothing to prepare."""
        return _GradientDescent(problem)


class _GradientDescent(Descent[Problem]):
    def propose(self, X: Array, gradient: Array) -> Array:
        return -gradient
