"""Spectral clustering: k-means among the smoothest vectors on the graph."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from closeknit._arrays import Array, Integers
from closeknit._checks import check_number
from closeknit._labels import by_size
from closeknit._threads import single_threaded_blas
from closeknit.exceptions import DisconnectedWarning, NotConvergedWarning
from closeknit.graphs import affinity_graph
from closeknit.linalg import Eigenvectors, graph_eigenvectors
from closeknit.neighbors import DataInputMixin, check_data
from closeknit.progress import report, shown


@dataclass(repr=False, eq=False)
class SpectralClustering(DataInputMixin, ClusterMixin, BaseEstimator):
    """Spectral clustering on the graph of entropic affinities, cut where few edges cross.

    The cut of least normalised weight into k clusters is found approximately, from the k smoothest
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
    metric_params : dict or None, default=None
    n_neighbors, neighbors : default="auto"
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
        The rows that k-means clustered.
    eigenvalues_ : ndarray of shape (n_clusters,)
        A large gap after the last one speaks for this number of clusters.
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The symmetric graph that was cut.
    n_iter_ : int
        Iterations of the eigensolver; 1 for small graphs, which are solved directly.
    stopped_because_ : {"converged", "max_iter", "interrupted"}
    affinity_estimator_ : object or None
        What made the graph; None if it was given.

    Notes
    -----
    Connected components are never joined while there are clusters left for them. If there are more
    components than clusters, the graph cannot tell which of them belong together: the `n_clusters`
    largest are the clusters, the points of all others are labelled −1, and a warning says so.

    An interrupt (Ctrl-C) ends the search for vectors with the best so far, and k-means after one
    start instead of several. Before there are vectors, and a second time, it is passed on and
    leaves the estimator as it was.

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

    saved_state: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "affinity_estimator_",
        "affinities_",
        "eigenvalues_",
        "embedding_",
        "labels_",
        "n_iter_",
        "stopped_because_",
    )

    n_clusters: int = 8
    _: KW_ONLY
    perplexity: float = 30.0
    affinity: Any = "entropic"
    metric: str = "euclidean"
    metric_params: dict[str, Any] | None = None
    n_neighbors: int | str | None = "auto"
    neighbors: Any = "auto"
    variant: str = "njw"
    n_init: int = 10
    tol: float = 1e-4
    max_iter: int = 200
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool = False

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
        X = check_data(X, estimator=self, ensure_min_samples=2)
        self._check_parameters(X.shape[0])
        rng = check_random_state(self.random_state)
        with shown(self.verbose):
            W, affinity_estimator = affinity_graph(X, self)
            found = graph_eigenvectors(
                W,
                self.n_clusters,
                tol=self.tol,
                max_iter=self.max_iter,
                random_state=rng,
                n_jobs=self.n_jobs,
            )
            vectors, stopped_because = _coordinates(found, self.variant), found.stopped_because
            if found.components.max() + 1 >= self.n_clusters:
                labels = _largest(found.components, self.n_clusters)
            else:
                report("clusters")
                # After an interrupt one start has to do.
                n_init = 1 if stopped_because == "interrupted" else self.n_init
                labels, interrupted = _tightest(vectors, self.n_clusters, n_init, rng)
                stopped_because = "interrupted" if interrupted else stopped_because
        self.affinities_, self.affinity_estimator_ = W, affinity_estimator
        self.eigenvalues_, self.embedding_, self.labels_ = found.values, vectors, labels
        self.n_iter_, self.stopped_because_ = max(1, found.n_iter), stopped_because
        return self

    def _check_parameters(self, n_samples: int) -> None:
        check_number("n_clusters", self.n_clusters, integer=True, least=1)
        check_number("n_init", self.n_init, integer=True, least=1)
        check_number("max_iter", self.max_iter, integer=True, least=1)
        if self.n_clusters > n_samples:
            raise ValueError(
                f"n_clusters={self.n_clusters} needs at least as many points, "
                f"got n_samples = {n_samples}"
            )
        if self.variant not in ("ncut", "njw"):
            raise ValueError(f"unknown variant {self.variant!r}; use 'ncut' or 'njw'")
        check_number("tol", self.tol, share=True)


def _coordinates(found: Eigenvectors, variant: str) -> Array:
    if variant == "ncut":
        return found.vectors / found.roots[:, None]
    lengths = np.linalg.norm(found.vectors, axis=1, keepdims=True)
    return np.divide(found.vectors, lengths, out=np.zeros_like(found.vectors), where=lengths > 0.0)


def _largest(components: Integers, n_clusters: int) -> Integers:
    """Label the largest components, which are numbered by size; the points of others are -1."""
    labels = components.astype(np.int32)
    left_over = labels >= n_clusters
    if left_over.any():
        warnings.warn(
            f"the graph has {labels.max() + 1} components, more than n_clusters={n_clusters}: the "
            f"largest are the clusters and the {left_over.sum()} points of the others are labelled "
            "-1; raise perplexity or n_neighbors to connect them",
            DisconnectedWarning,
            stacklevel=3,
        )
        labels[left_over] = -1
    return labels


def _tightest(points: Array, n_clusters: int, n_init: int, rng: Any) -> tuple[Integers, bool]:
    """Return the best clustering of k-means, and whether an interrupt left it with one start."""
    # Several threads would add up the means in any order, and change the bits with it.
    with single_threaded_blas(), threadpool_limits(1, "openmp"):
        try:
            k_means = KMeans(n_clusters, n_init=n_init, random_state=rng)
            return by_size(k_means.fit_predict(points)), False
        except KeyboardInterrupt:
            if n_init == 1:
                raise
            warnings.warn(
                f"interrupted: k-means takes one start instead of n_init={n_init}",
                NotConvergedWarning,
                stacklevel=3,
            )
            return by_size(k_means.set_params(n_init=1).fit_predict(points)), True
