"""Whole rows of squared distances, block by block, for affinities over all points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

__all__ = ["dense_sq_distances", "infinite_row_error"]

#: Bytes that one block of rows may take beside the result.
BLOCK_BYTES = 2**26

#: Below this share of ‖x‖² + ‖y‖² the expansion ‖x‖² + ‖y‖² − 2⟨x, y⟩ has lost five digits or
#: more, and the distance is computed directly.
CANCELLATION = 1e-5


def dense_sq_distances(Q: Any, X: Any, metric: str) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """Yield slices of `Q`'s rows with the squared distances of these rows to all of `X`.

    Parameters
    ----------
    Q, X : array-like or CSR
        Points; with ``metric="precomputed"`` `Q` holds the distances and `X` is not used.
    metric : str
        As in :func:`closeknit.neighbors.find_neighbors`.

    Yields
    ------
    rows : slice
    block : ndarray of shape (rows, len(X))
        A fresh array, free to be changed.
    """
    n_columns = Q.shape[1] if metric == "precomputed" else X.shape[0]
    step = max(1, BLOCK_BYTES // (8 * n_columns))
    euclidean = metric in ("euclidean", "l2", "sqeuclidean") and not sparse.issparse(X)
    if euclidean:
        prepared = _Centred(X)
    for begin in range(0, Q.shape[0], step):
        rows = slice(begin, min(begin + step, Q.shape[0]))
        if metric == "precomputed":
            block = Q[rows]
            block = block.toarray() if sparse.issparse(block) else np.asarray(block)
            yield rows, np.square(block, dtype=np.float64)
        elif euclidean:
            yield rows, prepared.sq_distances(Q[rows])
        else:
            from sklearn.metrics import pairwise_distances

            name = "euclidean" if metric == "sqeuclidean" else metric
            yield rows, np.square(pairwise_distances(Q[rows], X, metric=name), dtype=np.float64)


def infinite_row_error(row: int) -> ValueError:
    """Return the error for a row whose distances overflow or are missing."""
    return ValueError(
        f"row {row} has infinite or NaN distances; rescale the data if distances overflow"
    )


class _Centred:
    """Points minus their mean, so that a common offset costs no digits."""

    def __init__(self, X: Any):
        self.X = np.asarray(X, dtype=np.float64)
        # A power of two keeps every bit and lets squares of tiny or huge data be represented.
        largest = float(np.abs(self.X).max(initial=0.0))
        self.exponent = int(np.frexp(largest)[1]) if 0.0 < largest < np.inf else 0
        self.mean = self._scaled(self.X).mean(axis=0)
        self.points = self._scaled(self.X) - self.mean
        self.norms = np.einsum("ij,ij->i", self.points, self.points)

    def _scaled(self, X: Any) -> NDArray[np.float64]:
        scaled: NDArray[np.float64] = np.ldexp(np.asarray(X, dtype=np.float64), -self.exponent)
        return scaled

    def sq_distances(self, Q: Any) -> NDArray[np.float64]:
        raw = self._scaled(Q)
        q = raw - self.mean
        norms = np.einsum("ij,ij->i", q, q)[:, None] + self.norms
        block = norms - 2.0 * (q @ self.points.T)
        i, j = np.nonzero(block <= CANCELLATION * norms)
        step = max(1, BLOCK_BYTES // (8 * max(1, raw.shape[1])))
        for a in range(0, len(i), step):
            pairs = slice(a, a + step)
            # From the points as given: subtracting the mean has rounded the centred ones.
            gap = raw[i[pairs]] - self._scaled(self.X[j[pairs]])
            block[i[pairs], j[pairs]] = np.einsum("ij,ij->i", gap, gap)
        out: NDArray[np.float64] = np.ldexp(block, 2 * self.exponent)
        return out
