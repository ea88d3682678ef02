"""Kernels K(t) of the squared distance t = ‖x − y‖² between points of an embedding.

The formulas use K₁ = (log K)', K₂ = K''/K and K₂₁ = (log K)'' (section 1 of the partial-Hessian
paper); the compiled sums take the kernel by its code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["EPANECHNIKOV", "GAUSSIAN", "KERNELS", "STUDENT", "Kernel"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Kernel(ABC):
    """A positive, decreasing function of the squared distance.

    Parameters
    ----------
    name : str
    code : int
        What cpp/pairs.h calls it.
    """

    name: str
    code: int

    @abstractmethod
    def K(self, t: Any) -> Array:
        """Value."""

    @abstractmethod
    def K1(self, t: Any) -> Array:
        """(log K)'."""

    @abstractmethod
    def K2(self, t: Any) -> Array:
        """K'' / K."""

    def K21(self, t: Any) -> Array:
        """(log K)'' = K2 − K1²."""
        return self.K2(t) - self.K1(t) ** 2


class _Gaussian(Kernel):
    def K(self, t: Any) -> Array:
        return np.exp(-np.asarray(t, dtype=np.float64))

    def K1(self, t: Any) -> Array:
        return np.full(np.shape(t), -1.0)

    def K2(self, t: Any) -> Array:
        return np.full(np.shape(t), 1.0)


class _Student(Kernel):
    def K(self, t: Any) -> Array:
        return 1.0 / (1.0 + np.asarray(t, dtype=np.float64))

    def K1(self, t: Any) -> Array:
        return -self.K(t)

    def K2(self, t: Any) -> Array:
        return 2.0 * self.K(t) ** 2


class _Epanechnikov(Kernel):
    """max(0, 1 − t). Its logarithm ends at t = 1, so K1 and K2 are those of t < 1, else 0."""

    def K(self, t: Any) -> Array:
        return np.maximum(0.0, 1.0 - np.asarray(t, dtype=np.float64))

    def K1(self, t: Any) -> Array:
        k = self.K(t)
        return np.divide(-1.0, k, out=np.zeros_like(k), where=k > 0.0)

    def K2(self, t: Any) -> Array:
        return np.zeros(np.shape(t))


#: exp(−t): elastic embedding, s-SNE, SNE.
GAUSSIAN = _Gaussian("gaussian", 0)
#: 1 / (1 + t): t-SNE, t-EE.
STUDENT = _Student("student", 1)
#: max(0, 1 − t): repels at short range only.
EPANECHNIKOV = _Epanechnikov("epanechnikov", 2)

KERNELS = {kernel.name: kernel for kernel in (GAUSSIAN, STUDENT, EPANECHNIKOV)}
