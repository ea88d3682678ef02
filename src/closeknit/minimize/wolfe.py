"""Line search under the strong Wolfe conditions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit.minimize.steps import Line, LineSearch, Sample, Step

__all__ = ["StrongWolfe"]


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
        return _WolfeSearch(self, natural)


class _WolfeSearch(LineSearch):
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
