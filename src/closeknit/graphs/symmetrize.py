"""From distributions, one per point, to one symmetric matrix of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.linalg import canonical

__all__ = ["symmetrize"]


def symmetrize(P: Any) -> Any:
    """Average a matrix with its transpose: (P + Pᵀ) / 2.

    Parameters
    ----------
    P : sparse matrix or array-like of shape (n_samples, n_samples)
        Not changed.

    Returns
    -------
    csr_matrix or ndarray
        Sparse if `P` is. If rows of `P` sum to 1, all entries sum to n_samples.

    Examples
    --------
    >>> from closeknit.graphs import symmetrize
    >>> symmetrize([[0.0, 1.0], [0.5, 0.0]])
    array([[0.  , 0.75],
           [0.75, 0.  ]])
    """
    if not sparse.issparse(P):
        P = np.asarray(P, dtype=np.float64)
        if P.ndim != 2 or P.shape[0] != P.shape[1]:
            raise ValueError(f"a graph must be square, got shape {P.shape}")
        return 0.5 * (P + P.T)
    P = canonical(P, name="a graph")
    T = P.T.tocsr()  # its rows are sorted
    n, threads = P.shape[0], effective_n_jobs(-1)
    rows = (P.indptr, P.indices, P.data, T.indptr, T.indices, T.data)
    counts = np.empty(n, dtype=P.indptr.dtype)
    _core.merged_counts(*rows, counts, threads)
    total = int(counts.sum(dtype=np.int64))
    if total > np.iinfo(P.indices.dtype).max:
        return sparse.csr_matrix(0.5 * (P + T))  # SciPy widens the indices
    indptr = np.zeros(n + 1, dtype=P.indptr.dtype)
    np.cumsum(counts, out=indptr[1:])
    indices, data = np.empty(total, dtype=P.indices.dtype), np.empty(total)
    _core.merged_mean(*rows, indptr, indices, data, threads)
    return sparse.csr_matrix((data, indices, indptr), shape=P.shape)
