"""Every pair, one by one: O(n²) work, O(n) memory, any number of components."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.kernels import Kernel
from closeknit.repulsion.base import PairSums

__all__ = ["ExactRepulsion"]

Array = NDArray[np.float64]


class _Want(IntEnum):
    """What a pass sums up."""

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

    def values(self, X: Array, kernel: Kernel) -> Array:
        """Σ_m w K for every n."""
        return self._run(X, kernel, _Want.VALUE).value

    def sums(self, X: Array, kernel: Kernel, point_weights: Array | None = None) -> PairSums:
        """Values, slopes and forces for every n; `point_weights` multiply the sums' terms."""
        return self._run(X, kernel, _Want.FORCE, point_weights)

    def curvatures(self, X: Array, kernel: Kernel, point_weights: Array | None = None) -> PairSums:
        """Values, slopes, forces and curvatures for every n."""
        return self._run(X, kernel, _Want.CURVATURE, point_weights)

    def curvature_product(
        self, X: Array, kernel: Kernel, V: Array, point_weights: Array | None = None
    ) -> Array:
        """Σ_m w K''(t) (x_n − x_m)² v_m, coordinate by coordinate."""
        product = self._run(X, kernel, _Want.PRODUCT, point_weights, vectors=V).curvature
        assert product is not None
        return product

    def cross_sums(self, queries: Array, X: Array, kernel: Kernel) -> PairSums:
        """Sums of each query over all points of `X`, for points outside the embedding."""
        return self._run(X, kernel, _Want.FORCE, queries=queries)

    def _run(
        self,
        X: Array,
        kernel: Kernel,
        want: _Want,
        point_weights: Array | None = None,
        *,
        vectors: Array | None = None,
        queries: Array | None = None,
    ) -> PairSums:
        X = np.ascontiguousarray(X, dtype=np.float64)
        at = X if queries is None else np.ascontiguousarray(queries, dtype=np.float64)
        check_shapes(at, X, point_weights, self.pair_weights, vectors)
        n = len(at)
        forces = want in (_Want.FORCE, _Want.CURVATURE)
        value = np.empty(n)
        slope = np.empty(n) if forces else None
        force = np.empty(at.shape) if forces else None
        curvature = np.empty(at.shape) if want in (_Want.CURVATURE, _Want.PRODUCT) else None
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
            slope,
            force,
            curvature,
            effective_n_jobs(self.n_jobs),
        )
        return PairSums(value, slope, force, curvature)


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
