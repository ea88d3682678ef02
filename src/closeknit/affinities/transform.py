"""Affinities of new points over the fitted ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from closeknit._arrays import Array, Integers
from closeknit.affinities.bandwidths import to_csr
from closeknit.affinities.solution import warn_of_rows
from closeknit.neighbors import Neighbors, check_answer, check_data, same_rows
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
    _fitted: Any
    _solve: Any

    def transform(self, X: Any, *, as_new: bool | Literal["auto"] = "auto") -> Any:
        """Affinities of new points over the fitted ones.

        Each row of new points is found on its own, whatever else `X` holds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New points; with ``metric="precomputed"`` their distances to the fitted points.
        as_new : bool or "auto", default="auto"
            Whether the rows are new points, also where they coincide with fitted ones. ``"auto"``
            means yes unless `X` is the training data: all of it, in the same order. False means
            that a row that coincides with a fitted point is that point. See Notes.

        Returns
        -------
        csr_matrix or ndarray of shape (n_new, n_samples)

        Notes
        -----
        A fitted point is not among its own neighbours, but a new point beside it has it for its
        nearest one. So no function of the place alone is both what `fit` gives at the fitted points
        and continuous, and by default this one depends on more than the place. The training data as
        a whole, the same array or one of the same values, have the affinities of the fit:
        ``fit(X).transform(X)`` is ``fit_transform(X)``, to the bit. Any other rows are new points,
        even some of the rows of the training data: such a row has the fitted point in its place at
        distance 0, as those beside it almost have. Its bandwidth is the paper's σ(x), continuous
        everywhere, and so are its affinities, but for those at the edge of the neighbourhood.

        Hence ``transform(X[:5])`` is not ``transform(X)[:5]``. Where rows of the training data are
        to be what they were in the fit, say so with ``as_new=False``; of several fitted points in
        one place a row is then the first. With ``include_self=True`` there is no difference.

        Examples
        --------
        >>> import closeknit as ck
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> ea = ck.EntropicAffinities(20).fit(X)
        >>> [bool((Q != ea.affinities_[:3]).nnz == 0) for Q in (
        ...     ea.transform(X)[:3], ea.transform(X[:3], as_new=False), ea.transform(X[:3]))]
        [True, True, False]
        """
        return self._transform(X, as_new)[0]

    def transform_and_match(
        self, X: Any, *, as_new: bool | Literal["auto"] = "auto"
    ) -> tuple[Any, Integers]:
        """Affinities of new points, and which fitted points they coincide with, by one search.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
        as_new : bool or "auto", default="auto"
            As in `transform`; it does not change the matches.

        Returns
        -------
        affinities : csr_matrix or ndarray of shape (n_new, n_samples)
            As from `transform`.
        matches : ndarray of shape (n_new,)
            The first fitted point at the same place, or -1; each point itself if `X` is the
            training data and `as_new` is not True.

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
        return self._transform(X, as_new)

    def is_training_data(self, X: Any) -> bool:
        """Whether `X` is what this estimator was fitted on: all of it, in the same order.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)

        Returns
        -------
        bool
            True for the same array and for any of the same values, a saved model's data included;
            False if the neighbours were given, because nothing is known of the data then.

        Examples
        --------
        >>> import closeknit as ck
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> ea = ck.EntropicAffinities(20).fit(X)
        >>> ea.is_training_data(X), ea.is_training_data(X.copy()), ea.is_training_data(X[:100])
        (True, True, False)
        """
        check_is_fitted(self)
        return self._holds(check_data(X, estimator=self, reset=False))

    def _holds(self, X: Any) -> bool:
        if hasattr(self.index_, "holds"):
            return bool(self.index_.holds(X))
        # An index of the user's own need not keep the data.
        return self.index_ is not None and same_rows(X, self._fitted)

    def _transform(self, X: Any, as_new: bool | Literal["auto"]) -> tuple[Any, Integers]:
        check_is_fitted(self)
        if not isinstance(as_new, bool | np.bool_) and as_new != "auto":
            raise ValueError(f"as_new={as_new!r} must be True, False or 'auto'")
        X = check_data(X, estimator=self, reset=False)
        n_new, n = X.shape[0], int(self.affinities_.shape[1])
        with config_context(assume_finite=True):
            if as_new is not True and self._holds(X):
                copy = getattr(self.affinities_, "copy", lambda: self.affinities_)
                return copy(), np.arange(n)
        Q: Any = np.empty((n_new, n)) if self.neighbors_ is None else None
        matches, status = np.empty(n_new, dtype=np.int64), []
        with shown(self.verbose), config_context(assume_finite=True):
            for rows, indices, sq_distances, known in self._new_rows(X, bool(as_new)):
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
