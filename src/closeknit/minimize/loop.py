"""The loop: direction × step, until one of the reasons to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from closeknit.linalg import norm
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.directions import resolve_direction
from closeknit.minimize.history import History
from closeknit.minimize.line import Line, Sample
from closeknit.minimize.problem import Array, Point, Problem
from closeknit.minimize.progress import Progress, State
from closeknit.minimize.steps import Step, resolve_step
from closeknit.progress import report

__all__ = ["Callback", "Limits", "Result", "Run", "check_start", "minimize"]

Callback = Callable[[State], object]


@dataclass(frozen=True)
class Result:
    """The outcome of a minimisation.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_components)
        The best positions found; with momentum the last.
    value, gradient_norm : float
        The objective there, and the Frobenius norm of its gradient.
    n_iter, n_evaluations : int
    seconds : float
    stopped_because : str
        ``"tol"``, ``"gradient_tol"``, ``"max_iter"``, ``"time_limit"`` or ``"callback"`` after the
        parameter that stopped it; ``"no further decrease"`` if the line search found none, at a
        minimum to rounding; ``"interrupted"`` after Ctrl-C.
    history : History

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> result = minimize(springs, [[5.0], [5.0]], max_iter=2)
    >>> result.stopped_because, result.n_iter
    ('max_iter', 2)
    """

    X: Array
    value: float
    gradient_norm: float
    n_iter: int
    n_evaluations: int
    seconds: float
    stopped_because: str
    history: History


@dataclass(frozen=True)
class Limits:
    """When to stop; see :func:`minimize`."""

    max_iter: int
    tol: float
    gradient_tol: float
    time_limit: float | None

    def __post_init__(self) -> None:
        if self.max_iter < 0:
            raise ValueError(f"max_iter={self.max_iter!r} must be at least 0")
        for name in ("tol", "gradient_tol", "time_limit"):
            limit = getattr(self, name)
            if limit is not None and not limit >= 0.0:
                raise ValueError(f"{name}={limit!r} must be at least 0")

    def reached(self, state: State, values: list[float], patience: int) -> str | None:
        """Name a limit that is reached, if any; `values` are those of all iterates so far."""
        if state.gradient_norm <= self.gradient_tol:
            return "gradient_tol"
        if len(values) > patience:
            # All of the last ones, because what swings may come by the same value twice.
            low, high = min(values[-1 - patience :]), max(values[-1 - patience :])
            if high - low <= patience * self.tol * max(abs(low), abs(high)):
                return "tol"
        if state.iteration >= self.max_iter:
            return "max_iter"
        if self.time_limit is not None and state.seconds >= self.time_limit:
            return "time_limit"
        return None


class Run:
    """One minimisation: counts, remembers the best point, and knows why it stopped.

    Kept apart from :func:`minimize` so that a homotopy can hand one :class:`Descent`, with its
    factor, from run to run.
    """

    def __init__(
        self,
        problem: Problem,
        direction: Direction,
        step: Step,
        limits: Limits,
        callback: Callback | None = None,
        progress: Progress | None = None,
        lam: float | None = None,
    ) -> None:
        self._problem = problem
        self._direction = direction
        self._step = step
        self._limits = limits
        self._callback = callback
        self._progress = progress
        self._lam = lam
        self._started = time.perf_counter()
        self._evaluations = 0
        self._records: list[tuple[int, int, float, float, float, float]] = []
        self._best: Point | None = None
        self._state: State | None = None
        self.descent: Descent | None = None

    def minimize(self, X0: Array, descent: Descent | None = None) -> Result:
        """Run from X0, which stays as it is; `descent` brings the memory of an earlier run."""
        self.descent = descent
        try:
            reason = self._descend(X0)
        except KeyboardInterrupt:
            reason = "interrupted"
        if self._progress is not None:
            self._progress.finish(reason, self._state)
        return self._result(X0, reason)

    def _descend(self, X0: Array) -> str:
        point = Point(X0, *self._evaluate(X0))
        start = Sample(float("nan"), point, 0.0)
        if not start.finite:
            raise ValueError(
                f"the objective is not finite at X0 (its value is {point.value}); "
                "start from other positions, for example smaller ones"
            )
        state = self._accept(start)
        search = self._step.start(self._direction.natural_step)
        values = [point.value]
        patience = self._direction.patience
        while (reason := self._limits.reached(state, values, patience)) is None:
            descent = self._prepare(point.X)
            sample = search.search(self._line(descent, point))
            if sample is None and descent.reset():
                search = self._step.start(self._direction.natural_step)
                sample = search.search(self._line(descent, point))
            if sample is None:
                return "no further decrease"
            point = sample.point
            values.append(point.value)
            state = self._accept(sample)
            report("optimisation", state.iteration, self._limits.max_iter, state)
            if self._callback is not None and self._callback(state):
                return "callback"
        return reason

    def _prepare(self, X: Array) -> Descent:
        """Start the direction when the first one is needed: it may have to factorise."""
        if self.descent is None:
            self.descent = self._direction.start(self._problem, X)
        return self.descent

    def _line(self, descent: Descent, point: Point) -> Line:
        towards = descent.step_towards(point.X, point.value, point.gradient)
        return Line(self._evaluate, point, towards)

    def _evaluate(self, X: Array) -> tuple[float, Array]:
        self._evaluations += 1
        return self._problem.value_and_gradient(X)

    def _accept(self, sample: Sample) -> State:
        """Record an iterate; all of it or, at an interrupt, nothing."""
        point = sample.point
        X = point.X.view()
        X.flags.writeable = False
        seconds = time.perf_counter() - self._started
        length = norm(point.gradient)
        done = len(self._records)
        state = State(
            done, self._evaluations, seconds, X, point.value, length, sample.step, self._lam
        )
        lower = self._best is None or point.value < self._best.value
        if lower or not self._direction.monotone:
            self._best = point
        self._state = state
        self._records.append((done, self._evaluations, seconds, point.value, length, sample.step))
        if self._progress is not None:
            self._progress.show(state)
        return state

    def _result(self, X0: Array, reason: str) -> Result:
        best = self._best
        return Result(
            X=X0.copy() if best is None else best.X.copy(),
            value=float("nan") if best is None else best.value,
            gradient_norm=float("nan") if best is None else norm(best.gradient),
            n_iter=max(0, len(self._records) - 1),
            n_evaluations=self._evaluations,
            seconds=time.perf_counter() - self._started,
            stopped_because=reason,
            history=History.from_records(self._records),
        )


def check_start(X0: ArrayLike) -> Array:
    """Return X0 as a float64 array that is ours, or say what is wrong with it."""
    X = np.array(X0, dtype=np.float64, order="C")
    if X.ndim != 2 or X.size == 0:
        raise ValueError(f"X0 must have shape (n_samples, n_components), got {X.shape}")
    if not np.isfinite(X).all():
        raise ValueError("X0 contains NaN or infinity")
    return X


def minimize(
    problem: Problem,
    X0: ArrayLike,
    direction: str | Direction = "spectral",
    step: str | Step = "auto",
    *,
    max_iter: int = 1000,
    tol: float = 1e-8,
    gradient_tol: float = 1e-8,
    time_limit: float | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
) -> Result:
    """Minimise a problem from X0.

    Parameters
    ----------
    problem : Problem
        Anything with the methods of :class:`Problem` that the direction needs.
    X0 : array-like of shape (n_samples, n_components)
        Start; never modified.
    direction : str or Direction, default="spectral"
        ``"gradient"``, ``"fixed-point"``, ``"diagonal-hessian"``, ``"cg"``, ``"lbfgs"``,
        ``"spectral"``, ``"spectral-minus"``, ``"spectral-lbfgs"``, ``"momentum"``,
        ``"spectral-momentum"``, or an object.
    step : {"auto", "backtracking", "wolfe", "fixed"} or Step, default="auto"
        ``"auto"`` is what the direction prefers: strong Wolfe conditions for conjugate gradients
        and both L-BFGS, a fixed step for momentum, else backtracking.
    max_iter : int, default=1000
    tol : float, default=1e-8
        Stop when three iterations in a row (twenty with momentum) change the objective, on average,
        by no more than this share of it.
    gradient_tol : float, default=1e-8
        Stop when the gradient's Frobenius norm is no larger.
    time_limit : float, optional
        Seconds after which no further iteration begins.
    callback : callable, optional
        Called with a :class:`State` after every iteration; a true return value stops.
    verbose : bool, default=False
        Print progress to stderr.

    Returns
    -------
    Result
        Always with the best X so far (the last, with momentum), also after Ctrl-C.

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> result = minimize(springs, [[5.0], [5.0]], direction="spectral-lbfgs")
    >>> result.X.round(2)
    array([[1.2],
           [1.8]])
    """
    chosen = resolve_direction(direction)
    limits = Limits(max_iter, tol, gradient_tol, time_limit)
    progress = Progress(max_iter, time_limit) if verbose else None
    steps = resolve_step(step, chosen.preferred_step)
    run = Run(problem, chosen, steps, limits, callback, progress)
    return run.minimize(check_start(X0))
