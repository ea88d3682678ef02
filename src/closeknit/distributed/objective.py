"""Objectives whose sums are taken on a cluster.

An evaluation is one task per part: the attraction along the edges of a shard, and the repulsion on
the points in a strip of the map. The grid of the repulsion is made in this process and sent along
with the positions; sums over parts are taken in the order of the parts. So the value and gradient
at X depend on X alone, not on the number of workers, nor on whether one of them was lost.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_matrix
from scipy.special import entr

from closeknit import objectives
from closeknit.distributed.cluster import Folder
from closeknit.distributed.graph import ShardedGraph, load_rows
from closeknit.kernels import Kernel
from closeknit.linalg import Array, canonical, take_entries, with_data
from closeknit.objectives import Attraction, Objective
from closeknit.repulsion import GridRepulsion, PairSums, SharedSums

__all__ = ["TSNE", "ElasticEmbedding", "OnShards", "SymmetricSNE"]

#: Points of a part: enough for a task to take some 50 ms.
_PART = 2**16
#: Edges of each point that this process keeps for directions, and rows whose edges it has all of.
_KEPT, _SAMPLED_ROWS = 10, 4096
#: Evaluations after which shards are spread over all workers again, if others have come.
_SPREAD = 25
#: Entries of a padded array in which edges are ranked.
_RANKED = 2**22


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
        self._blocks, self._cluster = affinities.blocks, affinities.blocks.cluster
        self._divisor = affinities.total if self.unit_sum else 1.0
        common = (affinities.name, self._divisor, np.dtype(repulsion.dtype).name)
        found = self._cluster.run("strongest edges", _strongest, self._blocks.numbers, *common)
        self.weight_entropy = float(np.sum([part[-1] for part in found]))
        kept = sparse.vstack(
            [
                csr_matrix((data, ends, cuts), shape=(len(cuts) - 1, affinities.shape[1]))
                for data, ends, cuts, _ in found
            ]
        ).tocsr()
        self.attraction = Attraction(
            canonical(kept.maximum(kept.T), dtype=None), self.kernel, n_jobs
        )
        self._numbered = None
        self._kept_parts: list[tuple[NDArray[np.integer[Any]] | None, _Kept]] = []
        self._count = 0

    @property
    def total_weight(self) -> float:
        """Σ w⁺."""
        return self.weights.total / self._divisor

    def renumber(self, X: Array) -> None:
        """Do nothing: the order of the points is that of their blocks."""

    def value(self, X: Array, lam: float) -> float:
        """E(X; λ)."""
        return float(self.at(lam).value_and_gradient(X)[0])

    def part(self, entries: NDArray[np.integer[Any]] | None) -> Any:
        """Return the attraction along the strongest edges, scaled up to what all sum to."""
        for known, kept in self._kept_parts:
            if known is entries:
                return kept
        W = take_entries(self.attraction.weights, entries, dtype=self.attraction.weights.dtype)
        kept = _Kept(W, self.kernel, self.attraction.n_jobs, self)
        self._kept_parts = [*self._kept_parts[-1:], (entries, kept)]
        return kept

    def scale(self, X: Array) -> float:
        """What all edges of a sample of points weigh at X over what the kept ones do."""
        whole, kept = (_weight_at(rows, self._sample, X, self.kernel) for rows in self._sampled)
        return whole / kept if kept > 0.0 else 1.0

    @cached_property
    def _sample(self) -> NDArray[np.int64]:
        n = self._blocks.n_samples
        return np.arange(0, n, -(-n // _SAMPLED_ROWS))

    @cached_property
    def _sampled(self) -> tuple[csr_matrix, csr_matrix]:
        whole = self.weights[self._sample]
        return with_data(whole, whole.data / self._divisor), self.attraction.weights[self._sample]

    def sums(self, X: Array, attraction: Attraction, force: Array) -> tuple[float, PairSums]:
        """Ask the cluster."""
        shared = self.repulsion.shared(X, self.kernel)
        parts, ends = self._loaded(), self._ends()
        strips: list[Any] = [None] * len(ends)
        if shared is not None:
            strips = list(shared.strips(X, len(ends)))
        client = self._cluster.client

        def ask() -> list[Any]:
            positions, potential = client.scatter([X, shared], hash=False)
            n = len(ends)
            return client.map(
                _evaluate, parts, ends, strips, [positions] * n, [potential] * n, pure=False
            )

        found = self._cluster.repeat("optimisation", ask)
        for (begin, end), (_, pulled, *_) in zip(ends, found, strict=True):
            force[begin:end] = pulled
        attractive = float(np.sum([part[0] for part in found]))
        if shared is None:  # too wide a map, of which the repulsion has warned
            return attractive, self.repulsion.sums(X, self.kernel)
        pushed = np.empty(X.shape)
        for _, _, points, _, pushes in found:
            pushed[points] = pushes
        return attractive, PairSums(np.array([part[3] for part in found]), pushed)

    def _ends(self) -> list[tuple[int, int]]:
        """The first and the last row of each part: whole blocks, or what is near to them."""
        starts = self._blocks.starts
        return [(int(starts[a]), int(starts[b])) for a, b in self._groups()]

    def _groups(self) -> list[tuple[int, int]]:
        """Blocks that make a part."""
        groups, first = [], 0
        for block in self._blocks.numbers:
            size = int(self._blocks.starts[block + 1] - self._blocks.starts[first])
            if size >= _PART or block == self._blocks.numbers[-1]:
                groups.append((first, block + 1))
                first = block + 1
        return groups

    def _loaded(self) -> list[Any]:
        """Futures of the parts, made anew now and then if workers have come."""
        cluster = self._cluster
        key = (self.weights.name, self._divisor)
        workers = None
        if self._count % _SPREAD == 0:
            workers = frozenset(cluster.client.scheduler_info(n_workers=-1)["workers"])
        self._count += 1
        loaded = cluster.loaded
        if loaded is None or loaded[0] != key or (workers and not workers <= loaded[1]):
            batch = secrets.token_hex(4)
            dtype = np.dtype(self.repulsion.dtype).name
            common = (self.weights.name, self.weights.shape[1], self._divisor, dtype, self.kernel)
            cluster.loaded = None  # so that workers need not hold both
            futures = [
                cluster.client.submit(
                    _load_part, cluster.folder, group, *common, key=f"closeknit-part-{batch}-{i}"
                )
                for i, group in enumerate(self._groups())
            ]
            if workers is None:
                workers = frozenset(cluster.client.scheduler_info(n_workers=-1)["workers"])
            cluster.loaded = loaded = (key, workers, futures)
        return list(loaded[2])


@dataclass(frozen=True)
class _Kept(Attraction):
    """Some of the edges, whose weights stand for all."""

    model: Any = None

    def laplacian_weights(self, X: Array) -> csr_matrix:
        """Weights of L⁺ at `X`, roughly."""
        W = super().laplacian_weights(X)
        return with_data(W, (self.model.scale(X) * W.data).astype(W.dtype))


def _weight_at(rows: csr_matrix, points: NDArray[np.int64], X: Array, kernel: Kernel) -> float:
    """Σ w (−log K)' over the edges of some points."""
    gaps = np.repeat(X[points], np.diff(rows.indptr), axis=0) - X[rows.indices]
    t = np.einsum("ij,ij->i", gaps, gaps)
    return float(np.sum(-kernel.K1(t) * rows.data))


def _scaled(W: csr_matrix, divisor: float, dtype: str) -> csr_matrix:
    return with_data(W, np.divide(W.data, divisor).astype(dtype))


def _load_part(
    folder: Folder,
    group: tuple[int, int],
    name: str,
    n_columns: int,
    divisor: float,
    dtype: str,
    kernel: Kernel,
) -> Attraction:
    shards = [
        _scaled(load_rows(folder, f"{name}-{block}", n_columns), divisor, dtype)
        for block in range(*group)
    ]
    whole = shards[0] if len(shards) == 1 else sparse.vstack(shards).tocsr()
    return Attraction(whole, kernel, 1)


def _evaluate(
    attraction: Attraction,
    ends: tuple[int, int],
    strip: tuple[float, float] | None,
    X: Array,
    shared: SharedSums | None,
) -> tuple[Any, ...]:
    """E⁺ and its force for the rows of a part; ΣK and its force for the points in a strip."""
    force = np.empty((ends[1] - ends[0], X.shape[1]))
    value = attraction.value_of_rows(X, slice(*ends), force)
    if shared is None or strip is None:
        return value, force
    points, sums = shared.of_strip(X, *strip)
    narrow = np.int32 if len(X) <= np.iinfo(np.int32).max else np.int64
    return value, force, points.astype(narrow), float(sums.value.sum()), sums.force


def _strongest(
    folder: Folder, block: int, name: str, divisor: float, dtype: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]:
    """The strongest edges of the points of a block, and the entropy of all of their edges."""
    indptr, indices, data = (
        folder.load(f"{name}-{block}-{part}") for part in ("indptr", "indices", "data")
    )
    data = np.divide(data, divisor).astype(dtype)
    degrees = np.diff(indptr)
    places = np.full((len(degrees), _KEPT), -1, dtype=np.int64)
    by_degree = np.argsort(degrees, kind="stable")  # so that rows in a batch are as long
    first = 0
    while first < len(by_degree):
        width = max(1, int(degrees[by_degree[min(len(by_degree) - 1, first + 1023)]]))
        rows = by_degree[first : first + max(1, min(1024, _RANKED // width))]
        width = max(1, int(degrees[rows].max()))
        at = indptr[rows][:, None] + np.arange(width)
        there = np.arange(width) < degrees[rows][:, None]
        ranked = np.where(there, -data[np.minimum(at, max(0, len(data) - 1))], np.inf)
        best = np.argsort(ranked, axis=1, kind="stable")[:, :_KEPT]
        chosen = np.take_along_axis(np.where(there, at, -1), best, axis=1)
        places[rows, : chosen.shape[1]] = chosen
        first += len(rows)
    places.sort(axis=1)  # in the order of the columns
    there = places >= 0
    cuts = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    kept = places[there]
    return data[kept], indices[kept], cuts, float(entr(data).sum(dtype=np.float64))


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


@sizeof.register(Attraction)  # type: ignore[untyped-decorator]
def _size_of_attraction(attraction: Attraction) -> int:
    W = attraction.weights
    return int(W.data.nbytes + W.indices.nbytes + W.indptr.nbytes)


@sizeof.register(SharedSums)  # type: ignore[untyped-decorator]
def _size_of_sums(shared: SharedSums) -> int:
    return int(shared.nodes.nbytes) + 10_000
