"""The explorer inside a notebook: the same page, over the notebook's own connection."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from closeknit.explore.channel import Channel
from closeknit.explore.frames import MessageError
from closeknit.explore.session import Session
from closeknit.io import require

__all__ = ["make_widget"]


def make_widget(session: Session) -> Any:
    """Make the widget.

    Parameters
    ----------
    session : Session

    Returns
    -------
    anywidget.AnyWidget
        With the session as its ``session``; its map moves while it is shown.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.io import Table
    >>> session = Session(Table(np.random.default_rng(0).random((20, 3)), ("a", "b", "c")))
    >>> make_widget(session).session is session
    True
    """
    base: Any = require("anywidget", "explore", "notebook widgets need anywidget").AnyWidget
    static = files("closeknit.explore").joinpath("static")

    class ExplorerWidget(base):
        """A session in a cell of a notebook."""

        _esm = static.joinpath("widget.js").read_text("utf-8")
        _css = static.joinpath("app.css").read_text("utf-8")

        def __init__(self) -> None:
            super().__init__()
            self.session = session
            self._channel: Channel | None = None
            self.on_msg(self._receive)

        def _receive(self, _: Any, header: Any, buffers: list[Any]) -> None:
            """Take a message: pages say when they come and go."""
            kind = header.get("type") if isinstance(header, dict) else None
            if kind in ("open", "close"):
                self.disconnect()
                if kind == "open":
                    channel = Channel(session, self._send_message)
                    self._channel = channel.__enter__()
            elif self._channel is not None:
                payload = b"".join(bytes(part) for part in buffers)
                try:
                    self._channel.receive(header, payload)
                except MessageError:
                    self.disconnect()

        def _send_message(self, header: dict[str, Any], payload: Any) -> None:
            self.send(header, buffers=[memoryview(payload).cast("B")])

        def disconnect(self) -> None:
            """Stop the map until a page asks for it again."""
            channel, self._channel = self._channel, None
            if channel is not None:
                channel.__exit__()

        def close(self) -> None:
            """Close the widget, and stop the map."""
            self.disconnect()
            super().close()

    return ExplorerWidget()
