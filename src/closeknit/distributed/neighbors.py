"""Neighbours across blocks: cells of near points, searched one by one, and a measured recall.

::

    rows ──► centres of cells, by k-means on a sample
    some rows ──► their true neighbours, by an exact scan ──► how far to look beyond a cell
    blocks ──► rows by cell ──► search in each cell, also for rows of others ──► merged per row
    the same rows ──► recall; if it is too low, look farther and search again

A row looks into each cell whose border is no farther from it than `overlap`. That suffices for a
share of all true neighbours that the exact scan tells; how much of it searches find is measured.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from closeknit.distributed.blocks import Blocks, store_blocks, take_rows
from closeknit.distributed.cluster import Cluster, Folder
from closeknit.exceptions import ClusterError
from closeknit.linalg import Array
from closeknit.neighbors import (
    GEOMETRIES,
    ApproximateIndex,
    ExactIndex,
    Neighbors,
    check_n_neighbors,
    nearest_of,
    nearest_of_all,
    seed_of,
)
from closeknit.progress import log, shown

__all__ = ["Cells", "ShardedIndex", "ShardedNeighbors", "check_metric", "find_neighbors", "search"]

#: The name of some blocks, their number, and the number of each block's first row.
Layout: TypeAlias = tuple[str, int, NDArray[np.int64]]

#: Rows whose true neighbours are found by an exact scan.
_CERTIFIED = 500
#: Rows per cell from which the centres are computed, and rounds of k-means.
_PER_CELL, _ROUNDS = 256, 8
#: Cells, in the order of distance, that a row may look into.
_MOST_CELLS = 64
#: Of the neighbours that may be missed, the share that lies in cells which are not searched.
_SHARE_OF_CELLS = 0.3
#: Searches after which all cells are searched exactly.
_ATTEMPTS = 3
#: Up to here a cell is searched exactly, as `closeknit.neighbors.find_neighbors` does.
_EXACT_ROWS, _EXACT_FEATURES = 20_000, 12


@dataclass(frozen=True)
class Cells:
    """A partition of space, and how far beyond their own cell rows look.

    Attributes
    ----------
    centers : ndarray of shape (n_cells, n_features)
    overlap : float
        A row looks into all cells whose border is no farther from it.
    local_recall : float
        Wanted of the search in each cell; 1 is exact.
    """

    centers: Array
    overlap: float = 0.0
    local_recall: float = 0.99

    def of_rows(self, X: NDArray[Any]) -> tuple[NDArray[np.int64], Array]:
        """The nearest cells of each row, and how far away their borders are; its own cell first."""
        index = ExactIndex(algorithm="sketch" if X.shape[1] > 7 else "auto", n_jobs=1)
        k = min(len(self.centers), _MOST_CELLS)
        # Rows in double precision, which is that of the centres.
        near = index.fit(self.centers).query(X.astype(np.float64, copy=False), k)
        cells = near.indices.astype(np.int64)
        gaps = near.sq_distances - near.sq_distances[:, :1]
        between = self.centers[cells] - self.centers[cells[:, :1]]
        apart = np.sqrt(np.einsum("ijk,ijk->ij", between, between))
        apart[:, 0] = 1.0
        borders = gaps / (2.0 * np.where(apart > 0.0, apart, 1.0))
        return cells, borders

    def make_index(self, points: NDArray[Any], seed: int) -> Any:
        """Return an index of a cell's points."""
        few = len(points) <= _EXACT_ROWS or points.shape[1] <= _EXACT_FEATURES
        if few or self.local_recall >= 1.0:
            return ExactIndex(n_jobs=1).fit(points)
        return ApproximateIndex(target_recall=self.local_recall, n_jobs=1, random_state=seed).fit(
            points
        )


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
    cell_size: int = 2**16,
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
        Share of true neighbours to be found, certified on a sample of rows; 1 is exact search in
        every cell.
    cell_size : int, default=65536
        Rows that a task searches among, about.
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
    centers = _find_centers(blocks, cell_size, k, seed)
    blocks.cluster.folder.save("centers", centers)
    some = _Certified.scan(blocks, Cells(centers), k)
    for attempt in range(_ATTEMPTS + 1):
        allowed = (1.0 - target_recall) * 0.5**attempt if attempt < _ATTEMPTS else 0.0
        cells = some.look(Cells(centers), _SHARE_OF_CELLS * allowed)
        cells = replace(cells, local_recall=1.0 - (1.0 - _SHARE_OF_CELLS) * allowed)
        _search_cells(blocks, cells, k, metric, seed)
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

    def query(self, X: Any, n_neighbors: int) -> Neighbors:
        """Find each new point's nearest fitted points, to about the recall of the fit."""
        blocks, cells = self.neighbors.blocks, self.neighbors.cells
        cluster, name = blocks.cluster, f"new-{secrets.token_hex(4)}"
        try:
            new = store_blocks(cluster, X, self.metric, name)
            cluster.run("cells", _sort_block, new.numbers, name, cells)
            fitted = (blocks.name, len(blocks.lengths), blocks.starts)
            queried = (name, len(new.lengths), new.starts)
            n_cells, k = len(cells.centers), n_neighbors
            common = (fitted, queried, cells, k, self.seed)
            cluster.run("neighbours", _query_cell, range(n_cells), *common, name="cell")
            merged = (queried, n_cells, k, self.metric, blocks.n_samples)
            cluster.run("merging", _merge_block, new.numbers, *merged)
            indices, sq_distances = (
                np.concatenate([cluster.folder.load(f"{name}-{what}-{b}") for b in new.numbers])
                for what in ("indices", "sq_distances")
            )
        finally:
            cluster.folder.remove(f"*{name}*")
        return Neighbors(indices, sq_distances, blocks.n_samples)


def _find_centers(blocks: Blocks, cell_size: int, k: int, seed: int) -> Array:
    """Lloyd's iterations on a sample of the rows; cells too small to search in are dissolved."""
    n_cells = max(1, -(-blocks.n_samples // max(cell_size, 4 * (k + 1))))
    rows = blocks.sample(min(blocks.n_samples, _PER_CELL * n_cells), seed)
    taken = blocks.cluster.run("cells", take_rows, list(enumerate(rows)), blocks.name)
    sample = np.concatenate(taken).astype(np.float64)
    rng = np.random.default_rng(seed)
    centers = sample[np.sort(rng.choice(len(sample), n_cells, replace=False))]
    for _ in range(_ROUNDS * (n_cells > 1)):
        home = Cells(centers).of_rows(sample)[0][:, 0]
        counts = np.bincount(home, minlength=len(centers))
        order = np.argsort(home, kind="stable")
        full = counts * blocks.n_samples >= 4 * (k + 1) * len(sample)
        ends = np.cumsum(counts)
        centers = np.array(
            [
                sample[order[ends[i] - counts[i] : ends[i]]].mean(axis=0)
                for i in np.flatnonzero(full)
            ]
        )
    return np.ascontiguousarray(centers)


@dataclass(frozen=True)
class _Certified:
    """Rows whose true neighbours are known.

    Attributes
    ----------
    rows : list of ndarray
        Their numbers within each block.
    farthest : ndarray of shape (n_rows,)
        Squared distance of the last true neighbour.
    borders : ndarray of shape (n_rows, k)
        How far beyond its own cell a row must look for each true neighbour.
    k : int
    """

    rows: list[NDArray[np.int64]]
    farthest: Array
    borders: Array
    k: int

    @property
    def n_rows(self) -> int:
        return len(self.farthest)

    @classmethod
    def scan(cls, blocks: Blocks, cells: Cells, k: int) -> _Certified:
        """Compare some rows with all others."""
        cluster, rows = blocks.cluster, blocks.at_equal_strides(_CERTIFIED)
        queries = np.concatenate(
            cluster.run("exact scan", take_rows, list(enumerate(rows)), blocks.name)
        )
        cluster.folder.save("certified", queries)
        numbers = np.concatenate([part + blocks.starts[b] for b, part in enumerate(rows)])
        parts = cluster.run("exact scan", _scan, blocks.numbers, blocks.name, cells, k)
        indices, sq_distances, homes = (np.hstack(each) for each in zip(*parts, strict=True))
        starts = np.repeat(blocks.starts[:-1], [part[0].shape[1] for part in parts])
        indices = np.where(indices >= 0, indices + starts, -1)
        place = np.broadcast_to(np.arange(indices.shape[1]), indices.shape)
        own = indices == numbers[:, None]
        order, nearest = nearest_of(np.where(own | (indices < 0), -1, place), sq_distances, k)
        near, borders = cells.of_rows(queries)
        found = np.take_along_axis(homes, order, axis=1)
        # The border of the cell that each true neighbour is in.
        match = found[:, :, None] == near[:, None, :]
        needed = np.where(match, borders[:, None, :], np.inf).min(axis=2)
        return cls(rows, nearest[:, -1], needed, k)

    def look(self, cells: Cells, missed: float) -> Cells:
        """Return the cells with an overlap that misses no more than a share of true neighbours."""
        if missed <= 0.0:
            return replace(cells, overlap=np.inf)
        overlap = float(np.quantile(self.borders, 1.0 - missed, method="higher"))
        return replace(cells, overlap=overlap)

    def recall(self, blocks: Blocks, metric: str) -> float:
        """Share of true neighbours that were found; one as near as the farthest is as good."""
        items = list(enumerate(self.rows))
        found = np.concatenate(blocks.cluster.run("recall", _found_distances, items))
        to_metric = GEOMETRIES[metric].to_metric
        farthest = self.farthest if to_metric is None else to_metric(self.farthest)
        return float((found <= farthest[:, None]).sum() / (self.n_rows * self.k))


def _scan(
    folder: Folder, block: int, name: str, cells: Cells, k: int
) -> tuple[NDArray[np.int64], Array, NDArray[np.int64]]:
    """Find the nearest rows of a block to each certified row, and their cells."""
    points = folder.load(f"{name}-{block}")
    queries = folder.load("certified")
    dtype = np.result_type(points, queries)
    indices, sq_distances = nearest_of_all(
        queries.astype(dtype, copy=False), points.astype(dtype, copy=False), min(k + 1, len(points))
    )
    unique, places = np.unique(indices, return_inverse=True)
    homes = cells.of_rows(points[unique])[0][:, 0]
    return indices.astype(np.int64), sq_distances, homes[places.reshape(indices.shape)]


def _found_distances(folder: Folder, item: tuple[int, NDArray[np.int64]]) -> Array:
    block, rows = item
    return np.array(folder.load(f"points-sq_distances-{block}", mapped=True)[rows])


def _search_cells(blocks: Blocks, cells: Cells, k: int, metric: str, seed: int) -> None:
    """Sort rows into cells, search each cell, and merge what was found for each row."""
    cluster, n_cells = blocks.cluster, len(cells.centers)
    looks = cluster.run("cells", _sort_block, blocks.numbers, blocks.name, cells)
    log("neighbours: %d cells; a row looks into %.2f", n_cells, sum(looks) / blocks.n_samples)
    layout = (blocks.name, len(blocks.lengths), blocks.starts)
    cluster.run("neighbours", _search_cell, range(n_cells), layout, cells, k, seed, name="cell")
    merged = (layout, n_cells, k, metric, blocks.n_samples)
    cluster.run("merging", _merge_block, blocks.numbers, *merged)
    cluster.folder.remove("found-*")
    cluster.folder.remove("cells-foreign*")


def _sort_block(folder: Folder, block: int, name: str, cells: Cells) -> int:
    """Write which rows of a block lie in each cell, and which others look into it."""
    near, borders = cells.of_rows(folder.load(f"{name}-{block}"))
    looks = borders <= cells.overlap
    total = int(np.count_nonzero(looks))
    for what, rows, homes in (
        ("own", np.arange(len(near)), near[:, 0]),
        ("foreign", *_looking(near[:, 1:], looks[:, 1:])),
    ):
        order = np.argsort(homes, kind="stable")
        cuts = np.searchsorted(homes[order], np.arange(len(cells.centers) + 1))
        folder.save(f"cells-{what}-{name}-{block}", rows[order])
        folder.save(f"cells-{what}-cuts-{name}-{block}", cuts)
    return total


def _looking(
    near: NDArray[np.int64], looks: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    rows, columns = np.nonzero(looks)
    return rows, near[rows, columns]


def _rows_of_cell(
    folder: Folder, cell: int, name: str, n_blocks: int, what: str
) -> tuple[NDArray[Any], list[NDArray[np.int64]]]:
    """The points of a cell (or those that look into it), and their rows in each block."""
    points, rows = [], []
    for block in range(n_blocks):
        begin, end = folder.load(f"cells-{what}-cuts-{name}-{block}", mapped=True)[cell : cell + 2]
        rows.append(np.array(folder.load(f"cells-{what}-{name}-{block}", mapped=True)[begin:end]))
        points.append(folder.load(f"{name}-{block}", mapped=True)[rows[-1]])
    return np.concatenate(points), rows


def _search_cell(
    folder: Folder,
    cell: int,
    layout: Layout,
    cells: Cells,
    k: int,
    seed: int,
) -> None:
    """Find the nearest points of a cell to its own, and to those that look into it."""
    index, numbers, rows = _index_cell(folder, cell, layout, cells, seed)
    own = index.self_neighbors(min(k, len(numbers) - 1)) if len(numbers) > 1 else None
    _save_found(folder, f"own-{layout[0]}-{cell}", own, rows, numbers)
    _query(folder, cell, "foreign", layout, index, numbers, k)


def _query_cell(
    folder: Folder,
    cell: int,
    fitted: Layout,
    queried: Layout,
    cells: Cells,
    k: int,
    seed: int,
) -> None:
    """Find the nearest points of a cell to the new points in it, and to those that look into it."""
    index, numbers, _ = _index_cell(folder, cell, fitted, cells, seed)
    for what in ("own", "foreign"):
        _query(folder, cell, what, queried, index, numbers, k)


def _index_cell(
    folder: Folder, cell: int, layout: Layout, cells: Cells, seed: int
) -> tuple[Any, NDArray[np.int64], list[NDArray[np.int64]]]:
    """An index of a cell's points, their numbers among all, and their rows in each block."""
    points, rows = _rows_of_cell(folder, cell, *layout[:2], "own")
    numbers = np.concatenate([part + layout[2][block] for block, part in enumerate(rows)])
    return (cells.make_index(points, seed) if len(points) else None), numbers, rows


def _query(
    folder: Folder,
    cell: int,
    what: str,
    layout: Layout,
    index: Any,
    numbers: NDArray[np.int64],
    k: int,
) -> None:
    points, rows = _rows_of_cell(folder, cell, *layout[:2], what)
    asked = index is not None and len(points) > 0
    found = index.query(points, min(k, len(numbers))) if asked else None
    _save_found(folder, f"{what}-{layout[0]}-{cell}", found, rows, numbers)


def _save_found(
    folder: Folder,
    name: str,
    found: Neighbors | None,
    rows: list[NDArray[np.int64]],
    numbers: NDArray[np.int64],
) -> None:
    if found is None:
        rows = [part[:0] for part in rows]
        indices, sq_distances = np.empty((0, 1), np.int64), np.empty((0, 1))
    else:
        indices, sq_distances = numbers[found.indices], found.sq_distances
    folder.save(f"found-rows-{name}", np.concatenate(rows))
    folder.save(f"found-cuts-{name}", np.cumsum([0, *map(len, rows)]))
    wide = len(numbers) and numbers.max() > np.iinfo(np.int32).max
    folder.save(f"found-indices-{name}", indices.astype(np.int64 if wide else np.int32))
    folder.save(f"found-sq_distances-{name}", sq_distances)


def _merge_block(
    folder: Folder,
    block: int,
    layout: Layout,
    n_cells: int,
    k: int,
    metric: str,
    n_points: int,
) -> None:
    """Merge what the cells found for the rows of a block."""
    name, _, starts = layout
    dtype = np.int32 if n_points <= np.iinfo(np.int32).max else np.int64
    n = int(starts[block + 1] - starts[block])
    indices, sq_distances = np.full((n, k), -1, dtype), np.full((n, k), np.inf)
    for what in ("own", "foreign"):
        for cell in range(n_cells):
            begin, end = folder.load(f"found-cuts-{what}-{name}-{cell}", mapped=True)[
                block : block + 2
            ]
            if begin == end:
                continue
            part = slice(int(begin), int(end))
            rows, found, sq_found = (
                np.array(folder.load(f"found-{each}-{what}-{name}-{cell}", mapped=True)[part])
                for each in ("rows", "indices", "sq_distances")
            )
            if what == "own":  # which no other cell has found
                indices[rows, : found.shape[1]] = found
                sq_distances[rows, : found.shape[1]] = sq_found
                continue
            indices[rows], sq_distances[rows] = nearest_of(
                np.hstack([indices[rows], found.astype(dtype, copy=False)]),
                np.hstack([sq_distances[rows], sq_found]),
                k,
            )
    to_metric = GEOMETRIES[metric].to_metric
    folder.save(f"{name}-indices-{block}", indices)
    folder.save(
        f"{name}-sq_distances-{block}",
        sq_distances if to_metric is None else to_metric(sq_distances),
    )
