"""Mean shift: every point climbs the density to a mode."""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from closeknit.affinities import EntropicAffinities
from closeknit.apps._climb import Ascent, climb, climb_together
from closeknit.apps._density import Density, unheard
from closeknit.apps._shared import by_size, check_count
from closeknit.exceptions import NotConvergedWarning
from closeknit.neighbors import Neighbors, fit_index

__all__ = ["MeanShift"]

Array = NDArray[np.float64]


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
        Which mode each point climbed to, the one with the most points first; -1 for points that
        were on the way when the fit was interrupted.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The modes.
    sigmas_ : ndarray of shape (n_samples,)
        Bandwidths.
    n_iter_ : int
        Steps of the point that took the most.
    stopped_because_ : {"converged", "max_iter", "interrupted"}

    Notes
    -----
    A step moves x to the mean of its neighbours, weighted by
    ``σ_n^(−D−2) exp(−‖x − x_n‖² / 2σ_n²)`` for D features: where the density's gradient would
    vanish if the weights stayed, and the density does not fall. On long slopes steps in the same
    direction are stretched, to a quarter of the bandwidth at most, as long as the density grows.
    Neighbours are searched anew when a point has moved by half a bandwidth, and before it may stop:
    the modes are those of the nearest neighbours' density, the ways to them are approximate.

    Of more than some thousand points, later ones that come within a tenth of the bandwidth of a
    place where an earlier one passed end where that one did; so do new points. Only points about as
    near as that to the border between two modes can thereby get another label than they would on
    their own.

    An interrupt (Ctrl-C) keeps the modes and the labels of the points that have arrived at one. If
    none has, it is passed on and leaves the estimator as it was.

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

    saved_state: tuple[str, ...] = (
        "n_features_in_",
        "n_iter_",
        "stopped_because_",
        "sigmas_",
        "labels_",
        "cluster_centers_",
        "_density",
        "_paths",
        "_ends",
        "_end_labels",
    )

    def restore_state(self) -> None:
        """Check that what was loaded from a file belongs together."""
        shape = (len(self.labels_), self.n_features_in_)
        if self._density.X.shape != shape:
            raise ValueError("the density and the labels do not fit each other")

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
        sigmas, density, near = self._estimate(X)
        ascent, paths = climb_together(density, X, near, self.tol, self.max_iter, self.n_jobs)
        del near
        self._warn_of(ascent)
        # After max_iter steps most are nearly there; at an interrupt some have not even started.
        lost = ascent.moving & ascent.interrupted
        alone = np.flatnonzero((ascent.owners < 0) & ~lost)
        ends = ascent.ends[alone]
        found = density.search(ends)
        logs, _ = density.evaluate(ends, found)
        gathered, modes = _merge(ends, logs, density.sigmas[found[:, 0]], self.merge)
        labels = np.full(len(X), -1)
        labels[alone] = gathered
        joined = ascent.owners >= 0
        labels[joined] = labels[ascent.owners[joined]]
        self.sigmas_, self.n_iter_ = sigmas, ascent.n_iter
        self.stopped_because_ = _reason(ascent)
        self.labels_ = np.full(len(X), -1, dtype=np.int32)
        self.labels_[~lost] = by_size(labels[~lost])
        self.cluster_centers_ = np.empty_like(modes)
        self.cluster_centers_[self.labels_[~lost]] = modes[labels[~lost]]
        self._density, self._paths = density, paths
        with unheard():
            self._ends = fit_index(ends, "euclidean", "exact", n_jobs=self.n_jobs)
        self._end_labels = self.labels_[alone]
        return self

    def _estimate(self, X: Array) -> tuple[Array, Density, NDArray[np.int32]]:
        """Return bandwidths, the density, and the points that count at each point."""
        affinities = EntropicAffinities(
            self.perplexity,
            n_neighbors=self.n_neighbors,
            neighbors=self.neighbors,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        ).fit(X)
        assert affinities.neighbors_ is not None  # n_neighbors=None was refused
        others = affinities.neighbors_.indices
        near = np.hstack([np.arange(len(X), dtype=others.dtype)[:, None], others])
        density = Density(
            X,
            affinities.sigmas_,
            affinities.index_,
            near.shape[1],
            self.n_jobs,
        )
        return affinities.sigmas_, density, near

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
        ascent = climb(self._density, X, self.tol, self.max_iter, self._paths)
        self._warn_of(ascent)
        with unheard():
            nearest = self._ends.query(ascent.ends, 1).indices[:, 0]
        joined = ascent.owners >= 0
        return np.where(joined, self.labels_[ascent.owners], self._end_labels[nearest])

    def _warn_of(self, ascent: Ascent) -> None:
        if not ascent.moving.any():
            return
        who = f"{np.count_nonzero(ascent.moving)} of {len(ascent.ends)} points"
        message = f"{who} still moved after max_iter={self.max_iter} steps; raise max_iter or tol"
        if ascent.interrupted:
            message = f"interrupted: {who} had not arrived at a mode and are labelled -1"
        warnings.warn(message, NotConvergedWarning, stacklevel=3)

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


def _reason(ascent: Ascent) -> str:
    if ascent.interrupted:
        return "interrupted"
    return "max_iter" if ascent.moving.any() else "converged"


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
