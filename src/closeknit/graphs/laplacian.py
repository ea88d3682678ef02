"""Graph Laplacians."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["laplacian"]


def laplacian(W: Any) -> Any:
    """L = D − W, where D holds the sums of the rows of W.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n_samples, n_samples)
        Symmetric weights; the diagonal cancels.

    Returns
    -------
    csr_matrix
        Positive semidefinite if the weights are not negative.

    Examples
    --------
    >>> from closeknit.graphs import laplacian
    >>> laplacian([[0, 2], [2, 0]]).toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    W = sparse.csr_matrix(W, dtype=np.float64)
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"laplacian needs a square matrix, got shape {W.shape}")
    degrees = np.asarray(W.sum(axis=1)).ravel()
    return sparse.csr_matrix(sparse.diags(degrees) - W)
