"""Homotopy: follow the minimum while the repulsion λ grows (section 3.1)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.directions import resolve_direction
from closeknit.minimize.history import History
from closeknit.minimize.loop import Callback, Limits, Result, Run, check_start
from closeknit.minimize.problem import Array, Problem
from closeknit.minimize.progress import Progress
from closeknit.minimize.steps import Step, resolve_step

__all__ = ["Path", "homotopy", "log_spaced"]


@dataclass(frozen=True)
class Path:
    """The minima along increasing λ, as far as the homotopy came.

    Attributes
    ----------
    lams : ndarray of shape (n_lams,)
        The values of λ that have a result.
    results : tuple of Result
        One for each; of an early stop the last may be unfinished.
    stopped_because : str
        ``"end of path"``, ``"time_limit"``, ``"callback"`` or ``"interrupted"``.

    Examples
    --------
    >>> from closeknit.minimize import Springs, homotopy
    >>> weights, targets = [[0, 1], [1, 0]], [[0.0], [3.0]]
    >>> path = homotopy(lambda lam: Springs(weights, targets, lam), [1, 10], [[0.0], [0.0]])
    >>> path.Xs.shape, len(path.results), len(path.history) > 2
    ((2, 2, 1), 2, True)
    """

    lams: Array
    results: tuple[Result, ...]
    stopped_because: str

    @property
    def X(self) -> Array:
        """The positions at the last λ, of shape (n_samples, n_components)."""
        return self.results[-1].X

    @property
    def Xs(self) -> Array:
        """The positions at every λ, of shape (n_lams, n_samples, n_components)."""
        return np.stack([result.X for result in self.results])

    @cached_property
    def history(self) -> History:
        """All histories in one; counts and seconds go on from λ to λ."""
        parts, iterations, evaluations, seconds = [], 0, 0, 0.0
        for result in self.results:
            parts.append(result.history.shifted(iterations, evaluations, seconds))
            iterations += result.n_iter
            evaluations += result.n_evaluations
            seconds += result.seconds
        return History.concatenate(parts)


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


def homotopy(
    problem_at: Callable[[float], Problem],
    lams: ArrayLike,
    X0: ArrayLike,
    direction: str | Direction = "spectral",
    step: str | Step = "auto",
    *,
    max_iter: int | Sequence[int] = 10_000,
    tol: float = 1e-6,
    gradient_tol: float = 1e-8,
    time_limit: float | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
) -> Path:
    """Minimise at each λ in turn, each time from the minimum at the one before.

    From the start again where all points have collapsed, as they do while λ is small.
    Slower than a single minimisation at the last λ, but usually ends in a deeper minimum. The
    direction's factor is kept throughout, since the attractive weights do not depend on λ; the
    step starts afresh at each λ, as in the paper.

    Parameters
    ----------
    problem_at : callable
        Gives the problem for a λ, such as an objective's ``at`` method.
    lams : array-like of shape (n_lams,)
        Positive and strictly increasing.
    X0 : array-like of shape (n_samples, n_components)
        Start at the first λ; never modified.
    direction, step, callback, verbose
        As for :func:`minimize`.
    max_iter : int or sequence of int
        Most iterations at each λ, the same for all or one each; the default is the paper's.
    tol, gradient_tol
        For each λ; the default of the first is the paper's.
    time_limit : float, optional
        Seconds for the whole path.

    Returns
    -------
    Path

    Examples
    --------
    >>> from closeknit.minimize import Springs, homotopy
    >>> weights, targets = [[0, 1], [1, 0]], [[0.0], [3.0]]
    >>> path = homotopy(lambda lam: Springs(weights, targets, lam), [0.1, 1, 10], [[0.0], [0.0]])
    >>> path.lams, path.stopped_because
    (array([ 0.1,  1. , 10. ]), 'end of path')
    >>> path.X.round(2)
    array([[0.43],
           [2.57]])
    """
    values = _check_lams(lams)
    start = X = check_start(X0)
    chosen = resolve_direction(direction)
    steps = resolve_step(step, chosen.preferred_step)
    iterations = np.ravel(max_iter).astype(int).tolist()
    if len(iterations) == 1:
        iterations *= len(values)
    if len(iterations) != len(values):
        raise ValueError(
            f"max_iter lists {len(iterations)} numbers for {len(values)} values of lambda"
        )
    Limits(min(iterations), tol, gradient_tol, time_limit)  # complain before any work
    started = time.perf_counter()
    results: list[Result] = []
    descent: Descent | None = None
    reason = "end of path"
    try:
        for lam, most in zip(values.tolist(), iterations, strict=True):
            left = None
            if time_limit is not None:
                left = max(0.0, time_limit - (time.perf_counter() - started))
            problem = problem_at(lam)
            if descent is not None:
                descent.follow(problem)
            progress = Progress(most, left) if verbose else None
            limits = Limits(most, tol, gradient_tol, left)
            run = Run(problem, chosen, steps, limits, callback, progress, lam)
            results.append(run.minimize(X, descent))
            X, descent = _wider(results[-1].X, start), run.descent
            if results[-1].stopped_because in ("time_limit", "callback", "interrupted"):
                reason = results[-1].stopped_because
                break
    except KeyboardInterrupt:  # between two runs
        if not results:
            raise
        reason = "interrupted"
    return Path(values[: len(results)], tuple(results), reason)


def _wider(X: Array, start: Array) -> Array:
    """Return X, or the start if X has shrunk below it.

    While λ is small all points in one place are the minimum. Later they are a saddle, where the
    gradient vanishes and nothing would tell the points to part.
    """
    return X if float(X.std()) > float(start.std()) else start


def _check_lams(lams: ArrayLike) -> Array:
    values = np.array(lams, dtype=np.float64)
    good = values.ndim == 1 and values.size > 0 and np.isfinite(values).all()
    if not (good and values[0] > 0.0 and (np.diff(values) > 0.0).all()):
        raise ValueError(
            "lams must be a list of positive, strictly increasing numbers, such as log_spaced(), "
            f"got {lams!r}"
        )
    return values
