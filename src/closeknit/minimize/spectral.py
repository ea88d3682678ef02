"""The spectral direction: the gradient bent by the attractive curvature (section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from closeknit.linalg import SOLVERS, row_sums, same_weights
from closeknit.minimize.attractive import AttractiveHessian
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, AttractiveProblem

__all__ = ["FixedPoint", "SpectralDescent", "SpectralDirection", "SpectralGradient"]


class SpectralDescent(Descent[AttractiveProblem]):
    """The spectral direction at work; its factor outlives a change of λ.

    Which edges count as the κ strongest is decided once, at the first X.
    """

    def __init__(self, problem: AttractiveProblem, rule: Any, X: Array) -> None:
        super().__init__(problem, rule, X)
        self._age = 0
        self._options = {name: getattr(rule, name) for name in _OPTIONS}
        self.hessian = AttractiveHessian(problem.attractive_weights(X), **self._options)

    def propose(self, X: Array, gradient: Array) -> Array:
        """Two triangular solves."""
        self.refresh(X)
        return -self.hessian.solve(gradient)

    def refresh(self, X: Array) -> None:
        """Count an iteration, and refactorise if it is time and the weights have changed."""
        if self.rule.refresh is not None and self._age >= self.rule.refresh:
            weights = self.problem.attractive_weights(X)
            if not same_weights(weights, self.hessian.weights):
                self.hessian = AttractiveHessian(weights, like=self.hessian, **self._options)
            self._age = 0
        self._age += 1


#: Parameters of the direction that are the Hessian's.
_OPTIONS = ("n_neighbors", "solver", "random_state", "n_jobs")


@dataclass(frozen=True)
class SpectralDirection(Direction[AttractiveProblem], name="spectral"):
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

    descent: ClassVar[type[SpectralDescent]] = SpectralDescent
    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")

    def __post_init__(self) -> None:
        if self.n_neighbors is not None and self.n_neighbors < 0:
            raise ValueError(f"n_neighbors={self.n_neighbors!r} must be None (all) or at least 0")
        if self.refresh is not None and self.refresh < 1:
            raise ValueError(
                f"refresh={self.refresh!r} must be None (never) or at least 1 iteration"
            )
        if self.solver not in SOLVERS:
            raise ValueError(f"unknown solver {self.solver!r}; use {', '.join(map(repr, SOLVERS))}")


@dataclass(frozen=True)
class FixedPoint(Direction[AttractiveProblem], name="fixed-point"):
    """Divide each point's gradient by its attractive degree: the spectral direction at κ = 0.

    The iteration X ← (D⁺)⁻¹(D⁺ − L)X of the first elastic embedding paper (2010), as a direction.
    The degrees are asked for at every X.

    Examples
    --------
    >>> from closeknit.minimize import FixedPoint, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=FixedPoint()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")

    def start(self, problem: AttractiveProblem, X: Array) -> Descent[AttractiveProblem]:
        """Take the degrees at X."""
        return SpectralDirection(n_neighbors=0, refresh=1).start(problem, X)


@dataclass(frozen=True)
class SpectralGradient(Direction[AttractiveProblem], name="spectral-gradient"):
    """Multiply the gradient by the attractive Laplacian: B⁻¹ = L⁺ + μI, where SD has B = 4L⁺ + μI.

    Memisevic and Hinton's way to use spectral information, with which the paper compares the
    spectral direction (section 2). μ is a hundredth of the mean degree, so that whole components
    move, too.

    Examples
    --------
    >>> from closeknit.minimize import SpectralGradient, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[0.0], [3.0]], direction=SpectralGradient()).X.round(2)
    array([[1.2],
           [1.8]])

    References
    ----------
    Memisevic and Hinton (2005), Improving dimensionality reduction with spectral gradient descent.
    """

    natural_step: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")

    def propose(self, problem: AttractiveProblem, X: Array, gradient: Array) -> Array:
        """Return −B⁻¹G."""
        weights = problem.attractive_weights(X)
        degrees = row_sums(weights)
        return weights @ gradient - (degrees + 0.01 * degrees.mean())[:, None] * gradient
