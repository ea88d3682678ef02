"""Checks of attractive weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["check_square", "check_weights", "with_data"]


def check_square(weights: Any) -> Any:
    """Return weights as a CSR matrix of float64 without diagonal, zeros and doubled entries.

    Parameters
    ----------
    weights : sparse matrix or array-like of shape (n_samples, n_samples)
        Finite and non-negative.

    Returns
    -------
    csr_matrix
        It shares its arrays with the input where that is in order already, and must not be changed.
    """
    W = sparse.csr_matrix(weights, dtype=np.float64)
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"affinities must be square, got shape {W.shape}")
    if not W.has_canonical_format:
        W = W.copy()
        W.sum_duplicates()
    if not np.isfinite(W.data).all():
        raise ValueError("affinities contain NaN or infinite values; check the data")
    if (W.data < 0.0).any():
        raise ValueError("affinities must not be negative")
    if W.diagonal().any():
        W = W.copy()
        W.setdiag(0.0)
    if not W.data.all():
        W = W.copy()
        W.eliminate_zeros()
    return W


def check_weights(weights: Any) -> Any:
    """Return symmetric weights as :func:`check_square` does, or say what is wrong with them.

    Parameters
    ----------
    weights : sparse matrix or array-like of shape (n_samples, n_samples)
        Symmetric up to rounding and non-negative.

    Returns
    -------
    csr_matrix
        It may share its arrays with the input, and must not be changed.
    """
    W = check_square(weights)
    if W.nnz and _asymmetry(W) > 1e-10 * W.data.max():
        raise ValueError(
            "affinities must be symmetric; use closeknit.graphs.symmetrize(P) for a matrix whose "
            "rows are distributions"
        )
    return W


def _asymmetry(W: Any) -> float:
    """Return the largest |w_nm − w_mn|."""
    T = W.T.tocsr()
    if np.array_equal(W.indptr, T.indptr) and np.array_equal(W.indices, T.indices):
        T.data -= W.data
        return float(np.abs(T.data, out=T.data).max())
    return float(abs(W - T).max())


def with_data(W: Any, data: Any) -> Any:
    """Return a matrix with the pattern of W, sharing it, and other entries."""
    return sparse.csr_matrix((data, W.indices, W.indptr), shape=W.shape)
