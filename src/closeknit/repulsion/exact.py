"""The protocol of sums over all pairs, and the exact sums.

Exact sums take O(n²) work and O(n) memory, in any number of components.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from closeknit import _core
from closeknit._arrays import Array
from closeknit._threads import effective_n_jobs
from closeknit.kernels import Kernel
from closeknit.linalg import real_array

if TYPE_CHECKING:
    from closeknit.repulsion._potential import Potential


@dataclass(frozen=True)
class PairSums:
    """Sums over all m ≠ n, for every point n.

    Attributes
    ----------
    value : ndarray of shape (n_samples,)
        Σ w K(t).
    force : ndarray of shape (n_samples, n_components)
        Σ w K'(t) (x_n − x_m).

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.kernels import GAUSSIAN
    >>> from closeknit.repulsion import ExactRepulsion
    >>> sums = ExactRepulsion().sums(np.array([[0.0], [1.0]]), GAUSSIAN)
    >>> sums.value.round(3), sums.force.round(3).ravel()
    (array([0.368, 0.368]), array([ 0.368, -0.368]))
    """

    value: Array
    force: Array


@dataclass(frozen=True)
class CurvatureSums(PairSums):
    """The sums that the Hessian needs as well.

    Attributes
    ----------
    value, force
        As in :class:`PairSums`.
    slope : ndarray of shape (n_samples,)
        Σ w K'(t).
    curvature : ndarray of shape (n_samples, n_components)
        Σ w K''(t) (x_n − x_m)², coordinate by coordinate.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.kernels import GAUSSIAN
    >>> from closeknit.repulsion import ExactRepulsion
    >>> ExactRepulsion().curvatures(np.array([[0.0], [1.0]]), GAUSSIAN).slope.round(3)
    array([-0.368, -0.368])
    """

    slope: Array
    curvature: Array


@dataclass(frozen=True)
class Wanted:
    """The sums that are wanted: of which terms with which weights, and at which places.

    Attributes
    ----------
    point_weights : ndarray of shape (n_samples,) or None
        What multiplies the terms of point m.
    vectors : ndarray of shape (n_samples, n_components) or None
        What multiplies its terms of the curvature, coordinate by coordinate.
    queries : ndarray of shape (n_queries, n_components) or None
        Places outside the embedding; None sums for each point over all others.
    forces, curvatures : bool
    """

    point_weights: Array | None = None
    vectors: Array | None = None
    queries: Array | None = None
    forces: bool = False
    curvatures: bool = False


class Repulsion(ABC):
    """A way to sum a kernel over all pairs; the sums for the Hessian are exact in all of them.

    Attributes
    ----------
    is_exact : bool
        Whether every pair is summed, without approximation.
    dtype : type
        The precision that suits the accuracy of the sums, for attractive weights, too.
    pair_weights : ndarray of shape (n_samples, n_samples) or None
        Weights w_nm of the pairs; None means ones.

    Examples
    --------
    >>> from closeknit.repulsion import ExactRepulsion, GridRepulsion
    >>> ExactRepulsion().is_exact, GridRepulsion().is_exact
    (True, False)
    """

    is_exact: bool = True
    dtype: type[np.float32] | type[np.float64] = np.float64
    pair_weights: Array | None = None
    n_jobs: int | None = -1

    @property
    def is_weighted(self) -> bool:
        """Whether pairs have weights of their own, so that the points' numbers matter."""
        return self.pair_weights is not None

    def total_weight(self, n: int) -> float:
        """Σ w over all ordered pairs of n points."""
        return float(n * (n - 1) if self.pair_weights is None else self.pair_weights.sum())

    @abstractmethod
    def values(self, X: Array, kernel: Kernel) -> Array:
        """Σ_m w K(‖x_n − x_m‖²) for every n."""

    @abstractmethod
    def sums(self, X: Array, kernel: Kernel, point_weights: Array | None = None) -> PairSums:
        """Values and forces for every n; `point_weights` multiply the terms of point m."""

    def curvatures(
        self, X: Array, kernel: Kernel, point_weights: Array | None = None
    ) -> CurvatureSums:
        """Values, forces, slopes and curvatures for every n."""
        return self._sum_pairs(X, kernel, Wanted(point_weights, forces=True, curvatures=True))

    def curvature_product(
        self, X: Array, kernel: Kernel, V: Array, point_weights: Array | None = None
    ) -> Array:
        """Σ_m w K''(t) (x_n − x_m)² v_m, coordinate by coordinate."""
        wanted = Wanted(point_weights, vectors=np.ascontiguousarray(V), curvatures=True)
        return self._sum_pairs(X, kernel, wanted).curvature

    def potential(self, X: Array, kernel: Kernel) -> Potential | None:
        """Return x ↦ Σ_m K(‖x − x_m‖²) as an object to be read anywhere; None if that is summed."""
        return None

    def _sum_pairs(self, X: Array, kernel: Kernel, wanted: Wanted) -> CurvatureSums:
        """Sum over every pair; what is not wanted is None."""
        X, queries = check_positions(X), wanted.queries
        if queries is not None:
            queries = check_positions(queries)
        at = X if queries is None else queries
        forces, curvatures = wanted.forces, wanted.curvatures
        value = np.empty(len(at))
        force: Any = np.empty(at.shape) if forces else None
        curvature: Any = np.empty(at.shape) if curvatures else None
        slope: Any = np.empty(len(at)) if forces and curvatures else None
        pairs = _core.Pairs(X, queries, wanted.point_weights, self.pair_weights, wanted.vectors)
        threads = effective_n_jobs(self.n_jobs)
        _core.sum_all_pairs(pairs, kernel.code, value, slope, force, curvature, threads)
        return CurvatureSums(value, force, slope, curvature)


def check_positions(X: Any) -> Array:
    """Return positions as the compiled core takes them; NaN may be among them."""
    if type(X) is not np.ndarray or X.dtype != np.float64:  # as those of a minimiser are
        X = real_array(X, "X")
    if X.ndim != 2:
        raise ValueError(f"X must have shape (n_samples, n_components), got {X.shape}")
    return np.ascontiguousarray(X)


@dataclass(frozen=True)
class ExactRepulsion(Repulsion):
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
        return self._sum_pairs(X, kernel, Wanted()).value

    def sums(self, X: Array, kernel: Kernel, point_weights: Array | None = None) -> PairSums:
        """Values and forces for every n; `point_weights` multiply the terms of point m."""
        return self._sum_pairs(X, kernel, Wanted(point_weights, forces=True))

    def cross_sums(
        self, queries: Array, X: Array, kernel: Kernel, point_weights: Array | None = None
    ) -> PairSums:
        """Sums of each query over all points of `X`, for points outside the embedding."""
        return self._sum_pairs(X, kernel, Wanted(point_weights, queries=queries, forces=True))
