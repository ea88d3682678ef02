"""What every embedding can do once it knows how to fit and where to put new points."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from closeknit.embeddings.out_of_sample import coinciding_points, new_affinities

__all__ = ["EmbeddingMixin"]

Array = NDArray[np.float64]


class EmbeddingMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """`fit_transform`, `transform` and scikit-learn's tags."""

    saved_state: tuple[str, ...] = (
        "n_features_in_",
        "affinity_estimator_",
        "affinities_",
        "embedding_",
    )

    affinity: Any
    metric: str
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
        return self.fit(X).embedding_

    def transform(self, X: Any) -> Array:
        """Place new points into the embedding; the fitted points stay where they are.

        Each new point is placed on its own, whatever else `X` holds: where its share of the
        objective is least. One that coincides with a fitted point is that point.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_new, n_features)
            New points; with ``metric="precomputed"`` their distances to the fitted ones, with
            ``affinity="precomputed"`` their affinities to them.

        Returns
        -------
        ndarray of shape (n_new, n_components)
        """
        check_is_fitted(self)
        out = self._place(new_affinities(self, X))
        known = coinciding_points(self, X)
        out[known >= 0] = self.embedding_[known[known >= 0]]
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = "precomputed" in (self.metric, self.affinity)
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags
