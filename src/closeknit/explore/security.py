"""Access to the page: from one browser on this machine only.

- A random token in the first address becomes a cookie that scripts cannot read and other sites
  cannot send.
- The Host must be one under which we serve, and an Origin must be ours, or another site could reach
  the server under a name of its own (DNS rebinding).
- Nothing but the page's own files is loaded, and nothing inline is run.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

__all__ = ["Guard"]

_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
}
#: What a websocket is closed with before it is accepted.
_FORBIDDEN = 1008


class Guard:
    """ASGI middleware that lets only the owner of the token in.

    Parameters
    ----------
    app : ASGI application
    hosts : collection of str
        Under which it is served, with the port.
    token : str or None, default=None
        None makes a new one.

    Attributes
    ----------
    address : str
        What the owner opens first.
    """

    def __init__(self, app: Any, hosts: list[str], token: str | None = None) -> None:
        self.app, self.hosts = app, hosts
        self.token = token or secrets.token_urlsafe(24)
        # Cookies are shared between the ports of a machine.
        self.cookie = f"closeknit-{hosts[0].rpartition(':')[2]}"
        self.address = f"http://{hosts[0]}/?token={self.token}"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        status, reason, extra = self._judge(scope)
        if status == 0 and scope["type"] == "websocket":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()  # the request to connect
            await send({"type": "websocket.close", "code": _FORBIDDEN, "reason": reason})
        elif status == 0:
            await self.app(scope, receive, _adding_headers(send))
        else:
            await _answer(send, status, reason, extra)

    def _judge(self, scope: Any) -> tuple[int, str, dict[str, str]]:
        """A status and a reason to refuse with, or 0."""
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts, origins = headers.get("host", []), headers.get("origin", [])
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            return 421, "this host name is not served here", {}
        is_socket = scope["type"] == "websocket"
        if (is_socket or origins) and origins != [f"http://{hosts[0]}"]:
            return 403, "this origin may not connect", {}
        if not is_socket and scope["method"] not in ("GET", "HEAD"):
            return 405, "only GET is allowed", {}
        if self._is_known(headers.get("cookie", [])):
            return 0, "", {}
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if not is_socket and scope["path"] == "/" and len(given) == 1 and self._matches(given[0]):
            cookie = f"{self.cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
            return 303, "", {"set-cookie": cookie, "location": "/"}
        return 403, "open the address that closeknit printed", {}

    def _is_known(self, cookies: list[str]) -> bool:
        for line in cookies:
            try:
                found = SimpleCookie(line).get(self.cookie)
            except CookieError:
                continue
            if found is not None and self._matches(found.value):
                return True
        return False

    def _matches(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())


def _adding_headers(send: Any) -> Any:
    async def wrapped(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *_encoded(_HEADERS)]}
        await send(message)

    return wrapped


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _answer(send: Any, status: int, reason: str, extra: dict[str, str]) -> None:
    headers = {**_HEADERS, "content-type": "text/plain; charset=utf-8", **extra}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": reason.encode()})
