"""The common part of label propagation and label spreading: all but the linear system."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from closeknit._arrays import Array, Flags, Integers
from closeknit._checks import check_number
from closeknit._labels import find_missing
from closeknit.embeddings import new_affinities
from closeknit.exceptions import DisconnectedWarning, NotConvergedWarning
from closeknit.graphs import affinity_graph
from closeknit.linalg import ApproximateCholesky, conjugate_gradients, multiply
from closeknit.neighbors import DataInputMixin, check_data
from closeknit.progress import shown

#: What stands for a missing label, as in scikit-learn.
UNLABELED = -1


@dataclass(repr=False, eq=False)
class LabelClassifier(DataInputMixin, ClassifierMixin, BaseEstimator):
    """A classifier that spreads the labels of some points over the graph of all."""

    saved_state: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "affinity_estimator_",
        "affinities_",
        "classes_",
        "label_distributions_",
        "transduction_",
        "n_iter_",
    )

    perplexity: float = 30.0
    _: KW_ONLY
    affinity: Any = "entropic"
    metric: str = "euclidean"
    metric_params: dict[str, Any] | None = None
    n_neighbors: int | str | None = "auto"
    neighbors: Any = "auto"
    tol: float = 1e-6
    max_iter: int = 1000
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool = False

    @abstractmethod
    def _mass(self, W: csr_matrix, given: Array, reached: Flags) -> tuple[Array, int]:
        """Mass of each class at each point that labels reach, and the iterations that it took.

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
        X = check_data(X, estimator=self, ensure_min_samples=2)
        classes, codes = self._encode(y, X.shape[0])
        with shown(self.verbose):
            W, affinity_estimator = affinity_graph(X, self)
            labelled = codes >= 0
            given = np.zeros((len(codes), len(classes)))
            given[labelled, codes[labelled]] = 1.0
            reached = _reached(W, labelled)
            mass, n_iter = self._mass(W, given, reached)
        prior = given.sum(axis=0) / given.sum()
        self.label_distributions_ = _normalized(mass, reached, prior)
        self.classes_, self.n_iter_ = classes, max(1, n_iter)
        self.transduction_ = classes[self.label_distributions_.argmax(axis=1)]
        self.affinities_, self.affinity_estimator_ = W, affinity_estimator
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
            New points, or their distances or affinities to the fitted ones if those were given.

        Returns
        -------
        ndarray of shape (n_new, n_classes)
            Columns in the order of ``classes_``; rows sum to 1.
        """
        check_is_fitted(self)
        Q, known = new_affinities(self, X)
        shares = np.asarray(Q @ self.label_distributions_)
        shares[known >= 0] = self.label_distributions_[known[known >= 0]]
        return shares / shares.sum(axis=1, keepdims=True)

    def _encode(self, y: Any, n: int) -> tuple[NDArray[Any], Integers]:
        """The classes, and the position of each label among them; -1 for points without one."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                f"pass one label per point, {UNLABELED} for those without"
            )
        y = column_or_1d(y, warn=True)
        if len(y) != n:
            raise ValueError(f"y has {len(y)} labels, but X has {n} points")
        _check_marks(y)
        labelled = np.asarray(y != UNLABELED)
        if not labelled.any():
            raise ValueError(
                f"no point has a label: all of y is {UNLABELED}, which marks missing ones"
            )
        check_classification_targets(y[labelled])
        codes = np.full(n, -1)
        classes, codes[labelled] = np.unique(y[labelled], return_inverse=True)
        return classes, codes

    def _solve(
        self, matrix: csr_matrix, factor: ApproximateCholesky, rhs: Array
    ) -> tuple[Array, int]:
        start = factor.solve(rhs)
        out, n_iter = conjugate_gradients(
            lambda V: multiply(matrix, V, self.n_jobs),
            rhs,
            start,
            self.tol,
            self.max_iter,
            precondition=factor.solve,
        )
        if n_iter >= self.max_iter:
            warnings.warn(
                f"the labels did not converge to a relative residual of tol={self.tol:g} in "
                f"max_iter={self.max_iter} iterations; raise one of them",
                NotConvergedWarning,
                stacklevel=4,
            )
        return out, n_iter

    def _check_parameters(self) -> None:
        check_number("max_iter", self.max_iter, integer=True, least=1)
        check_number("tol", self.tol, share=True)


def _check_marks(y: NDArray[Any]) -> None:
    """Refuse marks of missing labels other than the number."""
    text = np.array([isinstance(label, str) and label == str(UNLABELED) for label in y.tolist()])
    wrong = np.flatnonzero(find_missing(y) | text)
    if len(wrong):
        raise ValueError(
            f"label {wrong[0]} is {y.tolist()[wrong[0]]!r}; the number {UNLABELED} marks points "
            "without a label, beside text in an array of dtype=object"
        )


def _reached(W: csr_matrix, labelled: Flags) -> Flags:
    """Which points have a label somewhere in their component; warns if not all."""
    count, component = connected_components(W, directed=False)
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


def _normalized(mass: Array, reached: Flags, prior: Array) -> Array:
    mass = np.clip(mass, 0.0, None)  # below zero only by the tolerance
    mass[~reached] = prior
    sums = mass.sum(axis=1, keepdims=True)
    # A component may be joined to labels by weights too small to carry anything.
    return np.where(sums > 0.0, mass / np.where(sums > 0.0, sums, 1.0), prior)
