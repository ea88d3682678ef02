"""Affinities of new points over the fitted ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from closeknit._arrays import Array, Integers
from closeknit.affinities.bandwidths import to_csr
from closeknit.affinities.solution import warn_of_rows
from closeknit.neighbors import Neighbors, check_answer, validate_points
from closeknit.progress import shown

#: Some new points: where they stand in the batch, their neighbours (None: all fitted points), the
#: squared distances to these, and the fitted points that they coincide with.
NewRows = tuple[slice, NDArray[Any] | None, Array, Integers]


class OutOfSampleMixin(TransformerMixin):
    """`transform` of a fitted affinity estimator."""

    include_self: bool
    n_neighbors: int | str | None
    verbose: bool
    affinities_: Any
    neighbors_: Neighbors | None
    index_: Any
    _solve: Any

    def transform(self, X: Any, *, as_new: bool = False) -> Any:
        """Affinities of new points over the fitted ones.

        Each row is found on its own, whatever else `X` holds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New points; with ``metric="precomputed"`` their distances to the fitted points.
        as_new : bool, default=False
            Whether a point where a fitted one is, is a new point all the same. See Notes.

        Returns
        -------
        csr_matrix or ndarray of shape (n_new, n_samples)

        Notes
        -----
        A fitted point is not among its own neighbours, but a new point beside it has it for its
        nearest one. So no function of the place alone is both what `fit` gives at the fitted points
        and continuous. By default a point where a fitted one is, is taken for that one, and
        ``fit(X).transform(X)`` gives what ``fit_transform(X)`` gives (unless duplicates leave open
        which of them it is, or the search is approximate). With ``as_new=True`` it is a point like
        any other, at distance 0 from the fitted one: its bandwidth is the paper's σ(x), continuous
        everywhere, and so are its affinities, but for those at the edge of the neighbourhood. With
        ``include_self=True`` both hold at once.
        """
        return self._transform(X, as_new)[0]

    def transform_and_match(self, X: Any) -> tuple[Any, Integers]:
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
        return self._transform(X, as_new=False)

    def _transform(self, X: Any, as_new: bool) -> tuple[Any, Integers]:
        check_is_fitted(self)
        X = validate_points(self, X, reset=False)
        n_new, n = X.shape[0], int(self.affinities_.shape[1])
        Q: Any = np.empty((n_new, n)) if self.neighbors_ is None else None
        matches, status = np.empty(n_new, dtype=np.int64), []
        with shown(self.verbose), config_context(assume_finite=True):
            for rows, indices, sq_distances, known in self._new_rows(X, as_new):
                out = None if Q is None else Q[rows]
                solved = self._solve(sq_distances, indices, fitting=False, out=out)
                if indices is not None:
                    Q = to_csr(indices, solved.affinities, n)
                matches[rows] = known
                status.append(solved.status)
        warn_of_rows(np.concatenate(status), stacklevel=5)
        if self.n_neighbors is None and self.neighbors_ is not None:
            Q = Q.toarray()
        return Q, matches

    def _new_rows(self, X: Any, as_new: bool) -> Iterator[NewRows]:
        """Yield new points, some at a time, with their distances to the points that count."""
        if self.index_ is None:
            raise ValueError(
                "new points need a neighbour search, but this estimator was fitted on given "
                "neighbours; fit it on the data, with neighbors='auto'"
            )
        if self.neighbors_ is None:
            for rows, block in self.index_.blocks(X):
                nearest, line = block.argmin(axis=1), np.arange(len(block))
                matches = self._match(X[rows], nearest, block[line, nearest])
                if not as_new:
                    known = matches >= 0
                    block[line[known], matches[known]] = 0.0 if self.include_self else np.inf
                yield rows, None, block, matches
            return
        k, n = self.neighbors_.n_neighbors, self.neighbors_.n_samples
        found = check_answer(self.index_.query(X, k + 1), X.shape[0], n, k + 1)
        indices, sq_distances = found.indices, found.sq_distances
        matches = self._match(X, indices[:, 0], sq_distances[:, 0])
        own = np.full((len(matches), 1), -1) if as_new else matches[:, None]
        if not self.include_self:
            indices, sq_distances = _leave_out(indices, sq_distances, own)
        elif self._by_inner_products():
            others, sq_others = _leave_out(indices, sq_distances, own)
            indices = np.where(own >= 0, np.hstack([own, others]), indices)
            zeros = np.zeros((len(own), 1))
            sq_distances = np.where(own >= 0, np.hstack([zeros, sq_others]), sq_distances)
        yield slice(None), indices, sq_distances, matches

    def _match(self, X: Any, nearest: NDArray[Any], sq_distances: Array) -> Integers:
        """For each new point the fitted point it coincides with, or -1."""
        if self._by_inner_products():
            return np.asarray(self.index_.equal_points(X))
        return np.where(sq_distances == 0.0, nearest, -1).astype(np.int64, copy=False)

    def _by_inner_products(self) -> bool:
        """Whether a point need not be the nearest to itself, nor at distance 0."""
        return getattr(self.index_, "metric", None) == "inner_product"


def _leave_out(
    indices: NDArray[Any], sq_distances: Array, own: Integers
) -> tuple[NDArray[Any], Array]:
    """Keep k of k + 1 neighbours: not the point itself if it is among them, else not the last."""
    drop = (indices == own) & (own >= 0)
    drop[~drop.any(axis=1), -1] = True
    shape = (len(indices), indices.shape[1] - 1)
    return indices[~drop].reshape(shape), sq_distances[~drop].reshape(shape)
