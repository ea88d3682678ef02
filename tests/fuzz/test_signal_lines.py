"""A signal at a chosen line of the command line's own code: no traceback, no half-written file.

Random moments seldom fall into the few lines at which a command begins, writes and ends. Here a
trace function counts the lines of a command in the files named below, and raises a signal at the
N-th. ``pytest tests/fuzz/test_signal_lines.py -s --fuzz-rounds 2000`` tries a thousand lines. This
file is also the program that runs the command, once per line in a forked child:
``python tests/fuzz/test_signal_lines.py FOLDER TRIALS``.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

FILES = ("closeknit/cli/", "closeknit/io/files", "/contextlib.py", "/tempfile.py")
COMMAND = "embed data.npy -p 5 --max-iter 3 -o map.csv --save-model map.model"
OLD = "old\n"
ENDS = {
    signal.SIGINT: {130: "closeknit: interrupted", -2: "", 0: ""},
    signal.SIGTERM: {143: "closeknit: terminated", -15: "", 0: ""},
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_signals(rounds, tmp_path):
    n_trials = max(12, rounds // 2)
    done = subprocess.run(
        [sys.executable, __file__, str(tmp_path), str(n_trials)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    trials = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(trials) >= n_trials
    for trial in trials:
        ends, code = ENDS[signal.Signals(trial["number"])], trial["code"]
        said = [line for line in trial["stderr"].splitlines() if "warning" not in line]
        assert code in ends, trial
        assert len(said) == (code > 0), trial
        assert all(line.startswith(ends[code]) for line in said), trial
        assert set(trial["files"]) <= {"data.npy", "map.csv", "map.model"}, trial
        assert trial["map"] == OLD or trial["map"].count("\n") == 61, trial
    codes = [trial["code"] for trial in trials]
    print(", ".join(f"{codes.count(code)} × {code}" for code in sorted(set(codes))))


def attack(folder: Path, n_trials: int) -> None:
    """Print what became of each trial: at the first and last lines, and at some between."""
    np.save(folder / "data.npy", np.random.default_rng(0).normal(size=(60, 4)))
    # What a child imports takes most of its time otherwise.
    for package in ("closeknit.cli.app", "closeknit.embeddings", "closeknit.io"):
        import_module(package)

    n_lines = run(folder, 0, signal.SIGINT)["n_lines"]
    rng = np.random.default_rng(n_trials)
    ends = np.arange(1, n_trials // 3 + 1)
    between = rng.integers(1, n_lines, n_trials - 2 * len(ends))
    # The first line stands before anybody can catch anything.
    for line in (*(ends + 1), *between, *(n_lines + 1 - ends)):
        number = rng.choice([signal.SIGINT, signal.SIGTERM])
        print(json.dumps(run(folder, int(line), int(number))), flush=True)


def run(folder: Path, line: int, number: int) -> dict[str, object]:
    """Run the command in a child with a signal at a line, 0 for none, and see what is left."""
    place = folder / "place"
    place.mkdir()
    shutil.copy(folder / "data.npy", place)
    (place / "map.csv").write_text(OLD)
    child = os.fork()
    if child == 0:
        be_the_command(folder, line, number)
    _, status = os.waitpid(child, 0)
    found = {
        "line": line,
        "number": number,
        "code": os.waitstatus_to_exitcode(status),
        "stderr": (folder / "stderr").read_text(),
        "n_lines": int((folder / "count").read_text() or 0) if line == 0 else None,
        "files": sorted(path.name for path in place.iterdir()),
        "map": (place / "map.csv").read_text(),
    }
    shutil.rmtree(place)
    return found


def be_the_command(folder: Path, line: int, number: int) -> None:
    """Trace the command, and end as a script does."""
    os.chdir(folder / "place")
    for stream, name in ((1, os.devnull), (2, folder / "stderr")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    count = 0

    def at_line(frame, event, _):
        nonlocal count
        count += event == "line"
        if event == "line" and count == line:
            sys.settrace(None)
            signal.raise_signal(number)
        return at_line

    def at_call(frame, *_):
        return at_line if any(name in frame.f_code.co_filename for name in FILES) else None

    from closeknit.cli import main

    sys.argv = ["closeknit", *COMMAND.split()]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.settrace(at_call)
    try:
        main()
    finally:
        if line == 0:
            sys.settrace(None)
            (folder / "count").write_text(str(count))


if __name__ == "__main__":
    attack(Path(sys.argv[1]), int(sys.argv[2]))
