"""``closeknit cluster``: which rows of a file belong together."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.errors import INTERRUPTED, USAGE, CommandError
from closeknit.cli.fitting import neighbor_facts
from closeknit.cli.groups import spelled_out
from closeknit.cli.inputs import data_facts, holds_affinities, read
from closeknit.cli.memory import warn_if_large
from closeknit.cli.outputs import check_outputs, name_after, write_rows
from closeknit.cli.outputs import save_model as write_model
from closeknit.cli.reporting import Fact, reporting
from closeknit.progress import report

if TYPE_CHECKING:
    from closeknit.io import Table

__all__ = ["EXAMPLES", "Clustering", "check_number", "cluster", "cluster_facts"]

EXAMPLES = """
closeknit cluster moons.csv --clusters 2 --perplexity 10 -o clusters.csv

closeknit cluster cells.h5ad --method meanshift --save-model cells.closeknit
"""


class Clustering(StrEnum):
    """How clusters are found."""

    spectral = "spectral"
    meanshift = "meanshift"


@spelled_out
def cluster(
    clusters: Annotated[int | None, opt.number_of("--clusters", "clusters")] = None,
    output: Annotated[Path | None, opt.output(opt.TABLE_FILE, "INPUT-clusters.csv")] = None,
    method: Annotated[
        Clustering, typer.Option("--method", "-m", help="How to find clusters.")
    ] = Clustering.spectral,
    kind: opt.Kind = opt.InputKind.auto,
    save_model: opt.SaveModel = None,
    *,
    data: opt.DataOptions,
    affinity: opt.AffinityOptions,
    talk: opt.TalkOptions,
) -> None:
    """Cluster the rows of INPUT on the graph of their entropic affinities."""
    with reporting(talk) as reporter:
        from closeknit.io.writers import TABLES

        check_number(method, clusters, "--clusters")
        target = output or name_after(data.path, "clusters", ".csv")
        check_outputs([data.path], [(target, TABLES), (save_model, None)])
        with reporter.stages():
            report("reading")
            table = read(data)
            given = holds_affinities(kind, table.X)
            if not given:
                work = "modes" if method is Clustering.meanshift else "eigenvectors"
                warn_if_large(reporter, table.X.shape, affinity, work, n_vectors=clusters or 0)
            report("starting")
            estimator = _make(method, affinity, clusters, given)
            labels = _fit(estimator, table, given)
            report("writing")
            write_rows(target, labels.reshape(-1, 1), ["cluster"], table)
            if save_model is not None:
                write_model(estimator, table, save_model)
        searched = getattr(estimator, "affinity_estimator_", None)
        reporter.summarize(
            f"Clusters of {data.path}",
            [
                Fact("method", "method", method.value),
                *data_facts(data, table, affinities=given),
                *neighbor_facts(searched, affinity),
                *cluster_facts(labels, "clusters"),
                reporter.seconds(),
            ],
            [
                Fact("output", "Clusters", str(target)),
                Fact("model", "Model", None if save_model is None else str(save_model)),
            ],
        )
        if getattr(estimator, "stopped_because_", None) == "interrupted":
            raise CommandError(
                f"interrupted; the clusters found so far are in {target}", exit_code=INTERRUPTED
            )


def cluster_facts(labels: Any, what: str) -> list[Fact]:
    """How many clusters there are, and how large.

    Parameters
    ----------
    labels : ndarray of int
        -1 stands for none.
    what : str

    Returns
    -------
    list of Fact

    Examples
    --------
    >>> from numpy import array
    >>> [fact.value for fact in cluster_facts(array([0, 0, 1, -1]), "clusters")]
    [2, [2, 1], 1]
    """
    import numpy as np

    sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1]
    none = int(np.count_nonzero(labels < 0))
    return [
        Fact(f"n_{what}", what, len(sizes)),
        Fact("sizes", "sizes" if len(sizes) <= 8 else "", sizes.tolist()),
        Fact("n_without", "unassigned", none),
    ]


def check_number(method: Clustering, count: int | None, flag: str) -> None:
    """Complain if a number of clusters is missing, or of no use.

    Parameters
    ----------
    method : Clustering
    count : int or None
    flag : str
        What the option is called.

    Examples
    --------
    >>> check_number(Clustering.spectral, 5, "--clusters")
    """
    if method is Clustering.spectral and count is None:
        raise CommandError(
            f"--method spectral needs the number of clusters; pass {flag} 5, or use "
            "--method meanshift",
            exit_code=USAGE,
        )
    if method is Clustering.meanshift and count is not None:
        raise CommandError(
            f"{flag} has no use with --method meanshift, which finds their number; "
            "leave it out, or lower --perplexity for more",
            exit_code=USAGE,
        )


def _check_points(options: opt.AffinityOptions, given: bool) -> None:
    if given or options.metric != "euclidean":
        what = "affinities" if given else f"--metric {options.metric}"
        raise CommandError(
            f"--method meanshift needs points and Euclidean distances, not {what}; use --method "
            "spectral",
            exit_code=USAGE,
        )


def _make(
    method: Clustering, options: opt.AffinityOptions, clusters: int | None, given: bool
) -> Any:
    from closeknit import EntropicAffinities
    from closeknit.apps import MeanShift, SpectralClustering

    if method is Clustering.meanshift:
        _check_points(options, given)
        keywords = {name: value for name, value in options.keywords.items() if name != "metric"}
        return MeanShift(options.single("mean shift"), **keywords)
    assert clusters is not None  # check_number has seen to it
    affinity: Any = "precomputed"
    if not given:
        affinity = EntropicAffinities(options.perplexities, **options.keywords)
    return SpectralClustering(
        clusters,
        affinity=affinity,
        metric=options.metric,
        n_jobs=options.n_jobs,
        random_state=options.seed,
    )


def _fit(estimator: Any, table: Table, given: bool) -> Any:
    from closeknit.graphs import symmetrize

    return estimator.fit(symmetrize(table.X) if given else table.X).labels_
