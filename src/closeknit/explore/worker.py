"""Work in a thread of its own, which tells listeners how it stands and ends when it is told to."""

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
    """Ends work that nobody waits for any more."""


class OutdatedError(StoppedError):
    """Ends a part of the work: what it was for has changed."""


class Worker(ABC):
    """A thread that may be ended and begun again.

    Attributes
    ----------
    stage : str
        What it is doing, in words for users.
    progress : float
        The share of that which is done, 0 if it is not known.
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
        """Begin to work, in a thread, if it is not running already."""
        with self._wake:
            self._stopped = False
            if self._thread is not None:  # one that was about to end goes on, or begins again
                return
            self._thread = threading.Thread(target=self._run, name="closeknit-map", daemon=True)
            self._thread.start()

    def stop(self, timeout: float | None = None) -> None:
        """End the thread and wait so long for it; `start` goes on from where it was."""
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
        """Wait until a condition holds, or for so many seconds; return whether it does."""
        with self._wake:
            return self._wake.wait_for(condition, timeout)

    def _run(self) -> None:
        failed = False
        try:
            with listening(self._hear), interruptible(self._check), warnings.catch_warnings():
                warnings.simplefilter("ignore", CloseknitWarning)
                self._work()
        except StoppedError:
            pass
        except Exception as error:
            failed = True
            known = isinstance(error, ValueError | CloseknitError)  # whose words are for users
            self.error = str(error) if known else f"{type(error).__name__}: {error}"
            self._say("failed")
        finally:
            with self._wake:
                self._thread = None
                self._wake.notify_all()
                wanted = not (self._stopped or failed)  # again, since it was told to end
            if wanted:
                self.start()

    def _check(self) -> None:
        """Called every few milliseconds of work: ends what nobody waits for."""
        if self._outdated():
            raise OutdatedError
        if self._stopped:
            raise StoppedError

    def _unless(self, outdated: Callable[[], bool], act: Callable[[], T]) -> T | None:
        """Do something, or give it up and return None as soon as it is `outdated`."""
        self._outdated = outdated
        try:
            return act()
        except OutdatedError:
            return None
        finally:
            self._outdated = lambda: False

    def _hear(self, event: Event) -> None:
        """Progress of a search."""
        self._check()
        if event.total and event.stage != "optimisation":
            self._say("searching for neighbours", event.done / event.total)

    def _say(self, stage: str, progress: float = 0.0) -> None:
        self.stage, self.progress = stage, progress
        self._tell()

    def _tell(self) -> None:
        with self._wake:
            self._wake.notify_all()
        for listener in list(self.listeners):
            listener()
