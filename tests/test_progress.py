"""One channel for numbers, one for text, and bars drawn from both."""

from __future__ import annotations

import io
import logging
import threading

import numpy as np
import pytest

from closeknit import progress
from closeknit.kernels import STUDENT
from closeknit.progress import Bars, Event, interruptible, listening, log, report, shown, steps
from closeknit.repulsion import ExactRepulsion


class Terminal(io.StringIO):
    """A stream that can be drawn over."""

    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """Seconds, which pass only if they are told to."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


def screen(text):
    """What a terminal shows after `text`: carriage returns go back to the start of the line."""
    lines = []
    for line in text.split("\n"):
        shown_line = ""
        for part in line.split("\r"):
            shown_line = part + shown_line[len(part) :]
        lines.append(shown_line.rstrip())
    return lines


# ---- events --------------------------------------------------------------------------------------


def test_every_listener_hears_every_event_inside_its_block():
    outer, inner = [], []
    with listening(outer.append):
        report("a", 1, 2)
        with listening(inner.append):
            report("b")
        report("c")
    report("d")
    assert outer == [Event("a", 1, 2), Event("b"), Event("c")]
    assert inner == [Event("b")]


def test_listening_to_none_silences_all():
    heard = []
    with listening(heard.append):
        with listening(None):
            report("inside")
        report("outside")
    assert heard == [Event("outside")]


def test_a_listener_is_gone_after_an_error():
    heard = []
    with pytest.raises(ZeroDivisionError), listening(heard.append):
        raise ZeroDivisionError
    report("later")
    assert heard == []


def test_other_threads_are_not_heard():
    heard = []
    with listening(heard.append):
        thread = threading.Thread(target=report, args=("elsewhere",))
        thread.start()
        thread.join()
    assert heard == []


def test_steps_report_before_each_item_and_at_the_end():
    heard = []
    with listening(heard.append):
        assert list(steps("votes", "xyz")) == ["x", "y", "z"]
    assert heard == [Event("votes", done, 3) for done in range(4)]


def test_an_event_carries_its_state():
    heard = []
    with listening(heard.append):
        report("optimisation", 1, 9, "objective 3")
    assert heard[0].state == "objective 3"


# ---- bars ----------------------------------------------------------------------------------------


def test_a_terminal_has_one_line_per_stage_drawn_over_itself(clock):
    stream = Terminal()
    bars = Bars(stream)
    for done in range(5):
        bars.update(Event("votes", done, 4))
        clock.now += 1.0
    bars.update(Event("edges"))
    bars.close()
    votes, edges, end = screen(stream.getvalue())
    assert votes == f"{'votes':<14} {'━' * 30} 5.0 s"
    assert edges == f"{'edges':<14} {'━' * 30} 0.0 s"
    assert end == ""


def test_a_bar_says_how_much_is_done_and_how_long_it_may_take(clock):
    stream = Terminal()
    bars = Bars(stream)
    bars.update(Event("votes", 0, 4))
    clock.now += 2.0
    bars.update(Event("votes", 1, 4))
    assert screen(stream.getvalue()) == [f"{'votes':<14} {'━' * 7}{'─' * 23} 2.0 s, about 6 s left"]


def test_a_bar_is_not_drawn_more_often_than_ten_times_a_second(clock):
    stream = Terminal()
    bars = Bars(stream)
    for done in range(1000):
        bars.update(Event("votes", done, 1000))
        clock.now += 0.01
    assert 50 < stream.getvalue().count("\r") <= 101


def test_the_last_state_of_a_stage_stays(clock):
    for redraw in (True, False):
        stream = io.StringIO()
        bars = Bars(stream, redraw)
        for done in range(5):
            bars.update(Event("votes", done, 4))
            clock.now += 0.001
        bars.close()
        last = screen(stream.getvalue())[-2]
        assert last.startswith(
            f"{'votes':<14} {'━' * 30}" if redraw else "[closeknit] votes: 0.0 s"
        )


def test_elsewhere_lines_become_rarer(clock):
    stream = io.StringIO()
    bars = Bars(stream)
    for done in range(10_000):
        bars.update(Event("votes", done, 10_000))
        clock.now += 0.125
    assert "\r" not in stream.getvalue()
    lines = stream.getvalue().splitlines()
    assert lines[0] == "[closeknit] votes: 8/10000, 1.0 s, about 1249 s left"
    assert 30 < len(lines) < 110  # of 1250 seconds


def test_long_lines_do_not_wrap(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    stream = Terminal()
    Bars(stream).update(Event("optimisation", 1, 2, "objective " + "9" * 100))
    (line,) = screen(stream.getvalue())
    assert len(line) == 59


def test_a_shorter_line_leaves_nothing_of_a_longer_one(clock):
    stream = Terminal()
    bars = Bars(stream)
    bars.update(Event("optimisation", 1, 9, "a long state"))
    clock.now += 1.0
    bars.update(Event("optimisation", 2, 9, "short"))
    (line,) = screen(stream.getvalue())
    assert line.endswith("short")


def test_what_may_converge_has_no_time_left(clock):
    stream = io.StringIO()
    bars = Bars(stream)
    bars.update(Event("optimisation", 0, 9, "iteration 0"))
    clock.now += 2.0
    bars.update(Event("optimisation", 1, 9, "iteration 1"))
    assert stream.getvalue() == "[closeknit] optimisation: iteration 1\n"


def test_streams_without_such_letters(clock):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Bars(stream, redraw=True).update(Event("votes", 1, 2))
    stream.flush()
    assert stream.buffer.getvalue().endswith(b"#" * 15 + b"." * 15 + b" 0.0 s")


def test_the_output_of_a_notebook_can_be_drawn_over():
    kind = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
    stream = kind()
    Bars(stream).update(Event("votes", 1, 2))
    assert stream.getvalue().startswith("\r")


# ---- text, and both together ---------------------------------------------------------------------


def test_text_goes_above_the_bar(clock):
    stream = Terminal()
    bars = Bars(stream)
    bars.update(Event("votes", 1, 2))
    bars.write("short")
    assert screen(stream.getvalue()) == [
        "short",
        f"{'votes':<14} {'━' * 15}{'─' * 15} 0.0 s",
    ]


def test_elsewhere_a_short_stage_is_one_line_at_its_end(clock):
    stream = io.StringIO()
    bars = Bars(stream)
    for done in range(5):
        bars.update(Event("votes", done, 4))
    bars.write("enough")
    bars.close()
    assert stream.getvalue() == "[closeknit] enough\n[closeknit] votes: 0.0 s\n"


@pytest.mark.parametrize("event", [Event("start"), Event("optimisation", 3, 9, "iteration 3")])
def test_what_has_ended_is_a_full_bar(clock, event):
    stream = Terminal()
    bars = Bars(stream)
    bars.update(event)
    bars.close()
    assert f" {'━' * 30} 0.0 s" in screen(stream.getvalue())[0]


def test_text_is_logged_and_shown(capsys, caplog):
    with caplog.at_level(logging.INFO, "closeknit"):
        log("unseen")
        with shown():
            log("search among %d points, 100%%", 150)
            log("a share of 100%")
    assert [record.getMessage() for record in caplog.records] == [
        "unseen",
        "search among 150 points, 100%",
        "a share of 100%",
    ]
    assert capsys.readouterr().err == (
        "[closeknit] search among 150 points, 100%\n[closeknit] a share of 100%\n"
    )


def test_only_the_outermost_shows(capsys):
    with shown(), shown():
        report("votes", 2, 2)
        log("once")
    report("later")
    assert capsys.readouterr().err == "[closeknit] once\n[closeknit] votes: 0.0 s\n"


def test_nothing_is_shown_unless_it_is_asked_for(capsys):
    with shown(False):
        report("votes", 1, 2)
        log("text")
    assert capsys.readouterr().err == ""


def test_without_stderr(monkeypatch):
    """As under pythonw."""
    monkeypatch.setattr("sys.stderr", None)
    heard = []
    with listening(heard.append), shown():
        report("votes", 1, 2)
    assert heard == [Event("votes", 1, 2)]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_ends_the_bar_and_the_showing(monkeypatch, error):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)

    def work():
        with shown():
            report("votes", 1, 2)
            raise error

    with pytest.raises(error):
        work()
    assert f"{'━' * 15}{'─' * 15}" in screen(stream.getvalue())[0]
    assert stream.getvalue().endswith("\n")
    before = stream.getvalue()
    report("votes", 2, 2)
    log("later")
    assert stream.getvalue() == before
    with shown():
        log("again")
    assert stream.getvalue() == before + "again\n"


def test_threads_show_their_own_text(capsys):
    with shown():
        thread = threading.Thread(target=log, args=("elsewhere",))
        thread.start()
        thread.join()
        log("here")
    assert capsys.readouterr().err == "[closeknit] here\n"


def test_compiled_loops_end_when_nobody_waits():
    """Loops of the core ask every few milliseconds; this one takes a hundred times as long."""
    asked = []

    def give_up():
        asked.append(1)
        raise TimeoutError("nobody waits")

    X = np.random.default_rng(0).normal(size=(12_000, 2))
    with pytest.raises(TimeoutError, match="nobody waits"), interruptible(give_up):
        ExactRepulsion().sums(X, STUDENT)
    assert asked == [1]
    ExactRepulsion().sums(X[:100], STUDENT)
