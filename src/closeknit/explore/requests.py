"""What viewers may ask of a session, and the answers.

A request is an object with a type and the fields that belong to it. Anything else is not one that
our own pages send: it raises `MessageError`, and its sender is cut off. What a user may get wrong
raises `ValueError` with a sentence for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.explore import exports
from closeknit.explore.columns import summarize
from closeknit.explore.frames import MessageError
from closeknit.explore.parameters import Parameters
from closeknit.explore.saving import save_session
from closeknit.explore.session import Session
from closeknit.explore.trust import divergence_terms, neighbors_changed, neighbors_kept

__all__ = ["Answer", "answer"]

#: A header and bytes.
Answer = tuple[dict[str, Any], Any]

_ROWS = 200
_LINES = 60
_FOUND = 500
_LONGEST = 200


def answer(session: Session, request: dict[str, Any], payload: bytes) -> Answer:
    """Do what a request asks for.

    Parameters
    ----------
    session : Session
    request : dict
    payload : bytes

    Returns
    -------
    header : dict
    payload : bytes or array

    Examples
    --------
    >>> from closeknit.io import Table
    >>> session = Session(Table(np.random.default_rng(0).random((20, 3)), ("a", "b", "c")))
    >>> answer(session, {"type": "search", "text": "19"}, b"")[0]["total"]
    1
    """
    kind = request.get("type")
    if not isinstance(kind, str) or kind not in _REQUESTS:
        raise MessageError("unknown type")
    act, fields = _REQUESTS[kind]
    given = {name: value for name, value in request.items() if name not in ("type", "id")}
    if given.keys() != fields.keys():
        raise MessageError("wrong fields")
    for name, check in fields.items():
        if not check(given[name]):
            raise MessageError(f"wrong {name}")
    if payload and kind != "select":
        raise MessageError("unexpected bytes")
    if kind == "select":
        given["payload"] = payload
    return act(session, **given)


def _set(session: Session, parameters: dict[str, Any], done: bool) -> Answer:
    session.set(replace(session.engine.parameters, **parameters), done=done)
    return {}, b""


def _step(session: Session, count: int) -> Answer:
    session.engine.step(count)
    return {}, b""


def _sigma(session: Session, perplexity: float | None) -> Answer:
    engine = session.engine
    sigmas = engine.sigmas if perplexity is None else engine.builder.sigmas_at(float(perplexity))
    if sigmas is None:
        raise ValueError("the bandwidths are not known yet; wait a little")
    return {"names": None}, _finite(sigmas)


def _finite(values: NDArray[Any]) -> NDArray[np.float32]:
    """Values as a viewer takes them; infinite ones are as large as the largest, NaN stays."""
    found = values.astype(np.float32)
    return np.where(np.isinf(found), found[np.isfinite(found)].max(initial=0.0), found)


def _column(session: Session, name: str) -> Answer:
    if name not in session.columns.names:
        raise ValueError(f"there is no column {name!r}")
    column = session.columns.column(name)
    values = column.values[session.level.rows]
    names = None if column.names is None else list(column.names)
    content = values if names is not None else _finite(values)
    return {"names": names, "others": column.others}, content


def _trust(session: Session, kind: str) -> Answer:
    engine = session.engine
    Y, model, neighbors = engine.frame.positions, engine.model, engine.neighbors
    if model is None or neighbors is None:
        raise ValueError("the neighbours are not known yet; wait a little")
    if kind == "kept":
        values = neighbors_kept(neighbors.indices, Y, engine.builder.n_jobs)
    elif kind == "divergence":
        values = divergence_terms(model.training.objective, Y)
    elif session.pin is None:
        raise ValueError("pin a map first; then colours can show what has changed since")
    else:
        values = neighbors_changed(session.pin.positions, Y, engine.builder.n_jobs)
    return {"names": None, "mean": float(values.mean())}, _finite(values)


def _point(session: Session, index: int) -> Answer:
    row, engine, image = _row(session, index), session.engine, b""
    header: dict[str, Any] = {
        "index": index,
        "name": session.columns.identifier(row),
        "values": session.columns.describe(row),
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


def _neighbors(session: Session, index: int) -> Answer:
    row, engine = _row(session, index), session.engine
    model, neighbors = engine.model, engine.neighbors
    if model is None or neighbors is None:
        raise ValueError("the neighbours are not known yet; wait a little")
    affinities = model.affinities[index]
    nearest = neighbors.indices[index, : len(affinities)]
    # Nearest first, so that the affinities fall.
    ends, shares = nearest[nearest >= 0][:_LINES], affinities[nearest >= 0][:_LINES]
    header = {
        "index": index,
        "name": session.columns.identifier(row),
        "sigma": _number(model.sigmas[index]),
        "affinities": shares.tolist(),
        "names": [session.columns.identifier(int(session.level.rows[i])) for i in ends],
    }
    return header, ends.astype(np.uint32)


def _row(session: Session, index: int) -> int:
    if index >= len(session.level.rows):
        raise ValueError("there is no such point on this map")
    return int(session.level.rows[index])


def _search(session: Session, text: str) -> Answer:
    hits = np.zeros(session.table.n_samples, dtype=bool)
    hits[session.columns.search(text)] = True
    found = np.flatnonzero(hits[session.level.rows])
    names = [session.columns.identifier(int(session.level.rows[i])) for i in found[:_ROWS]]
    return {"total": len(found), "names": names}, found[:_FOUND].astype(np.uint32)


def _select(session: Session, payload: bytes) -> Answer:
    n = len(session.level.rows)
    if len(payload) != (n + 7) // 8:
        raise ValueError("the selection is of another map; select again")
    bits = np.unpackbits(np.frombuffer(payload, np.uint8), bitorder="little", count=n)
    session.select(bits.astype(bool))
    return _selection(session)


def _selection(session: Session) -> Answer:
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
        "rows": lines,
        "summary": summarize(columns, session.level.rows, inside),
    }
    return header, np.packbits(inside, bitorder="little")


def _cells(columns: Any, row: int, names: list[str]) -> list[tuple[str, str]]:
    wanted = {*names}
    return [pair for pair in columns.describe(row, len(columns.names)) if pair[0] in wanted]


def _label(session: Session, text: str) -> Answer:
    return {"column": session.name_selection(text)}, b""


def _pinned(session: Session) -> Answer:
    if session.pin is None:
        raise ValueError("no map is pinned")
    return {"parameters": asdict(session.pin.parameters)}, session.pin.positions


def _history(session: Session) -> Answer:
    rows = list(session.engine.history)
    rows = rows[:: max(1, len(rows) // 500)]
    return {"rows": rows}, b""


def _export(session: Session, what: str, format: str, color: str | None) -> Answer:
    if what == "picture":
        if color is not None and color not in session.columns.names:
            color = None
        name, content = exports.picture(session, format, color)
    elif what == "session":
        name = "session.closeknit"
        with TemporaryDirectory() as folder:
            path = Path(folder, name)
            save_session(session, path)
            content = path.read_bytes()
    elif what == "code":
        name, content = "map.py", exports.code(session).encode()
    else:
        name, content = exports.table(session, what, format)
    return {"name": name}, content


def _does(method: Callable[[Session], Any]) -> Callable[..., Answer]:
    def act(session: Session) -> Answer:
        method(session)
        return {}, b""

    return act


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= 1e300  # NumPy takes no longer integers


def _is_perplexity(value: Any) -> bool:
    return value is None or (_is_number(value) and 1.0 <= value <= 1e6)


def _are_parameters(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() <= {*Parameters.names()}:
        return False
    try:
        Parameters(**value)
    except (ValueError, TypeError):
        return False
    return True


def _among(*words: str | None) -> Callable[[Any], bool]:
    return lambda value: (value is None or isinstance(value, str)) and value in words


Check = Callable[[Any], bool]
_REQUESTS: dict[str, tuple[Callable[..., Answer], dict[str, Check]]] = {
    "set": (_set, {"parameters": _are_parameters, "done": lambda value: type(value) is bool}),
    "play": (_does(lambda session: session.engine.play()), {}),
    "pause": (_does(lambda session: session.engine.pause()), {}),
    "step": (_step, {"count": lambda value: _is_count(value) and 1 <= value <= 1000}),
    "restart": (_does(Session.restart), {}),
    "sigma": (_sigma, {"perplexity": _is_perplexity}),
    "column": (_column, {"name": _is_text}),
    "trust": (_trust, {"kind": _among("kept", "divergence", "changed")}),
    "point": (_point, {"index": _is_count}),
    "neighbors": (_neighbors, {"index": _is_count}),
    "search": (_search, {"text": _is_text}),
    "select": (_select, {}),
    "selection": (_selection, {}),
    "label": (_label, {"text": _is_text}),
    "embed": (_does(Session.embed_selection), {}),
    "leave": (_does(Session.leave_selection), {}),
    "pin": (_does(lambda session: session.pin_map(True)), {}),
    "unpin": (_does(lambda session: session.pin_map(False)), {}),
    "pinned": (_pinned, {}),
    "undo": (_does(Session.undo), {}),
    "redo": (_does(Session.redo), {}),
    "history": (_history, {}),
    "export": (
        _export,
        {
            "what": _among("rows", "labels", "map", "picture", "session", "code"),
            "format": _among(*exports.FORMATS, "png", "svg", "pdf", None),
            "color": lambda value: value is None or _is_text(value),
        },
    ),
}
