"""The tasks of a search: rows by cell, a search in each cell, and what was found by block again."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array, Integers
from closeknit.distributed.blocks import Blocks
from closeknit.distributed.cells import Cells
from closeknit.distributed.cluster import Folder
from closeknit.neighbors import GEOMETRIES, nearest_of
from closeknit.progress import log

#: The name of some blocks, and the number of each block's first row, and that of all rows.
Layout: TypeAlias = tuple[str, Integers]


def search_cells(blocks: Blocks, cells: Cells, k: int, metric: str, seed: int) -> Cells:
    """Find the neighbours of all rows, and write them block by block.

    Returns the cells without those that would hold too few rows.
    """
    cluster, layout = blocks.cluster, (blocks.name, blocks.starts)
    while True:
        counts = sum(cluster.run("cells", _sort_block, blocks.numbers, blocks.name, cells))
        small = counts <= k
        if not small.any() or len(small) == 1:
            break
        small[np.argmax(counts)] = False  # one stays, if all are small
        cells = cells.without(small)
    n_cells = len(cells.centers)
    share = float(counts.sum()) / blocks.n_samples
    log("neighbours: %d cells; a row is searched for in %.2f of them", n_cells, share)
    common = (layout, None, cells, k, seed)
    largest_first = np.argsort(-counts, kind="stable").tolist()  # so that none is waited for
    cluster.run("neighbours", _search_cell, largest_first, *common, name="cell")
    merged = (layout, n_cells, k, metric, blocks.n_samples)
    cluster.run("merging", _merge_block, blocks.numbers, *merged)
    cluster.folder.remove("found-*")
    return cells


def search_new(new: Blocks, blocks: Blocks, cells: Cells, k: int, metric: str, seed: int) -> None:
    """Find the neighbours of new rows among the others, and write them block by block."""
    cluster, n_cells = blocks.cluster, len(cells.centers)
    layout, fitted = (new.name, new.starts), (blocks.name, blocks.starts)
    cluster.run("cells", _sort_new, new.numbers, new.name, cells)
    common = (fitted, layout, cells, k, seed)
    cluster.run("neighbours", _search_cell, range(n_cells), *common, name="cell")
    merged = (layout, n_cells, k, metric, blocks.n_samples)
    cluster.run("merging", _merge_block, new.numbers, *merged)


def _sort_block(folder: Folder, block: int, name: str, cells: Cells) -> Integers:
    """Write which rows of a block lie in each cell, and which are copied; return how many."""
    homes, copied, into = cells.copies(folder.load(f"{name}-{block}", mapped=True))
    own = _save_sorted(folder, f"own-{name}-{block}", np.arange(len(homes)), homes, cells)
    return own + _save_sorted(folder, f"copied-{name}-{block}", copied, into, cells)


def _sort_new(folder: Folder, block: int, name: str, cells: Cells) -> None:
    """Write which new rows of a block lie in each cell."""
    homes = cells.homes(folder.load(f"{name}-{block}", mapped=True))
    _save_sorted(folder, f"own-{name}-{block}", np.arange(len(homes)), homes, cells)


def _save_sorted(
    folder: Folder, name: str, rows: Integers, homes: Integers, cells: Cells
) -> Integers:
    order = np.argsort(homes, kind="stable")
    cuts = np.searchsorted(homes[order], np.arange(len(cells.centers) + 1))
    folder.save(f"cells-{name}", rows[order].astype(np.int32))  # a block has fewer
    folder.save(f"cells-cuts-{name}", cuts)
    return np.diff(cuts)


def _rows_of_cell(
    folder: Folder, cell: int, layout: Layout, what: str
) -> tuple[NDArray[Any], Integers]:
    """The points of a cell, or those that are copied into it, and their numbers among all."""
    name, starts = layout
    points, numbers = [], []
    for block, start in enumerate(starts[:-1]):
        begin, end = folder.load(f"cells-cuts-{what}-{name}-{block}", mapped=True)[cell : cell + 2]
        rows = np.array(folder.load(f"cells-{what}-{name}-{block}", mapped=True)[begin:end])
        points.append(folder.load(f"{name}-{block}", mapped=True)[rows])
        numbers.append(rows + start)
    return np.concatenate(points), np.concatenate(numbers)


def _search_cell(
    folder: Folder,
    cell: int,
    fitted: Layout,
    new: Layout | None,
    cells: Cells,
    k: int,
    seed: int,
) -> None:
    """Find the nearest points, of a cell's own and those copied, to its own or to new ones."""
    parts = [_rows_of_cell(folder, cell, fitted, what) for what in ("own", "copied")]
    n_own = len(parts[0][1])
    points, numbers = (np.concatenate(each) for each in zip(*parts, strict=True))
    del parts
    # In the order of all rows, by which equals are told apart.
    order = np.argsort(numbers, kind="stable")
    points, numbers = points[order], numbers[order]
    selves: Integers | None = np.flatnonzero(order < n_own)
    if new is None:
        queries, rows = points[selves], numbers[selves]
    else:
        (queries, rows), selves = _rows_of_cell(folder, cell, new, "own"), None
    layout = fitted if new is None else new
    k = min(k, len(numbers) - (selves is not None))
    if len(rows) and k > 0:
        index = cells.make_index(points, seed)
        found = index.query(queries, min(k + 1, len(numbers)))
        indices, sq_distances = _others(found.indices, found.sq_distances, k, selves)
        wide = numbers[-1] > np.iinfo(np.int32).max
        known = np.append(numbers, -1).astype(np.int64 if wide else np.int32)
        indices = known[indices]  # −1, which stands for none, takes the last of them
    else:
        indices, sq_distances = np.empty((len(rows), 0), np.int32), np.empty((len(rows), 0))
    name = f"{layout[0]}-{cell}"
    folder.save(f"found-rows-{name}", rows)
    folder.save(f"found-indices-{name}", indices)
    folder.save(f"found-sq_distances-{name}", sq_distances)


def _others(
    indices: NDArray[Any], sq_distances: Array, k: int, selves: Integers | None
) -> tuple[NDArray[Any], Array]:
    """Leave out each point itself, which mostly comes first, and what is too much."""
    if selves is None:
        return indices[:, :k], sq_distances[:, :k]
    rest, sq_rest = indices[:, 1:].copy(), sq_distances[:, 1:].copy()
    odd = np.flatnonzero(indices[:, 0] != selves)  # it has duplicates
    rest[odd], sq_rest[odd] = nearest_of(indices[odd], sq_distances[odd], k, selves[odd])
    return rest, sq_rest


def _merge_block(
    folder: Folder,
    block: int,
    layout: Layout,
    n_cells: int,
    k: int,
    metric: str,
    n_points: int,
) -> None:
    """Collect what the cells found for the rows of a block."""
    name, starts = layout
    first, end = starts[block : block + 2]
    dtype = np.int32 if n_points <= np.iinfo(np.int32).max else np.int64
    shape = (int(end - first), k)
    indices, sq_distances = np.full(shape, -1, dtype), np.full(shape, np.inf)
    for cell in range(n_cells):
        numbers = folder.load(f"found-rows-{name}-{cell}", mapped=True)
        part = slice(*np.searchsorted(numbers, (first, end)))
        if part.start == part.stop:
            continue
        rows = numbers[part] - first
        for kept, what in ((indices, "indices"), (sq_distances, "sq_distances")):
            found = folder.load(f"found-{what}-{name}-{cell}", mapped=True)[part]
            kept[rows, : found.shape[1]] = found
    to_metric = GEOMETRIES[metric].to_metric
    folder.save(f"{name}-indices-{block}", indices)
    folder.save(
        f"{name}-sq_distances-{block}",
        sq_distances if to_metric is None else to_metric(sq_distances),
    )
