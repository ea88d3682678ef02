"""Progress of long work: one channel for numbers, one logger for text, and bars drawn from both.

::

    report("neighbours", 3, 8)       ──► every listener of this thread
    for item in steps("votes", all)  ──► the same, before each item
    log("exact search by a tree")    ──► logging.getLogger("closeknit"), level INFO

    listening(function)              a listener of your own: bars, a web page, a test
    shown(verbose)                   what ``verbose=True`` means everywhere: bars and text on stderr

Nothing is printed unless someone asks for it.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TextIO, TypeVar

__all__ = ["Bars", "Event", "Listener", "listening", "log", "report", "shown", "steps"]

T = TypeVar("T")

_logger = logging.getLogger("closeknit")


@dataclass(frozen=True)
class Event:
    """How far one stage of the work is.

    Attributes
    ----------
    stage : str
        Its name, such as ``"neighbours"`` or ``"optimisation"``.
    done, total : int
        Parts of the stage that are done, and their number; 0 if that is not known.
    state : object or None
        More about it: during a minimisation its :class:`~closeknit.minimize.State`.
    """

    stage: str
    done: int = 0
    total: int = 0
    state: Any = None


#: What hears events; its return value is ignored.
Listener = Callable[[Event], object]

_listeners: ContextVar[tuple[Listener, ...]] = ContextVar("listeners", default=())


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Let `listener` hear the events of this thread inside the block; None silences all.

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
    """Tell all listeners how far a stage is.

    Parameters
    ----------
    stage : str
    done, total : int, default=0
        Parts of the stage; a total of 0 is not known.
    state : object, default=None
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


def log(message: str, *arguments: Any) -> None:
    """Log one line of text about what is done, at level INFO."""
    _logger.info(message, *arguments)


_is_shown: ContextVar[bool] = ContextVar("is_shown", default=False)


@contextmanager
def shown(verbose: bool = True) -> Iterator[None]:
    """Show progress on stderr inside the block: text as lines, stages as bars.

    Blocks may be nested, as estimators are that use others: only the outermost shows anything.

    Parameters
    ----------
    verbose : bool, default=True
        False changes nothing.
    """
    if not verbose or _is_shown.get():
        yield
        return
    bars = Bars(sys.stderr)
    handler = _Lines(bars)
    level = _logger.level
    token = _is_shown.set(True)
    _logger.addHandler(handler)
    _logger.setLevel(logging.INFO)
    try:
        with listening(bars.update):
            yield
    finally:
        bars.close()
        _logger.setLevel(level)
        _logger.removeHandler(handler)
        _is_shown.reset(token)


class Bars:
    """One line per stage: its share done, seconds passed and seconds left.

    In a terminal and in a notebook the line of the current stage is drawn over itself; elsewhere,
    as in a log file, a line is written a second apart at first and at every twentieth part of the
    time passed later.

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
    >>> bars.update(Event("votes", 0, 4))
    [closeknit] votes: 0/4, 0.0 s
    """

    def __init__(self, stream: TextIO, redraw: bool | None = None) -> None:
        self._stream = stream
        self._redraw = _can_redraw(stream) if redraw is None else redraw
        self._stage = ""
        self._began = self._next = 0.0
        self._width = 0
        self._last = ""

    def update(self, event: Event) -> None:
        """Draw an event, if it is time to."""
        now = time.monotonic()
        if event.stage != self._stage:
            self.close()
            self._stage, self._began, self._next = event.stage, now, 0.0
        passed = now - self._began
        self._last = _line(event, passed)
        if passed < self._next:
            return
        self._next = passed + (0.1 if self._redraw else max(1.0, 0.05 * passed))
        self._draw()

    def write(self, text: str) -> None:
        """Write a line of text above the current bar."""
        self._erase()
        self._stream.write(f"[closeknit] {text}\n")
        self._stream.flush()

    def close(self) -> None:
        """End the current stage, leaving its last line."""
        if self._redraw and self._last:
            self._draw()
            self._stream.write("\n")
            self._stream.flush()
        self._stage, self._last, self._width = "", "", 0

    def _draw(self) -> None:
        text = f"[closeknit] {self._last}"
        if self._redraw:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def _erase(self) -> None:
        if self._redraw and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0


class _Lines(logging.Handler):
    """Log records as lines above the bars."""

    def __init__(self, bars: Bars) -> None:
        super().__init__(logging.INFO)
        self._bars = bars

    def emit(self, record: logging.LogRecord) -> None:
        self._bars.write(self.format(record))


def _can_redraw(stream: TextIO) -> bool:
    """Whether `stream` is a terminal, or the output of a notebook's cell."""
    return stream.isatty() or type(stream).__module__.startswith("ipykernel")


def _line(event: Event, passed: float) -> str:
    if event.state is not None:
        return f"{event.stage}: {event.state}"
    if not event.total:
        return f"{event.stage}: {passed:.1f} s"
    text = f"{event.stage}: {event.done}/{event.total}, {passed:.1f} s"
    if not 0 < event.done < event.total:
        return text
    return f"{text}, about {passed / event.done * (event.total - event.done):.0f} s left"
