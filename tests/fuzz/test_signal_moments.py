"""Signals at chosen moments of every command: no traceback, no half-written file, none lost.

Random moments of a whole process fall mostly into imports, and seldom into the few lines at which
a command begins, writes and ends. Here all is imported before, a child is forked per signal, and
the signal comes at a line of the command line's own code, which a trace function counts, or after
some seconds of processor time.

``pytest tests/fuzz/test_signal_moments.py -s --fuzz-rounds 300`` aims 30 signals at each command,
three quarters of them SIGINT, and prints how many came before its end, and what became of it.
This file is also the program that forks: ``python tests/fuzz/test_signal_moments.py FOLDER TRIALS``
followed by words of a command.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from closeknit.io import load, read_table

#: Whose lines are counted.
FILES = ("closeknit/cli/", "closeknit/io/files", "/contextlib.py", "/tempfile.py")
COMMANDS = {
    "embed": "embed data.npy -p 5 --max-iter 30 -o map.csv --plot map.png --save-model map.model",
    "embed --model": "embed new.npy --model old.model -o map.npz",
    "affinities": "affinities data.npy -p 5 -o graph.npz",
    "sparsify": "sparsify data.npy -o graph.mtx --sparsity 0.9",
    "cluster": "cluster data.npy -k 4 -p 5 -o map.csv",
    "segment": "segment picture.png -k 3 -o map.png",
    "reproduce": "reproduce sparsification --quick --only section-6 -o page",
    "demo": "demo",
    "info": "info",
}
ENDS = {
    signal.SIGINT: {130: "closeknit: interrupted", -2: "", 0: ""},
    signal.SIGTERM: {143: "closeknit: terminated", -15: "", 0: ""},
}
READERS = {".csv": read_table, ".npz": read_table, ".mtx": read_table, ".model": load}


@pytest.fixture(scope="module")
def folder(tmp_path_factory, write_inputs):
    return write_inputs(tmp_path_factory.mktemp("moments"), (200, 4), side=20)


@pytest.mark.forks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("name", COMMANDS)
def test_signals(name, rounds, folder, tmp_path):
    n_trials = max(4, rounds // 10)
    shutil.copytree(folder, tmp_path / "kept")
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path), str(n_trials), *COMMANDS[name].split()],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(trials) == n_trials
    for trial in trials:
        ends, code = ENDS[signal.Signals(trial["number"])], trial["code"]
        said = [line for line in trial["stderr"].splitlines() if "warning" not in line]
        assert code in ends, trial
        assert len(said) == (code > 0), trial
        assert all(line.startswith(ends[code]) for line in said), trial
        assert trial["wrong"] == [], trial
    came = [(signal.Signals(t["number"]).name, t["code"]) for t in trials if t["sent"]]
    counts = ", ".join(f"{came.count(end)} × {end[0]} → {end[1]}" for end in sorted(set(came)))
    delays = [trial["delay"] for trial in trials if trial["delay"] is not None]
    print(f"{name}: {counts}; at most {max(delays, default=0.0):.2f} s of processor time")


def attack(folder: Path, n_trials: int, command: list[str]) -> None:
    """Print what became of each trial: at the first and last lines, some between, and any time."""
    # What a child imports takes most of its time otherwise.
    for module in ("cli.app", "embeddings", "io.anndata", "apps", "plotting", "experiments"):
        import_module(f"closeknit.{module}")
    for module in ("matplotlib.backends.backend_agg", "pandas", "rich.table", "sklearn.cluster"):
        import_module(module)
    n_lines, seconds, made = run(folder, command, 0, 0.0, signal.SIGINT)
    rng = np.random.default_rng([n_trials, *" ".join(command).encode()])
    n_ends = n_trials // 8
    # The first line stands before anybody can catch anything.
    lines = [*range(2, n_ends + 2), *range(n_lines - n_ends, n_lines + 1)]
    lines += list(rng.integers(2, n_lines, n_trials // 2 - len(lines)))
    for i in range(n_trials):
        line = int(lines[i]) if i < len(lines) else 0
        moment = 0.0 if line else float(rng.uniform(0.001, seconds))
        number = signal.SIGINT if (i + 1) % 4 else signal.SIGTERM
        print(json.dumps(run(folder, command, line, moment, number, made)), flush=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def run(folder, command, line, moment, number, made=None):
    """Run the command in a child with a signal at a line or after some seconds, if any."""
    kept, place = contents(folder / "kept"), folder / "place"
    shutil.copytree(folder / "kept", place)
    for name in made or ():  # they are replaced whole, or stay
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_bytes(b"old")
    (folder / "sent").unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        be_the_command(folder, command, line, moment, number)
    _, status, usage = os.wait4(child, 0)
    used = usage.ru_utime + usage.ru_stime
    after = contents(place)
    try:
        if made is None:
            assert os.waitstatus_to_exitcode(status) == 0, (folder / "stderr").read_text()
            return *json.loads((folder / "count").read_text()), after.keys() - kept.keys()
        wrong = sorted(after.keys() - kept.keys() - made)
        wrong += [name for name in kept if after[name] != kept[name]]
        for name in made & after.keys():
            if after[name] != b"old" and Path(name).suffix in READERS:
                READERS[Path(name).suffix](place / name)
        return {
            "line": line,
            "moment": moment,
            "number": number,
            "sent": (folder / "sent").exists(),
            "code": os.waitstatus_to_exitcode(status),
            "stderr": (folder / "stderr").read_text(),
            "delay": used - moment if moment and moment < used else None,
            "wrong": wrong,
        }
    finally:
        shutil.rmtree(place)


def be_the_command(folder, command, line, moment, number):
    """Be the command, and end as a script does."""
    os.chdir(folder / "place")
    for stream, name in ((1, os.devnull), (2, folder / "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    count = 0

    def send(*_):
        os.close(os.open(folder / "sent", os.O_CREAT | os.O_WRONLY))
        signal.raise_signal(number)

    def at_line(frame, event, _):
        nonlocal count
        count += event == "line"
        if event == "line" and count == line:
            sys.settrace(None)
            send()
        return at_line

    def at_call(frame, *_):
        return at_line if any(name in frame.f_code.co_filename for name in FILES) else None

    from closeknit.cli import main

    sys.argv = ["closeknit", *command]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPROF, send)
    if moment:
        signal.setitimer(signal.ITIMER_PROF, moment)
    else:
        sys.settrace(at_call)
    try:
        main()
    finally:
        sys.settrace(None)
        signal.setitimer(signal.ITIMER_PROF, 0)  # at its end Python forgets who handles signals
        if not line and not moment:
            (folder / "count").write_text(json.dumps([count, time.process_time()]))


if __name__ == "__main__":
    attack(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
