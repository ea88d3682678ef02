"""An estimate of the error of forces, from exact ones on a few points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit._arrays import Array, Integers
from closeknit.kernels import Kernel
from closeknit.linalg import norm
from closeknit.repulsion.exact import ExactRepulsion

#: Points that are drawn, and points of the largest forces, whose errors may outweigh all others.
_DRAWN, _LARGEST = 16, 16


@dataclass(frozen=True)
class SampledError:
    """Exact forces on some points, the first few of them where they are largest."""

    some: Integers
    force: Array
    n_largest: int
    n_others: int

    @classmethod
    def of(
        cls, X: Array, kernel: Kernel, weights: Array | None, force: Array, n_jobs: int | None
    ) -> SampledError:
        """Choose the points by approximate forces, and sum over all pairs at them."""
        n = len(X)
        if n <= _DRAWN + _LARGEST:
            some, n_largest = np.arange(n), n
        else:
            sq_forces = np.einsum("ij,ij->i", force, force)
            by_force = np.argpartition(sq_forces, n - _LARGEST)[::-1]
            drawn = np.random.default_rng(0).integers(_LARGEST, n, size=_DRAWN)
            some, n_largest = by_force[np.concatenate([np.arange(_LARGEST), drawn])], _LARGEST
        exact = ExactRepulsion(n_jobs).cross_sums(X[some], X, kernel, weights)
        return cls(some, exact.force, n_largest, n - n_largest)

    def norm_of(self, force: Array) -> float:
        """Estimate the norm of the error of all forces."""
        error = force[self.some] - self.force
        largest, drawn = norm(error[: self.n_largest]), norm(error[self.n_largest :])
        return float(np.hypot(largest, drawn * np.sqrt(self.n_others / max(1, _DRAWN))))
