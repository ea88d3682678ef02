"""``closeknit cluster``: which rows of a file belong together."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.errors import INTERRUPTED, USAGE, CommandError
from closeknit.cli.files import check_outputs, named_after, read
from closeknit.cli.maps import save_model as keep_model
from closeknit.cli.memory import warn_if_large
from closeknit.cli.methods import holds_affinities
from closeknit.cli.session import Fact, session

if TYPE_CHECKING:
    from closeknit.io import Table

__all__ = ["EXAMPLES", "Clustering", "check_count", "cluster", "cluster_facts"]

EXAMPLES = """
closeknit cluster moons.csv --clusters 2 --perplexity 10 -o clusters.csv

closeknit cluster cells.h5ad --method meanshift --save-model cells.closeknit
"""


class Clustering(StrEnum):
    """How clusters are found."""

    spectral = "spectral"
    meanshift = "meanshift"


def cluster(
    path: opt.Input,
    clusters: Annotated[int | None, opt.how_many("--clusters", "clusters")] = None,
    output: Annotated[Path | None, opt.output(opt.TABLE_FILE, "INPUT-clusters.csv")] = None,
    method: Annotated[
        Clustering, typer.Option("--method", "-m", help="How to find clusters.")
    ] = Clustering.spectral,
    save_model: opt.SaveModel = None,
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
    """Cluster the rows of INPUT on the graph of their entropic affinities."""
    with session(quiet, json) as current:
        from closeknit.io.writers import TABLES

        start = perf_counter()
        check_count(method, clusters, "--clusters")
        target = output or named_after(path, "clusters", ".csv")
        check_outputs([path], [(target, TABLES), (save_model, None)])
        data = opt.DataOptions(path, label, ids, key, missing)
        options = opt.AffinityOptions(perplexity, n_neighbors, metric, neighbors, seed, threads)
        with current.stages() as stages:
            stages.begin("reading")
            table = read(data)
            given = holds_affinities(kind, table.X)
            if not given:
                work = "modes" if method is Clustering.meanshift else "eigenvectors"
                warn_if_large(current, table.X.shape, options, work, n_vectors=clusters or 0)
            stages.begin("starting")
            estimator = _make(method, options, clusters, given)
            labels = _fit(estimator, table, given)
            stages.begin("writing")
            _write(target, labels, table)
            if save_model is not None:
                keep_model(estimator, table, save_model)
        current.report(
            f"Clusters of {path}",
            [
                Fact("input", "", str(path)),
                Fact("method", "method", method.value),
                Fact("n_samples", "points", table.n_samples),
                *cluster_facts(labels, "clusters"),
                Fact("seconds", "seconds", perf_counter() - start, "{:.1f}"),
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
    >>> import numpy as np
    >>> [fact.value for fact in cluster_facts(np.array([0, 0, 1, -1]), "clusters")]
    [2, [2, 1], 1]
    """
    import numpy as np

    sizes = np.sort(np.bincount(labels[labels >= 0]))[::-1]
    none = int(np.count_nonzero(labels < 0))
    return [
        Fact(f"n_{what}", what, len(sizes)),
        Fact("sizes", "sizes" if len(sizes) <= 8 else "", sizes.tolist()),
        Fact("n_without", f"in none of the {what}", none),
    ]


def check_count(method: Clustering, count: int | None, flag: str) -> None:
    """Complain if a number of clusters is missing, or of no use.

    Parameters
    ----------
    method : Clustering
    count : int or None
    flag : str
        What the option is called.

    Examples
    --------
    >>> check_count(Clustering.spectral, 5, "--clusters")
    """
    if method is Clustering.spectral and count is None:
        raise CommandError(
            f"--method spectral must know how many to look for; say {flag} 5, or use "
            "--method meanshift",
            exit_code=USAGE,
        )
    if method is Clustering.meanshift and count is not None:
        raise CommandError(
            f"{flag} has no use with --method meanshift, which finds as many as there are; "
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
        return MeanShift(options.perplexity, **keywords)
    assert clusters is not None  # check_count has seen to it
    affinity: Any = "precomputed"
    if not given:
        affinity = EntropicAffinities(options.perplexity, **options.keywords)
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


def _write(path: Path, labels: Any, table: Table) -> None:
    from closeknit.io import write_table

    write_table(
        path,
        labels.reshape(-1, 1),
        columns=["cluster"],
        ids=table.ids,
        labels=table.labels,
    )
