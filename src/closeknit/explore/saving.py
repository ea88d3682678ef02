"""Sessions as files, without code in them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.exceptions import ModelError
from closeknit.explore.engine import Engine
from closeknit.explore.frames import Frame
from closeknit.explore.parameters import Parameters
from closeknit.explore.phase import Phase
from closeknit.explore.session import Session
from closeknit.explore.undo import Level
from closeknit.io import Description, Kind, Table, read_archive, write_archive
from closeknit.neighbors import Neighbors

__all__ = ["SESSION", "load_session", "save_session"]

#: The kind of file, as the file itself says.
SESSION = Kind("closeknit session", 1)


def save_session(session: Session, path: str | Path) -> None:
    """Write a session to a file that holds no code; `load_session` reads it.

    Parameters
    ----------
    session : Session
    path : str or path
        By custom ``.closeknit``.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from closeknit.explore import Session, load_session, save_session
    >>> from closeknit.io import Table
    >>> session = Session(Table(load_iris().data, ("a", "b", "c", "d")))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_session(session, f"{folder}/flowers.closeknit")
    ...     load_session(f"{folder}/flowers.closeknit").table.n_samples
    150
    """
    with session.lock:
        source = session.table
        content = {
            "X": source.X,
            "feature_names": tuple(source.feature_names),
            "labels": {name: _plain(values) for name, values in source.labels.items()},
            "added": {name: _plain(values) for name, values in session.columns.added.items()},
            "ids": None if source.ids is None else _plain(source.ids),
            "id_name": source.id_name,
            "images": session.images,
            "reading": session.reading,
            "title": session.title,
            "metric": session.options["metric"],
            "random_state": session.options["random_state"],
            "levels": [_describe(level) for level in session.levels],
            "selected": session.selected,
        }
    description = Description()
    write_archive(path, SESSION, description, description.add(content, "session"))


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Return values that a file can hold: numbers, or text."""
    if values.dtype.kind in "biufU":
        return values
    text = np.empty(len(values), dtype=object)
    text[:] = ["" if value is None else str(value) for value in values.tolist()]
    return text


def _describe(level: Level) -> dict[str, Any]:
    engine, neighbors = level.engine, level.engine.neighbors
    return {
        "rows": level.rows,
        "parameters": asdict(engine.parameters),
        "max_perplexity": engine.max_perplexity,
        "indices": None if neighbors is None else np.asarray(neighbors.indices),
        "sq_distances": None if neighbors is None else np.asarray(neighbors.sq_distances),
        "positions": engine.positions,
        "numbers": engine.frame.numbers(),
        "phases": [asdict(phase) for phase in engine.phases],
        "settled": engine.settled,
    }


def load_session(path: str | Path, *, n_jobs: int | None = -1) -> Session:
    """Read a session that `save_session` has written.

    Parameters
    ----------
    path : str or path
    n_jobs : int or None, default=-1

    Returns
    -------
    Session
        Paused where it was.

    Raises
    ------
    ModelError
        If the file is damaged or is none.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> session = Session(Table(load_iris().data, ("a", "b", "c", "d")), title="flowers")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_session(session, f"{folder}/flowers.closeknit")
    ...     load_session(f"{folder}/flowers.closeknit").title
    'flowers'
    """
    content = read_archive(path, SESSION)
    try:
        return _restore(content, n_jobs)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise ModelError(f"cannot read {path}: it is damaged ({error}); save it again") from error


def _restore(content: dict[str, Any], n_jobs: int | None) -> Session:
    X, labels, ids = content["X"], content["labels"], content["ids"]
    found = Table(X, content["feature_names"], labels, ids, id_name=content["id_name"])
    if any(
        len(values) != found.n_samples
        for values in (*labels.values(), *([] if ids is None else [ids]))
    ):
        raise ValueError("its labels do not fit its rows")
    options = {"metric": content["metric"], "random_state": content["random_state"]}
    first = content["levels"][0]
    session = Session(
        found,
        images=content["images"],
        max_perplexity=first["max_perplexity"],
        reading=content["reading"],
        title=content["title"],
        n_jobs=n_jobs,
        **options,
    )
    session.columns.added = dict(content["added"])
    levels = [_restore_level(session, level) for level in content["levels"]]
    session.levels = tuple(levels)
    for level in levels:
        level.engine.listeners.append(session.notify)
    session.selected = np.zeros(len(session.level.rows), dtype=bool)
    session.select(np.asarray(content["selected"], dtype=bool))
    return session


def _restore_level(session: Session, content: dict[str, Any]) -> Level:
    rows = np.asarray(content["rows"], dtype=np.intp)
    n = len(rows)
    if n != len(np.unique(rows)) or rows.min() < 0 or rows.max() >= session.table.n_samples:
        raise ValueError("its rows do not exist")
    neighbors = None
    if content["indices"] is not None:
        neighbors = Neighbors(content["indices"], content["sq_distances"], n)
    positions = np.asarray(content["positions"], dtype=np.float64)
    if positions.shape != (n, 2) or not np.isfinite(positions).all():
        raise ValueError("its map does not fit its rows")
    whole = n == session.table.n_samples
    engine = Engine(
        session.table.X if whole else session.table.X[rows],
        Parameters(**content["parameters"]),
        max_perplexity=float(content["max_perplexity"]),
        neighbors=neighbors,
        positions=positions if content["phases"] else None,
        **session.options,
    )
    if content["phases"]:
        numbers = dict(content["numbers"])
        numbers["number"] = numbers.pop("frame")
        if numbers["objective"] is None:
            numbers["objective"] = float("nan")
        frame = Frame(positions=positions.astype(np.float32), **numbers)
        engine.move_to(positions, [_restore_phase(phase) for phase in content["phases"]], frame)
        engine.settled = bool(content["settled"])
    return Level(rows, engine)


def _restore_phase(content: dict[str, Any]) -> Phase:
    parameters = Parameters(**content["parameters"])
    stages = tuple((float(lam), int(count)) for lam, count in content["stages"])
    return Phase(**{**content, "parameters": parameters, "stages": stages})
