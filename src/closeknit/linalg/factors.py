"""Linear systems with a symmetric positive definite matrix: factorise once, solve often.

Exact factors are made by :func:`factorize`; for Laplacians of many points there is
:class:`ApproximateCholesky`.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import splu

from closeknit._arrays import Array
from closeknit._threads import single_threaded_blas

_TOO_LARGE = (
    "factorising the Laplacian of {n} points needs {needs}; keep fewer neighbours, as in "
    "SpectralDirection(n_neighbors=7), or take solver='approximate'"
)


class Factor(Protocol):
    """A factorised matrix B.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import identity
    >>> from closeknit.linalg import Factor, factorize
    >>> factor: Factor = factorize(2.0 * identity(2, format="csr"), "dense")
    >>> factor.solve(np.ones((2, 1)))
    array([[0.5],
           [0.5]])
    """

    def solve(self, rhs: Array) -> Array:
        """Return B⁻¹·rhs for all columns of rhs, of shape (n_samples, n_columns)."""
        ...


class DiagonalFactor:
    """A matrix without off-diagonal entries."""

    def __init__(self, matrix: csr_matrix) -> None:
        self._diagonal = matrix.diagonal()[:, None]
        if not (self._diagonal > 0.0).all():
            raise LinAlgError("the diagonal is not positive")

    def solve(self, rhs: Array) -> Array:
        """Divide."""
        return rhs / self._diagonal


class DenseCholesky:
    """Cholesky's factorisation of the full array."""

    def __init__(self, matrix: csr_matrix) -> None:
        n = matrix.shape[0]
        _check_memory(n, 8 * n * n)
        # Fortran order lets LAPACK work in place: one n × n array in all.
        with single_threaded_blas():
            self._factor = cho_factor(
                matrix.toarray(order="F"), lower=True, overwrite_a=True, check_finite=False
            )

    def solve(self, rhs: Array) -> Array:
        """Two triangular solves."""
        with single_threaded_blas():
            return cho_solve(self._factor, rhs, check_finite=False)


class SparseFactor:
    """SuperLU in symmetric mode: pivots from the diagonal, in a minimum-degree order."""

    def __init__(self, matrix: csr_matrix) -> None:
        n = matrix.shape[0]
        _check_memory(n, 24 * matrix.nnz)  # L and U, before any fill
        try:
            with single_threaded_blas():
                self._factor = splu(
                    matrix.tocsc(),
                    permc_spec="MMD_AT_PLUS_A",
                    diag_pivot_thresh=0.0,
                    options={"SymmetricMode": True},
                )
        except MemoryError as error:
            needs = "more memory than there is"
            raise MemoryError(_TOO_LARGE.format(n=n, needs=needs)) from error
        except RuntimeError as error:  # what SuperLU raises for a zero pivot
            raise LinAlgError(str(error)) from error

    def solve(self, rhs: Array) -> Array:
        """Two triangular solves."""
        with single_threaded_blas():
            return self._factor.solve(np.ascontiguousarray(rhs))


SOLVERS = ("auto", "dense", "sparse", "approximate")

#: Below this many points the dense factorisation is as fast as any (0.04 s, 1 ms per solve).
_SMALL = 1_000
#: With more entries per row than this, fill makes the sparse factor of a neighbour graph nearly
#: dense and five times slower to compute than LAPACK's (2,000 points in 10-d, 44 entries per row).
_FILLS = 40
#: Above this many points exact factors of a neighbour graph cost ten times the approximate one and
#: more, and so does each solve (benchmarks/factors.py).
_LARGE = 3_000
#: A graph with more than this share of all pairs is as well factorised as a full array.
_FULL = 1 / 8


def choose_solver(n: int, nnz: int) -> str:
    """Return what ``solver="auto"`` means for the Laplacian of a graph.

    Parameters
    ----------
    n : int
        Number of points.
    nnz : int
        Stored entries of the matrix.

    Returns
    -------
    {"dense", "sparse", "approximate"}

    Examples
    --------
    >>> from closeknit.linalg import choose_solver
    >>> choose_solver(500, 5_500), choose_solver(2_000, 22_000), choose_solver(70_000, 770_000)
    ('dense', 'sparse', 'approximate')
    """
    if n <= _SMALL or nnz > _FULL * n * n:
        return "dense"
    if n > _LARGE:
        return "approximate"
    return "dense" if nnz > _FILLS * n else "sparse"


def factorize(matrix: csr_matrix, solver: str) -> Factor:
    """Factorise a symmetric positive definite matrix.

    Parameters
    ----------
    matrix : csr_matrix of shape (n_samples, n_samples)
    solver : {"dense", "sparse"}
        A matrix without off-diagonal entries needs neither, and gets neither.

    Returns
    -------
    Factor
        Its ``solve(rhs)`` takes all columns at once.

    Raises
    ------
    MemoryError
        If the factor would not fit.
    scipy.linalg.LinAlgError
        If the matrix is not numerically positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import factorize
    >>> factorize(csr_matrix([[2.0, 1.0], [1.0, 4.0]]), "dense").solve(np.ones((2, 1)))
    array([[0.42857143],
           [0.14285714]])
    """
    if matrix.nnz == np.count_nonzero(matrix.diagonal()):
        return DiagonalFactor(matrix)
    return DenseCholesky(matrix) if solver == "dense" else SparseFactor(matrix)


def _check_memory(n: int, needed: int) -> None:
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # the system does not say
        return
    if needed > total:
        have = f"{needed / 2**30:.3g} GiB and this machine has {total / 2**30:.3g}"
        raise MemoryError(_TOO_LARGE.format(n=n, needs=have))
