"""Neighbours across blocks: cells of near rows, searched one by one, and a measured recall.

::

    rows ──► centres of cells, by k-means on a sample (`cells`)
    some rows ──► their true neighbours, by an exact scan (`certified`) ──► how far to look
    blocks ──► rows by cell, and those around it ──► each cell's rows searched ──► back to blocks
    the same rows ──► recall; if it is too low, look farther and search again

Rows are searched in one place, their own cell, among the rows of the cell and those of other cells
no farther from its border than `overlap`. That suffices for a share of all true neighbours that the
exact scan tells; how much of it searches find is measured. (Rows could be sent to several cells
instead, and what these find be merged; but a search costs more than a look at more rows does.)
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from closeknit.distributed.blocks import Blocks, store_blocks
from closeknit.distributed.cells import Cells, find_centers
from closeknit.distributed.certified import Certified
from closeknit.distributed.cluster import Cluster
from closeknit.distributed.searching import search_cells, search_new
from closeknit.exceptions import ClusterError
from closeknit.neighbors import GEOMETRIES, Neighbors, check_n_neighbors, seed_of
from closeknit.progress import log, shown

#: Of the neighbours that may be missed, the share that lies too far beyond the border of a cell.
_SHARE_OF_CELLS = 0.3
#: Searches after which all cells are searched exactly.
_ATTEMPTS = 3


@dataclass(frozen=True)
class ShardedNeighbors:
    """Each row's nearest neighbours, block by block in files.

    Attributes
    ----------
    blocks : Blocks
    n_neighbors : int
    recall : float
        Share of true neighbours found, measured on `n_certified` rows by an exact scan.
    n_certified : int
    cells : Cells

    Examples
    --------
    >>> from closeknit import distributed as ckd
    >>> near = ckd.find_neighbors(X, 90)  # doctest: +SKIP
    >>> near.recall, near.indices[:10].compute()  # doctest: +SKIP
    """

    blocks: Blocks
    n_neighbors: int
    recall: float
    n_certified: int
    cells: Cells

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return self.blocks.n_samples

    @property
    def indices(self) -> Any:
        """Dask array of shape (n_samples, n_neighbors)."""
        dtype = self.blocks.index_dtype
        return self.blocks.array("points-indices", (self.n_neighbors,), dtype)

    @property
    def sq_distances(self) -> Any:
        """Dask array of shape (n_samples, n_neighbors)."""
        return self.blocks.array("points-sq_distances", (self.n_neighbors,))

    def gather(self) -> Neighbors:
        """Return the neighbours in one piece, if they fit in memory."""
        return Neighbors(self.indices.compute(), self.sq_distances.compute(), self.blocks.n_samples)


def find_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    target_recall: float = 0.99,
    cell_size: int = 2**17,
    folder: Any = None,
    random_state: Any = None,
    verbose: bool = False,
) -> ShardedNeighbors:
    """Find each row's nearest neighbours on the current Dask cluster.

    Parameters
    ----------
    X : dask array or array-like of shape (n_samples, n_features)
    n_neighbors : int
        Without the row itself.
    metric : {"euclidean", "sqeuclidean", "l2", "cosine"}, default="euclidean"
    target_recall : float, default=0.99
        Share of true neighbours to be found, certified on a sample of rows; 1 is exact search among
        all rows, which every worker must then be able to hold.
    cell_size : int, default=131072
        Rows that a task searches for, about; fewer if they have many features. It searches among
        twice as many.
    folder : str, path or None, default=None
        Where the arrays are kept, seen by all workers; None is a temporary folder.
    random_state : int, Generator, RandomState or None, default=None
    verbose : bool, default=False

    Returns
    -------
    ShardedNeighbors

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_digits
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     found = ckd.find_neighbors(load_digits().data, n_neighbors=5)
    ...     found.indices[0].compute(), found.recall
    (array([ 877, 1365, 1541, 1167, 1029], dtype=int32), 1.0)
    """
    with shown(verbose):
        cluster = Cluster.current(folder, resume=False)
        check_metric(metric)
        blocks = store_blocks(cluster, X, metric)
        return search(blocks, n_neighbors, metric, target_recall, cell_size, seed_of(random_state))


def check_metric(metric: Any) -> None:
    """Refuse what the cells cannot be Euclidean in."""
    if metric not in GEOMETRIES or GEOMETRIES[metric].sq_offsets is not None:
        known = sorted(name for name, one in GEOMETRIES.items() if one.sq_offsets is None)
        raise ValueError(
            f"metric={metric!r} is not distributed; use one of {', '.join(known)}, or the "
            "estimator of one machine"
        )


def search(
    blocks: Blocks, n_neighbors: int, metric: str, target_recall: float, cell_size: int, seed: int
) -> ShardedNeighbors:
    """Find the neighbours of rows that are stored as blocks, to a recall that is measured."""
    if not 0.0 < target_recall <= 1.0:
        raise ValueError(f"target_recall={target_recall!r} must be above 0 and at most 1")
    k = check_n_neighbors(n_neighbors, blocks.n_samples, exclude_self=True)
    noted = blocks.cluster.folder.noted("neighbors")
    if noted is not None:
        if (noted["k"], noted["metric"]) != (k, metric):
            raise ValueError(
                f"the run to resume has n_neighbors={noted['k']} and metric={noted['metric']!r}; "
                "give the same, or choose a new folder"
            )
        cells = Cells(blocks.cluster.folder.load("centers"), *noted["cells"])
        return ShardedNeighbors(blocks, k, noted["recall"], noted["n_certified"], cells)
    cells = Cells(find_centers(blocks, cell_size, k, seed))
    some = Certified.scan(blocks, cells, k)
    for attempt in range(_ATTEMPTS + 1):
        allowed = (1.0 - target_recall) * 0.5**attempt if attempt < _ATTEMPTS else 0.0
        cells = some.look(cells, _SHARE_OF_CELLS * allowed)
        cells = replace(cells, local_recall=1.0 - (1.0 - _SHARE_OF_CELLS) * allowed)
        cells = search_cells(blocks, cells, k, metric, seed)
        recall = some.recall(blocks, metric)
        log("neighbours: recall %.4f, on %d rows by an exact scan", recall, some.n_rows)
        if recall >= min(target_recall, 1.0 - 1e-12) or attempt == _ATTEMPTS:
            break
        log("neighbours: %.4f were asked for; rows look farther", target_recall)
    if recall < target_recall < 1.0:
        raise ClusterError(
            f"neighbours were found to a recall of {recall:.4f} only, not {target_recall}; lower "
            "target_recall, or raise cell_size"
        )
    blocks.cluster.folder.save("centers", cells.centers)
    facts = {"k": k, "metric": metric, "recall": recall, "n_certified": some.n_rows}
    blocks.cluster.folder.note("neighbors", {**facts, "cells": [cells.overlap, cells.local_recall]})
    return ShardedNeighbors(blocks, k, recall, some.n_rows, cells)


@dataclass(frozen=True)
class ShardedIndex:
    """What new points are searched in: the cells of the fitted ones."""

    neighbors: ShardedNeighbors
    metric: str
    seed: int

    @property
    def recall_(self) -> float:
        """Share of true neighbours found, on a sample of the fitted rows."""
        return self.neighbors.recall

    def holds(self, X: Any) -> bool:
        """Whether `X` is what was fitted: all of it, in the same order."""
        return self.neighbors.blocks.holds(X, self.metric)

    def query(self, X: Any, n_neighbors: int) -> Neighbors:
        """Find each new point's nearest fitted points, to about the recall of the fit."""
        blocks, cells = self.neighbors.blocks, self.neighbors.cells
        cluster, name = blocks.cluster, f"new-{secrets.token_hex(4)}"
        try:
            new = store_blocks(cluster, X, self.metric, name)
            search_new(new, blocks, cells, n_neighbors, self.metric, self.seed)
            indices, sq_distances = (
                np.concatenate([cluster.folder.load(f"{name}-{what}-{b}") for b in new.numbers])
                for what in ("indices", "sq_distances")
            )
        finally:
            cluster.folder.remove(f"*{name}*")
        return Neighbors(indices, sq_distances, blocks.n_samples)
