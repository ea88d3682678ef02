"""How many true neighbours a search finds, by an exact scan for a sample of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from closeknit._arrays import Array, Integers
from closeknit.distributed.blocks import Blocks, take_rows
from closeknit.distributed.cells import Cells
from closeknit.distributed.cluster import Folder
from closeknit.neighbors import GEOMETRIES, ExactIndex, nearest_of

#: Rows whose true neighbours are found by an exact scan, and tasks that scan, at most.
_ROWS, _TASKS = 500, 256


@dataclass(frozen=True)
class Certified:
    """Rows whose true neighbours are known.

    Attributes
    ----------
    rows : list of ndarray
        Their numbers within each block.
    farthest : ndarray of shape (n_rows,)
        Squared distance of the last true neighbour.
    borders : ndarray of shape (n_rows, k)
        How far from the border of the row's cell each true neighbour lies; 0 inside of it.
    """

    rows: list[Integers]
    farthest: Array
    borders: Array

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.farthest)

    @classmethod
    def scan(cls, blocks: Blocks, cells: Cells, k: int) -> Certified:
        """Compare some rows with all others."""
        cluster, rows = blocks.cluster, blocks.at_equal_strides(_ROWS)
        queries = np.concatenate(
            cluster.run("exact scan", take_rows, list(enumerate(rows)), blocks.name)
        )
        cluster.folder.save("certified", queries)
        some = -(-len(blocks.numbers) // _TASKS)
        groups = [blocks.numbers[i : i + some] for i in range(0, len(blocks.numbers), some)]
        common = (blocks.name, blocks.starts, cells, k + 1)
        parts = cluster.run("exact scan", _scan, groups, *common, name="blocks")
        numbers = np.concatenate([part + blocks.starts[b] for b, part in enumerate(rows)])
        _, sq_distances, borders = _nearest(parts, k, numbers)
        return cls(rows, sq_distances[:, -1], borders)

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
        return float((found <= farthest[:, None]).sum() / self.borders.size)


def _scan(
    folder: Folder, group: range, name: str, starts: Integers, cells: Cells, k: int
) -> tuple[Integers, Array, Array]:
    """Find the nearest rows of some blocks to each certified row.

    Returns their numbers, squared distances, and distances from the border of that row's cell.
    """
    queries = folder.load("certified")
    homes, parts = cells.homes(queries), []
    for block in group:
        points = folder.load(f"{name}-{block}")
        index = ExactIndex(algorithm="scan", n_jobs=1).fit(points)
        found = index.query(queries, min(k, len(points)))
        unique, places = np.unique(found.indices, return_inverse=True)
        from_borders = np.concatenate([part for *_, part in cells.borders(points[unique])])
        borders = from_borders[places.reshape(found.indices.shape), homes[:, None]]
        parts.append((found.indices + starts[block], found.sq_distances, borders))
    return _nearest(parts, k)


def _nearest(
    parts: list[tuple[Integers, Array, Array]],
    k: int,
    own: Integers | None = None,
) -> tuple[Integers, Array, Array]:
    """Of what was found in several places keep the nearest, and leave out a row itself."""
    numbers, sq_distances, borders = (np.hstack(each) for each in zip(*parts, strict=True))
    left_out = np.zeros(numbers.shape, bool) if own is None else numbers == own[:, None]
    # Those beside each number go along by their places; equals are ordered by number.
    by_number = np.argsort(numbers, axis=1, kind="stable")
    numbers, sq_distances, borders, left_out = (
        np.take_along_axis(each, by_number, axis=1)
        for each in (numbers, sq_distances, borders, left_out)
    )
    places = np.broadcast_to(np.arange(numbers.shape[1]), numbers.shape)
    kept, nearest = nearest_of(
        np.where(left_out, -1, places), sq_distances, min(k, numbers.shape[1])
    )
    return (
        np.take_along_axis(numbers, kept, axis=1),
        nearest,
        np.take_along_axis(borders, kept, axis=1),
    )


def _found_distances(folder: Folder, item: tuple[int, Integers]) -> Array:
    block, rows = item
    return np.array(folder.load(f"points-sq_distances-{block}", mapped=True)[rows])
