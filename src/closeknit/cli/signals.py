"""Ctrl-C and SIGTERM: exceptions while a command can report them, else the system's default.

Python raises KeyboardInterrupt wherever it is when a signal arrives, and some places are bad ones.
When the command is over and only the interpreter is still running, nothing catches it, and the user
sees a traceback. In an import it leaves half a module, and the code that imports it may continue
without it: the signal is lost. In a destructor Python itself drops it.
"""

from __future__ import annotations

import _thread
import signal
import sys
import time
from types import FrameType
from typing import Any

#: Seconds until a signal that came at a bad moment is sent again, and how long imports may last.
_PAUSE, _PATIENCE = 0.01, 0.5
#: Seconds in which an exception has left an import, unless the import loses it.
_LEFT = 0.3


class Terminated(BaseException):
    """The system wants the process to end (SIGTERM)."""


class _State:
    """The state of the process; there is one, because signals are the process's.

    `raises` is assigned, not set by a call: Python looks for signals when a function is called.

    Attributes
    ----------
    main : int
        The thread that handles signals.
    raises : bool
        Whether signals are raised as exceptions, because code that reports them is running.
    put_off : float or None
        When a signal first came during an import that has not ended yet.
    again : bool
        Whether the next signal is one that was sent again.
    held : bool
        Whether signals wait, because a process has just been started and is not on record yet.
    """

    main = _thread.get_ident()
    raises = False
    held = False
    put_off: float | None = None
    again = False


state = _State()


def watch_signals() -> None:
    """Handle signals from here to the end of the process, and one that is ignored not at all."""
    state.main = _thread.get_ident()
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, _handle)
    signal.signal(signal.SIGTERM, _handle)
    sys.unraisablehook = _send_dropped


def _handle(number: int, frame: FrameType | None) -> None:
    again, state.again = state.again, False
    if not state.raises:
        if again:  # it has been raised in the meantime
            return
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    if state.held:
        _send_again(number)
        return
    if _is_importing(frame):
        state.put_off = state.put_off or time.monotonic()
        if time.monotonic() - state.put_off < _PATIENCE:
            _send_again(number)
            return
        _send_again(number, _LEFT)
    state.put_off = None
    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a command is in an import; the command itself may be run by one."""
    while frame is not None and frame.f_globals.get("__name__") != "closeknit.cli.errors":
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def _send_again(number: int, pause: float = _PAUSE) -> None:
    def send() -> None:
        time.sleep(pause)
        state.again = True
        if hasattr(signal, "pthread_kill"):  # wakes it up where it waits for something
            signal.pthread_kill(state.main, number)
        else:
            signal.raise_signal(number)

    # Not by `threading`, whose locks the main thread may hold just now.
    _thread.start_new_thread(send, ())


def _send_dropped(dropped: Any) -> None:
    if isinstance(dropped.exc_value, KeyboardInterrupt):
        _send_again(signal.SIGINT)
    elif isinstance(dropped.exc_value, Terminated):
        _send_again(signal.SIGTERM)
    else:
        sys.__unraisablehook__(dropped)


def signal_behind(error: BaseException) -> type[BaseException] | None:
    """KeyboardInterrupt or Terminated, if an exception was raised because of one.

    Compiled modules make an ImportError of them, and Typer an exit without a message.

    Examples
    --------
    >>> try:
    ...     raise ImportError("initialization failed") from KeyboardInterrupt()
    ... except ImportError as error:
    ...     signal_behind(error)
    <class 'KeyboardInterrupt'>
    """
    cause: BaseException | None = error
    while cause is not None:
        for kind in (KeyboardInterrupt, Terminated):
            if isinstance(cause, kind):
                return kind
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return None
