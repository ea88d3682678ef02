"""How far a map can be trusted, point by point."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from closeknit._threads import effective_n_jobs
from closeknit.linalg import entry_rows
from closeknit.objectives import Objective

__all__ = ["divergence_terms", "map_neighbors", "neighbors_changed", "neighbors_kept"]

Floats = NDArray[np.float32]
_NEIGHBORS = 15
#: Edges whose terms are in memory at a time.
_CHUNK = 2**22


def map_neighbors(Y: Floats, n_neighbors: int = _NEIGHBORS, n_jobs: int | None = -1) -> Any:
    """The nearest neighbours of every point on a map, without the point itself.

    Parameters
    ----------
    Y : ndarray of shape (n_samples, n_components)
    n_neighbors : int, default=15
    n_jobs : int or None, default=-1

    Returns
    -------
    ndarray of shape (n_samples, n_neighbors)

    Examples
    --------
    >>> map_neighbors(np.array([[0.0], [1.0], [3.0]]), 1).ravel()
    array([1, 0, 1])
    """
    n, k = len(Y), min(n_neighbors, len(Y) - 1)
    _, found = cKDTree(Y).query(Y, range(1, k + 2), workers=effective_n_jobs(n_jobs))
    # The point itself is among the k + 1 nearest unless as many others lie on it.
    own = found == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return found[~own].reshape(n, k)


def _shared(one: NDArray[Any], other: NDArray[Any]) -> Floats:
    """For every row the share of the entries of `one` that are in `other`."""
    counts = np.zeros(len(one), np.float32)
    for column in one.T:
        counts += (other == column[:, None]).any(axis=1)
    return counts / np.float32(one.shape[1])


def neighbors_kept(indices: NDArray[Any], Y: Floats, n_jobs: int | None = -1) -> Floats:
    """Share of each point's nearest neighbours that are among its nearest on the map.

    Parameters
    ----------
    indices : ndarray of shape (n_samples, n_neighbors)
        Neighbours in the data, nearest first, of which the first 15 count.
    Y : ndarray of shape (n_samples, n_components)
    n_jobs : int or None, default=-1

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> neighbors_kept(np.array([[1], [0], [0]]), np.array([[0.0], [1.0], [3.0]]))
    array([1., 1., 0.], dtype=float32)
    """
    wanted = indices[:, :_NEIGHBORS]
    return _shared(wanted, map_neighbors(Y, wanted.shape[1], n_jobs))


def neighbors_changed(Y: Floats, other: Floats, n_jobs: int | None = -1) -> Floats:
    """Share of each point's 15 nearest neighbours on one map that are not so on another.

    Examples
    --------
    >>> line = np.array([[0.0], [1.0], [3.0]])
    >>> neighbors_changed(line, -line)
    array([0., 0., 0.], dtype=float32)
    """
    return np.float32(1.0) - _shared(
        map_neighbors(Y, n_jobs=n_jobs), map_neighbors(other, n_jobs=n_jobs)
    )


def divergence_terms(objective: Objective, Y: Floats) -> Floats:
    """Each point's term of KL(P‖Q), times the number of points: their mean is the divergence.

    Parameters
    ----------
    objective : Objective
        Of any model: its weights and its kernel, both divided by their sums, are P and Q.
    Y : ndarray of shape (n_samples, n_components)

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from closeknit.objectives import TSNE
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> terms = divergence_terms(TSNE(W), np.array([[0.0], [1.0], [2.0]]))
    >>> bool(terms[0] == terms[2]), round(float(terms.mean()), 4)
    (True, 0.1823)
    """
    W, kernel = objective.weights, objective.kernel
    X = np.ascontiguousarray(Y, dtype=np.float64)
    total = float(W.data.sum(dtype=np.float64))
    log_sum = float(np.log(objective.repulsion.values(X, kernel).sum()))
    terms, rows = np.zeros(len(X)), entry_rows(W)
    for start in range(0, W.nnz, _CHUNK):
        part = slice(start, start + _CHUNK)
        p = W.data[part].astype(np.float64) / total
        gap = X[rows[part]] - X[W.indices[part]]
        log_q = kernel.log(np.einsum("ij,ij->i", gap, gap)) - log_sum
        terms += np.bincount(rows[part], p * (np.log(p) - log_q), minlength=len(X))
    return (len(X) * terms).astype(np.float32)
