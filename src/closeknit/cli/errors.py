"""Errors of commands: one line on stderr and an exit code, no traceback."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import Any

from closeknit.cli import signals
from closeknit.exceptions import CloseknitError

#: Parameters as messages of the library name them, and the options that are called otherwise.
_PARAMETERS = (
    "decimal|encoding|ids|key|labels|lam|max_iter|metric|missing|n_clusters|n_components|n_jobs|"
    "n_neighbors|n_segments|neighbors|perplexity|sep|sparsity|time_limit"
)
_RENAMED = {
    "ids": "id",
    "labels": "label",
    "n_clusters": "clusters",
    "n_components": "dims",
    "n_jobs": "threads",
    "n_segments": "segments",
}
_VALUE = r"\[[^\]]*\]|'(?:[^'\\]|\\.)*'|-?[\w.]*\w"
_ASSIGNED = re.compile(rf"\b({_PARAMETERS})=({_VALUE})?")
#: Without a value only names that are no English words.
_NAMED = re.compile(rf"(?<![-\w])(?=[a-z]*_)({_PARAMETERS})\b(?!=)")
#: What has no value on the command line.
_PHRASES = {
    "header=True": "--header",
    "header=False": "--no-header",
    "use n_neighbors='auto'": "leave it out",
    "choose a callable or one of": "choose one of",
    "standardise the features, or leave it out": "use --standardize, or leave it out with --drop",
}


class CommandError(CloseknitError):
    """A failure the user can do something about; its message says what."""

    exit_code = 1


class UsageError(CommandError):
    """The command was called wrongly."""

    exit_code = 2  # what Typer gives for an unknown option, too


class Interrupted(CommandError):
    """Ctrl-C ended the command; its message says what was kept."""

    exit_code = 130  # 128 + SIGINT, as shells report it


def mend_streams() -> None:
    r"""Replace streams that are closed, as after ``2>&-``: the next file would take their place.

    Those that are open print what their encoding lacks as ``\u2016`` instead of failing.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def reporting_errors(run: Callable[[], Any]) -> None:
    """Call, and turn errors that say what to do, and signals, into one line and an exit code.

    Every command runs inside its own, because Typer would end an interrupted command without a
    message; `main` adds one for what happens before a command starts. Other exceptions are bugs,
    and keep their tracebacks. It is no context manager: a signal may come between the end of a
    ``with`` block and what the manager does then.
    """
    try:
        try:
            signals.state.raises = True
            run()
            sys.stdout.flush()  # a full disk or a closed pipe shows here, not when Python is gone
        finally:
            signals.state.raises = False
    except CommandError as error:
        _exit(str(error), error.exit_code)
    except BaseException as error:
        # First, because NumPy and others turn a signal into errors of their own.
        cause = signals.signal_behind(error)
        if cause is not None:
            terminated = cause is signals.Terminated
            _exit(*(("terminated", 143) if terminated else ("interrupted", Interrupted.exit_code)))
        advice = _advice(error)
        if advice is None:
            raise
        _exit(advice)


def _advice(error: BaseException) -> str | None:
    """What a user can do, or None where it is a bug."""
    if isinstance(error, CloseknitError | ValueError):
        # How the library refuses files, parameters and data; its messages say what to do.
        return in_options(str(error))
    if isinstance(error, MemoryError):
        return (
            "there is not enough memory; use fewer neighbours (--n-neighbors, or a lower "
            "--perplexity) or fewer rows"
        )
    if not isinstance(error, OSError):
        return None
    _discard_stdout()
    if isinstance(error, BrokenPipeError):  # the reader of our output has closed it
        raise SystemExit(CommandError.exit_code) from None
    return f"cannot write the output: {error.strerror or error}"


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
    return _NAMED.sub(lambda found: _option(found[1]), message)


def _option(parameter: str) -> str:
    return "--" + _RENAMED.get(parameter, parameter).replace("_", "-")


def _to_option(found: re.Match[str]) -> str:
    option, value = _option(found[1]), found[2]
    if value is None:
        return option
    quoted = re.findall(r"'((?:[^'\\]|\\.)*)'", value)
    if not quoted:
        return f"{option} {value.strip('[]').replace(' ', '')}"
    plain = (word if re.fullmatch(r"[-\w.]+", word) else f"'{word}'" for word in quoted)
    return " ".join(f"{option} {word}" for word in plain)


def _exit(message: str, code: int = CommandError.exit_code) -> None:
    # If stderr was closed, stdout is the only place for the message.
    stream = sys.stdout if sys.__stderr__ is None else sys.stderr
    print(f"closeknit: {' '.join(message.split())}", file=stream)
    raise SystemExit(code) from None


def _discard_stdout() -> None:
    """Throw away what is still to be printed, so that Python does not try again at its end."""
    with suppress(OSError, ValueError):  # if it is a real stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
