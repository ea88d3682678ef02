"""Signals at random moments of every command: one line, the right code, and no half-written file.

``pytest tests/fuzz/test_commands.py -s --fuzz-rounds 800`` sends 40 signals to each command, three
quarters of them SIGINT, and prints how they ended. Moments are spread evenly over what a command
takes of a processor, so that they mean the same on a busy machine.
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from PIL import Image

from closeknit.io import load, read_table

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processor time of others is read from /proc"
)

#: Says that Python itself has started; what comes before is not ours to handle.
RUN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from closeknit.cli import main
open("ready", "w").close()
main()
"""
COMMANDS = {
    "embed": "embed data.npy -p 10 -o map.csv --plot map.png --save-model map.model",
    "embed --workers": "embed data.npy -p 10 --max-iter 20 --workers 2 -o map.csv",
    "embed --model": "embed new.npy --model old.model -o map.npz",
    "affinities": "affinities data.npy -o graph.npz",
    "sparsify": "sparsify data.npy -o graph.mtx --sparsity 0.99",
    "cluster": "cluster data.npy -k 4 -o map.csv",
    "segment": "segment picture.png -k 3 -o map.png",
    "reproduce": "reproduce sparsification --quick --only section-6 -o page",
    "explore": "explore data.npy --no-open",
    "demo": "demo",
    "info": "info",
}
#: It ends only by a signal, and serves a page until then.
SERVING = "explore"
#: Seconds of a processor in which a process has to end, unless it draws and writes a map first;
#: a sanitizer makes it slow.
PATIENCE = 10.0 if "LD_PRELOAD" in os.environ else 1.0
#: −2 and −15: by the system, before the command looks out for signals or when it is over.
CODES = {signal.SIGINT: (0, 130, -2), signal.SIGTERM: (0, 143, -15)}
SAYS = {130: "closeknit: interrupted", 143: "closeknit: terminated"}


def show(path):
    with Image.open(path) as picture:
        picture.load()


READERS = {
    ".csv": read_table,
    ".npz": read_table,
    ".mtx": read_table,
    ".model": load,
    ".png": show,
    ".json": lambda path: json.loads(path.read_text()),
}


@dataclass(frozen=True)
class Ended:
    """What became of a process, and the seconds after the signal: of processors, and of a clock."""

    code: int
    stderr: str
    used: float
    waited: float


class Process:
    """A command as a process, with a folder of its own for temporary files."""

    def __init__(self, folder, temporary, command):
        self.folder, self.temporary = folder, temporary
        self.output, self.errors = temporary / "stdout", temporary / "stderr"
        ready = folder / "ready"
        with self.output.open("w") as output, self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-c", RUN, *command.split()],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env={**os.environ, "TMPDIR": str(temporary)},
            )
        self.until(ready.exists)
        ready.unlink()

    def has_ended(self):
        """Whether it has, without taking its traces from the system."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.process.pid, options) is not None

    def until(self, condition, seconds=1200.0):
        """Wait for a condition or its end, so long that only a hang takes it."""
        last = time.monotonic() + seconds
        while not self.has_ended() and not condition():
            assert time.monotonic() < last, "it hangs"
            time.sleep(0.005)

    def used(self):
        """Its processor time on all threads, which Linux tells until its traces are taken."""
        status = Path(f"/proc/{self.process.pid}/stat").read_text()
        words = status.rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def serves(self):
        """Whether it says that there is a page."""
        return "Ctrl-C" in self.output.read_text()

    def address(self):
        """The address of that page."""
        return self.output.read_text().split("Exploring at ")[1].split()[0]

    def end(self, number=None):
        """Send a signal, if any, and wait for the end."""
        before, sent = self.used(), time.monotonic()
        if number is not None:
            os.kill(self.process.pid, number)  # Popen would take its traces
        try:
            self.until(lambda: False)
        finally:
            waited, used = time.monotonic() - sent, self.used() - before
            self.process.kill()
            self.process.wait()
        stderr = self.errors.read_text()
        for path in (self.output, self.errors):
            path.unlink()
        return Ended(self.process.returncode, stderr, used, waited)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, write_inputs):
    return write_inputs(tmp_path_factory.mktemp("commands"), (1500, 6), side=40)


@pytest.fixture
def folder(inputs):
    """The inputs, without what another command has written."""
    kept = set(inputs.rglob("*"))
    yield inputs
    for path in sorted(set(inputs.rglob("*")) - kept, reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def answers(address):
    """Whether the page is there, which sets a cookie and leads on."""
    parts = urlsplit(address)
    try:
        connection = HTTPConnection(parts.netloc)
        connection.request("GET", f"{parts.path}?{parts.query}")
        return connection.getresponse().status < 400
    except ConnectionError:
        return False


def is_gone(temporary):
    """Whether none of a command's processes is left, soon after its end."""
    mark = f"TMPDIR={temporary}".encode()  # its workers have a folder inside
    for _ in range(1000):
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):  # ended just now, or others'
                found += [path] * (mark in path.read_bytes())
        if not found:
            return True
        time.sleep(0.02)
    return False


def run_through(name, folder, temporary):
    """Run a command to its end, or until it serves a page; return the processor time it takes."""
    process = Process(folder, temporary, COMMANDS[name])
    if name == SERVING:
        process.until(process.serves)
        process.until(lambda: answers(process.address()))
    used = process.used()
    ended = process.end(signal.SIGINT if name == SERVING else None)
    assert ended.code == 0, ended.stderr
    return used if name == SERVING else used + ended.used


@pytest.mark.parametrize("name", COMMANDS)
def test_signals(name, rounds, folder, tmp_path):
    n_trials = max(1, rounds // 20)
    rng = np.random.default_rng(len(name))
    kept = contents(folder)
    whole = run_through(name, folder, tmp_path)
    trials = []
    for i in range(n_trials):
        number = signal.SIGINT if (i + len(name)) % 4 else signal.SIGTERM
        before = contents(folder)
        process = Process(folder, tmp_path, COMMANDS[name])
        moment = (i + rng.uniform()) / n_trials * whole
        process.until(lambda: process.used() >= moment or process.serves())  # noqa: B023
        time.sleep(rng.uniform(0.0, 0.2) * process.serves())
        ended = process.end(number)
        lines = [line for line in ended.stderr.splitlines() if "warning" not in line]
        assert ended.code in CODES[number], ended
        assert len(lines) == (ended.code > 0), ended
        assert all(line.startswith(SAYS[ended.code]) for line in lines), ended
        assert ended.used < PATIENCE or "so far" in ended.stderr, ended
        after = contents(folder)
        assert after.keys() == before.keys()  # nothing lost, and no temporary file
        assert list(tmp_path.iterdir()) == []
        assert is_gone(tmp_path)
        for path in after:
            if after[path] != before[path] and path.suffix in READERS:
                READERS[path.suffix](path)
        assert kept.items() <= after.items()
        trials.append((number, ended))
    if n_trials > 1:
        run_through(name, folder, tmp_path)
    report(name, trials)


def report(name, trials):
    """Print how often which signal ended in which code, and how long it took."""
    ends = [(signal.Signals(number).name, ended.code) for number, ended in trials]
    counts = ", ".join(f"{ends.count(end)} × {end[0]} → {end[1]}" for end in sorted(set(ends)))
    used, waited = ([getattr(ended, key) for _, ended in trials] for key in ("used", "waited"))
    print(
        f"{name}: {counts}; processor {np.median(used):.2f} s, at most {max(used):.2f} s; "
        f"clock {np.median(waited):.2f} s, at most {max(waited):.2f} s"
    )
