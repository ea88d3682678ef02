"""Bars with the time left on a terminal, none elsewhere; and a warning before large work."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from closeknit.cli import memory
from closeknit.cli.neighborhood import AffinityCommand, Approximation, PerplexityCommand
from closeknit.cli.progress import showing_stages
from closeknit.minimize import State
from closeknit.progress import listening, report, steps


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals there")
def test_a_terminal_sees_every_stage(closeknit, flowers, tmp_path):
    import pty

    (tmp_path / "new.csv").write_text("a,b,c,d\n1,2,3,4\n")
    shown, terminal = pty.openpty()
    with ThreadPoolExecutor(1) as reader:
        text = reader.submit(_read_all, shown)  # at the same time: a terminal holds little
        try:
            outcome = closeknit(
                "embed",
                flowers,
                "--transform",
                "new.csv",
                stderr=terminal,
                timeout=60,
                env={**os.environ, "COLUMNS": "120"},
            )
        finally:
            os.close(terminal)
    assert outcome.code == 0, text.result()
    for stage in ("reading", "neighbours", "affinities", "starting positions", "optimisation"):
        assert stage in text.result()
    for stage in ("writing", "new points", "quality"):
        assert stage in text.result()
    assert "objective" in text.result()


def _read_all(descriptor):
    parts = []
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not part:
            break
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode()


def test_no_bars_without_a_terminal(closeknit, flowers):
    assert closeknit("embed", flowers, "--max-iter", 5).succeeds().stderr == ""


def test_the_library_reports_its_stages(flowers):
    import closeknit as ck
    from closeknit.io import read_table

    heard = []
    with listening(lambda event: heard.append((event.stage, event.done, event.total))):
        ck.TSNE(perplexity=5, max_iter=2).fit(read_table(flowers).X)
    names = list(dict.fromkeys(stage for stage, _, _ in heard))
    assert names == ["neighbours", "affinities", "start", "optimisation"]
    neighbours = [(done, total) for stage, done, total in heard if stage == "neighbours"]
    assert neighbours[-1][0] == neighbours[-1][1] > 0


@pytest.fixture
def columns(monkeypatch):
    """Sets the width of the terminal."""
    return lambda width: monkeypatch.setenv("COLUMNS", str(width))


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 140])
def test_bars_fit_into_a_terminal_and_leave_room_for_its_ctrl_c(columns, capsys, width):
    columns(width)
    with showing_stages(True):
        report("start", 1, 2)
        report("optimisation", 1, 2, State(1, 1, 0.1, None, 14.5041, 1.0, 1.0, lam=0.167))
    printed = [line.rstrip() for line in capsys.readouterr().err.splitlines()]
    assert max(map(len, printed)) <= width - 3
    assert sum("starting" in line for line in printed) == 1


def test_bars_of_a_minimisation_show_the_objective(capsys, columns):
    columns(120)
    with showing_stages(True) as stages:
        for iteration in (1, 2, 3):
            state = State(iteration, 1, 0.1, None, 2.5, 1.0, 1.0, lam=0.5)
            report("optimisation", iteration, 2, state)
    assert "λ 0.5, objective 2.5" in capsys.readouterr().err
    assert stages.current == "optimisation"


def test_stages_without_a_display_say_where_they_are():
    with showing_stages(False) as stages:
        assert list(steps("new points", "ab")) == ["a", "b"]
        assert stages.current == "new points"
    report("elsewhere")
    assert stages.current == "new points"


def test_a_stage_that_comes_again_has_a_bar_of_its_own(capsys):
    with showing_stages(True):
        for stage in ("neighbours", "affinities", "neighbours"):
            report(stage, 1, 1)
    last = capsys.readouterr().err.rpartition("affinities")
    assert "neighbours" in last[0]
    assert "neighbours" in last[2]


def test_a_warning_with_advice_before_large_work(monkeypatch, capsys):
    monkeypatch.setattr(memory, "available", lambda: 2**30)
    memory.warn_if_large(AffinityCommand(), (1_000_000, 50), "graph")
    line = capsys.readouterr().err
    assert "needs about 6.4 GiB of memory, and 1.0 GiB are free" in line
    assert "--n-neighbors 30, with --perplexity 10" in line
    pixels = (3_000_000, 5)
    memory.warn_if_large(PerplexityCommand(), pixels, "graph")
    line = capsys.readouterr().err
    assert line.endswith("use --perplexity 10 or a smaller picture\n")


def test_no_warning_if_it_fits_or_memory_is_unknown(monkeypatch, capsys):
    for free in (2**40, None):
        monkeypatch.setattr(memory, "available", lambda free=free: free)
        memory.warn_if_large(AffinityCommand(), (1_000_000, 50), "graph")
    assert capsys.readouterr().err == ""


def test_exact_search_among_many_points_is_questioned(monkeypatch, capsys):
    monkeypatch.setattr(memory, "available", lambda: None)
    exact = {"neighbors": Approximation.exact}
    memory.warn_if_large(AffinityCommand(**exact), (500_000, 50), "affinities")
    assert "--neighbors approximate" in capsys.readouterr().err
    memory.warn_if_large(AffinityCommand(quiet=True, **exact), (500_000, 50), "affinities")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("work", "k"), [("affinities", 30), ("modes", 90)])
def test_the_estimate_grows_with_everything(work, k):
    base = memory.estimate(1000, 10, k, work)
    assert memory.estimate(2000, 10, k, work) == 2 * base
    assert memory.estimate(1000, 20, k, work) > base
    assert memory.estimate(1000, 10, 2 * k, work) > base


def test_eigenvectors_count():
    few, many = (memory.estimate(1000, 10, 90, "eigenvectors", k) for k in (3, 60))
    assert few < many


def test_a_command_warns(closeknit, flowers):
    before = "import closeknit.cli.memory as memory; memory.available = lambda: 1000"
    outcome = closeknit("embed", flowers, "--max-iter", 2, before=before).succeeds()
    assert "use fewer neighbours" in outcome.stderr
    assert outcome.stderr.startswith("closeknit: warning: ")
