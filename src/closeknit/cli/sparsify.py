"""``closeknit sparsify``: a graph with fewer edges, of a file or of a graph in a file."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.files import check_outputs, named_after, read
from closeknit.cli.memory import warn_if_large
from closeknit.cli.methods import holds_affinities
from closeknit.cli.session import Fact, session

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


def sparsify(
    path: opt.Input,
    output: Annotated[Path | None, opt.output(opt.GRAPH_FILE, "INPUT-sparse.npz")] = None,
    method: Annotated[
        Sparsifier,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="Which edges stay: entropic (the strongest), knn (of nearest neighbours), "
            "viewers (that few vote against) or resistance (a sample, reweighted).",
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
    perplexity: opt.Perplexity = 30.0,
    n_neighbors: opt.NNeighbors = None,
    metric: opt.Metric = "euclidean",
    neighbors: opt.Neighbors = opt.Approximation.auto,
    label: opt.Label = None,
    ids: opt.Id = None,
    key: opt.Key = None,
    missing: opt.Missing = opt.OnMissing.error,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Make a graph sparse: of the rows of INPUT, or one that INPUT holds."""
    with session(quiet, json) as current:
        from closeknit.io import write_graph
        from closeknit.io.writers import GRAPHS

        start = perf_counter()
        target = output or named_after(path, "sparse", ".npz")
        check_outputs([path], [(target, GRAPHS)])
        data = opt.DataOptions(path, label, ids, key, missing)
        options = opt.AffinityOptions(perplexity, n_neighbors, metric, neighbors, seed, threads)
        with current.stages() as stages:
            stages.begin("reading")
            table = read(data)
            given = _given(table, kind, metric)
            if given == "data":
                warn_if_large(current, table.X.shape, options, "graph")
            stages.begin("edges")
            estimator = _make(method, options, sparsity, given).fit(table.X)
            stages.begin("writing")
            write_graph(target, estimator.graph_)
        facts = [
            Fact("input", "", str(path)),
            Fact("input_is", "input", given),
            Fact("method", "method", method.value),
            Fact("n_samples", "points", table.n_samples),
            Fact("n_edges", "entries left", int(estimator.graph_.nnz)),
            Fact("sparsity", "pairs without an edge", estimator.sparsity_, "{:.2%}"),
            Fact("seconds", "seconds", perf_counter() - start, "{:.1f}"),
        ]
        files = [Fact("output", "Graph", str(target))]
        current.report(f"A sparse graph of {path}", facts, files)


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
        keywords["perplexity"] = options.perplexity
    return getattr(graphs, _CLASSES[method])(**keywords)
