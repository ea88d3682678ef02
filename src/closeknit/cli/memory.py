"""Estimates of the memory that a command needs, and a warning if that is too much."""

from __future__ import annotations

import os
from pathlib import Path

from closeknit.cli.neighborhood import Approximation, PerplexityCommand

#: Peak bytes per neighbour of a point, per feature, and per point besides, beyond the data that are
#: given: what `benchmarks/memory.py` measures. "graph" is work on the symmetric graph, such as
#: t-SNE; "spectral" an embedding by the spectral direction, which keeps a factor of the graph's
#: Laplacian; "eigenvectors" those of the Laplacian, and "modes" mean shift.
_PEAKS = {
    "affinities": (26, 8, 80),
    "graph": (68, 14, 50),
    "spectral": (56, 14, 1150),
    "eigenvectors": (70, 14, 2700),
    "modes": (26, 14, 800),
}
#: Further bytes per point for each eigenvector.
_VECTOR = 130

#: Pairs whose distances take minutes rather than seconds.
_MANY_PAIRS = 2e10


def estimate(
    n_samples: int, n_features: int, n_neighbors: int, work: str, n_vectors: int = 0
) -> int:
    """Bytes that the work needs at its peak beside the data, roughly.

    Parameters
    ----------
    n_samples, n_features, n_neighbors : int
    work : {"affinities", "graph", "spectral", "eigenvectors", "modes"}
    n_vectors : int, default=0
        Eigenvectors to find.

    Returns
    -------
    int

    Examples
    --------
    >>> f"{estimate(1_000_000, 50, 90, 'graph') / 2**30:.1f} GiB"
    '6.4 GiB'
    """
    per_neighbor, per_feature, per_point = _PEAKS[work]
    per_point += _VECTOR * n_vectors
    return n_samples * (per_neighbor * n_neighbors + per_feature * n_features + per_point)


def available() -> int | None:
    """Bytes that this process may still use, or None if the system does not say.

    Examples
    --------
    >>> free = available()
    >>> free is None or free > 0
    True
    """
    limits = [_free_of_machine(), _free_of_group()]
    return min((limit for limit in limits if limit is not None), default=None)


def warn_if_large(
    command: PerplexityCommand, shape: tuple[int, int], work: str, n_vectors: int = 0
) -> None:
    """Warn before work that may not fit in memory, or that takes needlessly long.

    Parameters
    ----------
    command : PerplexityCommand
        One without neighbours to choose works on pixels.
    shape : tuple of int
        Of the data.
    work, n_vectors
        As for `estimate`.
    """
    n_neighbors = command.count(shape[0])
    needed, free = estimate(*shape, n_neighbors, work, n_vectors), available()
    neighbors = getattr(command, "neighbors", None)
    if free is not None and needed > 0.8 * free:
        fewer = max(2, n_neighbors // 3)
        perplexity = f"--perplexity {max(1, fewer // 3)}"
        advice = f"fewer neighbours (--n-neighbors {fewer}, with {perplexity}) or fewer rows"
        if neighbors is None:
            advice = f"{perplexity} or a smaller picture"
        command.warn(
            f"this needs about {_gib(needed)} of memory, and {_gib(free)} are free; use {advice}"
        )
    if neighbors is Approximation.exact and shape[1] > 12 and shape[0] ** 2 > _MANY_PAIRS:
        command.warn(
            f"the exact search may look at {shape[0] ** 2:.0e} pairs of points; "
            "--neighbors approximate is much faster and misses about one neighbour in a hundred"
        )


def _gib(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.1f} GiB"


def _free_of_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return None


def _free_of_group() -> int | None:
    """Bytes that are free in the container, if this runs in one."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        return int(limit) - int((folder / "memory.current").read_text())
    except (OSError, ValueError):  # none, or "max"
        return None
