"""What all sparsifiers share: one graph in, a sparser one out."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from closeknit._threads import effective_n_jobs
from closeknit.affinities import scales_of
from closeknit.graphs.compare import sparsity
from closeknit.graphs.from_data import affinity_graph
from closeknit.neighbors import check_data
from closeknit.progress import shown

#: What `fit` may be given.
INPUTS = ("data", "affinities", "distances")


@dataclass(repr=False, eq=False, kw_only=True)
class BaseSparsifier(BaseEstimator):
    """An estimator of a sparse graph of the fitted points.

    It has no ``transform``: the graph has no rows for other points.
    """

    saved_state: ClassVar[tuple[str, ...]] = ("n_features_in_", "graph_", "sparsity_")

    sparsity: float | None = None
    input: str = "data"
    metric: str = "euclidean"
    neighbors: Any = "auto"
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool = False

    @abstractmethod
    def _sparsify(self, X: Any) -> dict[str, Any]:
        """Return the fitted attributes, the sparse ``graph_`` among them, of checked input."""

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
            An interrupt (Ctrl-C) is passed on and leaves the graph that was fitted before.
        """
        self._check_parameters()
        X = check_data(X, estimator=self, ensure_min_samples=2)
        if self.input != "data" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"input={self.input!r} needs a square matrix, got shape {X.shape}; "
                "for points, use input='data'"
            )
        with shown(self.verbose):
            fitted = self._sparsify(X)
        self.sparsity_ = sparsity(fitted["graph_"])
        for name, value in fitted.items():
            setattr(self, name, value)
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
            The weights of the edges kept; nothing on the diagonal.
        """
        return self.fit(X).graph_

    def _affinity_graph(self, X: Any) -> Any:
        """The graph to make sparse: given affinities, or entropic ones of points or distances."""
        if self.input == "affinities":
            return affinity_graph(X, self, affinity="precomputed", symmetric=False)[0]
        n_neighbors = self.n_neighbors
        if n_neighbors == "auto" and self.sparsity is not None:
            # Enough for the perplexity and, with room to choose from, for the sparsity.
            n = X.shape[0]
            enough = np.ceil(max(3.0 * max(scales_of(self.perplexity)), 2.0 * self._edges(n) / n))
            n_neighbors = min(n - 1, int(enough))
        metric = "precomputed" if self.input == "distances" else self.metric
        return affinity_graph(X, self, n_neighbors=n_neighbors, metric=metric)[0]

    def _edges(self, n: int) -> float:
        """Entries off the diagonal that `sparsity` asks for; not rounded."""
        assert self.sparsity is not None
        return (1.0 - self.sparsity) * n * (n - 1)

    def _wanted_edges(self, n: int, available: int) -> float:
        """The same, if the graph has as many."""
        count = self._edges(n)
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
        s = self.sparsity
        if s is not None and not (isinstance(s, int | float | np.number) and 0.0 <= s < 1.0):
            raise ValueError(
                f"sparsity={s!r} must be at least 0 and less than 1: it is the share of pairs "
                "without an edge"
            )
        effective_n_jobs(self.n_jobs)

    def _check_one_target(self, *names: str) -> None:
        """Refuse several of the parameters that say how many edges to keep."""
        given = [f"{name}={value}" for name in names if (value := getattr(self, name)) is not None]
        if len(given) > 1:
            raise ValueError(
                f"{' and '.join(given)} each say how many edges to keep; give one of them"
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.input != "data"
        tags.input_tags.positive_only = self.input != "data"
        return tags
