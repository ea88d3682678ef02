"""The commands; each lives in a module of its own, and imports what is heavy when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from closeknit.cli import (
    affinities,
    cluster,
    demo,
    embed,
    info,
    reproduce,
    segment,
    sparsify,
)

__all__ = ["app"]

app = typer.Typer(
    help="Who is close to whom: neighbours, entropic affinities, graphs and maps.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import closeknit

        typer.echo(f"closeknit {closeknit.__version__}")
        raise typer.Exit


@app.callback()
def _closeknit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


for _module in (demo, embed, affinities, sparsify, cluster, segment, reproduce, info):
    _name = _module.__name__.rpartition(".")[2]
    app.command(_name, epilog="Examples:\n" + _module.EXAMPLES)(getattr(_module, _name))
