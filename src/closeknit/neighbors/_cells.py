"""A partition of sketches into cells, so that near points are compared together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from closeknit import _core
from closeknit._arrays import Array, Integers, Singles
from closeknit._threads import chunks
from closeknit.neighbors._sketch import COORDINATE_BYTES, Sketches, rounding_margin

_PLACES = 16  # points per panel, the width of the compiled kernel's tile
_TASK_ROWS = 192  # queries per task: enough to reuse a cell's sketches while they are in the cache
_ONE_CELL = 2048  # fewer points than this make one cell
_ROUNDS = 5  # Lloyd iterations; calibration makes up for cells that are not the best


@dataclass(frozen=True)
class Cells:
    """A k-means partition of sketches.

    Attributes
    ----------
    centers : (n_cells, n_coordinates) float32 array
    members : (n_samples,) int32 array
        The cell of each point.
    radii : (n_cells,) float64 array
        No point of a cell lies farther from its centre.
    slacks : (n_cells,) float64 array
        The largest rounding margin of a cell's points.
    packed_centers : closeknit._core.Sketch
    """

    centers: Singles
    members: Integers
    radii: Array
    slacks: Array
    packed_centers: _core.Sketch


def count_cells(n_samples: int) -> int:
    """How many cells to make of this many points: about 2√n."""
    return 1 if n_samples < _ONE_CELL else int(2 * np.sqrt(n_samples))


def make_cells(
    sketches: Sketches, rng: np.random.Generator, n_threads: int, *, one: bool = False
) -> Cells:
    """Partition sketches into cells.

    Parameters
    ----------
    sketches : Sketches
    rng : numpy.random.Generator
    n_threads : int
    one : bool
        Put all points into one cell.

    Returns
    -------
    Cells
    """
    values = sketches.values
    n_samples = values.shape[0]
    n_cells = 1 if one else count_cells(n_samples)
    sample = values[np.sort(rng.choice(n_samples, min(n_samples, 48 * n_cells), replace=False))]
    centers = sample[np.sort(rng.choice(sample.shape[0], n_cells, replace=False))]
    if n_cells == 1:
        centers = sample.mean(axis=0, dtype=np.float64, keepdims=True).astype(np.float32)
        members: Integers = np.zeros(n_samples, dtype=np.int32)
    else:
        for _ in range(_ROUNDS):
            centers = _means(sample, assign(sample, centers, n_threads), centers)
        centers = centers[_chain(centers)]  # neighbouring cells get neighbouring numbers
        members = assign(values, centers, n_threads)
    sq_gaps = np.empty(n_samples)
    for chunk in chunks(n_samples, COORDINATE_BYTES * values.shape[1]):
        gaps = values[chunk].astype(np.float64) - centers[members[chunk]]
        sq_gaps[chunk] = np.einsum("ij,ij->i", gaps, gaps)
    radii, slacks = np.zeros(n_cells), np.zeros(n_cells)
    np.maximum.at(radii, members, np.sqrt(sq_gaps) * (1.0 + 1e-9))
    np.maximum.at(slacks, members, 2.0 * rounding_margin(values.shape[1]) * sketches.sq_norms)
    return Cells(centers, members, radii, slacks, _pack_centers(centers))


def _means(sample: Singles, members: Integers, centers: Singles) -> Singles:
    order = np.argsort(members, kind="stable")
    filled, starts, counts = np.unique(members[order], return_index=True, return_counts=True)
    means = centers.copy()  # an empty cell stays where it is
    sums = np.add.reduceat(sample[order].astype(np.float64), starts, axis=0)
    means[filled] = sums / counts[:, None]
    return means


def _pack_centers(centers: Singles) -> _core.Sketch:
    margin = rounding_margin(centers.shape[1])
    sq_norms = np.einsum("ij,ij->i", centers, centers, dtype=np.float64) * (1.0 - margin)
    everyone = np.zeros(centers.shape[0], dtype=np.int32)
    return pack(Sketches(centers, sq_norms), everyone, 1, has_residual=False)


def assign(sketches: Singles, centers: Singles, n_threads: int) -> Integers:
    """Find the nearest centre of each sketch, by the search kernel itself."""
    n_samples, n_cells = sketches.shape[0], centers.shape[0]
    members = np.zeros((n_samples, 1), dtype=np.int32)
    if n_cells == 1:
        return members[:, 0]
    order, offsets = group_by_cell(members[:, 0])
    queries = _core.SearchQueries(
        _core.Rows(sketches), sketches, np.zeros(n_samples), None, order, offsets
    )
    points = _core.SearchPoints(
        rows=_core.Rows(centers),
        sq_offsets=None,
        sketch=_pack_centers(centers),
        centers=_pack_centers(centers[:1]),
        cell_radii=np.zeros(1),
        cell_slacks=np.zeros(1),
    )
    plan = _core.SearchPlan(
        n_probes=1,
        n_candidates=2,  # the float32 estimates of the two best may be swapped
        sketch_unit=1.0,
        margin=0.0,
        residual_weight=1.0,
        exact=False,
    )
    answers = (members, np.empty((n_samples, 1)), np.empty(n_samples, dtype=np.int64))
    _core.search_cells(points, queries, plan, (0, len(offsets) - 1), *answers, n_threads)
    return members[:, 0]


def pack(
    sketches: Sketches,
    members: Integers,
    n_cells: int,
    *,
    has_residual: bool,
    sq_offsets: Array | None = None,
) -> _core.Sketch:
    """Lay sketches out cell by cell in panels of 16, as the compiled kernel reads them.

    Parameters
    ----------
    sketches : Sketches
    members : (n_samples,) int32 array
    n_cells : int
    has_residual : bool
    sq_offsets : (n_samples,) array, optional
        Added to the squared distance to each point, in the sketch's units.

    Returns
    -------
    closeknit._core.Sketch
    """
    n_coordinates = sketches.values.shape[1]
    sizes = np.bincount(members, minlength=n_cells)
    cell_panels = np.concatenate([[0], np.cumsum(-(-sizes // _PLACES))]).astype(np.int64)
    order = np.argsort(members, kind="stable")
    within = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = cell_panels[members[order]] * _PLACES + within
    n_panels = int(cell_panels[-1])

    flat_points = np.full(n_panels * _PLACES, -1, dtype=np.int32)
    flat_points[places] = order
    points = flat_points.reshape(n_panels, _PLACES)
    half_sq_norms = np.full(n_panels * _PLACES, np.inf, dtype=np.float32)
    sq_norms = sketches.sq_norms if sq_offsets is None else sketches.sq_norms + sq_offsets
    half_sq_norms[places] = 0.5 * sq_norms[order]
    panels = np.empty((n_panels, n_coordinates, _PLACES), dtype=np.float32)
    for start in range(0, n_panels, 512):
        chunk = slice(start, start + 512)
        panels[chunk] = sketches.values[np.maximum(points[chunk], 0)].transpose(0, 2, 1)
    return _core.Sketch(
        panels, half_sq_norms.reshape(n_panels, _PLACES), points, cell_panels, has_residual
    )


def _chain(centers: Singles) -> Integers:
    """Order centres so that each is followed by the nearest one not yet in the chain."""
    chain = np.zeros(centers.shape[0], dtype=np.intp)
    free = np.ones(centers.shape[0], dtype=bool)
    for place in range(1, len(chain)):
        last = centers[chain[place - 1]]
        free[chain[place - 1]] = False
        gaps = centers - last
        sq_gaps = np.einsum("ij,ij->i", gaps, gaps)
        chain[place] = np.argmin(np.where(free, sq_gaps, np.inf))
    return chain


def group_by_cell(members: Integers) -> tuple[Integers, Integers]:
    """Order queries cell by cell and cut them into tasks.

    Returns
    -------
    order : (n_queries,) int64 array
    offsets : (n_tasks + 1,) int64 array
        Where in `order` each task begins.

    Examples
    --------
    >>> import numpy as np
    >>> group_by_cell(np.array([1, 0, 1], dtype=np.int32))
    (array([1, 0, 2]), array([0, 3]))
    """
    order = np.argsort(members, kind="stable").astype(np.int64)
    offsets = np.arange(0, len(order), _TASK_ROWS, dtype=np.int64)
    return order, np.append(offsets, len(order))
