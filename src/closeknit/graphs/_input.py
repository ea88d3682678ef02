"""What users give a sparsifier: points, distances or affinities; and the graph they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from closeknit.affinities import EntropicAffinities
from closeknit.graphs._select import edges_of_sparsity
from closeknit.graphs.symmetrize import symmetrize

__all__ = ["INPUTS", "check_graph", "entropic_graph"]

INPUTS = ("data", "affinities", "distances")


def check_graph(W: Any) -> Any:
    """Return affinities as a CSR matrix of their positive entries off the diagonal.

    Parameters
    ----------
    W : sparse matrix or array-like of shape (n_samples, n_samples)
        Not changed.

    Returns
    -------
    csr_matrix of shape (n_samples, n_samples)
        With sorted indices and no duplicates.
    """
    if len(W.shape) != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(
            f"a graph is a square matrix of weights, got shape {W.shape}; "
            "for points, use input='data'"
        )
    W = sparse.coo_matrix(W, dtype=np.float64)
    if not np.isfinite(W.data).all():
        raise ValueError("the graph has weights that are NaN or infinite; remove those edges")
    if (W.data < 0.0).any():
        raise ValueError(
            f"the graph has negative weights, such as {W.data.min():g}; affinities must be at "
            "least 0 (for distances, use input='distances')"
        )
    others = (W.row != W.col) & (W.data > 0.0)
    W = sparse.csr_matrix((W.data[others], (W.row[others], W.col[others])), shape=W.shape)
    W.sort_indices()
    return W


def entropic_graph(X: Any, estimator: Any) -> Any:
    """Symmetric entropic affinities of points or of given distances.

    Parameters
    ----------
    X : array or sparse matrix
        Points, or distances if the estimator's ``input="distances"``.
    estimator : object
        With the parameters `perplexity`, `n_neighbors`, `sparsity`, `input`, `metric`,
        `neighbors`, `n_jobs`, `random_state` and `verbose`.

    Returns
    -------
    csr_matrix of shape (n_samples, n_samples)
        ``(P + Pᵀ)/2``.
    """
    given = estimator.input == "distances"
    affinities = EntropicAffinities(
        estimator.perplexity,
        n_neighbors=_count_neighbors(estimator, X.shape[0]),
        metric="precomputed" if given else estimator.metric,
        neighbors=estimator.neighbors,
        n_jobs=estimator.n_jobs,
        random_state=estimator.random_state,
        verbose=estimator.verbose,
    )
    return check_graph(symmetrize(affinities.fit_transform(X)))


def _count_neighbors(estimator: Any, n: int) -> Any:
    """Neighbours enough for the perplexity and, with room to choose from, for the sparsity."""
    if estimator.n_neighbors != "auto" or estimator.sparsity is None:
        return estimator.n_neighbors
    largest = np.max(estimator.perplexity)
    wanted = edges_of_sparsity(estimator.sparsity, n) / n
    return min(n - 1, int(np.ceil(max(3.0 * largest, 2.0 * wanted))))
