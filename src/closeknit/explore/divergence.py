"""The divergence of a map, point by point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from closeknit.linalg import entry_rows
from closeknit.objectives import Objective

__all__ = ["divergence_terms"]

Floats = NDArray[np.float32]
#: Edges whose terms are in memory at a time.
_CHUNK = 2**22


def divergence_terms(objective: Objective, Y: Floats) -> Floats:
    """Each point's term of KL(P‖Q), times the number of points: their mean is the divergence.

    Parameters
    ----------
    objective : Objective
        Of any model: its weights and its kernel, both divided by their sums, are P and Q.
    Y : ndarray of shape (n_samples, n_components)

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from closeknit.objectives import TSNE
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> terms = divergence_terms(TSNE(W), np.array([[0.0], [1.0], [2.0]]))
    >>> bool(terms[0] == terms[2]), round(float(terms.mean()), 4)
    (True, 0.1823)
    """
    W, kernel = objective.weights, objective.kernel
    X = np.ascontiguousarray(Y, dtype=np.float64)
    total = float(W.data.sum(dtype=np.float64))
    log_sum = float(np.log(objective.repulsion.values(X, kernel).sum()))
    terms, rows = np.zeros(len(X)), entry_rows(W)
    for start in range(0, W.nnz, _CHUNK):
        part = slice(start, start + _CHUNK)
        p = W.data[part].astype(np.float64) / total
        gap = X[rows[part]] - X[W.indices[part]]
        log_q = kernel.log(np.einsum("ij,ij->i", gap, gap)) - log_sum
        terms += np.bincount(rows[part], p * (np.log(p) - log_q), minlength=len(X))
    return (len(X) * terms).astype(np.float32)
