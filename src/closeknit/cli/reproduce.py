"""``closeknit reproduce``: the papers' experiments anew, with our numbers beside their claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from closeknit.cli import options as opt
from closeknit.cli.errors import INTERRUPTED, USAGE, CommandError
from closeknit.cli.groups import spelled_out
from closeknit.cli.reporting import Fact, reporting

__all__ = ["EXAMPLES", "reproduce"]

EXAMPLES = """
closeknit reproduce sparsification --quick

closeknit reproduce affinities --data ~/data -o results

closeknit reproduce embeddings --data ~/data -o results --only figure-2
"""


@spelled_out
def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="affinities, embeddings or sparsification.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where the page and its figures go.",
            show_default="closeknit-NAME here",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data",
            metavar="FOLDER",
            help="Where coil20.npz, mnist70k.npz and newsgroups20_counts.npz are; without it, "
            "bundled data stand in, and no verdicts are given.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="SECTION",
            help="Run only this section again, such as figure-2; may be repeated.",
            show_default="all",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="On little, bundled data, in under two minutes.")
    ] = False,
    *,
    talk: opt.TalkOptions,
) -> None:
    """Rerun a paper's experiments: figures, and a page that compares the claims."""
    with reporting(talk) as reporter:
        from closeknit.experiments import reproduce as run

        _check_name(name)
        target = output or Path(f"closeknit-{name}")
        if target.exists() and not target.is_dir():
            raise CommandError(f"{target} is a file; choose a folder", exit_code=USAGE)
        if data is not None and not data.is_dir():
            raise CommandError(
                f"--data {data} is not a folder; give the one with the data sets", exit_code=USAGE
            )
        try:
            page = run(
                name,
                target,
                quick=quick,
                data=data,
                only=only or (),
                verbose=reporter.is_visible,
            )
        except KeyboardInterrupt:
            raise CommandError(
                f"interrupted; what was finished is in {target}", exit_code=INTERRUPTED
            ) from None
        facts = [
            Fact("name", "experiment", name),
            Fact("quick", "quick", quick),
            Fact("figures", "figures", len(list(page.parent.glob(f"{name}-*.png")))),
            reporter.seconds(),
        ]
        reporter.summarize(f"Reproduction: {name}", facts, [Fact("output", "Page", str(page))])


def _check_name(name: str) -> None:
    from closeknit.experiments import EXPERIMENTS

    if name not in EXPERIMENTS:
        raise CommandError(
            f"there is no experiment {name!r}; choose one of {', '.join(EXPERIMENTS)}",
            exit_code=USAGE,
        )
