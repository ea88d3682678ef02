"""The spectral direction: the gradient bent by the attractive curvature (section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from closeknit.linalg import check_solver
from closeknit.minimize.attractive import AttractiveSolver, check_n_neighbors
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, AttractiveProblem

__all__ = ["SpectralDescent", "SpectralDirection"]


@dataclass(frozen=True)
class SpectralDirection(Direction[AttractiveProblem]):
    """Solve (4L⁺ + μI) P = −G with a factorisation that is computed once.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        κ: off the diagonal only weights among the κ largest of either end are kept. None keeps all;
        0 is :class:`FixedPoint`. Larger is a better direction, smaller a cheaper factor.
    solver : {"auto", "dense", "sparse", "approximate"}, default="auto"
        How to factorise; see :func:`closeknit.linalg.factorize`.
    refresh : int or None, default=None
        Iterations after which the factor is rebuilt if L⁺ has changed, as it does for Student
        kernels; which weights are the κ strongest is decided at the start. None keeps the factor of
        the start, as the paper does.
    random_state : int, default=0
        For the approximate factorisation; the same number gives the same steps.
    n_jobs : int or None, default=-1
        Threads that look for the strongest weights.

    Examples
    --------
    >>> from closeknit.minimize import SpectralDirection, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=SpectralDirection()).X.round(2)
    array([[1.2],
           [1.8]])

    References
    ----------
    M. Vladymyrov and M. Á. Carreira-Perpiñán, "Partial-Hessian strategies for fast learning of
    nonlinear embeddings", ICML 2012, section 2.
    """

    n_neighbors: int | None = None
    solver: str = "auto"
    refresh: int | None = None
    random_state: int = 0
    n_jobs: int | None = -1

    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")

    def __post_init__(self) -> None:
        check_n_neighbors(self.n_neighbors, self.refresh)
        check_solver(self.solver)

    def start(self, problem: AttractiveProblem, X: Array) -> Descent[AttractiveProblem]:
        """Factorise at X."""
        return SpectralDescent(problem, self.factorize(problem, X))

    def factorize(self, problem: AttractiveProblem, X: Array) -> AttractiveSolver:
        """Factorise the attractive Hessian at X."""
        return AttractiveSolver(
            problem,
            X,
            self.n_neighbors,
            self.solver,
            self.refresh,
            self.random_state,
            self.n_jobs,
        )


class SpectralDescent(Descent[AttractiveProblem]):
    """The spectral direction at work; its factor outlives a change of λ."""

    def __init__(self, problem: AttractiveProblem, solver: AttractiveSolver) -> None:
        super().__init__(problem)
        self._solver = solver

    def propose(self, X: Array, gradient: Array) -> Array:
        """Two triangular solves."""
        self._solver.update(self.problem, X)
        return -self._solver.solve(gradient)
