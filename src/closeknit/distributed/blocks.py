"""Data in blocks of rows, checked one by one and kept as files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from closeknit._arrays import Integers
from closeknit.distributed.cluster import Cluster, Folder
from closeknit.exceptions import DataError
from closeknit.io import Table
from closeknit.neighbors import GEOMETRIES, check_data
from closeknit.progress import report

#: Most bytes and rows of a block.
_BYTES, _ROWS = 2**28, 2**17
#: Data that are in one piece are cut into at least so many blocks, of at least so many rows.
_PIECES, _FEWEST = 16, 4096


@dataclass(frozen=True)
class Blocks:
    """Rows of the data in order, some to a block.

    Attributes
    ----------
    cluster : Cluster
    lengths : tuple of int
        Rows of each block.
    n_features : int
    name : str
        The files are ``name-0``, ``name-1`` and so on.
    """

    cluster: Cluster
    lengths: tuple[int, ...]
    n_features: int
    name: str = "points"

    @cached_property
    def starts(self) -> Integers:
        """The number of each block's first row, and that of all rows."""
        return np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.starts[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        return self.n_samples, self.n_features

    @property
    def numbers(self) -> range:
        """Numbers of the blocks."""
        return range(len(self.lengths))

    @property
    def index_dtype(self) -> type[np.int32] | type[np.int64]:
        """What numbers of rows are kept as."""
        return np.int32 if self.n_samples <= np.iinfo(np.int32).max else np.int64

    def rows(self, block: int) -> slice:
        """The rows of a block among all rows."""
        return slice(int(self.starts[block]), int(self.starts[block + 1]))

    def holds(self, X: Any, metric: str) -> bool:
        """Whether these are the rows of some data: all of them, in the same order."""
        if X.shape != self.shape:
            return False
        load = self.cluster.folder.load
        return all(
            np.array_equal(_points(X[self.rows(b)], metric), load(f"{self.name}-{b}", mapped=True))
            for b in self.numbers
        )

    def sample(self, size: int, seed: int) -> list[Integers]:
        """Draw rows, as numbers within each block."""
        rng = np.random.default_rng(seed)
        return self.split(np.sort(rng.choice(self.n_samples, size, replace=False)))

    def at_equal_strides(self, size: int) -> list[Integers]:
        """Choose rows as the regression of :class:`closeknit.affinities.Regression` does."""
        size = min(size, self.n_samples)
        return self.split(np.arange(size) * self.n_samples // size)

    def split(self, rows: Integers) -> list[Integers]:
        """Turn ascending numbers of rows into numbers within each block."""
        cuts = np.searchsorted(rows, self.starts)
        ends = zip(cuts, cuts[1:], self.starts, strict=False)
        return [rows[begin:end] - start for begin, end, start in ends]

    def array(self, name: str, width: tuple[int, ...] = (), dtype: Any = np.float64) -> Any:
        """Return the arrays of all blocks that have a name as one Dask array."""
        import dask.array
        from dask import delayed

        load = delayed(Folder.load, pure=True)
        parts = [
            dask.array.from_delayed(
                load(self.cluster.folder, f"{name}-{block}"), (self.lengths[block], *width), dtype
            )
            for block in self.numbers
        ]
        joined = dask.array.concatenate(parts)
        joined._closeknit = self.cluster  # whose folder is not removed as long as this lives
        return joined


def most_rows(n_features: int, itemsize: int) -> int:
    """Rows that a block has at most."""
    return max(1, min(_ROWS, _BYTES // max(1, itemsize * n_features)))


def take_rows(folder: Folder, item: tuple[int, Integers], name: str) -> NDArray[Any]:
    """Return some rows of a block."""
    block, rows = item
    return np.array(folder.load(f"{name}-{block}", mapped=True)[rows])


def store_blocks(
    cluster: Cluster, X: Any, metric: str = "euclidean", name: str = "points"
) -> Blocks:
    """Check the blocks of some data, and write each to a file.

    Parameters
    ----------
    cluster : Cluster
    X : dask array, array-like of shape (n_samples, n_features), or Table
        Dense. A Dask array is cut anew only if its chunks are too large or too many.
    metric : str, default="euclidean"
        Rows are turned into points whose Euclidean distances are those of the metric.
    name : str, default="points"

    Returns
    -------
    Blocks

    Raises
    ------
    ValueError or DataError
        Naming the first block that cannot be used, and why.
    """
    noted = cluster.folder.noted(name)
    if noted is not None:
        return Blocks(cluster, tuple(noted["lengths"]), noted["n_features"], name)
    if isinstance(X, Table):
        X = X.X
    if hasattr(X, "to_dask_array"):
        X = X.to_dask_array(lengths=True)
    if hasattr(X, "dask"):
        lengths = _store_dask(cluster, X, metric, name)
        n_features = int(X.shape[1])
    else:
        _refuse_sparse(X, "X")
        X = check_data(X)
        n_features = X.shape[1]
        lengths = _store_array(cluster.folder, X, metric, name)
    blocks = Blocks(cluster, tuple(lengths), n_features, name)
    cluster.folder.note(name, {"lengths": blocks.lengths, "n_features": n_features})
    return blocks


def _store_dask(cluster: Cluster, X: Any, metric: str, name: str) -> list[int]:
    from dask import delayed

    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}; use X.reshape or X[:, None]")
    unknown = [i for i, n in enumerate(X.chunks[0]) if np.isnan(n)]
    if unknown:
        raise ValueError(
            f"block {unknown[0]} has an unknown number of rows; call X.compute_chunk_sizes() first"
        )
    most = most_rows(X.shape[1], X.dtype.itemsize)
    too_many = len(X.chunks[0]) > 16 + 4 * -(-X.shape[0] // most)
    if len(X.chunks[1]) > 1 or max(X.chunks[0]) > most or too_many:
        X = X.rechunk({0: most, 1: -1})
    store = delayed(_store_block)
    parts = [
        store(cluster.folder, block, number, X.shape[1], metric, name)
        for number, block in enumerate(X.to_delayed().ravel())
    ]
    names = [f"block {number}" for number in range(len(parts))]
    kept = cluster.collect("blocks", cluster.client.compute(parts), names)
    return _close_gaps(cluster.folder, kept, name)


def _close_gaps(folder: Folder, lengths: list[int], name: str) -> list[int]:
    """Number the blocks that have rows one after the other."""
    full = [number for number, length in enumerate(lengths) if length]
    for target, number in enumerate(full):
        if target != number:
            folder.file(f"{name}-{number}").replace(folder.file(f"{name}-{target}"))
    if not full:
        raise ValueError("X has no rows")
    return [lengths[number] for number in full]


def _store_array(folder: Folder, X: NDArray[Any], metric: str, name: str) -> list[int]:
    n = len(X)
    rows = min(most_rows(X.shape[1], X.dtype.itemsize), max(_FEWEST, -(-n // _PIECES)))
    starts = range(0, n, rows)
    for number, start in enumerate(starts):
        report("blocks", number, len(starts))
        folder.save(f"{name}-{number}", _points(X[start : start + rows], metric))
    return [min(rows, n - start) for start in starts]


def _store_block(
    folder: Folder, X: Any, number: int, n_features: int, metric: str, name: str
) -> int:
    """Check a block, write it, and return its number of rows."""
    _refuse_sparse(X, f"block {number}")
    if np.ndim(X) != 2:
        raise DataError(f"block {number} has {np.ndim(X)} dimensions, not 2")
    if X.shape[1] != n_features:
        raise DataError(f"block {number} has {X.shape[1]} features, but the data have {n_features}")
    if X.shape[0] == 0:
        return 0
    if np.ma.is_masked(X):
        raise DataError(f"block {number} has masked entries; fill them in, or leave out such rows")
    if np.iscomplexobj(X):
        raise DataError(f"block {number} holds complex numbers; pass real ones")
    try:
        values = np.asarray(X, dtype=X.dtype if X.dtype in (np.float32, np.float64) else float)
    except (TypeError, ValueError) as error:
        raise DataError(f"block {number} does not hold numbers: {error}") from None
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        what = "NaN" if np.isnan(values[row]).any() else "infinity"
        raise DataError(
            f"block {number} contains {what} in row {row} of the block; fill or leave out such rows"
        )
    try:
        folder.save(f"{name}-{number}", _points(values, metric))
    except ValueError as error:
        raise DataError(f"block {number}: {error}") from None
    return len(values)


def _points(X: NDArray[Any], metric: str) -> NDArray[Any]:
    to_points = GEOMETRIES[metric].to_points
    return np.ascontiguousarray(X if to_points is None else to_points(X))


def _refuse_sparse(X: Any, what: str) -> None:
    if sp.issparse(X):
        raise TypeError(
            f"{what} is sparse, and distributed fits take dense rows; reduce the dimensions first, "
            "for example by dask_ml's or scikit-learn's TruncatedSVD"
        )
