"""How many threads a call may use."""

from __future__ import annotations

import os

__all__ = ["effective_n_jobs"]


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
