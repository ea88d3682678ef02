"""A graph in the memory of workers, in parts: what an iteration asks of each."""

from __future__ import annotations

import secrets
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from dask.sizeof import sizeof
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_matrix
from scipy.special import entr

from closeknit import embeddings
from closeknit._arrays import Integers
from closeknit.distributed.cluster import Folder
from closeknit.distributed.graph import ShardedGraph, map_rows
from closeknit.kernels import Kernel
from closeknit.linalg import canonical, sample_rows, with_data
from closeknit.objectives import Attraction
from closeknit.repulsion import SharedSums

#: Points of a part, at most and at least, and parts of a graph that has few points. Tasks should
#: take some tens of milliseconds, and there should be enough of them for several workers.
_MOST, _LEAST, _FEW = 2**17, 2**13, 8
#: Edges that each point gives to what the calling process keeps for directions, of few points and
#: of many: as many as `SpectralMomentum` takes on one machine.
_KEPT = (10, 4)
#: Evaluations after which parts are spread over all workers again, if others have come.
_SPREAD = 25


class Parts:
    """The rows of a graph, divided by the sum of all weights, some of them on each worker.

    Parts are numbered by the place of their points on the map, so that those of a part pull each
    other and the positions that it reads are close in memory. All objectives on a graph share them.

    Parameters
    ----------
    graph : ShardedGraph
    kernel : Kernel
    dtype : dtype
        Of the weights.
    """

    def __init__(self, graph: ShardedGraph, kernel: Kernel, dtype: Any) -> None:
        self._graph, self._cluster = graph, graph.blocks.cluster
        self._common = (graph.name, graph.blocks.starts, graph.total, np.dtype(dtype).name)
        self._kernel = kernel
        self._numbering = ""  # of the parts that are loaded
        self._futures: list[Any] | None = None
        self._workers: frozenset[str] = frozenset()
        self._count = 0

    @classmethod
    def of(cls, graph: ShardedGraph, kernel: Kernel, dtype: Any) -> Parts:
        """Return the parts of a graph, made once."""
        known = graph.kept.get("parts")
        if known is None or (known._kernel, known._common[-1]) != (kernel, np.dtype(dtype).name):
            known = graph.kept["parts"] = cls(graph, kernel, dtype)
        return known

    @cached_property
    def ends(self) -> list[tuple[int, int]]:
        """The first and the last point of each part."""
        n = self._graph.shape[0]
        n_parts = max(1, min(_FEW, n // _LEAST), -(-n // _MOST))
        cuts = (np.arange(n_parts + 1) * n // n_parts).tolist()
        return list(pairwise(cuts))

    @cached_property
    def sample(self) -> tuple[csr_matrix, float]:
        """Edges whose Laplacian is, on average, that of all, and the entropy of all weights."""
        blocks, n = self._graph.blocks, self._graph.shape[0]
        found = self._cluster.run("sample of edges", _sample, blocks.numbers, *self._common)
        shards = [
            csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n))
            for data, indices, indptr, _ in found
        ]
        drawn = sparse.vstack(shards).tocsr()
        kept = canonical((drawn + drawn.T) / 2, dtype=drawn.dtype)
        return kept, float(np.sum([part[-1] for part in found]))

    def number(self, order: Integers, place: Integers) -> str:
        """Write a numbering in which point i is point ``order[i]`` of the graph; return its name.

        The one before is forgotten.
        """
        folder, dtype = self._cluster.folder, self._graph.blocks.index_dtype
        folder.remove("order-*")
        folder.remove("place-*")
        name = secrets.token_hex(4)
        folder.save(f"order-{name}", order.astype(dtype))
        folder.save(f"place-{name}", place.astype(dtype))
        return name

    def release(self) -> None:
        """Let workers forget the parts."""
        self._futures = None

    def futures(self, numbering: str) -> list[Any]:
        """Futures of all parts in some numbering, made anew now and then if workers have come."""
        client, count = self._cluster.client, self._count
        self._count += 1
        if numbering != self._numbering:
            self.release()  # first, so that workers need not hold both
        if self._futures is None or count % _SPREAD == 0:
            workers = frozenset(client.scheduler_info(n_workers=-1)["workers"])
            if not workers <= self._workers:
                self.release()
            self._workers = workers
        if self._futures is None:
            batch, self._numbering = secrets.token_hex(4), numbering
            common = (numbering, *self._common, self._kernel)
            self._futures = [
                client.submit(
                    _load_part,
                    self._cluster.folder,
                    *(ends, *common),
                    key=f"closeknit-part-{batch}-{number}",
                )
                for number, ends in enumerate(self.ends)
            ]
        return self._futures

    def evaluate(
        self, X: NDArray[Any], shared: SharedSums | None, numbering: str
    ) -> list[tuple[Any, ...]]:
        """Ask each part for what `evaluate_part` returns, at positions in some numbering."""
        ends, client = self.ends, self._cluster.client
        strips: list[Any] = [None] * len(ends)
        if shared is not None:
            strips = list(shared.strips(X, len(ends)))

        def ask() -> list[Any]:
            positions, potential = self._cluster.send([X, shared])
            n, futures = len(ends), self.futures(numbering)
            return list(
                client.map(
                    evaluate_part,
                    *(futures, ends, strips, [positions] * n, [potential] * n),
                    pure=False,
                )
            )

        return list(self._cluster.repeat("optimisation", ask))


def evaluate_part(
    attraction: Attraction,
    ends: tuple[int, int],
    strip: tuple[float, float] | None,
    X: NDArray[Any],
    shared: SharedSums | None,
) -> tuple[Any, ...]:
    """E⁺ and its force for the points of a part; ΣK and its force for the points in a strip.

    Strips hold about as many points as parts, wherever these have moved since they were numbered.
    """
    force = np.empty((ends[1] - ends[0], X.shape[1]))
    value = attraction.value_of_rows(X, slice(*ends), force)
    force = force.astype(X.dtype, copy=False)
    if shared is None or strip is None:
        return value, force
    points, sums = shared.of_strip(X, *strip)
    narrow = np.int32 if len(X) <= np.iinfo(np.int32).max else np.int64
    pushed = sums.force.astype(X.dtype, copy=False)
    return value, force, points.astype(narrow), float(sums.value.sum()), pushed


def _load_part(
    folder: Folder,
    ends: tuple[int, int],
    numbering: str,
    name: str,
    starts: Integers,
    total: float,
    dtype: str,
    kernel: Kernel,
) -> Attraction:
    """Read the rows of a part, in some numbering, or in the graph's own."""
    rows, place = np.arange(*ends), None
    if numbering:
        rows = np.array(folder.load(f"order-{numbering}", mapped=True)[slice(*ends)])
        place = folder.load(f"place-{numbering}", mapped=True)
    ascending = np.argsort(rows, kind="stable")
    cuts = np.searchsorted(rows[ascending], starts)
    shards = []
    for block in np.flatnonzero(np.diff(cuts)):
        local = rows[ascending[cuts[block] : cuts[block + 1]]] - starts[block]
        W = map_rows(folder, f"{name}-{block}", int(starts[-1]))[local]
        shards.append(with_data(W, np.divide(W.data, total).astype(dtype)))
    whole = shards[0] if len(shards) == 1 else sparse.vstack(shards, format="csr")
    del shards
    if place is not None:
        whole = whole[np.argsort(ascending, kind="stable")]
        whole.indices = place[whole.indices].astype(whole.indices.dtype, copy=False)
        whole.has_sorted_indices = False
    return Attraction(whole, kernel, 1)


def _sample(
    folder: Folder, block: int, name: str, starts: Integers, total: float, dtype: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]:
    """A sample of the edges of a block's points, as a CSR matrix, and the entropy of all."""
    W = map_rows(folder, f"{name}-{block}", int(starts[-1]))
    W = with_data(W, np.divide(W.data, total).astype(dtype))
    n_neighbors = _KEPT[W.shape[1] > embeddings.MAX_POINTS_EXACT]
    drawn = sample_rows(W, n_neighbors, int(starts[block]))
    return drawn.data, drawn.indices, drawn.indptr, float(entr(W.data).sum(dtype=np.float64))


@sizeof.register(Attraction)  # type: ignore[untyped-decorator]
def _size_of_attraction(attraction: Attraction) -> int:
    W = attraction.weights
    return int(W.data.nbytes + W.indices.nbytes + W.indptr.nbytes)


@sizeof.register(SharedSums)  # type: ignore[untyped-decorator]
def _size_of_sums(shared: SharedSums) -> int:
    return int(shared.nodes.nbytes) + 10_000
