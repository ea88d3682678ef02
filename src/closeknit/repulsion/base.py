"""What an objective asks of the sums over all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from closeknit.kernels import Kernel
from closeknit.linalg import Array

if TYPE_CHECKING:
    from closeknit.repulsion._potential import Potential

__all__ = ["CurvatureSums", "PairSums", "Repulsion"]


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


class Repulsion(Protocol):
    """A way to sum a kernel over all pairs: what objectives and out-of-sample points need of it.

    Examples
    --------
    >>> from closeknit.repulsion import ExactRepulsion, GridRepulsion
    >>> ExactRepulsion().is_exact, GridRepulsion().is_exact
    (True, False)
    """

    @property
    def is_exact(self) -> bool:
        """Whether every pair is summed, without approximation."""
        ...

    @property
    def dtype(self) -> type[np.float32] | type[np.float64]:
        """The precision that suits the accuracy of the sums, for attractive weights, too."""
        ...

    def values(self, X: Array, kernel: Kernel) -> Array:
        """Σ_m K(‖x_n − x_m‖²) for every n."""
        ...

    def sums(self, X: Array, kernel: Kernel, point_weights: Array | None = None) -> PairSums:
        """Values and forces for every n; `point_weights` multiply the terms of point m."""
        ...

    def curvatures(
        self, X: Array, kernel: Kernel, point_weights: Array | None = None
    ) -> CurvatureSums:
        """Values, forces, slopes and curvatures for every n."""
        ...

    def curvature_product(
        self, X: Array, kernel: Kernel, V: Array, point_weights: Array | None = None
    ) -> Array:
        """Σ_m K''(t) (x_n − x_m)² v_m, coordinate by coordinate."""
        ...

    def potential(self, X: Array, kernel: Kernel) -> Potential | None:
        """Return x ↦ Σ_m K(‖x − x_m‖²) as an object to be read anywhere; None if that is summed."""
        ...
