"""One line per stage on stderr, and progress with the time left for long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from closeknit.progress import report

__all__ = ["Reporter"]

T = TypeVar("T")


class Reporter:
    """Says what a search is doing, if asked to.

    Parameters
    ----------
    verbose : bool

    Examples
    --------
    >>> Reporter(False)("never seen")
    >>> list(Reporter(False).progress("counting", [1, 2, 3]))
    [1, 2, 3]
    """

    def __init__(self, verbose: bool) -> None:
        self.verbose = verbose

    def __call__(self, message: str) -> None:
        """Print one line."""
        if self.verbose:
            print(f"neighbours: {message}", file=sys.stderr, flush=True)

    def progress(self, what: str, items: Sequence[T]) -> Iterator[T]:
        """Yield the items and say, at most every two seconds, how far we are."""
        start = last = time.monotonic()
        for done, item in enumerate(items):
            report("neighbours", done, len(items))
            now = time.monotonic()
            if done and now - last > 2.0:
                left = (now - start) / done * (len(items) - done)
                self(f"{what}: {100 * done // len(items)} %, about {left:.0f} s left")
                last = now
            yield item
        report("neighbours", len(items), len(items))
