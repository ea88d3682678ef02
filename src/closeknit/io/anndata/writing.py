"""Results as H5AD files, where scanpy looks for them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from closeknit.io.extras import require
from closeknit.io.files import reading, replacing
from closeknit.io.table import Table


def write_h5ad(
    path: Path, X: Any, columns: Sequence[str], table: Table, source: Path | None = None
) -> None:
    """Write a map, or one column, beside the data it was made of.

    Parameters
    ----------
    path : Path
    X : ndarray of shape (n_samples, n_columns)
        A single column goes to ``obs``; several, called tsne0, tsne1 and so on, to
        ``obsm["X_tsne"]``.
    columns : sequence of str
    table : Table
        What was read.
    source : Path or None, default=None
        The H5AD file it was read from, all of which is kept; None makes a new one, of the features,
        labels and identifiers.

    Examples
    --------
    >>> import anndata, tempfile
    >>> table = Table(np.eye(3), ("a", "b", "c"), {"kind": np.array(["x", "y", "x"])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "map.h5ad")
    ...     write_h5ad(path, np.zeros((3, 2)), ["tsne0", "tsne1"], table)
    ...     anndata.read_h5ad(path).obsm["X_tsne"].shape
    (3, 2)
    """
    package = require("anndata", "anndata", "writing H5AD needs anndata")
    adata = _new(package, table) if source is None else _kept(package, source, table)
    if len(columns) == 1:
        adata.obs[columns[0]] = np.asarray(X)[:, 0]
    else:
        adata.obsm[f"X_{columns[0].rstrip('0123456789')}"] = np.asarray(X)
    with replacing(path) as file, _failures_of_the_disk():
        adata.write_h5ad(Path(file.name))


@contextmanager
def _failures_of_the_disk() -> Iterator[None]:
    """Raise OSError where HDF5 only prints its number, and keep it from printing at each object."""
    hooks, number = (sys.excepthook, sys.unraisablehook), 0

    def hook(kind: Any, error: Any, trace: Any) -> None:
        if "errno = " not in str(error):
            hooks[0](kind, error, trace)

    def unraisable_hook(ignored: Any) -> None:
        if "h5py" not in str(ignored.object):
            hooks[1](ignored)

    # A destructor of Cython's prints through both.
    sys.excepthook, sys.unraisablehook = hook, unraisable_hook
    try:
        yield
    except (OSError, RuntimeError) as error:
        found = re.search(r"errno = (\d+)", str(error))
        if found is None:
            raise
        number = int(found[1])
    finally:  # by now the objects that `error` held are gone
        sys.excepthook, sys.unraisablehook = hooks
    if number:
        raise OSError(number, os.strerror(number))


def _new(package: Any, table: Table) -> Any:
    names = np.arange(table.n_samples) if table.ids is None else table.ids
    obs = require("pandas", "anndata", "writing H5AD needs pandas").DataFrame(
        table.labels, index=[str(name) for name in names]
    )
    adata = package.AnnData(table.X, obs=obs)
    adata.var_names = list(table.feature_names)
    return adata


def _kept(package: Any, source: Path, table: Table) -> Any:
    with reading(source):
        adata = package.read_h5ad(source)
    if table.n_dropped and table.ids is not None:
        adata = adata[np.isin(np.asarray(adata.obs_names, dtype=str), table.ids.astype(str))].copy()
    return adata
