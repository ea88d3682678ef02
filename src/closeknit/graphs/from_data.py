"""From data to the graph of their affinities, as every estimator makes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.affinities import EntropicAffinities
from closeknit.linalg import (
    canonical,
    check_finite,
    check_symmetric,
    check_weights,
    core_graph,
    real_array,
    sorted_rows,
)

#: Parameters that say which affinities; all but the first are those of entropic ones.
_PARAMETERS = (
    "affinity",
    "perplexity",
    "n_neighbors",
    "metric",
    "metric_params",
    "neighbors",
    "n_jobs",
    "random_state",
    "verbose",
)


def affinity_graph(
    X: Any, estimator: Any, *, symmetric: bool = True, **changed: Any
) -> tuple[csr_matrix, Any]:
    """Make the graph of affinities that the parameters of an estimator ask for.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Points, distances if ``metric="precomputed"``, or affinities if ``affinity="precomputed"``;
        not changed.
    estimator : object
        Its parameter `affinity` is ``"entropic"`` (as without it), ``"precomputed"``, a transformer
        from `X` to affinities, or an object of openTSNE that holds those of `X`. Of the parameters
        `perplexity`, `n_neighbors`, `metric`, `metric_params`, `neighbors`, `n_jobs`,
        `random_state` and `verbose`, entropic affinities take those that it has.
    symmetric : bool, default=True
        Whether to average the affinities with their transpose, and to refuse given ones that are
        not symmetric. With False there is a distribution per point.
    **changed
        Parameters that replace those of the estimator.

    Returns
    -------
    W : csr_matrix of shape (n_samples, n_samples)
        Without diagonal and zeros, and in canonical format; only rows of sparse entropic affinities
        that are not to be symmetric are left as they are. It may share its arrays with `X`, and
        must not be changed.
    transformer : object or None
        Fitted, for the affinities of new points; None if affinities were given.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.graphs import affinity_graph
    >>> W, fitted = affinity_graph(load_iris().data, ck.TSNE(perplexity=10))
    >>> W.shape, fitted.perplexity
    ((150, 150), 10)
    """
    names = [name for name in _PARAMETERS if hasattr(estimator, name)]
    parameters: dict[str, Any] = {name: getattr(estimator, name) for name in names} | changed
    affinity, n_jobs = parameters.pop("affinity", "entropic"), parameters.get("n_jobs", -1)
    check = partial(check_symmetric, n_jobs=n_jobs) if symmetric else check_weights
    if isinstance(affinity, str) and affinity == "precomputed":
        return check(X), None
    if isinstance(affinity, str) and affinity == "entropic":
        transformer: Any = EntropicAffinities(**parameters)
    elif hasattr(affinity, "fit_transform"):
        transformer = clone(affinity)
    elif sparse.issparse(getattr(affinity, "P", None)) and hasattr(affinity, "to_new"):
        return _from_opentsne(affinity, X.shape[0], check)
    else:
        raise ValueError(
            f"unknown affinity {affinity!r}; use 'entropic', 'precomputed', a transformer such as "
            "closeknit.affinities.FixedAffinities(), or affinities of openTSNE"
        )
    # The estimator has looked for NaN already, and the frames that the user may have asked
    # scikit-learn for everywhere hold no sparse matrices.
    with config_context(assume_finite=True, transform_output="default"):
        P = transformer.fit_transform(X)
    if P.shape != (X.shape[0], X.shape[0]):
        raise ValueError(f"the affinity transformer gave shape {P.shape} for {X.shape[0]} points")
    if affinity != "entropic" or not sparse.issparse(P):
        return check_weights(symmetrize(P, n_jobs=n_jobs) if symmetric else P), transformer
    if not symmetric:
        return P, transformer
    # Sparse entropic affinities are finite, positive but for underflow, and without diagonal.
    P = sorted_rows(P)
    W = mean_of(P, P.T.tocsr(), n_jobs)
    if not W.data.all():
        W.eliminate_zeros()
    return W, transformer


@dataclass(frozen=True)
class _OpenTSNE:
    """Affinities of openTSNE as a fitted transformer."""

    affinity: Any

    def transform(self, X: Any) -> Any:
        return self.affinity.to_new(X)


def _from_opentsne(
    affinity: Any, n_samples: int, check: Callable[[Any], csr_matrix]
) -> tuple[csr_matrix, _OpenTSNE]:
    if affinity.P.shape[0] != n_samples:
        raise ValueError(
            f"affinity={type(affinity).__name__} holds {affinity.P.shape[0]} points, but X "
            f"{n_samples}; pass the data that it was made of"
        )
    return check(affinity.P), _OpenTSNE(affinity)


def symmetrize(P: Any, *, n_jobs: int | None = -1) -> Any:
    """Average a matrix with its transpose: (P + Pᵀ) / 2.

    Parameters
    ----------
    P : sparse matrix or array-like of shape (n_samples, n_samples)
        Not changed.
    n_jobs : int or None, default=-1
        Threads; the result is the same for any.

    Returns
    -------
    csr_matrix or ndarray
        Sparse if `P` is. If rows of `P` sum to 1, all entries sum to n_samples.

    Examples
    --------
    >>> from closeknit.graphs import symmetrize
    >>> symmetrize([[0.0, 1.0], [0.5, 0.0]])
    array([[0.  , 0.75],
           [0.75, 0.  ]])
    """
    if not sparse.issparse(P):
        P = real_array(P, "a graph")
        if P.ndim != 2 or P.shape[0] != P.shape[1]:
            raise ValueError(f"a graph must be square, got shape {P.shape}")
        check_finite(P, "the graph")
        return 0.5 * (P + P.T)
    P = canonical(P, name="a graph")
    check_finite(P.data, "the graph")
    return mean_of(P, P.T.tocsr(), n_jobs)  # whose rows are sorted


def mean_of(P: csr_matrix, T: csr_matrix, n_jobs: int | None = -1) -> csr_matrix:
    """Average two matrices row by row: (P + T) / 2.

    Parameters
    ----------
    P, T : csr_matrix of shape (n_rows, n_columns)
        In canonical format, with indices of one type.
    n_jobs : int or None, default=-1

    Returns
    -------
    csr_matrix of shape (n_rows, n_columns)

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.graphs import mean_of
    >>> mean_of(csr_matrix([[0.0, 1.0]]), csr_matrix([[0.5, 0.0]])).toarray()
    array([[0.25, 0.5 ]])
    """
    n, threads = P.shape[0], effective_n_jobs(n_jobs)
    rows = (core_graph(P), core_graph(T))
    counts = np.empty(n, dtype=P.indptr.dtype)
    _core.merged_counts(*rows, counts, threads)
    total = int(counts.sum(dtype=np.int64))
    if total > np.iinfo(P.indices.dtype).max:
        return sparse.csr_matrix(0.5 * (P + T))  # SciPy widens the indices
    indptr = np.zeros(n + 1, dtype=P.indptr.dtype)
    np.cumsum(counts, out=indptr[1:])
    indices, data = np.empty(total, dtype=P.indices.dtype), np.empty(total)
    _core.merged_mean(*rows, indptr, indices, data, threads)
    return sparse.csr_matrix((data, indices, indptr), shape=P.shape)
