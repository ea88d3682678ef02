"""Spectral L-BFGS: curvature pairs on top of the spectral direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from closeknit.linalg import check_solver
from closeknit.minimize.attractive import AttractiveSolver, check_n_neighbors
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.lbfgs import QuasiNewton, check_memory
from closeknit.minimize.problem import Array, Problem
from closeknit.minimize.steps import Step, StrongWolfe

__all__ = ["SpectralLBFGS"]


@dataclass(frozen=True)
class SpectralLBFGS(Direction):
    """L-BFGS whose initial inverse Hessian is the spectral direction's solve.

    The factor knows the attraction from the first iteration; the pairs learn the repulsion.

    Parameters
    ----------
    memory : int, default=100
        Curvature pairs kept, as in :class:`LBFGS`.
    n_neighbors, solver, refresh, random_state, n_jobs
        As in :class:`SpectralDirection`.

    Examples
    --------
    >>> from closeknit.minimize import SpectralLBFGS, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=SpectralLBFGS()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    memory: int = 100
    n_neighbors: int | None = None
    solver: str = "auto"
    refresh: int | None = None
    random_state: int = 0
    n_jobs: int | None = -1

    preferred_step: ClassVar[Step] = StrongWolfe(c2=0.9)

    def __post_init__(self) -> None:
        check_memory(self.memory)
        check_n_neighbors(self.n_neighbors, self.refresh)
        check_solver(self.solver)

    def start(self, problem: Problem, X: Array) -> Descent:
        """Factorise at X, and begin without any pair."""
        solver = AttractiveSolver(
            problem,
            X,
            self.n_neighbors,
            self.solver,
            self.refresh,
            self.random_state,
            self.n_jobs,
        )
        return _SpectralQuasiNewton(problem, self.memory, solver)


class _SpectralQuasiNewton(QuasiNewton):
    def __init__(self, problem: Problem, memory: int, solver: AttractiveSolver) -> None:
        super().__init__(problem, memory)
        self._solver = solver

    def initial(self, gradient: Array) -> Array:
        return self._solver.solve(gradient)

    def propose(self, X: Array, gradient: Array) -> Array:
        self._solver.keep_up(self.problem, X)
        return super().propose(X, gradient)
