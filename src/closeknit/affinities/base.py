"""The base of all affinity estimators: from data to neighbours, from rows to a matrix."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin
from sklearn.utils.validation import check_is_fitted

from closeknit._arrays import Array
from closeknit._threads import effective_n_jobs
from closeknit.affinities.bandwidths import to_csr
from closeknit.affinities.solution import Bandwidths, Status, perplexity_of_rows, warn_of_rows
from closeknit.affinities.transform import OutOfSampleMixin
from closeknit.neighbors import (
    AllPoints,
    DataInputMixin,
    Neighbors,
    check_answer,
    check_data,
    fit_index,
    given_neighbors,
)
from closeknit.progress import log, report, shown


@dataclass(repr=False, eq=False, kw_only=True)
class BaseAffinities(
    DataInputMixin, OutOfSampleMixin, ClassNamePrefixFeaturesOutMixin, BaseEstimator
):
    """Affinities of each point over its neighbours; subclasses choose the bandwidths.

    Attributes
    ----------
    index_ : NeighborIndex, AllPoints or None
        What new points are searched in; None if the neighbours were given.
    scale_perplexities_ : ndarray of shape (n_samples, n_scales) or None
        Perplexities of the single scales, if there are several.
    """

    #: What :func:`closeknit.io.save` keeps of a fitted estimator.
    saved_state: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "affinities_",
        "sigmas_",
        "betas_",
        "evaluations_",
        "converged_",
        "scale_perplexities_",
        "neighbors_",
        "index_",
    )

    n_neighbors: int | str | None = "auto"
    metric: str = "euclidean"
    metric_params: dict[str, Any] | None = None
    neighbors: Any = "auto"
    include_self: bool = False
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool = False

    @abstractmethod
    def _solve(
        self, sq_distances: Any, indices: Any, *, fitting: bool, out: Array | None = None
    ) -> Bandwidths:
        """Turn rows of squared distances into affinities, written to `out` if that is given.

        Rows are sorted and come with `indices`, or are whole rows of a distance matrix.
        """

    @abstractmethod
    def _check_parameters(self, n_samples: int) -> int:
        """Check the parameters; return how many neighbours each of this many points has."""

    def _check_neighbors(self, found: Neighbors) -> None:
        """Raise an error if the neighbours that a user has brought are too few."""

    def _needs_sorted_rows(self) -> bool:
        """Whether whole rows of a distance matrix will not do."""
        return False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Compute the affinities of the points of `X`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The data; distances, or a sparse graph of them, if ``metric="precomputed"``.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        effective_n_jobs(self.n_jobs)
        X = check_data(X, estimator=self, ensure_min_samples=2)
        k = self._check_parameters(X.shape[0])
        given = isinstance(self.neighbors, Neighbors | tuple)
        # X is known to be finite now; nothing further down needs to check again.
        with shown(self.verbose), config_context(assume_finite=True):
            if self.n_neighbors is None and not given and not self._needs_sorted_rows():
                solved = self._fit_dense(X)
            else:
                solved = self._fit_neighbors(X, k, given=given)
        self.sigmas_, self.betas_, self.evaluations_, status, self.scale_perplexities_ = solved
        self.converged_ = status == Status.CONVERGED
        if status.any():
            warn_of_rows(status, stacklevel=3)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Compute the affinities of the points of `X` and return them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        csr_matrix or ndarray of shape (n_samples, n_samples)
            Row i is the distribution of point i over its neighbours. Dense if
            ``n_neighbors=None``.
        """
        return self.fit(X).affinities_

    @property
    def perplexities_(self) -> Array:
        """Exp of each row's entropy, recomputed from the affinities (of each scale)."""
        check_is_fitted(self)
        if self.scale_perplexities_ is not None:
            return self.scale_perplexities_
        if not sparse.issparse(self.affinities_):
            return perplexity_of_rows(self.affinities_)
        from scipy.special import entr

        terms = sparse.csr_matrix(
            (entr(self.affinities_.data), self.affinities_.indices, self.affinities_.indptr),
            shape=self.affinities_.shape,
        )
        return np.exp(np.asarray(terms.sum(axis=1)).ravel())

    @property
    def _n_features_out(self) -> int:
        """The number of columns of `transform`, which scikit-learn names."""
        return int(self.affinities_.shape[1])

    def _fit_neighbors(self, X: Any, k: int, *, given: bool) -> tuple[Any, ...]:
        """Set affinities, neighbours and index; return bandwidths and the status of the rows."""
        n = X.shape[0]
        if given:
            self.index_ = None
            found = given_neighbors(self.neighbors, n)
            if found.n_neighbors < k and self.n_neighbors != "auto":
                raise ValueError(
                    f"n_neighbors={k}, but neighbors= holds only {found.n_neighbors} per point"
                )
            self.neighbors_ = found.truncate(min(k, found.n_neighbors))
        else:
            names = ("metric_params", "n_jobs", "random_state", "verbose")
            options = {name: getattr(self, name) for name in names}
            self.index_ = fit_index(X, self.metric, self.neighbors, **options)
            self.neighbors_ = check_answer(self.index_.self_neighbors(k), n, n, k)
            self._fitted = None if hasattr(self.index_, "holds") else X
        if given or self.metric == "precomputed":
            self._check_neighbors(self.neighbors_)
        indices, sq_distances = self.neighbors_.indices, self.neighbors_.sq_distances
        if self.include_self:
            own = np.arange(n, dtype=indices.dtype)[:, None]
            indices = np.hstack([own, indices])
            sq_distances = np.hstack([np.zeros((n, 1)), sq_distances])
        report("affinities")
        log("affinities: %d points, %d neighbours each", *indices.shape)
        rows = self._solve(sq_distances, indices, fitting=True)
        matrix = to_csr(indices, rows.affinities, n)
        self.affinities_ = matrix.toarray() if self.n_neighbors is None else matrix
        # Once the scales are averaged, their own perplexities are lost.
        several = rows.scale_perplexities
        return rows.sigmas, rows.betas, rows.evaluations, rows.status, several

    def _fit_dense(self, X: Any) -> tuple[Any, ...]:
        """As `_fit_neighbors`, over all points."""
        n = X.shape[0]
        report("affinities")
        log("affinities: %d points, each over all others", n)
        self.neighbors_ = None
        self.index_ = AllPoints(X, self.metric, self.n_jobs, self.metric_params)
        self.affinities_ = np.empty((n, n))
        blocks = []
        for rows, block in self.index_.blocks(X):
            own = np.arange(n)[rows]
            block[np.arange(len(own)), own] = 0.0 if self.include_self else np.inf
            blocks.append(self._solve(block, None, fitting=True, out=self.affinities_[rows]))
        names = ["sigmas", "betas", "evaluations", "status", "scale_perplexities"]
        columns = [[getattr(part, name) for part in blocks] for name in names]
        return tuple(None if column[0] is None else np.concatenate(column) for column in columns)

    def _count_neighbors(self, n: int, default: int) -> int:
        """Return the neighbours per point; ``"auto"`` stands for `default`."""
        k = self.n_neighbors
        integer = isinstance(k, int | np.integer) and not isinstance(k, bool)
        if not (k is None or k == "auto" or (integer and k >= 1)):  # type: ignore[operator]
            raise ValueError(f"n_neighbors={k!r} must be 'auto', None or an integer of at least 1")
        if k is None:
            k = n - 1
        elif k == "auto":
            k = min(default, n - 1)
        elif int(k) > n - 1:
            raise ValueError(
                f"n_neighbors={k} needs at least {int(k) + 1} points, got n_samples = {n}; "
                "lower n_neighbors or use n_neighbors='auto'"
            )
        return int(k)
