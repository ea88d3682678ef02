"""Where an embedding starts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from closeknit.linalg import Array

__all__ = ["initial_embedding"]

#: Standard deviation of the first coordinate of a start.
_SCALE = 1e-4


def initial_embedding(
    init: Any, X: Any, W: Any, n_components: int, random_state: Any, metric: str
) -> Array:
    """Make the start of an embedding.

    Parameters
    ----------
    init : {"auto", "pca", "eigenmaps", "random"} or array of shape (n_samples, n_components)
        ``"auto"`` is PCA where there are data with enough features, and Laplacian eigenmaps where
        only distances or affinities are given.
    X : array or sparse matrix
        The data, distances or affinities.
    W : csr_matrix of shape (n_samples, n_samples)
        Symmetric affinities.
    n_components : int
    random_state : int, RandomState or None
    metric : str
        ``"precomputed"`` if `X` holds no features.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        A new array.
    """
    n = W.shape[0]
    if not (init is None or isinstance(init, str)):
        return _given(init, n, n_components)
    has_features = metric != "precomputed" and min(X.shape) > n_components
    if init == "auto":
        init = "pca" if has_features else "eigenmaps"
    if init == "random":
        return _SCALE * check_random_state(random_state).standard_normal((n, n_components))
    if init == "pca":
        if not has_features:
            raise ValueError(
                f"init='pca' needs data with more than {n_components} features and samples; "
                "use init='eigenmaps' or 'random'"
            )
        return _scaled(_pca(X, n_components, random_state))
    if init == "eigenmaps":
        from closeknit.embeddings.eigenmaps import eigenmaps

        return _scaled(eigenmaps(W, n_components, random_state=random_state))
    raise ValueError(
        f"unknown init {init!r}; use 'auto', 'pca', 'eigenmaps', 'random' or an array of shape "
        "(n_samples, n_components)"
    )


def _given(init: Any, n: int, n_components: int) -> Array:
    try:
        start = np.array(init, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"init must be an array of numbers: {error}") from error
    if start.shape != (n, n_components):
        raise ValueError(
            f"init has shape {start.shape}, but {n} points in {n_components} components need "
            f"{(n, n_components)}"
        )
    if not np.isfinite(start).all():
        raise ValueError("init contains NaN or infinite values")
    return start


def _pca(X: Any, n_components: int, random_state: Any) -> Array:
    if sparse.issparse(X):
        from sklearn.decomposition import TruncatedSVD

        return TruncatedSVD(n_components, random_state=random_state).fit_transform(X)
    from sklearn.decomposition import PCA

    with np.errstate(invalid="ignore"):  # the explained variance of identical points is 0 / 0
        return PCA(n_components, random_state=random_state).fit_transform(X)


def _scaled(start: Array) -> Array:
    """Shrink so that the first coordinate has the standard deviation of a random start."""
    start = np.asarray(start, dtype=np.float64)
    spread = float(start[:, 0].std())
    return np.ascontiguousarray(start * (_SCALE / spread if spread > 0.0 else 1.0))
