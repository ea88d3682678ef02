"""From distributions, one per point, to one symmetric matrix of weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

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
        raise ValueError(f"symmetrize needs a square matrix, got shape {P.shape}")
    if not sparse.issparse(P):
        return 0.5 * (P + P.T)
    W = sparse.csr_matrix(P, dtype=np.float64)
    W = sparse.csr_matrix(W + W.T)
    W.data *= 0.5
    W.sort_indices()
    return W
