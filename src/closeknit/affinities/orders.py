"""Orders in which points are processed, so that each starts close to its root.

The paper's idea: β varies slowly over the data, so a point should start from the root of one that
is near it (a *local* order) or lies in a region of similar density. An order turns a problem into a
:class:`Plan`: waves of runs of rows, each row with the row whose root it starts from. Runs are of
fixed length, so the plan, and with it every bit of the result, is the same for any number of
threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from closeknit import _core

__all__ = [
    "ORDERS",
    "Bounds",
    "Density",
    "Given",
    "MinimumSpanningTree",
    "Oracle",
    "Order",
    "Plan",
    "RandomOrder",
    "Raster",
    "Regression",
    "RowProblem",
]

#: Rows that follow one another on one thread. The first of a run has no predecessor and starts
#: from its bounds, which costs about three passes once in so many rows.
RUN_LENGTH = 1024


@dataclass(frozen=True)
class RowProblem:
    """What an order may look at.

    Parameters
    ----------
    sq_distances : ndarray of shape (n_samples, n_neighbors)
        Squared distances, rows sorted.
    perplexity : ndarray of shape (1,) or (n_samples,)
    indices : ndarray of shape (n_samples, n_neighbors) or None
        Which points the distances belong to; the spanning tree needs them.
    n_jobs : int
        Number of threads.
    """

    sq_distances: NDArray[Any]
    perplexity: NDArray[np.float64]
    indices: NDArray[Any] | None = None
    n_jobs: int = 1


@dataclass(frozen=True)
class Plan:
    """Wave after wave of runs; the runs of a wave are independent of each other.

    Parameters
    ----------
    sequence : ndarray of shape (n_samples,)
        The rows, in the order of processing.
    parent : ndarray of shape (n_samples,)
        For each position of the sequence the row whose root it starts from, or -1.
    runs : ndarray
        Offsets into the sequence.
    waves : ndarray
        Offsets into the runs.
    starts : ndarray of shape (n_samples,), optional
        β to start a row without a parent from, instead of the middle of its bounds.
    """

    sequence: NDArray[np.int64]
    parent: NDArray[np.int64]
    runs: NDArray[np.int64]
    waves: NDArray[np.int64]
    starts: NDArray[np.float64] | None = None


@runtime_checkable
class Order(Protocol):
    """An order of processing."""

    def plan(self, problem: RowProblem) -> Plan:
        """Lay out the rows of a problem."""
        ...


def _offsets(n: int, step: int) -> NDArray[np.int64]:
    return np.append(np.arange(0, n, step, dtype=np.int64), np.int64(n))


def _chain(sequence: NDArray[Any]) -> Plan:
    """Each row starts from the one before it, in runs of fixed length."""
    sequence = np.ascontiguousarray(sequence, dtype=np.int64)
    parent = np.empty_like(sequence)
    parent[1:] = sequence[:-1]
    parent[::RUN_LENGTH] = -1
    runs = _offsets(len(sequence), RUN_LENGTH)
    return Plan(sequence, parent, runs, np.array([0, len(runs) - 1], dtype=np.int64))


def _independent(n: int, starts: NDArray[np.float64] | None = None) -> Plan:
    """No row waits for another."""
    runs = _offsets(n, RUN_LENGTH)
    waves = np.array([0, len(runs) - 1], dtype=np.int64)
    return Plan(np.arange(n, dtype=np.int64), np.full(n, -1, dtype=np.int64), runs, waves, starts)


@dataclass(frozen=True)
class Bounds:
    """Every row starts from the middle of its own bounds; rows are independent."""

    def plan(self, problem: RowProblem) -> Plan:
        """Lay out the rows of a problem."""
        return _independent(len(problem.sq_distances))


@dataclass(frozen=True)
class Given:
    """Each row starts from the one before it in the data."""

    def plan(self, problem: RowProblem) -> Plan:
        """Lay out the rows of a problem."""
        return _chain(np.arange(len(problem.sq_distances)))


@dataclass(frozen=True)
class RandomOrder:
    """A random sequence: the paper's worst case.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None
    """

    random_state: Any = None

    def plan(self, problem: RowProblem) -> Plan:
        """Lay out the rows of a problem."""
        from sklearn.utils import check_random_state

        rng = check_random_state(self.random_state)
        return _chain(rng.permutation(len(problem.sq_distances)))


@dataclass(frozen=True)
class Raster:
    """Row by row through an image, left to right and back again.

    Parameters
    ----------
    shape : tuple of int
        Height and width; points are the pixels in C order.
    """

    shape: tuple[int, int]

    def plan(self, problem: RowProblem) -> Plan:
        """Lay out the rows of a problem."""
        height, width = self.shape
        n = len(problem.sq_distances)
        if height * width != n:
            raise ValueError(
                f"Raster(shape={self.shape}) describes {height * width} pixels, got {n} points"
            )
        sequence = np.arange(n).reshape(height, width)
        sequence[1::2] = sequence[1::2, ::-1]
        return _chain(sequence.ravel())


@dataclass(frozen=True)
class Density:
    """Points sorted by a local density: the distance to their K-th neighbour (the D_K order).

    Parameters
    ----------
    rank : int or None, default=None
        Which neighbour; None means ⌈K⌉, which the paper found best.

    Notes
    -----
    The gap d_K² − d_1² is sorted rather than d_K² itself: β does not change when a constant is
    added to all squared distances, and the gap shares that.
    """

    rank: int | None = None

    def plan(self, problem: RowProblem) -> Plan:
        """Lay out the rows of a problem."""
        d = problem.sq_distances
        rank = int(np.ceil(problem.perplexity.max())) if self.rank is None else self.rank
        column = min(max(rank, 2), d.shape[1]) - 1
        with np.errstate(invalid="ignore"):  # rows without neighbours: inf − inf, sorted last
            gap = d[:, column] - d[:, 0]
        return _chain(np.argsort(gap, kind="stable"))


@dataclass(frozen=True)
class Oracle:
    """Points sorted by their true β: the best order there is, for comparisons.

    Parameters
    ----------
    betas : array-like of shape (n_samples,) or None, default=None
        The roots; None solves for them first.
    """

    betas: Any = field(default=None, compare=False)

    def plan(self, problem: RowProblem) -> Plan:
        """Lay out the rows of a problem."""
        if self.betas is None:
            from closeknit.affinities.bandwidths import solve

            betas = solve(problem, method="auto", order="auto", tol=1e-10).betas
        else:
            betas = np.asarray(self.betas, dtype=np.float64)
        return _chain(np.argsort(betas, kind="stable"))


@dataclass(frozen=True)
class MinimumSpanningTree:
    """A spanning forest of the neighbour graph, breadth first: children start from their parent.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbours per point in the graph whose tree is built (the paper's κ).

    Notes
    -----
    Kruskal's algorithm by SciPy, on the ranks of the edge lengths, so that edges of length zero
    between duplicates count too. A graph of several components gives a forest.
    """

    n_neighbors: int = 10

    def plan(self, problem: RowProblem) -> Plan:
        """Lay out the rows of a problem."""
        if problem.indices is None:
            raise ValueError(
                "order='mst' needs to know which points the distances belong to; "
                "pass indices= of the same shape as sq_distances"
            )
        tree = self._tree(problem.sq_distances, problem.indices)
        return _tree_plan(*_breadth_first(tree))

    def _tree(self, sq_distances: NDArray[Any], indices: NDArray[Any]) -> Any:
        from scipy.sparse import coo_array, csr_array
        from scipy.sparse.csgraph import minimum_spanning_tree

        n = len(indices)
        k = min(self.n_neighbors, indices.shape[1])
        rows = np.repeat(np.arange(n, dtype=np.int32), k)
        columns = indices[:, :k].ravel()
        length = sq_distances[:, :k].ravel()
        valid = columns >= 0
        rows, columns, length = rows[valid], columns[valid], length[valid]
        rank = np.empty(len(length))
        rank[np.argsort(length, kind="stable")] = np.arange(1, len(length) + 1)
        graph = csr_array(coo_array((rank, (rows, columns)), shape=(n, n)))
        return minimum_spanning_tree(graph)


def _breadth_first(tree: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Order and predecessors of all trees of a forest at once, through one extra root node."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    n = tree.shape[0]
    edges = coo_array(tree)
    _, label = connected_components(tree, directed=False)
    _, roots = np.unique(label, return_index=True)
    row = np.concatenate([edges.row, np.full(len(roots), n)])
    column = np.concatenate([edges.col, roots])
    joined = csr_array(coo_array((np.ones(len(row)), (row, column)), shape=(n + 1, n + 1)))
    order, predecessor = breadth_first_order(joined, n, directed=False)
    sequence = order[1:].astype(np.int64)
    parent = predecessor[sequence].astype(np.int64)
    return sequence, np.where(parent == n, -1, parent)


def _tree_plan(sequence: NDArray[np.int64], parent: NDArray[np.int64]) -> Plan:
    """One wave per level of the tree, cut into runs."""
    n = len(sequence)
    position = np.empty(n, dtype=np.int64)
    position[sequence] = np.arange(n)
    # Breadth first, so parents' positions never decrease: a level ends where parents leave the
    # level before.
    parent_position = np.where(parent < 0, -1, position[parent])
    runs, waves = [0], [0]
    begin, end = 0, int(np.searchsorted(parent_position, 0))
    while begin < n:
        runs.extend(range(begin + RUN_LENGTH, end, RUN_LENGTH))
        runs.append(end)
        waves.append(len(runs) - 1)
        begin, end = end, int(np.searchsorted(parent_position, end))
    return Plan(sequence, parent, np.array(runs, dtype=np.int64), np.array(waves, dtype=np.int64))


@dataclass(frozen=True)
class Regression:
    """Every row starts from a regression of log β on the logs of a few of its distances.

    This is the order-free start behind ``order="auto"``. The weights sum to −1, so the guess
    scales as the root does.

    Parameters
    ----------
    n_fit : int, default=200
        Rows, at equal stride, that are solved exactly to fit the weights.
    ranks, weights, intercept
        A fitted model; use :meth:`fit` to get one. Unfitted models are fitted to the problem.
    """

    n_fit: int = 200
    ranks: tuple[int, ...] = ()
    weights: tuple[float, ...] = ()
    intercept: float = 0.0

    def fit(self, problem: RowProblem) -> Regression:
        """Fit the weights, unless they are there.

        The result has no ranks if the perplexities differ or too few rows have a root.
        """
        if self.ranks or len(problem.perplexity) != 1:
            return self
        ranks, weights, intercept = _core.fit_start(
            problem.sq_distances, float(problem.perplexity[0]), self.n_fit, problem.n_jobs
        )
        return Regression(self.n_fit, tuple(ranks), tuple(weights), intercept)

    def plan(self, problem: RowProblem) -> Plan:
        """Lay out the rows of a problem."""
        model = self.fit(problem)
        d = problem.sq_distances
        if not model.ranks:
            return _independent(len(d))
        if model.ranks[-1] >= d.shape[1]:
            raise ValueError("the start model was fitted for longer rows")
        starts = np.full(len(d), model.intercept)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Column by column: a matrix product may round a row differently in another batch.
            for rank, weight in zip(model.ranks, model.weights, strict=True):
                starts += weight * np.log2(d[:, rank] - d[:, 0])
            starts = np.exp2(starts)
        return _independent(len(d), np.where(np.isfinite(starts), starts, 0.0))


ORDERS: dict[str, type[Order]] = {
    "auto": Regression,
    "bounds": Bounds,
    "density": Density,
    "mst": MinimumSpanningTree,
    "random": RandomOrder,
    "given": Given,
    "oracle": Oracle,
}


def resolve_order(order: str | Order, random_state: Any = None) -> Order:
    """Turn a name into an order."""
    if isinstance(order, Order) and not isinstance(order, str):
        return order
    if order == "raster":
        raise ValueError(
            "order='raster' needs the image's shape; "
            "use closeknit.affinities.Raster((height, width))"
        )
    if order == "random":
        return RandomOrder(random_state)
    if order in ORDERS:
        return ORDERS[order]()
    raise ValueError(
        f"unknown order {order!r}; use {', '.join(map(repr, ORDERS))} "
        "or an object such as closeknit.affinities.Raster((height, width))"
    )
