"""The protocol of indices: fitted once, asked for the neighbours of old or new points."""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

from closeknit.neighbors.result import Neighbors


@runtime_checkable
class NeighborIndex(Protocol):
    """The methods of every index; any object with these methods may be passed as ``neighbors``.

    Examples
    --------
    >>> from closeknit.neighbors import ExactIndex, NeighborIndex
    >>> isinstance(ExactIndex(), NeighborIndex)
    True
    """

    def fit(self, X: Any) -> Self:
        """Take the points among which to search."""

    def self_neighbors(self, n_neighbors: int) -> Neighbors:
        """Find each fitted point's nearest other points."""

    def query(self, X: Any, n_neighbors: int) -> Neighbors:
        """Find each new point's nearest fitted points.

        Nothing is left out, and a row's answer does not depend on the other rows.
        """
