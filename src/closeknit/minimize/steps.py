"""How far to go along a direction: Armijo backtracking, or a fixed step.

A step is a small frozen object; ``step.start(natural)`` gives a line search with the memory of
one run, whose ``search`` returns the accepted sample or None if the objective falls no further.
The strong Wolfe conditions are in wolfe.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from closeknit.linalg import inner, norm
from closeknit.minimize.problem import Array, Point

__all__ = ["Backtracking", "FixedStep", "Line", "LineSearch", "Sample", "Step"]


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
        return bool(np.isfinite(self.point.value) and np.isfinite(self.point.gradient).all())


@dataclass(frozen=True)
class Line:
    """φ(α) = E(X + αP) for α ≥ 0, starting at a known point.

    Value and gradient are always taken together: most first trials are accepted and then need the
    gradient anyway, and both share the kernel sums that cost the time.

    Parameters
    ----------
    evaluate : callable
        Gives the objective and its gradient at X.
    origin : Sample
        φ at α = 0.
    direction : ndarray of shape (n_samples, n_components)
        P.
    """

    evaluate: Callable[[Array], Point]
    origin: Sample
    direction: Array

    def at(self, step: float) -> Sample:
        """Evaluate φ and φ' at `step`."""
        point = self.evaluate(self.origin.point.X + step * self.direction)
        return Sample(step, point, inner(self.direction, point.gradient))

    def decreases(self, sample: Sample, sufficient: float) -> bool:
        """Whether the first Wolfe condition φ(α) ≤ φ(0) + c α φ'(0) holds, and φ really fell."""
        start = self.origin
        bound = start.value + sufficient * sample.step * start.slope
        return sample.finite and sample.value <= bound and sample.value < start.value

    def resolves(self, length: float) -> bool:
        """Whether a move of `length` along the line changes X and can change φ beyond rounding."""
        start = self.origin
        eps = float(np.finfo(np.float64).eps)
        moved = length * np.abs(self.direction).max() > eps * np.abs(start.point.X).max()
        return bool(moved and length * abs(start.slope) > eps * abs(start.value))

    def unit_step(self) -> float:
        """Return the step that moves X by one in Frobenius norm."""
        length = norm(self.direction)
        return 1.0 / length if length > 0.0 else 1.0


class LineSearch(ABC):
    """The stateful side of a :class:`Step`, for one run."""

    @abstractmethod
    def search(self, line: Line) -> Sample | None:
        """Return an acceptable sample of the line, or None if there is none."""


class Step(ABC):
    """A rule for step lengths; use one of the classes derived from it.

    Examples
    --------
    A step of one's own, always α = 0.1:

    >>> from closeknit.minimize import LineSearch, Springs, Step, minimize
    >>> class Tenth(Step):
    ...     def start(self, natural):
    ...         return TenthSearch()
    >>> class TenthSearch(LineSearch):
    ...     def search(self, line):
    ...         return line.at(0.1)
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction="gradient", step=Tenth()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    @abstractmethod
    def start(self, natural: bool) -> LineSearch:
        """Begin a run; `natural` says that the direction's own scale makes α = 1 a good trial."""


@dataclass(frozen=True)
class Backtracking(Step):
    """Shrink the step until the decrease is sufficient (the first Wolfe condition).

    The first trial is the last accepted step, as in the paper (section 3), but unlike there it may
    grow again. The gradient at the accepted point, known anyway, says whether it should: if the
    slope φ' has fallen to a share r of its start, the line's minimum lies near α/(1 − r).
    Measured on elastic embedding, s-SNE and t-SNE of 100 points, a tenth to a fifth of the
    evaluations are rejected trials; with ``grow=1`` hardly any are, but up to four times as many
    iterations are needed.

    Parameters
    ----------
    sufficient : float, default=0.1
        Share c of the decrease promised by the slope that a step must achieve.
    shrink : float, default=0.8
        Factor after a rejected trial; non-finite trials are cut to a tenth.
    grow : float, default=2.0
        Largest factor from an accepted step to the next first trial; 1 is the paper's rule.

    Examples
    --------
    >>> from closeknit.minimize import Backtracking, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> result = minimize(springs, [[5.0], [5.0]], direction="gradient", step=Backtracking())
    >>> result.X.round(2)
    array([[1.2],
           [1.8]])
    """

    sufficient: float = 0.1
    shrink: float = 0.8
    grow: float = 2.0

    def __post_init__(self) -> None:
        if not 0.0 < self.sufficient < 1.0:
            raise ValueError(f"sufficient={self.sufficient!r} must lie between 0 and 1")
        if not 0.0 < self.shrink < 1.0:
            raise ValueError(f"shrink={self.shrink!r} must lie between 0 and 1")
        if not 1.0 <= self.grow < np.inf:
            raise ValueError(f"grow={self.grow!r} must be at least 1 and finite")

    def start(self, natural: bool) -> LineSearch:
        """Begin a run with α = 1, or with a move of unit length if that scale means nothing."""
        return _BacktrackingSearch(self, 1.0 if natural else None)


class _BacktrackingSearch(LineSearch):
    def __init__(self, rule: Backtracking, first: float | None) -> None:
        self._rule = rule
        self._trial = first

    def search(self, line: Line) -> Sample | None:
        step = line.unit_step() if self._trial is None else self._trial
        accepted_at_once = True
        while line.resolves(step):
            sample = line.at(step)
            if line.decreases(sample, self._rule.sufficient):
                growth = self._growth(line, sample) if accepted_at_once else 1.0
                self._trial = sample.step * growth
                return sample
            accepted_at_once = False
            step *= self._rule.shrink if sample.finite else 0.1
        return None

    def _growth(self, line: Line, sample: Sample) -> float:
        """Return the factor to the secant's guess of the line's minimum, from 1 to `grow`."""
        remaining = 1.0 - sample.slope / line.origin.slope
        if remaining * self._rule.grow <= 1.0:  # also where the curvature is negative
            return self._rule.grow
        return max(1.0, 1.0 / remaining)


@dataclass(frozen=True)
class FixedStep(Step, LineSearch):
    """Always take the same step, uphill or down; what momentum wants.

    Parameters
    ----------
    step : float, default=1.0

    Examples
    --------
    >>> from closeknit.minimize import FixedStep, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction="gradient", step=FixedStep(0.1)).X.round(2)
    array([[1.2],
           [1.8]])
    """

    step: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.step < np.inf:
            raise ValueError(f"step={self.step!r} must be positive and finite")

    def start(self, natural: bool) -> LineSearch:
        """Begin a run; nothing is remembered."""
        return self

    def search(self, line: Line) -> Sample | None:
        """Take the step, unless the objective is not finite there."""
        sample = line.at(self.step)
        return sample if sample.finite else None
