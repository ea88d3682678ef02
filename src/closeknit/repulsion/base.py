"""What an objective asks of the sums over all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from closeknit.kernels import Kernel

__all__ = ["PairSums", "Repulsion"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PairSums:
    """Sums over all m ≠ n, for every point n.

    Attributes
    ----------
    value : ndarray of shape (n_samples,)
        Σ w K(t).
    slope : ndarray of shape (n_samples,) or None
        Σ w K'(t).
    force : ndarray of shape (n_samples, n_components) or None
        Σ w K'(t) (x_n − x_m).
    curvature : ndarray of shape (n_samples, n_components) or None
        Σ w K''(t) (x_n − x_m)², coordinate by coordinate.
    """

    value: Array
    slope: Array | None = None
    force: Array | None = None
    curvature: Array | None = None


class Repulsion(Protocol):
    """A way to sum a kernel over all pairs."""

    def values(self, X: Array, kernel: Kernel) -> Array:
        """Σ_m K(‖x_n − x_m‖²) for every n."""
        ...

    def sums(self, X: Array, kernel: Kernel) -> PairSums:
        """Values, slopes and forces for every n."""
        ...
