"""Points in the order of a curve that fills the map, so that neighbours are close in memory."""

from __future__ import annotations

import numpy as np

from closeknit._arrays import Array, Integers

#: Bits of a cell's number along each axis, by the number of axes: cells far smaller than the
#: distances between points, and numbers of no more than 64 bits in all.
_BITS = {1: 32, 2: 16, 3: 16}


def map_order(X: Array) -> Integers:
    """Return the order of the points along Morton's curve.

    The map is cut into fine square cells; the bits of a cell's coordinates, interleaved, are its
    place on the curve.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_components)
        Finite, with one to three components.

    Returns
    -------
    ndarray of int of shape (n_samples,)
        A permutation; points in one cell keep their order.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.linalg import map_order
    >>> map_order(np.array([[0.0, 0.0], [9.0, 9.0], [0.0, 1.0], [9.0, 8.0]]))
    array([0, 2, 3, 1])
    """
    d = X.shape[1]
    halves = 0.5 * X  # whose differences cannot overflow
    halves -= halves.min(axis=0)
    halves /= float(halves.max()) or 1.0
    cells = (halves * (2 ** _BITS[d] - 1)).astype(np.uint64)
    place = np.zeros(len(X), dtype=np.uint64)
    for bit in range(_BITS[d]):
        for axis in range(d):
            taken = (cells[:, axis] >> np.uint64(bit)) & np.uint64(1)
            place |= taken << np.uint64(bit * d + axis)
    return np.argsort(place, kind="stable")
