"""Mean shift: every point climbs the density to a mode."""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.spatial import cKDTree
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from closeknit.affinities import EntropicAffinities
from closeknit.apps._shared import by_size, check_count
from closeknit.exceptions import NotConvergedWarning
from closeknit.neighbors import Neighbors, fit_index

__all__ = ["MeanShift"]

Array = NDArray[np.float64]

#: Points that move at a time: their neighbours' weights take some 100 MB.
CHUNK = 65_536


class MeanShift(ClusterMixin, BaseEstimator):
    """Cluster points by the mode of the density that each of them climbs to.

    The density is a sum of Gaussians, one for each point, as wide as that point's entropic
    bandwidth σ: narrow where points are dense, wide where they are rare. There is no number of
    clusters to choose, only the perplexity; larger ones give fewer modes.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours that sets the bandwidths.
    n_neighbors : "auto" or int, default="auto"
        Neighbours that count, for the bandwidths and for the density at any place; ``"auto"`` means
        ⌈3 · perplexity⌉.
    neighbors : {"auto", "exact", "approximate"} or index, default="auto"
        How they are found: see :func:`closeknit.neighbors.find_neighbors`.
    merge : float, default=1.0
        End points nearer than this times the bandwidth at the denser one are the same mode.
    tol : float, default=1e-3
        A point has arrived when it moves by less than this times its bandwidth.
    max_iter : int, default=300
    n_jobs : int or None, default=-1
        Threads for the neighbours; the result is the same for any.
    random_state : int, RandomState or None, default=None
        Seeds approximate neighbours.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Which mode each point climbed to, the one with the most points first.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The modes.
    sigmas_ : ndarray of shape (n_samples,)
        Bandwidths.
    n_iter_ : int
        Steps of the point that took the most.

    Notes
    -----
    A step moves x to the mean of its neighbours, weighted by
    ``σ_n^(−D−2) exp(−‖x − x_n‖² / 2σ_n²)`` for D features: where the density's gradient would
    vanish if the weights stayed. The density never falls, except that the set of nearest neighbours
    changes on the way, by which weights of the size of the farthest neighbour's are exchanged.

    References
    ----------
    Comaniciu, Ramesh and Meer (2001), The variable bandwidth mean shift and data-driven scale
    selection; Carreira-Perpiñán (2006), Fast nonparametric clustering with Gaussian blurring
    mean-shift.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.metrics import adjusted_rand_score
    >>> X, y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> model = ck.MeanShift(perplexity=60).fit(X)
    >>> model.cluster_centers_.shape
    (3, 2)
    >>> float(adjusted_rand_score(y, model.labels_))
    1.0
    """

    def __init__(
        self,
        perplexity: float = 30.0,
        *,
        n_neighbors: int | str = "auto",
        neighbors: Any = "auto",
        merge: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 300,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ):
        self.perplexity = perplexity
        self.n_neighbors = n_neighbors
        self.neighbors = neighbors
        self.merge = merge
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Let every point of `X` climb.

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
        X = validate_data(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
        options = {"n_jobs": self.n_jobs, "random_state": self.random_state}
        affinities = EntropicAffinities(
            self.perplexity, n_neighbors=self.n_neighbors, neighbors=self.neighbors, **options
        ).fit(X)
        self.sigmas_ = affinities.sigmas_
        assert affinities.neighbors_ is not None  # n_neighbors=None was refused
        n_counting = affinities.neighbors_.indices.shape[1] + 1  # the point itself counts, too
        self._density = _Density(X, self.sigmas_, affinities._index, n_counting)
        ends, self.n_iter_ = self._climb(X)
        labels, modes = _merge(ends, *self._density.at(ends), self.merge)
        self.labels_ = by_size(labels)
        self.cluster_centers_ = np.empty_like(modes)
        self.cluster_centers_[self.labels_] = modes[labels]
        self._ends = fit_index(ends, "euclidean", "exact", n_jobs=self.n_jobs)
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Let new points climb, each on its own, and look whose mode they come to.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new,)
            The label of the fitted point whose end is nearest to the new point's.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        ends, _ = self._climb(X)
        return self.labels_[self._ends.query(ends, 1).indices[:, 0]]

    def _climb(self, X: Array) -> tuple[Array, int]:
        ends, n_iter, n_moving = self._density.climb(X, self.tol, self.max_iter)
        if n_moving:
            warnings.warn(
                f"{n_moving} of {len(X)} points still moved after max_iter={self.max_iter} steps; "
                "raise max_iter or tol",
                NotConvergedWarning,
                stacklevel=3,
            )
        return ends, n_iter

    def _check_parameters(self) -> None:
        check_count("max_iter", self.max_iter)
        if self.n_neighbors is None:
            raise ValueError("n_neighbors=None has no meaning here; use 'auto' or a number")
        if isinstance(self.neighbors, Neighbors | tuple):
            raise ValueError(
                "points that move need new neighbours: neighbors= must be 'auto', 'exact', "
                "'approximate' or an index, not the neighbours themselves"
            )
        if not 0.0 < self.tol < 1.0:
            raise ValueError(f"tol={self.tol} must lie between 0 and 1")
        if not 0.0 < self.merge < math.inf:
            raise ValueError(f"merge={self.merge} must be a positive number")


class _Density:
    """Gaussians of different widths around points, of which the nearest count at any place."""

    def __init__(self, X: Array, sigmas: Array, index: Any, n_counting: int) -> None:
        self._X = X
        self._index = index
        self._n_counting = n_counting
        self._sigmas = _usable(sigmas)

    def climb(self, starts: Array, tol: float, max_iter: int) -> tuple[Array, int, int]:
        """Return where each start ends, the number of steps, and how many had not arrived."""
        places = starts.copy()
        shortest = tol * self.at(starts)[1]
        moving = np.arange(len(places))
        step = 0
        while len(moving) and step < max_iter:
            step += 1
            before = places[moving]
            places[moving] = after = self._shifted(before)
            moving = moving[np.linalg.norm(after - before, axis=1) > shortest[moving]]
        return places, step, len(moving)

    def at(self, places: Array) -> tuple[Array, Array]:
        """Return the density's logarithm, up to a constant, and the nearest point's bandwidth."""
        near, exponents = self._exponents(places)
        logs = logsumexp(exponents - self._X.shape[1] * np.log(self._sigmas[near]), axis=1)
        return logs, self._sigmas[near[:, 0]]

    def _shifted(self, places: Array) -> Array:
        parts = [
            self._means(places[first : first + CHUNK]) for first in range(0, len(places), CHUNK)
        ]
        return np.concatenate(parts)

    def _means(self, places: Array) -> Array:
        near, exponents = self._exponents(places)
        exponents -= (self._X.shape[1] + 2) * np.log(self._sigmas[near])
        weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        pointers = np.arange(0, near.size + 1, near.shape[1])
        shape = (len(places), len(self._X))
        # A sparse product adds up each row on its own and in order: batches do not matter.
        return csr_matrix((weights.ravel(), near.ravel(), pointers), shape=shape) @ self._X

    def _exponents(self, places: Array) -> tuple[NDArray[Any], Array]:
        found = self._index.query(places, self._n_counting)
        return found.indices, -0.5 * found.sq_distances / self._sigmas[found.indices] ** 2


def _usable(sigmas: Array) -> Array:
    """Replace bandwidths of 0 (many duplicates) and ∞ (no differences) by the nearest others."""
    good = sigmas[(sigmas > 0.0) & np.isfinite(sigmas)]
    return np.clip(sigmas, good.min(), good.max()) if len(good) else np.ones_like(sigmas)


def _merge(ends: Array, density: Array, scales: Array, merge: float) -> tuple[Any, Array]:
    """Gather end points around the densest ones; return which each belongs to, and these."""
    tree = cKDTree(ends)
    labels = np.full(len(ends), -1)
    modes: list[int] = []
    for end in np.argsort(-density, kind="stable"):
        if labels[end] < 0:
            around = np.array(tree.query_ball_point(ends[end], merge * scales[end]))
            labels[around[labels[around] < 0]] = len(modes)
            modes.append(end)
    return labels, ends[modes]
