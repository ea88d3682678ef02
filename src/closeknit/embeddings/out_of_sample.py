"""New points in an embedding whose points stay where they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn import config_context

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import effective_n_jobs
from closeknit.kernels import Kernel
from closeknit.linalg import core_graph
from closeknit.neighbors import check_data
from closeknit.repulsion import Potential


def new_affinities(estimator: Any, X: Any) -> tuple[Any, Integers]:
    """Distributions of new points over the fitted ones, and which of these they coincide with.

    Returns
    -------
    Q : csr_matrix of shape (n_new, n_samples)
        As those of places beside them, also for points that coincide with fitted ones.
    matches : ndarray of shape (n_new,)
        The fitted point at the same place as each new one, or -1.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.embeddings import new_affinities
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> Q, matches = new_affinities(ck.LaplacianEigenmaps().fit(X), [X[7], [9.0, 9.0, 9.0, 9.0]])
    >>> Q.shape, matches.tolist()
    ((2, 150), [7, -1])
    """
    affinity = estimator.affinity_estimator_
    if affinity is None:
        Q = sparse.csr_matrix(check_data(X, estimator=estimator, dtype=np.float64, reset=False))
        if (Q.data < 0.0).any():
            raise ValueError("affinities must not be negative")
        sums = np.asarray(Q.sum(axis=1)).ravel()
        if not (sums > 0.0).all():
            raise ValueError(
                f"row {int(np.argmin(sums > 0.0))} of the new affinities has no neighbour"
            )
        return sparse.csr_matrix(sparse.diags(1.0 / sums) @ Q), np.full(Q.shape[0], -1)
    X = check_data(X, estimator=estimator, reset=False)
    if hasattr(affinity, "transform_and_match"):
        Q, matches = affinity.transform_and_match(X, as_new=True)
    else:
        with config_context(transform_output="default"):  # frames hold no sparse matrices
            Q, matches = affinity.transform(X), np.full(X.shape[0], -1)
    return sparse.csr_matrix(Q), matches


def weighted_means(Q: Any, embedding: Array) -> Array:
    """Each new point at the mean of its neighbours."""
    return np.ascontiguousarray(Q @ embedding)


def place(
    Q: Any,
    embedding: Array,
    kernel: Kernel,
    repulsion: float,
    potential: Potential | None = None,
    *,
    max_iter: int = 1000,
    tol: float = 1e-6,
    n_jobs: int | None = -1,
) -> Array:
    """Minimise every new point's own share of the objective, independently of the others.

    Parameters
    ----------
    Q : csr_matrix of shape (n_new, n_samples)
        Distributions over the fitted points.
    embedding : ndarray of shape (n_samples, n_components)
        The fitted points; they do not move.
    kernel : Kernel
    repulsion : float
        Weight of Σ_m K against Σ_m q_m (−log K).
    potential : Potential or None, default=None
        Σ_m K on a grid; None sums over all points at every step.
    max_iter : int, default=1000
    tol : float, default=1e-6
        A point has converged when a step is shorter than this times the embedding's spread.
    n_jobs : int or None, default=-1

    Returns
    -------
    ndarray of shape (n_new, n_components)
        A row does not depend on the other rows, to the bit.
    """
    positions = weighted_means(Q, embedding)
    spread = float(embedding.std()) or 1.0
    _core.place(
        core_graph(Q),
        np.ascontiguousarray(embedding),
        kernel.code,
        repulsion,
        max_iter,
        tol * spread,
        None if potential is None else potential.field,
        positions,
        effective_n_jobs(n_jobs),
    )
    return positions
