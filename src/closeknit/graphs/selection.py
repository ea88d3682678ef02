"""Which edges to keep, so that a graph is as sparse as wanted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array, Flags, Integers


def keep_smallest(keys: NDArray[Any], count: float) -> Flags:
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
    if count <= 0 or count >= len(keys):
        return np.full(len(keys), count > 0)
    place = math.ceil(count) - 1
    last = np.partition(keys, place)[place]
    without, with_ties = keys < last, keys <= last
    surplus = np.count_nonzero(with_ties) - count
    shortage = count - np.count_nonzero(without)
    return with_ties if surplus <= shortage else without


def keep_fewest_votes(votes: Integers, weights: Array, count: float) -> Flags:
    """Mark the `count` edges with the fewest votes; among equals, those of the largest weights.

    Parameters
    ----------
    votes : ndarray of int of shape (n_edges,)
    weights : ndarray of shape (n_edges,)
    count : float
        As in :func:`keep_smallest`.

    Returns
    -------
    ndarray of bool of shape (n_edges,)

    Examples
    --------
    >>> import numpy as np
    >>> keep_fewest_votes(np.array([0, 2, 1, 1], np.int32), np.array([0.1, 0.9, 0.2, 0.8]), 2)
    array([ True, False, False,  True])
    """
    if count <= 0 or count >= len(votes):
        return np.full(len(votes), count > 0)
    place = math.ceil(count) - 1
    last = np.partition(votes, place)[place]
    kept = votes < last
    equal = votes == last
    kept[equal] = keep_smallest(-weights[equal], count - np.count_nonzero(kept))
    return kept
