"""Recipes on the loop: minimise once, or along an increasing λ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike

from closeknit.minimize.descent import Direction, resolve_direction
from closeknit.minimize.loop import Callback, run_schedule
from closeknit.minimize.problem import Problem
from closeknit.minimize.results import Path, Result
from closeknit.minimize.schedule import Convergence, ProblemAt, Schedule, Stage
from closeknit.minimize.steps import Step
from closeknit.progress import shown


def minimize(
    problem: Problem,
    X0: ArrayLike,
    direction: str | Direction[Any] = "spectral",
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
        Anything with a method ``value_and_gradient``, and what else the direction needs.
    X0 : array-like of shape (n_samples, n_components)
        Start; never modified.
    direction : str or Direction, default="spectral"
        ``"gradient"``, ``"fixed-point"``, ``"diagonal-hessian"``, ``"cg"``, ``"lbfgs"``,
        ``"spectral"``, ``"spectral-gradient"``, ``"spectral-minus"``, ``"spectral-diagonal"``,
        ``"spectral-lbfgs"``, ``"momentum"``, ``"spectral-momentum"``, or an object.
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
        Whether to show progress on standard error.

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
    schedule = Schedule((Stage(None, max_iter),))
    chosen = resolve_direction(direction)
    stop = Convergence(tol, gradient_tol, chosen.patience)
    options: dict[str, Any] = {"stop": stop, "time_limit": time_limit, "callback": callback}
    with shown(verbose):
        path = run_schedule(schedule, lambda lam: problem, X0, chosen, step, **options)
    return path.results[0]


def homotopy(
    problem_at: ProblemAt,
    lams: ArrayLike,
    X0: ArrayLike,
    direction: str | Direction[Any] = "spectral",
    step: str | Step = "auto",
    *,
    max_iter: int | Sequence[int] = 10_000,
    tol: float = 1e-6,
    gradient_tol: float = 1e-8,
    time_limit: float | None = None,
    callback: Callback | None = None,
    verbose: bool = False,
) -> Path:
    """Minimise at each λ in turn, each time from the minimum at the one before (section 3.1).

    Or from the start again where all points have collapsed, as they do while λ is small.
    Slower than a single minimisation at the last λ, but usually ends in a deeper minimum.

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
    schedule = Schedule.homotopy(lams, max_iter)
    chosen = resolve_direction(direction)
    stop = Convergence(tol, gradient_tol, chosen.patience)
    options: dict[str, Any] = {"stop": stop, "time_limit": time_limit, "callback": callback}
    with shown(verbose):
        return run_schedule(schedule, problem_at, X0, chosen, step, **options)
