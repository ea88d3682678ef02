"""Ctrl-C keeps what is there, and says so."""

import signal
import subprocess
import sys
import time

import pytest

from closeknit.cli.errors import reporting_errors
from closeknit.cli.signals import Terminated
from closeknit.io import read_table

AT_ITERATION_5 = """
from closeknit.minimize.loop import _Run
def accept(self, sample, _accept=_Run._accept):
    state = _accept(self, sample)
    if state.iteration == 5:
        {action}
    return state
_Run._accept = accept
"""
CTRL_C = AT_ITERATION_5.format(action="signal.raise_signal(signal.SIGINT)")


def test_the_embedding_so_far_is_written(closeknit, flowers, tmp_path):
    options = ("--plot", "map.png", "-o", "map.npz")
    outcome = closeknit("embed", flowers, *options, before=CTRL_C)
    outcome.ends(130, saying="interrupted after 5 iterations; the embedding so far is in map.npz")
    assert "interrupted" in outcome.stdout  # the summary says so, too
    assert read_table(tmp_path / "map.npz").X.shape == (150, 2)
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_new_points_are_left_out(closeknit, flowers, tmp_path):
    (tmp_path / "new.csv").write_text("a,b,c,d\n1,2,3,4\n")
    outcome = closeknit("embed", flowers, "--transform", "new.csv", before=CTRL_C)
    outcome.ends(130, saying="flowers-tsne.csv; new.csv not placed")
    assert closeknit.files() == ["flowers-tsne.csv", "flowers.csv", "new.csv"]


def test_before_there_is_an_embedding(closeknit, flowers):
    before = """
import closeknit.embeddings.nonlinear as base
def start(*args):
    signal.raise_signal(signal.SIGINT)
base.initial_embedding = start
"""
    outcome = closeknit("embed", flowers, before=before)
    outcome.fails(130, saying="interrupted (start); there is no embedding yet, nothing was written")
    assert closeknit.files() == ["flowers.csv"]


def test_the_demo_keeps_both_files(closeknit):
    outcome = closeknit("demo", "--quiet", before=CTRL_C)
    outcome.fails(130, saying="the map so far is in closeknit-demo.png and closeknit-demo.csv")
    assert closeknit.files() == ["closeknit-demo.csv", "closeknit-demo.png"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_a_signal_from_outside(closeknit, flowers, tmp_path):
    wait = "open('ready', 'w').close(); __import__('time').sleep(100)"
    before = AT_ITERATION_5.format(action=wait)
    process = subprocess.Popen(
        closeknit.arguments("embed", flowers, "--quiet", before=before),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        while process.poll() is None and not (tmp_path / "ready").exists():
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, stderr
    assert "interrupted after 5 iterations" in stderr
    assert read_table(tmp_path / "flowers-tsne.csv").X.shape == (150, 2)


@pytest.mark.parametrize(
    ("raised", "code", "line"),
    [
        (KeyboardInterrupt, 130, "closeknit: interrupted\n"),
        (Terminated, 143, "closeknit: terminated\n"),
    ],
)
def test_errors_that_libraries_make_of_signals_are_signals(capsys, raised, code, line):
    """NumPy raises a ValueError where a signal finds it reading the format of a buffer."""

    def run():
        raise ValueError("not a valid buffer format string") from raised()

    with pytest.raises(SystemExit) as ended:
        reporting_errors(run)
    assert ended.value.code == code
    assert capsys.readouterr().err == line


def test_bugs_keep_their_tracebacks():
    def run():
        raise KeyError("a bug")

    with pytest.raises(KeyError, match="a bug"):
        reporting_errors(run)
