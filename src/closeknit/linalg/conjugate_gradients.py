"""Linear conjugate gradients for several right-hand sides at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from closeknit._arrays import Array


def conjugate_gradients(
    apply: Callable[[Array], Array],
    rhs: Array,
    start: Array,
    tol: float,
    max_iter: int,
    *,
    precondition: Callable[[Array], Array] | None = None,
    patience: int | None = None,
) -> tuple[Array, int]:
    """Solve B·X = rhs, each column on its own.

    Parameters
    ----------
    apply : callable
        V ↦ B·V for a symmetric positive (semi)definite B.
    rhs, start : ndarray of shape (n_samples, n_columns)
        Not changed.
    tol : float
        A column is solved when its residual is at most this share of its right-hand side.
    max_iter : int
    precondition : callable, optional
        Applies a symmetric positive definite matrix near B⁻¹.
    patience : int, optional
        Stop after this many iterations without a smaller residual, as happens at the limit of
        rounding; None goes on.

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns)
    n_iter : int

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.linalg import conjugate_gradients
    >>> B = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> conjugate_gradients(lambda V: B @ V, np.ones((2, 1)), np.zeros((2, 1)), 1e-8, 10)
    (array([[0.33333333],
           [0.33333333]]), 1)
    """
    X = start.copy()
    residual = rhs - apply(X)
    target = tol * _lengths(rhs)
    conditioned = residual if precondition is None else precondition(residual)
    towards, square = conditioned.copy(), _dots(residual, conditioned)
    least, stalled = np.inf, 0
    for n_iter in range(max_iter):
        lengths = _lengths(residual)
        excess = float(np.where(lengths > target, _ratio(lengths, target, np.inf), 0.0).max())
        stalled = 0 if excess < least else stalled + 1
        least = min(least, excess)
        if excess <= 1.0 or stalled == patience:
            return X, n_iter
        image = apply(towards)
        curvature = _dots(towards, image)
        if not (curvature > 0.0).any():  # rounding, or a B that is not positive definite
            return X, n_iter
        step = _ratio(square, curvature)
        X += step * towards
        residual -= step * image
        conditioned = residual if precondition is None else precondition(residual)
        before, square = square, _dots(residual, conditioned)
        towards = conditioned + _ratio(square, before) * towards
    return X, max_iter


def _dots(A: Array, B: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->j", A, B))


def _lengths(A: Array) -> Array:
    return np.sqrt(_dots(A, A))


def _ratio(a: Array, b: Array, otherwise: float = 0.0) -> Array:
    """a/b, and something else where b is not positive, as in columns that are solved already."""
    return np.divide(a, b, out=np.full_like(a, otherwise), where=b > 0.0)
