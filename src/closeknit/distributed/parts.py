"""A graph in the memory of workers, in parts: what an iteration asks of each."""

from __future__ import annotations

import secrets
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

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

#: Points of a part, at most and at least, and parts of a graph that has few points.
_MOST, _LEAST, _FEW = 2**17, 2**13, 8
#: Edges that each point gives to what the calling process keeps for directions, of few points and
#: of many: as many as `SpectralMomentum` takes on one machine.
_KEPT = (10, 4)
#: Evaluations after which parts are spread over all workers again, if others have come.
_SPREAD = 25

#: The first point of a part, and the first that is not in it any more.
Ends: TypeAlias = tuple[int, int]


class Parts:
    """The rows of a graph, divided by the sum of all weights, some of them on each worker.

    Parts are numbered by the place of their points on the map, so that those of a part pull each
    other and the positions that it reads are close in memory. All objectives on a graph share them.
    What a part holds, and so what it sums, depends on the number of points alone; a task is given
    several parts, so that there are as many tasks as threads: each costs some milliseconds of the
    scheduler and of its worker.

    Parameters
    ----------
    graph : ShardedGraph
    kernel : Kernel
    dtype : dtype
        Of the weights, positions and forces.
    """

    def __init__(self, graph: ShardedGraph, kernel: Kernel, dtype: Any) -> None:
        self._graph, self._cluster = graph, graph.blocks.cluster
        self._common = (graph.name, graph.blocks.starts, graph.total, np.dtype(dtype).name)
        self._kernel = kernel
        self._numbering = ""  # of the parts that are loaded
        self._futures: list[Any] | None = None
        self._groups: list[list[Ends]] = []  # the parts of each future
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
    def ends(self) -> list[Ends]:
        """Where each part begins and ends."""
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
            known = client.scheduler_info(n_workers=-1)["workers"]
            workers = frozenset(known)
            if not workers <= self._workers:
                self.release()
            self._workers = workers
        if self._futures is None:
            batch, self._numbering = secrets.token_hex(4), numbering
            common = (numbering, *self._common, self._kernel)
            n_threads = sum(worker["nthreads"] for worker in known.values())
            self._groups = _divide(self.ends, max(1, n_threads))
            self._futures = [
                client.submit(
                    _load_parts,
                    self._cluster.folder,
                    *(group, *common),
                    key=f"closeknit-part-{batch}-{number}",
                )
                for number, group in enumerate(self._groups)
            ]
        return self._futures

    def evaluate(
        self, X: NDArray[Any], numbering: str, meanwhile: Any
    ) -> tuple[list[float], list[NDArray[Any]], Any]:
        """Return E⁺ of each part, and its force on all points in some pieces one after the other.

        And what `meanwhile` returns, which is called while workers compute.
        """
        positions = X.astype(self._common[-1], copy=False)

        def ask() -> list[Any]:
            (sent,), futures = self._cluster.send([positions]), self.futures(numbering)
            everywhere = [sent] * len(futures)
            return list(
                self._cluster.client.map(
                    evaluate_parts, futures, self._groups, everywhere, pure=False
                )
            )

        found, own = self._cluster.repeat("optimisation", ask, meanwhile)
        values = [value for part, _ in found for value in part]
        return values, [force for _, force in found], own


def _divide(ends: list[Ends], n_groups: int) -> list[list[Ends]]:
    """Give each group as many parts, one after the other, or one more."""
    cuts = np.linspace(0, len(ends), min(n_groups, len(ends)) + 1).astype(int)
    return [ends[begin:end] for begin, end in pairwise(cuts.tolist())]


def evaluate_parts(
    attractions: list[Attraction], group: list[Ends], X: NDArray[Any]
) -> tuple[list[float], NDArray[Any]]:
    """E⁺ of some parts, and its force on their points in the precision that it is summed in."""
    X = np.require(
        X, requirements="A"
    )  # messages begin anywhere in memory, and reading that is slow
    first = group[0][0]
    force = np.empty((group[-1][1] - first, X.shape[1]))
    values = [
        attraction.value_of_rows(X, slice(*ends), force[ends[0] - first : ends[1] - first])
        for attraction, ends in zip(attractions, group, strict=True)
    ]
    return values, force.astype(X.dtype, copy=False)


def _load_parts(folder: Folder, group: list[Ends], *common: Any) -> list[Attraction]:
    """Read some parts, one after the other: reading takes more memory than keeping."""
    return [_load_part(folder, ends, *common) for ends in group]


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
