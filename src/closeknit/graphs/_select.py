"""Which edges to keep so that a graph is as sparse as wanted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_sparsity", "edges_of_sparsity", "keep_smallest", "subgraph"]


def check_sparsity(sparsity: Any) -> None:
    """Refuse a share of missing edges that no graph with edges has."""
    if not isinstance(sparsity, int | float | np.number) or not 0.0 <= sparsity < 1.0:
        raise ValueError(
            f"sparsity={sparsity!r} must be at least 0 and less than 1: "
            "it is the share of pairs without an edge"
        )


def edges_of_sparsity(sparsity: float, n_samples: int) -> float:
    """How many entries off the diagonal a graph of that sparsity has; not rounded.

    Examples
    --------
    >>> edges_of_sparsity(0.75, 11)
    27.5
    """
    return (1.0 - sparsity) * n_samples * (n_samples - 1)


def keep_smallest(keys: NDArray[Any], count: float) -> NDArray[np.bool_]:
    """Mark the `count` entries with the smallest keys, or as near to that as ties permit.

    Entries with equal keys are kept or dropped together, whichever brings the number kept closer
    to `count` (kept, if both are as close), so the choice does not depend on their order.

    Parameters
    ----------
    keys : ndarray of shape (n_edges,)
    count : float
        From 0 to n_edges; need not be whole.

    Returns
    -------
    ndarray of bool of shape (n_edges,)

    Examples
    --------
    >>> import numpy as np
    >>> keep_smallest(np.array([3, 1, 2, 2, 2]), 2)
    array([False,  True, False, False, False])
    >>> keep_smallest(np.array([3, 1, 2, 2, 2]), 3)
    array([False,  True,  True,  True,  True])
    """
    if count <= 0:
        return np.zeros(len(keys), dtype=bool)
    if count >= len(keys):
        return np.ones(len(keys), dtype=bool)
    place = math.ceil(count) - 1
    last = np.partition(keys, place)[place]
    without, with_ties = keys < last, keys <= last
    surplus = np.count_nonzero(with_ties) - count
    shortage = count - np.count_nonzero(without)
    return with_ties if surplus <= shortage else without


def subgraph(W: Any, kept: NDArray[np.bool_]) -> Any:
    """Copy the entries of a CSR matrix that are marked, in the order in which it stores them.

    Parameters
    ----------
    W : csr_matrix of shape (n_samples, n_samples)
    kept : ndarray of bool of shape (W.nnz,)

    Returns
    -------
    csr_matrix of shape (n_samples, n_samples)
    """
    from scipy import sparse

    before = np.concatenate([[0], np.cumsum(kept)])
    return sparse.csr_matrix((W.data[kept], W.indices[kept], before[W.indptr]), shape=W.shape)
