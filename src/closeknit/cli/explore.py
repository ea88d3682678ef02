"""``closeknit explore``: drag the perplexity and watch the map follow, in the browser."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from closeknit.cli.command import Fact, option
from closeknit.cli.data import DataCommand
from closeknit.cli.neighborhood import PerplexityCommand, perplexity_option
from closeknit.cli.preparation import Preparation
from closeknit.progress import report

_PAGE = "Page"


@dataclass(frozen=True, kw_only=True)
class Explore(PerplexityCommand, DataCommand):
    """Explore a map of INPUT in the browser: move sliders, and the map follows.

    INPUT may also be a saved model, or a session that the explorer saved (.closeknit).

    Only this machine can reach the page, and only by the address that is printed. Ctrl-C ends it.

    Examples
    --------
    closeknit explore cells.csv --label kind

    closeknit explore cells.h5ad --perplexity 50 --no-open --port 8000

    closeknit explore session.closeknit
    """

    perplexity: list[str] | None = perplexity_option(several=False)
    max_perplexity: float | None = option(
        "The largest perplexity offered; neighbours are searched once, for this one.",
        "Affinities",
        shown="100, or 50 beyond 100,000 rows",
        metavar="NUMBER",
        min=1.0,
    )
    metric: str = option(
        "euclidean, cosine, or any other of scikit-learn's.", "Affinities", default="euclidean"
    )
    port: int = option("The port; 0 takes any that is free.", _PAGE, default=0, min=0, max=65535)
    host: str = option(
        "The address to serve on; others than this machine's own can be reached by others.",
        _PAGE,
        default="127.0.0.1",
    )
    open_page: bool = option(
        "Whether to open the page in the browser.", _PAGE, flags="--open/--no-open", default=True
    )

    def run(self) -> None:
        """See `Command`."""
        from closeknit.explore import open_file, serve

        with self.stages():
            report("reading")
            if self.path.suffix.lower() == ".closeknit":  # which brings parameters of its own
                session = open_file(self.path, n_jobs=self.n_jobs)
                facts = [
                    Fact("input", "", self.path),
                    Fact("n_samples", "points", session.table.n_samples),
                ]
            else:
                session, facts = self._open_table()
        serve(
            session,
            host=self.host,
            port=self.port,
            browse=self.open_page,
            announce=lambda address: self._announce(session, facts, address),
        )

    def _announce(self, session: Any, facts: list[Fact], address: str) -> None:
        """Say what is explored, and where; the address also if nothing else is to be printed."""
        given, most = session.engine.parameters.perplexity, session.engine.max_perplexity
        facts = [
            *facts,
            Fact("perplexity", "perplexity", given, words=f"{given:g}, at most {most:g}"),
            Fact("metric", "metric", session.options["metric"]),
            Fact("address", "", address),
        ]
        self.summarize(f"Exploring {self.path}", facts)
        if not self.json:
            print(f"Exploring at {address}\nCtrl-C ends it.")
        sys.stdout.flush()

    def _open_table(self) -> tuple[Any, list[Fact]]:
        from closeknit.explore import Parameters, open_data

        parameters = Parameters(perplexity=self.single_perplexity("the explorer"))
        table = self.read()
        prepared = self.preparation(table)
        session = open_data(
            prepared(table),
            parameters=parameters,
            max_perplexity=self.max_perplexity,
            metric=self.metric,
            reading=self._code(prepared),
            title=self.path.name,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )
        offered = session.engine.parameters.perplexity
        if "perplexity" in self.given and parameters.perplexity > offered:
            self.warn(
                f"perplexity={parameters.perplexity:g} is more than the page offers here, "
                f"{offered:g}: at most --max-perplexity, and a third of the other points"
            )
        return session, [*self.data_facts(table), *prepared.facts]

    def _code(self, prepared: Preparation) -> str:
        """The statements that read and prepare the data."""
        given = {name: value for name, value in self.arguments.items() if value is not None}
        given["missing"] = self.missing.value
        words = "".join(f", {name}={value!r}" for name, value in given.items() if value != "error")
        return "\n".join([f"X = ck.io.read_table({str(self.path)!r}{words}).X", *prepared.code])
