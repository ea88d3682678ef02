"""Choose how to search by sketches, from rows whose true neighbours are known.

Long sketches cost more to compare, short ones let more points through to the expensive true
distances. Both costs are estimated on a few rows and the cheapest length wins. For data without
dominant directions that is all coordinates, which makes the search a plain one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import chunks
from closeknit.neighbors._cells import count_cells
from closeknit.neighbors._sketch import (
    COORDINATE_BYTES,
    MAX_COMPONENTS,
    Sketcher,
    principal_directions,
)
from closeknit.neighbors.candidates import candidate_distances
from closeknit.neighbors.points import Data, as_rows

# The expected cosine between the residuals of two neighbours, for ranking candidates: 0 would be
# unrelated residuals, 1 is the lower bound. Of 0, ¼, ½, ¾ and 1, none was best everywhere on sets
# of 200 rows of MNIST, GloVe and CBMC; from 32 numbers on, ½ lost at most 0.008 of recall to the
# best, with 16 up to 0.021. On 20 newsgroups it is worse than ¼.
RESIDUAL_WEIGHT = 0.5

_LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, MAX_COMPONENTS)
_ROWS, _PRODUCTS = 256, 1e11  # known rows at most, and multiplications spent on them
_TRIED_ROWS, _TRIED_NEIGHBORS = 96, 16  # of the known ones, for each length of sketches
_CHUNK = 8192

# Nanoseconds on an AVX2 core, roughly, from MNIST on a busy machine; only their ratios matter.
_PER_COORDINATE, _PER_POINT = 0.035, 0.4  # comparing a sketch
_PER_EVALUATION, _PER_FEATURE = 60.0, 0.35  # a true distance


@dataclass(frozen=True)
class KnownRows:
    """Some rows and their true neighbours.

    Attributes
    ----------
    rows : (n_rows,) int32 array
    neighbors : (n_rows, n_neighbors) array
    last : (n_rows, 1) array
        The squared distance of each row's farthest neighbour.
    """

    rows: Integers
    neighbors: Integers
    last: Array


def known_rows(
    X: Data, sq_offsets: Array | None, n_neighbors: int, rng: np.random.Generator, n_threads: int
) -> KnownRows:
    """Find the true neighbours of a sample of the rows of `X` by comparing with all points.

    Parameters
    ----------
    X : array
    sq_offsets : (n_samples,) array or None
    n_neighbors : int
    rng : numpy.random.Generator
    n_threads : int

    Returns
    -------
    KnownRows
    """
    n_samples, n_features = X.shape
    n_rows = min(n_samples, int(np.clip(_PRODUCTS / (n_samples * n_features), 64, _ROWS)))
    rows = np.sort(rng.choice(n_samples, n_rows, replace=False)).astype(np.int32)
    n_nearest = min(n_neighbors, n_samples - 1)
    whole = Sketcher.of_all_coordinates(X)
    queries = whole(X[rows], n_threads).values
    best = np.full((n_rows, n_nearest), np.inf, dtype=np.float32)
    neighbors = np.zeros((n_rows, n_nearest), dtype=np.intp)
    for chunk in chunks(n_samples, COORDINATE_BYTES * n_features, _CHUNK):
        start = chunk.start
        block = whole(X[chunk], n_threads)
        sq_norms = block.sq_norms
        if sq_offsets is not None:
            sq_norms = sq_norms + sq_offsets[chunk] * whole.scale**2
        values = (0.5 * sq_norms).astype(np.float32) - queries @ block.values.T
        own = np.flatnonzero((rows >= start) & (rows < chunk.stop))
        values[own, rows[own] - start] = np.inf
        # Only what is nearer than the farthest so far is merged: few, after the first chunks.
        row, column = np.nonzero(values < best[:, -1:])
        counts = np.bincount(row, minlength=n_rows)
        place = n_nearest + np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        width = n_nearest + int(counts.max())
        found = np.full((n_rows, width), np.inf, dtype=np.float32)
        points = np.zeros((n_rows, width), dtype=np.intp)
        found[:, :n_nearest], points[:, :n_nearest] = best, neighbors
        found[row, place], points[row, place] = values[row, column], column + start
        order = np.argsort(found, axis=1, kind="stable")[:, :n_nearest]
        best = np.take_along_axis(found, order, axis=1)
        neighbors = np.take_along_axis(points, order, axis=1)
    sq_distances = candidate_distances(
        X[rows], X, neighbors, sq_offsets=sq_offsets, n_threads=n_threads
    )
    return KnownRows(rows, neighbors, sq_distances.max(axis=1, keepdims=True, initial=0.0))


def choose_settings(
    X: Data,
    known: KnownRows,
    fewest: int,
    rng: np.random.Generator,
    n_threads: int,
    loss: float | None,
) -> tuple[Sketcher, int]:
    """Choose the length of sketches for a search among the rows of `X`.

    Parameters
    ----------
    X : array
    known : KnownRows
    fewest : int
        Candidates to rank at least.
    rng : numpy.random.Generator
    n_threads : int
    loss : float or None
        The share of true neighbours that may be missed for want of candidates; None for an exact
        search.

    Returns
    -------
    sketcher : Sketcher
    n_candidates : int
        How many candidates an approximate search should rank.
    """
    n_samples, n_features = X.shape
    n_components = min(n_features, MAX_COMPONENTS)
    center, basis = principal_directions(X, n_components, rng)
    whole = Sketcher.of_all_coordinates(X, center)
    n_points = min(n_samples, int(np.clip(n_samples // 32, 8192, 32768)))
    points = X[np.sort(rng.choice(n_samples, n_points, replace=False))]
    tried = slice(None, None, -(-len(known.rows) // _TRIED_ROWS))
    stride = -(-known.neighbors.shape[1] // _TRIED_NEIGHBORS)
    neighbors = known.neighbors[tried, ::-stride]  # the farthest among them: the hardest to find
    ratio = n_samples / n_points

    def parts(rows: Data) -> _Rotated:
        return _Rotated.of(rows, center, basis, whole.scale, n_threads)

    queries, others = parts(X[known.rows[tried]]), parts(points)
    near = parts(X[neighbors.ravel()])
    limit = known.last[tried] * whole.scale**2
    evaluation = _PER_EVALUATION + _PER_FEATURE * float(n_features)
    share = 1.0 if loss is None else _share_of_cells(queries, others, near, n_samples, loss)

    best_cost, best = np.inf, (n_components, 2 * fewest)
    for length in (p for p in _LENGTHS if p <= n_components):
        bound, cross = queries.bounds(others, length)
        if loss is None:
            n_evaluated = ratio * float(np.mean(np.sum(bound <= limit, axis=1)))
        else:
            bound += 2.0 * (1.0 - RESIDUAL_WEIGHT) * cross
            own_bound, own_cross = queries.bounds(near, length, own=True)
            own_bound += 2.0 * (1.0 - RESIDUAL_WEIGHT) * own_cross
            bound.sort(axis=1)
            nearer = [np.searchsorted(b, v) for b, v in zip(bound, own_bound, strict=True)]
            n_evaluated = ratio * float(np.quantile(nearer, 1.0 - loss)) + fewest
        compare = _PER_COORDINATE * (length + 1) + _PER_POINT
        cost = n_samples * share * compare + n_evaluated * evaluation
        if cost < best_cost:
            best_cost, best = cost, (length, int(n_evaluated))

    compare = _PER_COORDINATE * n_features + _PER_POINT
    if n_samples * share * compare + fewest * evaluation < best_cost:
        return whole, min(fewest, n_samples)
    length, n_evaluated = best
    sketcher = Sketcher(center, np.ascontiguousarray(basis[:, :length]), whole.scale)
    return sketcher, min(max(n_evaluated, fewest), n_samples)


@dataclass(frozen=True)
class _Rotated:
    """Rows in the basis of principal directions, and their squared norms."""

    values: Array
    sq_norms: Array

    @classmethod
    def of(cls, rows: Data, center: Array, basis: Array, scale: float, n_threads: int) -> _Rotated:
        values = np.empty((rows.shape[0], basis.shape[1]))
        sq_norms = np.empty(rows.shape[0])
        _core.project(as_rows(rows), center, basis * scale, values, sq_norms, n_threads)
        return cls(values, sq_norms * scale**2)

    def bounds(self, others: _Rotated, length: int, *, own: bool = False) -> tuple[Array, Array]:
        """Bound squared distances from below by `length` coordinates, and give what is unknown.

        With `own`, each row has its own equal share of the others.
        """
        leading, their_leading = self.values[:, :length], others.values[:, :length]
        residuals = np.sqrt(np.maximum(self.sq_norms - np.sum(leading**2, axis=1), 0.0))
        theirs = np.sqrt(np.maximum(others.sq_norms - np.sum(their_leading**2, axis=1), 0.0))
        sq_norms = others.sq_norms
        if own:
            shape = (len(leading), -1)
            products = np.einsum("il,ijl->ij", leading, their_leading.reshape(*shape, length))
            theirs, sq_norms = theirs.reshape(shape), sq_norms.reshape(shape)
        else:
            products = leading @ their_leading.T
        cross = residuals[:, None] * theirs
        return self.sq_norms[:, None] + sq_norms - 2.0 * (products + cross), cross


def _share_of_cells(
    queries: _Rotated, others: _Rotated, near: _Rotated, n_samples: int, loss: float
) -> float:
    """Estimate the share of cells that holds the true neighbours, for cells around a sample."""
    n_cells = min(count_cells(n_samples), len(others.values))
    centers = _Rotated(others.values[:n_cells], others.sq_norms[:n_cells])
    width = centers.values.shape[1]
    distances = queries.bounds(centers, width)[0]
    home = np.argmin(near.bounds(centers, width)[0], axis=1).reshape(len(distances), -1)
    return float(np.quantile(cell_ranks(distances, home), 1.0 - loss) + 1.0) / n_cells


def cell_ranks(distances: npt.NDArray[np.floating], cells: Integers) -> Integers:
    """Find how many cells are nearer to each row than those of its neighbours.

    Parameters
    ----------
    distances : (n_rows, n_cells) array
    cells : (n_rows, n_neighbors) array

    Returns
    -------
    (n_rows, n_neighbors) array
    """
    ranks = np.empty(distances.shape, dtype=np.intp)
    order = np.argsort(distances, axis=1, kind="stable")
    np.put_along_axis(ranks, order, np.arange(distances.shape[1])[None, :], axis=1)
    return np.take_along_axis(ranks, cells, axis=1)
