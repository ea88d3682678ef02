"""Exact and approximate search for Euclidean distances and what reduces to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from closeknit._arrays import Array, Integers
from closeknit._threads import effective_n_jobs
from closeknit.neighbors._set_aside import (
    DuplicateGroups,
    find_duplicates,
    first_equal_rows,
    set_outliers_aside,
)
from closeknit.neighbors._sketch_engine import SketchEngine
from closeknit.neighbors._sparse import SparseEngine
from closeknit.neighbors._tree import TreeEngine
from closeknit.neighbors.geometry import GEOMETRIES, unknown_metric
from closeknit.neighbors.points import (
    Data,
    SearchEngine,
    check_data,
    check_n_neighbors,
    data_scale,
    in_float32_if_exact,
    same_rows,
    seed_of,
)
from closeknit.neighbors.result import Neighbors
from closeknit.progress import log, shown

Offsets: TypeAlias = Array | None

# Up to here a k-d tree beats sketches. Measured at k = 30: the tree wins for 20,000 Gaussian points
# in 6 dimensions and loses in 8, on covertype (10 dimensions, 140,000 points) by a factor 2.6, and
# on 300,000 points of a mixture in 10 dimensions by 3.6.
_TREE_FEATURES = 7


class _EuclideanIndex(ABC):
    """What exact and approximate search share: geometry, checks, duplicates."""

    metric: str
    n_jobs: int | None
    verbose: bool

    points_: Data
    _engine: SearchEngine
    _duplicates: DuplicateGroups | None = None
    _groups_duplicates: ClassVar[bool] = False

    @abstractmethod
    def _make_engine(self, points: Data, sq_offsets: Offsets) -> SearchEngine:
        """Return what searches the points, adding an offset to each squared distance."""

    def fit(self, X: Any) -> Self:
        """Take the points among which to search.

        Parameters
        ----------
        X : (n_samples, n_features) array-like or sparse matrix

        Returns
        -------
        self
        """
        to_points = GEOMETRIES[self.metric].to_points
        X = check_data(X)
        self.points_ = in_float32_if_exact(X if to_points is None else to_points(X))
        with shown(self.verbose):
            self.restore_state()
        return self

    def restore_state(self) -> None:
        """Derive everything else from the points, after a fit and after loading."""
        points, geometry = self.points_, GEOMETRIES[self.metric]
        self._scale = data_scale(points)
        if self._groups_duplicates:
            n_threads = effective_n_jobs(self.n_jobs)
            self._duplicates = find_duplicates(points, self._scale, n_threads)
        if self._duplicates is not None:
            points = points[self._duplicates.first]
        sq_offsets = None if geometry.sq_offsets is None else geometry.sq_offsets(points)
        self._engine = self._make_engine(points, sq_offsets)

    def self_neighbors(self, n_neighbors: int) -> Neighbors:
        """Find each fitted point's nearest other points.

        Parameters
        ----------
        n_neighbors : int

        Returns
        -------
        Neighbors
        """
        k = check_n_neighbors(n_neighbors, self.points_.shape[0], exclude_self=True)
        groups = self._duplicates
        with shown(self.verbose):
            if groups is None:
                return self._result(*self._engine.search(k, exclude_self=True))
            found = self._engine.search(min(k + 1, len(groups.first)))
            return self._result(*groups.others_of(found, k))

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
        queries = self._queries(X)
        k = check_n_neighbors(n_neighbors, self.points_.shape[0], exclude_self=False)
        groups = self._duplicates
        with shown(self.verbose):
            if groups is None:
                return self._result(*self._engine.search(k, queries))
            found = self._engine.search(min(k, len(groups.first)), queries)
            return self._result(*groups.points_of(found, k))

    def holds(self, X: Any) -> bool:
        """Whether `X` is what was fitted: all of it, in the same order.

        Parameters
        ----------
        X : (n_queries, n_features) array or CSR matrix

        Returns
        -------
        bool
        """
        return same_rows(X, self.points_, self._queries)

    def equal_points(self, X: Any) -> Integers:
        """For each new point the first fitted point equal to it, or -1.

        Parameters
        ----------
        X : (n_queries, n_features) array-like or sparse matrix

        Returns
        -------
        (n_queries,) array
        """
        queries = self._queries(X)
        return first_equal_rows(queries, self.points_, self._scale, effective_n_jobs(self.n_jobs))

    def _queries(self, X: Any) -> Data:
        """Check new data and turn them into points as the engine takes them."""
        X = check_data(X, n_features=self.points_.shape[1])
        if sp.issparse(X) != sp.issparse(self.points_):
            kinds = ("sparse", "dense") if sp.issparse(self.points_) else ("dense", "sparse")
            raise TypeError(f"the fitted data are {kinds[0]}, but X is {kinds[1]}; convert X")
        to_points = GEOMETRIES[self.metric].to_points
        queries = X if to_points is None else to_points(X)
        if queries.dtype == self.points_.dtype or queries.dtype == np.float32:
            return queries.astype(self.points_.dtype, copy=False)
        # Double precision is rounded to that of the points only where it loses nothing.
        with np.errstate(over="ignore", under="ignore"):
            rounded = queries.astype(np.float32)
        changed = rounded != queries
        lossy = changed.nnz > 0 if sp.issparse(changed) else changed.any()
        return queries if lossy else rounded

    def _result(self, indices: Any, sq_distances: Any) -> Neighbors:
        to_metric = GEOMETRIES[self.metric].to_metric
        if to_metric is not None:
            sq_distances = to_metric(sq_distances)
        if not np.isfinite(sq_distances[:, -1]).all():  # the largest of each row
            row = int(np.argmin(np.isfinite(sq_distances[:, -1])))
            raise ValueError(
                f"the squared distances of row {row} overflow; divide the data by a constant"
            )
        return Neighbors(indices, sq_distances, self.points_.shape[0])


@dataclass(eq=False)
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
    algorithm : {"auto", "tree", "sketch", "scan"}
        "auto" takes the tree up to 7 features, and sketches beyond. "scan" compares with all
        points, which is fastest for a few hundred queries.
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

    #: What :func:`closeknit.io.save` keeps of a fitted index.
    saved_state: ClassVar[tuple[str, ...]] = ("points_",)
    _groups_duplicates = True

    metric: str = "euclidean"
    _: KW_ONLY
    algorithm: str = "auto"
    n_jobs: int | None = -1
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.metric not in GEOMETRIES:
            raise unknown_metric(self.metric)
        if self.algorithm not in ("auto", "tree", "sketch", "scan"):
            raise ValueError(
                f"algorithm={self.algorithm!r} is unknown; choose 'auto', 'tree', 'sketch' or "
                "'scan'"
            )

    def _make_engine(self, points: Data, sq_offsets: Offsets) -> SearchEngine:
        n_threads = effective_n_jobs(self.n_jobs)
        if sp.issparse(points):
            log("exact search by sparse products, %d points", points.shape[0])
            return SparseEngine(points, n_threads, sq_offsets, self._scale)
        few = self.algorithm == "auto" and points.shape[1] <= _TREE_FEATURES
        if (few or self.algorithm == "tree") and sq_offsets is None:
            log("exact search by a k-d tree, %d points", points.shape[0])
            return TreeEngine(points, n_threads)
        log("exact search by sketches, %d points", points.shape[0])
        plain = self.algorithm == "scan"
        engine = SketchEngine(
            points, n_threads, sq_offsets, target_recall=None, seed=0, plain=plain
        )
        return set_outliers_aside(engine, self._scale)


@dataclass(eq=False)
class ApproximateIndex(_EuclideanIndex):
    """Approximate search to a wanted recall, for Euclidean distances, cosines, inner products.

    Candidates come from short sketches of the points (see `ExactIndex`) in the cells of a k-means
    partition; their distances are exact. How many cells and candidates are needed is measured on a
    sample of rows whose neighbours are found exactly. Rows that would be left with too few
    neighbours are completed exactly. Sparse data are searched exactly throughout.

    The first search builds the index for its number of neighbours; searches for fewer use it as it
    is, and a search for more builds it anew. Which of the true neighbours are found can therefore
    depend on the largest number asked for before.

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

    Attributes
    ----------
    recall_ : float or None
        The recall measured on that sample; None before the first search, and for sparse data.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(500, 20))
    >>> ApproximateIndex(target_recall=0.95).fit(X).self_neighbors(5).indices.shape
    (500, 5)
    """

    #: What :func:`closeknit.io.save` keeps of a fitted index.
    saved_state: ClassVar[tuple[str, ...]] = ("points_", "seed_", "built_for_", "recall_")

    metric: str = "euclidean"
    _: KW_ONLY
    target_recall: float = 0.99
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool = False

    def __post_init__(self) -> None:
        if self.metric not in GEOMETRIES:
            raise unknown_metric(self.metric)
        if not 0.0 < self.target_recall < 1.0:
            raise ValueError(
                f"target_recall={self.target_recall} must lie between 0 and 1; use ExactIndex for 1"
            )

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
        self.built_for_ = 0
        self.recall_: float | None = None
        return super().fit(X)

    def _make_engine(self, points: Data, sq_offsets: Offsets) -> SearchEngine:
        n_samples, n_threads = points.shape[0], effective_n_jobs(self.n_jobs)
        if sp.issparse(points):
            # On 20 newsgroups no sketch of up to 256 numbers separated neighbours from others.
            log("sparse rows are searched exactly, %d points", n_samples)
            return SparseEngine(points, n_threads, sq_offsets, self._scale)
        log("approximate search, recall %g, %d points", self.target_recall, n_samples)
        settings = (self.target_recall, self.seed_, self.built_for_)
        engine = SketchEngine(points, n_threads, sq_offsets, *settings)
        return set_outliers_aside(engine, self._scale)

    def _result(self, indices: Any, sq_distances: Any) -> Neighbors:
        self.built_for_ = getattr(self._engine, "built_for", 0)
        self.recall_ = getattr(self._engine, "recall", None)
        return super()._result(indices, sq_distances)
