"""Fewer edges for a factor that only has to be near the whole graph's."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from closeknit.minimize.attractive import keep_strongest

__all__ = ["thin"]

#: The factor of a graph of ten neighbours takes about a tenth of the time that one of 90 takes
#: (benchmarks/results/factors.md).
N_NEIGHBORS = 10


def thin(
    weights: csr_matrix, n_neighbors: int = N_NEIGHBORS, *, n_jobs: int | None = None
) -> csr_matrix:
    """Keep the strongest edges of each point, and all edges between the pieces they leave.

    The graph falls into the same connected components as before, so that its Laplacian is singular
    where the whole graph's is and nowhere else: it can stand in for it as a preconditioner.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric and not negative.
    n_neighbors : int, default=10
        Edges that each point keeps at least.
    n_jobs : int or None, default=None

    Returns
    -------
    csr_matrix
        A new matrix, or `weights` itself if nothing can be left out.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.minimize.thinning import thin
    >>> square = csr_matrix([[0, 9, 0, 1], [9, 0, 1, 0], [0, 1, 0, 9], [1, 0, 9, 0]])
    >>> thin(square, n_neighbors=1).nnz  # two strong pairs, held together by the weak edges
    8
    """
    kept = keep_strongest(weights, n_neighbors, n_jobs)
    if kept.nnz == weights.nnz:
        return weights
    _, piece = connected_components(kept, directed=False)
    row = np.repeat(piece, np.diff(weights.indptr))
    between = row != piece[weights.indices]
    if not between.any():
        return kept
    pointers = np.concatenate([[0], np.cumsum(between)])[weights.indptr]
    bridges = csr_matrix(
        (weights.data[between], weights.indices[between], pointers), shape=weights.shape
    )
    return csr_matrix(kept + bridges)  # no edge is in both
