"""``closeknit affinities``: from a file to a graph of entropic affinities."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli import outputs as out
from closeknit.cli.command import Fact, option
from closeknit.cli.data import DataCommand, is_picture, read_image
from closeknit.cli.errors import Interrupted
from closeknit.cli.memory import warn_if_large
from closeknit.cli.neighborhood import AffinityCommand, bandwidth_facts, neighbor_facts
from closeknit.progress import report

if TYPE_CHECKING:
    from closeknit.io import Table


@dataclass(frozen=True, kw_only=True)
class Affinities(AffinityCommand, DataCommand):
    """Compute entropic affinities: for each row of INPUT a distribution over its neighbours.

    Examples
    --------
    closeknit affinities flowers.csv -o W.npz --perplexity 20

    closeknit affinities cells.npz -o W.mtx --sigmas sigmas.csv --symmetric

    closeknit affinities photo.png -o W.npz --sigmas map.png
    """

    output: Path | None = out.output_file(out.GRAPH_FILE, "INPUT-affinities.npz")
    sigmas: Path | None = option(
        "Write each point's bandwidth σ, too: .csv, .tsv, .parquet, .npy or .npz; for a picture "
        "also as one, .png."
    )
    symmetric: bool = option("Write (P + Pᵀ)/2 instead of P.", flags="--symmetric", default=False)

    def run(self) -> None:
        """See `Command`."""
        from closeknit.graphs import symmetrize
        from closeknit.io import write_graph
        from closeknit.io.writers import GRAPHS, TABLES

        target = self.output or out.name_after(self.path, "affinities", ".npz")
        endings = (*TABLES, ".png") if is_picture(self.path) else TABLES
        out.check_outputs([self.path], [(target, GRAPHS), (self.sigmas, endings)])
        if self.sigmas is not None and is_picture(self.sigmas):
            self.single_perplexity(f"a picture such as --sigmas {self.sigmas}")
        with self.stages():
            report("reading")
            table, shape, prepared = self._read_points()
            warn_if_large(self, table.X.shape, "affinities")
            estimator = self._fit(table)
            report("writing")
            P = estimator.affinities_
            write_graph(target, symmetrize(P, n_jobs=self.n_jobs) if self.symmetric else P)
            if self.sigmas is not None:
                _write_sigmas(self.sigmas, estimator, table, shape)
        facts = [
            *self.data_facts(table),
            *prepared,
            *neighbor_facts(estimator),
            Fact("smallest_sigma", "smallest σ", float(estimator.sigmas_.min()), "{:.4g}"),
            Fact("largest_sigma", "largest σ", float(estimator.sigmas_.max()), "{:.4g}"),
            *bandwidth_facts(estimator),
            Fact("symmetric", "", self.symmetric),
            self.seconds(),
        ]
        files = [Fact("output", "Affinities", target), Fact("sigmas", "Bandwidths", self.sigmas)]
        self.summarize(f"Entropic affinities of {self.path}", facts, files)

    def _read_points(self) -> tuple[Table, Any, list[Fact]]:
        """The input, and the shape of a picture, whose pixels are points (i, j, L, u, v)."""
        if not is_picture(self.path):
            table, prepared = self.read_prepared()
            return table, None, prepared
        from closeknit.apps import pixel_features
        from closeknit.io import Table

        image = read_image(self.path)
        names = ("row", "column", "L", "u", "v")
        return Table(pixel_features(image), names, kind="image"), image.shape[:2], []

    def _fit(self, table: Table) -> Any:
        from closeknit import EntropicAffinities

        try:
            return EntropicAffinities(self.perplexities, **self.keywords).fit(table.X)
        except KeyboardInterrupt:
            raise Interrupted("interrupted; nothing was written") from None


def _write_sigmas(path: Path, estimator: Any, table: Table, shape: Any) -> None:
    import numpy as np

    if is_picture(path):
        from closeknit.plotting import plot_sigmas

        figure = out.new_figure((8.0, 7.0))
        plot_sigmas(None, estimator.sigmas_, figure.subplots(), shape=shape)
        out.save_figure(figure, path)
        return
    perplexity = estimator.perplexity_
    endings = [f"_{K:g}" for K in perplexity] if isinstance(perplexity, list) else [""]
    names = [f"{what}{ending}" for what in ("sigma", "perplexity") for ending in endings]
    columns = np.column_stack([estimator.sigmas_, estimator.perplexities_])
    out.write_rows(path, columns, names, table)
