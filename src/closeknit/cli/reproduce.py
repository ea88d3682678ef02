"""``closeknit reproduce``: the papers' experiments again, with our numbers next to their claims."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from closeknit.cli.command import Command, Fact, argument, option
from closeknit.cli.errors import Interrupted, UsageError


@dataclass(frozen=True, kw_only=True)
class Reproduce(Command):
    """Rerun a paper's experiments: figures, and a page that compares the claims.

    Examples
    --------
    closeknit reproduce sparsification --quick

    closeknit reproduce affinities --data ~/data -o results

    closeknit reproduce embeddings --data ~/data -o results --only figure-2
    """

    name: str = argument("NAME", "affinities, embeddings or sparsification.")
    output: Path | None = option(
        "Where the page and its figures go.",
        flags="--output -o",
        shown="closeknit-NAME here",
        metavar="FOLDER",
    )
    data: Path | None = option(
        "Where coil20.npz, mnist70k.npz and newsgroups20_counts.npz are; without it, bundled data "
        "stand in, and no verdicts are given.",
        metavar="FOLDER",
    )
    only: list[str] | None = option(
        "Run only this section again, such as figure-2; may be repeated.",
        shown="all",
        metavar="SECTION",
    )
    quick: bool = option(
        "On little, bundled data, in under two minutes.", flags="--quick", default=False
    )

    def run(self) -> None:
        """See `Command`."""
        from closeknit.experiments import EXPERIMENTS, reproduce

        name, target = self.name, self.output or Path(f"closeknit-{self.name}")
        if name not in EXPERIMENTS:
            raise UsageError(
                f"there is no experiment {name!r}; choose one of {', '.join(EXPERIMENTS)}"
            )
        if target.exists() and not target.is_dir():
            raise UsageError(f"{target} is a file; choose a folder")
        if self.data is not None and not self.data.is_dir():
            raise UsageError(f"--data {self.data} is not a folder; give the one with the data sets")
        try:
            page = reproduce(
                name,
                target,
                quick=self.quick,
                data=self.data,
                only=self.only or (),
                verbose=self.is_visible,
            )
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; what was finished is in {target}") from None
        facts = [
            Fact("name", "experiment", name),
            Fact("quick", "quick", self.quick),
            Fact("figures", "figures", len(list(page.parent.glob(f"{name}-*.png")))),
            self.seconds(),
        ]
        self.summarize(f"Reproduction: {name}", facts, [Fact("output", "Page", page)])
