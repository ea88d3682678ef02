"""Progress of long work: one channel for numbers, one logger for text, and bars drawn from both.

::

    report("neighbours", 3, 8)       ──► every listener of this thread
    for item in steps("votes", all)  ──► the same, before each item
    log("exact search by a tree")    ──► logging.getLogger("closeknit"), level INFO

    listening(function)              a listener of your own: bars, a web page, a test
    interruptible(function)          called while compiled code computes; what it raises ends that
    shown(verbose)                   what ``verbose=True`` means everywhere: bars and text on stderr

Nothing is printed unless asked for.
"""

from __future__ import annotations

import logging
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, TextIO, TypeVar

__all__ = [
    "Bars",
    "Event",
    "Listener",
    "interruptible",
    "listening",
    "log",
    "poll",
    "report",
    "shown",
    "steps",
]

T = TypeVar("T")

_logger = logging.getLogger("closeknit")


@dataclass(frozen=True)
class Event:
    """The progress of one stage.

    Attributes
    ----------
    stage : str
        Its name, such as ``"neighbours"`` or ``"optimisation"``.
    done, total : int
        Parts of the stage that are done, and their number; 0 if that is not known.
    state : object or None
        More about it: during a minimisation its :class:`~closeknit.minimize.State`.

    Examples
    --------
    >>> from closeknit.progress import Event
    >>> Event("votes", 1, 4)
    Event(stage='votes', done=1, total=4, state=None)
    """

    stage: str
    done: int = 0
    total: int = 0
    state: Any = None


#: A function that receives events; its return value is ignored.
Listener = Callable[[Event], object]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Send the events of this thread to `listener` inside the block; None silences all listeners.

    Examples
    --------
    >>> from closeknit.progress import listening, report
    >>> with listening(lambda event: print(event.stage, event.done, event.total)):
    ...     report("neighbours", 1, 4)
    neighbours 1 4
    >>> report("neighbours", 2, 4)
    """
    token = _listeners.set(() if listener is None else (*_listeners.get(), listener))
    try:
        yield
    finally:
        _listeners.reset(token)


def report(stage: str, done: int = 0, total: int = 0, state: Any = None) -> None:
    """Report the progress of a stage to all listeners.

    Parameters
    ----------
    stage : str
    done, total : int, default=0
        Parts of the stage; a total of 0 is not known.
    state : object, default=None

    Examples
    --------
    >>> from closeknit.progress import listening, report
    >>> with listening(print):
    ...     report("votes", 1, 4)
    Event(stage='votes', done=1, total=4, state=None)
    """
    for listener in _listeners.get():
        listener(Event(stage, done, total, state))


def steps(stage: str, items: Sequence[T]) -> Iterator[T]:
    """Yield the items of a stage, reporting before each how many are done.

    Examples
    --------
    >>> from closeknit.progress import listening, steps
    >>> with listening(lambda event: print(event.done, "of", event.total)):
    ...     letters = list(steps("votes", "ab"))
    0 of 2
    1 of 2
    2 of 2
    """
    for done, item in enumerate(items):
        report(stage, done, len(items))
        yield item
    report(stage, len(items), len(items))


_check: ContextVar[Callable[[], object] | None] = ContextVar("check", default=None)


@contextmanager
def interruptible(check: Callable[[], object]) -> Iterator[None]:
    """Call `check` every few milliseconds of work that this thread does inside the block.

    What it raises ends the work, as Ctrl-C does in the main thread.

    Parameters
    ----------
    check : callable
        Quick; takes no arguments.

    Examples
    --------
    >>> from closeknit.progress import interruptible, poll
    >>> def give_up():
    ...     raise TimeoutError("the time is up")
    >>> with interruptible(give_up):
    ...     poll()
    Traceback (most recent call last):
        ...
    TimeoutError: the time is up
    """
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def poll() -> None:
    """Call the function of `interruptible`, if any; compiled loops do so, long Python code may.

    Examples
    --------
    >>> from closeknit.progress import interruptible, poll
    >>> with interruptible(lambda: print("still wanted")):
    ...     poll()
    still wanted
    """
    check = _check.get()
    if check is not None:
        check()


_bars: ContextVar[Bars | None] = ContextVar("bars", default=None)


def log(message: str, *arguments: Any) -> None:
    """Log one line of text about what is done, at level INFO; inside `shown` it is also shown.

    Examples
    --------
    >>> import logging
    >>> from closeknit.progress import log
    >>> logging.getLogger("closeknit").isEnabledFor(logging.INFO)
    False
    >>> log("exact search among %d points", 150)
    """
    bars = _bars.get()
    if bars is not None:
        bars.write(message % arguments if arguments else message)
    _logger.info(message, *arguments)


@contextmanager
def shown(verbose: bool = True) -> Iterator[None]:
    """Show progress on stderr inside the block: text as lines, stages as bars.

    Blocks may be nested, as estimators are that use others: only the outermost shows anything.

    Parameters
    ----------
    verbose : bool, default=True
        False changes nothing.

    Examples
    --------
    >>> from closeknit.progress import report, shown
    >>> with shown(False):
    ...     report("votes", 1, 4)
    """
    if not verbose or _bars.get() is not None or sys.stderr is None:
        yield
        return
    bars = Bars(sys.stderr)
    token = _bars.set(bars)
    finished = False
    try:
        with listening(bars.update):
            yield
        finished = True
    finally:
        _bars.reset(token)
        bars.close(finished)


class Bars:
    """One line per stage: its share done, seconds passed and seconds left.

    In a terminal and in a notebook the line of the current stage is a bar that is drawn over
    itself; elsewhere, as in a log file, a stage has a line at its end and, if it takes long, others
    before: a second apart at first and later whenever the time passed has grown by a twentieth.

    Parameters
    ----------
    stream : text stream
        Where to write.
    redraw : bool or None, default=None
        Whether lines may be drawn over; None finds out.

    Examples
    --------
    >>> import sys
    >>> from closeknit.progress import Bars, Event
    >>> bars = Bars(sys.stdout)
    >>> bars.update(Event("votes", 4, 4))
    >>> bars.close()
    [closeknit] votes: 0.0 s
    """

    def __init__(self, stream: TextIO, redraw: bool | None = None) -> None:
        self._stream = stream
        self._redraw = _can_redraw(stream) if redraw is None else redraw
        self._event: Event | None = None
        self._began = self._next = 0.0
        self._is_drawn = False
        self._width = 0

    def update(self, event: Event) -> None:
        """Draw an event, if it is time to."""
        now = time.monotonic()
        if self._event is None or event.stage != self._event.stage:
            self.close()
            self._began, self._next = now, 0.0 if self._redraw else 1.0
        self._event, self._is_drawn = event, False
        passed = now - self._began
        if passed >= self._next:
            self._next = passed + (0.1 if self._redraw else max(1.0, 0.05 * passed))
            self._draw()

    def write(self, text: str) -> None:
        """Write a line of text above the current bar, or after what is already done."""
        if self._redraw:
            self._stream.write("\r" * bool(self._width) + text.ljust(self._width) + "\n")
            if self._width:
                self._width = 0
                self._draw()
        else:
            self._stream.write(f"[closeknit] {text}\n")
        self._stream.flush()

    def close(self, finished: bool = True) -> None:
        """End the current stage, leaving its last line; an unfinished one is left as it is."""
        if self._event is not None and (self._redraw or not self._is_drawn):
            if finished:  # what has converged, or could not be counted, is done as well
                done = max(1, self._event.done)
                self._event = replace(self._event, done=done, total=done)
            self._draw()
        if self._redraw and self._width:
            self._stream.write("\n")
            self._stream.flush()
        self._event, self._width = None, 0

    def _draw(self) -> None:
        if self._event is None:
            return
        passed = time.monotonic() - self._began
        self._is_drawn = True
        if self._redraw:
            # A line that wraps could not be drawn over.
            room = shutil.get_terminal_size().columns - 1
            text = _bar(self._event, passed, self._stream)[:room]
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(f"[closeknit] {_line(self._event, passed)}\n")
        self._stream.flush()


def _can_redraw(stream: TextIO) -> bool:
    """Whether `stream` is a terminal, or the output of a notebook's cell."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")


def _bar(event: Event, passed: float, stream: TextIO) -> str:
    n_cells = 30
    full, empty = "━", "─"
    try:
        (full + empty).encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        full, empty = "#", "."
    done = n_cells * min(event.done, event.total) // event.total if event.total else 0
    detail = "" if event.state is None else f"  {event.state}"
    return (
        f"{event.stage:<14} {full * done}{empty * (n_cells - done)} {_time(event, passed)}{detail}"
    )


def _line(event: Event, passed: float) -> str:
    if event.state is not None:
        return f"{event.stage}: {event.state}"
    count = f"{event.done}/{event.total}, " if event.done < event.total else ""
    return f"{event.stage}: {count}{_time(event, passed)}"


def _time(event: Event, passed: float) -> str:
    text = f"{passed:.1f} s"
    # An estimate needs some time to pass, and what converges may end at any time.
    if passed < 1.0 or not 0 < event.done < event.total or event.state is not None:
        return text
    return f"{text}, about {passed / event.done * (event.total - event.done):.0f} s left"
