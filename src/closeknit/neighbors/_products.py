"""Exact search among few points of many dimensions: BLAS selects, differences decide."""

from __future__ import annotations

import numpy as np

from closeknit import _core
from closeknit._arrays import Array, Flags, Integers, Singles
from closeknit._threads import chunks, run_chunks, single_threaded_blas
from closeknit.neighbors._sketch import rounding_margin
from closeknit.neighbors.points import Data, Found, as_rows

#: Below this many dimensions our own kernel of sketches serves as well.
FEWEST_FEATURES = 512
#: For whose pairs a matrix is held.
MOST_POINTS = 2**12
_SAFE = (
    2.0**-60,
    2.0**60,
)  # bounds of squared norms within which float32 neither over- nor underflows
_ROWS, _FEATURES = 256, 1024  # of a product; over few features float32 rounds little
_FEWEST_ROWS, _PRODUCTS = 16, 2**33  # of a chunk: about a tenth of a second, after which it may end


def nearest_by_products(
    points: Data, n_neighbors: int, *, exclude_self: bool, n_threads: int
) -> Found | None:
    """Find the nearest points to each of them, where float32 suits their magnitude.

    It is faster than by sketches for up to `MOST_POINTS` points of at least `FEWEST_FEATURES`
    features.

    Parameters
    ----------
    points : array
    n_neighbors : int
    exclude_self : bool
        Whether a point may not be its own neighbour.
    n_threads : int

    Returns
    -------
    (indices, sq_distances) : (n_points, n_neighbors) arrays, or None
        Sorted by (distance, index). None if squares of the values over- or underflow in float32.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.outer([0.0, 1.0, 3.0], np.ones(600))
    >>> nearest_by_products(X, 1, exclude_self=True, n_threads=1)[0].ravel()
    array([1, 0, 1], dtype=int32)
    """
    values = _centered(points)
    largest = float(max(values.max(), -values.min())) ** 2 * points.shape[1]
    if not _SAFE[0] < largest < _SAFE[1]:
        return None
    near = _candidates(values, n_neighbors, exclude_self, n_threads)
    # Each pair once, whichever of the two asks for it.
    rows, columns = np.nonzero(np.triu(near | near.T))
    found = _distances_of_pairs(points, rows, columns, n_threads)
    twice = rows != columns
    both = np.concatenate([rows, columns[twice]]), np.concatenate([columns, rows[twice]])
    return _first_of_rows(*both, np.concatenate([found, found[twice]]), n_neighbors)


def _centered(points: Data) -> Singles:
    """Subtract the mean, rounded to float32; what is too large for it becomes infinite."""
    center = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    values = np.empty(points.shape, dtype=np.float32)
    with np.errstate(over="ignore"):
        for rows in chunks(len(points), 32 * points.shape[1]):
            values[rows] = points[rows] - center
    return values


def _candidates(values: Singles, n_neighbors: int, exclude_self: bool, n_threads: int) -> Flags:
    """Mark each point's nearest, and all that rounding may have kept from being among them.

    Notes
    -----
    Estimates are |x|² + |y|² − 2⟨x, y⟩. With u = 2⁻²⁴, a product of m features in float32 is off by
    m u |x||y| at most in whichever order BLAS adds [1]_, which makes 2m u (|x|² + |y|²) of an
    estimate; rounding the values to float32 before makes 4u (|x|² + |y|²). Both, and what is left
    to double precision, are less than E = 2 `rounding_margin` (|x|² + |y|²). The estimate of a
    neighbour may be E too large, and the k-th smallest one E too small: all within 2E are marked.

    References
    ----------
    .. [1] Higham, Accuracy and Stability of Numerical Algorithms, 2002, §3.1.
    """
    n_points, n_features = values.shape
    size = min(_ROWS, max(_FEWEST_ROWS, _PRODUCTS // (n_points * n_features)))
    parts = [slice(i, min(i + size, n_points)) for i in range(0, n_points, size)]
    margin = rounding_margin(min(n_features, _FEATURES))
    products = np.zeros((n_points, n_points))
    near = np.empty((n_points, n_points), dtype=bool)

    def multiply(chunk: slice) -> None:
        """Fill the rows of a chunk from the diagonal on."""
        for start in range(0, n_features, _FEATURES):
            some = slice(start, start + _FEATURES)
            products[chunk, chunk.start :] += values[chunk, some] @ values[chunk.start :, some].T

    def mark(chunk: slice) -> None:
        sq_norms = products.diagonal()
        estimates = sq_norms[chunk, None] + sq_norms
        estimates[:, chunk.start :] -= 2.0 * products[chunk, chunk.start :]
        estimates[:, : chunk.start] -= 2.0 * products[: chunk.start, chunk].T
        if exclude_self:
            np.fill_diagonal(estimates[:, chunk], np.inf)
        last = np.partition(estimates, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
        slack = 4.0 * margin * (sq_norms[chunk] + sq_norms.max())
        near[chunk] = estimates <= (last + slack)[:, None]

    with single_threaded_blas():
        run_chunks("neighbours", multiply, parts, n_threads)
    run_chunks("neighbours", mark, parts, n_threads)
    return near


def _distances_of_pairs(points: Data, rows: Integers, columns: Integers, n_threads: int) -> Array:
    """Squared distances of pairs whose rows ascend, and the columns of each row."""
    starts = np.searchsorted(rows, np.arange(len(points) + 1))
    out = np.empty(len(rows))
    _core.pair_distances(as_rows(points), starts, columns.astype(np.int32), out, n_threads)
    return out


def _first_of_rows(
    rows: Integers, columns: Integers, sq_distances: Array, n_neighbors: int
) -> Found:
    """The nearest of each row, in order of distance and then of number."""
    order = np.lexsort((columns, sq_distances, rows))
    counts = np.bincount(rows)
    first = np.cumsum(counts) - counts
    kept = order[first[:, None] + np.arange(n_neighbors)]
    return columns[kept].astype(np.int32), sq_distances[kept]
