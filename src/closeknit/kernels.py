"""Kernels K(t) of a squared distance t: between points of an embedding, or of data over 2σ².

The formulas of embeddings use K₁ = (log K)', K₂ = K''/K and K₂₁ = (log K)'' (section 1 of the
partial-Hessian paper); the compiled sums take the kernel by its code. Those of affinities use
log K and its elasticity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from closeknit._arrays import Array

__all__ = [
    "AFFINITY_KERNELS",
    "EPANECHNIKOV",
    "EXPONENTIAL",
    "GAUSSIAN",
    "KERNELS",
    "STUDENT",
    "Kernel",
    "student",
]


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive, decreasing function of the squared distance.

    Parameters
    ----------
    name : str
    family : int
        What cpp/common/kernel.h calls it; -1 if it is for affinities only.
    scale, power : float, default=1.0
        Shape of the kernel, with the meaning that its family gives them.

    Examples
    --------
    >>> from closeknit.kernels import STUDENT
    >>> float(STUDENT.K(1.0)), float(STUDENT.K1(1.0))
    (0.5, -0.5)
    """

    name: str
    family: int
    scale: float = 1.0
    power: float = 1.0

    #: Whether K has all derivatives, so that splines can follow it.
    smooth: ClassVar[bool] = True
    #: Whether −log K is linear in t, so that attractive weights do not depend on X.
    constant_attraction: ClassVar[bool] = True

    @property
    def code(self) -> tuple[int, float, float]:
        """What the compiled sums take for the kernel."""
        return self.family, self.scale, self.power

    @property
    def width(self) -> float:
        """Distance over which K changes: K ≈ 1 − (distance / width)² near 0."""
        return float(np.sqrt(self.scale / self.power))

    @property
    def reach(self) -> float:
        """Distance beyond which K is negligible, in double precision."""
        return float("inf")

    def squared(self) -> Self:
        """Return K²."""
        return replace(self, name=f"{self.name} squared", power=2.0 * self.power)

    @abstractmethod
    def K(self, t: Any) -> Array:
        """Value."""

    def log(self, t: Any) -> Array:
        """Log K; −inf where K is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.K(t))

    @abstractmethod
    def K1(self, t: Any) -> Array:
        """(log K)'."""

    @abstractmethod
    def K2(self, t: Any) -> Array:
        """K'' / K."""

    def K21(self, t: Any) -> Array:
        """(log K)'' = K2 − K1²."""
        return self.K2(t) - self.K1(t) ** 2

    def elasticity(self, t: Any) -> Array:
        """D log K / d log t = t K1, as if it were 0 where K is.

        Where it falls with t, the entropy of affinities falls with β, and bandwidths are unique.
        """
        return np.asarray(t) * self.K1(t)


class _Gaussian(Kernel):
    """exp(−power t / scale)."""

    @property
    def reach(self) -> float:
        return 6.0 * self.width  # exp(−36) = 2e-16

    def K(self, t: Any) -> Array:
        return np.exp(self.log(t))

    def log(self, t: Any) -> Array:
        return -self.power / self.scale * np.asarray(t, dtype=np.float64)

    def K1(self, t: Any) -> Array:
        return np.full(np.shape(t), -self.power / self.scale)

    def K2(self, t: Any) -> Array:
        return np.full(np.shape(t), (self.power / self.scale) ** 2)


class _Student(Kernel):
    """(1 + t / scale)^−power."""

    constant_attraction = False

    def K(self, t: Any) -> Array:
        return (1.0 + np.asarray(t, dtype=np.float64) / self.scale) ** -self.power

    def log(self, t: Any) -> Array:
        return -self.power * np.log1p(np.asarray(t, dtype=np.float64) / self.scale)

    def K1(self, t: Any) -> Array:
        return -self.power / (self.scale + np.asarray(t, dtype=np.float64))

    def K2(self, t: Any) -> Array:
        top = self.power * (self.power + 1.0)
        return top / (self.scale + np.asarray(t, dtype=np.float64)) ** 2


class _Epanechnikov(Kernel):
    """max(0, 1 − t). Its logarithm ends at t = 1, so K1 and K2 are those of t < 1, else 0."""

    smooth = False

    def squared(self) -> Self:
        raise TypeError(f"the {self.name} kernel is not offered squared")

    def K(self, t: Any) -> Array:
        return np.maximum(0.0, 1.0 - np.asarray(t, dtype=np.float64))

    def K1(self, t: Any) -> Array:
        k = self.K(t)
        return np.divide(-1.0, k, out=np.zeros_like(k), where=k > 0.0)

    def K2(self, t: Any) -> Array:
        return np.zeros(np.shape(t))


class _Exponential(Kernel):
    """exp(−√t): of the distance itself. Its derivatives are infinite at t = 0."""

    smooth = False

    squared = _Epanechnikov.squared

    def K(self, t: Any) -> Array:
        return np.exp(self.log(t))

    def log(self, t: Any) -> Array:
        return -np.sqrt(np.asarray(t, dtype=np.float64))

    def K1(self, t: Any) -> Array:
        with np.errstate(divide="ignore"):
            return 0.5 / self.log(t)

    def K2(self, t: Any) -> Array:
        return self.K1(t) ** 2 * (1.0 - 1.0 / self.log(t))

    def elasticity(self, t: Any) -> Array:
        return 0.5 * self.log(t)


#: exp(−t): elastic embedding, s-SNE, SNE; entropic affinities.
GAUSSIAN = _Gaussian("gaussian", 0)
#: 1 / (1 + t): t-SNE, t-EE.
STUDENT = _Student("student", 1)
#: max(0, 1 − t): repels at short range only.
EPANECHNIKOV = _Epanechnikov("epanechnikov", 2)

#: exp(−√t): affinities that fall with the distance.
EXPONENTIAL = _Exponential("exponential", -1)

#: Those that the compiled sums know, and those that affinities take.
KERNELS = {kernel.name: kernel for kernel in (GAUSSIAN, STUDENT, EPANECHNIKOV)}
AFFINITY_KERNELS = KERNELS | {EXPONENTIAL.name: EXPONENTIAL}


def student(dof: float) -> Kernel:
    """Return Student's t kernel (1 + t / dof)^−((dof + 1) / 2), up to its constant.

    Parameters
    ----------
    dof : float
        Degrees of freedom: 1 is t-SNE's kernel, fewer give heavier tails and tighter clusters,
        infinitely many the Gaussian exp(−t / 2).

    Examples
    --------
    >>> from closeknit.kernels import STUDENT, student
    >>> student(1.0) == STUDENT
    True
    >>> float(student(0.5).K(2.0).round(4))
    0.2991
    """
    given: Any = dof
    if not (isinstance(given, Real) and 0.0 < float(given) < np.inf):
        raise ValueError(f"dof={dof!r} must be positive and finite")
    return _Student("student", STUDENT.family, float(dof), (dof + 1.0) / 2.0)
