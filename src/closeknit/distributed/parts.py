"""A graph in the memory of workers, in parts: what an iteration asks of each."""

from __future__ import annotations

import secrets
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_matrix
from scipy.special import entr

from closeknit import embeddings
from closeknit._arrays import Integers
from closeknit.distributed.cluster import Folder
from closeknit.distributed.graph import ShardedGraph, map_rows
from closeknit.distributed.groups import Ends, Group
from closeknit.kernels import Kernel
from closeknit.linalg import canonical, sample_rows, with_data

#: Points of a part, at most and at least, and parts of a graph that has few points.
_MOST, _LEAST, _FEW = 2**17, 2**13, 8
#: Edges that each point gives to what the calling process keeps for directions, of few points and
#: of many: as many as `SpectralMomentum` takes on one machine.
_KEPT = (10, 4)
#: Evaluations after which parts are spread over all workers again, if others have come.
_SPREAD = 25
#: Points beyond which a task is sent the positions of those points only that its edges touch.
_WHOLE = 10_000_000


class Parts:
    """The rows of a graph, divided by the sum of all weights, some of them on each worker.

    Parts are numbered by the place of their points on the map, so that those of a part pull each
    other and the positions that it reads are close in memory. All objectives on a graph share them.
    What a part holds, and so what it sums, depends on the number of points alone; a task is given
    several parts, so that there are as many tasks as threads: each costs some milliseconds of the
    scheduler and of its worker. If there are few points, tasks are sent the positions of all; if
    there are many, each is sent those that its edges touch. Its sums are the same, bit for bit.

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
        self._loaded: tuple[list[Any], list[Integers]] | None = None
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
        self._loaded = None

    def loaded(self, numbering: str) -> tuple[list[Any], list[Integers]]:
        """Futures of groups of all parts, and the points that each touches if these are chosen.

        In some numbering; made anew now and then if workers have come.
        """
        count = self._count
        self._count += 1
        if numbering != self._numbering:
            self.release()  # first, so that workers need not hold both
        if self._loaded is None or count % _SPREAD == 0:
            known = self._cluster.client.scheduler_info(n_workers=-1)["workers"]
            workers = frozenset(known)
            if not workers <= self._workers:
                self.release()
            self._workers = workers
        if self._loaded is None:
            self._numbering = numbering
            n_threads = sum(worker["nthreads"] for worker in known.values())
            self._loaded = self._load(_divide(self.ends, max(1, n_threads)))
        return self._loaded

    def _load(self, groups: list[list[Ends]]) -> tuple[list[Any], list[Integers]]:
        """Let workers load groups of parts; if there are many points, ask which these touch."""
        client, batch = self._cluster.client, secrets.token_hex(4)
        chosen = self._graph.shape[0] > _WHOLE
        common = (chosen, self._kernel, self._numbering, *self._common)
        futures = [
            client.submit(
                Group.load,
                self._cluster.folder,
                *(group, *common),
                key=f"closeknit-part-{batch}-{number}",
            )
            for number, group in enumerate(groups)
        ]
        asked = client.map(attrgetter("points"), futures, pure=False) if chosen else []
        return futures, self._cluster.fetch(asked)

    def evaluate(
        self, X: NDArray[Any], numbering: str, meanwhile: Any
    ) -> tuple[list[float], list[NDArray[Any]], Any]:
        """Return E⁺ of each part, and its force on all points in some pieces one after the other.

        And what `meanwhile` returns, which is called while workers compute.
        """
        positions = X.astype(self._common[-1], copy=False)

        def ask() -> list[Any]:
            futures, touched = self.loaded(numbering)
            wanted = [positions.take(points, axis=0) for points in touched] or [positions]
            sent = self._cluster.send(wanted)
            each = sent if touched else sent * len(futures)
            return list(self._cluster.client.map(Group.evaluate, futures, each, pure=False))

        found, own = self._cluster.repeat("optimisation", ask, meanwhile)
        values = [value for part, _ in found for value in part]
        return values, [force for _, force in found], own


def _divide(ends: list[Ends], n_groups: int) -> list[list[Ends]]:
    """Give each group as many parts, one after the other, or one more."""
    cuts = np.linspace(0, len(ends), min(n_groups, len(ends)) + 1).astype(int)
    return [ends[begin:end] for begin, end in pairwise(cuts.tolist())]


def _sample(
    folder: Folder, block: int, name: str, starts: Integers, total: float, dtype: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float]:
    """A sample of the edges of a block's points, as a CSR matrix, and the entropy of all."""
    W = map_rows(folder, f"{name}-{block}", int(starts[-1]))
    W = with_data(W, np.divide(W.data, total).astype(dtype))
    n_neighbors = _KEPT[W.shape[1] > embeddings.MAX_POINTS_EXACT]
    drawn = sample_rows(W, n_neighbors, int(starts[block]))
    return drawn.data, drawn.indices, drawn.indptr, float(entr(W.data).sum(dtype=np.float64))
