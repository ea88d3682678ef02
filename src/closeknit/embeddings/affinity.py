"""From what users pass as `affinity` to one matrix of distributions."""

from __future__ import annotations

from typing import Any

from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

from closeknit.affinities import EntropicAffinities

__all__ = ["fit_affinities"]


def fit_affinities(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Affinities of the points of `X`, and the transformer for new ones.

    Parameters
    ----------
    estimator : object
        With the parameters `affinity`, `perplexity`, `metric`, `n_neighbors`, `neighbors`,
        `n_jobs`, `random_state` and `verbose`.
    X : array or sparse matrix
        Data, distances, or affinities if ``affinity="precomputed"``; checked already.

    Returns
    -------
    P : csr_matrix or ndarray of shape (n_samples, n_samples)
    transformer : object or None
        None for precomputed affinities.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.embeddings import fit_affinities
    >>> from sklearn.datasets import load_iris
    >>> P, transformer = fit_affinities(ck.TSNE(), load_iris().data)
    >>> P.shape, type(transformer).__name__
    ((150, 150), 'EntropicAffinities')
    """
    affinity = estimator.affinity
    if isinstance(affinity, str):
        if affinity == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"affinity='precomputed' needs a square matrix of affinities, got {X.shape}"
                )
            return X, None
        if affinity != "entropic":
            raise ValueError(
                f"unknown affinity {affinity!r}; use 'entropic', 'precomputed' or a transformer "
                "such as closeknit.affinities.FixedAffinities()"
            )
        affinity = EntropicAffinities(
            estimator.perplexity,
            n_neighbors=estimator.n_neighbors,
            metric=estimator.metric,
            neighbors=getattr(estimator, "neighbors", "auto"),
            n_jobs=estimator.n_jobs,
            random_state=estimator.random_state,
            verbose=estimator.verbose,
        )
    elif hasattr(affinity, "fit_transform"):
        affinity = clone(affinity)
    else:
        raise ValueError(f"affinity must be a name or a transformer, got {affinity!r}")
    with config_context(assume_finite=True):  # not to look for NaN a second time
        P = affinity.fit_transform(X)
    if P.shape != (X.shape[0], X.shape[0]):
        raise ValueError(f"the affinity transformer gave shape {P.shape} for {X.shape[0]} points")
    return (sparse.csr_matrix(P) if sparse.issparse(P) else P), affinity
