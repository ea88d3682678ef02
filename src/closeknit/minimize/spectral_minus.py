"""The spectral direction with more of the Hessian added: positive blocks (SD−), or a diagonal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from closeknit._arrays import Array
from closeknit._checks import check_number
from closeknit.linalg import conjugate_gradients, same_weights
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import CurvedProblem
from closeknit.minimize.spectral import AttractiveHessian


class _SpectralMinusDescent(Descent[Any]):
    _previous: Array | None = None
    _built: AttractiveHessian | None = None

    def reset(self) -> bool:
        had_memory = self._previous is not None
        self._previous = None
        return had_memory

    def propose(self, X: Array, gradient: Array) -> Array:
        weights = self.problem.attractive_weights(X)
        if self._built is None or not same_weights(weights, self._built.weights):
            self._built = AttractiveHessian(weights)
        attraction = self._built
        more = self.rule.curvature(self.problem, X, attraction)
        start = np.zeros_like(gradient) if self._previous is None else self._previous
        direction, _ = conjugate_gradients(
            lambda V: attraction @ V + more(V),
            -gradient,
            start,
            self.rule.tol,
            self.rule.max_inner,
        )
        self._previous = direction
        return direction


@dataclass(frozen=True)
class SpectralMinus(Direction[Any], name="spectral-minus"):
    """Solve (4L⁺ + 8λL^xx_{i·,i·} + μI) P = −G inexactly by linear conjugate gradients.

    The system is new at every X; each solve starts from the previous direction (the paper's SD−,
    section 3). It takes the fewest iterations, but each costs the most.

    Parameters
    ----------
    tol : float, default=0.1
        Residual at which to stop, relative to ‖G‖.
    max_inner : int, default=50
        Linear iterations at most.

    Examples
    --------
    >>> from closeknit.minimize import SpectralMinus, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=SpectralMinus()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    tol: float = 0.1
    max_inner: int = 50

    descent: ClassVar[type[_SpectralMinusDescent]] = _SpectralMinusDescent
    needs: ClassVar[tuple[str, ...]] = (
        "value_and_gradient",
        "attractive_weights",
        "repulsive_curvature",
    )

    def __post_init__(self) -> None:
        check_number("tol", self.tol, share=True)
        if self.max_inner < 1:
            raise ValueError(f"max_inner={self.max_inner!r} must be at least 1")

    def curvature(
        self, problem: CurvedProblem, X: Array, attraction: AttractiveHessian
    ) -> Callable[[Array], Array]:
        """Return V ↦ what is added to the attraction, times V."""
        return problem.repulsive_curvature(X)


@dataclass(frozen=True)
class SpectralDiagonal(SpectralMinus, name="spectral-diagonal"):
    """Add to the spectral direction what of the Hessian's diagonal it misses, where positive.

    A variant that the paper tried and found not competitive (section 3). The system is new at every
    X and is solved inexactly, as that of :class:`SpectralMinus`.

    Parameters
    ----------
    tol, max_inner
        As in :class:`SpectralMinus`.

    Examples
    --------
    >>> from closeknit.minimize import SpectralDiagonal, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=SpectralDiagonal()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    needs: ClassVar[tuple[str, ...]] = (
        "value_and_gradient",
        "attractive_weights",
        "hessian_diagonal",
    )

    def curvature(
        self, problem: Any, X: Array, attraction: AttractiveHessian
    ) -> Callable[[Array], Array]:
        """Return V ↦ the missing diagonal times V."""
        missing = problem.hessian_diagonal(X) - 4.0 * attraction.degrees[:, None]
        return lambda V: np.maximum(missing, 0.0) * V
