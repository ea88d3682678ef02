"""What a session answers to each request of a viewer: a header, and bytes."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.explore import exports
from closeknit.explore.columns import summarize
from closeknit.explore.divergence import divergence_terms
from closeknit.explore.saving import save_session
from closeknit.explore.session import Session
from closeknit.progress import listening
from closeknit.quality import neighbors_kept

__all__ = [
    "TRUST",
    "Answer",
    "column",
    "export",
    "history",
    "label",
    "neighbors",
    "pinned",
    "point",
    "search",
    "select",
    "selection",
    "set_parameters",
    "sigma",
    "step",
    "trust",
]

#: A header and bytes.
Answer = tuple[dict[str, Any], Any]

#: What trust is of, and what pictures call it.
TRUST = {
    "kept": "neighbours kept",
    "divergence": "term of the divergence, in nats",
    "changed": "neighbours changed",
}

_ROWS = 200
_LINES = 60


def set_parameters(session: Session, parameters: dict[str, Any], done: bool) -> Answer:
    """Go on with other parameters."""
    session.set(replace(session.engine.parameters, **parameters), done=done)
    return {}, b""


def step(session: Session, count: int) -> Answer:
    """Do `count` iterations."""
    session.engine.step(count)
    return {}, b""


def sigma(session: Session, perplexity: float | None) -> Answer:
    """The bandwidths, or those that another perplexity would give."""
    engine = session.engine
    sigmas = engine.sigmas if perplexity is None else engine.builder.sigmas_at(float(perplexity))
    if sigmas is None:
        raise ValueError("the bandwidths are not known yet; wait a little")
    return {"names": None}, _finite(sigmas)


def _finite(values: NDArray[Any]) -> NDArray[np.float32]:
    """Values as a viewer takes them; infinite ones are as large as the largest, NaN stays."""
    found = values.astype(np.float32)
    return np.where(np.isinf(found), found[np.isfinite(found)].max(initial=0.0), found)


def column(session: Session, name: str) -> Answer:
    """The values of a column on the map."""
    if name not in session.columns.names:
        raise ValueError(f"there is no column {name!r}")
    column = session.columns.column(name)
    values = column.values[session.level.rows]
    names = None if column.names is None else list(column.names)
    content = values if names is not None else _finite(values)
    return {"names": names, "others": column.others}, content


def trust(session: Session, kind: str) -> Answer:
    """How far to believe each point: neighbours kept or changed, its term of the divergence."""
    engine = session.engine
    Y, model, neighbors = engine.frame.positions, engine.model, engine.neighbors
    if model is None or neighbors is None:
        raise ValueError("the neighbours are not known yet; wait a little")
    k, n_jobs = min(15, neighbors.n_neighbors), engine.builder.n_jobs
    values: NDArray[Any]
    with listening(None):  # searches inside are not stages of their own
        if kind == "kept":
            values = neighbors_kept(neighbors, Y, k, n_jobs=n_jobs)
        elif kind == "divergence":
            values = divergence_terms(model.training.objective, Y)
        elif session.pin is None:
            raise ValueError("pin a map first; then colours can show what has changed since")
        else:
            values = 1.0 - neighbors_kept(session.pin.positions, Y, k, n_jobs=n_jobs)
    return {"names": None, "mean": float(values.mean())}, _finite(values)


def point(session: Session, index: int) -> Answer:
    """What a point is: its columns, its bandwidth, its picture."""
    row, engine, image = _row(session, index), session.engine, b""
    header: dict[str, Any] = {
        "index": index,
        "name": session.columns.identifier(row),
        "values": session.columns.describe(row),
        "columns": len(session.columns.labels) + session.table.n_features,
        "sigma": None if engine.sigmas is None else _number(engine.sigmas[index]),
    }
    if session.images is not None:
        pixels = session.images[row]
        header["size"] = [int(pixels.shape[1]), int(pixels.shape[0])]
        grey = pixels[:, :, None] if pixels.ndim == 2 else pixels
        whole = np.full((*pixels.shape[:2], 4), 255, np.uint8)
        whole[:, :, :3] = grey
        image = whole.tobytes()
    return header, image


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def neighbors(session: Session, index: int) -> Answer:
    """The neighbours of a point, with its affinities for them."""
    row, engine = _row(session, index), session.engine
    model, neighbors = engine.model, engine.neighbors
    if model is None or neighbors is None:
        raise ValueError("the neighbours are not known yet; wait a little")
    affinities = engine.builder.affinities_at(model.parameters.perplexity, index)
    nearest = neighbors.indices[index, : len(affinities)]
    # Nearest first, so that the affinities fall.
    nearest, affinities = nearest[nearest >= 0], affinities[nearest >= 0]
    ends, shares = nearest[:_LINES], affinities[:_LINES]
    header = {
        "index": index,
        "name": session.columns.identifier(row),
        "sigma": _number(model.sigmas[index]),
        "affinities": shares.tolist(),
        "total": len(nearest),
        "names": [session.columns.identifier(int(session.level.rows[i])) for i in ends],
    }
    return header, ends.astype(np.uint32)


def _row(session: Session, index: int) -> int:
    if index >= len(session.level.rows):
        raise ValueError("there is no such point on this map")
    return int(session.level.rows[index])


def search(session: Session, text: str) -> Answer:
    """The points whose names or labels contain a text."""
    hits = np.zeros(session.table.n_samples, dtype=bool)
    hits[session.columns.search(text)] = True
    found = np.flatnonzero(hits[session.level.rows])
    names = [session.columns.identifier(int(session.level.rows[i])) for i in found[:_ROWS]]
    return {"total": len(found), "names": names}, found.astype(np.uint32)


def select(session: Session, payload: bytes) -> Answer:
    """Select points, given as bits."""
    n = len(session.level.rows)
    if len(payload) != (n + 7) // 8:
        raise ValueError("the selection is of another map; select again")
    bits = np.unpackbits(np.frombuffer(payload, np.uint8), bitorder="little", count=n)
    session.select(bits.astype(bool))
    return selection(session)


def selection(session: Session) -> Answer:
    """The selected rows as a table, and how they differ from the others."""
    inside, columns = session.selected, session.columns
    rows = session.level.rows[inside]
    names = [*columns.labels][:8] + list(columns.table.feature_names[:8])
    lines = [
        [columns.identifier(row), *(value for _, value in _cells(columns, row, names))]
        for row in rows[:_ROWS].tolist()
    ]
    header = {
        "count": len(rows),
        "columns": ["id", *names],
        "hidden": len(columns.labels) + columns.table.n_features - len(names),
        "rows": lines,
        "summary": summarize(columns, session.level.rows, inside),
    }
    return header, np.packbits(inside, bitorder="little")


def _cells(columns: Any, row: int, names: list[str]) -> list[tuple[str, str]]:
    wanted = {*names}
    return [pair for pair in columns.describe(row, len(columns.names)) if pair[0] in wanted]


def label(session: Session, text: str) -> Answer:
    """Name the selected points."""
    return {"column": session.name_selection(text)}, b""


def pinned(session: Session) -> Answer:
    """The map that is kept for comparison."""
    if session.pin is None:
        raise ValueError("no map is pinned")
    return {"parameters": asdict(session.pin.parameters)}, session.pin.positions


def history(session: Session) -> Answer:
    """Iterations, divergences and neighbours kept since the start."""
    rows = list(session.engine.history)
    rows = rows[:: max(1, len(rows) // 500)]
    return {"rows": rows}, b""


def export(session: Session, kind: str, format: str, color: str | None) -> Answer:
    """A file to save."""
    if kind == "picture":
        name, content = exports.picture(session, format, **_colors(session, color or ""))
    elif kind == "session":
        name = "session.closeknit"
        with TemporaryDirectory() as folder:
            path = Path(folder, name)
            save_session(session, path)
            content = path.read_bytes()
    elif kind == "code":
        name, content = "map.py", exports.code(session).encode()
    else:
        name, content = exports.table(session, kind, format)
    return {"name": name}, content


def _colors(session: Session, by: str) -> dict[str, Any]:
    """What a picture is coloured by, as the page is: ``column:…``, ``sigma`` or ``trust:…``."""
    kind, _, name = by.partition(":")
    if kind == "column" and name in session.columns.names:
        return {"column": name}
    if by == "sigma":
        return {"values": sigma(session, None)[1], "caption": "bandwidth σ"}
    if kind == "trust" and name in TRUST:
        return {"values": trust(session, name)[1], "caption": TRUST[name]}
    return {}
