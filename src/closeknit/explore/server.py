"""The page: Starlette and uvicorn on this machine, frames over a websocket."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from threading import Thread
from typing import Any

from closeknit.exceptions import OutputError
from closeknit.explore.channel import Channel
from closeknit.explore.frames import MessageError, pack, unpack
from closeknit.explore.security import Guard
from closeknit.explore.session import Session
from closeknit.io import require

__all__ = ["Page", "serve", "serving"]

_FILES = {
    "index.html": "text/html; charset=utf-8",
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
_LOCAL = ("127.0.0.1", "localhost")
#: Messages per second, and at once, that a page never comes near.
_RATE, _BURST = 250.0, 500.0
#: Requests that may wait, and pages that may be open.
_WAITING, _PAGES = 64, 8
_MALFORMED, _TOO_MANY, _FULL = 1007, 1008, 1013


class Page:
    """A session as an ASGI application.

    Parameters
    ----------
    session : Session
    hosts : list of str
        Host names, with the port, under which it is served.
    token : str or None, default=None

    Attributes
    ----------
    app : ASGI application
    guard : Guard
    """

    def __init__(self, session: Session, hosts: list[str], token: str | None = None) -> None:
        purpose = "the explorer needs starlette"
        applications = require("starlette.applications", "explore", purpose)
        from starlette.responses import PlainTextResponse, Response
        from starlette.routing import Route, WebSocketRoute

        self.session = session
        self._open = 0
        static = files("closeknit.explore").joinpath("static")
        content = {name: static.joinpath(name).read_bytes() for name in _FILES}

        async def file(request: Any) -> Any:
            name = request.path_params.get("name") or "index.html"
            if name not in _FILES:  # only these, whatever the path
                return PlainTextResponse("there is no such page", status_code=404)
            return Response(content[name], headers={"content-type": _FILES[name]})

        routes = [
            Route("/", file),
            WebSocketRoute("/socket", self._connect),
            Route("/{name}", file),
        ]
        self.guard = Guard(applications.Starlette(routes=routes), hosts, token)
        self.app = self.guard

    @property
    def max_size(self) -> int:
        """Bytes of the longest message: a header and a bit per point."""
        return 2**16 + 1024 + self.session.table.n_samples // 8

    async def _connect(self, socket: Any) -> None:
        """Serve one viewer until it goes, or sends what no viewer of ours sends."""
        await socket.accept()
        if self._open >= _PAGES:
            await socket.close(_FULL, "too many pages are open; close one")
            return
        self._open += 1
        loop = asyncio.get_running_loop()
        outgoing: asyncio.Queue[bytes] = asyncio.Queue()
        requests: asyncio.Queue[Any] = asyncio.Queue(_WAITING)

        def send(header: dict[str, Any], payload: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: no viewer is left
                loop.call_soon_threadsafe(outgoing.put_nowait, pack(header, payload))

        channel = Channel(self.session, send)
        tasks: list[asyncio.Task[Any]] = []
        try:
            await _in_thread(channel.__enter__)
            tasks = [
                asyncio.create_task(_write(socket, outgoing)),
                asyncio.create_task(_answer_all(socket, channel, requests)),
                asyncio.create_task(_read(socket, channel, requests)),
            ]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await _in_thread(channel.__exit__)
            self._open -= 1


async def _write(socket: Any, outgoing: asyncio.Queue[bytes]) -> None:
    while True:
        await socket.send_bytes(await outgoing.get())


async def _answer_all(socket: Any, channel: Channel, requests: asyncio.Queue[Any]) -> None:
    """Answer requests one after the other, while acknowledgements overtake them."""
    while True:
        header, payload = await requests.get()
        try:
            await _in_thread(channel.receive, header, payload)
        except MessageError as error:
            await socket.close(_MALFORMED, str(error))
            return


async def _read(socket: Any, channel: Channel, requests: asyncio.Queue[Any]) -> None:
    allowance, last = _BURST, time.monotonic()
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        now = time.monotonic()
        allowance, last = min(_BURST, allowance + _RATE * (now - last)) - 1.0, now
        if allowance < 0.0 or requests.full():
            await socket.close(_TOO_MANY, "too many messages")
            return
        try:
            if message.get("bytes") is None:
                raise MessageError("not bytes")
            header, payload = unpack(message["bytes"])
            if header.get("type") == "ack":
                channel.acknowledge(header)
            else:
                requests.put_nowait((header, payload))
        except MessageError as error:
            await socket.close(_MALFORMED, str(error))
            return


async def _in_thread(call: Callable[..., object], *arguments: Any) -> None:
    """Call in a thread that, unlike those of `asyncio.to_thread`, does not delay the end."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def deliver(error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)

    def run() -> None:
        failure = None
        try:
            call(*arguments)
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(deliver, failure)

    Thread(target=run, name="closeknit-answer", daemon=True).start()
    await done


def _listen(host: str, port: int) -> socket.socket:
    if not host:  # to the system that would be every address of this machine
        raise OutputError("host='' is no address; use 127.0.0.1, or 0.0.0.0 for all of them")
    found = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise OutputError(
            f"cannot serve on {host}:{port}: {error.strerror}; choose another address or port"
        ) from None
    return found


def _make(session: Session, host: str, port: int) -> tuple[Any, socket.socket, str]:
    """A uvicorn server, the socket it will listen on, and the address to open."""
    uvicorn = require("uvicorn", "explore", "the explorer needs uvicorn")
    require("websockets", "explore", "the explorer needs websockets")
    listening = _listen(host, port)
    number = listening.getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    names = [shown, *(name for name in _LOCAL if name != host)]
    page = Page(session, [f"{name}:{number}" for name in names])
    config = uvicorn.Config(
        page.app,
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        date_header=False,
        ws="websockets-sansio",
        ws_max_size=page.max_size,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=64,
    )
    return uvicorn.Server(config), listening, page.guard.address


def _announce(address: str) -> None:
    print(f"Exploring at {address}\nCtrl-C ends it.", flush=True)


def serve(
    session: Session,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    browse: bool = True,
    announce: Callable[[str], object] = _announce,
) -> None:
    """Serve a session as a page until Ctrl-C.

    Parameters
    ----------
    session : Session
    host : str, default="127.0.0.1"
        Other addresses than this machine's own can be reached by others, without encryption.
    port : int, default=0
        0 takes any that is free.
    browse : bool, default=True
        Whether to open it in the browser.
    announce : callable, optional
        Called with the address before the page is served; by default it is printed.
    """
    server, listening, address = _make(session, host, port)
    if host not in _LOCAL:
        print(
            f"closeknit: warning: {host} can be reached from other machines, and nothing is "
            "encrypted; whoever learns the address below sees the data",
            file=sys.stderr,
        )
    announce(address)
    if browse:
        webbrowser.open(address)
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        pass
    finally:
        listening.close()
        session.close()


@contextmanager
def serving(session: Session, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve a session in the background inside the block, which gets its address.

    Parameters
    ----------
    session : Session
    host : str, default="127.0.0.1"
    port : int, default=0

    Yields
    ------
    str

    Raises
    ------
    OutputError
        If the server does not start.
    """
    server, listening, address = _make(session, host, port)
    failures: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(server.serve(sockets=[listening]))
        except BaseException as error:  # SystemExit, too, by which uvicorn gives up
            failures.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                reason = repr(failures[0]) if failures else "it ended at once"
                raise OutputError(f"the server did not start on {host}: {reason}; update uvicorn")
            time.sleep(0.01)
        yield address
    finally:
        server.should_exit = True
        thread.join()
        listening.close()
        session.close()
