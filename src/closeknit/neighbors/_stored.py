"""Sparse matrices of distances in CSR format, with just the entries that they store."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def csr_of_distances(graph: Any) -> Any:
    """Convert a sparse matrix of distances without adding up those that are stored twice.

    SciPy adds up what a COO matrix stores twice. Zeros that fill up the blocks of a BSR matrix
    would be distances, so these are refused.

    Parameters
    ----------
    graph : sparse matrix

    Returns
    -------
    csr_matrix
        `graph` itself if it is one.

    Examples
    --------
    >>> graph = sp.coo_matrix(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    >>> csr_of_distances(graph).data
    array([1., 2.])
    """
    if graph.format == "bsr" and not graph.data.all():
        raise ValueError(
            "a BSR matrix of distances stores zeros beside them, which would be distances, too; "
            "convert it by tocsr() and eliminate_zeros()"
        )
    if graph.format not in ("bsr", "coo"):
        return graph.tocsr()
    entries = graph.tocoo()
    order = np.argsort(entries.row, kind="stable")
    counts = np.bincount(entries.row, minlength=graph.shape[0])
    parts = (entries.data[order], entries.col[order], np.append(0, np.cumsum(counts)))
    return sp.csr_matrix(parts, shape=graph.shape)
