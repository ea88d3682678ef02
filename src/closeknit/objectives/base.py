"""E(X; λ) = E⁺(X) + λ E⁻(X): what all models share (section 1 of the partial-Hessian paper).

A model is a graph of attractive weights, a kernel and a way to combine the kernel's sums over all
pairs into E⁻. It states its value and gradient, and the parts of its Hessian that the
partial-Hessian strategies use; the minimiser sees it at a fixed λ through :meth:`Objective.at`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from closeknit.kernels import Kernel
from closeknit.linalg import check_symmetric, with_data
from closeknit.objectives.attraction import Attraction
from closeknit.repulsion import ExactRepulsion, PairSums, Repulsion

__all__ = ["AtLambda", "Objective", "Value"]

Array = NDArray[np.float64]


class Value(float):
    """E = E⁺ + λE⁻, a number that knows its parts.

    Histories keep the parts, so that E can be shown at one λ when λ has changed on the way.

    Parameters
    ----------
    value : float
    attractive, repulsive : float, default=NaN

    Examples
    --------
    >>> from closeknit.objectives import Value
    >>> E = Value(3.0, attractive=1.0, repulsive=4.0)
    >>> E + 1, E.attractive, E.repulsive
    (4.0, 1.0, 4.0)
    """

    attractive: float
    repulsive: float

    def __new__(  # noqa: D102
        cls, value: float, attractive: float = float("nan"), repulsive: float = float("nan")
    ) -> Self:
        self = super().__new__(cls, value)
        self.attractive = attractive
        self.repulsive = repulsive
        return self


class Objective(ABC):
    """An embedding model.

    Parameters
    ----------
    affinities : sparse matrix or array of shape (n_samples, n_samples)
        Attractive weights: symmetric, non-negative; the diagonal is ignored.
    repulsion : Repulsion or None, default=None
        How the kernel is summed over all pairs; None means every pair, exactly.
    n_jobs : int or None, default=-1
        Number of threads.
    check : bool, default=True
        Whether to look for what is wrong with the affinities. With False they must be a symmetric
        CSR matrix in canonical format without diagonal.

    Notes
    -----
    Weights are kept, and summed, in the precision of the repulsion.
    """

    kernel: Kernel

    def __init__(
        self,
        affinities: Any,
        *,
        repulsion: Repulsion | None = None,
        n_jobs: int | None = -1,
        check: bool = True,
    ):
        W = check_symmetric(affinities) if check else affinities
        self.repulsion: Repulsion = ExactRepulsion(n_jobs) if repulsion is None else repulsion
        self.weights: csr_matrix = with_data(W, self._scaled(W.data, self.repulsion.dtype))
        self.attraction = Attraction(self.weights, self.kernel, n_jobs)

    def _scaled(self, data: Array, dtype: type[np.floating]) -> NDArray[Any]:
        """Attractive weights from affinities, in the precision of the repulsion."""
        return data.astype(dtype, copy=False)

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return int(self.weights.shape[0])

    @abstractmethod
    def repulsive_value(self, sums: Array) -> float:
        """E⁻ from every point's Σ_m K."""

    @abstractmethod
    def repulsive_force(self, X: Array, sums: PairSums) -> Array:
        """A quarter of E⁻'s gradient."""

    @abstractmethod
    def repulsive_diagonal(self, X: Array) -> Array:
        """Diagonal of E⁻'s Hessian."""

    @abstractmethod
    def repulsive_blocks(self, X: Array) -> Callable[[Array], Array]:
        """V → 8 L^xx V, the positive semidefinite diagonal blocks of E⁻'s Hessian."""

    @abstractmethod
    def new_point_repulsion(self, X: Array, lam: float) -> float:
        """Weight of Σ_m K(‖x − x_m‖²) for a new point x whose attractive weights sum to 1."""

    def value(self, X: Array, lam: float) -> float:
        """E(X; λ)."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        sums = self.repulsion.values(X, self.kernel)
        return self.attraction.value(X) + lam * self.repulsive_value(sums)

    def value_and_gradient(self, X: Array, lam: float) -> tuple[Value, Array]:
        """E(X; λ) and its gradient 4 L X."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        attractive, force = self.attraction.value_and_force(X)
        sums = self.repulsion.sums(X, self.kernel)
        repulsive = self.repulsive_value(sums.value)
        value = Value(attractive + lam * repulsive, attractive, repulsive)
        return value, 4.0 * (force + lam * self.repulsive_force(X, sums))

    def at(self, lam: float) -> AtLambda:
        """Return the model at a fixed λ, as the minimiser wants it."""
        return AtLambda(self, lam)


@dataclass(frozen=True)
class AtLambda:
    """An objective with its λ: a function of X alone."""

    objective: Objective
    lam: float

    def value(self, X: Array) -> float:
        """E(X)."""
        return self.objective.value(X, self.lam)

    def value_and_gradient(self, X: Array) -> tuple[Value, Array]:
        """E(X) and its gradient."""
        return self.objective.value_and_gradient(X, self.lam)

    def attractive_weights(self, X: Array) -> csr_matrix:
        """Weights of the attractive Laplacian L⁺ at `X`."""
        return self.objective.attraction.laplacian_weights(np.ascontiguousarray(X))

    def hessian_diagonal(self, X: Array) -> Array:
        """Diagonal of the Hessian."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        attractive = self.objective.attraction.hessian_diagonal(X)
        return attractive + self.lam * self.objective.repulsive_diagonal(X)

    def repulsive_curvature(self, X: Array) -> Callable[[Array], Array]:
        """V → 8 λ L^xx V, block by block."""
        product = self.objective.repulsive_blocks(np.ascontiguousarray(X, dtype=np.float64))
        return lambda V: self.lam * product(V)
