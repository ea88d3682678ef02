"""How fast the explorer answers: from slider to map, frames per second, memory, bytes per frame.

A server in a process of its own, and a client that takes frames as a page does, over a websocket::

    python benchmarks/explore.py                    # 10,000 and 70,000 points
    python benchmarks/explore.py 1000000            # a million; minutes, and several GiB
    python benchmarks/explore.py 70000 --browser    # and how Chromium draws and pans
    python benchmarks/explore.py 70000 --steps      # from slider to map, step by step, no server

The data are clusters of rank 8 in 50 dimensions, as in finished.py. A page also draws:
``--browser`` counts the frames that Chromium draws with software WebGL, on the same cores, and
times the frames of a map at rest that is dragged about.
``--steps`` counts seconds of processors, which other work on the machine changes less than time.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from closeknit import TSNE
from closeknit._memory import Recycler, recycling
from closeknit.explore import Parameters, open_data
from closeknit.explore.frames import pack, unpack
from closeknit.explore.server import serving

WATCHED, PANNED = 8.0, 4.0  # seconds over which frames are counted, and a map is dragged about
PERPLEXITY, LEVELS = 30.0, (36.0, 27.0, 42.0, 30.0, 45.0, 24.0)  # the first, and those set later


def levels(most: float | None) -> list[float]:
    """The perplexities to set, in proportion where the largest offered is smaller."""
    return [level * min(1.0, (most or np.inf) / max(LEVELS)) for level in LEVELS]


def clusters(n: int) -> Any:
    """A hundred clusters of rank 8 in 50 dimensions, with a little noise."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=4.0, size=(100, 50))
    shapes = rng.normal(size=(100, 8, 50))
    y = rng.integers(100, size=n)
    X = np.empty((n, 50), np.float32)
    for start in range(0, n, 50_000):
        rows = slice(start, min(n, start + 50_000))
        inner = rng.normal(size=(len(y[rows]), 8))
        noise = 0.1 * rng.normal(size=(len(y[rows]), 50))
        X[rows] = centers[y[rows]] + np.einsum("ij,ijk->ik", inner, shapes[y[rows]]) + noise
    return X, y


def serve(n: int, most: float | None, connection: Any) -> None:
    """Serve a session until the other end says so."""
    X, y = clusters(n)
    session = open_data(X, y, max_perplexity=most, parameters=Parameters(perplexity=PERPLEXITY))
    with serving(session) as address:
        connection.send(address)
        connection.recv()
        status = Path("/proc/self/status").read_text()
        memory = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        connection.send(int(memory.split()[1]) / 2**20)


class Viewer:
    """Takes messages as a page does, and notes when frames came."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        root = f"http://{parts.netloc}"
        cookie = httpx.get(address).headers["set-cookie"].split(";")[0]
        self.connection = connect(
            f"ws://{parts.netloc}/socket",
            origin=root,  # type: ignore[arg-type]
            additional_headers=[("cookie", cookie)],
            compression=None,
            max_size=None,
        )
        self.socket = self.connection.__enter__()
        self.stage, self.sizes = "", [0]
        self.goes_on = True  # whether a map that has come to rest is told to go on

    def receive(self) -> dict[str, Any]:
        """Take a message; a map that has settled is told to go on, unless it shall rest."""
        while True:
            try:
                message = self.socket.recv(timeout=1.0)
                break
            except TimeoutError:
                if self.goes_on and self.stage in ("settled", "paused"):
                    self.ask(type="play")
        header = unpack(message)[0]
        if header["type"] == "state":
            self.stage = header["stage"]
            if self.stage == "failed":
                raise RuntimeError(header["error"])
        if header["type"] == "frame":
            self.socket.send(pack({"type": "ack", "frame": header["frame"]}))
            self.sizes.append(len(message))
        return header

    def next_frame(self) -> dict[str, Any]:
        """Wait for a map."""
        while (header := self.receive())["type"] != "frame":
            pass
        return header

    def ask(self, **request: Any) -> None:
        """Send a request."""
        self.socket.send(pack({"id": 1, **request}))

    def until_running(self) -> None:
        """Wait for the first map that the optimiser has moved."""
        while self.next_frame()["iteration"] < 1:
            pass

    def slider_to_frame(self, perplexity: float) -> float:
        """Seconds from a new perplexity to the first map moved by it."""
        begun = time.perf_counter()
        self.ask(type="set", parameters={"perplexity": perplexity}, done=True)
        built = False
        while True:
            header = self.receive()
            built = built or self.stage == "building the graph"
            if header["type"] == "frame" and built and self.stage == "running":
                return time.perf_counter() - begun

    def sigma_answer(self, perplexity: float) -> float:
        """Seconds until the bandwidths of another perplexity are here, as while dragging."""
        begun = time.perf_counter()
        self.ask(type="sigma", perplexity=perplexity, id=9)
        while True:
            header = self.receive()
            if header["type"] == "reply" and header["id"] == 9:
                return time.perf_counter() - begun

    def rest(self) -> None:
        """Pause the map for good."""
        self.goes_on = False
        self.ask(type="pause")

    def watch_on(self) -> None:
        """Keep the map moving."""
        with contextlib.suppress(ConnectionClosed):
            while True:
                self.receive()

    def watch(self, duration: float = WATCHED) -> tuple[float, float]:
        """Frames, and iterations, per second."""
        self.ask(type="play")
        first = self.next_frame()["iteration"]
        begun, frames, last = time.perf_counter(), 0, first
        while time.perf_counter() - begun < duration:
            last = self.next_frame()["iteration"]
            frames += 1
        seconds = time.perf_counter() - begun
        return frames / seconds, (last - first) / seconds


def drawn(address: str, rest: Callable[[], None]) -> tuple[float, float]:
    """Frames per second that Chromium draws and acknowledges, and milliseconds per panned one.

    ``rest`` brings the map to rest, so that panning is timed and not the optimiser.
    """
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        page = browser.new_page(viewport={"width": 1200, "height": 800})
        frames: list[float] = []

        def sent(message: Any) -> None:
            if b'"ack"' in message[:200]:
                frames.append(time.perf_counter())

        page.on("websocket", lambda socket: socket.on("framesent", sent))
        page.goto(address)
        page.wait_for_selector(".ck[data-iteration]", timeout=120_000)
        page.wait_for_timeout(3000)
        frames.clear()
        page.wait_for_timeout(1000 * WATCHED)
        rate = len(frames) / WATCHED
        rest()
        page.wait_for_selector(".ck[data-stage=paused]", timeout=120_000)
        page.wait_for_timeout(2000)  # the last, exact frame
        found = rate, panned(page)
        browser.close()
    return found


def panned(page: Any) -> float:
    """Milliseconds per frame, the median, while the map is dragged about."""
    page.evaluate(
        """() => {
          window.drawnAt = [];
          const note = (time) => { window.drawnAt.push(time); requestAnimationFrame(note); };
          requestAnimationFrame(note);
        }"""
    )
    box = page.locator('[aria-label="Map of the points"]').bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    begun = time.perf_counter()
    page.evaluate("() => { window.drawnAt.length = 0; }")
    while (passed := time.perf_counter() - begun) < PANNED:
        page.mouse.move(x + 200 * np.sin(3 * passed), y + 100 * np.sin(5 * passed))
    times = page.evaluate("() => window.drawnAt")
    page.mouse.up()
    return float(np.median(np.diff(times)))


def measure(n: int, most: float | None, browser: bool) -> str:
    """A row of the table: a server in another process, and a client here."""
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=serve, args=(n, most, there))
    process.start()
    try:
        address = here.recv()
        begun = time.perf_counter()
        viewer = Viewer(address)
        viewer.until_running()
        ready = time.perf_counter() - begun
        viewer.watch(WATCHED / 4)
        frames, iterations = viewer.watch()
        size = int(np.median(viewer.sizes[-20:]))
        sigma = [viewer.sigma_answer(level) for level in levels(most)]
        moved = []
        for level in levels(most):
            moved.append(viewer.slider_to_frame(level))
            viewer.watch(min(10.0, 2.0 + 4.0 * moved[-1]))  # a map that moves as it did before
        page = ["–", "–"]
        if browser:
            # The page alone, while the client only keeps the map moving, and then at rest.
            threading.Thread(target=viewer.watch_on, daemon=True).start()
            try:
                rate, pan = drawn(address, viewer.rest)
                page = [f"{rate:.1f}", f"{pan:.0f} ms"]
            except Exception as error:  # the other figures are worth having all the same
                print(f"the browser failed: {error}", file=sys.stderr, flush=True)
        here.send("enough")
        memory = here.recv()
        process.join()
    finally:
        process.kill()
    row = [f"{n:,}", f"{ready:.1f} s", f"{1000 * np.median(sigma):.0f} ms"]
    row += [f"{np.median(moved):.2f} s ({min(moved):.2f} to {max(moved):.2f})"]
    row += [f"{frames:.1f}", f"{iterations:.1f}", *page]
    row += [f"{size / 2**10:,.0f} KiB", f"{memory:.2f} GiB"]
    return f"| {' | '.join(row)} |"


def steps(n: int, most: float | None) -> str:
    """Seconds of processors for each step from a new perplexity to the first map moved by it."""
    X, y = clusters(n)
    session = open_data(X, y, max_perplexity=most, parameters=Parameters(perplexity=PERPLEXITY))
    engine, builder = session.engine, session.engine.builder
    engine.start()
    engine.step(130)
    engine.wait(lambda: engine.frame.iteration == 130, timeout=3600.0)
    spent: dict[str, list[float]] = {}

    def timed(name: str, act: Callable[..., Any], *given: Any) -> Any:
        begun = time.process_time()
        found = act(*given)
        spent.setdefault(name, []).append(time.process_time() - begun)
        return found

    def until_moved(perplexity: float) -> None:
        engine.set(Parameters(perplexity=perplexity))
        count = engine.frame.iteration
        engine.step()
        engine.wait(lambda: engine.frame.iteration > count, timeout=600.0)

    memory = Recycler()  # as the engine has one
    for level in levels(most):
        timed("all, to the first map", until_moved, level)
        with recycling(memory):
            rows = timed("bandwidths and affinities", builder._solve, level).affinities
            timed("graph", builder._pairs.symmetrize, rows)
            graph, Y = engine.model.graph, engine.positions
            at = timed("objective", TSNE(perplexity=level).training, graph).objective.at(1.0)
        timed("evaluation, the first", at.value_and_gradient, Y)
        timed("evaluation, the next", at.value_and_gradient, Y)
    engine.stop()
    return "\n".join(
        f"| {name} | {np.median(times):.3f} | {min(times):.3f} |" for name, times in spent.items()
    )


HEADINGS = (
    "points",
    "to the first moved map, search included",
    "slider to bandwidths",
    "slider to map: median (least to most)",
    "frames per second",
    "iterations per second",
    "drawn per second",
    "panning, per frame",
    "frame",
    "server's peak memory",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[10_000, 70_000])
    parser.add_argument("--max-perplexity", type=float, help="default: what the explorer offers")
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--steps", action="store_true")
    options = parser.parse_args()
    print(f"load: {os.getloadavg()[0]:.1f}", flush=True)
    if options.steps:
        for n in options.sizes:
            print(f"| {n:,} points | seconds of processors, median | least |\n| --- | --- | --- |")
            print(steps(n, options.max_perplexity), flush=True)
        return
    print(f"| {' | '.join(HEADINGS)} |\n|{' --- |' * len(HEADINGS)}", flush=True)
    for n in options.sizes:
        print(measure(n, options.max_perplexity, options.browser), flush=True)


if __name__ == "__main__":
    main()
