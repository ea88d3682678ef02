"""Progress on stderr while a minimisation runs."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from closeknit.minimize.problem import Array

__all__ = ["Progress", "State"]


@dataclass(frozen=True)
class State:
    """Where a minimisation stands, as callbacks see it.

    Attributes
    ----------
    iteration, evaluations : int
    seconds : float
    X : ndarray of shape (n_samples, n_components)
        The current positions, read-only; copy them to keep them.
    value, gradient_norm, step : float
    lam : float or None
        λ, during a homotopy.

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], callback=lambda state: state.value < 5).stopped_because
    'callback'
    """

    iteration: int
    evaluations: int
    seconds: float
    X: Array
    value: float
    gradient_norm: float
    step: float
    lam: float | None = None


class Progress:
    """Prints the state now and then, with the longest time that may be left.

    Lines come a second apart at first and then, so that long runs do not flood, at every twentieth
    part of the time passed.
    """

    def __init__(self, max_iter: int, time_limit: float | None) -> None:
        self._max_iter = max_iter
        self._time_limit = time_limit
        self._next = 0.0

    def show(self, state: State) -> None:
        """Print the state if it is time to."""
        if state.seconds < self._next:
            return
        self._next = state.seconds + max(1.0, 0.05 * state.seconds)
        print(self._line(state), file=sys.stderr, flush=True)

    def finish(self, reason: str, state: State | None) -> None:
        """Print how it ended."""
        if state is not None:
            print(f"{self._line(state)}; stopped: {reason}", file=sys.stderr, flush=True)

    def _line(self, state: State) -> str:
        lam = "" if state.lam is None else f"λ {state.lam:.3g}  "
        return (
            f"{lam}iteration {state.iteration}/{self._max_iter}  objective {state.value:.6g}  "
            f"|gradient| {state.gradient_norm:.2e}  step {state.step:.2g}  "
            f"{state.seconds:.1f} s, at most {self._left(state):.0f} s left"
        )

    def _left(self, state: State) -> float:
        per_iteration = state.seconds / max(1, state.iteration)
        left = per_iteration * (self._max_iter - state.iteration)
        if self._time_limit is not None:
            left = min(left, max(0.0, self._time_limit - state.seconds))
        return left
