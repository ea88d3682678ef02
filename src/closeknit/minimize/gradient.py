"""Directions that solve no linear system: gradients, plain, scaled and conjugate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from closeknit._arrays import Array
from closeknit.linalg import inner, row_sums
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import AttractiveProblem, DiagonalProblem, Problem
from closeknit.minimize.steps import Step, StrongWolfe


@dataclass(frozen=True)
class Gradient(Direction[Problem], name="gradient"):
    """Steepest descent, P = −G.

    Examples
    --------
    >>> from closeknit.minimize import Gradient, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=Gradient()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    natural_step: ClassVar[bool] = False

    def propose(self, problem: Problem, X: Array, gradient: Array) -> Array:
        """Return −G."""
        return -gradient


@dataclass(frozen=True)
class DiagonalHessian(Direction[DiagonalProblem], name="diagonal-hessian"):
    """Divide the gradient by the positive part of the Hessian's diagonal (the paper's DiagH).

    Parameters
    ----------
    floor : float, default=0.1
        Entries below this share of the mean absolute entry are raised to it: elsewhere the Hessian
        may be negative or nearly zero, and a few such entries would rule the step.

    Examples
    --------
    >>> from closeknit.minimize import DiagonalHessian, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=DiagonalHessian()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    floor: float = 0.1

    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "hessian_diagonal")

    def __post_init__(self) -> None:
        if not 0.0 < self.floor <= 1.0:
            raise ValueError(f"floor={self.floor!r} must be above 0 and at most 1")

    def propose(self, problem: DiagonalProblem, X: Array, gradient: Array) -> Array:
        """Divide."""
        diagonal = problem.hessian_diagonal(X)
        return -gradient / np.maximum(diagonal, self.floor * np.abs(diagonal).mean())


class _ConjugateDescent(Descent[Problem]):
    _previous: tuple[Array, Array] | None = None  # gradient, direction
    _since_restart = 0

    def reset(self) -> bool:
        had_memory = self._previous is not None
        self._previous = None
        return had_memory

    def propose(self, X: Array, gradient: Array) -> Array:
        direction, beta = -gradient, 0.0
        if self._previous is not None and self._since_restart < gradient.size:
            before, towards = self._previous
            beta = inner(gradient, gradient - before) / inner(before, before)
            if beta > 0.0:
                direction += beta * towards
        self._since_restart = self._since_restart + 1 if beta > 0.0 else 0
        self._previous = (gradient, direction)
        return direction


@dataclass(frozen=True)
class ConjugateGradient(Direction[Problem], name="cg"):
    """Nonlinear conjugate gradients with the Polak–Ribière+ formula.

    It restarts with the gradient where the formula's β would be negative, where the direction would
    not descend, and after as many iterations as there are unknowns (Nocedal and Wright 2006, 5.2).

    Examples
    --------
    >>> from closeknit.minimize import ConjugateGradient, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=ConjugateGradient()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    descent: ClassVar[type[_ConjugateDescent]] = _ConjugateDescent
    natural_step: ClassVar[bool] = False
    preferred_step: ClassVar[Step] = StrongWolfe(c2=0.1)


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
