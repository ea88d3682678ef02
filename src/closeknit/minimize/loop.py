"""The loop: direction × step, stage by stage, until one of the reasons to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closeknit._arrays import Array
from closeknit.linalg import inner, norm
from closeknit.minimize.descent import Descent, Direction, resolve_direction
from closeknit.minimize.problem import Problem
from closeknit.minimize.results import History, Path, Result, State, StopReason
from closeknit.minimize.schedule import Convergence, ProblemAt, Schedule, Stage, Stop
from closeknit.minimize.steps import Line, Sample, Step, resolve_step
from closeknit.progress import log, report

#: Called after every iteration; a true return value stops.
Callback = Callable[[State], object]

#: Reasons after which no further stage begins.
_ENDS_ALL = (StopReason.TIME_LIMIT, StopReason.CALLBACK, StopReason.INTERRUPTED)


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
    after: Path | None = None,
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
    after : Path or None, default=None
        What to go on with: `X0` is its end, and the first stage its last stage, continued. Counts
        and seconds go on, and the result is one path from the first start.

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
    if min((stage.max_iter for stage in schedule.stages), default=-1) < 0:
        raise ValueError("a schedule needs stages, and max_iter must be at least 0 in each")
    if time_limit is not None and not time_limit >= 0.0:
        raise ValueError(f"time_limit={time_limit!r} must be at least 0")
    chosen = resolve_direction(direction)
    run = _Run(
        chosen,
        resolve_step(step, chosen.preferred_step),
        stop or Convergence(chosen.default_tol, patience=chosen.patience),
        time_limit,
        callback,
    )
    if after is None:
        return run.follow(schedule.stages, problem_at, X)
    run.resume(after.history)
    return after.joined(run.follow(schedule.stages, problem_at, X))


@dataclass
class _Run:
    """One pass through a schedule: counts, and keeps the best point of the current stage."""

    direction: Direction[Any]
    step: Step
    stop: Stop
    time_limit: float | None
    callback: Callback | None
    started: float = field(default_factory=time.perf_counter)
    total: int = 0  # iterations at most, over all stages
    iterations: int = 0
    evaluations: int = 0
    number: int = 0  # of the stage
    lam: float | None = None
    descent: Descent[Any] | None = None
    best: Sample | None = None
    records: list[tuple[float, ...]] = field(default_factory=list)  # rows of a history

    def resume(self, before: History) -> None:
        """Count on from the end of another run; the direction is as it was there."""
        self.iterations, self.evaluations = int(before.iteration[-1]), int(before.evaluations[-1])
        self.number, passed = int(before.stage[-1]), float(before.seconds[-1])
        self.started -= passed
        self.time_limit = None if self.time_limit is None else self.time_limit + passed
        self.direction = self.direction.after(self.iterations)

    def follow(self, stages: Sequence[Stage], problem_at: ProblemAt, start: Array) -> Path:
        """Go through the stages, as far as nothing stops it."""
        X, made_by, first = start, None, self.number
        lams: list[float] = []
        results: list[Result] = []
        reason = StopReason.END_OF_PATH
        self.total = self.iterations + sum(map(attrgetter("max_iter"), stages))
        try:
            for self.number, stage in enumerate(stages, first):
                self.lam = stage.lam(X) if callable(stage.lam) else stage.lam
                if stage.restart and not X.std() > start.std():
                    X = start
                if stage.prepare is not None:
                    stage.prepare(X)
                make = stage.problem_at or problem_at
                problem = make(self.lam)
                self.direction.check(problem)
                if make is not made_by:
                    self.descent = None
                elif self.descent is not None:
                    self.descent.follow(problem)
                result = self._minimize(problem, stage, X)
                if results and not self.records:  # interrupted before its first evaluation
                    reason = StopReason.INTERRUPTED
                    break
                results.append(result)
                lams.append(np.nan if self.lam is None else self.lam)
                X, made_by = results[-1].X, make
                if results[-1].stopped_because in _ENDS_ALL:
                    reason = results[-1].stopped_because
                    break
        except KeyboardInterrupt:  # between two stages
            if not results:
                raise
            reason = StopReason.INTERRUPTED
        last = results[-1].stopped_because if reason is StopReason.END_OF_PATH else reason
        log("optimisation: %d iterations; %s", self.iterations, last.text)
        return Path(np.array(lams), tuple(results), reason)

    def _minimize(self, problem: Problem, stage: Stage, X0: Array) -> Result:
        """Run one stage; an interrupt keeps what it has reached."""
        began, evaluations = time.perf_counter(), self.evaluations
        self.records, self.best = [], None
        try:
            reason = self._descend(problem, stage, X0)
        except KeyboardInterrupt:
            reason = StopReason.INTERRUPTED
        best = self.best
        return Result(
            X=X0.copy() if best is None else best.X.copy(),
            value=np.nan if best is None else float(best.value),
            gradient_norm=np.nan if best is None else norm(best.gradient),
            n_iter=max(0, len(self.records) - 1),
            n_evaluations=self.evaluations - evaluations,
            seconds=time.perf_counter() - began,
            stopped_because=reason,
            history=History.from_records(self.records),
        )

    def _descend(self, problem: Problem, stage: Stage, X0: Array) -> StopReason:
        def evaluate(X: Array) -> tuple[float, Array]:
            self.evaluations += 1
            return problem.value_and_gradient(X)

        sample = Sample(np.nan, X0, *evaluate(X0), 0.0)
        if not sample.finite:
            raise ValueError(
                f"the objective is not finite at X0 (its value is {sample.value}); "
                "start from other positions, for example smaller ones"
            )
        natural = self.direction.natural_step
        search, converged = self.step.start(natural), (stage.stop or self.stop).start()
        state = self._accept(sample)
        end: int | None = None  # of the iterations after convergence
        while True:
            if end is None and (reason := converged(state)) is not None:
                if reason is not StopReason.TOL or self.descent is None:
                    return reason
                end = self.iterations + self.descent.come_to_rest()
            if end is not None and self.iterations >= end:
                return StopReason.TOL
            if len(self.records) > stage.max_iter:
                return StopReason.MAX_ITER if end is None else StopReason.TOL
            if self.time_limit is not None and state.seconds >= self.time_limit:
                return StopReason.TIME_LIMIT
            if self.descent is None:  # only now: it may have to factorise
                self.descent = self.direction.start(problem, sample.X)
            for again in (False, True):
                # Momentum may increase the objective on purpose.
                monotone = self.direction.monotone
                choose = self.descent.step_towards if monotone else self.descent.propose
                towards = choose(sample.X, sample.gradient)
                slope = inner(towards, sample.gradient)
                origin = replace(sample, step=0.0, slope=slope)
                found = search(Line(evaluate, origin, towards))
                if found is not None or again or not self.descent.reset():
                    break
                search = self.step.start(natural)
            if found is None:
                return StopReason.NO_DECREASE
            sample = found
            self.iterations += 1
            state = self._accept(sample)
            if not self.direction.monotone:
                self.descent.observe(state.value)
            if self.callback is not None and self.callback(state):
                return StopReason.CALLBACK

    def _accept(self, sample: Sample) -> State:
        """Record an iterate; all of it or, at an interrupt, nothing."""
        X = sample.X.view()
        X.flags.writeable = False
        seconds, length = time.perf_counter() - self.started, norm(sample.gradient)
        counts = (self.iterations, self.evaluations, seconds)
        value = float(sample.value)
        parts = getattr(sample.value, "parts", (np.nan, np.nan))
        state = State(*counts, X, value, length, sample.step, self.lam, self.number, parts)
        if self.best is None or value < self.best.value or not self.direction.monotone:
            self.best = sample
        lam = np.nan if self.lam is None else self.lam
        where = (self.iterations, self.number, lam, self.evaluations, seconds)
        self.records.append((*where, value, *parts, length, sample.step))
        report("optimisation", state.iteration, self.total, state)
        return state
