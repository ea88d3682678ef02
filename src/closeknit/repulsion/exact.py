"""Every pair, one by one: O(n²) work, O(n) memory, any number of components."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

import numpy as np

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.kernels import Kernel
from closeknit.linalg import Array
from closeknit.repulsion._potential import Potential
from closeknit.repulsion.base import CurvatureSums, PairSums

__all__ = ["ExactRepulsion"]


class _Wanted(IntEnum):
    """What a pass over all pairs sums."""

    VALUE = 0
    FORCE = 1
    CURVATURE = 2
    PRODUCT = 3


@dataclass(frozen=True)
class ExactRepulsion:
    """Kernel sums over all pairs, in vectorised C++ on all threads.

    Parameters
    ----------
    n_jobs : int or None, default=-1
        Number of threads; sums are the same to the bit for any.
    pair_weights : ndarray of shape (n_samples, n_samples) or None, default=None
        Weights w_nm of the pairs (the elastic embedding's W⁻); None means ones.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.kernels import STUDENT
    >>> from closeknit.repulsion import ExactRepulsion
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    >>> ExactRepulsion().values(X, STUDENT)
    array([0.7       , 0.66666667, 0.36666667])
    """

    n_jobs: int | None = -1
    pair_weights: Array | None = None

    is_exact: ClassVar[bool] = True
    dtype: ClassVar[type[np.float64]] = np.float64

    def values(self, X: Array, kernel: Kernel) -> Array:
        """Σ_m w K for every n."""
        return self._run(X, kernel, _Wanted.VALUE)[0]

    def sums(self, X: Array, kernel: Kernel, point_weights: Array | None = None) -> PairSums:
        """Values and forces for every n; `point_weights` multiply the terms of point m."""
        value, _, force, _ = self._run(X, kernel, _Wanted.FORCE, point_weights)
        return PairSums(value, force)

    def curvatures(
        self, X: Array, kernel: Kernel, point_weights: Array | None = None
    ) -> CurvatureSums:
        """Values, forces, slopes and curvatures for every n."""
        value, slope, force, bend = self._run(X, kernel, _Wanted.CURVATURE, point_weights)
        return CurvatureSums(value, force, slope, bend)

    def curvature_product(
        self, X: Array, kernel: Kernel, V: Array, point_weights: Array | None = None
    ) -> Array:
        """Σ_m w K''(t) (x_n − x_m)² v_m, coordinate by coordinate."""
        return self._run(X, kernel, _Wanted.PRODUCT, point_weights, vectors=V)[3]

    def cross_sums(self, queries: Array, X: Array, kernel: Kernel) -> PairSums:
        """Sums of each query over all points of `X`, for points outside the embedding."""
        value, _, force, _ = self._run(X, kernel, _Wanted.FORCE, queries=queries)
        return PairSums(value, force)

    def potential(self, X: Array, kernel: Kernel) -> Potential | None:
        """None: sums at new places are taken over all points."""
        return None

    def _run(
        self,
        X: Array,
        kernel: Kernel,
        want: _Wanted,
        point_weights: Array | None = None,
        *,
        vectors: Array | None = None,
        queries: Array | None = None,
    ) -> tuple[Array, Array, Array, Array]:
        """Return values, slopes, forces and curvatures; what is not wanted is empty."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        at = X if queries is None else np.ascontiguousarray(queries, dtype=np.float64)
        check_shapes(at, X, point_weights, self.pair_weights, vectors)
        n = len(at)
        forces = want in (_Wanted.FORCE, _Wanted.CURVATURE)
        bends = want in (_Wanted.CURVATURE, _Wanted.PRODUCT)
        value = np.empty(n)
        slope = np.empty(n if want is _Wanted.CURVATURE else 0)
        force = np.empty(at.shape if forces else (0, 0))
        curvature = np.empty(at.shape if bends else (0, 0))
        pairs = _core.Pairs(
            X,
            None if queries is None else at,
            point_weights,
            self.pair_weights,
            None if vectors is None else np.ascontiguousarray(vectors),
        )
        _core.sum_all_pairs(
            pairs,
            kernel.code,
            value,
            slope if want is _Wanted.CURVATURE else None,
            force if forces else None,
            curvature if bends else None,
            effective_n_jobs(self.n_jobs),
        )
        return value, slope, force, curvature


def check_shapes(
    queries: Array,
    points: Array,
    point_weights: Array | None,
    pair_weights: Array | None,
    vectors: Array | None,
) -> None:
    """Complain about arrays that do not belong together."""
    if queries.ndim != 2 or points.ndim != 2 or queries.shape[1] != points.shape[1]:
        raise ValueError(
            "queries and points must have the same number of components, got shapes "
            f"{queries.shape} and {points.shape}"
        )
    expected = {
        "point_weights": (point_weights, (len(points),)),
        "pair_weights": (pair_weights, (len(queries), len(points))),
        "vectors": (vectors, points.shape),
    }
    for name, (array, shape) in expected.items():
        if array is not None and np.shape(array) != shape:
            raise ValueError(f"{name} must have shape {shape}, got {np.shape(array)}")
