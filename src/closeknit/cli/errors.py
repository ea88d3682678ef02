"""What a user sees when a command fails: one line on stderr and an exit code, no traceback."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from closeknit.exceptions import CloseknitError

__all__ = ["FAILED", "INTERRUPTED", "USAGE", "CommandError", "in_options", "reported_errors"]

FAILED = 1
USAGE = 2  # what Typer gives for an unknown option, too
INTERRUPTED = 130  # 128 + SIGINT, as shells report it

#: Parameters as messages of the library name them, and the options that set them.
_OPTIONS = {
    "decimal": "--decimal",
    "encoding": "--encoding",
    "ids": "--id",
    "key": "--key",
    "labels": "--label",
    "lam": "--lam",
    "lams": "--lam",
    "max_iter": "--max-iter",
    "metric": "--metric",
    "missing": "--missing",
    "n_clusters": "--clusters",
    "n_components": "--dims",
    "n_jobs": "--threads",
    "n_neighbors": "--n-neighbors",
    "n_segments": "--segments",
    "neighbors": "--neighbors",
    "perplexity": "--perplexity",
    "sep": "--sep",
    "sparsity": "--sparsity",
    "time_limit": "--time-limit",
}
_VALUE = r"\[[^\]]*\]|'(?:[^'\\]|\\.)*'|-?[\w.]*\w"
_ASSIGNED = re.compile(rf"\b({'|'.join(_OPTIONS)})=({_VALUE})?")
#: Without a value only names that are no English words.
_NAMED = re.compile(rf"(?<![-\w])({'|'.join(name for name in _OPTIONS if '_' in name)})\b(?!=)")
#: What has no value on the command line.
_PHRASES = {
    "header=True": "--header",
    "header=False": "--no-header",
    "use n_neighbors='auto'": "leave it out",
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
    without a message; `main` adds one for what happens before a command starts. Other exceptions
    are bugs, and keep their tracebacks.
    """
    try:
        yield
        sys.stdout.flush()  # a full disk or a closed pipe shows here, not when Python is gone
    except CommandError as error:
        _exit(str(error), error.exit_code)
    except (CloseknitError, ValueError) as error:
        # How the library refuses files, parameters and data; its messages say what to do.
        _exit(in_options(str(error)), FAILED)
    except MemoryError:
        _exit(
            "there is not enough memory; use fewer neighbours (--n-neighbors, or a lower "
            "--perplexity) or fewer rows",
            FAILED,
        )
    except OSError as error:
        _discard_stdout()
        if isinstance(error, BrokenPipeError):  # whoever read our output has seen enough
            raise SystemExit(FAILED) from None
        _exit(f"cannot write the output: {error.strerror or error}", FAILED)
    except KeyboardInterrupt:
        _exit("interrupted", INTERRUPTED)


def in_options(message: str) -> str:
    """Name options where a message of the library names parameters.

    Examples
    --------
    >>> in_options("keep the column with labels=['a b', 'c']")
    "keep the column with --label 'a b' --label c"
    >>> in_options("n_neighbors=20 is too few; raise n_neighbors, or pass another sep=")
    '--n-neighbors 20 is too few; raise --n-neighbors, or pass another --sep'
    """
    for phrase, option in _PHRASES.items():
        message = message.replace(phrase, option)
    message = _ASSIGNED.sub(_to_option, message)
    return _NAMED.sub(lambda found: _OPTIONS[found[1]], message)


def _to_option(found: re.Match[str]) -> str:
    option, value = _OPTIONS[found[1]], found[2]
    if value is None:
        return option
    quoted = re.findall(r"'((?:[^'\\]|\\.)*)'", value)
    if not quoted:
        return f"{option} {value.strip('[]').replace(' ', '')}"
    plain = (word if re.fullmatch(r"[-\w.]+", word) else f"'{word}'" for word in quoted)
    return " ".join(f"{option} {word}" for word in plain)


def _exit(message: str, code: int) -> None:
    print(f"closeknit: {' '.join(message.split())}", file=sys.stderr)
    raise SystemExit(code) from None


def _discard_stdout() -> None:
    """Throw away what is still to be printed, so that Python does not try again at its end."""
    with suppress(OSError, ValueError):  # if it is a real stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
