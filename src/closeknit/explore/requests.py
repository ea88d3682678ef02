"""What viewers may ask of a session, and the answers.

A request is an object with a type and the fields that belong to it. Anything else is not one that
our own pages send: it raises `MessageError`, and its sender is disconnected. A user's mistake
raises `ValueError` with a sentence for them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from closeknit.explore import answers, exports
from closeknit.explore.answers import Answer
from closeknit.explore.frames import MessageError
from closeknit.explore.parameters import Parameters
from closeknit.explore.session import Session

__all__ = ["answer"]

_LONGEST = 200  # of what users write
_LONGEST_NAME = 10_000  # of columns, which are called as files call them


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
    >>> import numpy as np
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


def _does(method: Callable[[Session], Any]) -> Callable[..., Answer]:
    def act(session: Session) -> Answer:
        method(session)
        return {}, b""

    return act


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_NAME


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
    "set": (
        answers.set_parameters,
        {"parameters": _are_parameters, "done": lambda value: type(value) is bool},
    ),
    "play": (_does(lambda session: session.engine.play()), {}),
    "pause": (_does(lambda session: session.engine.pause()), {}),
    "step": (answers.step, {"count": lambda value: _is_count(value) and 1 <= value <= 1000}),
    "restart": (_does(Session.restart), {}),
    "sigma": (answers.sigma, {"perplexity": _is_perplexity}),
    "column": (answers.column, {"name": _is_name}),
    "trust": (answers.trust, {"kind": _among(*answers.TRUST)}),
    "point": (answers.point, {"index": _is_count}),
    "neighbors": (answers.neighbors, {"index": _is_count}),
    "search": (answers.search, {"text": _is_text}),
    "select": (answers.select, {}),
    "selection": (answers.selection, {}),
    "label": (answers.label, {"text": _is_text}),
    "embed": (_does(Session.embed_selection), {}),
    "leave": (_does(Session.leave_selection), {}),
    "pin": (_does(lambda session: session.pin_map(True)), {}),
    "unpin": (_does(lambda session: session.pin_map(False)), {}),
    "pinned": (answers.pinned, {}),
    "undo": (_does(Session.undo), {}),
    "redo": (_does(Session.redo), {}),
    "history": (answers.history, {}),
    "export": (
        answers.export,
        {
            "kind": _among("rows", "labels", "map", "picture", "session", "code"),
            "format": _among(*exports.FORMATS, "png", "svg", "pdf", None),
            "color": lambda value: value is None or _is_name(value),
        },
    ),
}
