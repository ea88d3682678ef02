"""A command: a class whose fields are its options, and its output.

::

    @dataclass(frozen=True, kw_only=True)
    class Greet(Command):
        name: str = argument("NAME", "Whom to greet.")
        times: int = option("How often.", default=1, min=1)

        def run(self) -> None: ...

Options that several commands have are fields of base classes. `function_of` makes of a class the
function that Typer wants.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, dataclass, field, fields
from importlib import import_module
from inspect import Parameter, Signature, get_annotations
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, TextIO, get_args, get_type_hints

import typer

from closeknit.cli.errors import in_options, reporting_errors
from closeknit.cli.progress import Stages, showing_stages
from closeknit.progress import report

#: What help calls values.
_METAVARS = {int: "INTEGER", float: "NUMBER", str: "TEXT", Path: "FILE"}


def option(
    text: str,
    panel: str | None = None,
    *,
    default: Any = None,
    flags: str = "",
    shown: str | None = None,
    **settings: Any,
) -> Any:
    """An option of a command, as a field.

    Parameters
    ----------
    text : str
        What its help says.
    panel : str or None, default=None
        Under which heading.
    default : object, default=None
    flags : str, default=""
        Such as ``"--output -o"``; by default the name of the field.
    shown : str or None, default=None
        The default that the help shows; None is the real one, unless that is None or False.
    **settings
        As Typer takes them.
    """
    shows = shown or (default is not None and default is not False)
    made = typer.Option(
        *flags.split(), help=text, rich_help_panel=panel, show_default=shows, **settings
    )
    return field(default=default, metadata={"typer": made})


def argument(metavar: str, text: str) -> Any:
    """An argument of a command, as a field; `metavar` and `text` are shown by the help."""
    made = typer.Argument(metavar=metavar, help=text, show_default=False)
    return field(metadata={"typer": made})


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
        A path, or anything that JSON can hold; None is left out of the table.
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


@dataclass(frozen=True, kw_only=True)
class Command:
    """What all commands share.

    Attributes
    ----------
    given : frozenset of str
        The fields that the user has set.
    started : float
        When, by `time.perf_counter`.
    """

    given: frozenset[str] = frozenset()
    started: float = field(default_factory=perf_counter)
    quiet: bool = option("Print nothing but errors.", flags="--quiet -q", default=False)
    json: bool = option(
        "Print the summary as one JSON object on stdout.", flags="--json", default=False
    )

    def start(self) -> None:
        """Import what most commands need, under a bar that is gone when they begin."""
        with showing_stages(self.is_visible, transient=True):
            report("starting")
            for package in ("closeknit.embeddings", "closeknit.io"):
                import_module(package)

    def run(self) -> None:
        """Do what the command is for."""
        raise NotImplementedError

    @property
    def is_visible(self) -> bool:
        """Whether there is a terminal to show progress on."""
        return not self.quiet and sys.stderr.isatty()

    def stages(self) -> AbstractContextManager[Stages]:
        """Show progress on stderr if that is a terminal."""
        return showing_stages(self.is_visible)

    def warn(self, message: str) -> None:
        """Print a warning on stderr."""
        if not self.quiet:
            line = " ".join(in_options(message).split())
            print(f"closeknit: warning: {line}", file=sys.stderr)

    def seconds(self) -> Fact:
        """How long the command has taken so far."""
        return Fact("seconds", "seconds", perf_counter() - self.started, "{:.1f}")

    def summarize(self, title: str, facts: Sequence[Fact], files: Sequence[Fact] = ()) -> None:
        """Print the summary on stdout; `files` are those written. JSON is printed even if quiet.

        Where a table goes to stdout, the summary goes to stderr.
        """
        stream = sys.stderr if any(fact.value == Path("-") for fact in files) else sys.stdout
        if self.json:
            content = {fact.key: fact.value for fact in (*facts, *files)}
            print(json.dumps(content, default=str), file=stream)
        elif not self.quiet:
            _print_table(title, facts, files, stream)


def function_of(command: type[Command]) -> Callable[..., None]:
    """The function that Typer wants: its parameters are the options, the command's own first.

    Every error in it becomes one line and an exit code.

    Parameters
    ----------
    command : type

    Returns
    -------
    callable

    Examples
    --------
    >>> from inspect import signature
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Greet(Command):
    ...     name: str = argument("NAME", "Whom to greet.")
    >>> list(signature(function_of(Greet)).parameters)
    ['ctx', 'name', 'quiet', 'json']
    """
    types, own, last = get_type_hints(command), get_annotations(command), get_annotations(Command)
    options = [one for one in fields(command) if "typer" in one.metadata]
    options.sort(key=lambda one: (one.name not in own) + (one.name in last))
    parameters = [Parameter("ctx", Parameter.KEYWORD_ONLY, annotation=typer.Context)] + [
        Parameter(
            one.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if one.default is MISSING else one.default,
            annotation=Annotated[types[one.name], _with_metavar(one, types[one.name])],
        )
        for one in options
    ]

    def run(ctx: typer.Context, **values: Any) -> None:
        sources = {name: ctx.get_parameter_source(name) for name in values}
        given = {name for name, source in sources.items() if source and source.name != "DEFAULT"}

        def carry_out() -> None:
            made = command(given=frozenset(given), **values)
            with _warnings_at_the_end(made):
                made.start()
                made.run()

        reporting_errors(carry_out)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def _with_metavar(one: Any, kind: Any) -> Any:
    """Typer's settings of a field, with a word for its type that users know."""
    made = one.metadata["typer"]
    if made.metavar is None:
        base = next((part for part in get_args(kind) if part is not type(None)), kind)
        made.metavar = _METAVARS.get(base)
    return made


@contextmanager
def _warnings_at_the_end(command: Command) -> Iterator[None]:
    """Collect warnings, which would break the bars, and print each once at the end."""
    with warnings.catch_warnings(record=True) as caught:
        # Those for programmers are not for users.
        for kind in (DeprecationWarning, PendingDeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", kind)
        try:
            yield
        finally:
            for message in dict.fromkeys(str(warning.message) for warning in caught):
                if not message.startswith("Glyph "):  # one per character; ours says what to do
                    command.warn(message)


def _print_table(title: str, facts: Sequence[Fact], files: Sequence[Fact], stream: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right", overflow="fold")
    for fact in facts:
        if fact.label and fact.value is not None:
            table.add_row(fact.label, Text(fact.shown))
    console = Console(file=stream)
    console.print(table)
    for fact in files:
        paths = fact.value if isinstance(fact.value, list) else [fact.value]
        for path in (path for path in paths if path not in (None, Path("-"))):
            # In one piece, however narrow the terminal, so that it can be copied.
            console.print(f"{fact.label}: {path}", soft_wrap=True, markup=False, highlight=False)
