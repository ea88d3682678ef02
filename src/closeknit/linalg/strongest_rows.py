"""The strongest edges of each point, of a graph whose rows are in several places."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from closeknit._arrays import Flags, Integers
from closeknit.linalg.csr import entry_rows
from closeknit.linalg.strongest import own_strongest, take_entries


@dataclass(frozen=True)
class WeakestKept:
    """The last edge that each point keeps of its strongest: which edges it keeps follows from it.

    Attributes
    ----------
    weights : ndarray of shape (n_samples,)
        Of those edges; infinite where a point has no edge.
    neighbors : ndarray of int of shape (n_samples,)
        Their other ends. Of edges that weigh as much, those to points of lower number are kept.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix, vstack
    >>> from closeknit.linalg import WeakestKept, strongest_entries
    >>> W = csr_matrix([[0.0, 9.0, 1.0], [9.0, 0.0, 5.0], [1.0, 5.0, 0.0]])
    >>> weakest = WeakestKept.joined([WeakestKept.of(W[:2], 1), WeakestKept.of(W[2:], 1)])
    >>> weakest.entries(W[:2], first=0), weakest.entries(W[2:], first=2)
    (array([0, 2, 3]), array([1]))
    >>> strongest_entries(W, 1)
    array([0, 2, 3, 5])
    """

    weights: NDArray[np.floating]
    neighbors: Integers

    @classmethod
    def of(cls, rows: csr_matrix, n_neighbors: int) -> WeakestKept:
        """Return the last of the `n_neighbors` strongest edges of each of some rows."""
        kept = take_entries(rows, own_strongest(rows, n_neighbors), dtype=rows.dtype)
        full = np.flatnonzero(np.diff(kept.indptr))
        weights = np.full(rows.shape[0], np.inf, dtype=rows.dtype)
        neighbors = np.full(rows.shape[0], -1, dtype=rows.indices.dtype)
        if len(full):
            begins = kept.indptr[full]
            weights[full] = np.minimum.reduceat(kept.data, begins)
            last = np.where(kept.data == weights[entry_rows(kept)], kept.indices, -1)
            neighbors[full] = np.maximum.reduceat(last, begins)
        return cls(weights, neighbors)

    @classmethod
    def joined(cls, parts: list[WeakestKept]) -> WeakestKept:
        """Return those of all rows, from those of some rows after the other."""
        weights = np.concatenate([part.weights for part in parts])
        return cls(weights, np.concatenate([part.neighbors for part in parts]))

    def entries(self, rows: csr_matrix, first: int) -> Integers:
        """Return where rows of a symmetric graph store the edges that either end keeps.

        As :func:`strongest_entries` does for the whole graph.

        Parameters
        ----------
        rows : csr_matrix of shape (n_rows, n_samples)
        first : int
            Number of the first row in the graph.

        Returns
        -------
        ndarray of int of shape (n_kept,)
            Positions in ``rows.data``, ascending.
        """
        here = entry_rows(rows) + first
        keep = self._keeps(here, rows.indices, rows.data)
        keep |= self._keeps(rows.indices, here, rows.data)
        return np.flatnonzero(keep)

    def _keeps(self, points: Integers, others: Integers, weights: NDArray[np.floating]) -> Flags:
        """Whether points keep their edges to others."""
        least = self.weights[points]
        return np.asarray(
            (weights > least) | ((weights == least) & (others <= self.neighbors[points]))
        )
