"""Cells of near rows: whose rows are searched together, and among which rows of other cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from closeknit._arrays import Array, Flags, Integers
from closeknit._threads import chunks, single_threaded_blas
from closeknit.distributed.blocks import Blocks, take_rows
from closeknit.neighbors import ApproximateIndex, ExactIndex

#: Rows from which centres are computed, at least and at most for each cell, and for all of them.
_LEAST_PER_CELL, _MOST_PER_CELL, _SAMPLED = 64, 1024, 2**18
_ROUNDS = 20
#: Most cells: beyond, cells grow. Of few rows some cells are made even if one would hold them, so
#: that several workers search, if they have so many rows.
_MOST_CELLS = 4096
_FEW, _LEAST = 4, 2**13
#: Features of all rows of a cell, which workers hold several times, at most.
_NUMBERS = 2**26
#: Up to here a cell is searched exactly: samples that calibrate an approximate search cost as much.
_EXACT_ROWS, _EXACT_FEATURES = 4096, 12


@dataclass(frozen=True)
class Cells:
    """A partition of space, and how far around a cell rows are copied into it.

    The border of two cells is the plane between their centres.

    Attributes
    ----------
    centers : ndarray of shape (n_cells, n_features)
    overlap : float
        Rows of other cells that are no farther from a cell's border are searched with its own.
    local_recall : float
        Wanted of the search in each cell; 1 is exact.
    """

    centers: Array
    overlap: float = 0.0
    local_recall: float = 0.99

    @cached_property
    def _apart(self) -> Array:
        """Distances between centres, 1 where there is none."""
        centers = self.centers - self.centers.mean(axis=0)
        sq_norms = np.einsum("ij,ij->i", centers, centers)
        with single_threaded_blas():
            squares = sq_norms[:, None] + sq_norms - 2.0 * centers @ centers.T
        apart = np.sqrt(np.maximum(squares, 0.0))
        return np.where(apart > 0.0, apart, 1.0)

    def borders(self, X: NDArray[Any]) -> Iterator[tuple[slice, Integers, Array]]:
        """Yield, for some rows after the other, their cells and their distances from all borders.

        The distance from the border of a row's own cell is 0.
        """
        middle = self.centers.mean(axis=0)
        centers = self.centers - middle
        sq_norms = np.einsum("ij,ij->i", centers, centers)
        for rows in chunks(len(X), 24 * len(centers) + 8 * X.shape[1]):
            with single_threaded_blas():
                gaps = sq_norms - 2.0 * (X[rows].astype(np.float64) - middle) @ centers.T
            homes = gaps.argmin(axis=1)
            gaps -= np.take_along_axis(gaps, homes[:, None], axis=1)
            gaps /= 2.0 * self._apart[homes]
            yield rows, homes, gaps

    def homes(self, X: NDArray[Any]) -> Integers:
        """The cell of each row."""
        return np.concatenate([homes for _, homes, _ in self.borders(X)])

    def copies(self, X: NDArray[Any]) -> tuple[Integers, Integers, Integers]:
        """The cell of each row; then which rows are copied, and into which other cell."""
        found, rows, cells = [], [], []
        for chunk, homes, borders in self.borders(X):
            near = borders <= self.overlap
            near[np.arange(len(homes)), homes] = False
            row, cell = np.nonzero(near)
            found.append(homes)
            rows.append(row + chunk.start)
            cells.append(cell)
        return np.concatenate(found), np.concatenate(rows), np.concatenate(cells)

    def without(self, cells: Flags) -> Cells:
        """Dissolve some cells."""
        return Cells(self.centers[~cells], self.overlap, self.local_recall)

    def make_index(self, points: NDArray[Any], seed: int) -> Any:
        """Return an index of a cell's points."""
        few = len(points) <= _EXACT_ROWS or points.shape[1] <= _EXACT_FEATURES
        if few or self.local_recall >= 1.0:
            return ExactIndex(n_jobs=1).fit(points)
        recall = self.local_recall
        return ApproximateIndex(target_recall=recall, n_jobs=1, random_state=seed).fit(points)


def find_centers(blocks: Blocks, cell_size: int, n_neighbors: int, seed: int) -> Array:
    """Return the centres of cells of about a size, by k-means on a sample of the rows."""
    from sklearn.cluster import KMeans

    n, fewest = blocks.n_samples, 4 * (n_neighbors + 1)
    cell_size = min(cell_size, _NUMBERS // blocks.n_features)
    n_cells = max(-(-n // max(cell_size, fewest, n // _MOST_CELLS)), min(_FEW, n // _LEAST))
    per_cell = min(max(_LEAST_PER_CELL, _SAMPLED // n_cells), _MOST_PER_CELL)
    rows = blocks.sample(min(n, per_cell * n_cells), seed)
    taken = blocks.cluster.run("cells", take_rows, list(enumerate(rows)), blocks.name)
    sample = np.concatenate(taken).astype(np.float64)
    if n_cells == 1:
        return sample.mean(axis=0, keepdims=True)
    with threadpool_limits(1):  # sums in an order that does not depend on the machine
        means = KMeans(n_cells, n_init=1, max_iter=_ROUNDS, random_state=seed % 2**32)
        centers = means.fit(sample).cluster_centers_
    return np.ascontiguousarray(np.unique(centers, axis=0))
