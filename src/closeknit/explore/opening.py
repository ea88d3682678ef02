"""Sessions from arrays, frames, files, saved models and saved sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closeknit.exceptions import ModelError
from closeknit.explore.parameters import MODELS, Parameters
from closeknit.explore.saving import SESSION, load_session
from closeknit.explore.session import Session
from closeknit.io import (
    Table,
    archive_format,
    default_names,
    from_anndata,
    from_frame,
    load,
    read_table,
)
from closeknit.linalg import check_structure

__all__ = ["open_data", "open_file"]


def open_data(X: Any, labels: Any = None, **options: Any) -> Session:
    """A session of data in memory.

    Parameters
    ----------
    X : array, sparse matrix, data frame, AnnData, Table, or path
    labels : array, or mapping of str to array, optional
    **options
        Of :class:`Session`; of :func:`open_file` for a path.

    Returns
    -------
    Session

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> open_data(*load_iris(return_X_y=True)).columns.names
    ['label', 'x0', 'x1', 'x2', 'x3']
    """
    if isinstance(X, str | Path):
        if labels is not None:
            raise ValueError("a file has labels of its own; name their columns in reading=")
        return open_file(X, **options)
    table = _to_table(X)
    if labels is not None:
        given = labels if isinstance(labels, dict) else {"label": labels}
        found = {str(name): _column(name, values, table) for name, values in given.items()}
        table = Table(
            table.X,
            table.feature_names,
            {**table.labels, **found},
            table.ids,
            id_name=table.id_name,
        )
    return Session(table, **options)


def _to_table(X: Any) -> Table:
    if isinstance(X, Table):
        return X
    if type(X).__module__.partition(".")[0] == "anndata":
        return from_anndata(X)
    if hasattr(X, "columns") or hasattr(X, "column_names"):
        return from_frame(X)
    X = check_structure(X)  # before an array forgets what is masked
    found = X if hasattr(X, "tocsr") else np.asarray(X)
    if found.ndim != 2:
        raise ValueError(f"X must be a matrix of points × features, got shape {found.shape}")
    return Table(found, default_names(found.shape[1]))


def _column(name: Any, values: ArrayLike, table: Table) -> Any:
    column = np.asarray(values)
    if column.shape != (table.n_samples,):
        raise ValueError(
            f"labels {name!r} have shape {column.shape} for {table.n_samples} points; pass one "
            "for each point, in the same order"
        )
    return column


def open_file(
    path: str | Path, *, reading: dict[str, Any] | None = None, **options: Any
) -> Session:
    """A session of what a file holds.

    Parameters
    ----------
    path : str or path
        Data as :func:`closeknit.io.read_table` reads them, a model that
        :func:`closeknit.io.save` wrote, or a session that the explorer saved.
    reading : dict, optional
        Parameters of `read_table`.
    **options
        Of :class:`Session`.

    Returns
    -------
    Session

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.explore import open_file
    >>> from closeknit.io import write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_table(f"{folder}/flowers.csv", load_iris().data)
    ...     open_file(f"{folder}/flowers.csv").table.n_samples
    150
    """
    path = Path(path)
    if path.suffix.lower() == ".closeknit":
        if archive_format(path) == SESSION.format:
            return load_session(path, n_jobs=options.get("n_jobs", -1))
        return _open_model(path, options)
    given = {name: value for name, value in (reading or {}).items() if value is not None}
    table = read_table(path, **given)
    words = "".join(f", {name}={value!r}" for name, value in given.items())
    code = f"X = ck.io.read_table({str(path)!r}{words}).X"
    return Session(table, reading=code, title=path.name, **options)


def _open_model(path: Path, options: dict[str, Any]) -> Session:
    """Go on from the map of a saved model, with its data and its neighbours."""
    model = load(path)
    name = next((key for key, (cls, _) in MODELS.items() if cls == type(model).__name__), None)
    affinities: Any = getattr(model, "affinity_estimator_", None)
    points = getattr(getattr(affinities, "index_", None), "points_", None)
    if name is None or points is None or model.embedding_.shape[1] != 2:
        raise ModelError(
            f"cannot explore {path}: it must hold a map in two dimensions by "
            f"{', '.join(cls for cls, _ in MODELS.values())} with the points it was fitted to"
        )
    given = {"perplexity": float(np.max(model.perplexity)), "dof": getattr(model, "dof", 1.0)}
    names = tuple(map(str, getattr(model, "feature_names_in_", default_names(points.shape[1]))))
    seed = model.random_state if isinstance(model.random_state, int) else 0
    return Session(
        Table(points, names),
        parameters=Parameters(name, **given),
        neighbors=affinities.neighbors_,
        positions=model.embedding_,
        metric=model.metric,
        reading=f"X = ck.io.load({str(path)!r}).affinity_estimator_.index_.points_",
        title=path.name,
        random_state=options.pop("random_state", seed),
        **{key: value for key, value in options.items() if key != "max_perplexity"},
    )
