"""Laplacian eigenmaps: the embedding at λ = 0, with the scale fixed by a constraint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from closeknit.embeddings._validation import check_n_components
from closeknit.embeddings.affinity import fit_affinities
from closeknit.embeddings.mixin import EmbeddingMixin
from closeknit.embeddings.out_of_sample import weighted_means
from closeknit.graphs import symmetrize
from closeknit.linalg import check_symmetric, graph_eigenvectors

__all__ = ["LaplacianEigenmaps", "eigenmaps"]

Array = NDArray[np.float64]


def eigenmaps(
    W: Any, n_components: int, *, random_state: Any = None, n_jobs: int | None = -1
) -> Array:
    """Minimise Σ w ‖x_n − x_m‖² under XᵀDX = I and XᵀD1 = 0.

    Parameters
    ----------
    W : sparse matrix of shape (n_samples, n_samples)
        Symmetric, non-negative weights.
    n_components : int
    random_state : int, RandomState or None, default=None
        Seeds the eigensolver's start.
    n_jobs : int or None, default=-1

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        Connected components of the graph are embedded one by one and laid side by side:
        eigenvectors of the whole graph would only tell the components apart. Isolated points are
        at the origin of their component.
    """
    W = sparse.csr_matrix(W, dtype=np.float64)
    count, label = connected_components(W, directed=False)
    out = np.zeros((W.shape[0], n_components))
    rng = check_random_state(random_state)
    for component in range(count):
        members = np.flatnonzero(label == component)
        part = _connected(W[members][:, members], n_components, rng, n_jobs)
        if count > 1:
            # One component per cell of a grid, sized by its share of the points.
            share = np.sqrt(len(members) / W.shape[0])
            spread = np.abs(part).max()
            part = part * (share / spread if spread > 0.0 else 1.0)
            part = part + _cell(component, count, n_components)
        out[members] = part
    return out


def _cell(component: int, count: int, n_components: int) -> Array:
    side = int(np.ceil(count ** (1.0 / n_components)))
    return 2.5 * np.array(np.unravel_index(component, (side,) * n_components), dtype=np.float64)


def _connected(W: Any, n_components: int, rng: Any, n_jobs: int | None) -> Array:
    """The eigenvectors of L u = λ D u after the constant one, for a connected graph."""
    n = W.shape[0]
    out = np.zeros((n, n_components))
    found = graph_eigenvectors(W, min(n_components + 1, n), random_state=rng, n_jobs=n_jobs)
    rest = found.vectors[:, 1:] / found.roots[:, None]
    out[:, : rest.shape[1]] = rest
    return out


class LaplacianEigenmaps(EmbeddingMixin, BaseEstimator):
    """Laplacian eigenmaps on entropic affinities.

    Parameters
    ----------
    n_components : int, default=2
    perplexity : float, or list or tuple of floats, default=30.0
    affinity : "entropic", "precomputed" or transformer, default="entropic"
        As in :class:`~closeknit.TSNE`.
    metric : str, default="euclidean"
    n_neighbors : "auto", int or None, default="auto"
    n_jobs : int or None, default=-1
    random_state : int, RandomState or None, default=None
    verbose : bool, default=False

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The symmetric graph that was embedded.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data
    representation.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> ck.LaplacianEigenmaps().fit_transform(load_iris().data).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float | Sequence[float] = 30.0,
        affinity: Any = "entropic",
        metric: str = "euclidean",
        n_neighbors: int | str | None = "auto",
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.perplexity = perplexity
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the points of `X`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        check_n_components(self.n_components, X.shape[0])
        P, self.affinity_estimator_ = fit_affinities(self, X)
        given = self.affinity_estimator_ is None
        self.affinities_ = check_symmetric(P if given else symmetrize(P))
        self.embedding_ = eigenmaps(
            self.affinities_,
            self.n_components,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self._n_features_out = self.n_components
        return self

    def _place(self, Q: Any) -> Array:
        # Where Σ q ‖x − x_m‖² is least while the fitted points stay.
        return weighted_means(Q, self.embedding_)
