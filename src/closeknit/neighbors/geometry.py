"""Metrics that reduce to Euclidean distances.

A geometry turns data into points whose plain squared Euclidean distances (plus, for inner
products, a number per point) rank neighbours as the metric does, and turns those into the squares
of the metric's own distances.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from closeknit._arrays import Array
from closeknit.neighbors.points import Data


@dataclass(frozen=True)
class Geometry:
    """How a metric is read as Euclidean; None where there is nothing to do.

    Attributes
    ----------
    to_points : callable or None
        Turns fitted or new data into points.
    sq_offsets : callable or None
        Gives what to add to the squared distance to each fitted point.
    to_metric : callable or None
        Turns squared distances of points into squares of the metric's distances.
    """

    to_points: Callable[[Data], Data] | None = None
    sq_offsets: Callable[[Data], Array] | None = None
    to_metric: Callable[[Array], Array] | None = None


def _unit_vectors(X: Data) -> Data:
    """Normalise the rows, in float64, refusing rows of zeros, which have no direction."""
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


def _refuse_zero_rows(largest: Array) -> None:
    zero = np.flatnonzero(largest == 0.0)
    if len(zero):
        raise ValueError(
            f"metric='cosine' is undefined for row {zero[0]}, which is all zeros "
            f"({len(zero)} such row(s)); drop them or choose another metric"
        )


def _cosine_distances(sq_distances: Array) -> Array:
    """Turn ‖x̂ − ŷ‖² = 2(1 − cos) into (1 − cos)²."""
    return (0.5 * sq_distances) ** 2


def _missing_sq_norms(points: Data) -> Array:
    """M² − ‖y‖² for each point, with M the largest norm."""
    if sp.issparse(points):
        sq_norms = np.asarray(points.astype(np.float64).power(2).sum(axis=1)).ravel()
    else:
        sq_norms = np.einsum("ij,ij->i", points, points, dtype=np.float64)
    return np.asarray(sq_norms.max() - sq_norms)


_EUCLIDEAN = Geometry()

GEOMETRIES: dict[str, Geometry] = {
    "euclidean": _EUCLIDEAN,
    "l2": _EUCLIDEAN,
    "sqeuclidean": _EUCLIDEAN,
    # 1 − cos(x, y) = ½‖x/‖x‖ − y/‖y‖‖²
    "cosine": Geometry(to_points=_unit_vectors, to_metric=_cosine_distances),
    # ‖x‖² + M² − 2⟨x, y⟩ = ‖x − y‖² + (M² − ‖y‖²): the squared distance after giving each fitted
    # point the coordinate √(M² − ‖y‖²) and each query the coordinate 0, so that the largest inner
    # product is the nearest neighbour.
    "inner_product": Geometry(sq_offsets=_missing_sq_norms),
}


def unknown_metric(metric: Any) -> ValueError:
    """The error about a metric that does not reduce to Euclidean distances."""
    return ValueError(
        f"metric={metric!r} is unknown here; choose one of {', '.join(sorted(GEOMETRIES))}"
    )
