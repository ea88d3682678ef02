"""Orders in which points are processed, so that each starts close to its root.

The paper's idea: β varies slowly over the data, so a point should start from the root of one that
is near it (a *local* order) or lies in a region of similar density. An order turns a problem into a
:class:`Traversal`: waves of runs of rows, each row with the row whose root it starts from. Runs are
of fixed length, so the traversal, and with it every bit of the result, is the same for any number
of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from closeknit import _core
from closeknit._arrays import Array
from closeknit.affinities.spanning_tree import MinimumSpanningTree
from closeknit.affinities.traversal import Order, RowProblem, Traversal, chain, independent
from closeknit.kernels import GAUSSIAN

if TYPE_CHECKING:
    from closeknit.affinities.solution import Bandwidths


@dataclass(frozen=True)
class Bounds:
    """Every row starts from the middle of its own bounds; rows are independent.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import Bounds, RowProblem
    >>> problem = RowProblem(np.array([[1.0, 4.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.5]))
    >>> Bounds().plan(problem).sequence
    array([0, 1, 2])
    """

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        return independent(len(problem.sq_distances))


@dataclass(frozen=True)
class Given:
    """Each row starts from the one before it in the data.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import Given, RowProblem
    >>> problem = RowProblem(np.array([[1.0, 4.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.5]))
    >>> Given().plan(problem).sequence
    array([0, 1, 2])
    """

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        return chain(np.arange(len(problem.sq_distances)))


@dataclass(frozen=True)
class RandomOrder:
    """A random sequence: the paper's worst case.

    Parameters
    ----------
    random_state : int, RandomState or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import RandomOrder, RowProblem
    >>> problem = RowProblem(np.array([[1.0, 4.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.5]))
    >>> RandomOrder(random_state=0).plan(problem).sequence
    array([2, 1, 0])
    """

    random_state: Any = None

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        from sklearn.utils import check_random_state

        rng = check_random_state(self.random_state)
        return chain(rng.permutation(len(problem.sq_distances)))


@dataclass(frozen=True)
class Raster:
    """Row by row through an image, left to right and back again.

    Parameters
    ----------
    shape : tuple of int
        Height and width; points are the pixels in C order.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import Raster, RowProblem
    >>> problem = RowProblem(np.ones((6, 2)), np.array([1.5]))
    >>> Raster((2, 3)).plan(problem).sequence
    array([0, 1, 2, 5, 4, 3])
    """

    shape: tuple[int, int]

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        height, width = self.shape
        n = len(problem.sq_distances)
        if height * width != n:
            raise ValueError(
                f"Raster(shape={self.shape}) describes {height * width} pixels, got {n} points"
            )
        sequence = np.arange(n).reshape(height, width)
        sequence[1::2] = sequence[1::2, ::-1]
        return chain(sequence.ravel())


@dataclass(frozen=True)
class _ByRank:
    """Orders by the distance to one neighbour of each point.

    Parameters
    ----------
    rank : int or None, default=None
        Which neighbour; None means ⌈K⌉, which the paper found best.
    """

    rank: int | None = None

    def __post_init__(self) -> None:
        if self.rank is not None and self.rank < 1:
            raise ValueError(f"rank={self.rank} must be at least 1")

    def _column(self, problem: RowProblem, least: int = 1) -> Array:
        """Squared distances to that neighbour, or to the last one if rows are shorter."""
        rank = int(np.ceil(problem.perplexity.max())) if self.rank is None else self.rank
        column = min(max(rank, least), problem.sq_distances.shape[1]) - 1
        return problem.sq_distances[:, column].astype(np.float64, copy=False)


@dataclass(frozen=True)
class Density(_ByRank):
    """Points sorted by a local density, the distance to their K-th neighbour: the D_K order.

    Parameters
    ----------
    rank : int or None, default=None
        Which neighbour; None means ⌈K⌉, which the paper found best.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import Density, RowProblem
    >>> problem = RowProblem(np.array([[1.0, 4.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.5]))
    >>> Density().plan(problem).sequence
    array([1, 2, 0])
    """

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        return chain(np.argsort(self._column(problem), kind="stable"))


@dataclass(frozen=True)
class Gap(_ByRank):
    """Points sorted by d_K² − d_1²: the D_K order, made as invariant as the root is.

    β does not change when a constant is added to all squared distances of a point. Neither does
    this order, unlike :class:`Density`. In many dimensions, where all distances are large and much
    alike, it follows β more closely.

    Parameters
    ----------
    rank : int or None, default=None
        As in :class:`Density`.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import Gap, RowProblem
    >>> problem = RowProblem(np.array([[1.0, 4.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.5]))
    >>> Gap().plan(problem).sequence
    array([1, 2, 0])
    """

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        with np.errstate(invalid="ignore"):  # rows without neighbours: inf − inf, sorted last
            gap = self._column(problem, least=2) - problem.sq_distances[:, 0]
        return chain(np.argsort(gap, kind="stable"))


@dataclass(frozen=True)
class NeighborDistance(_ByRank):
    """Every row starts from σ = d_k, the distance to its k-th neighbour; rows are independent.

    Parameters
    ----------
    rank : int or None, default=None
        Which neighbour; None means ⌈K⌉. Zelnik-Manor and Perona's rule of thumb is 7.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import NeighborDistance, RowProblem
    >>> problem = RowProblem(np.array([[1.0, 4.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.5]))
    >>> NeighborDistance(rank=1).plan(problem).starts
    array([0.5, 0.5, 0.5])
    """

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        with np.errstate(divide="ignore", over="ignore"):
            return independent(len(problem.sq_distances), 0.5 / self._column(problem))


@dataclass(frozen=True)
class Oracle:
    """Points sorted by their true β: the best order there is, for comparisons.

    Parameters
    ----------
    betas : array-like of shape (n_samples,) or None, default=None
        The roots; None solves for them first.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import Oracle, RowProblem
    >>> problem = RowProblem(np.array([[1.0, 4.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.5]))
    >>> Oracle().plan(problem).sequence
    array([0, 2, 1])
    """

    betas: Any = field(default=None, compare=False)

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        if self.betas is None:
            from closeknit.affinities.bandwidths import solve

            betas = solve(problem, None, Regression(), GAUSSIAN, tol=1e-10).betas
        else:
            betas = np.asarray(self.betas, dtype=np.float64)
            if betas.shape != (len(problem.sq_distances),):
                raise ValueError(
                    f"Oracle(betas=…) has shape {betas.shape}, but there are "
                    f"{len(problem.sq_distances)} rows; give one β per row"
                )
        return chain(np.argsort(betas, kind="stable"))


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

    Examples
    --------
    >>> import numpy as np
    >>> import closeknit as ck
    >>> d = np.sort(np.random.default_rng(0).random((1000, 90)), axis=1)
    >>> bool(ck.solve_bandwidths(d, 30.0, order=ck.affinities.Regression()).evaluations.mean() < 3)
    True
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

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        model = self.fit(problem)
        d = problem.sq_distances
        if not model.ranks:
            return independent(len(d))
        if model.ranks[-1] >= d.shape[1]:
            raise ValueError("the start model was fitted for longer rows")
        starts = np.full(len(d), model.intercept)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # Column by column: a matrix product may round a row differently in another batch.
            for rank, weight in zip(model.ranks, model.weights, strict=True):
                starts += weight * np.log2(d[:, rank] - d[:, 0])
            starts = np.exp2(starts)
        return independent(len(d), np.where(np.isfinite(starts), starts, 0.0))


@dataclass(frozen=True)
class Continuation:
    """Every row starts where its root at another perplexity leads: β(K) is smooth in K.

    With the slope of the entropy at that root, d log β / d log K = 1 / (dH / d log β), so a row
    starts at ``log β + log(K / K₀) / (dH / d log β)``. The slope comes with the solution; no pass
    is spent on it.

    Parameters
    ----------
    previous : Bandwidths
        The solution of the same rows at another perplexity K₀.

    Examples
    --------
    >>> import numpy as np
    >>> import closeknit as ck
    >>> from closeknit.affinities import Continuation
    >>> d = np.sort(np.random.default_rng(0).random((100, 90)), axis=1)
    >>> at_30 = ck.solve_bandwidths(d, 30.0)
    >>> at_31 = ck.solve_bandwidths(d, 31.0, order=Continuation(at_30))
    >>> bool(at_31.evaluations.mean() <= 2.0)
    True
    """

    previous: Bandwidths = field(compare=False)

    def starts(self, problem: RowProblem) -> Array:
        """Return β to start each row from; NaN where the other perplexity has no root."""
        known, n = self.previous, len(problem.sq_distances)
        if known.slopes is None or known.perplexity is None or known.betas.shape != (n,):
            raise ValueError(
                f"Continuation(previous) needs the solution of the same {n} rows at one perplexity"
            )
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return known.betas * np.exp(
                np.log(problem.perplexity / known.perplexity) / known.slopes
            )

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        return independent(len(problem.sq_distances), self.starts(problem))


ORDERS: dict[str, type[Order]] = {
    "auto": Regression,
    "bounds": Bounds,
    "density": Density,
    "gap": Gap,
    "neighbor": NeighborDistance,
    "mst": MinimumSpanningTree,
    "random": RandomOrder,
    "given": Given,
    "oracle": Oracle,
}
