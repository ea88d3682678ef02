"""What all sparsifiers share: one graph in, a sparser one out."""

from __future__ import annotations

import sys
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from closeknit._threads import effective_n_jobs
from closeknit.graphs._input import INPUTS
from closeknit.graphs._select import check_sparsity, edges_of_sparsity
from closeknit.graphs.compare import sparsity

__all__ = ["BaseSparsifier"]


class BaseSparsifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer from points, distances or affinities to a sparse graph."""

    saved_state: tuple[str, ...] = ("n_features_in_", "graph_", "sparsity_", "_fitted_to")

    sparsity: float | None
    input: str
    n_jobs: int | None
    random_state: Any
    verbose: bool

    graph_: Any
    sparsity_: float

    @abstractmethod
    def _sparsify(self, X: Any) -> Any:
        """Return the sparse graph of what was given and has been checked."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Make the graph sparse.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            Points, distances or affinities, as the parameter `input` says. Not changed.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=2
        )
        if self.input != "data" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"input={self.input!r} needs a square matrix, got shape {X.shape}; "
                "for points, use input='data'"
            )
        self.graph_ = self._sparsify(X)
        self.sparsity_ = sparsity(self.graph_)
        self._n_features_out = X.shape[0]
        self._fitted_to = _fingerprint(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Make the graph sparse and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features) or (n_samples, n_samples)
            As in :meth:`fit`.
        y : None
            Ignored.

        Returns
        -------
        csr_matrix of shape (n_samples, n_samples)
            The weights of the edges that are left; nothing on the diagonal.
        """
        return self.fit(X).graph_

    def transform(self, X: Any) -> Any:
        """Return the graph of the fitted points, which is the only one there is.

        This is what lets a sparsifier stand in a scikit-learn pipeline.

        Parameters
        ----------
        X : array-like or sparse matrix
            What the sparsifier was fitted to.

        Returns
        -------
        csr_matrix of shape (n_samples, n_samples)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        if _fingerprint(X) != self._fitted_to:
            raise ValueError(
                "a sparsified graph has no rows for new points; call fit_transform on all points "
                "together, or use EntropicAffinities.transform for affinities of new points"
            )
        return self.graph_

    def _wanted_edges(self, n: int, available: int) -> float:
        """Entries off the diagonal that `sparsity` asks for."""
        assert self.sparsity is not None
        count = edges_of_sparsity(self.sparsity, n)
        if count > available + 0.5:
            least = 1.0 - available / (n * (n - 1))
            raise ValueError(
                f"sparsity={self.sparsity:g} asks for {count:.0f} edges, but the graph has only "
                f"{available}; ask for at least {least:g}, or give a denser graph"
            )
        return count

    def _check_parameters(self) -> None:
        if self.input not in INPUTS:
            raise ValueError(f"input={self.input!r} is unknown; choose one of {INPUTS}")
        if self.sparsity is not None:
            check_sparsity(self.sparsity)
        effective_n_jobs(self.n_jobs)

    def _say(self, message: str) -> None:
        if self.verbose:
            print(f"[closeknit] {message}", file=sys.stderr)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.input != "data"
        tags.input_tags.positive_only = self.input != "data"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _fingerprint(X: Any) -> str:
    """Tell whether two arrays are the same without keeping the first."""
    import joblib

    return str(joblib.hash(X))
