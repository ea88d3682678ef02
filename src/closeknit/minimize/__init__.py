"""The minimiser: every optimiser is a direction times a step, and none knows the objective.

::

    minimize(problem, X0, direction, step)
        problem                          E, its gradient and parts of its Hessian (problem.py);
                                         each direction says which parts it needs
        direction   B P = −G             gradient, fixed point, diagonal Hessian, conjugate
                                         gradients, L-BFGS, spectral, spectral gradient, SD−,
                                         SD with a diagonal, spectral L-BFGS, momentum,
                                         spectral momentum
        × step      X ← X + αP           backtracking, strong Wolfe, fixed
    homotopy(problem_at, lams, X0, …)    the same along an increasing λ
    run_schedule(schedule, …)            both, and any other stages (schedule.py, loop.py)
        stop                             when a stage has converged

A direction is a few words or an object, and so is a step. The spectral direction with the paper's
line search, in which steps only shrink:

>>> import numpy as np
>>> from closeknit.minimize import Backtracking, SpectralDirection, Springs, homotopy, minimize
>>> ring = np.roll(np.eye(8), 1, axis=1) + np.roll(np.eye(8), -1, axis=1)
>>> targets = np.arange(16.0).reshape(8, 2)
>>> springs, X0 = Springs(ring, targets), np.zeros((8, 2))
>>> paper = minimize(springs, X0, SpectralDirection(n_neighbors=7), Backtracking(grow=1))
>>> bool(np.allclose(paper.X, springs.solution(), atol=1e-2))
True

L-BFGS that knows the attraction from the start, watched by a callback:

>>> seen = []
>>> result = minimize(springs, X0, "spectral-lbfgs", callback=lambda s: seen.append(s.value))
>>> result.stopped_because, len(seen) == result.n_iter
('tol', True)

A homotopy from weak to strong repulsion (here: from soft to stiff springs), one factor for all:

>>> path = homotopy(lambda lam: Springs(ring, targets, lam), [0.01, 0.1, 1.0], X0, "spectral-lbfgs")
>>> [round(r.value, 2) for r in path.results] == sorted(round(r.value, 2) for r in path.results)
True

A new direction is a :class:`Direction` that proposes, or whose :class:`Descent` does; a new step is
a :class:`Step`; a new rule for stopping is a :class:`Stop`. Nothing else needs to change.
"""

from closeknit.minimize.directions import (
    LBFGS,
    ConjugateGradient,
    Descent,
    DiagonalHessian,
    Direction,
    FixedPoint,
    Gradient,
    Momentum,
    SpectralDiagonal,
    SpectralDirection,
    SpectralGradient,
    SpectralLBFGS,
    SpectralMinus,
    SpectralMomentum,
    resolve_direction,
)
from closeknit.minimize.loop import run_schedule
from closeknit.minimize.problem import (
    AttractiveProblem,
    CurvedProblem,
    DiagonalProblem,
    Problem,
    Springs,
)
from closeknit.minimize.rate import convergence_rate
from closeknit.minimize.recipes import homotopy, minimize
from closeknit.minimize.results import History, Path, Result, State, StopReason
from closeknit.minimize.schedule import Convergence, Schedule, Stage, Stop, log_spaced
from closeknit.minimize.steps import (
    Backtracking,
    FixedStep,
    Line,
    LineSearch,
    Sample,
    Step,
    StrongWolfe,
    resolve_step,
)

__all__ = [
    "LBFGS",
    "AttractiveProblem",
    "Backtracking",
    "ConjugateGradient",
    "Convergence",
    "CurvedProblem",
    "Descent",
    "DiagonalHessian",
    "DiagonalProblem",
    "Direction",
    "FixedPoint",
    "FixedStep",
    "Gradient",
    "History",
    "Line",
    "LineSearch",
    "Momentum",
    "Path",
    "Problem",
    "Result",
    "Sample",
    "Schedule",
    "SpectralDiagonal",
    "SpectralDirection",
    "SpectralGradient",
    "SpectralLBFGS",
    "SpectralMinus",
    "SpectralMomentum",
    "Springs",
    "Stage",
    "State",
    "Step",
    "Stop",
    "StopReason",
    "StrongWolfe",
    "convergence_rate",
    "homotopy",
    "log_spaced",
    "minimize",
    "resolve_direction",
    "resolve_step",
    "run_schedule",
]
