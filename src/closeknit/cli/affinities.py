"""``closeknit affinities``: from a file to a graph of entropic affinities."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.errors import INTERRUPTED, CommandError
from closeknit.cli.files import (
    check_outputs,
    is_picture,
    named_after,
    new_figure,
    read_points,
    save_figure,
)
from closeknit.cli.memory import warn_if_large
from closeknit.cli.session import Fact, session

if TYPE_CHECKING:
    from closeknit.io import Table

__all__ = ["EXAMPLES", "affinities"]

EXAMPLES = """
closeknit affinities flowers.csv -o W.npz --perplexity 20

closeknit affinities cells.npz -o W.mtx --sigmas sigmas.csv --symmetric

closeknit affinities photo.png -o W.npz --sigmas map.png
"""


def affinities(
    path: opt.Input,
    output: Annotated[Path | None, opt.output(opt.GRAPH_FILE, "INPUT-affinities.npz")] = None,
    sigmas: Annotated[
        Path | None,
        typer.Option(
            "--sigmas",
            help="Write each point's bandwidth σ, too: .csv, .tsv, .parquet, .npy or .npz; "
            "for a picture also as one, .png.",
            show_default=False,
        ),
    ] = None,
    symmetric: Annotated[
        bool, typer.Option("--symmetric", help="Write (P + Pᵀ)/2 instead of P.")
    ] = False,
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
    """Compute the entropic affinities of the rows of INPUT: a sparse matrix P.

    Row n of P is point n's distribution over its neighbours; every row has the same perplexity.
    """
    with session(quiet, json) as current:
        from closeknit.graphs import symmetrize
        from closeknit.io import write_graph
        from closeknit.io.writers import GRAPHS, TABLES

        start = perf_counter()
        target = output or named_after(path, "affinities", ".npz")
        endings = (*TABLES, ".png") if is_picture(path) else TABLES
        check_outputs([path], [(target, GRAPHS), (sigmas, endings)])
        data = opt.DataOptions(path, label, ids, key, missing)
        options = opt.AffinityOptions(perplexity, n_neighbors, metric, neighbors, seed, threads)
        with current.stages() as stages:
            stages.begin("reading")
            table, shape = read_points(data)
            warn_if_large(current, table.X.shape, options, "affinities")
            estimator = _fit(table, options)
            stages.begin("writing")
            P = estimator.affinities_
            write_graph(target, symmetrize(P) if symmetric else P)
            if sigmas is not None:
                _write_sigmas(sigmas, estimator, table, shape)
        facts = [
            Fact("input", "", str(path)),
            *_facts(estimator, table, perplexity),
            Fact("symmetric", "", symmetric),
            Fact("seconds", "seconds", perf_counter() - start, "{:.1f}"),
        ]
        files = [
            Fact("output", "Affinities", str(target)),
            Fact("sigmas", "Bandwidths", None if sigmas is None else str(sigmas)),
        ]
        current.report(f"Entropic affinities of {path}", facts, files)


def _fit(table: Table, options: opt.AffinityOptions) -> Any:
    from closeknit import EntropicAffinities

    try:
        return EntropicAffinities(options.perplexity, **options.keywords).fit(table.X)
    except KeyboardInterrupt:
        raise CommandError("interrupted; nothing was written", exit_code=INTERRUPTED) from None


def _write_sigmas(path: Path, estimator: Any, table: Table, shape: Any) -> None:
    import numpy as np

    from closeknit.io import write_table
    from closeknit.plotting import plot_sigmas

    if is_picture(path):
        figure = new_figure((8.0, 7.0))
        plot_sigmas(None, estimator.sigmas_, figure.subplots(), shape=shape)
        save_figure(figure, path)
        return
    columns = np.column_stack([estimator.sigmas_, estimator.perplexities_])
    names = ["sigma", "perplexity"]
    write_table(path, columns, columns=names, ids=table.ids, labels=table.labels)


def _facts(estimator: Any, table: Table, perplexity: float) -> list[Fact]:
    import numpy as np

    error = float(np.abs(estimator.perplexities_ - perplexity)[estimator.converged_].max(initial=0))
    missing = int(np.count_nonzero(~estimator.converged_))
    return [
        Fact("n_samples", "points", table.n_samples),
        Fact("n_features", "features", table.n_features),
        Fact("perplexity", "perplexity", perplexity, "{:g}"),
        Fact("n_neighbors", "neighbours a point", int(estimator.neighbors_.indices.shape[1])),
        Fact("smallest_sigma", "smallest σ", float(estimator.sigmas_.min()), "{:.4g}"),
        Fact("largest_sigma", "largest σ", float(estimator.sigmas_.max()), "{:.4g}"),
        Fact("largest_perplexity_error", "largest error of a perplexity", error, "{:.1e}"),
        Fact("rows_without_bandwidth", "points without a bandwidth", missing),
    ]
