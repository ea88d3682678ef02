"""Distances from a viewer to all points, from points, distances or affinities.

Points that a sparse matrix does not store are infinitely far. How remote a point is, which says how
likely it becomes the next viewer, depends on the tails of the kernel (section 3 of the paper).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.neighbors import dense_sq_distances

__all__ = ["TAILS", "ViewerDistances", "viewer_distances"]

Array = NDArray[np.float64]

TAILS = ("exponential", "slow", "flat")


class ViewerDistances(Protocol):
    """The distances from any point to all others."""

    def distances(self, viewer: int) -> Array:
        """Distances of all points from the viewer, infinite for those it does not see."""
        ...

    def remoteness(self, distances: Array, bandwidth: float, tails: str) -> Array:
        """How little affinity each point has to the viewer: weights to sample the next one by."""
        ...


class _KernelOfDistances:
    """Remoteness by kernels of the viewer's own bandwidth."""

    def remoteness(self, distances: Array, bandwidth: float, tails: str) -> Array:
        """−log w of the Gaussian kernel, 1/w of Cauchy's, or 0 within the flat kernel's range."""
        if tails == "flat":
            return np.where(distances > bandwidth, 1.0, 0.0)
        scaled = _finite(distances) / bandwidth
        return 0.5 * scaled**2 if tails == "exponential" else 1.0 + scaled**2


class _Points(_KernelOfDistances):
    def __init__(self, X: Any, metric: str, n_threads: int) -> None:
        self._X, self._metric, self._n_threads = X, metric, n_threads

    def distances(self, viewer: int) -> Array:
        """Compute one row."""
        row = self._X[viewer : viewer + 1]
        _, block = next(dense_sq_distances(row, self._X, self._metric, self._n_threads))
        block[0, viewer] = 0.0
        return np.sqrt(np.maximum(block[0], 0.0))


class _GivenDistances(_KernelOfDistances):
    def __init__(self, D: Any) -> None:
        self._D = D

    def distances(self, viewer: int) -> Array:
        """Read one row."""
        row = _row_of(self._D, viewer, absent=np.inf)
        row[viewer] = 0.0
        return row


class _GivenAffinities:
    """Distances that a Gaussian kernel would turn into the given affinities."""

    def __init__(self, W: Any) -> None:
        self._W = W
        self._largest = W.data.max(initial=0.0) or 1.0  # without edges there is nothing to see

    def distances(self, viewer: int) -> Array:
        """√(−log w), relative to the largest weight."""
        w = _row_of(self._W, viewer, absent=0.0)
        w[viewer] = self._largest
        with np.errstate(divide="ignore"):
            return np.sqrt(np.maximum(-np.log(w / self._largest), 0.0))

    def remoteness(self, distances: Array, bandwidth: float, tails: str) -> Array:
        """−log w, 1/w, or 0 for the neighbours, of the affinities themselves."""
        if tails == "flat":
            return np.where(np.isinf(distances), 1.0, 0.0)
        minus_log = _finite(distances) ** 2
        return minus_log if tails == "exponential" else np.exp(np.minimum(minus_log, 700.0))


def viewer_distances(X: Any, input: str, metric: str, n_threads: int) -> ViewerDistances:
    """Return the distances from viewers for what was given.

    Parameters
    ----------
    X : ndarray or csr_matrix
        Points, distances or affinities.
    input : {"data", "distances", "affinities"}
    metric : str
        Of points.
    n_threads : int

    Returns
    -------
    ViewerDistances

    Examples
    --------
    >>> import numpy as np
    >>> viewer_distances(np.array([[0.0], [3.0]]), "data", "euclidean", 1).distances(1)
    array([3., 0.])
    """
    if input == "data":
        return _Points(X, metric, n_threads)
    return _GivenDistances(X) if input == "distances" else _GivenAffinities(X)


def _row_of(M: Any, row: int, absent: float) -> Array:
    if not sparse.issparse(M):
        return np.array(M[row], dtype=np.float64)
    values = np.full(M.shape[1], absent)
    stored = slice(M.indptr[row], M.indptr[row + 1])
    values[M.indices[stored]] = M.data[stored]
    return values


def _finite(distances: Array) -> Array:
    """Replace infinite distances by the largest finite one."""
    seen = np.isfinite(distances)
    return np.where(seen, distances, distances[seen].max())
