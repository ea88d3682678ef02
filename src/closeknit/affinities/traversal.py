"""The input of an order, and its result: the sequence in which rows are solved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array, Integers

#: Rows that follow one another on one thread. The first of a run has no predecessor and starts
#: from its bounds, which costs about three passes once in this many rows.
RUN_LENGTH = 1024


@dataclass(frozen=True)
class RowProblem:
    """The rows to be solved, as an order sees them.

    Parameters
    ----------
    sq_distances : ndarray of shape (n_samples, n_neighbors)
        Squared distances, rows sorted.
    perplexity : ndarray of shape (1,) or (n_samples,)
    indices : ndarray of shape (n_samples, n_neighbors) or None
        Which points the distances belong to; the spanning tree needs them.
    n_jobs : int
        Number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import Bounds, RowProblem
    >>> problem = RowProblem(np.array([[1.0, 4.0], [1.0, 2.0], [1.0, 3.0]]), np.array([1.5]))
    >>> Bounds().plan(problem).parent
    array([-1, -1, -1])
    """

    sq_distances: NDArray[Any]
    perplexity: Array
    indices: NDArray[Any] | None = None
    n_jobs: int = 1


@dataclass(frozen=True)
class Traversal:
    """Waves of runs of rows; the runs of a wave are independent of each other.

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

    Examples
    --------
    >>> import numpy as np
    >>> import closeknit as ck
    >>> from closeknit.affinities import Traversal
    >>> class Backwards:
    ...     def plan(self, problem):
    ...         n = len(problem.sq_distances)
    ...         rows = np.arange(n)[::-1]
    ...         return Traversal(rows, parent=[-1, *rows[:-1]], runs=[0, n], waves=[0, 1])
    >>> d = [[1.0, 2.0, 4.0], [1.0, 2.0, 5.0], [1.0, 2.0, 6.0]]
    >>> ck.solve_bandwidths(d, 2.0, method="newton", order=Backwards()).converged
    array([ True,  True,  True])
    """

    sequence: Integers
    parent: Integers
    runs: Integers
    waves: Integers
    starts: Array | None = None

    def __post_init__(self) -> None:
        # The compiled core checks the values: every row once, and after its parent.
        for name in ("sequence", "parent", "runs", "waves"):
            array = np.asarray(getattr(self, name))
            if array.dtype.kind not in "iu":
                raise ValueError(f"the order's {name} must hold integers, got {array.dtype}")
            object.__setattr__(self, name, np.ascontiguousarray(array, dtype=np.int64))
        if self.starts is not None:
            object.__setattr__(self, "starts", np.ascontiguousarray(self.starts, dtype=np.float64))


@runtime_checkable
class Order(Protocol):
    """An order of processing.

    Examples
    --------
    >>> from closeknit.affinities import Bounds, Order
    >>> isinstance(Bounds(), Order)
    True
    """

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        ...


def _offsets(n: int, step: int) -> Integers:
    return np.append(np.arange(0, n, step, dtype=np.int64), np.int64(n))


def chain(sequence: NDArray[Any]) -> Traversal:
    """Each row starts from the one before it, in runs of fixed length."""
    sequence = np.ascontiguousarray(sequence, dtype=np.int64)
    parent = np.empty_like(sequence)
    parent[1:] = sequence[:-1]
    parent[::RUN_LENGTH] = -1
    runs = _offsets(len(sequence), RUN_LENGTH)
    return Traversal(sequence, parent, runs, np.array([0, len(runs) - 1], dtype=np.int64))


def independent(n: int, starts: Array | None = None) -> Traversal:
    """No row waits for another."""
    runs = _offsets(n, RUN_LENGTH)
    waves = np.array([0, len(runs) - 1], dtype=np.int64)
    return Traversal(
        np.arange(n, dtype=np.int64), np.full(n, -1, dtype=np.int64), runs, waves, starts
    )
