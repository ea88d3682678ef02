"""What a user sees when a command fails: one line on stderr and an exit code, no traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from closeknit.exceptions import CloseknitError

__all__ = ["FAILED", "INTERRUPTED", "USAGE", "CommandError", "reported_errors"]

FAILED = 1
USAGE = 2  # what Typer gives for an unknown option, too
INTERRUPTED = 130  # 128 + SIGINT, as shells report it

#: How messages name parameters in Python, and what they are called here.
_OPTIONS = {
    "missing='drop'": "--missing drop",
    "with key=": "with --key",
    "choose a callable or one of": "choose one of",
}


class CommandError(CloseknitError):
    """A failure the user can do something about.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    exit_code : int, default=1
        2 if the command was called wrongly, 1 if it failed, 130 if it was interrupted.

    Examples
    --------
    >>> CommandError("--dims 9 is too many; use up to 3", exit_code=USAGE).exit_code
    2
    """

    def __init__(self, message: str, *, exit_code: int = FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@contextmanager
def reported_errors() -> Iterator[None]:
    """Turn errors that say what to do, and Ctrl-C, into one line on stderr and an exit code.

    Every command body runs inside its own, because Typer would end an interrupted command
    without a word; `main` adds one for what happens before a command starts. Other exceptions are
    bugs, and keep their tracebacks.
    """
    try:
        yield
        sys.stdout.flush()  # a full disk or a closed pipe shows here, not when Python is gone
    except CloseknitError as error:
        code = error.exit_code if isinstance(error, CommandError) else FAILED
        _exit(str(error), code)
    except ValueError as error:
        # How the library refuses parameters and data; its messages say what to do.
        _exit(str(error), FAILED)
    except MemoryError:
        _exit(
            "there is not enough memory; use fewer neighbours (--n-neighbors, or a lower "
            "--perplexity) or fewer rows",
            FAILED,
        )
    except OSError as error:
        _lose_stdout()
        if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
            raise SystemExit(FAILED) from None
        _exit(f"cannot write the output: {error.strerror or error}", FAILED)
    except KeyboardInterrupt:
        _exit("interrupted", INTERRUPTED)


def _exit(message: str, code: int) -> None:
    for parameter, option in _OPTIONS.items():
        message = message.replace(parameter, option)
    print(f"closeknit: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(code) from None


def _lose_stdout() -> None:
    """Throw away what is still to be printed, so that Python does not try again at its end."""
    with suppress(OSError, ValueError):  # if it is a real stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
