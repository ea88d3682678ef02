"""A heavy-tailed kernel as a short one and a smooth one, each with a grid of its own.

A kernel that reaches everywhere needs a grid padded to twice its length in every direction, with
the fine spacing that its core asks for. Student's t is a mixture of Gaussians of all widths,

    (1 + t/s)^−p = 1/Γ(p) ∫ u^(p−1) exp(−u (1 + t/s)) du,

and cut at u = c it falls into Q(p, c (1 + t/s)) K, which ends after a few widths and needs no
padding to speak of, and P(p, c (1 + t/s)) K, whose grid may be several times coarser; P and Q are
the incomplete gamma functions. (Ewald, 1921, did that to the potential of a crystal.)
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma, gammainc, gammaincc

from closeknit.kernels import Kernel

__all__ = ["split"]

Array = NDArray[np.float64]

#: Ratio of the smooth part's width to the kernel's.
_RATIO = 4.0
#: Exponent beyond which the short part is nothing in single precision.
_NOTHING = 17.0


def split(kernel: Kernel) -> tuple[Kernel, Kernel] | None:
    """Return the short and the smooth part of a kernel, or None if it needs no splitting."""
    if not kernel.smooth or np.isfinite(kernel.reach):
        return None
    cut = 1.0 / _RATIO**2
    shape = (f"{kernel.name} near", kernel.family, kernel.scale, kernel.power)
    return _Near(*shape, cut=cut), _Far(f"{kernel.name} far", *shape[1:], cut=cut)


@dataclass(frozen=True)
class _Part(Kernel):
    """A share of a Student kernel; `cut` is c above. There is no compiled twin."""

    cut: float = 1.0

    @abstractmethod
    def share(self, x: Array) -> Array:
        """Incomplete gamma function."""

    @abstractmethod
    def share_slope(self, x: Array) -> Array:
        """Its derivative."""

    def K(self, t: Any) -> Array:
        u = 1.0 + np.asarray(t, dtype=np.float64) / self.scale
        return self.share(self.cut * u) * u**-self.power

    def K1(self, t: Any) -> Array:
        u = 1.0 + np.asarray(t, dtype=np.float64) / self.scale
        x = self.cut * u
        return (self.cut * self.share_slope(x) / self.share(x) - self.power / u) / self.scale

    def K2(self, t: Any) -> Array:
        raise TypeError("parts of a kernel have no curvature")


class _Near(_Part):
    @property
    def reach(self) -> float:
        return float(np.sqrt(self.scale * _NOTHING / self.cut))

    def share(self, x: Array) -> Array:
        return gammaincc(self.power, x)

    def share_slope(self, x: Array) -> Array:
        return -(x ** (self.power - 1.0)) * np.exp(-x) / gamma(self.power)


class _Far(_Part):
    @property
    def width(self) -> float:
        return float(np.sqrt(self.scale / self.cut))

    def share(self, x: Array) -> Array:
        return gammainc(self.power, x)

    def share_slope(self, x: Array) -> Array:
        return x ** (self.power - 1.0) * np.exp(-x) / gamma(self.power)
