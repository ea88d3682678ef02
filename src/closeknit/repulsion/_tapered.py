"""A heavy-tailed kernel as close pairs, summed one by one, and a smooth tail for the grid.

A kernel that reaches everywhere needs a grid padded to twice its length in every direction, with
the fine spacing that its core asks for. Within a radius r the core is taken away: what stays is
K's Taylor polynomial at r,

    (1 + t/s)^−p ≈ (1 + r²/s)^−p Σ_j C(p + j − 1, j) v^j,   v = (r² − t) / (s + r²),

which is K itself beyond r and as smooth as the polynomial is long at r; its grid may be as coarse
as 0.4 r. The difference ends at r, and sums over pairs that close are exact. (Skeel, Tezcan and
Hardy, 2002, do that to the potential of charges.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from closeknit._arrays import Array
from closeknit.kernels import Kernel

#: Degree of the polynomial, as in cpp/repulsion/close_pairs.h.
_ORDER = 3


@dataclass(frozen=True)
class TaperedKernel(Kernel):
    """A Student kernel without its core, smooth enough for a coarse grid; never compiled."""

    radius: float = 1.0

    @classmethod
    def of(cls, kernel: Kernel, radius: float) -> TaperedKernel:
        """Replace the core of a kernel, within a radius, by a polynomial."""
        name = f"{kernel.name} beyond {radius:g}"
        return cls(name, kernel.family, kernel.scale, kernel.power, radius)

    @property
    def width(self) -> float:
        """Where the coarsest spacing begins: at half the radius values would show an error."""
        return 0.42 * self.radius

    @property
    def core(self) -> float:
        """Width of the kernel that was tapered."""
        return float(np.sqrt(self.scale / self.power))

    @property
    def coefficients(self) -> Array:
        """Coefficients of the polynomial."""
        steps = np.arange(1.0, _ORDER + 1)
        binomials = np.cumprod(np.append(1.0, (self.power + steps - 1.0) / steps))
        return binomials * (1.0 + self.radius**2 / self.scale) ** -self.power

    def K(self, t: Any) -> Array:
        t, v = self._places(t)
        return np.where(
            v > 0.0, np.polyval(self.coefficients[::-1], v), (1.0 + t / self.scale) ** -self.power
        )

    def K1(self, t: Any) -> Array:
        t, v = self._places(t)
        slope = np.polyval(np.polyder(self.coefficients[::-1]), v) / (self.scale + self.radius**2)
        return np.where(v > 0.0, -slope / self.K(t), -self.power / (self.scale + t))

    def K2(self, t: Any) -> Array:
        raise TypeError("a tapered kernel has no second derivative")

    def _places(self, t: Any) -> tuple[Array, Array]:
        """Return t and v."""
        t = np.asarray(t, dtype=np.float64)
        return t, (self.radius**2 - t) / (self.scale + self.radius**2)
