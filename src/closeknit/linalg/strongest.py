"""The strongest edges of each point: a sparser graph whose factor is near the whole graph's."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from closeknit import _core
from closeknit._arrays import Integers
from closeknit._threads import effective_n_jobs
from closeknit.linalg.csr import canonical, core_graph, entry_rows

#: The factor of a graph of ten neighbours takes about a tenth of the time that one of 90 takes
#: (benchmarks/results/factors.md).
N_NEIGHBORS = 10


def strongest_entries(
    weights: csr_matrix, n_neighbors: int | None, n_jobs: int | None = None
) -> Integers | None:
    """Return where the edges among the κ largest weights of either end are stored, or None for all.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric, in canonical format.
    n_neighbors : int or None
        κ; None keeps all. Of equal weights the neighbours of lower number are kept.
    n_jobs : int or None, default=None

    Returns
    -------
    ndarray of int of shape (n_kept,), or None
        Positions in ``weights.data``, ascending.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import strongest_entries
    >>> strongest_entries(csr_matrix([[0.0, 9.0, 1.0], [9.0, 0.0, 5.0], [1.0, 5.0, 0.0]]), 1)
    array([0, 2, 3, 5])
    """
    if n_neighbors is None or n_neighbors >= weights.shape[0] - 1:
        return None
    keep = np.empty(weights.nnz, dtype=np.uint8)
    threads = effective_n_jobs(n_jobs)
    alone = _core.mark_strongest(core_graph(weights), n_neighbors, keep, threads)
    if alone >= 0:
        raise ValueError(
            f"weights must be symmetric, but row {alone} differs from column {alone}; "
            "use closeknit.graphs.symmetrize"
        )
    return np.flatnonzero(keep)


def take_entries(
    weights: csr_matrix, positions: Integers | None, dtype: DTypeLike = np.float64
) -> csr_matrix:
    """Return the matrix of the entries that are stored at some positions.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
    positions : ndarray of int or None
        As :func:`strongest_entries` returns them.
    dtype : dtype, default=float64
        Of the values.

    Returns
    -------
    csr_matrix

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import take_entries
    >>> take_entries(csr_matrix([[7.0, 9.0], [8.0, 0.0]]), np.array([0, 2])).toarray()
    array([[7., 0.],
           [8., 0.]])
    """
    if positions is None:
        return weights.astype(dtype, copy=False)
    indptr = np.searchsorted(positions, weights.indptr).astype(weights.indptr.dtype)
    return csr_matrix(
        (weights.data[positions].astype(dtype, copy=False), weights.indices[positions], indptr),
        shape=weights.shape,
    )


def thin(
    weights: csr_matrix, n_neighbors: int = N_NEIGHBORS, *, n_jobs: int | None = None
) -> csr_matrix:
    """Keep the strongest edges of each point, and all edges between the components they form.

    The result has the connected components of the whole graph, so that its Laplacian is singular
    where the whole graph's is and nowhere else, as a preconditioner must be.

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
        A new matrix, or `weights` itself if no edge can be dropped.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import thin
    >>> square = csr_matrix([[0, 9, 0, 1], [9, 0, 1, 0], [0, 1, 0, 9], [1, 0, 9, 0]])
    >>> thin(square, n_neighbors=1).nnz  # two strong pairs, connected by the weak edges
    8
    """
    positions = strongest_entries(canonical(weights), n_neighbors, n_jobs)
    if positions is None or len(positions) == weights.nnz:
        return weights
    kept = take_entries(weights, positions)
    _, piece = connected_components(kept, directed=False)
    between = np.flatnonzero(piece[entry_rows(weights)] != piece[weights.indices])
    if not len(between):
        return kept
    return csr_matrix(kept + take_entries(weights, between))  # no edge is in both
