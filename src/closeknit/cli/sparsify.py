"""``closeknit sparsify``: a graph with fewer edges, of a file or of a graph in a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.groups import spelled_out
from closeknit.cli.inputs import data_facts, holds_affinities, read
from closeknit.cli.memory import warn_if_large
from closeknit.cli.outputs import check_outputs, name_after
from closeknit.cli.reporting import Fact, reporting
from closeknit.progress import report

if TYPE_CHECKING:
    from closeknit.io import Table

__all__ = ["EXAMPLES", "sparsify"]

EXAMPLES = """
closeknit sparsify moons.csv -o W.npz --method entropic --sparsity 0.95

closeknit sparsify W.npz -o sparser.npz --method resistance --sparsity 0.99
"""


class Sparsifier(StrEnum):
    """Which edges are kept."""

    entropic = "entropic"
    knn = "knn"
    viewers = "viewers"
    resistance = "resistance"


_CLASSES = {
    Sparsifier.entropic: "EntropicSparsifier",
    Sparsifier.knn: "KNNSparsifier",
    Sparsifier.viewers: "ViewerSparsifier",
    Sparsifier.resistance: "ResistanceSparsifier",
}


@spelled_out
def sparsify(
    output: Annotated[Path | None, opt.output(opt.GRAPH_FILE, "INPUT-sparse.npz")] = None,
    method: Annotated[
        Sparsifier,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="Which edges stay: entropic (the strongest), knn (to nearest neighbours), "
            "viewers (those few points vote against) or resistance (a sample, reweighted).",
        ),
    ] = Sparsifier.entropic,
    sparsity: Annotated[
        float | None,
        typer.Option(
            "--sparsity",
            min=0.0,
            max=1.0,
            metavar="SHARE",
            help="Share of pairs without an edge, such as 0.95.",
            show_default="the method's own rule",
        ),
    ] = None,
    kind: opt.Kind = opt.InputKind.auto,
    *,
    data: opt.DataOptions,
    affinity: opt.AffinityOptions,
    talk: opt.TalkOptions,
) -> None:
    """Make a graph sparse: of the rows of INPUT, or one that INPUT holds."""
    with reporting(talk) as reporter:
        from closeknit.io import write_graph
        from closeknit.io.writers import GRAPHS

        target = output or name_after(data.path, "sparse", ".npz")
        check_outputs([data.path], [(target, GRAPHS)])
        with reporter.stages():
            report("reading")
            table = read(data)
            given = _given(table, kind, affinity.metric)
            if given == "data":
                warn_if_large(reporter, table.X.shape, affinity, "graph")
            report("edges")
            estimator = _make(method, affinity, sparsity, given).fit(table.X)
            report("writing")
            write_graph(target, estimator.graph_)
        facts = [
            Fact("input_is", "input", given),
            Fact("method", "method", method.value),
            *data_facts(data, table, affinities=given == "affinities"),
            Fact("n_edges", "edges kept", int(estimator.graph_.nnz)),
            Fact("sparsity", "pairs without an edge", estimator.sparsity_, "{:.2%}"),
            reporter.seconds(),
        ]
        files = [Fact("output", "Graph", str(target))]
        reporter.summarize(f"A sparse graph of {data.path}", facts, files)


def _given(table: Table, kind: opt.InputKind, metric: str) -> str:
    """What the sparsifiers call the input."""
    if metric == "precomputed":
        return "distances"
    return "affinities" if holds_affinities(kind, table.X) else "data"


def _make(
    method: Sparsifier, options: opt.AffinityOptions, sparsity: float | None, given: str
) -> Any:
    from closeknit import graphs

    keywords = {**options.keywords, "sparsity": sparsity, "input": given}
    if given == "distances":
        del keywords["metric"]  # they are measured already
    if method is Sparsifier.knn:
        keywords["n_neighbors"] = options.n_neighbors
    else:
        keywords["perplexity"] = options.perplexities
    return getattr(graphs, _CLASSES[method])(**keywords)
