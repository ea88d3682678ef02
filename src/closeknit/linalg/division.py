"""A graph in parts that no edge joins, and the points between them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._arrays import Integers
from closeknit._threads import effective_n_jobs
from closeknit.linalg.csr import core_graph


def divide(
    weights: csr_matrix, order: Integers, n_parts: int, n_jobs: int | None = -1
) -> tuple[Integers, int]:
    """Cut a graph into parts of consecutive points, and take out points until no edge joins them.

    Of each edge between two parts, the end that has more such edges goes to the border.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric, of float64.
    order : ndarray of int of shape (n_samples,)
        The points in an order in which neighbours are near each other, as on a map
        (:func:`map_order`).
    n_parts : int
        As many as there are points, if that is fewer.
    n_jobs : int or None, default=-1

    Returns
    -------
    parts : ndarray of int32 of shape (n_samples,)
        From 0 to `n_parts` - 1, and -1 for the border.
    n_border : int

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import diags
    >>> from closeknit.linalg import divide
    >>> path = diags([np.ones(5), np.ones(5)], [-1, 1], format="csr")
    >>> divide(path, np.arange(6), n_parts=2)
    (array([ 0,  0,  0, -1,  1,  1], dtype=int32), 1)
    """
    n = len(order)
    parts = np.empty(n, dtype=np.int32)
    parts[order] = np.arange(n) * min(n_parts, n) // max(n, 1)
    return parts, _core.mark_border(core_graph(weights), parts, effective_n_jobs(n_jobs))
