"""``closeknit cluster``: which rows of a file belong together."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from closeknit.cli import outputs as out
from closeknit.cli.command import Fact, option
from closeknit.cli.data import DataCommand, InputKind, holds_affinities, input_kind
from closeknit.cli.errors import Interrupted, UsageError
from closeknit.cli.memory import warn_if_large
from closeknit.cli.neighborhood import AffinityCommand, neighbor_facts
from closeknit.progress import report

#: How clusters are found, and the work that is.
Clustering = StrEnum("Clustering", ["spectral", "meanshift"])
WORK = {Clustering.spectral: "eigenvectors", Clustering.meanshift: "modes"}


def cluster_options(plural: str) -> tuple[Any, Any]:
    """The options that say how many clusters to look for, and how; `plural` is their name."""
    words = f"Number of {plural}; meanshift finds it out by itself."
    number = option(words, flags=f"--{plural} -k", min=1, metavar="INTEGER")
    return number, option(
        f"How to find {plural}.", flags="--method -m", default=Clustering.spectral
    )


@dataclass(frozen=True, kw_only=True)
class Cluster(AffinityCommand, DataCommand):
    """Cluster the rows of INPUT on the graph of their entropic affinities.

    Examples
    --------
    closeknit cluster moons.csv --clusters 2 --perplexity 10 -o clusters.csv

    closeknit cluster moons.csv --clusters 2 --plot moons.png

    closeknit cluster cells.h5ad --method meanshift --save-model cells.closeknit
    """

    clusters: int | None = cluster_options("clusters")[0]
    output: Path | None = out.output_file(out.TABLE_FILE, "INPUT-clusters.csv")
    method: Clustering = cluster_options("clusters")[1]
    plot: Path | None = option(
        "Draw the clusters, too: .png, .pdf or .svg. More than two features are shown by their "
        "first two principal components, graphs by Laplacian eigenmaps."
    )
    kind: InputKind = input_kind()
    save_model: Path | None = out.model_file()

    def run(self) -> None:
        """See `Command`."""
        from closeknit.graphs import symmetrize
        from closeknit.io.writers import MAPS

        check_n_clusters(self.method, self.clusters, "--clusters")
        target = self.output or out.name_after(self.path, "clusters", ".csv")
        out.check_outputs([self.path], [(target, MAPS), (self.plot, None), (self.save_model, None)])
        if self.plot is not None:
            out.picture_format(self.plot)
        if self.save_model is not None:
            self.refuse_unprepared("--save-model")
        with self.stages():
            report("reading")
            table, prepared = self.read_prepared()
            given = holds_affinities(self.kind, table.X)
            if not given:
                warn_if_large(self, table.X.shape, WORK[self.method], self.clusters or 0)
            report("starting")
            X = symmetrize(table.X, n_jobs=self.n_jobs) if given else table.X
            estimator = self._make(given).fit(X)
            report("writing")
            labels = estimator.labels_.reshape(-1, 1)
            out.write_rows(target, labels, ["cluster"], table, self.path)
            if self.plot is not None:
                self._draw(self.plot, estimator, table)
            if self.save_model is not None:
                out.write_model(estimator, table, self.save_model)
        facts = [
            Fact("method", "method", self.method),
            *self.data_facts(table, affinities=given),
            *prepared,
            *neighbor_facts(getattr(estimator, "affinity_estimator_", None)),
            *cluster_facts(estimator.labels_, "clusters"),
            self.seconds(),
        ]
        files = [
            Fact("output", "Clusters", target),
            Fact("plot", "Picture", self.plot),
            Fact("model", "Model", self.save_model),
        ]
        self.summarize(f"Clusters of {self.path}", facts, files)
        if getattr(estimator, "stopped_because_", None) == "interrupted":
            raise Interrupted(f"interrupted; the clusters found so far are in {target}")

    def _draw(self, path: Path, estimator: Any, table: Any) -> None:
        import numpy as np
        from scipy import sparse
        from sklearn.decomposition import PCA, TruncatedSVD

        from closeknit import LaplacianEigenmaps
        from closeknit.plotting import plot_embedding

        X, projection = table.X, ""
        if self.metric == "precomputed" or getattr(estimator, "affinity", "") == "precomputed":
            eigenmaps = LaplacianEigenmaps(
                affinity="precomputed", n_jobs=self.n_jobs, random_state=self.seed
            )
            X = eigenmaps.fit_transform(estimator.affinities_)
            projection = ", by Laplacian eigenmaps"
        elif X.shape[1] > 2:
            method = TruncatedSVD if sparse.issparse(X) else PCA
            X = method(2, random_state=self.seed).fit_transform(X)
            projection = ", by the first two principal components"
        X = np.asarray(X.toarray() if sparse.issparse(X) else X)
        figure = out.new_figure((8.0, 7.0))
        axes = figure.add_subplot()
        plot_embedding(X, estimator.labels_, ax=axes, color_title="cluster")
        axes.set_title(f"Clusters of {self.path.name}{projection}")
        out.save_figure(figure, path)

    def _make(self, given: bool) -> Any:
        from closeknit import EntropicAffinities
        from closeknit.apps import MeanShift, SpectralClustering

        keywords = self.keywords
        if self.method is Clustering.meanshift:
            if given or self.metric != "euclidean":
                what = "affinities" if given else f"--metric {self.metric}"
                raise UsageError(
                    "--method meanshift needs points and Euclidean distances, not "
                    f"{what}; use --method spectral"
                )
            del keywords["metric"]
            return MeanShift(self.single_perplexity("mean shift"), **keywords)
        assert self.clusters is not None  # check_n_clusters has made sure of it
        affinity = "precomputed" if given else EntropicAffinities(self.perplexities, **keywords)
        return SpectralClustering(
            self.clusters,
            affinity=affinity,
            metric=self.metric,
            n_jobs=self.n_jobs,
            random_state=self.seed,
        )


def cluster_facts(labels: Any, plural: str) -> list[Fact]:
    """How many clusters there are, and how large.

    Parameters
    ----------
    labels : ndarray of int
        -1 stands for none.
    plural : str

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
        Fact(f"n_{plural}", plural, len(sizes)),
        Fact("sizes", "sizes" if len(sizes) <= 8 else "", sizes.tolist()),
        Fact("n_without", "unassigned", none),
    ]


def check_n_clusters(method: Clustering, count: int | None, flag: str) -> None:
    """Raise an error if a number of clusters is missing, or of no use.

    Parameters
    ----------
    method : Clustering
    count : int or None
    flag : str
        What the option is called.

    Examples
    --------
    >>> check_n_clusters(Clustering.spectral, 5, "--clusters")
    """
    if method is Clustering.spectral and count is None:
        raise UsageError(
            f"--method spectral needs the number of {flag[2:]}; pass for example {flag} 5, or use "
            "--method meanshift, which finds it"
        )
    if method is Clustering.meanshift and count is not None:
        raise UsageError(
            f"{flag} has no use with --method meanshift, which finds their number; "
            "leave it out, or lower --perplexity for more"
        )
