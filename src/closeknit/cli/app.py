"""The commands; each lives in a module of its own, and imports what is heavy when it runs."""

from __future__ import annotations

from inspect import cleandoc
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from closeknit.cli.affinities import Affinities
from closeknit.cli.cluster import Cluster
from closeknit.cli.command import function_of
from closeknit.cli.demo import Demo
from closeknit.cli.embed import Embed
from closeknit.cli.explore import Explore
from closeknit.cli.info import Info
from closeknit.cli.reproduce import Reproduce
from closeknit.cli.segment import Segment
from closeknit.cli.sparsify import Sparsify


class _PlainSwitches:
    """A command whose help shows no type for switches, not even for Typer's own."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = " "
        return params


class _Command(_PlainSwitches, TyperCommand):
    pass


class _Group(_PlainSwitches, TyperGroup):
    pass


app = typer.Typer(
    cls=_Group,
    help="Who is close to whom: neighbours, entropic affinities, graphs and maps.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import closeknit

        typer.echo(f"closeknit {closeknit.__version__}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
)


@app.callback()
def _closeknit(version: Annotated[bool, _VERSION] = False) -> None:
    pass


for _command in (Demo, Embed, Affinities, Sparsify, Cluster, Segment, Explore, Reproduce, Info):
    _help, _, _examples = cleandoc(_command.__doc__ or "").partition("\n\nExamples\n--------\n")
    _name, _epilog = _command.__name__.lower(), f"Examples:\n\n{_examples}"
    app.command(_name, cls=_Command, help=_help, epilog=_epilog)(function_of(_command))
