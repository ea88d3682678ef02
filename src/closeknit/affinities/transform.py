"""Affinities of new points over the fitted ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from closeknit.affinities.bandwidths import to_csr, warn_of_rows
from closeknit.neighbors import Neighbors, check_answer, validate_points
from closeknit.progress import shown

__all__ = ["OutOfSampleMixin"]


class OutOfSampleMixin(TransformerMixin):
    """`transform` of a fitted affinity estimator."""

    include_self: bool
    n_neighbors: int | str | None
    verbose: bool
    affinities_: Any
    neighbors_: Neighbors | None
    index_: Any
    _solve: Any

    def transform(self, X: Any) -> Any:
        """Affinities of new points over the fitted ones.

        Each row is found on its own, whatever else `X` holds. A new point that coincides with a
        fitted one is taken for that point, so ``fit(X).transform(X)`` gives what
        ``fit_transform(X)`` gives (unless duplicates leave open which of them it is, or the search
        is approximate).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New points; with ``metric="precomputed"`` their distances to the fitted points.

        Returns
        -------
        csr_matrix or ndarray of shape (n_new, n_samples)
        """
        return self.transform_and_match(X)[0]

    def transform_and_match(self, X: Any) -> tuple[Any, NDArray[np.int64]]:
        """Affinities of new points, and which fitted points they coincide with, by one search.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        affinities : csr_matrix or ndarray of shape (n_new, n_samples)
            As from `transform`.
        matches : ndarray of shape (n_new,)
            The first fitted point at the same place, or -1.

        Examples
        --------
        >>> import closeknit as ck
        >>> from sklearn.datasets import load_digits
        >>> X = load_digits().data
        >>> ea = ck.EntropicAffinities().fit(X[:1000])
        >>> Q, matches = ea.transform_and_match(X[998:1002])
        >>> Q.shape, matches
        ((4, 1000), array([998, 999,  -1,  -1]))
        """
        check_is_fitted(self)
        X = validate_points(self, X, reset=False)
        if self.index_ is None:
            raise ValueError(
                "transform needs a neighbour search, but this estimator was fitted on given "
                "neighbours; fit it on the data, with neighbors='auto'"
            )
        with shown(self.verbose), config_context(assume_finite=True):
            if self.neighbors_ is None:
                affinities, matches, status = self._transform_dense(X)
            else:
                affinities, matches, status = self._transform_neighbors(X, self.neighbors_)
        warn_of_rows(status, stacklevel=5)
        return affinities, matches

    def _transform_neighbors(self, X: Any, fitted: Neighbors) -> tuple[Any, Any, Any]:
        k, n = fitted.n_neighbors, fitted.n_samples
        found = check_answer(self.index_.query(X, k + 1), X.shape[0], n, k + 1)
        indices, sq_distances = found.indices, found.sq_distances
        matches = self._match(X, indices[:, 0], sq_distances[:, 0])
        if not self.include_self:
            indices, sq_distances = _leave_out(indices, sq_distances, matches)
        elif self._by_inner_products():
            others, sq_others = _leave_out(indices, sq_distances, matches)
            known = matches[:, None] >= 0
            zeros = np.zeros((len(known), 1))
            indices = np.where(known, np.hstack([matches[:, None], others]), indices)
            sq_distances = np.where(known, np.hstack([zeros, sq_others]), sq_distances)
        rows = self._solve(sq_distances, indices, fitting=False)
        matrix = to_csr(indices, rows.affinities, n)
        return matrix.toarray() if self.n_neighbors is None else matrix, matches, rows.status

    def _transform_dense(self, X: Any) -> tuple[Any, Any, Any]:
        out = np.empty((X.shape[0], int(self.affinities_.shape[1])))
        matches, status = np.empty(X.shape[0], dtype=np.int64), []
        for rows, block in self.index_.blocks(X):
            nearest, line = block.argmin(axis=1), np.arange(len(block))
            twins = self._match(X[rows], nearest, block[line, nearest])
            known = twins >= 0
            block[line[known], twins[known]] = 0.0 if self.include_self else np.inf
            matches[rows] = twins
            status.append(self._solve(block, None, fitting=False, out=out[rows]).status)
        return out, matches, np.concatenate(status)

    def _match(
        self, X: Any, nearest: NDArray[Any], sq_distances: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """For each new point the fitted point it coincides with, or -1."""
        if self._by_inner_products():
            return np.asarray(self.index_.equal_points(X))
        return np.where(sq_distances == 0.0, nearest, -1).astype(np.int64, copy=False)

    def _by_inner_products(self) -> bool:
        """Whether a point need not be the nearest to itself, nor at distance 0."""
        return getattr(self.index_, "metric", None) == "inner_product"


def _leave_out(
    indices: NDArray[Any], sq_distances: NDArray[np.float64], matches: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Keep k of k + 1 neighbours: not the point itself if it is among them, else not the last."""
    drop = (indices == matches[:, None]) & (matches[:, None] >= 0)
    drop[~drop.any(axis=1), -1] = True
    shape = (len(indices), indices.shape[1] - 1)
    return indices[~drop].reshape(shape), sq_distances[~drop].reshape(shape)
