"""The loop: direction × step, stage by stage, until one of the reasons to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closeknit.linalg import norm
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.directions import resolve_direction
from closeknit.minimize.line import Line, Sample
from closeknit.minimize.problem import Array, Point, Problem, check_capabilities
from closeknit.minimize.results import History, Path, Record, Result, State, StopReason
from closeknit.minimize.schedule import Convergence, ProblemAt, Schedule, Stage, Stop
from closeknit.minimize.steps import Step, resolve_step
from closeknit.progress import log, report

__all__ = ["Callback", "run_schedule"]

#: Called after every iteration; a true return value stops.
Callback = Callable[[State], object]


def run_schedule(
    schedule: Schedule,
    problem_at: ProblemAt,
    X0: ArrayLike,
    direction: str | Direction[Any] = "spectral",
    step: str | Step = "auto",
    *,
    stop: Stop | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
) -> Path:
    """Minimise in stages, each from where the one before it ended.

    The direction's factor is kept as long as stages minimise the same problem, since the attractive
    weights do not depend on λ; the step starts afresh in each stage.

    Parameters
    ----------
    schedule : Schedule
    problem_at : callable
        Gives the problem for a λ, such as an objective's ``at`` method.
    X0 : array-like of shape (n_samples, n_components)
        Start of the first stage; never modified.
    direction, step, callback
        As for :func:`minimize`.
    stop : Stop or None, default=None
        When a stage has converged; None is :class:`Convergence` with the direction's tolerance.
    time_limit : float, optional
        Seconds for all stages together.

    Returns
    -------
    Path
        With a result for each stage; after Ctrl-C, too.

    Examples
    --------
    >>> from closeknit.minimize import Schedule, Springs, Stage, run_schedule
    >>> weights, targets = [[0, 1], [1, 0]], [[0.0], [3.0]]
    >>> schedule = Schedule((Stage(0.1, max_iter=5), Stage(lambda X: 1.0, max_iter=100)))
    >>> path = run_schedule(schedule, lambda lam: Springs(weights, targets, lam), [[5.0], [5.0]])
    >>> path.lams, path.X.round(2).ravel(), int(path.history.stage[-1])
    (array([0.1, 1. ]), array([1.2, 1.8]), 1)
    """
    X = np.array(X0, dtype=np.float64, order="C")
    if X.ndim != 2 or X.size == 0:
        raise ValueError(f"X0 must have shape (n_samples, n_components), got {X.shape}")
    if not np.isfinite(X).all():
        raise ValueError("X0 contains NaN or infinity")
    if time_limit is not None and not time_limit >= 0.0:
        raise ValueError(f"time_limit={time_limit!r} must be at least 0")
    chosen = resolve_direction(direction)
    rule = stop or Convergence(chosen.default_tol, patience=chosen.patience)
    run = _Run(chosen, resolve_step(step, chosen.preferred_step), rule, time_limit, callback)
    return run.follow(schedule, problem_at, X)


class _Run:
    """One pass through a schedule: counts, and keeps the best point of the current stage."""

    def __init__(
        self,
        direction: Direction[Any],
        step: Step,
        stop: Stop,
        time_limit: float | None,
        callback: Callback | None,
    ) -> None:
        self._direction = direction
        self._step = step
        self._stop = stop
        self._time_limit = time_limit
        self._callback = callback
        self._descent: Descent[Any] | None = None
        self._started = time.perf_counter()
        self._iterations = self._evaluations = 0

    def follow(self, schedule: Schedule, problem_at: ProblemAt, start: Array) -> Path:
        """Go through the stages, as far as nothing stops it."""
        X, made_by = start, None
        lams: list[float] = []
        results: list[Result] = []
        reason = StopReason.END_OF_PATH
        self._total = schedule.max_iter
        try:
            for self._number, stage in enumerate(schedule.stages):
                self._lam = stage.lam(X) if callable(stage.lam) else stage.lam
                if stage.restart and not X.std() > start.std():
                    X = start
                make = stage.problem_at or problem_at
                self._begin(make(self._lam), same=make is made_by)
                results.append(self._run_stage(stage, X))
                lams.append(np.nan if self._lam is None else self._lam)
                X, made_by = results[-1].X, make
                if results[-1].stopped_because.ends_schedule:
                    reason = results[-1].stopped_because
                    break
        except KeyboardInterrupt:  # between two stages
            if not results:
                raise
            reason = StopReason.INTERRUPTED
        last = results[-1].stopped_because if reason is StopReason.END_OF_PATH else reason
        log("optimisation: %d iterations; %s", self._iterations, last.text)
        return Path(np.array(lams), tuple(results), reason)

    def _begin(self, problem: Problem, same: bool) -> None:
        """Turn to the problem of the next stage; `same` as before but for λ, or another one."""
        check_capabilities(problem, self._direction.needs, type(self._direction).__name__)
        self._problem = problem
        if not same:
            self._descent = None
        elif self._descent is not None:
            self._descent.follow(problem)

    def _run_stage(self, stage: Stage, X0: Array) -> Result:
        began, evaluations = time.perf_counter(), self._evaluations
        self._records: list[Record] = []
        self._best: Point | None = None
        try:
            reason = self._descend(stage, X0)
        except KeyboardInterrupt:
            reason = StopReason.INTERRUPTED
        best = self._best
        return Result(
            X=X0.copy() if best is None else best.X.copy(),
            value=float("nan") if best is None else best.value,
            gradient_norm=float("nan") if best is None else norm(best.gradient),
            n_iter=max(0, len(self._records) - 1),
            n_evaluations=self._evaluations - evaluations,
            seconds=time.perf_counter() - began,
            stopped_because=reason,
            history=History.from_records(self._records),
        )

    def _descend(self, stage: Stage, X0: Array) -> StopReason:
        sample = Sample(float("nan"), self._evaluate(X0), 0.0)
        if not sample.finite:
            raise ValueError(
                f"the objective is not finite at X0 (its value is {sample.value}); "
                "start from other positions, for example smaller ones"
            )
        natural = self._direction.natural_step
        search, converged = self._step.start(natural), (stage.stop or self._stop).start()
        state = self._accept(sample)
        while (reason := converged(state)) is None:
            if len(self._records) > stage.max_iter:
                return StopReason.MAX_ITER
            if self._time_limit is not None and state.seconds >= self._time_limit:
                return StopReason.TIME_LIMIT
            point = sample.point
            if self._descent is None:  # only now: it may have to factorise
                self._descent = self._direction.start(self._problem, point.X)
            found = search.search(self._line(self._descent, point))
            if found is None and self._descent.reset():
                search = self._step.start(natural)
                found = search.search(self._line(self._descent, point))
            if found is None:
                return StopReason.NO_DECREASE
            sample = found
            self._iterations += 1
            state = self._accept(sample)
            if self._callback is not None and self._callback(state):
                return StopReason.CALLBACK
        return reason

    def _line(self, descent: Descent[Any], point: Point) -> Line:
        return Line(self._evaluate, point, descent.step_towards(point.X, point.gradient))

    def _evaluate(self, X: Array) -> Point:
        self._evaluations += 1
        value, gradient = self._problem.value_and_gradient(X)
        parts = (float(getattr(value, part, np.nan)) for part in ("attractive", "repulsive"))
        return Point(X, float(value), gradient, *parts)

    def _accept(self, sample: Sample) -> State:
        """Record an iterate; all of it or, at an interrupt, nothing."""
        point = sample.point
        X = point.X.view()
        X.flags.writeable = False
        state = State(
            iteration=self._iterations,
            evaluations=self._evaluations,
            seconds=time.perf_counter() - self._started,
            X=X,
            value=point.value,
            gradient_norm=norm(point.gradient),
            step=sample.step,
            lam=self._lam,
            stage=self._number,
        )
        lower = self._best is None or point.value < self._best.value
        if lower or not self._direction.monotone:
            self._best = point
        self._records.append(
            Record(
                state.iteration,
                state.stage,
                np.nan if state.lam is None else state.lam,
                state.evaluations,
                state.seconds,
                state.value,
                point.attractive,
                point.repulsive,
                state.gradient_norm,
                state.step,
            )
        )
        report("optimisation", state.iteration, self._total, state)
        return state
