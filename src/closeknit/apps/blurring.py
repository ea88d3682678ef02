"""Gaussian blurring mean shift: all points move to their means at once, again and again."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from closeknit._arrays import Array
from closeknit._labels import by_size
from closeknit._threads import chunks, effective_n_jobs
from closeknit.apps.shifting import BaseMeanShift, merge_ends, positive
from closeknit.exceptions import NotConvergedWarning
from closeknit.neighbors import candidate_distances, check_data, fit_index
from closeknit.progress import listening, report, shown

#: Points nearer than this, in bandwidths, are counted as one place that others are drawn to.
_SAME = 1e-4
_BYTES = 64  # working memory per affinity


@dataclass(repr=False, eq=False)
class BlurringMeanShift(BaseMeanShift):
    """Cluster points by letting all of them move to their means at once: X ← PX.

    P holds the affinities exp(−‖x_n − x_m‖² / 2σ_n²) between the points where they are now, each
    point's own included, with rows that sum to 1. The bandwidths σ_n are the entropic ones of the
    points as given. Clusters shrink to points within a few iterations, fewer than those in which
    :class:`MeanShift` finds its modes, and hardly move from then on, which ends it.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours that sets the bandwidths.
    n_neighbors : "auto" or int, default="auto"
        Neighbours that count, for the bandwidths and for the means; ``"auto"`` means
        ⌈3 · perplexity⌉. Points that have come together count as one, as heavy as they are many.
    neighbors : {"auto", "exact", "approximate"} or index, default="auto"
        How they are found: see :func:`closeknit.neighbors.find_neighbors`.
    merge : float, default=1.0
        End points nearer than this times the bandwidth at the heavier one are the same cluster.
    tol : float, default=1e-3
        The fit ends when no point moves by more than this times its bandwidth.
    max_iter : int, default=300
    n_jobs : int or None, default=-1
        Threads; the result is the same for any.
    random_state : int, RandomState or None, default=None
        Seeds approximate neighbours.
    verbose : bool, default=False

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each point, the largest first.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        Where the clusters shrank to.
    places_ : ndarray of shape (n_samples, n_features)
        Where each point is after the last iteration.
    sigmas_ : ndarray of shape (n_samples,)
        Bandwidths.
    n_iter_ : int
    stopped_because_ : {"converged", "max_iter"}

    References
    ----------
    Carreira-Perpiñán (2006), Fast nonparametric clustering with Gaussian blurring mean-shift; the
    entropic affinities paper names it among the methods that they are for.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = ck.BlurringMeanShift(perplexity=60).fit(X)
    >>> model.cluster_centers_.shape, float(adjusted_rand_score(y, model.labels_))
    ((3, 2), 1.0)
    """

    saved_state: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "labels_",
        "cluster_centers_",
        "places_",
        "sigmas_",
        "n_iter_",
        "stopped_because_",
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Let the points of `X` move until they have come together.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = check_data(
            X, estimator=self, accept_sparse=False, dtype=np.float64, ensure_min_samples=2
        )
        with shown(self.verbose):
            fitted = self._affinities(X)
            assert fitted.neighbors_ is not None  # n_neighbors=None was refused
            sigmas = positive(fitted.sigmas_)
            count = 1 + fitted.neighbors_.n_neighbors
            places, groups, moved, n_iter = self._blur(X, sigmas, count)
        moving = moved > self.tol
        if moving:
            warnings.warn(
                f"points still moved after max_iter={self.max_iter} iterations; raise max_iter or "
                "tol",
                NotConvergedWarning,
                stacklevel=2,
            )
        representatives = groups.representatives
        merged, modes = merge_ends(
            places[representatives], groups.sizes, sigmas[representatives], self.merge
        )
        labels = merged[groups.labels]
        self.labels_ = by_size(labels)
        self.cluster_centers_ = np.empty((len(modes), X.shape[1]))
        self.cluster_centers_[self.labels_] = places[representatives[modes]][labels]
        self.places_, self.sigmas_, self.n_iter_ = places, fitted.sigmas_, n_iter
        self.stopped_because_ = "max_iter" if moving else "converged"
        return self

    def _blur(self, X: Array, sigmas: Array, count: int) -> tuple[Array, Groups, float, int]:
        """Move all points until they stay where they are; return the last largest move, too."""
        places, groups = X, Groups(np.arange(len(X)), np.arange(len(X)), np.ones(len(X)))
        options = {"n_jobs": self.n_jobs, "random_state": self.random_state}
        threads = effective_n_jobs(self.n_jobs)
        for n_iter in range(1, self.max_iter + 1):
            report("blurring", n_iter - 1, self.max_iter)
            representatives = places[groups.representatives]
            with listening(None):  # many searches are not stages of their own
                index = fit_index(representatives, "euclidean", self.neighbors, **options)
                near = index.query(places, min(count, len(representatives))).indices
            moved_to = blur(places, representatives, groups.sizes, sigmas, near, threads)
            moved = float((np.linalg.norm(moved_to - places, axis=1) / sigmas).max())
            before, places = len(representatives), moved_to
            groups = groups.regrouped(places, sigmas, near, threads)
            if moved <= self.tol and len(groups.representatives) == before:
                break
        return places, groups, moved, n_iter


@dataclass(frozen=True)
class Groups:
    """Points that have come together.

    Attributes
    ----------
    labels : ndarray of int of shape (n_samples,)
        The group of each point.
    representatives : ndarray of int of shape (n_groups,)
        A point of each group.
    sizes : ndarray of shape (n_groups,)
    """

    labels: NDArray[Any]
    representatives: NDArray[Any]
    sizes: Array

    def regrouped(self, places: Array, sigmas: Array, near: NDArray[Any], n_threads: int) -> Groups:
        """Regroup the points, given the groups near each of them."""
        n, representatives = len(places), places[self.representatives]
        rows, columns = [], []
        for some in chunks(len(near), _BYTES * near.shape[1]):
            apart = candidate_distances(
                places[some], representatives, near[some], n_threads=n_threads
            )
            row, place = np.nonzero(apart <= np.square(_SAME * sigmas[some])[:, None])
            rows.append(row + some.start)
            columns.append(self.representatives[near[some][row, place]])
        ends = (np.concatenate(rows), np.concatenate(columns))
        graph = csr_matrix((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n, n))
        labels = connected_components(graph, directed=False)[1]
        _, first, sizes = np.unique(labels, return_index=True, return_counts=True)
        return Groups(labels, first, sizes.astype(np.float64))


def blur(
    places: Array,
    representatives: Array,
    sizes: Array,
    sigmas: Array,
    near: NDArray[Any],
    n_threads: int,
) -> Array:
    """Move each point to the mean of the groups near it, weighted by size and affinity.

    Parameters
    ----------
    places : ndarray of shape (n_samples, n_features)
    representatives : ndarray of shape (n_groups, n_features)
    sizes : ndarray of shape (n_groups,)
    sigmas : ndarray of shape (n_samples,)
    near : ndarray of int of shape (n_samples, n_near)
        Groups.
    n_threads : int

    Returns
    -------
    ndarray of shape (n_samples, n_features)
    """
    moved = np.empty_like(places)
    for some in chunks(len(near), _BYTES * near.shape[1]):
        weights = candidate_distances(
            places[some], representatives, near[some], n_threads=n_threads
        )
        weights *= -0.5 / np.square(sigmas[some])[:, None]
        np.exp(weights - weights.max(axis=1, keepdims=True), out=weights)
        weights *= sizes[near[some]]
        weights /= weights.sum(axis=1, keepdims=True)
        pointers = np.arange(0, weights.size + 1, near.shape[1])
        shape = (len(weights), len(representatives))
        moved[some] = (
            csr_matrix((weights.ravel(), near[some].ravel(), pointers), shape) @ representatives
        )
    return moved
