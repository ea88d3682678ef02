"""Objectives whose sums are taken on a cluster.

An evaluation is one task per part: the attraction along the edges of a part, and the repulsion on
the points in a strip of the map. Sums over parts are taken in the order of the parts. So the value
and gradient at X depend on X alone, not on the number of workers, nor on whether one was lost.

The potential's grid is made in the calling process, and so is the step. The step solves equations
of all points, so positions are all there; to spread them from there onto the grid takes less time
than tasks would take to send their grids back (`benchmarks/results/distributed.md`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit import objectives
from closeknit._arrays import Array
from closeknit.distributed.graph import ShardedGraph
from closeknit.distributed.parts import Parts
from closeknit.linalg import with_data
from closeknit.objectives import Attraction, Objective
from closeknit.objectives.base import MANY_POINTS
from closeknit.objectives.map_order import map_order
from closeknit.repulsion import GridRepulsion, PairSums

#: Accuracy of the grid from which positions and forces travel in single precision.
_COARSE = 0.05


class OnShards(Objective):
    """What an objective does otherwise if its weights are in shards.

    Parameters
    ----------
    affinities : ShardedGraph
        Symmetric.
    repulsion : GridRepulsion
    n_jobs : int or None, default=-1
        Threads of this process.
    check : bool, default=True
        Ignored.
    """

    weights: Any
    repulsion: GridRepulsion

    def __init__(
        self,
        affinities: ShardedGraph,
        *,
        repulsion: Any,
        n_jobs: int | None = -1,
        check: bool = True,
    ):
        self.weights, self.repulsion = affinities, repulsion
        self._on_workers = Parts.of(affinities, self.kernel, repulsion.dtype)
        kept, self.weight_entropy = self._on_workers.sample
        kept = with_data(kept, (self.total_weight * kept.data).astype(kept.dtype))
        self.attraction = Attraction(kept, self.kernel, n_jobs)
        self._numbered, self._numbering, self._parts = None, "", []

    @property
    def total_weight(self) -> float:
        """Σ w⁺."""
        return 1.0 if self.unit_sum else float(self.weights.total)

    def renumber(self, X: Array, edges: float = 1.0) -> None:
        """Number the points by their place on the map, and the parts of the graph with them.

        All edges attract, whatever `edges` says: workers keep one graph.
        """
        if len(X) < MANY_POINTS or X.shape[1] > 3 or not np.isfinite(X.sum()):
            return
        order = map_order(X)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._numbering = self._on_workers.number(order, place)
        self._numbered = order, place, self.attraction

    def release(self) -> None:
        """Let workers forget the graph."""
        self._on_workers.release()

    def value(self, X: Array, lam: float) -> float:
        """E(X; λ)."""
        return float(self.at(lam).value_and_gradient(X)[0])

    def sums(self, X: Array, attraction: Attraction, force: Array) -> tuple[float, PairSums]:
        """Ask the cluster."""
        sent: NDArray[Any] = X
        if self.repulsion.accuracy >= _COARSE:
            sent = X.astype(np.float32)
            X = sent.astype(np.float64)  # where the grid is spread, forces are read
        shared = self.repulsion.shared(X, self.kernel)
        found = self._on_workers.evaluate(sent, shared, self._numbering)
        for (begin, end), (_, pulled, *_) in zip(self._on_workers.ends, found, strict=True):
            np.multiply(pulled, self.total_weight, out=force[begin:end])
        attractive = self.total_weight * float(np.sum([part[0] for part in found]))
        if shared is None:  # too wide a map, of which the repulsion has warned
            return attractive, self.repulsion.sums(X, self.kernel)
        pushed = np.empty(X.shape)
        for _, _, points, _, pushes in found:
            pushed[points] = pushes
        return attractive, PairSums(np.array([part[3] for part in found]), pushed)


class _Normalized:
    """An entropy that was added up over the shards."""

    weight_entropy: float

    @property
    def entropy(self) -> float:
        """H(P)."""
        return self.weight_entropy


class TSNE(_Normalized, objectives.TSNE, OnShards):
    """t-SNE on shards; see :class:`closeknit.objectives.TSNE`."""


class SymmetricSNE(_Normalized, objectives.SymmetricSNE, OnShards):
    """s-SNE on shards; see :class:`closeknit.objectives.SymmetricSNE`."""


class ElasticEmbedding(objectives.ElasticEmbedding, OnShards):
    """EE on shards; see :class:`closeknit.objectives.ElasticEmbedding`."""
