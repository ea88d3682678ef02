"""Distances from a viewer to all points, from points, distances or affinities.

Points that a sparse matrix does not store are infinitely far. How remote a point is, which says how
likely it becomes the next viewer, depends on the tails of the kernel (section 3 of the paper).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from closeknit._arrays import Array
from closeknit.neighbors import dense_sq_distances

TAILS = ("exponential", "slow", "flat")


class ViewerDistances:
    """The distances from any point to all others.

    Parameters
    ----------
    X : ndarray or csr_matrix
        Points, distances or affinities. Affinities stand for the distances √(−log w) that a
        Gaussian kernel would turn into them, relative to the largest weight.
    input : {"data", "distances", "affinities"}
    metric : str
        Of points.
    n_threads : int

    Examples
    --------
    >>> import numpy as np
    >>> ViewerDistances(np.array([[0.0], [3.0]]), "data", "euclidean", 1).distances(1)
    array([3., 0.])
    """

    def __init__(self, X: Any, input: str, metric: str, n_threads: int) -> None:
        self._X, self._input, self._metric, self._n_threads = X, input, metric, n_threads

    def distances(self, viewer: int) -> Array:
        """Distances of all points from the viewer, infinite for those it does not see."""
        if self._input == "data":
            one = self._X[viewer : viewer + 1]
            _, block = next(dense_sq_distances(one, self._X, self._metric, self._n_threads))
            row = np.sqrt(np.maximum(block[0], 0.0))
        elif self._input == "distances":
            row = self._row(viewer, absent=np.inf)
        else:
            largest = self._X.data.max(initial=0.0) or 1.0  # without edges there is nothing to see
            with np.errstate(divide="ignore"):
                minus_log = -np.log(self._row(viewer, absent=0.0) / largest)
            row = np.sqrt(np.maximum(minus_log, 0.0))
        row[viewer] = 0.0
        return row

    def remoteness(self, distances: Array, bandwidth: float, tails: str) -> Array:
        """How little affinity each point has to the viewer: weights to sample the next one by.

        By kernels of the viewer's own bandwidth: −log w of the Gaussian, 1/w of Cauchy's, or 0
        within the range of the flat kernel; by given affinities: −log w, 1/w, or 0 where there is
        one.
        """
        given = self._input == "affinities"
        if tails == "flat":
            return np.where(np.isinf(distances) if given else distances > bandwidth, 1.0, 0.0)
        seen = np.isfinite(distances)
        squares = np.where(seen, distances, distances[seen].max()) ** 2
        if given:
            return squares if tails == "exponential" else np.exp(np.minimum(squares, 700.0))
        scaled = squares / bandwidth**2
        return 0.5 * scaled if tails == "exponential" else 1.0 + scaled

    def _row(self, row: int, absent: float) -> Array:
        if not sparse.issparse(self._X):
            return np.array(self._X[row], dtype=np.float64)
        values = np.full(self._X.shape[1], absent)
        stored = slice(self._X.indptr[row], self._X.indptr[row + 1])
        values[self._X.indices[stored]] = self._X.data[stored]
        return values
