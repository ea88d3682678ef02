"""How far to go along a direction: Armijo backtracking, the strong Wolfe conditions, a fixed step.

A step is a small frozen object; ``step.start(natural)`` gives a line search with the memory of
one run, whose ``search`` returns the accepted sample or None if the objective falls no further.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from closeknit.minimize.line import Line, Sample

__all__ = ["Backtracking", "FixedStep", "LineSearch", "Step", "StrongWolfe", "resolve_step"]


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

    >>> from closeknit.minimize import Springs, Step, minimize
    >>> from closeknit.minimize.steps import LineSearch
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
        return _Backtrack(self, 1.0 if natural else None)


class _Backtrack(LineSearch):
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
class StrongWolfe(Step):
    """Bracket and interpolate until both strong Wolfe conditions hold.

    Algorithms 3.5 and 3.6 of Nocedal and Wright (2006) with cubic interpolation. If rounding leaves
    no such step, the best step with sufficient decrease is taken.

    Parameters
    ----------
    c1 : float, default=1e-4
        Sufficient decrease, ``φ(α) ≤ φ(0) + c1 α φ'(0)``.
    c2 : float, default=0.9
        Curvature, ``|φ'(α)| ≤ c2 |φ'(0)|``; 0.9 suits L-BFGS, 0.1 conjugate gradients.
    max_trials : int, default=25
        Evaluations after which the best step so far is taken.

    Examples
    --------
    >>> from closeknit.minimize import Springs, StrongWolfe, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction="cg", step=StrongWolfe(c2=0.1)).X.round(2)
    array([[1.2],
           [1.8]])
    """

    c1: float = 1e-4
    c2: float = 0.9
    max_trials: int = 25

    def __post_init__(self) -> None:
        if not 0.0 < self.c1 < self.c2 < 1.0:
            raise ValueError(f"c1={self.c1!r} and c2={self.c2!r} must satisfy 0 < c1 < c2 < 1")
        if self.max_trials < 1:
            raise ValueError(f"max_trials={self.max_trials!r} must be at least 1")

    def start(self, natural: bool) -> LineSearch:
        """Begin a run; without a natural scale each first trial expects the last decrease again."""
        return _Wolfe(self, natural)


class _Wolfe(LineSearch):
    def __init__(self, rule: StrongWolfe, natural: bool) -> None:
        self._rule = rule
        self._natural = natural
        self._last: tuple[float, float] | None = None  # accepted step, slope at its start

    def search(self, line: Line) -> Sample | None:
        rule, origin = self._rule, line.origin
        low, step = origin, self._first(line)
        high: Sample | None = None
        for _ in range(rule.max_trials):
            trial = line.at(step)
            if not line.decreases(trial, rule.c1) or trial.value >= low.value:
                high = trial
            else:
                forward = high is None or high.step > low.step
                if (trial.slope >= 0.0) == forward:  # the minimum lies behind the trial
                    high = low
                low = trial
                if abs(trial.slope) <= -rule.c2 * origin.slope:
                    break
            if high is None:
                step = _extrapolate(origin, low)
            elif line.resolves(abs(high.step - low.step)):
                step = _interpolate(low, high)
            else:
                break
        if low is origin:
            return None
        self._last = (low.step, origin.slope)
        return low

    def _first(self, line: Line) -> float:
        if self._natural:
            return 1.0
        if self._last is None:
            return line.unit_step()
        step, slope = self._last
        return step * float(np.clip(slope / line.origin.slope, 0.1, 10.0))


def _extrapolate(origin: Sample, low: Sample) -> float:
    """Go on to where the secant of φ' vanishes, by a factor from 2 to 10."""
    remaining = 1.0 - low.slope / origin.slope
    return low.step * (float(np.clip(1.0 / remaining, 2.0, 10.0)) if remaining > 0.0 else 10.0)


def _interpolate(low: Sample, high: Sample) -> float:
    """Minimise the cubic through both samples, staying a tenth of the interval inside."""
    width = high.step - low.step
    share = 0.1
    if high.finite:
        mean = (high.value - low.value) / width
        theta = low.slope + high.slope - 3.0 * mean
        root = np.sqrt(max(0.0, theta * theta - low.slope * high.slope)) * np.sign(width)
        bottom = high.slope - low.slope + 2.0 * root
        share = 1.0 - (high.slope + root - theta) / bottom if bottom != 0.0 else 0.5
    return low.step + width * (float(np.clip(share, 0.1, 0.9)) if np.isfinite(share) else 0.5)


@dataclass(frozen=True)
class FixedStep(Step):
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
        return _Fixed(self.step)


class _Fixed(LineSearch):
    def __init__(self, step: float) -> None:
        self._step = step

    def search(self, line: Line) -> Sample | None:
        sample = line.at(self._step)
        return sample if sample.finite else None


def resolve_step(step: str | Step, preferred: Step) -> Step:
    """Turn a name into a step rule; ``"auto"`` takes what the direction prefers."""
    if isinstance(step, Step):
        return step
    if step == "auto":
        return preferred
    if step == "backtracking":
        return Backtracking()
    if step == "wolfe":
        return StrongWolfe()
    if step == "fixed":
        return FixedStep()
    raise ValueError(
        f"unknown step {step!r}; use 'auto', 'backtracking', 'wolfe', 'fixed' "
        "or an object such as closeknit.minimize.Backtracking()"
    )
