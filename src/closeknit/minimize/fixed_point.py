"""The fixed point iteration: B = 4D⁺."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from closeknit.minimize.attractive import AttractiveSolver
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, AttractiveProblem
from closeknit.minimize.spectral import SpectralDescent

__all__ = ["FixedPoint"]


@dataclass(frozen=True)
class FixedPoint(Direction[AttractiveProblem]):
    """Divide each point's gradient by its attractive degree: the spectral direction at κ = 0.

    The iteration X ← (D⁺)⁻¹(D⁺ − L)X of the first elastic embedding paper (2010), as a direction.
    The degrees are asked for at every X.

    Examples
    --------
    >>> from closeknit.minimize import FixedPoint, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=FixedPoint()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")

    def start(self, problem: AttractiveProblem, X: Array) -> Descent[AttractiveProblem]:
        """Take the degrees at X."""
        return SpectralDescent(problem, AttractiveSolver(problem, X, n_neighbors=0, refresh=1))
