"""Objectives whose sums are taken on a cluster.

Attraction is along the edges of the graph, of which workers hold a part each. Repulsion is summed
meanwhile in the calling process, which has all positions because its step solves equations of all
points: to spread them onto a grid there and to read it takes less time than tasks would take to
send grids and forces around (`benchmarks/results/distributed.md`). Sums over parts are taken in the
order of the parts. So the value and gradient at X depend on X alone, not on the number of workers,
nor on whether one was lost.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from closeknit import objectives
from closeknit._arrays import Array, Integers
from closeknit.distributed.graph import ShardedGraph
from closeknit.distributed.parts import Parts
from closeknit.distributed.thinning import strongest_edges
from closeknit.linalg import with_data
from closeknit.objectives import Attraction, Objective
from closeknit.repulsion import GridRepulsion, PairSums


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
        self._thinned: tuple[float, ShardedGraph] = (1.0, affinities)
        self._numbered, self._numbering, self._parts = None, "", []

    @property
    def total_weight(self) -> float:
        """Σ w⁺."""
        return 1.0 if self.unit_sum else float(self.weights.total)

    def _in_order(self, order: Integers, place: Integers, edges: float) -> Attraction:
        """Let workers keep their parts in another order; this process keeps its few edges."""
        if edges != self._thinned[0]:
            self._thinned = edges, strongest_edges(self.weights, edges)
        self.release()
        self._on_workers = Parts.of(self._thinned[1], self.kernel, self.repulsion.dtype)
        self._numbering = self._on_workers.number(order, place)
        return self.attraction

    def release(self) -> None:
        """Let workers forget the graph."""
        self._on_workers.release()

    def value(self, X: Array, lam: float) -> float:
        """E(X; λ)."""
        return float(self.at(lam).value_and_gradient(X)[0])

    def sums(self, X: Array, attraction: Attraction, force: Array) -> tuple[float, PairSums]:
        """Let workers sum the attraction, and this process the repulsion."""
        meanwhile = partial(self.repulsion.sums, X, self.kernel)
        values, pieces, pairs = self._on_workers.evaluate(X, self._numbering, meanwhile)
        np.concatenate(pieces, out=force)
        force *= self.total_weight
        return self.total_weight * float(np.sum(values)), pairs


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
