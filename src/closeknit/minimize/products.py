"""Sparse matrices times blocks of vectors, on all cores."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.minimize.problem import Array

__all__ = ["multiply"]


def multiply(matrix: csr_matrix, X: Array, n_jobs: int | None = -1) -> Array:
    """Return matrix @ X for a square matrix of float64, the same bits for any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.minimize.products import multiply
    >>> multiply(csr_matrix([[0.0, 2.0], [1.0, 0.0]]), np.array([[1.0], [3.0]]))
    array([[6.],
           [1.]])
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    out = np.empty_like(X)
    threads = effective_n_jobs(n_jobs)
    _core.multiply(matrix.indptr, matrix.indices, matrix.data, X, out, threads)
    return out
