"""A growing space of vectors, and the best approximations to eigenvectors in it.

Tall blocks are handled a few rows at a time, which stay in the cache, on several threads. The
pieces do not depend on the number of threads and their sums are added up in order, so neither do
the bits.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from closeknit._arrays import Array, Flags
from closeknit._threads import effective_n_jobs, single_threaded_blas

_ROWS = 1024  # handled at a time
_FEW = 16  # pieces that take less time than starting threads for them
_DEPENDENT = 1e-12  # share of a squared length below which a direction adds nothing

T = TypeVar("T")


class Subspace:
    """Approximate eigenvectors X of a symmetric matrix A, the steps they took last, and new ones.

    Parameters
    ----------
    X, AX : ndarray of shape (n_samples, size)
        Any independent vectors, and A times them.
    n_jobs : int or None, default=-1

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.linalg.subspace import Subspace
    >>> A, X = np.diag([1.0, 2.0, 9.0]), np.array([[1.0], [0.0], [1.0]])
    >>> space = Subspace(X, A @ X)
    >>> H, squares = space.residuals()
    >>> space.orthogonalize(H)
    >>> space.improve(H, A @ H, np.array([True]))
    >>> space.values
    array([1.])
    """

    values: Array

    def __init__(self, X: Array, AX: Array, n_jobs: int | None = -1) -> None:
        n, self._size = X.shape
        self._n_threads = effective_n_jobs(n_jobs)
        # Columns: X, the last steps, the new directions.
        self._basis = np.empty((n, 3 * self._size))
        self._images = np.empty_like(self._basis)
        self._n_steps = 0
        self._basis[:, : self._size], self._images[:, : self._size] = X, AX
        self._combine(self._size, np.zeros(self._size, dtype=bool))

    @property
    def vectors(self) -> Array:
        """The approximations, orthonormal, the smallest eigenvalue first."""
        return self._basis[:, : self._size].copy()

    def residuals(self) -> tuple[Array, Array]:
        """A X − X Λ, and the squared lengths of its columns."""
        size = self._size
        out = np.empty((len(self._basis), size))

        def subtract(rows: slice) -> Array:
            R = out[rows]
            np.multiply(self._basis[rows, :size], self.values, out=R)
            np.subtract(self._images[rows, :size], R, out=R)
            return np.einsum("ij,ij->j", R, R)

        return out, np.add.reduce(self._for_rows(subtract))

    def orthogonalize(self, H: Array) -> None:
        """Make `H` orthogonal to X and its columns of unit length, in place."""
        X = self._basis[:, : self._size]
        shares = np.add.reduce(self._for_rows(lambda rows: X[rows].T @ H[rows]))

        def subtract(rows: slice) -> Array:
            H[rows] -= X[rows] @ shares
            return np.einsum("ij,ij->j", H[rows], H[rows])

        lengths = np.sqrt(np.add.reduce(self._for_rows(subtract)))
        H /= np.where(lengths > 0.0, lengths, 1.0)

    def improve(self, H: Array, AH: Array, active: Flags) -> None:
        """Find the best approximations in the span of X, the last steps and new directions.

        Parameters
        ----------
        H, AH : ndarray of shape (n_samples, n_new)
            The new directions, and A times them.
        active : ndarray of bool of shape (size,)
            The vectors whose steps are kept for the next call.
        """
        width = self._size + self._n_steps
        new = slice(width, width + H.shape[1])
        self._basis[:, new], self._images[:, new] = H, AH
        self._combine(new.stop, active)

    def _combine(self, width: int, active: Flags) -> None:
        size = self._size
        S, AS = self._basis[:, :width], self._images[:, :width]
        products = self._for_rows(
            lambda rows: np.stack([S[rows].T @ S[rows], S[rows].T @ AS[rows]])
        )
        gram, form = np.add.reduce(products)
        with single_threaded_blas():
            mix, self.values = _ritz(gram, form, size)
        self._n_steps = int(np.count_nonzero(active))
        steps = slice(size, size + self._n_steps)

        def update(rows: slice) -> None:
            for block in (self._basis[rows], self._images[rows]):
                step = block[:, size:width] @ mix[size:]
                block[:, :size] = block[:, :size] @ mix[:size] + step
                block[:, steps] = step[:, active]

        self._for_rows(update)

    def _for_rows(self, work: Callable[[slice], T]) -> list[T]:
        n = len(self._basis)
        pieces = [slice(begin, min(begin + _ROWS, n)) for begin in range(0, n, _ROWS)]
        with single_threaded_blas():
            if self._n_threads == 1 or len(pieces) < _FEW:
                return [work(rows) for rows in pieces]
            with ThreadPoolExecutor(self._n_threads) as pool:
                return list(pool.map(work, pieces))


def _ritz(gram: Array, form: Array, size: int) -> Any:
    """Orthonormal combinations of a basis that minimise vᵀAv, and these minima.

    The basis need not be orthogonal; nearly dependent directions are left out.
    """
    lengths = np.sqrt(np.diag(gram))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
    squares, directions = np.linalg.eigh(scale[:, None] * gram * scale)
    keep = squares > _DEPENDENT * squares[-1]
    to_orthonormal = scale[:, None] * directions[:, keep] / np.sqrt(squares[keep])
    reduced = to_orthonormal.T @ form @ to_orthonormal
    values, mix = np.linalg.eigh(0.5 * (reduced + reduced.T))
    return to_orthonormal @ mix[:, :size], values[:size]
