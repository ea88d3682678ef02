"""The number of threads of a call, chunks of work that run on them, and threads of BLAS."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ContextDecorator, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

from closeknit import _core
from closeknit.exceptions import CloseknitWarning
from closeknit.progress import steps

T = TypeVar("T")

_BUDGET = 2**26  # bytes of working memory per chunk: 64 MiB
# More threads than this, and than four per core, gain nothing, and may be more than the system has.
_MANY = 64
# Lets this thread, whichever it is, set OpenBLAS's limit: recent versions of threadpoolctl let only
# the thread do so that did it first.
_take_control = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)


def effective_n_jobs(n_jobs: int | None) -> int:
    """Turn scikit-learn's ``n_jobs`` into a number of threads.

    Parameters
    ----------
    n_jobs : int or None
        A positive number is taken as it is, up to 64 or four per core; ``-1`` means all cores this
        process may use, ``-2`` all but one, and so on. ``None`` follows the surrounding
        ``joblib.parallel_config``.

    Returns
    -------
    int
        At least 1.

    Warns
    -----
    CloseknitWarning
        Once, if there would be more threads than make sense, and once if an earlier call could not
        start as many as it wanted.

    Examples
    --------
    >>> effective_n_jobs(3)
    3
    >>> effective_n_jobs(None)
    1
    """
    if n_jobs is None:
        import joblib

        return int(joblib.effective_n_jobs(None))
    if not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise ValueError(
            f"n_jobs={n_jobs!r} has no meaning; use -1 for all cores or a positive integer"
        )
    if _core.refused_threads():
        _warn_once(
            "not all threads that were asked for could be started; work goes on with those that "
            "could, to the same result. Lower n_jobs, or let this process have more (ulimit -u)"
        )
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    if n_jobs < 0:
        return max(1, cores + 1 + int(n_jobs))
    most = max(_MANY, 4 * cores)
    if n_jobs > most:
        _warn_once(
            f"n_jobs={n_jobs} is more than this machine can use; {most} threads are used instead"
        )
    return min(int(n_jobs), most)


@cache  # so that the warning comes once, however often the number of threads is asked for
def _warn_once(message: str) -> None:
    warnings.warn(message, CloseknitWarning, stacklevel=4)


def chunks(n_rows: int, bytes_per_row: int, most_rows: int | None = None) -> list[slice]:
    """Cut rows into chunks that fit the memory budget.

    Parameters
    ----------
    n_rows : int
    bytes_per_row : int
        Working memory that a row takes.
    most_rows : int, optional
        Rows per chunk at most, so that a chunk does not take long either.

    Returns
    -------
    list of slice

    Examples
    --------
    >>> chunks(5, 2**25)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, min(_BUDGET // max(1, bytes_per_row), most_rows or n_rows))
    return [slice(start, min(n_rows, start + size)) for start in range(0, n_rows, size)]


def run_chunks(
    stage: str, function: Callable[[slice], object], parts: list[slice], n_threads: int
) -> None:
    """Call a function for each chunk, several at a time, reporting how many are done.

    An error or an interrupt ends it soon: chunks that run are finished, so that nothing writes to
    memory any more when this returns, and the others are not begun.

    Parameters
    ----------
    stage : str
        What progress is reported as.
    function : callable
        Takes a slice of rows; it must release the GIL where it takes long.
    parts : list of slice
    n_threads : int

    Examples
    --------
    >>> done = []
    >>> run_chunks("sums", done.append, [slice(0, 2), slice(2, 4)], n_threads=1)
    >>> done
    [slice(0, 2, None), slice(2, 4, None)]
    """
    if n_threads == 1 or len(parts) < 2:
        for part in steps(stage, parts):
            function(part)
        return
    pool = ThreadPoolExecutor(min(n_threads, len(parts)))
    try:
        running = [pool.submit(function, part) for part in parts]
        for future in steps(stage, running):
            future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class _Others:
    """Threads that compute in the background."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start over, as a forked child must, which has none of the threads."""
        self.pool = ThreadPoolExecutor(_MANY, "closeknit")


_others = _Others()


def beside(n_jobs: int | None, function: Callable[[], T]) -> Callable[[], T]:
    """Call a function on another thread, if there may be several, and return how to wait for it.

    Parameters
    ----------
    n_jobs : int or None
        With one thread, or if the system gives no other, it is called at once.
    function : callable
        Takes no arguments; it must release the GIL where it takes long, and not wait for others.

    Returns
    -------
    callable
        Returns what the function does, when it has.

    Examples
    --------
    >>> wait = beside(2, lambda: 6 * 7)
    >>> wait()
    42
    """
    done: Future[T] = Future()
    claim = threading.Lock()

    def run() -> None:
        if claim.acquire(blocking=False):
            try:
                done.set_result(function())
            except BaseException as error:
                done.set_exception(error)

    if effective_n_jobs(n_jobs) == 1:
        run()
    else:
        try:
            _others.pool.submit(run)
        except RuntimeError:  # no thread is available, or the interpreter is about to end
            run()  # unless a thread that there is does so: what was refused may still be queued
    return done.result


@dataclass
class _Blas:
    """What the blocks of `single_threaded_blas` share."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    n_blocks: int = 0
    n_modules: int = 0
    libraries: Any = None
    limit: Any = None

    def unlock(self) -> None:
        """Replace the lock, which in a forked child a thread may hold that does not exist there."""
        self.lock = threading.Lock()


_blas = _Blas()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS and LAPACK on one thread inside a ``with`` block.

    With several they add up in another order for each number of threads, and on a busy machine
    wait for each other far longer than a small product takes. The limit holds for the whole
    process. Blocks may be nested and may overlap in several Python threads: the first one to be
    entered sets the limit, the last one to be left restores what was before.

    Examples
    --------
    >>> import numpy as np
    >>> with single_threaded_blas():
    ...     (np.ones((2, 3)) @ np.ones((3, 2))).tolist()
    [[3.0, 3.0], [3.0, 3.0]]
    """
    with _blas.lock:
        if _blas.n_blocks == 0:
            # Finding the libraries takes milliseconds; imports may have loaded more of them.
            if _blas.n_modules != len(sys.modules):
                _blas.libraries = ThreadpoolController().select(user_api="blas")
                _blas.n_modules = len(sys.modules)
            _take_control(force=True)
            _blas.limit = _blas.libraries.limit(limits=1)
        _blas.n_blocks += 1
    try:
        yield
    finally:
        with _blas.lock:
            _blas.n_blocks -= 1
            if _blas.n_blocks == 0:
                _take_control(force=True)
                _blas.limit.restore_original_limits()
                _take_control(force=True)


class _BeforeExit(ContextDecorator):
    """Makes Python's exit wait for functions, in the middle of which it would abort the process.

    An interpreter that ends unwinds the stacks of daemon threads that come back to it, and SciPy's
    transforms cannot be unwound through. After the end has begun daemon threads enter no more.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start over, as a forked child must, which has no other threads."""
        self._inside, self._ended, self._changed = 0, False, threading.Condition()

    def __enter__(self) -> None:
        if threading.current_thread().daemon:
            with self._changed:
                while self._ended:
                    self._changed.wait()
                self._inside += 1

    def __exit__(self, *_: object) -> None:
        if threading.current_thread().daemon:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    def end(self) -> None:
        """Wait until no thread is inside, and let none enter again."""
        with self._changed:
            self._ended = True
            while self._inside:
                self._changed.wait()


#: Around functions that call libraries which would abort the process.
before_exit = _BeforeExit()
atexit.register(before_exit.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=before_exit.reset)
    os.register_at_fork(after_in_child=_others.reset)
    os.register_at_fork(after_in_child=_blas.unlock)
