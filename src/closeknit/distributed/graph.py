"""A graph whose rows are spread over files, shard by shard."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_matrix

from closeknit._arrays import Integers
from closeknit.distributed.blocks import Blocks
from closeknit.distributed.cluster import Folder
from closeknit.io.extras import require
from closeknit.io.files import replacing


@dataclass(frozen=True)
class ShardedGraph:
    """The rows of a sparse matrix, those of a block of points in each shard.

    Parameters
    ----------
    blocks : Blocks
        Of the points.
    name : str
        Of the files.
    total : float
        Sum of all weights.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from sklearn.datasets import load_digits
    >>> from closeknit import distributed as ckd
    >>> with Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None):
    ...     P = ckd.EntropicAffinities(perplexity=30).fit_transform(load_digits().data)
    ...     P.shape, P[[0, 5]].shape, round(float(P.shard(0).sum()))
    ((1797, 1797), (2, 1797), 1797)
    """

    blocks: Blocks
    name: str
    total: float
    #: What objectives on this graph share.
    kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points, twice."""
        return self.blocks.n_samples, self.blocks.n_samples

    def shard(self, number: int) -> csr_matrix:
        """Return the rows of a block."""
        folder = self.blocks.cluster.folder
        return load_rows(folder, f"{self.name}-{number}", self.shape[1])

    def __getitem__(self, rows: Any) -> csr_matrix:
        """Return some rows, given by their ascending numbers."""
        parts = self.blocks.split(np.asarray(rows))
        items = [(block, part) for block, part in enumerate(parts) if len(part)]
        common = (self.name, self.shape[1])
        return csr_matrix(
            sparse.vstack(self.blocks.cluster.run("rows", _some_rows, items, *common))
        )

    def write(self, folder: str | Path, kind: str = "npz") -> None:
        """Write the shards to a folder, one file each.

        Parameters
        ----------
        folder : str or path
            Seen by all workers.
        kind : {"npz", "parquet", "zarr"}, default="npz"
            ``"npz"`` as :func:`scipy.sparse.load_npz` reads it; else the columns row, column and
            weight.
        """
        if kind not in _WRITERS:
            raise ValueError(f"kind={kind!r} must be one of {', '.join(_WRITERS)}")
        target = Path(folder).absolute()
        target.mkdir(parents=True, exist_ok=True)
        common = (self.name, self.blocks.starts, str(target), kind)
        self.blocks.cluster.run("writing", _write_shard, self.blocks.numbers, *common)


def save_rows(folder: Folder, name: str, W: csr_matrix) -> None:
    """Write a matrix as three arrays."""
    for part in ("indptr", "indices", "data"):
        folder.save(f"{name}-{part}", getattr(W, part))


def load_rows(folder: Folder, name: str, n_columns: int) -> csr_matrix:
    """Read a matrix."""
    indptr, indices, data = (
        folder.load(f"{name}-{part}") for part in ("indptr", "indices", "data")
    )
    return csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_columns), copy=False)


def map_rows(folder: Folder, name: str, n_columns: int) -> csr_matrix:
    """Map a matrix of which only some rows are wanted."""
    indptr, indices, data = (
        folder.load(f"{name}-{part}", mapped=True) for part in ("indptr", "indices", "data")
    )
    return csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, n_columns), copy=False)


def _some_rows(folder: Folder, item: tuple[int, Integers], name: str, n_columns: int) -> csr_matrix:
    block, rows = item
    return map_rows(folder, f"{name}-{block}", n_columns)[rows]


def _write_shard(
    folder: Folder, block: int, name: str, starts: Integers, target: str, kind: str
) -> None:
    W = load_rows(folder, f"{name}-{block}", int(starts[-1]))
    _WRITERS[kind](Path(target, f"{block:06d}.{kind}"), W, int(starts[block]))


def _write_npz(path: Path, W: csr_matrix, first: int) -> None:
    with replacing(path) as file:
        sparse.save_npz(file, W, compressed=False)


def _columns(W: csr_matrix, first: int) -> dict[str, NDArray[Any]]:
    rows = np.repeat(np.arange(first, first + W.shape[0]), np.diff(W.indptr))
    return {"row": rows, "column": W.indices, "weight": W.data}


def _write_parquet(path: Path, W: csr_matrix, first: int) -> None:
    arrow = require("pyarrow", "frames", "Parquet files need pyarrow")
    parquet = require("pyarrow.parquet", "frames", "Parquet files need pyarrow")
    with replacing(path) as file:
        parquet.write_table(arrow.table(_columns(W, first)), file)


def _write_zarr(path: Path, W: csr_matrix, first: int) -> None:
    zarr = require("zarr", "distributed", "Zarr shards need zarr")
    group = zarr.open_group(str(path), mode="w")
    for name, values in _columns(W, first).items():
        group.create_array(name, data=np.ascontiguousarray(values))


_WRITERS = {"npz": _write_npz, "parquet": _write_parquet, "zarr": _write_zarr}
