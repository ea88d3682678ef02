"""The strongest edges of each point, for a factor that only has to be near the whole graph's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.linalg.csr import canonical

__all__ = ["keep_strongest", "strongest_entries", "take_entries", "thin"]

#: The factor of a graph of ten neighbours takes about a tenth of the time that one of 90 takes
#: (benchmarks/results/factors.md).
N_NEIGHBORS = 10


def keep_strongest(
    weights: csr_matrix, n_neighbors: int | None, n_jobs: int | None = None
) -> csr_matrix:
    """Keep each edge that is among the κ largest weights of either end; None keeps all.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric; not changed.
    n_neighbors : int or None
        κ. Of equal weights the neighbours of lower number are kept.
    n_jobs : int or None, default=None

    Returns
    -------
    csr_matrix
    """
    weights = canonical(weights, dtype=None)
    return take_entries(weights, strongest_entries(weights, n_neighbors, n_jobs))


def strongest_entries(
    weights: csr_matrix, n_neighbors: int | None, n_jobs: int | None = None
) -> NDArray[np.intp] | None:
    """Return where the edges to keep are stored, or None for all."""
    if n_neighbors is None or n_neighbors >= weights.shape[0] - 1:
        return None
    keep = np.empty(weights.nnz, dtype=np.uint8)
    threads = effective_n_jobs(n_jobs)
    alone = _core.mark_strongest(_core.Graph(weights), n_neighbors, keep, threads)
    if alone >= 0:
        raise ValueError(f"weights must be symmetric, but row {alone} is not as its column")
    return np.flatnonzero(keep)


def take_entries(weights: csr_matrix, positions: NDArray[np.intp] | None) -> csr_matrix:
    """Return the matrix, in double precision, of the entries that are stored at some positions."""
    if positions is None:
        return weights.astype(np.float64, copy=False)
    indptr = np.searchsorted(positions, weights.indptr).astype(weights.indptr.dtype)
    return csr_matrix(
        (weights.data[positions].astype(np.float64), weights.indices[positions], indptr),
        shape=weights.shape,
    )


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
    >>> from closeknit.linalg import thin
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
