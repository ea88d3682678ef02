"""Whole rows of squared distances, block by block, for affinities over all points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.neighbors._geometry import GEOMETRIES
from closeknit.neighbors._rows import candidate_distances

__all__ = ["dense_sq_distances"]

#: Bytes that one block of rows may take beside the result.
BLOCK_BYTES = 2**26


def dense_sq_distances(
    Q: Any, X: Any, metric: str, n_threads: int = 1
) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield slices of `Q`'s rows with the squared distances of these rows to all of `X`.

    Euclidean distances, cosines and inner products are summed pair by pair in float64, so that a
    row does not depend on the others, to the bit, and near-identical points keep their digits.

    Parameters
    ----------
    Q, X : ndarray or csr_matrix
        Points; with ``metric="precomputed"`` `Q` holds the distances and `X` is not used.
    metric : str
        As in :func:`closeknit.neighbors.find_neighbors`.
    n_threads : int, default=1

    Yields
    ------
    rows : slice
    block : ndarray of shape (rows, len(X))
        A fresh array, free to be changed.
    """
    if metric == "precomputed" and sparse.issparse(Q):
        raise ValueError(
            "n_neighbors=None needs the distances to all points, which a sparse graph lacks; "
            "pass a dense matrix, or set n_neighbors"
        )
    n_columns = Q.shape[1] if metric == "precomputed" else X.shape[0]
    rows_of = _source(Q, X, metric, n_threads)
    step = max(1, BLOCK_BYTES // (8 * n_columns))
    for begin in range(0, Q.shape[0], step):
        rows = slice(begin, min(begin + step, Q.shape[0]))
        block = rows_of(rows)
        if not np.isfinite(block).all():
            row = begin + int(np.argmin(np.isfinite(block).all(axis=1)))
            raise ValueError(
                f"row {row} has infinite or NaN distances; rescale the data if distances overflow"
            )
        yield rows, block


def _source(Q: Any, X: Any, metric: str, n_threads: int) -> Any:
    """Return a function from a slice of rows to their squared distances."""
    if metric == "precomputed":
        return lambda rows: np.square(Q[rows], dtype=np.float64)
    if metric in GEOMETRIES:
        geometry = GEOMETRIES[metric]
        points = geometry.points(X)
        queries = points if Q is X else geometry.points(Q).astype(points.dtype, copy=False)
        addend = geometry.addend(points)
        everyone = np.arange(points.shape[0])

        def direct(rows: slice) -> NDArray[np.float64]:
            some = queries[rows]
            candidates = np.broadcast_to(everyone, (some.shape[0], len(everyone)))
            return geometry.finish(
                candidate_distances(some, points, candidates, addend=addend, n_threads=n_threads)
            )

        return direct

    def pairwise(rows: slice) -> NDArray[np.float64]:
        from sklearn.metrics import pairwise_distances

        return np.square(pairwise_distances(Q[rows], X, metric=metric), dtype=np.float64)

    return pairwise
