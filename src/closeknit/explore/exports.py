"""Exports of a session: tables, pictures, and code."""

from __future__ import annotations

import io
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from closeknit.explore.code import code_of
from closeknit.explore.session import Session
from closeknit.io import require, write_table

__all__ = ["FORMATS", "code", "picture", "table"]

#: The endings of tables.
FORMATS = ("csv", "parquet", "h5ad")
_PICTURES = ("png", "svg", "pdf")


def table(session: Session, kind: str, ending: str) -> tuple[str, bytes]:
    """A table as a file: its name and its bytes.

    Parameters
    ----------
    session : Session
    kind : {"rows", "labels", "map"}
        The selected rows (all, if none is selected) with their features; the labels of all points;
        or positions, bandwidths and labels of the points on the map.
    ending : {"csv", "parquet", "h5ad"}

    Returns
    -------
    name : str
    content : bytes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.io import Table
    >>> session = Session(Table(load_iris().data, ("a", "b", "c", "d")))
    >>> name, content = table(session, "map", "csv")
    >>> name, content.decode().splitlines()[0]
    ('map.csv', 'id,x,y')
    """
    with session.lock:
        rows, Y, sigmas = _points(session)
        if kind == "rows" and session.selected.any():
            rows, Y = rows[session.selected], Y[session.selected]
    source, columns = session.table, session.columns
    labels = {name: values[rows] for name, values in columns.labels.items()}
    ids = np.array([columns.identifier(row) for row in rows.tolist()], dtype=object)
    if kind == "labels":
        labels = {name: values[rows] for name, values in columns.added.items()}
        if not labels:
            raise ValueError("there are no labels yet; select points and name them")
    if ending == "h5ad":
        return f"{kind}.h5ad", _h5ad(session, rows, Y, labels, ids)
    if kind == "rows":
        X = source.X[rows]
        X = X.toarray() if sparse.issparse(X) else X
        names = list(source.feature_names)
    elif kind == "map":
        X, names = Y, ["x", "y"]
        if sigmas is not None:
            X, names = np.column_stack([Y, sigmas]), [*names, "sigma"]
    else:
        X, names = np.empty((len(rows), 0)), []
    taken = {*names, *labels}
    id_name = source.id_name or "id"
    labels = {(f"{name} (label)" if name in names else name): v for name, v in labels.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{kind}.{ending}")
        write_table(
            path,
            X,
            columns=names,
            ids=ids,
            id_name=id_name if id_name not in taken else "row",
            labels=labels,
        )
        return path.name, path.read_bytes()


def _points(session: Session) -> tuple[Any, Any, Any]:
    engine = session.engine
    return session.level.rows, engine.frame.positions.astype(np.float64), engine.sigmas


def _h5ad(session: Session, rows: Any, Y: Any, labels: dict[str, Any], ids: Any) -> bytes:
    anndata = require("anndata", "anndata", "H5AD files need anndata")
    pandas = require("pandas", "anndata", "H5AD files need pandas")
    names = pandas.Index(list(map(str, session.table.feature_names)))
    obs = pandas.DataFrame(labels, index=pandas.Index(list(map(str, ids))))
    adata = anndata.AnnData(session.table.X[rows], obs=obs, var=pandas.DataFrame(index=names))
    parameters = session.engine.parameters
    adata.obsm[f"X_{parameters.model}"] = np.asarray(Y)
    adata.uns[parameters.model] = {"params": asdict(parameters)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "map.h5ad")
        adata.write_h5ad(path)
        return path.read_bytes()


def picture(
    session: Session,
    ending: str,
    column: str | None = None,
    values: NDArray[Any] | None = None,
    caption: str = "",
) -> tuple[str, bytes]:
    """The map as a picture, as :func:`closeknit.plotting.plot_embedding` draws it.

    Parameters
    ----------
    session : Session
    ending : {"png", "svg", "pdf"}
    column : str or None, default=None
        The column to colour by.
    values : ndarray of shape (n_points,) or None, default=None
        Other numbers to colour by.
    caption : str, default=""
        What these are.

    Returns
    -------
    name : str
    content : bytes
    """
    from closeknit.plotting import plot_embedding

    if ending not in _PICTURES:
        raise ValueError(f"pictures end in {', '.join(_PICTURES)}, not {ending!r}")
    figures = require("matplotlib.figure", "plot", "drawing needs matplotlib")
    figure = figures.Figure(figsize=(8.0, 7.0), layout="constrained")
    axes, labels = figure.add_subplot(), None
    with session.lock:
        rows, Y, _ = _points(session)
    if column is not None:
        found, caption = session.columns.column(column), column
        if found.names is None:
            values = found.values[rows]
        else:
            names = np.array([*found.names, ""], dtype=object)
            labels = names[np.minimum(found.values[rows], len(found.names))]
            labels = np.where(labels == "", None, labels)
    plot_embedding(Y, labels, axes, values=values, color_title=caption or None)
    parameters = session.engine.parameters
    axes.set_title(f"{parameters.title}, perplexity {parameters.perplexity:g}")
    file = io.BytesIO()
    figure.savefig(file, format=ending, dpi=200, bbox_inches="tight")
    return f"map.{ending}", file.getvalue()


def code(session: Session) -> str:
    """The Python code that makes the current map again.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.io import Table
    >>> session = Session(Table(load_iris().data, ("a", "b", "c", "d")))
    >>> code(session).splitlines()[0]
    'import closeknit as ck'
    """
    with session.lock:
        rows = None if len(session.levels) == 1 else repr(session.level.rows.tolist())
        return code_of(session.reading, session.engine, rows)
