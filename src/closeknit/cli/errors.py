"""What a user sees when a command fails: one line on stderr and an exit code, no traceback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from closeknit.exceptions import CloseknitError

__all__ = ["CommandError", "reported_errors"]

INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class CommandError(CloseknitError):
    """A failure the user can do something about.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    exit_code : int, default=1
        2 if the command was called wrongly, 1 if it failed.
    """

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def reported_errors() -> Iterator[None]:
    """Turn errors that say what to do, and Ctrl-C, into one line on stderr and an exit code.

    Every command body runs inside its own, because Typer would end an interrupted command
    without a word; `main` adds one for what happens before a command starts.
    """
    try:
        yield
    except CloseknitError as error:
        code = error.exit_code if isinstance(error, CommandError) else 1
        _exit(" ".join(str(error).split()), code)
    except KeyboardInterrupt:
        _exit("interrupted", INTERRUPTED)


def _exit(message: str, code: int) -> None:
    print(f"closeknit: {message}", file=sys.stderr)
    raise SystemExit(code) from None
