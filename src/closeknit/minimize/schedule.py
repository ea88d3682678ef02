"""Stages of a minimisation, as values: which λ, how many iterations, when it has converged.

Early exaggeration, homotopy and an automatic λ all are a :class:`Schedule`; one loop goes through
it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closeknit._arrays import Array
from closeknit.minimize.problem import Problem
from closeknit.minimize.results import Path, State, StopReason

#: Gives the problem for a λ, such as an objective's ``at`` method.
ProblemAt = Callable[[Any], Problem]


class Stop(ABC):
    """A rule that says when a stage has converged; use :class:`Convergence` or write another.

    Examples
    --------
    Stop when the objective is low enough:

    >>> from closeknit.minimize import Schedule, Springs, Stop, StopReason, run_schedule
    >>> class LowEnough(Stop):
    ...     def start(self):
    ...         return lambda state: StopReason.TOL if state.value < 5.0 else None
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> path = run_schedule(
    ...     Schedule.of(1.0), lambda lam: springs, [[5.0], [5.0]], stop=LowEnough()
    ... )
    >>> path.results[-1].value < 5.0
    True
    """

    @abstractmethod
    def start(self) -> Callable[[State], StopReason | None]:
        """Begin a stage: return a function that sees every iterate, and names a reason to stop."""


@dataclass(frozen=True)
class Convergence(Stop):
    """Stop when the objective hardly changes, or the gradient is nearly zero.

    Parameters
    ----------
    tol : float, default=1e-8
        Stop when `patience` iterations in a row change the objective, on average, by no more than
        this share of it.
    gradient_tol : float, default=1e-8
        Stop when the gradient's Frobenius norm is no larger.
    patience : int, default=3
        Iterations over which the change is judged. A single one may be small where the start is
        flat or a line search was unlucky; directions that may increase E need more.

    Examples
    --------
    >>> from closeknit.minimize import Convergence
    >>> Convergence(tol=1e-4)
    Convergence(tol=0.0001, gradient_tol=1e-08, patience=3)
    """

    tol: float = 1e-8
    gradient_tol: float = 1e-8
    patience: int = 3

    def __post_init__(self) -> None:
        for name in ("tol", "gradient_tol"):
            if not getattr(self, name) >= 0.0:
                raise ValueError(f"{name}={getattr(self, name)!r} must be at least 0")

    def start(self) -> Callable[[State], StopReason | None]:
        """Begin without any value."""
        values: deque[float] = deque(maxlen=self.patience + 1)

        def reached(state: State) -> StopReason | None:
            values.append(state.value)
            if state.gradient_norm <= self.gradient_tol:
                return StopReason.GRADIENT_TOL
            if len(values) > self.patience:
                # All of the last ones, because what swings may come by the same value twice.
                low, high = min(values), max(values)
                if high - low <= self.patience * self.tol * max(abs(low), abs(high)):
                    return StopReason.TOL
            return None

        return reached


@dataclass(frozen=True)
class Stage:
    """One minimisation of a schedule, from where the stage before it ended.

    Parameters
    ----------
    lam : float, callable or None
        Weight λ of the repulsion; a function gives it from the positions reached before. None for
        a problem without λ.
    max_iter : int, default=1000
        Most iterations of the stage.
    stop : Stop or None, default=None
        When the stage has converged; None takes the rule of the whole schedule.
    problem_at : callable or None, default=None
        Gives the problem for λ where the stage minimises another one than the schedule does.
    restart : bool, default=False
        Whether to begin at the start of the schedule if the stages before have collapsed the
        points. While λ is small, all points in one place are the minimum; later they are a saddle,
        where the gradient vanishes and nothing would separate the points.
    prepare : callable or None, default=None
        Called with the positions before the stage begins, for example to arrange memory.

    Examples
    --------
    >>> from closeknit.minimize import Stage
    >>> Stage(0.25, max_iter=30).lam
    0.25
    """

    lam: float | Callable[[Array], float] | None
    max_iter: int = 1000
    stop: Stop | None = None
    problem_at: ProblemAt | None = None
    restart: bool = False
    prepare: Callable[[Array], object] | None = None


@dataclass(frozen=True)
class Schedule:
    """Stages, one after the other; each begins where the one before it ended.

    Parameters
    ----------
    stages : tuple of Stage

    Examples
    --------
    >>> from closeknit.minimize import Schedule
    >>> [stage.lam for stage in Schedule.exaggerated([(4, 30), (2, 30)], max_iter=500).stages]
    [0.25, 0.5, 1.0]
    >>> [stage.lam for stage in Schedule.homotopy([0.1, 1.0, 10.0]).stages]
    [0.1, 1.0, 10.0]
    """

    stages: tuple[Stage, ...]

    def after(self, path: Path, n_iter: int) -> Schedule:
        """Return what is left of the schedule after a path, with `n_iter` for the last stage.

        Examples
        --------
        >>> from closeknit.minimize import Schedule, Springs, run_schedule
        >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
        >>> schedule = Schedule.of([0.5, 1.0], max_iter=2)
        >>> path = run_schedule(schedule, lambda lam: springs, [[5.0], [5.0]], time_limit=0)
        >>> [stage.max_iter for stage in schedule.after(path, 10).stages]
        [2, 10]
        """
        current, *later = self.stages[len(path.results) - 1 :]
        left = max(0, current.max_iter - path.results[-1].n_iter)
        stages = [replace(current, lam=float(path.lams[-1]), max_iter=left), *later]
        return Schedule((*stages[:-1], replace(stages[-1], max_iter=n_iter)))

    @classmethod
    def of(cls, lam: Any, max_iter: int = 1000) -> Schedule:
        """Return the schedule that a number, or an increasing list of numbers, stands for.

        Examples
        --------
        >>> from closeknit.minimize import Schedule
        >>> [stage.lam for stage in Schedule.of(0.5).stages]
        [0.5]
        >>> Schedule.of([0.5, 1.0]) == Schedule.homotopy([0.5, 1.0])
        True
        """
        number = isinstance(lam, Real) and not isinstance(lam, bool)
        if not number and np.ndim(lam) == 1:
            return cls.homotopy(lam, max_iter)
        if not number or not 0.0 <= float(lam) < np.inf:
            raise ValueError(
                f"lam={lam!r} must be a finite number of at least 0 or an increasing list of "
                "numbers"
            )
        return cls((Stage(float(lam), max_iter),))

    @classmethod
    def exaggerated(
        cls,
        stages: Sequence[tuple[float, int]] | None,
        lam: float = 1.0,
        max_iter: int = 1000,
        prepare: Callable[[Array], object] | None = None,
        prepare_early: Callable[[Array], object] | None = None,
    ) -> Schedule:
        """Short stages with the attraction exaggerated, that is with λ divided, before λ itself.

        Parameters
        ----------
        stages : sequence of (float, int) or None
            Factors, falling and above 1, and the iterations of each, at most `max_iter`.
        lam : float, default=1.0
        max_iter : int, default=1000
            Most iterations of the last stage.
        prepare, prepare_early : callable or None, default=None
            Called before the last stage, and before each of the others; see :class:`Stage`.
        """
        early, before = [], np.inf
        try:
            for factor, n in () if stages is None else stages:
                if not (1.0 < factor < before and n >= 0 and n == int(n)):
                    raise ValueError
                early.append(
                    Stage(lam / factor, min(int(n), max_iter), restart=True, prepare=prepare_early)
                )
                before = factor
        except (TypeError, ValueError):
            raise ValueError(
                f"exaggeration={stages!r} must be 'auto', a factor above 1, None, or list pairs of "
                "a factor and a number of iterations, with factors that fall and stay above 1, "
                "such as ((12.0, 50), (4.0, 30))"
            ) from None
        return cls((*early, Stage(lam, max_iter, restart=True, prepare=prepare)))

    @classmethod
    def homotopy(cls, lams: ArrayLike, max_iter: int | Sequence[int] = 1000) -> Schedule:
        """Follow the minimum from λ to λ (section 3.1 of the partial-Hessian paper).

        Parameters
        ----------
        lams : array-like of shape (n_lams,)
            Positive and strictly increasing.
        max_iter : int or sequence of int, default=1000
            Most iterations at each λ, the same for all or one each.
        """
        values = np.asarray(lams)
        numbers = values.ndim == 1 and values.size > 0 and values.dtype.kind in "iuf"
        good = numbers and np.isfinite(values).all() and values[0] > 0.0
        if not (good and (np.diff(values) > 0.0).all()):
            raise ValueError(
                f"a list of lam must hold positive, strictly increasing numbers, such as "
                f"[0.1, 1.0, 10.0], got {lams!r}"
            )
        iterations = np.ravel(max_iter).astype(int).tolist()
        if len(iterations) == 1:
            iterations *= len(values)
        if len(iterations) != len(values):
            raise ValueError(
                f"max_iter lists {len(iterations)} numbers for {len(values)} values of lambda"
            )
        pairs = zip(values.astype(np.float64).tolist(), iterations, strict=True)
        return cls(tuple(Stage(lam, most, restart=True) for lam, most in pairs))


def log_spaced(first: float = 1e-4, last: float = 1e2, n_lams: int = 50) -> Array:
    """Return values of λ at equal ratios; the defaults are the paper's for elastic embedding.

    Examples
    --------
    >>> from closeknit.minimize import log_spaced
    >>> log_spaced(0.01, 100, 5)
    array([1.e-02, 1.e-01, 1.e+00, 1.e+01, 1.e+02])
    """
    if not (0.0 < first < last < np.inf and n_lams >= 2):
        raise ValueError(
            f"log_spaced needs 0 < first < last and n_lams >= 2, got {first}, {last} and {n_lams}"
        )
    return np.geomspace(first, last, n_lams)
