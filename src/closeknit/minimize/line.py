"""The objective along a search direction: what every line search works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from closeknit.linalg import inner, norm
from closeknit.minimize.problem import Array, Point

__all__ = ["Evaluate", "Line", "Sample"]

#: Gives the objective and its gradient at X.
Evaluate = Callable[[Array], Point]


@dataclass(frozen=True)
class Sample:
    """φ(α) = E(X + αP) at one step α, with its slope φ'(α)."""

    step: float
    point: Point
    slope: float

    @property
    def value(self) -> float:
        """φ(α)."""
        return self.point.value

    @property
    def finite(self) -> bool:
        """Whether the value and the whole gradient are finite."""
        return bool(np.isfinite(self.value) and np.isfinite(self.point.gradient).all())


class Line:
    """φ(α) = E(X + αP) for α ≥ 0, starting at a known point.

    Value and gradient are always taken together: most first trials are accepted and then need the
    gradient anyway, and both share the kernel sums that cost the time.
    """

    def __init__(self, evaluate: Evaluate, start: Point, direction: Array) -> None:
        self._evaluate = evaluate
        self._direction = direction
        self.origin = Sample(0.0, start, inner(direction, start.gradient))

    def at(self, step: float) -> Sample:
        """Evaluate φ and φ' at `step`."""
        point = self._evaluate(self.origin.point.X + step * self._direction)
        return Sample(step, point, inner(self._direction, point.gradient))

    def decreases(self, sample: Sample, sufficient: float) -> bool:
        """Whether the first Wolfe condition φ(α) ≤ φ(0) + c α φ'(0) holds, and φ really fell."""
        start = self.origin
        bound = start.value + sufficient * sample.step * start.slope
        return sample.finite and sample.value <= bound and sample.value < start.value

    def resolves(self, length: float) -> bool:
        """Whether a move of `length` along the line changes X and can change φ beyond rounding."""
        start = self.origin
        eps = float(np.finfo(np.float64).eps)
        moved = length * np.abs(self._direction).max() > eps * np.abs(start.point.X).max()
        return bool(moved and length * abs(start.slope) > eps * abs(start.value))

    def unit_step(self) -> float:
        """Return the step that moves X by one in Frobenius norm."""
        length = norm(self._direction)
        return 1.0 / length if length > 0.0 else 1.0
