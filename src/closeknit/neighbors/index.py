"""Indices: fitted once, asked for the neighbours of the fitted points or of new ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import scipy.sparse as sp

from closeknit._threads import effective_n_jobs
from closeknit.neighbors._distinct import Places, find_places
from closeknit.neighbors._engine import Engine
from closeknit.neighbors._geometry import GEOMETRIES, Geometry
from closeknit.neighbors._plan import data_scale
from closeknit.neighbors._report import Reporter
from closeknit.neighbors._rows import Data
from closeknit.neighbors._sketch_engine import SketchEngine
from closeknit.neighbors._sparse import SparseEngine
from closeknit.neighbors._tree import TreeEngine
from closeknit.neighbors._validate import (
    check_data,
    check_finite_distances,
    check_n_neighbors,
    seed_of,
)
from closeknit.neighbors.result import Neighbors

__all__ = ["ApproximateIndex", "ExactIndex", "NeighborIndex"]


def _prefers_tree(n_features: int) -> bool:
    """Whether a k-d tree beats sketches.

    Measured at k = 30: the tree wins for 20,000 Gaussian points in 6 dimensions and loses in 8, on
    covertype (10 dimensions, 140,000 points) by a factor 2.6, and on 300,000 points of a mixture in
    10 dimensions by 3.6.
    """
    return n_features <= 7


@runtime_checkable
class NeighborIndex(Protocol):
    """What every index can do."""

    def fit(self, X: Any) -> Self:
        """Take the points among which to search."""

    def self_neighbors(self, n_neighbors: int) -> Neighbors:
        """Find each fitted point's nearest other points."""

    def query(self, X: Any, n_neighbors: int) -> Neighbors:
        """Find each new point's nearest fitted points.

        Nothing is left out, and a row's answer does not depend on the other rows.
        """


class _EuclideanIndex(ABC):
    """What exact and approximate search share: geometry, checks, crowded places."""

    def __init__(
        self,
        metric: str,
        *,
        n_jobs: int | None,
        verbose: bool,
    ) -> None:
        if metric not in GEOMETRIES:
            raise ValueError(
                f"metric={metric!r} is unknown here; choose one of {', '.join(sorted(GEOMETRIES))}"
            )
        self.metric = metric
        self.n_jobs = n_jobs
        self.verbose = verbose

    @abstractmethod
    def _make_engine(self, points: Data, n_threads: int, report: Reporter) -> Engine:
        """Return what searches the points."""

    def _find_places(self, points: Data, n_threads: int) -> Places | None:
        return None

    def fit(self, X: Any) -> Self:
        """Take the points among which to search.

        Parameters
        ----------
        X : (n_samples, n_features) array-like or sparse matrix

        Returns
        -------
        self
        """
        self.points_: Data = GEOMETRIES[self.metric].points(check_data(X))
        self.restore_state()
        return self

    def restore_state(self) -> None:
        """Derive everything else from the points; saved indices are loaded by this, too."""
        n_threads = effective_n_jobs(self.n_jobs)
        self._geometry: Geometry = GEOMETRIES[self.metric]
        points = self.points_
        self._n_samples, self._n_features = points.shape
        self._dtype = points.dtype
        self._sparse = sp.issparse(points)
        self._places = self._find_places(points, n_threads)
        if self._places is not None:
            points = points[self._places.first]
        self._engine = self._make_engine(points, n_threads, Reporter(self.verbose))

    def self_neighbors(self, n_neighbors: int) -> Neighbors:
        """Find each fitted point's nearest other points.

        Parameters
        ----------
        n_neighbors : int

        Returns
        -------
        Neighbors
        """
        n_neighbors = check_n_neighbors(n_neighbors, self._n_samples, exclude_self=True)
        places = self._places
        if places is None:
            found = self._engine.search(n_neighbors, exclude_self=True)
            return self._result(*found)
        n_asked = min(n_neighbors + 1, len(places.first))
        return self._result(*places.others_of(*self._engine.search(n_asked), n_neighbors))

    def query(self, X: Any, n_neighbors: int) -> Neighbors:
        """Find each new point's nearest fitted points; none is left out.

        Parameters
        ----------
        X : (n_queries, n_features) array-like or sparse matrix
            Dense or sparse as the fitted data are.
        n_neighbors : int

        Returns
        -------
        Neighbors
            A row's answer does not depend on the other rows, to the last bit.
        """
        X = check_data(X, self._n_features)
        if sp.issparse(X) != self._sparse:
            kinds = ("sparse", "dense") if self._sparse else ("dense", "sparse")
            raise TypeError(f"the fitted data are {kinds[0]}, but X is {kinds[1]}; convert X")
        n_neighbors = check_n_neighbors(n_neighbors, self._n_samples, exclude_self=False)
        queries = self._geometry.points(X).astype(self._dtype, copy=False)
        places = self._places
        if places is None:
            return self._result(*self._engine.search(n_neighbors, queries))
        n_asked = min(n_neighbors, len(places.first))
        found = self._engine.search(n_asked, queries)
        return self._result(*places.points_of(*found, n_neighbors))

    def _result(self, indices: Any, sq_distances: Any) -> Neighbors:
        sq_distances = self._geometry.finish(sq_distances)
        check_finite_distances(indices, sq_distances)
        return Neighbors(indices, sq_distances, self._n_samples)


class ExactIndex(_EuclideanIndex):
    """Exact search for Euclidean distances, cosines and inner products.

    Few dimensions are searched by a k-d tree, many by sketches that rule out most points, sparse
    rows by sparse products. Distances are always computed as Σ(x − y)² in float64, so
    near-identical points keep their digits.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "inner_product"}
        "l2" and "sqeuclidean" are read as "euclidean". `sq_distances` hold ‖x − y‖² for
        "euclidean", (1 − cos)² for "cosine" and ‖x‖² + M² − 2⟨x, y⟩ for "inner_product", with M
        the largest norm of the fitted points.
    algorithm : {"auto", "tree", "sketch"}
        "auto" takes the tree up to 7 features.
    n_jobs : int or None
        Threads; the answer does not depend on it.
    verbose : bool

    Examples
    --------
    >>> index = ExactIndex().fit([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    >>> index.self_neighbors(1).indices.ravel()
    array([1, 0, 0], dtype=int32)
    >>> index.query([[3.0, 1.0]], 2).sq_distances
    array([[ 1., 10.]])
    """

    saved_state: ClassVar[tuple[str, ...]] = ("points_",)

    def __init__(
        self,
        metric: str = "euclidean",
        *,
        algorithm: str = "auto",
        n_jobs: int | None = -1,
        verbose: bool = False,
    ) -> None:
        super().__init__(metric, n_jobs=n_jobs, verbose=verbose)
        if algorithm not in ("auto", "tree", "sketch"):
            raise ValueError(
                f"algorithm={algorithm!r} is unknown; choose 'auto', 'tree' or 'sketch'"
            )
        self.algorithm = algorithm

    def _find_places(self, points: Data, n_threads: int) -> Places | None:
        return find_places(points, data_scale(points), n_threads)

    def _make_engine(self, points: Data, n_threads: int, report: Reporter) -> Engine:
        addend = self._geometry.addend(points)
        if sp.issparse(points):
            report(f"exact search by sparse products, {points.shape[0]} points")
            return SparseEngine(points, addend, data_scale(points), n_threads, report)
        tree = self.algorithm == "tree"
        if self.algorithm == "auto":
            tree = _prefers_tree(points.shape[1])
        if tree and addend is None:
            report(f"exact search by a k-d tree, {points.shape[0]} points")
            return TreeEngine(points, n_threads, report)
        report(f"exact search by sketches, {points.shape[0]} points")
        return SketchEngine(points, addend, None, 0, n_threads, report)


class ApproximateIndex(_EuclideanIndex):
    """Approximate search to a wanted recall, for Euclidean distances, cosines, inner products.

    Candidates come from short sketches of the points (see `ExactIndex`) in the cells of a k-means
    partition; their distances are exact. How many cells and candidates are needed is measured on a
    sample of rows whose neighbours are found exactly. Rows that would be left with too few
    neighbours are completed exactly. Sparse data are searched exactly throughout.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "inner_product"}
        As for `ExactIndex`.
    target_recall : float
        The share of true neighbours to be found, on average over rows.
    n_jobs : int or None
        Threads; the answer does not depend on it.
    random_state : int, Generator, RandomState or None
        The same seed gives the same bits; None is a fixed seed.
    verbose : bool

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 20))
    >>> ApproximateIndex(target_recall=0.95).fit(X).self_neighbors(5).indices.shape
    (500, 5)
    """

    saved_state: ClassVar[tuple[str, ...]] = ("points_", "seed_")

    def __init__(
        self,
        metric: str = "euclidean",
        *,
        target_recall: float = 0.99,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(metric, n_jobs=n_jobs, verbose=verbose)
        if not 0.0 < target_recall < 1.0:
            raise ValueError(
                f"target_recall={target_recall} must lie between 0 and 1; use ExactIndex for 1"
            )
        self.target_recall = target_recall
        self.random_state = random_state

    def fit(self, X: Any) -> Self:
        """Take the points among which to search.

        Parameters
        ----------
        X : (n_samples, n_features) array-like or sparse matrix

        Returns
        -------
        self
        """
        self.seed_ = seed_of(self.random_state)
        return super().fit(X)

    def _make_engine(self, points: Data, n_threads: int, report: Reporter) -> Engine:
        addend = self._geometry.addend(points)
        if sp.issparse(points):
            # On 20 newsgroups no sketch of up to 256 numbers told neighbours from others.
            report(f"sparse rows are searched exactly, {points.shape[0]} points")
            return SparseEngine(points, addend, data_scale(points), n_threads, report)
        report(f"approximate search, recall {self.target_recall:g}, {points.shape[0]} points")
        return SketchEngine(points, addend, self.target_recall, self.seed_, n_threads, report)
