"""Signals at random moments of every command: one line, the right code, and no half-written file.

``pytest tests/fuzz/test_commands.py -s --fuzz-rounds 2000`` sends 100 signals to each command and
prints how long they took to end.
"""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from closeknit.io import load, read_table

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")

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
#: It ends only by a signal; so many seconds after its start it may serve.
SERVING, SOON = "explore", 5.0
#: −2 and −15: by the system, before the command looks out for signals or when it is over.
CODES = {signal.SIGINT: (0, 130, -2), signal.SIGTERM: (0, 143, -15)}
READERS = {".csv": read_table, ".npz": read_table, ".mtx": read_table, ".model": load}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_inputs):
    return write_inputs(tmp_path_factory.mktemp("commands"), (1500, 6), side=40)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(folder, command, number, moment):
    """Send a signal after some seconds, and return the process, what it said, and how long it took.

    Without a moment none is sent.
    """
    ready = folder / "ready"
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *command.split()],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while process.poll() is None and not ready.exists():
            time.sleep(0.01)
        if moment is not None:
            time.sleep(moment)
            process.send_signal(number)
        sent = time.monotonic()
        _, stderr = process.communicate(timeout=1200)  # so long that only a hang takes it
    finally:
        process.kill()
        process.wait()
        ready.unlink(missing_ok=True)
    return process.returncode, stderr, time.monotonic() - sent


@pytest.mark.parametrize("name", COMMANDS)
def test_signals(name, rounds, folder):
    rng = np.random.default_rng(len(name))
    kept = contents(folder)
    length = SOON
    if name != SERVING:
        began = time.monotonic()
        code, stderr, _ = run(folder, COMMANDS[name], None, None)
        length = time.monotonic() - began
        assert code == 0, stderr
    codes, delays = [], []
    for _ in range(max(1, rounds // 20)):
        number = rng.choice([signal.SIGINT, signal.SIGTERM])
        before = contents(folder)
        code, stderr, delay = run(folder, COMMANDS[name], number, float(rng.uniform(0, length)))
        assert code in CODES[number], stderr
        lines = [line for line in stderr.splitlines() if "warning" not in line]
        said = [line for line in lines if line.startswith(("closeknit: interr", "closeknit: term"))]
        assert len(lines) == len(said) == (code > 0), stderr
        after = contents(folder)
        for path in after:  # nothing half-written, and no temporary file
            assert path in before, path
            if after[path] != before[path] and path.suffix in READERS:
                READERS[path.suffix](path)
        assert kept.items() <= after.items()
        codes.append(code)
        delays.append(delay)
    counts = ", ".join(f"{codes.count(code)} × {code}" for code in sorted(set(codes)))
    print(f"{name}: {counts}; {np.median(delays):.2f} s, at most {max(delays):.2f} s")
    for path in contents(folder).keys() - kept.keys():
        path.unlink()
