"""Checks of attractive weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["check_square", "check_weights"]


def check_square(weights: Any) -> Any:
    """Return weights as a CSR matrix of float64 without diagonal and without doubled entries.

    Parameters
    ----------
    weights : sparse matrix or array-like of shape (n_samples, n_samples)
        Finite and non-negative.

    Returns
    -------
    csr_matrix
        A matrix of its own; the input is not changed.
    """
    W = sparse.csr_matrix(weights, dtype=np.float64, copy=True)
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"affinities must be square, got shape {W.shape}")
    W.sum_duplicates()
    if not np.isfinite(W.data).all():
        raise ValueError("affinities contain NaN or infinite values; check the data")
    if (W.data < 0.0).any():
        raise ValueError("affinities must not be negative")
    W.setdiag(0.0)
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
        A matrix of its own; the input is not changed.
    """
    W = check_square(weights)
    asymmetry = abs(W - W.T)
    if asymmetry.nnz and asymmetry.max() > 1e-10 * W.data.max():
        raise ValueError(
            "affinities must be symmetric; use closeknit.graphs.symmetrize(P) for a matrix whose "
            "rows are distributions"
        )
    return W
