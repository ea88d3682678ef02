"""What every command tells its user: errors, warnings, progress and the summary at the end."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from closeknit.cli.errors import in_options, reported_errors
from closeknit.cli.options import TalkOptions
from closeknit.cli.progress import Stages, showing_stages

__all__ = ["Fact", "Reporter", "reporting"]


@dataclass(frozen=True)
class Fact:
    """A line of a summary.

    Parameters
    ----------
    key : str
        Its name in JSON.
    label : str
        Its name in the table; "" leaves it out there.
    value : object
        Anything that JSON can hold; None is left out of the table.
    form : str, default="{}"
        How the table writes the value.
    words : str, default=""
        What the table writes instead of the value.

    Examples
    --------
    >>> Fact("seconds", "seconds", 1.234, "{:.1f}").shown
    '1.2'
    """

    key: str
    label: str
    value: Any
    form: str = "{}"
    words: str = ""

    @property
    def shown(self) -> str:
        """The value as the table writes it."""
        return self.words or self.form.format(self.value)


@dataclass(frozen=True)
class Reporter:
    """How a command talks to its user.

    Parameters
    ----------
    talk : TalkOptions
    """

    talk: TalkOptions
    _start: float

    def stages(self) -> AbstractContextManager[Stages]:
        """Show progress on stderr if that is a terminal."""
        return showing_stages(self.is_visible)

    @property
    def is_visible(self) -> bool:
        """Whether there is a terminal to show progress on."""
        return not self.talk.quiet and sys.stderr.isatty()

    def warn(self, message: str) -> None:
        """Say on stderr what the user may want to know or change."""
        if not self.talk.quiet:
            line = " ".join(in_options(message).split())
            print(f"closeknit: warning: {line}", file=sys.stderr)

    def seconds(self) -> Fact:
        """How long the command has taken so far."""
        return Fact("seconds", "seconds", perf_counter() - self._start, "{:.1f}")

    def summarize(self, title: str, facts: Sequence[Fact], files: Sequence[Fact] = ()) -> None:
        """Print the summary on stdout; `files` are those written."""
        if self.talk.json:
            print(json.dumps({fact.key: fact.value for fact in (*facts, *files)}))
        elif not self.talk.quiet:
            _print_table(title, facts, files)


@contextmanager
def reporting(talk: TalkOptions) -> Iterator[Reporter]:
    """Run a command's body: whatever goes wrong in it is one line and an exit code.

    Parameters
    ----------
    talk : TalkOptions
        JSON is printed even if quiet.

    Yields
    ------
    Reporter
    """
    with reported_errors():
        reporter = Reporter(talk, perf_counter())
        with _warnings_as_lines(reporter):
            yield reporter


@contextmanager
def _warnings_as_lines(reporter: Reporter) -> Iterator[None]:
    """Collect warnings, which would break the bars, and print each once at the end."""
    with warnings.catch_warnings(record=True) as caught:
        # Those for programmers are not for users.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        try:
            yield
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                reporter.warn(message)


def _print_table(title: str, facts: Sequence[Fact], files: Sequence[Fact]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right", overflow="fold")
    for fact in facts:
        if fact.label and fact.value is not None:
            table.add_row(fact.label, Text(fact.shown))
    console = Console()
    console.print(table)
    for fact in files:
        if fact.value is None:
            continue
        for path in fact.value if isinstance(fact.value, list) else [fact.value]:
            # In one piece, however narrow the terminal, so that it can be copied.
            console.print(f"{fact.label}: {path}", soft_wrap=True, markup=False, highlight=False)
