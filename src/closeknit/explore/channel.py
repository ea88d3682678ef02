"""The channel between a session and one viewer, over any transport.

The newest frame is sent once the viewer has acknowledged the one before: a slow viewer sees fewer
frames, and none queue up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from closeknit.exceptions import CloseknitError
from closeknit.explore.frames import Frame, MessageError, quantize
from closeknit.explore.requests import answer
from closeknit.explore.session import Session
from closeknit.plotting import DARK_MISSING, DARK_PALETTE, MISSING, PALETTE

__all__ = ["Channel"]

#: Sends a header and bytes to the viewer; called from any thread.
Send = Callable[[dict[str, Any], Any], object]


class Channel:
    """Connects a viewer to a session.

    Parameters
    ----------
    session : Session
    send : callable
        Takes a header and bytes; called from any thread, one call at a time.

    Examples
    --------
    >>> from closeknit.io import Table
    >>> import numpy as np
    >>> session = Session(Table(np.random.default_rng(0).random((20, 3)), ("a", "b", "c")))
    >>> sent = []
    >>> with Channel(session, lambda header, payload: sent.append(header["type"])) as channel:
    ...     sent[:3]
    ['hello', 'state', 'frame']
    """

    def __init__(self, session: Session, send: Send) -> None:
        self.session, self._send = session, send
        self._lock = threading.Lock()
        self._state: dict[str, Any] = {}
        self._shown, self._awaited = 0, 0  # the last frame sent, and the one to be acknowledged
        self._exact = True
        self._open = True

    def __enter__(self) -> Channel:
        themes = {
            "light": {"palette": list(PALETTE), "missing": MISSING},
            "dark": {"palette": list(DARK_PALETTE), "missing": DARK_MISSING},
        }
        self._send({"type": "hello", "themes": themes}, b"")
        self.notify()
        self.session.attach(self.notify)
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._open = False
        self.session.detach(self.notify)

    def receive(self, header: dict[str, Any], payload: bytes) -> None:
        """Take a message of the viewer; raises `MessageError` for what is none."""
        if header.get("type") == "ack":
            self.acknowledge(header)
            return
        number = header.get("id")
        if type(number) is not int or not 0 <= number < 2**53:
            raise MessageError("wrong id")
        try:
            found, content = answer(self.session, header, payload)
        except MessageError:
            raise
        except (ValueError, CloseknitError) as error:
            found, content = {"error": str(error)}, b""
        with self._lock:
            if self._open:
                self._send({**found, "type": "reply", "id": number}, content)

    def acknowledge(self, header: dict[str, Any]) -> None:
        """Handle the viewer's message that it has drawn a frame."""
        number = header.get("frame")
        if header.keys() != {"type", "frame"} or type(number) is not int:
            raise MessageError("wrong acknowledgement")
        if number == self._awaited:
            self._awaited = 0
            self.notify()

    def notify(self) -> None:
        """Send what the viewer does not have yet; called when something has changed."""
        with self._lock:
            if not self._open:
                return
            state = self.session.state()
            if state != self._state:
                self._state = state
                self._send({"type": "state", **state}, b"")
            frame = self.session.engine.frame
            resting = state["stage"] in ("paused", "settled", "failed")
            if self._awaited or (frame.number == self._shown and (self._exact or not resting)):
                return
            self._send_frame(frame, state["level"], exact=resting)

    def _send_frame(self, frame: Frame, level: int, *, exact: bool) -> None:
        """Send a frame: in 16 bits while the map moves, exactly when it rests."""
        self._shown = self._awaited = frame.number
        self._exact = exact
        header = {"type": "frame", "level": level, **frame.numbers()}
        if exact:
            self._send(header, frame.positions)
        else:
            box, steps = quantize(frame.positions)
            self._send({**header, **box}, steps)
