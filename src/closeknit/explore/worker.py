"""Work in a thread of its own, which reports to listeners and can be stopped at any time."""

from __future__ import annotations

import threading
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

from closeknit.exceptions import CloseknitError, CloseknitWarning
from closeknit.progress import Event, interruptible, listening

__all__ = ["OutdatedError", "StoppedError", "Worker"]

T = TypeVar("T")


class StoppedError(Exception):
    """Raised to end work whose result is no longer wanted."""


class OutdatedError(StoppedError):
    """Raised to end a part of the work whose purpose has changed."""


class Worker(ABC):
    """A thread that can be stopped and started again.

    Attributes
    ----------
    stage : str
        What it is doing, in words for users.
    progress : float
        The share of the stage that is done, 0 if it is not known.
    error : str
        Why it failed.
    listeners : list of callable
        Called whenever something has changed, from any thread.
    """

    def __init__(self) -> None:
        self.stage, self.progress, self.error = "waiting", 0.0, ""
        self.listeners: list[Callable[[], object]] = []
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stopped = True
        self._outdated: Callable[[], bool] = lambda: False  # whether to end this part of the work

    @abstractmethod
    def _work(self) -> None:
        """Work until `_stopped`."""

    def start(self) -> None:
        """Start the thread, unless it is running."""
        with self._wake:
            self._stopped = False
            if self._thread is not None:  # one that was about to end goes on, or begins again
                return
            self._thread = threading.Thread(target=self._run, name="closeknit-map", daemon=True)
            self._thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """End the thread, and wait for it up to `timeout` seconds; `start` continues the work."""
        with self._wake:
            thread, self._stopped = self._thread, True
            self._wake.notify_all()
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    @property
    def is_running(self) -> bool:
        """Whether there is a thread."""
        return self._thread is not None

    def wait(self, condition: Callable[[], bool], timeout: float = 60.0) -> bool:
        """Wait until a condition holds, or for `timeout` seconds; return whether it holds."""
        with self._wake:
            return self._wake.wait_for(condition, timeout)

    def _run(self) -> None:
        failed = False
        try:
            with (
                listening(self._on_progress),
                interruptible(self._check),
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore", CloseknitWarning)
                self._work()
        except StoppedError:
            pass
        except Exception as error:
            failed = True
            known = isinstance(error, ValueError | CloseknitError)  # whose words are for users
            self.error = str(error) if known else f"{type(error).__name__}: {error}"
            self._set_stage("failed")
        finally:
            with self._wake:
                self._thread = None
                self._wake.notify_all()
                wanted = not (self._stopped or failed)  # it was started again while it was ending
            if wanted:
                self.start()

    def _check(self) -> None:
        """Raise where the work is no longer wanted; called every few milliseconds of it."""
        if self._outdated():
            raise OutdatedError
        if self._stopped:
            raise StoppedError

    def _run_unless(self, outdated: Callable[[], bool], act: Callable[[], T]) -> T | None:
        """Call `act`, or give up and return None as soon as it is `outdated`."""
        self._outdated = outdated
        try:
            return act()
        except OutdatedError:
            return None
        finally:
            self._outdated = lambda: False

    def _on_progress(self, event: Event) -> None:
        """Show the progress of a search."""
        self._check()
        if event.total and event.stage != "optimisation":
            self._set_stage("searching for neighbours", event.done / event.total)

    def _set_stage(self, stage: str, progress: float = 0.0) -> None:
        self.stage, self.progress = stage, progress
        self._notify()

    def _notify(self) -> None:
        with self._wake:
            self._wake.notify_all()
        for listener in list(self.listeners):
            listener()
