"""The diagonal of the full Hessian as B."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, DiagonalProblem

__all__ = ["DiagonalHessian"]


@dataclass(frozen=True)
class DiagonalHessian(Direction[DiagonalProblem]):
    """Divide the gradient by the positive part of the Hessian's diagonal (the paper's DiagH).

    Parameters
    ----------
    floor : float, default=0.1
        Entries below this share of the mean absolute entry are raised to it: elsewhere the Hessian
        may be negative or nearly zero, and a few such entries would rule the step.

    Examples
    --------
    >>> from closeknit.minimize import DiagonalHessian, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=DiagonalHessian()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    floor: float = 0.1

    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "hessian_diagonal")

    def __post_init__(self) -> None:
        if not 0.0 < self.floor <= 1.0:
            raise ValueError(f"floor={self.floor!r} must be above 0 and at most 1")

    def start(self, problem: DiagonalProblem, X: Array) -> Descent[DiagonalProblem]:
        """Nothing to prepare: the diagonal is asked for at every X."""
        return _DiagonalDescent(problem, self.floor)


class _DiagonalDescent(Descent[DiagonalProblem]):
    def __init__(self, problem: DiagonalProblem, floor: float) -> None:
        super().__init__(problem)
        self._floor = floor

    def propose(self, X: Array, gradient: Array) -> Array:
        diagonal = self.problem.hessian_diagonal(X)
        return -gradient / np.maximum(diagonal, self._floor * np.abs(diagonal).mean())
