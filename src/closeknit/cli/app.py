"""The commands and their options; what they do lives in one module each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from closeknit.cli.errors import reported_errors

__all__ = ["app"]

app = typer.Typer(
    help="Who is close to whom: neighbours and entropic affinities.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


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


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option(help="The figure to write; its ending chooses the format.")
    ] = Path("closeknit-demo.png"),
    perplexity: Annotated[
        float, typer.Option(help="Effective number of neighbours of each point.")
    ] = 30.0,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Write the figure, print nothing.")
    ] = False,
    json: Json = False,
) -> None:
    """Compute the entropic affinities of scikit-learn's digits and draw their bandwidths."""
    with reported_errors():
        from closeknit.cli.demo import report, run

        summary = run(output, perplexity)
        if json or not quiet:
            report(summary, as_json=json)


@app.command()
def info(json: Json = False) -> None:
    """Show versions, threads and the instruction set in use, for a bug report."""
    with reported_errors():
        from closeknit.cli.info import collect, report

        report(collect(), as_json=json)
