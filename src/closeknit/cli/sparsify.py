"""``closeknit sparsify``: a graph with fewer edges, of a file or of a graph in a file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from closeknit.cli import outputs as out
from closeknit.cli.command import Fact, option
from closeknit.cli.data import DataCommand, InputKind, holds_affinities, input_kind
from closeknit.cli.memory import warn_if_large
from closeknit.cli.neighborhood import AffinityCommand
from closeknit.progress import report

Sparsifier = StrEnum("Sparsifier", ["entropic", "knn", "viewers", "resistance"])
_CLASSES = {
    Sparsifier.entropic: "EntropicSparsifier",
    Sparsifier.knn: "KNNSparsifier",
    Sparsifier.viewers: "ViewerSparsifier",
    Sparsifier.resistance: "ResistanceSparsifier",
}


@dataclass(frozen=True, kw_only=True)
class Sparsify(AffinityCommand, DataCommand):
    """Make a graph sparse: of the rows of INPUT, or one that INPUT holds.

    Examples
    --------
    closeknit sparsify moons.csv -o W.npz --method entropic --sparsity 0.95

    closeknit sparsify W.npz -o sparser.npz --method resistance --sparsity 0.99
    """

    output: Path | None = out.output_file(out.GRAPH_FILE, "INPUT-sparse.npz")
    method: Sparsifier = option(
        "Which edges stay: entropic (the strongest), knn (to nearest neighbours), viewers (those "
        "few points vote against) or resistance (a sample, reweighted).",
        flags="--method -m",
        default=Sparsifier.entropic,
        metavar="NAME",
    )
    sparsity: float | None = option(
        "Share of pairs without an edge, such as 0.95.",
        shown="the method's own rule",
        min=0.0,
        max=1.0,
        metavar="SHARE",
    )
    kind: InputKind = input_kind()

    def run(self) -> None:
        """See `Command`."""
        from closeknit.io import write_graph
        from closeknit.io.writers import GRAPHS

        target = self.output or out.name_after(self.path, "sparse", ".npz")
        out.check_outputs([self.path], [(target, GRAPHS)])
        with self.stages():
            report("reading")
            table, prepared = self.read_prepared()
            given = "affinities" if holds_affinities(self.kind, table.X) else "data"
            if self.metric == "precomputed":
                given = "distances"
            if given == "data":
                warn_if_large(self, table.X.shape, "graph")
            report("edges")
            estimator = self._make(given).fit(table.X)
            report("writing")
            write_graph(target, estimator.graph_)
        facts = [
            Fact("input_is", "input", given),
            Fact("method", "method", self.method),
            *self.data_facts(table, affinities=given == "affinities"),
            *prepared,
            Fact("n_edges", "edges kept", int(estimator.graph_.nnz)),
            Fact("sparsity", "pairs without an edge", estimator.sparsity_, "{:.2%}"),
            self.seconds(),
        ]
        files = [Fact("output", "Graph", target)]
        self.summarize(f"A sparse graph of {self.path}", facts, files)

    def _make(self, given: str) -> Any:
        from closeknit import graphs

        keywords = {**self.keywords, "sparsity": self.sparsity, "input": given}
        if given == "distances":
            del keywords["metric"]  # they are measured already
        if self.method is Sparsifier.knn:
            keywords["n_neighbors"] = self.n_neighbors
        else:
            keywords["perplexity"] = self.perplexities
        return getattr(graphs, _CLASSES[self.method])(**keywords)
