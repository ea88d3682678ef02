"""What an AnnData holds, in memory or in a file: observations, representations, neighbours."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from closeknit.exceptions import DataError
from closeknit.io.arrays import check_csr
from closeknit.io.extras import require
from closeknit.io.files import expansion_limit
from closeknit.io.frames import label_columns
from closeknit.io.table import Selection, Table, assemble, default_names
from closeknit.neighbors import Neighbors

#: Processor seconds that HDF5 has for the text in a file, and one more for every 10 MB of it.
_PATIENCE = 20
#: How many times as long it may take on a busy machine.
_BUSY = 15


def from_anndata(adata: Any, key: str | None = None, *, missing: str = "error") -> Table:
    """Take the numbers, annotations and names of the observations.

    Parameters
    ----------
    adata : AnnData
    key : str or None, default=None
        "X", a layer, or a representation in ``obsm``; None is "X_pca" if it is there, else "X".
    missing : {"error", "drop"}, default="error"
        What to do with observations that have missing values.

    Returns
    -------
    Table
        The columns of ``obs`` are the labels, ``obs_names`` the identifiers.

    Examples
    --------
    >>> import anndata, numpy as np, pandas as pd
    >>> from closeknit.io import from_anndata
    >>> obs = pd.DataFrame({"kind": ["T", "B", "T"]}, index=["c1", "c2", "c3"])
    >>> table = from_anndata(anndata.AnnData(np.eye(3), obs=obs))
    >>> table.X.shape, table.labels["kind"], table.ids
    ((3, 3), array(['T', 'B', 'T'], dtype=object), array(['c1', 'c2', 'c3'], dtype=object))
    """
    return _to_table(adata, key, Selection(missing=missing), "anndata")


def read_h5ad(path: Path, selection: Selection, key: str | None = None) -> Table:
    """Read a table from an H5AD file; see `from_anndata`.

    Examples
    --------
    >>> import tempfile, anndata
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cells.h5ad")
    ...     anndata.AnnData(np.eye(3)).write_h5ad(path)
    ...     read_h5ad(path, Selection()).X.shape
    (3, 3)
    """
    package = require("anndata", "anndata", "reading H5AD needs anndata")
    seconds = _PATIENCE + path.stat().st_size // 10**7
    bounds = (expansion_limit(path), seconds)
    try:
        subprocess.run(
            [sys.executable, "-P", Path(__file__).with_name("probe.py"), path, *map(str, bounds)],
            capture_output=True,
            check=True,
            encoding="utf-8",
            errors="replace",
            timeout=_BUSY * seconds,
        )
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"HDF5 reads its text for more than {_BUSY * seconds} s") from error
    except subprocess.CalledProcessError as error:
        if error.returncode == -getattr(signal, "SIGXCPU", 0):
            raise ValueError(f"HDF5 reads its text for more than {seconds} s") from error
        raise ValueError((error.stderr.splitlines() or ["HDF5 crashes on it"])[-1]) from error
    return _to_table(package.read_h5ad(path), key, selection, "h5ad")


def neighbors_from_anndata(adata: Any, key: str | None = None) -> Neighbors:
    """The neighbours that ``sc.pp.neighbors`` has found.

    Parameters
    ----------
    adata : AnnData
    key : str or None, default=None
        The ``key_added`` of ``sc.pp.neighbors``; None is "neighbors".

    Returns
    -------
    Neighbors
        scanpy counts a point among its own neighbours but does not store it: rows hold
        ``n_neighbors - 1`` others, and fewer if some lie in the same place.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from closeknit.io import neighbors_from_anndata
    >>> from closeknit.neighbors import find_neighbors
    >>> adata = anndata.AnnData(np.array([[0.0], [1.0], [3.0]]))
    >>> adata.obsp["distances"] = find_neighbors(adata.X, 1).to_graph()
    >>> neighbors_from_anndata(adata).indices.ravel()
    array([1, 0, 1], dtype=int32)
    """
    return Neighbors.from_graph(stored_graph(adata, key))


def representation(adata: Any, key: str | None) -> tuple[Any, str]:
    """X, a layer or a representation, in memory, and what it is called.

    That is the one which is asked for, or else the principal components, or X.
    """
    if key is None:
        key = "X_pca" if "X_pca" in adata.obsm else "X"
    holder = {"X": adata.X} if key == "X" else adata.obsm if key in adata.obsm else adata.layers
    if key not in holder:
        known = ", ".join(map(repr, ["X", *adata.obsm, *adata.layers]))
        raise DataError(f"there is no representation {key!r}; choose from {known}")
    found = holder[key]
    if found is None:
        raise DataError("the AnnData has no X; choose a representation such as 'X_pca'")
    if hasattr(found, "to_memory"):  # it is on disk
        found = found.to_memory()
    return (check_csr(found) if sparse.issparse(found) else np.asarray(found)), key


def stored_graph(adata: Any, key: str | None) -> Any:
    """The graph of distances that ``sc.pp.neighbors`` stored under a key."""
    key = "neighbors" if key is None else key
    name = "distances" if key == "neighbors" else f"{key}_distances"
    name = adata.uns.get(key, {}).get("distances_key", name)
    if name not in adata.obsp:
        known = ", ".join(map(repr, adata.obsp)) or "nothing"
        raise DataError(
            f"there are no neighbours under {key!r}: obsp has no {name!r}, only {known}; "
            "run sc.pp.neighbors, or do without neighbors_key"
        )
    return check_csr(adata.obsp[name])


def _to_table(adata: Any, key: str | None, selection: Selection, kind: str) -> Table:
    X, key = representation(adata, key)
    if 0 in X.shape:
        raise DataError(f"{key!r} has shape {X.shape}, which holds no numbers")
    names = default_names(X.shape[1])
    # The names of genes need not be all different; then numbers must do.
    if (key == "X" or key in adata.layers) and adata.var_names.is_unique:
        names = tuple(map(str, adata.var_names))
    # Annotations may be called like genes; then the gene has the name.
    taken = set(names)
    labels = {name: c for name, c in label_columns(adata.obs).items() if name not in taken}
    others = {"": np.asarray(adata.obs_names, dtype=object), **labels}
    selection = selection if selection.ids is not None else replace(selection, ids="")
    order = ["", *names, *labels]
    table = assemble(X, names, others, order=order, selection=selection, kind=kind)
    return replace(table, key=key)
