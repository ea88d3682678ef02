"""Symmetric affinities at one perplexity after the other, on neighbours that stay the same."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._arrays import Integers
from closeknit._checks import check_finite, real_array
from closeknit._memory import empty
from closeknit._threads import effective_n_jobs
from closeknit.neighbors import Neighbors

#: Stands for "not among the neighbours"; ranks are below.
_NONE = 2**16 - 1


@dataclass(frozen=True, eq=False)
class MutualNeighbors:
    """Pairs of points of which one is among the nearest of the other.

    :func:`symmetrize` sorts rows, transposes and merges them. None of that depends on the
    affinities, so for a user who changes the perplexity it is done once, for the most neighbours
    that will be needed; the symmetric affinities of the nearest k are then found in one pass.

    Attributes
    ----------
    indptr, indices : ndarray of int32
        The pairs in compressed rows, with sorted columns, one row for each point of `order`.
    ranks : ndarray of uint32
        For a pair (n, m) the rank of m among the neighbours of n, and times 2¹⁶ that of n among
        those of m; 2¹⁶ − 1 stands for a point that is not among them.
    order : ndarray of int64
        The points, near ones one after the other, so that what they need of each other is in the
        cache.
    n_neighbors : int
        How many of each point's nearest are known.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.graphs import MutualNeighbors
    >>> from closeknit.neighbors import find_neighbors
    >>> mutual = MutualNeighbors.of(find_neighbors([[0.0], [1.0], [3.0]], n_neighbors=2))
    >>> mutual.symmetrize(np.ones((3, 1))).toarray()  # of the nearest one
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """

    indptr: NDArray[np.int32]
    indices: NDArray[np.int32]
    ranks: NDArray[np.uint32]
    order: Integers
    n_neighbors: int

    @classmethod
    def of(cls, neighbors: Neighbors, n_jobs: int | None = -1) -> Self | None:
        """Find the pairs, or return None where there are too many for 32 bits.

        Parameters
        ----------
        neighbors : Neighbors
            Of each point among the same points.
        n_jobs : int or None, default=-1

        Returns
        -------
        MutualNeighbors or None
        """
        n, k = neighbors.indices.shape
        if k >= _NONE or 2 * n * k >= 2**31 - 1:
            return None
        threads = effective_n_jobs(n_jobs)
        indices_of = np.ascontiguousarray(neighbors.indices)
        order = np.empty(n, np.int64)
        _core.walk_order(indices_of, order)
        pairs = _core.NeighborPairs(indices_of, threads)
        counts = np.empty(n, np.int32)
        pairs.count(counts, threads)
        indptr = np.zeros(n + 1, np.int32)
        np.cumsum(counts[order], out=indptr[1:])
        size = int(indptr[-1])
        indices, ranks = np.empty(size, np.int32), np.empty(size, np.uint32)
        pairs.write(order, indptr, indices, ranks, threads)
        return cls(indptr, indices, ranks, order, k)

    @cached_property
    def _pairs(self) -> _core.MutualPairs:
        return _core.MutualPairs(self.indptr, self.indices, self.ranks, self.order)

    def symmetrize(self, affinities: NDArray[np.float64], n_jobs: int | None = -1) -> csr_matrix:
        """Average the affinities of the nearest k neighbours with their transpose.

        Parameters
        ----------
        affinities : ndarray of shape (n_samples, k)
            Of each point's nearest neighbours, nearest first; k is at most `n_neighbors`.
        n_jobs : int or None, default=-1

        Returns
        -------
        csr_matrix of shape (n_samples, n_samples)
            To the bit what :func:`symmetrize` gives.
        """
        affinities = real_array(affinities, "affinities")
        n, most = len(self.indptr) - 1, self.n_neighbors
        if affinities.ndim != 2 or len(affinities) != n or affinities.shape[1] > most:
            raise ValueError(
                f"affinities must be of {n} points and at most {most} neighbours each, got an "
                f"array of shape {affinities.shape}"
            )
        # The sum suffices, in half the time of looking at each; none of them is above 1.
        check_finite(affinities.sum(), "the array of affinities")
        k = affinities.shape[1]
        threads = effective_n_jobs(n_jobs)
        counts = np.empty(n, np.int32)
        self._pairs.count(k, counts, threads)
        indptr = np.zeros(n + 1, np.int32)
        np.cumsum(counts, out=indptr[1:])
        size = int(indptr[-1])
        indices, data = empty(size, np.int32), empty(size, np.float64)
        rows: Any = np.ascontiguousarray(affinities, dtype=np.float64)
        self._pairs.mean(rows, indptr, indices, data, threads)
        return csr_matrix((data, indices, indptr), shape=(n, n))
