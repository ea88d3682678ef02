"""Tables of the observations of an AnnData, in memory or in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from closeknit.exceptions import DataError
from closeknit.io.anndata.stored import find_key, matrix
from closeknit.io.extras import require
from closeknit.io.table import Selection, Table, assemble, default_names

__all__ = ["from_anndata", "read_h5ad"]


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


def read_h5ad(path: Path, *, key: str | None, selection: Selection) -> Table:
    """Read a table from an H5AD file; see `from_anndata`.

    Examples
    --------
    >>> import tempfile, anndata
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "cells.h5ad")
    ...     anndata.AnnData(np.eye(3)).write_h5ad(path)
    ...     read_h5ad(path, key=None, selection=Selection()).X.shape
    (3, 3)
    """
    package = require("anndata", "anndata", "reading H5AD needs anndata")
    if path.stat().st_size == 0:
        raise DataError("it is empty; write or download it again")
    return _to_table(package.read_h5ad(path), key, selection, "h5ad")


def _to_table(adata: Any, key: str | None, selection: Selection, kind: str) -> Table:
    from closeknit.io.frames import label_columns

    key = find_key(adata, key)
    X = matrix(adata, key)
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
