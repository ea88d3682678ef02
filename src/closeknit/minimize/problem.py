"""What the minimiser sees of an objective, and the smallest complete example of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix

from closeknit._arrays import Array, Integers
from closeknit.linalg import canonical, take_entries


class Problem(Protocol):
    """A function E of positions X, float64 of shape (n_samples, n_components), at a fixed λ.

    A value and a gradient are all that gradient descent, conjugate gradients and L-BFGS need.
    Directions that use parts of the Hessian need a problem that offers them:
    :class:`AttractiveProblem`, :class:`DiagonalProblem` or :class:`CurvedProblem`. Methods must not
    change X, and may return the same object at every call.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.minimize import minimize
    >>> class Bowl:
    ...     def value_and_gradient(self, X):
    ...         return float(np.cosh(X).sum()), np.sinh(X)
    >>> minimize(Bowl(), [[1.0, -2.0]], "lbfgs").X.round(2) + 0.0
    array([[0., 0.]])
    >>> minimize(Bowl(), [[1.0, -2.0]], "spectral")
    Traceback (most recent call last):
        ...
    TypeError: SpectralDirection needs attractive weights; this problem offers value and gradient;
    use 'lbfgs'
    """

    def value_and_gradient(self, X: Array) -> tuple[float, Array]:
        """Return E(X) and its gradient, of X's shape.

        If the value has an attribute ``parts``, the pair (E⁺, E⁻), histories keep it.
        """
        ...


class AttractiveProblem(Problem, Protocol):
    """A problem that knows its attractive part.

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], "spectral").X.round(2)
    array([[1.2],
           [1.8]])
    """

    def attractive_weights(self, X: Array, entries: Integers | None = None) -> csr_matrix:
        """Return the weights of the attractive Laplacian L⁺ at X, so that ∇²E⁺ ≈ 4L⁺ ⊗ I.

        Symmetric, non-negative, with zero diagonal, in canonical format; constant for Gaussian
        kernels. With `entries`, only those stored at these positions, which are cheap if they are
        few; callers pass the same array again and again.
        """
        ...


class DiagonalProblem(Problem, Protocol):
    """A problem that knows the diagonal of its Hessian.

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], "diagonal-hessian").X.round(2)
    array([[1.2],
           [1.8]])
    """

    def hessian_diagonal(self, X: Array) -> Array:
        """Return the diagonal of the full Hessian, of X's shape."""
        ...


class CurvedProblem(AttractiveProblem, Protocol):
    """A problem that knows its attractive part and the curvature of its repulsive part.

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], "spectral-minus").X.round(2)
    array([[1.2],
           [1.8]])
    """

    def repulsive_curvature(self, X: Array) -> Callable[[Array], Array]:
        """Return V ↦ 8λ L^xx_{i·,i·} V, the positive semidefinite diagonal blocks at X."""
        ...


class Springs:
    """Points held to targets and to each other by springs: a convex quadratic, for examples.

    ``E(X) = Σ w_nm ‖x_n − x_m‖² + stiffness Σ ‖x_n − t_n‖²`` over ordered pairs, that is the
    attractive term of every Gaussian model with a ridge in place of the repulsion.

    Parameters
    ----------
    weights : array-like or sparse matrix of shape (n_samples, n_samples)
        Symmetric, non-negative, with zero diagonal.
    targets : array-like of shape (n_samples, n_components)
    stiffness : float, default=1.0

    Examples
    --------
    >>> from closeknit.minimize import Springs
    >>> springs = Springs([[0.0, 1.0], [1.0, 0.0]], targets=[[0.0], [3.0]])
    >>> springs.solution()
    array([[1.2],
           [1.8]])
    """

    def __init__(self, weights: ArrayLike, targets: ArrayLike, stiffness: float = 1.0) -> None:
        self.weights = canonical(weights)
        self.targets = np.asarray(targets, dtype=np.float64)
        self.stiffness = float(stiffness)
        self._degrees = np.asarray(self.weights.sum(axis=1))

    def _laplacian_times(self, X: Array) -> Array:
        return self._degrees * X - self.weights @ X

    def value(self, X: Array) -> float:
        """Return E(X)."""
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X: Array) -> tuple[float, Array]:
        """Return E(X) and its gradient 4L⁺X + 2·stiffness·(X − T)."""
        pulled, away = self._laplacian_times(X), X - self.targets
        value = 2.0 * np.vdot(X, pulled) + self.stiffness * np.vdot(away, away)
        return float(value), 4.0 * pulled + 2.0 * self.stiffness * away

    def attractive_weights(self, X: Array, entries: Integers | None = None) -> csr_matrix:
        """Return the weights, whatever X."""
        return self.weights if entries is None else take_entries(self.weights, entries)

    def hessian_diagonal(self, X: Array) -> Array:
        """Return the diagonal of the Hessian, constant."""
        return np.broadcast_to(4.0 * self._degrees + 2.0 * self.stiffness, X.shape)

    def repulsive_curvature(self, X: Array) -> Callable[[Array], Array]:
        """Return the curvature of the targets' springs."""
        return lambda V: 2.0 * self.stiffness * V

    def solution(self) -> Array:
        """Return the minimiser, by a dense solve."""
        laplacian = np.diagflat(self._degrees) - self.weights.toarray()
        hessian = 4.0 * laplacian + 2.0 * self.stiffness * np.eye(len(laplacian))
        return np.linalg.solve(hessian, 2.0 * self.stiffness * self.targets)
