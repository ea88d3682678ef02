"""Mean shift: every point ascends the density to a mode."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from closeknit._arrays import Array, Integers
from closeknit._labels import by_size
from closeknit.apps.density import SamplePointDensity
from closeknit.apps.mode_search import Ends, find_ends, find_ends_together
from closeknit.apps.shifting import BaseMeanShift, merge_ends
from closeknit.apps.trajectories import Trajectories
from closeknit.exceptions import NotConvergedWarning
from closeknit.neighbors import check_data
from closeknit.progress import shown


@dataclass(repr=False, eq=False)
class MeanShift(BaseMeanShift):
    """Cluster points by the mode of the density that each of them ascends to.

    The density is a sum of Gaussians, one for each point, as wide as that point's entropic
    bandwidth σ: narrow where points are dense, wide where they are sparse. There is no number of
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
    verbose : bool, default=False

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The mode that each point reached, the one with the most points first; -1 for points that
        had not arrived when the fit was interrupted.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The modes.
    sigmas_ : ndarray of shape (n_samples,)
        Bandwidths.
    n_iter_ : int
        Steps of the point that took the most.
    stopped_because_ : {"converged", "max_iter", "interrupted"}
    density_, trajectories_, ends_
        What new points need: the density, places where fitted points passed (None for few points),
        and where they ended.

    Notes
    -----
    A step moves x to the mean of its neighbours, weighted by
    ``σ_n^(−D−2) exp(−‖x − x_n‖² / 2σ_n²)`` for D features: where the density's gradient would
    vanish if the weights stayed, and the density does not fall. On long slopes steps in the same
    direction are stretched, to a quarter of the bandwidth at most, as long as the density grows.
    Neighbours are searched again when a point has moved by half a bandwidth, and before it may
    stop: the modes are those of the nearest neighbours' density, the trajectories are approximate.

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

    saved_state: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "labels_",
        "cluster_centers_",
        "sigmas_",
        "n_iter_",
        "stopped_because_",
        "density_",
        "trajectories_",
        "ends_",
    )

    def restore_state(self) -> None:
        """Check that what was loaded from a file belongs together."""
        if self.density_.X.shape != (len(self.labels_), self.n_features_in_):
            raise ValueError("the density and the labels do not fit each other")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the mode that each point of `X` ascends to.

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
            density, near, sigmas = self._estimate(X)
            ends, known = find_ends_together(density, near, self.tol, self.max_iter, self.n_jobs)
        self._warn_about(ends)
        # After max_iter steps most are nearly there; at an interrupt some have not even started.
        lost = ends.moving & ends.interrupted
        alone = np.flatnonzero((ends.leaders < 0) & ~lost)
        places = ends.places[alone]
        found = density.search(places)
        logs, _ = density.evaluate(places, found)
        merged, densest = merge_ends(places, logs, density.sigmas[found[:, 0]], self.merge)
        modes = places[densest]
        labels = np.full(len(X), -1)
        labels[alone] = merged
        following = ends.leaders >= 0
        labels[following] = labels[ends.leaders[following]]
        self.sigmas_ = sigmas
        self.n_iter_, self.stopped_because_ = ends.n_iter, ends.stopped_because
        self.labels_ = np.full(len(X), -1, dtype=np.int32)
        self.labels_[~lost] = by_size(labels[~lost])
        self.cluster_centers_ = np.empty_like(modes)
        self.cluster_centers_[self.labels_[~lost]] = modes[labels[~lost]]
        self.density_, self.trajectories_ = density, known
        self.ends_ = Trajectories.through(places, alone, self.n_jobs, method="exact")
        return self

    def _estimate(self, X: Array) -> tuple[SamplePointDensity, Integers, Array]:
        """Return the density, the points that count at each point, and the bandwidths."""
        affinities = self._affinities(X)
        assert affinities.neighbors_ is not None  # n_neighbors=None was refused
        others = affinities.neighbors_.indices
        near = np.hstack([np.arange(len(X), dtype=others.dtype)[:, None], others])
        sigmas, index = affinities.sigmas_, affinities.index_
        density = SamplePointDensity(X, sigmas, index, near.shape[1], self.n_jobs)
        return density, near, sigmas

    def predict(self, X: Any) -> Integers:
        """Let new points ascend, each on its own, and return the labels of the modes they reach.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new,)
            The label of the fitted point whose end is nearest to the new point's.
        """
        check_is_fitted(self)
        X = check_data(X, estimator=self, accept_sparse=False, dtype=np.float64, reset=False)
        ends = find_ends(self.density_, X, self.tol, self.max_iter, self.trajectories_)
        self._warn_about(ends)
        alone = ends.leaders < 0
        leaders = ends.leaders.copy()
        leaders[alone] = self.ends_.leaders_near(ends.places[alone])
        return self.labels_[leaders]

    def _warn_about(self, ends: Ends) -> None:
        if not ends.moving.any():
            return
        which = f"{np.count_nonzero(ends.moving)} of {len(ends.places)} points"
        message = f"{which} still moved after max_iter={self.max_iter} steps; raise max_iter or tol"
        if ends.interrupted:
            message = f"interrupted: {which} had not arrived at a mode and are labelled -1"
        warnings.warn(message, NotConvergedWarning, stacklevel=3)
