"""Products whose bits do not depend on the number of threads.

Inner products do without BLAS: threaded BLAS gives other last digits for other numbers of threads,
and on a busy machine its threads wait for each other far longer than the product takes.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.linalg.csr import Array

__all__ = ["inner", "multiply", "norm"]


def multiply(matrix: csr_matrix, X: Array, n_jobs: int | None = -1) -> Array:
    """Return matrix @ X for a square matrix of float64, the same bits for any number of threads.

    Parameters
    ----------
    matrix : csr_matrix of shape (n_samples, n_samples)
    X : ndarray of shape (n_samples, n_columns)
    n_jobs : int or None, default=-1

    Returns
    -------
    ndarray of shape (n_samples, n_columns)

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import multiply
    >>> multiply(csr_matrix([[0.0, 2.0], [1.0, 0.0]]), np.array([[1.0], [3.0]]))
    array([[6.],
           [1.]])
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = np.empty_like(X)
    threads = effective_n_jobs(n_jobs)
    _core.multiply(matrix.indptr, matrix.indices, matrix.data, X, out, threads)
    return out


def inner(a: Array, b: Array) -> float:
    """Return ⟨a, b⟩, the sum over all entries.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.linalg import inner
    >>> inner(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    11.0
    """
    return float(np.einsum("i,i->", a.ravel(), b.ravel()))


def norm(a: Array) -> float:
    """Return the Frobenius norm of a.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.linalg import norm
    >>> norm(np.array([[3.0, 4.0]]))
    5.0
    """
    return float(np.sqrt(inner(a, a)))
