"""How many threads a call may use, and BLAS."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import AbstractContextManager
from typing import Any

__all__ = ["effective_n_jobs", "single_threaded_blas"]


def effective_n_jobs(n_jobs: int | None) -> int:
    """Turn scikit-learn's ``n_jobs`` into a number of threads.

    Parameters
    ----------
    n_jobs : int or None
        A positive number is taken as it is, ``-1`` means all cores this process may use, ``-2``
        all but one, and so on. ``None`` follows the surrounding ``joblib.parallel_config``.

    Returns
    -------
    int
        At least 1.

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
    if n_jobs > 0:
        return int(n_jobs)
    return max(1, _available_cores() + 1 + int(n_jobs))


def _available_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def single_threaded_blas() -> AbstractContextManager[None]:
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
    return _blas_limit


class _BlasLimit:
    """Counts the blocks that want BLAS on one thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_blocks = 0
        self._limit: Any = None
        self._libraries: Any = None
        self._n_modules = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._n_blocks == 0:
                # Finding the libraries takes milliseconds; imports may have loaded more of them.
                if self._n_modules != len(sys.modules):
                    from threadpoolctl import ThreadpoolController

                    self._libraries = ThreadpoolController().select(user_api="blas")
                    self._n_modules = len(sys.modules)
                _take_control()
                self._limit = self._libraries.limit(limits=1)
            self._n_blocks += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._n_blocks -= 1
            if self._n_blocks == 0:
                _take_control()
                self._limit.restore_original_limits()
                _take_control()


def _take_control() -> None:
    """Let this thread, whichever it is, set OpenBLAS's limit.

    Recent versions of threadpoolctl let only the thread do so that did it first.
    """
    import threadpoolctl

    clear = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


_blas_limit = _BlasLimit()
