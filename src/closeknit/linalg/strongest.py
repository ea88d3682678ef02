"""Few edges of each point, the strongest or a sample: graphs whose factors are near the whole's."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import effective_n_jobs
from closeknit.linalg.csr import check_weights, core_graph, entry_rows, with_data

#: The factor of a graph of ten neighbours takes about a tenth of the time that one of 90 takes
#: (benchmarks/results/factors.md).
N_NEIGHBORS = 10
#: What the core says of an entry that is among the strongest of its row.
_STRONGEST = 255


def strongest_entries(
    weights: csr_matrix, n_neighbors: int | None, n_jobs: int | None = -1
) -> Integers | None:
    """Return where the edges among the κ largest weights of either end are stored, or None for all.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric, in canonical format.
    n_neighbors : int or None
        κ; None keeps all. Of equal weights the neighbours of lower number are kept.
    n_jobs : int or None, default=-1

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
        raise _not_symmetric(alone)
    return np.flatnonzero(keep)


def sample_entries(
    weights: csr_matrix,
    n_neighbors: int | None,
    random_state: int = 0,
    n_jobs: int | None = -1,
) -> tuple[Integers, NDArray[np.float32]] | None:
    """Draw edges whose Laplacian is, on average, that of the whole graph; None stands for all.

    Each point keeps the stronger half of `n_neighbors` edges, and draws the other half among the
    rest, with probabilities proportional to weights; what it draws carries all the weight of that
    rest. The two ends of an edge are averaged. The strongest edges alone would lose what holds
    groups of points together: among many copies of points, they lead from copy to copy only.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric, in canonical format, and not negative.
    n_neighbors : int or None
        None keeps all.
    random_state : int, default=0
        The same number gives the same edges, on any number of threads.
    n_jobs : int or None, default=-1

    Returns
    -------
    positions : ndarray of int of shape (n_kept,)
        In ``weights.data``, ascending.
    factors : ndarray of float32 of shape (n_kept,)
        What these weights are to be multiplied by.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import sample_entries
    >>> everyone = csr_matrix(1.0 - np.eye(9))
    >>> positions, factors = sample_entries(everyone, 4)
    >>> len(positions) < everyone.nnz, float(factors.sum())
    (True, 72.0)
    """
    if n_neighbors is None or n_neighbors >= weights.shape[0] - 1:
        return None
    own, mirrored = (np.empty(weights.nnz, dtype=np.uint8) for _ in range(2))
    share = _draw(weights, n_neighbors, 0, random_state, own, mirrored, n_jobs)
    positions = np.flatnonzero(own | mirrored)
    rows = np.searchsorted(weights.indptr, positions, side="right") - 1
    values = weights.data[positions]
    factors = _factors(own[positions], share[rows], values)
    factors += _factors(mirrored[positions], share[weights.indices[positions]], values)
    # In double precision, what a row draws would weigh the same up to rounding errors, which would
    # then decide the order of these weights in a factor.
    return positions, (0.5 * factors).astype(np.float32)


def sample_rows(
    rows: csr_matrix, n_neighbors: int, first: int = 0, random_state: int = 0
) -> csr_matrix:
    """Draw from some rows of a graph as :func:`sample_entries` does, without what others draw.

    Of the matrix S of all rows, (S + Sᵀ)/2 is the graph that :func:`sample_entries` draws.

    Parameters
    ----------
    rows : csr_matrix of shape (n_rows, n_samples)
        In canonical format, and not negative.
    n_neighbors : int
    first : int, default=0
        Number of the first row in the graph.
    random_state : int, default=0

    Returns
    -------
    csr_matrix of shape (n_rows, n_samples)
        Each row has the same sum as before.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import sample_rows
    >>> float(sample_rows(csr_matrix([[0.0, 5.0, 1.0, 1.0, 1.0, 0.0]]), 2).sum())
    8.0
    """
    own = np.empty(rows.nnz, dtype=np.uint8)
    share = _draw(rows, n_neighbors, first, random_state, own, None, 1)
    positions = np.flatnonzero(own)
    kept = take_entries(rows, positions, dtype=rows.dtype)
    factors = _factors(own[positions], share[entry_rows(kept)], kept.data)
    return with_data(kept, (factors * kept.data).astype(rows.dtype))


def own_strongest(rows: csr_matrix, n_neighbors: int) -> Integers:
    """Return where each of some rows stores its largest entries, of equal ones the first.

    Parameters
    ----------
    rows : csr_matrix of shape (n_rows, n_samples)
        In canonical format, and not negative.
    n_neighbors : int

    Returns
    -------
    ndarray of int of shape (n_kept,)
        Positions in ``rows.data``, ascending.
    """
    own, rest = np.empty(rows.nnz, dtype=np.uint8), np.empty(rows.shape[0])
    # One more is drawn, and not taken.
    _core.sample_entries(core_graph(rows), (n_neighbors, 1), 0, 0, own, None, rest, 1)
    return np.flatnonzero(own == _STRONGEST)


def _draw(
    weights: csr_matrix,
    n_neighbors: int,
    first: int,
    random_state: int,
    own: Array,
    mirrored: Array | None,
    n_jobs: int | None,
) -> Array:
    """Let each row draw; return the weight of what it draws once."""
    n_drawn = (n_neighbors + 1) // 2
    rest, counts = np.empty(weights.shape[0]), (n_neighbors - n_drawn, n_drawn)
    graph, threads = core_graph(weights), effective_n_jobs(n_jobs)
    alone = _core.sample_entries(graph, counts, random_state, first, own, mirrored, rest, threads)
    if alone >= 0:
        raise _not_symmetric(alone)
    if not np.isfinite(rest.sum()):
        raise ValueError("the weights contain NaN or infinity, or their sums overflow")
    return rest / n_drawn


def _factors(drawn: Array, share: Array, values: Array) -> Array:
    """Return what values are to be multiplied by, of which some are kept and some were drawn."""
    factors = np.asarray(drawn * share)
    np.divide(factors, values, out=factors, where=drawn > 0)
    factors[drawn == _STRONGEST] = 1.0
    return factors


def _not_symmetric(row: int) -> ValueError:
    """The error about a row that differs from its column."""
    return ValueError(
        f"weights must be symmetric, but row {row} differs from column {row}; "
        "use closeknit.graphs.symmetrize"
    )


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
    weights: csr_matrix, n_neighbors: int = N_NEIGHBORS, *, n_jobs: int | None = -1
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
    n_jobs : int or None, default=-1

    Returns
    -------
    csr_matrix
        In canonical format; all of `weights` if no edge can be dropped.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import thin
    >>> square = csr_matrix([[0, 9, 0, 1], [9, 0, 1, 0], [0, 1, 0, 9], [1, 0, 9, 0]])
    >>> thin(square, n_neighbors=1).nnz  # two strong pairs, connected by the weak edges
    8
    """
    weights = check_weights(weights, "weights")  # positions are those of its canonical form
    positions = strongest_entries(weights, n_neighbors, n_jobs)
    if positions is None or len(positions) == weights.nnz:
        return weights
    kept = take_entries(weights, positions)
    _, piece = connected_components(kept, directed=False)
    between = np.flatnonzero(piece[entry_rows(weights)] != piece[weights.indices])
    if not len(between):
        return kept
    return csr_matrix(kept + take_entries(weights, between))  # no edge is in both
