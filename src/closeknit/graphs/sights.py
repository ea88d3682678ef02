"""What a viewer sees: how far all points are, from points, distances or affinities.

A sight answers two questions: how far every point is from a viewer (infinitely, where a sparse
matrix does not say), and how much a view speaks for looking from elsewhere next, which depends on
the tails of the kernel (section 3 of the paper).
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.neighbors import dense_sq_distances

__all__ = ["TAILS", "Sight", "make_sight"]

Array = NDArray[np.float64]

TAILS = ("exponential", "slow", "flat")


class Sight(Protocol):
    """All points as seen from one of them."""

    def distances(self, viewer: int) -> Array:
        """Distances of all points from the viewer, infinite for those it does not see."""
        ...

    def rarity(self, distances: Array, bandwidth: float, tails: str) -> Array:
        """How little affinity each point has to a viewer: what a next one is sampled by."""
        ...


class _Distances:
    """Kernels of the viewer's own bandwidth over given distances."""

    def rarity(self, distances: Array, bandwidth: float, tails: str) -> Array:
        """−log w of the Gaussian kernel, 1/w of Cauchy's, or 0 within the flat kernel's range."""
        if tails == "flat":
            return np.where(distances > bandwidth, 1.0, 0.0)
        scaled = _as_if_seen(distances) / bandwidth
        return 0.5 * scaled**2 if tails == "exponential" else 1.0 + scaled**2


class _Points(_Distances):
    def __init__(self, X: Any, metric: str, n_threads: int) -> None:
        self._X, self._metric, self._n_threads = X, metric, n_threads

    def distances(self, viewer: int) -> Array:
        """Compute one row."""
        row = self._X[viewer : viewer + 1]
        _, block = next(dense_sq_distances(row, self._X, self._metric, self._n_threads))
        block[0, viewer] = 0.0
        return np.sqrt(np.maximum(block[0], 0.0))


class _GivenDistances(_Distances):
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
        self._largest = W.data.max(initial=0.0) or 1.0  # without edges nobody sees anything

    def distances(self, viewer: int) -> Array:
        """√(−log w), relative to the largest weight."""
        w = _row_of(self._W, viewer, absent=0.0)
        w[viewer] = self._largest
        with np.errstate(divide="ignore"):
            return np.sqrt(np.maximum(-np.log(w / self._largest), 0.0))

    def rarity(self, distances: Array, bandwidth: float, tails: str) -> Array:
        """−log w, 1/w, or 0 for the neighbours, of the affinities themselves."""
        if tails == "flat":
            return np.where(np.isinf(distances), 1.0, 0.0)
        minus_log = _as_if_seen(distances) ** 2
        return minus_log if tails == "exponential" else np.exp(np.minimum(minus_log, 700.0))


def make_sight(X: Any, input: str, metric: str, n_threads: int) -> Sight:
    """Choose what a viewer looks at.

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
    Sight
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


def _as_if_seen(distances: Array) -> Array:
    """Put points that are out of sight as far as the farthest one seen."""
    seen = np.isfinite(distances)
    return np.where(seen, distances, distances[seen].max())
