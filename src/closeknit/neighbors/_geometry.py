"""Metrics that are Euclidean distances in disguise.

A geometry turns data into points, whose plain squared Euclidean distances (plus, for inner
products, a number per point) rank neighbours as the metric does, and turns those into the squares
of the metric's own distances.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from closeknit.neighbors._rows import Data

__all__ = ["GEOMETRIES", "Geometry"]


class Geometry(Protocol):
    """How a metric is read as Euclidean."""

    def points(self, X: Data) -> Data:
        """Turn fitted or new data into points."""

    def addend(self, points: Data) -> npt.NDArray[np.float64] | None:
        """What to add to the squared distance to each fitted point."""

    def finish(self, sq_distances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Turn squared distances of points into squares of the metric's distances."""


@dataclass(frozen=True)
class Euclidean:
    """Nothing to do."""

    def points(self, X: Data) -> Data:
        """Return the data themselves."""
        return X

    def addend(self, points: Data) -> npt.NDArray[np.float64] | None:
        """Return None."""
        return None

    def finish(self, sq_distances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the squared distances themselves."""
        return sq_distances


@dataclass(frozen=True)
class Cosine:
    """The distance 1 − cos(x, y) = ½‖x/‖x‖ − y/‖y‖‖², from unit vectors kept in float64."""

    def points(self, X: Data) -> Data:
        """Normalise the rows, refusing rows of zeros, which have no direction."""
        if sp.issparse(X):
            X = X.astype(np.float64)
            rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
            largest = np.zeros(X.shape[0])
            np.maximum.at(largest, rows, np.abs(X.data))
            _refuse_zero_rows(largest)
            data = X.data / largest[rows]
            norms = np.sqrt(np.bincount(rows, data * data, minlength=X.shape[0]))
            return sp.csr_matrix((data / norms[rows], X.indices, X.indptr), shape=X.shape)
        largest = np.abs(X).max(axis=1).astype(np.float64)
        _refuse_zero_rows(largest)
        units = X / largest[:, None]  # first this, so that no square over- or underflows
        units /= np.sqrt(np.einsum("ij,ij->i", units, units))[:, None]
        return units

    def addend(self, points: Data) -> npt.NDArray[np.float64] | None:
        """Return None."""
        return None

    def finish(self, sq_distances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Turn ‖x̂ − ŷ‖² into (1 − cos)²."""
        return (0.5 * sq_distances) ** 2


@dataclass(frozen=True)
class InnerProduct:
    """‖x‖² + M² − 2⟨x, y⟩ = ‖x − y‖² + (M² − ‖y‖²), with M the largest norm of the fitted points.

    The squared distance after giving each fitted point the coordinate √(M² − ‖y‖²) and each query
    the coordinate 0, so that the largest inner product is the nearest neighbour.
    """

    def points(self, X: Data) -> Data:
        """Return the data themselves."""
        return X

    def addend(self, points: Data) -> npt.NDArray[np.float64] | None:
        """Return M² − ‖y‖² for each point."""
        if sp.issparse(points):
            sq_norms = np.asarray(points.astype(np.float64).power(2).sum(axis=1)).ravel()
        else:
            sq_norms = np.einsum("ij,ij->i", points, points, dtype=np.float64)
        return np.asarray(sq_norms.max() - sq_norms)

    def finish(self, sq_distances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the squared distances themselves."""
        return sq_distances


def _refuse_zero_rows(largest: npt.NDArray[np.float64]) -> None:
    zero = np.flatnonzero(largest == 0.0)
    if len(zero):
        raise ValueError(
            f"metric='cosine' is undefined for row {zero[0]}, which is all zeros "
            f"({len(zero)} such row(s)); drop them or choose another metric"
        )


GEOMETRIES: dict[str, Geometry] = {
    "euclidean": Euclidean(),
    "l2": Euclidean(),
    "sqeuclidean": Euclidean(),
    "cosine": Cosine(),
    "inner_product": InnerProduct(),
}
