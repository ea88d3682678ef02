"""Labels of a few points, spread over the graph to all."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from closeknit.apps._shared import check_count, fit_graph, pairwise_tags, validate_points
from closeknit.embeddings.out_of_sample import coinciding_points, new_affinities
from closeknit.exceptions import DisconnectedWarning, NotConvergedWarning
from closeknit.linalg import ApproximateCholesky, conjugate_gradients, multiply, thin

__all__ = ["LabelPropagation", "LabelSpreading"]

Array = NDArray[np.float64]

#: What stands for a missing label, as in scikit-learn.
UNLABELED = -1


class _GraphClassifier(ClassifierMixin, BaseEstimator):
    """What propagation and spreading share: everything but the linear system."""

    saved_state: tuple[str, ...] = (
        "n_features_in_",
        "affinity_estimator_",
        "affinities_",
        "n_iter_",
        "classes_",
        "label_distributions_",
        "transduction_",
    )

    perplexity: float
    affinity: Any
    metric: str
    tol: float
    max_iter: int

    classes_: NDArray[Any]
    label_distributions_: Array

    @abstractmethod
    def _mass(self, W: csr_matrix, given: Array, reached: NDArray[np.bool_]) -> Array:
        """Mass of each class at each point, zero for those that are not reached by any label.

        Rows of `given` are one-hot, or zero without a label.
        """

    def fit(self, X: Any, y: Any) -> Self:
        """Spread the labels `y` over the points of `X`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; distances with ``metric="precomputed"``, affinities with
            ``affinity="precomputed"``.
        y : array-like of shape (n_samples,)
            Classes; −1 where a point has no label.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = validate_points(self, X, ensure_min_samples=2)
        codes = self._encode(y, X.shape[0])
        self.affinities_ = fit_graph(self, X)
        given = np.zeros((len(codes), len(self.classes_)))
        labelled = codes >= 0
        given[labelled, codes[labelled]] = 1.0
        reached = self._reached(labelled)
        mass = self._mass(self.affinities_, given, reached)
        prior = given.sum(axis=0) / given.sum()
        self.label_distributions_ = _normalized(mass, reached, prior)
        self.transduction_ = self.classes_[self.label_distributions_.argmax(axis=1)]
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of new points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new,)
        """
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Array:
        """Shares of each class among the neighbours of new points.

        Each row is the mean of the fitted points' distributions, weighted by the new point's
        affinities to them, and does not depend on the other rows. A new point that coincides with
        a fitted one has that one's distribution.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New points; with ``metric="precomputed"`` their distances to the fitted ones, with
            ``affinity="precomputed"`` their affinities to them.

        Returns
        -------
        ndarray of shape (n_new, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        check_is_fitted(self)
        shares = np.asarray(new_affinities(self, X) @ self.label_distributions_)
        known = coinciding_points(self, X)
        shares[known >= 0] = self.label_distributions_[known[known >= 0]]
        return shares / shares.sum(axis=1, keepdims=True)

    def _encode(self, y: Any, n: int) -> NDArray[np.int64]:
        """Positions in ``classes_``, which this sets; -1 for points without a label."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                f"pass one label per point, {UNLABELED} for those without"
            )
        y = column_or_1d(y, warn=True)
        if len(y) != n:
            raise ValueError(f"y has {len(y)} labels, but X has {n} points")
        labelled = np.asarray(y != UNLABELED)
        if not labelled.any():
            raise ValueError(
                f"no point has a label: all of y is {UNLABELED}, which marks missing ones"
            )
        check_classification_targets(y[labelled])
        codes = np.full(n, -1)
        self.classes_, codes[labelled] = np.unique(y[labelled], return_inverse=True)
        return codes

    def _reached(self, labelled: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which points have a label somewhere in their component; warns if not all."""
        count, component = connected_components(self.affinities_, directed=False)
        reached = (np.bincount(component, labelled, minlength=count) > 0)[component]
        if not reached.all():
            warnings.warn(
                f"{(~reached).sum()} of {len(reached)} points are in components of the graph "
                "without any label; they get the shares of the classes among the labelled points. "
                "Label one point of each component, or raise perplexity or n_neighbors",
                DisconnectedWarning,
                stacklevel=3,
            )
        return reached

    def _solve(self, matrix: csr_matrix, factor: ApproximateCholesky, rhs: Array) -> Array:
        start = factor.solve(rhs)
        out, n_iter = conjugate_gradients(
            lambda V: multiply(matrix, V, self.n_jobs),
            rhs,
            start,
            self.tol,
            self.max_iter,
            precondition=factor.solve,
        )
        self.n_iter_ = max(1, n_iter)
        if n_iter >= self.max_iter:
            warnings.warn(
                f"the labels did not settle to a relative residual of tol={self.tol:g} in "
                f"max_iter={self.max_iter} iterations; raise one of them",
                NotConvergedWarning,
                stacklevel=4,
            )
        return out

    def _check_parameters(self) -> None:
        check_count("max_iter", self.max_iter)
        if not 0.0 < self.tol < 1.0:
            raise ValueError(f"tol={self.tol} must lie between 0 and 1")

    def __sklearn_tags__(self) -> Any:
        return pairwise_tags(self, super().__sklearn_tags__())


def _normalized(mass: Array, reached: NDArray[np.bool_], prior: Array) -> Array:
    mass = np.clip(mass, 0.0, None)  # below zero only by the tolerance
    mass[~reached] = prior
    sums = mass.sum(axis=1, keepdims=True)
    # A component may be joined to labels by weights too small to carry anything.
    return np.where(sums > 0.0, mass / np.where(sums > 0.0, sums, 1.0), prior)


class LabelPropagation(_GraphClassifier):
    """Give every point the mean of its neighbours' labels, where the given labels are kept.

    The distribution of each unlabelled point is the mean of its neighbours', weighted by entropic
    affinities: the harmonic function with the given labels as boundary values, or the probability
    that a random walk meets each class first. One sparse linear system, solved by conjugate
    gradients with an approximate factor of the graph's Laplacian.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours of each point.
    affinity : "entropic", "precomputed" or transformer, default="entropic"
        As in :class:`~closeknit.TSNE`; ``"precomputed"`` means that `X` holds symmetric affinities.
    metric : str, default="euclidean"
    n_neighbors : "auto", int or None, default="auto"
        As in :class:`~closeknit.EntropicAffinities`.
    tol : float, default=1e-6
        Largest residual of the linear system, relative to its right-hand side.
    max_iter : int, default=1000
        Iterations of conjugate gradients; some tens are usual.
    n_jobs : int or None, default=-1
        Threads for neighbours and affinities; the result is the same for any.
    random_state : int, RandomState or None, default=None
        Seeds approximate neighbours.
    verbose : bool, default=False

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    label_distributions_ : ndarray of shape (n_samples, n_classes)
        Rows sum to 1; one-hot where a label was given.
    transduction_ : ndarray of shape (n_samples,)
        The likeliest class of each point.
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The symmetric graph.
    n_iter_ : int
        Iterations of conjugate gradients, at least 1.

    Notes
    -----
    Points in connected components without any label get the shares of the classes among the
    labelled points, and a warning says how many they are.

    References
    ----------
    Zhu, Ghahramani and Lafferty (2003), Semi-supervised learning using Gaussian fields and harmonic
    functions.

    Examples
    --------
    >>> import closeknit as ck
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> few = np.where(np.arange(len(y)) < 100, y, -1)
    >>> model = ck.LabelPropagation(perplexity=10).fit(X, few)
    >>> bool(np.mean(model.transduction_[100:] == y[100:]) > 0.9)
    True
    >>> model.predict_proba(X[:3]).shape
    (3, 10)
    """

    def __init__(
        self,
        perplexity: float = 30.0,
        *,
        affinity: Any = "entropic",
        metric: str = "euclidean",
        n_neighbors: int | str | None = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.perplexity = perplexity
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _mass(self, W: csr_matrix, given: Array, reached: NDArray[np.bool_]) -> Array:
        # L_uu f_u = W_ul f_l: the Laplacian without the rows and columns of labelled points.
        labelled = given.any(axis=1)
        free, mass = np.flatnonzero(reached & ~labelled), given.copy()
        self.n_iter_ = 1
        if len(free) > 0:
            rows, thinned = W[free], thin(W, n_jobs=self.n_jobs)[free]
            matrix = csr_matrix(diags(_sums(rows)) - rows[:, free])
            to_labels = _sums(thinned[:, np.flatnonzero(labelled)])
            factor = ApproximateCholesky.of_graph(thinned[:, free], to_labels, n_jobs=self.n_jobs)
            mass[free] = self._solve(matrix, factor, rows @ given)
        return mass


class LabelSpreading(_GraphClassifier):
    """Let labels spread over the graph, given ones too, against the pull of what was given.

    The distributions F solve ``F = α S F + (1 − α) Y`` with the given labels Y and
    ``S = D^(-1/2) W D^(-1/2)``, the graph of entropic affinities W with degrees D: labels that
    disagree with all their neighbours can be overruled. One sparse linear system, solved by
    conjugate gradients with an approximate factor of its matrix.

    Parameters
    ----------
    perplexity : float, default=30.0
        Effective number of neighbours of each point.
    alpha : float, default=0.9
        Share that a point takes from its neighbours, between 0 and 1. Near 1 labels reach far; near
        0 only the nearest labelled points count.
    affinity, metric, n_neighbors, tol, max_iter, n_jobs, random_state, verbose
        As in :class:`~closeknit.LabelPropagation`.

    Attributes
    ----------
    classes_, label_distributions_, transduction_, affinities_, n_iter_
        As in :class:`~closeknit.LabelPropagation`, but a given label need not be kept.

    References
    ----------
    Zhou, Bousquet, Lal, Weston and Schölkopf (2004), Learning with local and global consistency.

    Examples
    --------
    >>> import closeknit as ck
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(400, noise=0.05, random_state=0)
    >>> few = np.where(np.arange(400) % 40 == 0, y, -1)
    >>> model = ck.LabelSpreading(perplexity=10, alpha=0.99).fit(X, few)
    >>> float(np.mean(model.transduction_ == y))
    1.0
    """

    def __init__(
        self,
        perplexity: float = 30.0,
        *,
        alpha: float = 0.9,
        affinity: Any = "entropic",
        metric: str = "euclidean",
        n_neighbors: int | str | None = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.perplexity = perplexity
        self.alpha = alpha
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _mass(self, W: csr_matrix, given: Array, reached: NDArray[np.bool_]) -> Array:
        # With G = D^(-1/2) F: (D − αW) G = (1 − α) D^(1/2) Y, and D − αW is αL + (1 − α)D.
        degrees = _sums(W)
        degrees[degrees == 0.0] = 1.0  # isolated points keep what they have
        roots = np.sqrt(degrees)[:, None]
        matrix = csr_matrix(diags(degrees) - self.alpha * W)
        kept = self.alpha * thin(W, n_jobs=self.n_jobs)
        excess = (1.0 - self.alpha) * degrees
        factor = ApproximateCholesky.of_graph(kept, excess, n_jobs=self.n_jobs)
        return roots * self._solve(matrix, factor, (1.0 - self.alpha) * roots * given)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha={self.alpha} must lie between 0 and 1")


def _sums(W: csr_matrix) -> Array:
    return np.asarray(W.sum(axis=1)).ravel()
