"""The server: who gets in, what is refused, and that nothing is left behind."""

import asyncio
import contextlib
import gc
import json
import os
import signal
import socket as sockets
import subprocess
import sys
import threading
import time
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from closeknit.exceptions import OutputError
from closeknit.explore import Session
from closeknit.explore.frames import pack, unpack
from closeknit.explore.server import _FULL, _read, serving
from closeknit.io import Table


class Site:
    """A served session, and what a browser knows of it."""

    def __init__(self, session, address):
        self.session, self.address = session, address
        self.host = urlsplit(address).netloc
        self.port = urlsplit(address).port
        self.root = f"http://{self.host}"
        self.cookie = httpx.get(address).headers["set-cookie"].split(";")[0]

    def get(self, path="/", **headers):
        given = {"cookie": self.cookie, **{k.replace("_", "-"): v for k, v in headers.items()}}
        return httpx.get(self.root + path, headers={k: v for k, v in given.items() if v})

    def socket(self, **changes):
        headers = {"cookie": self.cookie, "origin": self.root, **changes}
        origin, host = headers.pop("origin"), headers.pop("host", self.host)
        return connect(
            f"ws://{host}/socket",
            sock=sockets.create_connection(("127.0.0.1", self.port)),
            origin=origin or None,
            additional_headers=[(name, value) for name, value in headers.items() if value],
            compression=None,
            max_size=None,
            open_timeout=30,
        )


@pytest.fixture(scope="module")
def site():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    labels = {"<script>alert(1)</script>": np.array(["<img src=x onerror=alert(1)>"] * 300, object)}
    session = Session(Table(X, ("a", "b", "c", "d"), labels), max_perplexity=20)
    with serving(session) as address:
        yield Site(session, address)


def is_alive(site):
    """A new page works: it is greeted, and answered."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with site.socket() as socket:
            try:
                greeting, _ = unpack(socket.recv())
            except ConnectionClosed as closed:
                if closed.rcvd.code != _FULL:  # of pages that are about to go
                    return False
                time.sleep(0.1)
                continue
            assert greeting["type"] == "hello"
            return ask(socket, {"type": "search", "text": "299"})[0]["total"] == 1
    return False


def ask(socket, request, payload=b""):
    socket.send(pack({**request, "id": 77}, payload))
    while True:
        header, content = unpack(socket.recv(timeout=30))
        if header["type"] == "reply" and header["id"] == 77:
            return header, content


def test_the_token_becomes_a_cookie(site):
    response = httpx.get(site.address)
    assert response.status_code == 303
    assert response.headers["location"] == "/"
    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert str(site.port) in cookie
    assert "token" not in site.get("/").text


@pytest.mark.parametrize("token", ["", "wrong", "a" * 32, "%00", "é"])
def test_a_wrong_token_is_refused(site, token):
    response = httpx.get(f"{site.root}/?token={token}")
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


def test_without_a_cookie_there_is_nothing(site):
    for path in ("/", "/app.js", "/socket", "/index.html"):
        assert site.get(path, cookie="").status_code == 403
        assert site.get(path, cookie="closeknit-1=x").status_code == 403
    with pytest.raises(InvalidStatus, match="403"):
        site.socket(cookie="")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil:80"])
def test_another_host_name_is_refused(site, host):
    """A name that leads here by rebinding is none of ours, even with the cookie."""
    assert site.get("/", host=host).status_code == 421
    with pytest.raises(InvalidStatus, match="403"):
        site.socket(host=host)


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://{host}", "http://{host}.evil", "http://x@{host}"],
)
def test_another_origin_is_refused(site, origin):
    origin = origin.format(host=site.host)
    assert site.get("/", origin=origin).status_code == 403
    with pytest.raises(InvalidStatus, match="403"):
        site.socket(origin=origin)


def test_a_socket_without_origin_is_refused(site):
    with pytest.raises(InvalidStatus, match="403"):
        site.socket(origin="")


def test_localhost_is_this_machine(site):
    assert site.get("/", host=f"localhost:{site.port}").status_code == 200


def test_nothing_inline_and_nothing_from_elsewhere(site):
    response = site.get("/")
    policy = response.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "<script>" not in response.text
    assert "style=" not in response.text
    assert "http://" not in response.text.replace("http://www.w3.org", "")
    assert "https://" not in response.text


@pytest.mark.parametrize(
    "path",
    [
        "/../server.py",
        "/..%2fserver.py",
        "/%2e%2e/%2e%2e/pyproject.toml",
        "//etc/passwd",
        "/static/../server.py",
        "/app.js/../../server.py",
        "/app.js%00.css",
        "/widget.js.map",
        "/.",
        "/" + "a" * 5000,
    ],
)
def test_paths_lead_nowhere_else(site, path):
    """Raw, as no client of good manners sends it."""
    with sockets.create_connection(("127.0.0.1", site.port)) as raw:
        lines = [f"GET {path} HTTP/1.1", f"Host: {site.host}", f"Cookie: {site.cookie}"]
        raw.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        answer = b""
        while part := raw.recv(2**16):
            answer += part
    assert b"import" not in answer
    assert b"root:" not in answer
    assert answer.split()[1] in (b"404", b"400")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_there_are_no_uploads(site, method):
    headers = {"cookie": site.cookie, "origin": site.root}
    response = httpx.request(method, site.root + "/", headers=headers)
    assert response.status_code == 405


def closed(socket):
    """The code and reason with which the server ends a socket; None if they were lost."""
    try:
        while True:
            socket.recv(timeout=30)
    except ConnectionClosed as end:
        return None if end.rcvd is None else (end.rcvd.code, end.rcvd.reason)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "too short"),
        (b"\xff\xff\xff\xff{}", "wrong length"),
        (b"\x02\x00\x00\x00[]", "not an object"),
        (b"\x01\x00\x00\x00{", "not JSON"),
        (b"\x04\x00\x00\x00" + b"[" * 4, "not JSON"),
        ("words", "not bytes"),
        (pack({"type": "eval", "id": 1}), "unknown type"),
        (pack({"type": "play", "id": "1"}), "wrong id"),
        (pack({"type": "ack", "frame": "1"}), "wrong acknowledgement"),
        (pack({"type": "play", "id": 1}, b"payload"), "unexpected bytes"),
    ],
)
def test_malformed_messages_close_the_socket(site, message, reason):
    with site.socket() as socket:
        socket.send(message)
        assert closed(socket) == (1007, reason)


def test_oversized_messages_close_the_socket(site):
    with site.socket() as socket:
        socket.send(b"\0" * 200_000)
        assert closed(socket)[0] == 1009
    assert is_alive(site)


def test_too_many_messages_close_the_socket(site):
    with site.socket() as socket:
        with contextlib.suppress(ConnectionClosed):
            for _ in range(2_000):
                for _ in range(10):
                    socket.send(pack({"type": "ack", "frame": 0}))
                with contextlib.suppress(TimeoutError):
                    while True:
                        socket.recv(timeout=0.001)
        # What was on its way when the server closed may have cost the reason.
        assert closed(socket) in ((1008, "too many messages"), None)
    assert is_alive(site)


def test_too_many_messages_are_the_reason_given():
    """The same without a network, which may lose the reason."""

    class Flood:
        """A socket on which acknowledgements come without end."""

        ended = None

        async def receive(self):
            return {"type": "websocket.receive", "bytes": pack({"type": "ack", "frame": 0})}

        async def close(self, code, reason):
            self.ended = code, reason

    class Deaf:
        def acknowledge(self, header):
            pass

    flood = Flood()
    asyncio.run(_read(flood, Deaf(), asyncio.Queue(1)))
    assert flood.ended == (1008, "too many messages")


def random_message(rng):
    """Bytes of any kind, or requests with anything in them."""
    if rng.random() < 0.5:
        return rng.bytes(int(rng.integers(0, 200)))
    things = [None, True, -1, 2**70, 1e308, "x", "<b>", [], {}, [[1]], {"a": 1}]
    kinds = ["set", "play", "step", "point", "select", "label", "export", "ack", "column", "x", 3]
    names = ["id", "count", "index", "text", "parameters", "done", "frame", "kind", "format"]
    chosen = rng.choice(len(names), int(rng.integers(0, 5)), replace=False)
    header = {names[i]: things[int(rng.integers(len(things)))] for i in chosen}
    header["type"] = kinds[int(rng.integers(len(kinds)))]
    words = json.dumps(header).encode()
    return len(words).to_bytes(4, "little") + words + rng.bytes(int(rng.integers(0, 40)))


def test_ten_thousand_random_messages_change_nothing(site):
    """Through the door that all messages take, and a thousand of them over the wire."""
    from closeknit.explore import Channel, MessageError

    rng = np.random.default_rng(0)
    channel = Channel(site.session, lambda header, payload: None)
    before = site.session.state()
    refused = 0
    for _ in range(10_000):
        message = random_message(rng)
        try:
            channel.receive(*unpack(message))
        except MessageError:
            refused += 1
    assert refused > 9_000
    assert site.session.state()["parameters"] == before["parameters"]
    for _ in range(150):
        with site.socket() as socket:
            for _ in range(7):
                try:
                    socket.send(random_message(rng))
                except ConnectionClosed:
                    break
    assert is_alive(site)


def test_names_from_files_stay_text(site):
    """They travel as JSON, never as HTML: the page's own source holds none of them."""
    with site.socket() as socket:
        header, _ = ask(socket, {"type": "column", "name": "<script>alert(1)</script>"})
        assert header["names"] == ["<img src=x onerror=alert(1)>"]
    assert "alert" not in site.get("/").text


def test_a_page_sees_the_map_move(site):
    with site.socket() as socket:
        socket.send(pack({"type": "restart", "id": 1}))
        seen, restarts = set(), 1
        while len(seen) < 4:
            try:
                header, payload = unpack(socket.recv(timeout=3))
            except TimeoutError:  # on a busy machine it was at its end before we saw much of it
                assert restarts < 10
                restarts += 1
                socket.send(pack({"type": "restart", "id": restarts}))
                continue
            if header["type"] == "frame":
                seen.add(header["iteration"])
                assert len(payload) in (300 * 4, 300 * 8)
                socket.send(pack({"type": "ack", "frame": header["frame"]}))


def test_a_hundred_visits_leave_nothing_behind(site):
    def is_socket(number):
        try:
            return os.readlink(f"/proc/self/fd/{number}").startswith("socket:")
        except OSError:  # the list's own, closed again
            return False

    def remains():
        gc.collect()
        return threading.active_count(), sum(map(is_socket, os.listdir("/proc/self/fd")))

    def visit(times):
        for _ in range(times):
            with site.socket() as socket:
                unpack(socket.recv(timeout=30))
                ask(socket, {"type": "play"})
        deadline = time.monotonic() + 20
        while site.session.engine.is_running and time.monotonic() < deadline:
            time.sleep(0.02)

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("open files are counted in /proc, which is not here")
    visit(5)  # what stays from then on
    first = remains()
    visit(100)
    deadline = time.monotonic() + 10
    while remains() != first and time.monotonic() < deadline:
        time.sleep(0.1)
    threads, open_sockets = remains()
    assert threads <= first[0]
    assert open_sockets <= first[1]
    assert not site.session.listeners
    assert not site.session.engine.is_running


SCRIPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import time
import numpy as np
import closeknit as ck
from closeknit.explore import channel
real = channel.answer
def answer(session, header, payload):
    if header["type"] == "search":
        print("asked", flush=True)
        time.sleep(600)
    return real(session, header, payload)
channel.answer = answer
ck.explore(np.random.default_rng(0).normal(size=(20000, 20)), show="page", browse=False)
print("over", flush=True)
"""


@pytest.mark.parametrize("answering", [False, True])
def test_ctrl_c_ends_it_at_once(answering):
    """With a page open and the map moving, or an answer on its way that takes ten minutes."""
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        address = process.stdout.readline().split()[-1]
        assert process.stdout.readline() == "Ctrl-C ends it.\n"
        deadline = time.monotonic() + 30
        while True:
            try:
                site = Site(None, address)
                break
            except httpx.ConnectError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        with site.socket() as socket:
            unpack(socket.recv(timeout=30))
            if answering:
                socket.send(pack({"type": "search", "text": "3", "id": 1}))
                assert process.stdout.readline() == "asked\n"
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
        assert out == "over\n"
        assert "Traceback" not in err
        assert process.returncode == 0
    finally:
        process.kill()


def test_another_address_warns(capsys, monkeypatch):
    import uvicorn

    from closeknit.explore.server import serve

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    X = np.random.default_rng(0).normal(size=(20, 3))
    serve(Session(Table(X, ("a", "b", "c"))), host="0.0.0.0", browse=False)
    assert "can be reached from other machines" in capsys.readouterr().err


def test_a_port_that_is_taken_is_one_line(site):
    from closeknit.exceptions import OutputError

    with (
        pytest.raises(OutputError, match="choose another address or port"),
        serving(site.session, port=site.port),
    ):
        pass


def test_asyncio_is_left_alone():
    """Serving in the background does not touch the loop of the caller."""

    async def inside():
        X = np.random.default_rng(0).normal(size=(20, 3))
        with serving(Session(Table(X, ("a", "b", "c")))) as address:
            return (await httpx.AsyncClient().get(address)).status_code

    assert asyncio.run(inside()) == 303


def test_a_server_that_cannot_start_is_told(monkeypatch):
    """Old versions of uvicorn fail only in the thread that runs it, which was waited for."""
    import uvicorn

    async def fail(self, sockets=None):
        raise KeyError("websockets-sansio")

    monkeypatch.setattr(uvicorn.Server, "serve", fail)
    session = Session(Table(np.zeros((20, 2)), ("a", "b")))
    with pytest.raises(OutputError, match=r"did not start on .*KeyError"), serving(session):
        pass
