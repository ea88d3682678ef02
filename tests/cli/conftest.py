"""The command line as its users meet it: a process with arguments, streams and an exit code."""

import gc
import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from closeknit.cli import main

# A process in the background may have been told to ignore Ctrl-C; these must not.
RUN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
{before}
from closeknit.cli import main
main()
"""


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    stdout: str
    stderr: str

    def succeeds(self):
        assert self.code == 0, self.stderr
        assert "Traceback" not in self.stderr
        return self

    def fails(self, code, *, saying):
        """One line of ours on stderr (others may add theirs), nothing on stdout, no traceback."""
        assert self.stdout == ""
        self.ends(code, saying=saying)

    def ends(self, code, *, saying):
        """As `fails`, but there may be a summary."""
        assert self.code == code, self.stderr
        assert "Traceback" not in self.stderr
        assert saying in self.line
        return self

    @property
    def line(self):
        (line,) = [line for line in self.stderr.splitlines() if _is_error(line)]
        return line

    @property
    def summary(self):
        """The JSON on stdout, which holds nothing else."""
        return json.loads(self.succeeds().stdout)


def _is_error(line):
    return line.startswith("closeknit: ") and not line.startswith("closeknit: warning: ")


@dataclass(frozen=True)
class Closeknit:
    """Runs ``closeknit`` in a folder, in a process of its own."""

    folder: Path

    def arguments(self, *arguments, before=""):
        return [sys.executable, "-c", RUN.format(before=before), *map(str, arguments)]

    def __call__(self, *arguments, before="", **options):
        """Run a command after the statements in `before`."""
        done = subprocess.run(
            self.arguments(*arguments, before=before),
            **{
                "cwd": self.folder,
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "encoding": "utf-8",
                "timeout": 300,
                "check": False,
                **options,
            },
        )
        return Outcome(done.returncode, done.stdout or "", done.stderr or "")

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def closeknit(tmp_path):
    return Closeknit(tmp_path)


@pytest.fixture
def in_process(tmp_path, monkeypatch, capsys):
    """Runs ``closeknit`` in this process: quicker, for what needs no other."""

    def run(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["closeknit", *map(str, arguments)])
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
        try:
            with pytest.raises(SystemExit) as stop:
                main()
        finally:  # where a process would end, this one goes on
            gc.unfreeze()
            for number, handler in before.items():
                signal.signal(number, handler)
        printed = capsys.readouterr()
        return Outcome(stop.value.code or 0, printed.out, printed.err)

    return run


@pytest.fixture
def without():
    """Statements after which a module cannot be imported, as if it were not installed."""
    return "import sys; sys.modules[{!r}] = None".format


@pytest.fixture
def flowers(tmp_path):
    """Iris: names of rows, four features and a kind."""
    iris = load_iris()
    lines = ["id,a,b,c,d,kind"]
    for number, (row, kind) in enumerate(zip(iris.data, iris.target, strict=True)):
        cells = ",".join(map(str, row))
        lines.append(f"f{number},{cells},{iris.target_names[kind]}")
    path = tmp_path / "flowers.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def moons(tmp_path):
    """Two moons as an NPZ file."""
    from sklearn.datasets import make_moons

    X, y = make_moons(200, noise=0.05, random_state=0)
    path = tmp_path / "moons.npz"
    np.savez(path, X=X, y=y)
    return path


@pytest.fixture
def full_disk(tmp_path):
    """Makes a file that is on a full disk."""

    def make(name):
        if not Path("/dev/full").exists():
            pytest.skip("there is no /dev/full here")
        path = tmp_path / name
        path.symlink_to("/dev/full")
        return path

    return make


@pytest.fixture
def interrupted_ascent():
    """Code to run before the command: Ctrl-C comes when the second batch of mean shift starts."""
    return """
import closeknit.apps.mode_search as mode_search
run, batches = mode_search.Ascent.run, []
def interrupted(self, *args):
    batches.append(len(self.places))
    if len(batches) == 2:
        signal.raise_signal(signal.SIGINT)
    run(self, *args)
mode_search.Ascent.run, mode_search.BATCH = interrupted, 50
"""
