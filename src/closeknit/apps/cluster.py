"""Spectral clustering: k-means among the smoothest vectors on the graph."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from closeknit.apps._shared import by_size, check_count, fit_graph, pairwise_tags, validate_points
from closeknit.exceptions import DisconnectedWarning
from closeknit.linalg import Eigenvectors, graph_eigenvectors
from closeknit.progress import report

__all__ = ["SpectralClustering"]

Array = NDArray[np.float64]


class SpectralClustering(ClusterMixin, BaseEstimator):
    """Cut the graph of entropic affinities where it is thinnest.

    The cut into k clusters of least normalised weight is found approximately, from the k smoothest
    vectors on the graph: those with the smallest eigenvalues of L u = λ D u. Points of one cluster
    have nearly the same entries in all of them.

    Parameters
    ----------
    n_clusters : int, default=8
    perplexity : float, default=30.0
        Effective number of neighbours of each point.
    affinity : "entropic", "precomputed" or transformer, default="entropic"
        As in :class:`~closeknit.TSNE`; ``"precomputed"`` means that `X` holds symmetric affinities.
    metric : str, default="euclidean"
    n_neighbors : "auto", int or None, default="auto"
        As in :class:`~closeknit.EntropicAffinities`.
    variant : {"ncut", "njw"}, default="njw"
        ``"ncut"`` clusters the entries of the vectors u (Shi and Malik); ``"njw"`` those of the
        symmetric Laplacian's eigenvectors D^(1/2) u, each point's scaled to length one (Ng, Jordan
        and Weiss).
    n_init : int, default=10
        Starts of k-means; the tightest clustering is taken.
    tol : float, default=1e-4
        Largest residual of an eigenvector relative to its eigenvalue.
    max_iter : int, default=200
        Iterations of the eigensolver.
    n_jobs : int or None, default=-1
        Threads for neighbours and affinities; the result is the same for any.
    random_state : int, RandomState or None, default=None
        Seeds approximate neighbours, the eigensolver's start and k-means. None is a new seed each
        time.
    verbose : bool, default=False

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        From 0 to n_clusters − 1, the largest cluster first; −1 for points about which the graph
        says nothing (see Notes).
    embedding_ : ndarray of shape (n_samples, n_clusters)
        The vectors among which k-means looked for clusters.
    eigenvalues_ : ndarray of shape (n_clusters,)
        A large step behind the last one speaks for this number of clusters.
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The symmetric graph that was cut.
    n_iter_ : int
        Iterations of the eigensolver; 1 for small graphs, which are solved directly.

    Notes
    -----
    Connected components are never joined while there are clusters left for them. If there are more
    components than clusters, the graph cannot tell which of them belong together: the `n_clusters`
    largest are the clusters, the points of all others are labelled −1, and a warning says so.

    References
    ----------
    Shi and Malik (2000), Normalized cuts and image segmentation; Ng, Jordan and Weiss (2002), On
    spectral clustering: analysis and an algorithm.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import adjusted_rand_score
    >>> X, y = make_moons(400, noise=0.05, random_state=0)
    >>> labels = ck.SpectralClustering(2, perplexity=10, random_state=0).fit_predict(X)
    >>> float(adjusted_rand_score(y, labels))
    1.0
    """

    saved_state: tuple[str, ...] = (
        "n_features_in_",
        "affinity_estimator_",
        "affinities_",
        "n_iter_",
        "eigenvalues_",
        "embedding_",
        "labels_",
    )

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        perplexity: float = 30.0,
        affinity: Any = "entropic",
        metric: str = "euclidean",
        n_neighbors: int | str | None = "auto",
        variant: str = "njw",
        n_init: int = 10,
        tol: float = 1e-4,
        max_iter: int = 200,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.n_clusters = n_clusters
        self.perplexity = perplexity
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.variant = variant
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the points of `X`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; distances with ``metric="precomputed"``, affinities with
            ``affinity="precomputed"``.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        X = validate_points(self, X, ensure_min_samples=2)
        self._check_parameters(X.shape[0])
        self.affinities_ = fit_graph(self, X)
        rng = check_random_state(self.random_state)
        found = graph_eigenvectors(
            self.affinities_,
            self.n_clusters,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=rng,
            n_jobs=self.n_jobs,
        )
        self.eigenvalues_, self.n_iter_ = found.values, max(1, found.n_iter)
        self.embedding_ = _coordinates(found, self.variant)
        count, component = connected_components(self.affinities_, directed=False)
        if count >= self.n_clusters:
            self.labels_ = _largest(component, self.n_clusters)
        else:
            report("clusters")
            self.labels_ = _tightest(self.embedding_, self.n_clusters, self.n_init, rng)
        return self

    def _check_parameters(self, n_samples: int) -> None:
        check_count("n_clusters", self.n_clusters)
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter)
        if self.n_clusters > n_samples:
            raise ValueError(
                f"n_clusters={self.n_clusters} needs at least as many points, "
                f"got n_samples = {n_samples}"
            )
        if self.variant not in ("ncut", "njw"):
            raise ValueError(f"unknown variant {self.variant!r}; use 'ncut' or 'njw'")
        if not 0.0 < self.tol < 1.0:
            raise ValueError(f"tol={self.tol} must lie between 0 and 1")

    def __sklearn_tags__(self) -> Any:
        return pairwise_tags(self, super().__sklearn_tags__())


def _coordinates(found: Eigenvectors, variant: str) -> Array:
    if variant == "ncut":
        return found.vectors / found.roots[:, None]
    lengths = np.linalg.norm(found.vectors, axis=1, keepdims=True)
    return np.divide(found.vectors, lengths, out=np.zeros_like(found.vectors), where=lengths > 0.0)


def _largest(component: NDArray[Any], n_clusters: int) -> NDArray[np.int32]:
    """Number the largest components; what is left over is -1."""
    labels = by_size(component)
    if labels.max() >= n_clusters:
        left_over = labels >= n_clusters
        warnings.warn(
            f"the graph falls into {labels.max() + 1} components, more than "
            f"n_clusters={n_clusters}: the largest are the clusters and the {left_over.sum()} "
            "points of the others are labelled -1; raise perplexity or n_neighbors to connect them",
            DisconnectedWarning,
            stacklevel=3,
        )
        labels[left_over] = -1
    return labels


def _tightest(points: Array, n_clusters: int, n_init: int, rng: Any) -> NDArray[np.int32]:
    # Several threads would add up the means in any order, and the bits with them.
    with threadpool_limits(1):
        return by_size(KMeans(n_clusters, n_init=n_init, random_state=rng).fit_predict(points))
