"""The base of all embeddings; subclasses know how to fit and where to place new points."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from closeknit._arrays import Array
from closeknit.embeddings.out_of_sample import new_affinities
from closeknit.graphs import affinity_graph
from closeknit.neighbors import DataInputMixin, check_data


class BaseEmbedding(
    DataInputMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """The common methods: `fit_transform`, `transform`, and what is saved.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.embeddings import BaseEmbedding
    >>> isinstance(ck.LaplacianEigenmaps(), BaseEmbedding)
    True
    """

    #: What is saved of a fitted estimator, besides its parameters.
    saved_state: ClassVar[tuple[str, ...]] = (
        "n_features_in_",
        "affinity_estimator_",
        "affinities_",
        "embedding_",
    )

    n_components: int
    affinity: Any
    metric: str
    dtype: Any
    embedding_: Array

    @abstractmethod
    def _place(self, Q: Any) -> Array:
        """Positions of new points from their distributions over the fitted ones."""

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Embed the points of `X` and return the embedding.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
        """
        return self.fit(X).embedding_.astype(self.dtype, copy=False)

    def transform(self, X: Any, *, as_new: bool = False) -> Array:
        """Place new points into the embedding; the fitted points stay where they are.

        Each new point is placed on its own, whatever else `X` holds: where its share of the
        objective is least.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New points; with ``metric="precomputed"`` their distances to the fitted ones, with
            ``affinity="precomputed"`` their affinities to them.
        as_new : bool, default=False
            Whether to place a point anew that coincides with a fitted one. By default it is that
            point, whose position is known: equal rows lie in one place, and
            ``fit(X).transform(X)`` is ``fit_transform(X)``. With True all rows are placed as those
            beside them are. Given affinities tell no places: their rows are always new.

        Returns
        -------
        ndarray of shape (n_new, n_components)
        """
        check_is_fitted(self)
        if not as_new and self._is_training_data(X):
            return self._map().astype(self.dtype)
        Q, known = new_affinities(self, X)
        out = self._place(Q)
        if not as_new:
            out[known >= 0] = self._map()[known[known >= 0]]
        return out.astype(self.dtype, copy=False)

    def _is_training_data(self, X: Any) -> bool:
        """Whether these are all rows of the fit in their order, duplicates included."""
        recognises = getattr(self.affinity_estimator_, "is_training_data", None)
        if recognises is None:
            return False
        # Names of columns are compared here: the affinities were fitted to an array without any.
        return bool(recognises(check_data(X, estimator=self, reset=False)))

    def _map(self) -> Array:
        """The fitted positions, in memory."""
        return self.embedding_

    def _graph(self, X: Any, symmetric: bool = True) -> tuple[Any, Any]:
        """The affinities of the data, and what gives those of new points."""
        return affinity_graph(X, self, symmetric=symmetric)

    def _validate(self, X: Any) -> Any:
        """Check the data to be embedded, once for everything that follows."""
        if self.dtype not in ("float64", "float32", np.float64, np.float32):
            raise ValueError(f"dtype={self.dtype!r} must be 'float64' or 'float32'")
        X = check_data(X, estimator=self, ensure_min_samples=2)
        if self.n_components >= X.shape[0]:
            raise ValueError(
                f"n_components={self.n_components} must be less than the number of points, "
                f"got n_samples = {X.shape[0]}"
            )
        return X

    @property
    def _n_features_out(self) -> int:
        """Number of columns of a transform, for scikit-learn's mixin."""
        return self.embedding_.shape[1]
