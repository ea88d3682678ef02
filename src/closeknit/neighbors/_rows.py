"""Hand data to the compiled core, dense or sparse, without copying where possible."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from closeknit import _core

__all__ = ["Data", "as_rows", "candidate_distances"]

Data: TypeAlias = Any  # an (n_samples, n_features) array or CSR matrix of float32 or float64


def as_rows(X: Data) -> _core.Rows:
    """Wrap a float32 or float64 matrix, C-ordered or CSR, for the compiled core."""
    if sp.issparse(X):
        return _core.Rows(
            np.ascontiguousarray(X.data),
            np.ascontiguousarray(X.indptr, dtype=np.int64),
            np.ascontiguousarray(X.indices, dtype=np.int32),
            X.shape[1],
        )
    return _core.Rows(np.ascontiguousarray(X))


def candidate_distances(
    queries: Data,
    points: Data,
    candidates: npt.NDArray[np.integer[Any]],
    *,
    addend: npt.NDArray[np.float64] | None = None,
    n_threads: int = 1,
) -> npt.NDArray[np.float64]:
    """Squared Euclidean distances Σ(x−y)² from each query to its own candidates, in float64.

    Parameters
    ----------
    queries, points : array or CSR matrix
        Both dense or both sparse, of one dtype.
    candidates : (n_queries, n_candidates) integer array
        Rows of `points`; negative entries get an infinite distance.
    addend : (n_points,) array, optional
        Added to the squared distance of each point.
    n_threads : int

    Returns
    -------
    (n_queries, n_candidates) array

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> candidate_distances(X, X, np.array([[1], [-1]]))
    array([[25.],
           [inf]])
    """
    out = np.empty(candidates.shape)
    _core.candidate_distances(
        as_rows(queries),
        as_rows(points),
        addend,
        np.ascontiguousarray(candidates, dtype=np.int64),
        out,
        n_threads,
    )
    return out
