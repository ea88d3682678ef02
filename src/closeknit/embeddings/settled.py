"""The stopping rule for maps: the neighbours kept and the objective have settled."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from scipy.sparse import csr_matrix
from scipy.spatial import cKDTree

from closeknit._arrays import Array, Integers
from closeknit.exceptions import NotConvergedWarning
from closeknit.minimize import State, Stop, StopReason

#: Points whose neighbours are looked up, at equal distances in the data: the share of neighbours
#: kept is then known to about 0.002, and its growth better than that.
_SAMPLE = 4000
_NEIGHBORS = 15


@dataclass
class _Look:
    """A map on the way, and the share of neighbours that it keeps, once that was measured."""

    iteration: int
    X: Array
    share: float | None = None


@dataclass(frozen=True)
class MapSettled(Stop):
    """Stop when the neighbours that a map keeps, and the objective, hardly change any more.

    The share of strongest neighbours that are nearest on the map is measured on a sample of points.
    The map is finished when over twice `every` iterations that share has grown by no more than
    `growth` of itself, and over the last `every` iterations the objective has changed by no more
    than `tol` per iteration of what it is above `floor`. Momentum may go uphill for a
    while; a map whose objective rises faster than that swings, and is not finished.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
        The graph; the neighbours of a point are those of its largest weights.
    tol : float, default=1e-4
    growth : float, default=0.004
    every : int, default=20
    floor : float, default=0.0
        What the objective cannot fall below: the entropy of P where it is a cross entropy, so that
        `tol` speaks of the divergence.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.embeddings import MapSettled
    >>> emb = ck.TSNE(random_state=0).fit(load_iris().data)
    >>> round(MapSettled(emb.affinities_).neighbors_kept(emb.embedding_), 1)
    0.8
    """

    weights: csr_matrix
    tol: float = 1e-4
    growth: float = 0.004
    every: int = 20
    floor: float = 0.0
    #: The last maps of the stage that count.
    _looks: deque[_Look] = field(
        default_factory=partial(deque, maxlen=3), init=False, compare=False, repr=False
    )

    def start(self) -> Callable[[State], StopReason | None]:
        """Begin a stage."""
        self._looks.clear()
        values: list[float] = []

        def reached(state: State) -> StopReason | None:
            values.append(state.value - self.floor)
            if state.gradient_norm == 0.0:
                return StopReason.GRADIENT_TOL
            if len(values) == 1 or (len(values) - 1) % self.every:
                return None
            self._looks.append(_Look(state.iteration, state.X))
            before, now = values[-1 - self.every], values[-1]
            still = abs(now - before) <= self.tol * self.every * max(abs(before), abs(now))
            return StopReason.TOL if still and self.has_settled() else None

        return reached

    def has_settled(self) -> bool:
        """Whether the share of neighbours kept has stopped growing."""
        if len(self._looks) < 3:
            return False
        first, *later = (self._share(look) for look in self._looks)
        return max(later) <= (1.0 + self.growth) * first

    def _share(self, look: _Look) -> float:
        """Measure a map, only now that its share is asked for."""
        if look.share is None:
            look.share = self.neighbors_kept(look.X)
        return look.share

    def warn_if_unfinished(self, reason: StopReason, stacklevel: int) -> None:
        """Warn if a limit has stopped a map whose neighbours kept were still growing.

        Before the third measurement of a stage it is too early to say, and nothing is.
        """
        limits = (StopReason.MAX_ITER, StopReason.TIME_LIMIT)
        if reason not in limits or len(self._looks) < 3 or self.has_settled():
            return
        first, _, last = self._looks
        warnings.warn(
            f"{reason.value} stopped a map that is not finished: the share of neighbours kept "
            f"still rose from {self._share(first):.3f} to {self._share(last):.3f} between "
            f"iterations {first.iteration} and {last.iteration}; raise {reason.value}, or go on "
            "with optimize()",
            NotConvergedWarning,
            stacklevel=stacklevel + 1,
        )

    def neighbors_kept(self, X: Array) -> float:
        """Share of the strongest neighbours of a sample that are among its nearest on the map."""
        sample, strongest, most = self._strongest
        n, k = len(X), min(_NEIGHBORS, len(X) - 1)
        tree = cKDTree(X, compact_nodes=False, balanced_tree=False)  # used for few queries
        _, found = tree.query(X[sample], range(1, k + 2))
        # The point itself is among the k + 1 nearest unless as many others lie on it.
        own = found == sample[:, None]
        own[~own.any(axis=1), -1] = True
        near = found[~own].reshape(len(sample), k) + n * np.arange(len(sample))[:, None]
        kept = np.count_nonzero(np.isin(near, strongest, assume_unique=True))
        return float(kept) / max(1, most)

    @cached_property
    def _strongest(self) -> tuple[Integers, Integers, int]:
        """The points of the sample; their strongest neighbours; and how many there could be.

        Neighbour j of the i-th point of the sample is the number n·i + j. Of copies of a point, or
        others of equal weight, any may be near: all that weigh as much as the 15th count.
        """
        n = self.weights.shape[0]
        sample = np.arange(0, n, -(-n // _SAMPLE))
        strongest, most = [], 0
        rows = self.weights[sample]
        for row in range(len(sample)):
            stored = slice(rows.indptr[row], rows.indptr[row + 1])
            weights, k = rows.data[stored], min(_NEIGHBORS, stored.stop - stored.start)
            least = np.partition(weights, -k)[-k] if k else 0.0
            strongest.append(n * row + rows.indices[stored][weights >= least].astype(np.int64))
            most += k
        return sample, np.concatenate(strongest), most
