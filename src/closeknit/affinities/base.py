"""What all affinity estimators share: from data to neighbours, from rows to a matrix."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from closeknit._threads import effective_n_jobs
from closeknit.affinities.bandwidths import Bandwidths, perplexity_of_rows, warn_of_rows
from closeknit.affinities.dense import dense_sq_distances
from closeknit.affinities.scales import Mixture
from closeknit.neighbors import Neighbors, fit_index
from closeknit.progress import report

__all__ = ["BaseAffinities"]


class BaseAffinities(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Affinities of each point over its neighbours; subclasses choose the bandwidths."""

    saved_state: tuple[str, ...] = (
        "n_features_in_",
        "affinities_",
        "sigmas_",
        "betas_",
        "evaluations_",
        "converged_",
        "_perplexities",
        "neighbors_",
        "index_",
    )

    n_neighbors: int | str | None
    metric: str
    neighbors: Any
    include_self: bool
    n_jobs: int | None
    random_state: Any
    verbose: bool

    affinities_: Any
    neighbors_: Neighbors | None
    index_: Any
    _perplexities: NDArray[np.float64] | None

    @abstractmethod
    def _solve(
        self,
        sq_distances: NDArray[Any],
        indices: NDArray[Any] | None,
        *,
        fitting: bool,
        out: NDArray[np.float64] | None = None,
    ) -> Bandwidths | Mixture:
        """Turn rows of squared distances into affinities, written to `out` if that is given.

        Rows are sorted and come with `indices`, or are whole rows of a distance matrix.
        """

    @abstractmethod
    def _default_n_neighbors(self) -> int:
        """Neighbours per point that ``n_neighbors="auto"`` stands for."""

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
        self._check_parameters()
        # An index that is given, or a graph, does not care how many features there are.
        X = self._validate(X, ensure_min_samples=2)
        n = X.shape[0]
        k = self._count_neighbors(n)
        self._check_count(n - 1 if k is None else k)
        self._n_features_out = n
        if k is None and not self._needs_sorted_rows() and not self._given_neighbors():
            self._fit_dense(X)
        else:
            self._fit_neighbors(X, n - 1 if k is None else k, dense=k is None)
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

    def transform(self, X: Any) -> Any:
        """Affinities of new points over the fitted ones.

        Each row is found on its own, whatever else `X` holds. A new point that coincides with a
        fitted one is taken for that point, so ``fit(X).transform(X)`` gives what
        ``fit_transform(X)`` gives (unless duplicates leave open which of them it is).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New points; with ``metric="precomputed"`` their distances to the fitted points.

        Returns
        -------
        csr_matrix or ndarray of shape (n_new, n_samples)
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        if self.index_ is None:
            raise ValueError(
                "transform needs a neighbour search, but this estimator was fitted on given "
                "neighbours; fit it on the data, with neighbors='auto'"
            )
        if self.neighbors_ is None:
            return self._transform_dense(X)
        k = self.neighbors_.indices.shape[1]
        n_fitted = int(self._n_features_out)
        found = self.index_.query(X, min(k + 1, n_fitted))
        indices, sq_distances = found.indices, found.sq_distances
        if not self.include_self:
            indices, sq_distances = _drop_coinciding(indices, sq_distances, k)
        rows = self._solve(sq_distances, indices, fitting=False)
        warn_of_rows(rows.status, stacklevel=3)
        matrix = _to_csr(indices, rows.affinities, n_fitted)
        return matrix.toarray() if self.n_neighbors is None else matrix

    def coinciding_points(self, X: Any) -> NDArray[np.int64]:
        """For each new point the first fitted point at the same place, or -1.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new,)
        """
        check_is_fitted(self)
        if self.index_ is None:
            return np.full(X.shape[0], -1)
        found = self.index_.query(X, 1)
        return np.where(found.sq_distances[:, 0] == 0.0, found.indices[:, 0], -1)

    @property
    def perplexities_(self) -> NDArray[np.float64]:
        """Exp of each row's entropy, recomputed from the affinities (of each scale)."""
        check_is_fitted(self)
        if self._perplexities is not None:
            return self._perplexities
        if not sparse.issparse(self.affinities_):
            return perplexity_of_rows(self.affinities_)
        from scipy.special import entr

        terms = sparse.csr_matrix(
            (entr(self.affinities_.data), self.affinities_.indices, self.affinities_.indptr),
            shape=self.affinities_.shape,
        )
        return np.exp(np.asarray(terms.sum(axis=1)).ravel())

    def _fit_neighbors(self, X: Any, k: int, *, dense: bool) -> None:
        self.neighbors_ = self._find(X, k)
        indices, sq_distances = self.neighbors_.indices, self.neighbors_.sq_distances
        if self.include_self:
            own = np.arange(len(indices), dtype=indices.dtype)[:, None]
            indices = np.hstack([own, indices])
            sq_distances = np.hstack([np.zeros((len(own), 1)), sq_distances])
        report("affinities")
        self._say(f"affinities: {len(indices)} points, {indices.shape[1]} neighbours each")
        rows = self._solve(sq_distances, indices, fitting=True)
        self._keep([rows])
        matrix = _to_csr(indices, rows.affinities, len(indices))
        self.affinities_ = matrix.toarray() if dense else matrix

    def _fit_dense(self, X: Any) -> None:
        report("affinities")
        self._say(f"affinities: {X.shape[0]} points, each over all others")
        self.neighbors_ = None
        self.index_ = _AllPoints(X, self.metric, effective_n_jobs(self.n_jobs))
        n = X.shape[0]
        self.affinities_ = np.empty((n, n))
        blocks = []
        for rows, block in self.index_.blocks(X):
            own = np.arange(n)[rows]
            block[np.arange(len(own)), own] = 0.0 if self.include_self else np.inf
            blocks.append(self._solve(block, None, fitting=True, out=self.affinities_[rows]))
        self._keep(blocks)

    def _transform_dense(self, X: Any) -> NDArray[np.float64]:
        out = np.empty((X.shape[0], int(self._n_features_out)))
        status = []
        for rows, block in self.index_.blocks(X):
            if not self.include_self:
                twin = block.argmin(axis=1)
                line = np.arange(len(block))
                same = block[line, twin] == 0.0
                block[line[same], twin[same]] = np.inf
            status.append(self._solve(block, None, fitting=False, out=out[rows]).status)
        warn_of_rows(np.concatenate(status), stacklevel=4)
        return out

    def _keep(self, parts: list[Any]) -> None:
        for name in ("sigmas", "betas", "evaluations", "converged"):
            setattr(self, name + "_", np.concatenate([getattr(part, name) for part in parts]))
        # Once the scales are averaged, their own perplexities are lost.
        several = isinstance(parts[0], Mixture)
        self._perplexities = np.concatenate([p.perplexities for p in parts]) if several else None
        warn_of_rows(np.concatenate([part.status for part in parts]), stacklevel=5)

    def _given_neighbors(self) -> bool:
        return isinstance(self.neighbors, Neighbors | tuple)

    def _find(self, X: Any, k: int) -> Neighbors:
        self.index_ = None
        if self._given_neighbors():
            given = self.neighbors
            found = given if isinstance(given, Neighbors) else Neighbors.from_arrays(*given)
            if len(found.indices) != X.shape[0] or found.n_targets != X.shape[0]:
                raise ValueError(
                    f"neighbors= describes {len(found.indices)} points among {found.n_targets}, "
                    f"X has {X.shape[0]}; they must be the same points"
                )
            if found.indices.shape[1] < k and self.n_neighbors != "auto":
                raise ValueError(
                    f"n_neighbors={k}, but neighbors= holds only {found.indices.shape[1]} per point"
                )
            return found.truncate(min(k, found.indices.shape[1]))
        self.index_ = fit_index(
            X,
            self.metric,
            self.neighbors,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            verbose=self.verbose,
        )
        return self.index_.self_neighbors(k)

    def _count_neighbors(self, n: int) -> int | None:
        k = self.n_neighbors
        if k is None:
            return None
        if k == "auto":
            return min(self._default_n_neighbors(), n - 1)
        assert isinstance(k, int | np.integer)
        if k > n - 1:
            raise ValueError(
                f"n_neighbors={k} needs at least {k + 1} points, got n_samples = {n}; "
                "lower n_neighbors or use n_neighbors='auto'"
            )
        return int(k)

    def _validate(self, X: Any, **options: Any) -> Any:
        # In C order: sums in the order of memory would give a frame of columns other bits than the
        # same array of rows.
        options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], **options}
        return validate_data(self, X, order="C", **options)

    def _check_count(self, k: int) -> None:
        """Check that `k` neighbours suffice; subclasses know for what."""

    def _check_parameters(self) -> None:
        k = self.n_neighbors
        integer = isinstance(k, int | np.integer) and not isinstance(k, bool)
        if not (k is None or k == "auto" or (integer and k >= 1)):  # type: ignore[operator]
            raise ValueError(f"n_neighbors={k!r} must be 'auto', None or an integer of at least 1")
        effective_n_jobs(self.n_jobs)

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[closeknit] {message}", file=sys.stderr)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


@dataclass(frozen=True)
class _AllPoints:
    """The fitted points of a dense estimator, as an index for new ones."""

    saved_state = ()

    X: Any
    metric: str
    n_threads: int

    def query(self, X: Any, k: int) -> Neighbors:
        return fit_index(self.X, self.metric, "exact").query(X, k)

    def blocks(self, queries: Any) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        return dense_sq_distances(queries, self.X, self.metric, self.n_threads)


def _drop_coinciding(
    indices: NDArray[Any], sq_distances: NDArray[np.float64], k: int
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Keep k of k + 1 neighbours: not the first if the point lies on it, else not the last."""
    if indices.shape[1] <= k:
        raise ValueError("the fitted points are too few to leave one out")
    on_it = sq_distances[:, 0] == 0.0
    columns = np.arange(k) + on_it[:, None]
    return (
        np.take_along_axis(indices, columns, axis=1),
        np.take_along_axis(sq_distances, columns, axis=1),
    )


def _to_csr(indices: NDArray[Any], affinities: NDArray[np.float64], n_columns: int) -> Any:
    """Rows of affinities as a CSR matrix that owns its arrays; missing neighbours are left out."""
    n, k = indices.shape
    missing = indices < 0
    if missing.any():
        present = ~missing
        pointers = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return sparse.csr_matrix(
            (affinities[present], indices[present], pointers), shape=(n, n_columns)
        )
    pointers = np.arange(0, n * k + 1, k)
    return sparse.csr_matrix(
        (affinities.reshape(-1), indices.flatten(), pointers), shape=(n, n_columns)
    )
