"""The strongest edges of each point, shard by shard: fewer springs while a map takes shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Integers
from closeknit.distributed.cluster import Folder
from closeknit.distributed.graph import ShardedGraph, map_rows, save_rows
from closeknit.linalg import WeakestKept, take_entries


def strongest_edges(graph: ShardedGraph, share: float) -> ShardedGraph:
    """Keep a share of each point's edges, as :meth:`closeknit.objectives.Objective.renumber` does.

    Every shard says which is the last edge that each of its points keeps; then each shard takes the
    edges that one of their ends keeps.

    Parameters
    ----------
    graph : ShardedGraph
        Symmetric.
    share : float

    Returns
    -------
    ShardedGraph
        With weights in single precision; made once for a graph.
    """
    if share >= 1.0:
        return graph
    blocks, folder = graph.blocks, graph.blocks.cluster.folder
    name = f"{graph.name}-{share:g}"
    noted = folder.noted(name)
    if noted is None:
        run, common = blocks.cluster.run, (graph.name, blocks.starts)
        n_entries = sum(_count(folder, block, graph.name) for block in blocks.numbers)
        n_neighbors = int(np.ceil(share * n_entries / blocks.n_samples))
        parts = run("strongest edges", _weakest_of, blocks.numbers, *common, n_neighbors)
        weakest = WeakestKept.joined(parts)
        for what in ("weights", "neighbors"):
            folder.save(f"weakest-{what}", getattr(weakest, what))
        totals = run("strongest edges", _keep_strongest, blocks.numbers, *common, name)
        folder.remove("weakest-*")
        noted = {"total": float(np.sum(totals))}
        folder.note(name, noted)
    return ShardedGraph(blocks, name, noted["total"] or 1.0)


def _count(folder: Folder, block: int, name: str) -> int:
    return int(folder.load(f"{name}-{block}-indptr", mapped=True)[-1])


def _rows(folder: Folder, block: int, name: str, starts: Integers) -> Any:
    """The rows of a block in single precision, in which one machine compares weights."""
    return map_rows(folder, f"{name}-{block}", int(starts[-1])).astype(np.float32)


def _weakest_of(
    folder: Folder, block: int, name: str, starts: Integers, n_neighbors: int
) -> WeakestKept:
    return WeakestKept.of(_rows(folder, block, name, starts), n_neighbors)


def _keep_strongest(folder: Folder, block: int, name: str, starts: Integers, target: str) -> float:
    """Write the strongest edges of a block's points, and return their sum."""
    W = _rows(folder, block, name, starts)
    found: list[NDArray[Any]] = [
        folder.load(f"weakest-{what}", mapped=True) for what in ("weights", "neighbors")
    ]
    entries = WeakestKept(*found).entries(W, int(starts[block]))
    kept = take_entries(W, entries, dtype=W.dtype)
    save_rows(folder, f"{target}-{block}", kept)
    return float(kept.data.sum(dtype=np.float64))
