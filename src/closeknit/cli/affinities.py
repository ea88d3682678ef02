"""``closeknit affinities``: from a file to a graph of entropic affinities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.errors import INTERRUPTED, CommandError
from closeknit.cli.fitting import neighbor_facts
from closeknit.cli.groups import spelled_out
from closeknit.cli.inputs import data_facts, is_picture, read_points
from closeknit.cli.memory import warn_if_large
from closeknit.cli.outputs import check_outputs, name_after, new_figure, save_figure, write_rows
from closeknit.cli.reporting import Fact, reporting
from closeknit.progress import report

if TYPE_CHECKING:
    from closeknit.io import Table

__all__ = ["EXAMPLES", "affinities"]

EXAMPLES = """
closeknit affinities flowers.csv -o W.npz --perplexity 20

closeknit affinities cells.npz -o W.mtx --sigmas sigmas.csv --symmetric

closeknit affinities photo.png -o W.npz --sigmas map.png
"""


@spelled_out
def affinities(
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
    *,
    data: opt.DataOptions,
    affinity: opt.AffinityOptions,
    talk: opt.TalkOptions,
) -> None:
    """Compute entropic affinities: for each row of INPUT a distribution over its neighbours."""
    with reporting(talk) as reporter:
        from closeknit.graphs import symmetrize
        from closeknit.io import write_graph
        from closeknit.io.writers import GRAPHS, TABLES

        target = output or name_after(data.path, "affinities", ".npz")
        endings = (*TABLES, ".png") if is_picture(data.path) else TABLES
        check_outputs([data.path], [(target, GRAPHS), (sigmas, endings)])
        if sigmas is not None and is_picture(sigmas):
            affinity.single(f"a picture such as --sigmas {sigmas}")
        with reporter.stages():
            report("reading")
            table, shape = read_points(data)
            warn_if_large(reporter, table.X.shape, affinity, "affinities")
            estimator = _fit(table, affinity)
            report("writing")
            P = estimator.affinities_
            write_graph(target, symmetrize(P) if symmetric else P)
            if sigmas is not None:
                _write_sigmas(sigmas, estimator, affinity, table, shape)
        facts = [
            *data_facts(data, table),
            *neighbor_facts(estimator, affinity),
            *_facts(estimator, affinity.perplexities),
            Fact("symmetric", "", symmetric),
            reporter.seconds(),
        ]
        files = [
            Fact("output", "Affinities", str(target)),
            Fact("sigmas", "Bandwidths", None if sigmas is None else str(sigmas)),
        ]
        reporter.summarize(f"Entropic affinities of {data.path}", facts, files)


def _fit(table: Table, options: opt.AffinityOptions) -> Any:
    from closeknit import EntropicAffinities

    try:
        return EntropicAffinities(options.perplexities, **options.keywords).fit(table.X)
    except KeyboardInterrupt:
        raise CommandError("interrupted; nothing was written", exit_code=INTERRUPTED) from None


def _write_sigmas(
    path: Path, estimator: Any, options: opt.AffinityOptions, table: Table, shape: Any
) -> None:
    import numpy as np

    from closeknit.plotting import plot_sigmas

    if is_picture(path):
        figure = new_figure((8.0, 7.0))
        plot_sigmas(None, estimator.sigmas_, figure.subplots(), shape=shape)
        save_figure(figure, path)
        return
    perplexity = options.perplexities
    endings = [f"_{K:g}" for K in perplexity] if isinstance(perplexity, list) else [""]
    names = [f"{what}{ending}" for what in ("sigma", "perplexity") for ending in endings]
    columns = np.column_stack([estimator.sigmas_, estimator.perplexities_])
    write_rows(path, columns, names, table)


def _facts(estimator: Any, perplexity: float | list[float]) -> list[Fact]:
    import numpy as np

    converged = estimator.converged_
    error = float(np.abs(estimator.perplexities_ - perplexity)[converged].max(initial=0))
    missing = int(np.count_nonzero(~converged.reshape(len(converged), -1).all(axis=1)))
    return [
        Fact("smallest_sigma", "smallest σ", float(estimator.sigmas_.min()), "{:.4g}"),
        Fact("largest_sigma", "largest σ", float(estimator.sigmas_.max()), "{:.4g}"),
        Fact("largest_perplexity_error", "largest error of a perplexity", error, "{:.1e}"),
        Fact("rows_without_bandwidth", "points without a bandwidth", missing),
    ]
