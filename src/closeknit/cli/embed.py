"""``closeknit embed``: from a file to a map, and new points on it."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli import blocks
from closeknit.cli import outputs as out
from closeknit.cli.command import Fact, option
from closeknit.cli.data import DataCommand, InputKind, holds_affinities, input_kind
from closeknit.cli.errors import CommandError, Interrupted, UsageError
from closeknit.cli.fitting import TITLES, Method, fit, neighbors_kept, stop_fact, transform
from closeknit.cli.memory import warn_if_large
from closeknit.cli.neighborhood import AffinityCommand, Approximation, neighbor_facts
from closeknit.cli.picture import Picture
from closeknit.progress import report

if TYPE_CHECKING:
    from closeknit.io import Table

#: Fields that apply to a model that is fitted already; the others describe a fit.
_PLACING = {"path", "output", "plot", "color", "model", "threads", "seed", "quiet", "json"}
_READING = {"label", "ids", "key", "missing", "sep", "decimal", "encoding", "header"}
_NOT_DISTRIBUTED = {"neighbors", "save_model"}
_MINIMIZING = {"lam", "max_iter", "time_limit"}


@dataclass(frozen=True, kw_only=True)
class Embed(AffinityCommand, DataCommand):
    """Embed the rows of INPUT: who is close to whom, as a map.

    Numeric columns are the data; the others are labels, kept beside the map.

    Ctrl-C keeps the map so far.

    Examples
    --------
    closeknit embed flowers.csv --plot flowers.png --color kind

    closeknit embed flowers.csv --plot flowers.html

    closeknit embed - --standardize < flowers.csv > map.csv

    closeknit embed cells.h5ad -o map.parquet --method ee --perplexity 50

    closeknit embed old.npy --save-model old.closeknit --transform new.npy

    closeknit embed more.npy --model old.closeknit -o more.csv

    closeknit embed large.parquet --workers 4 -o map.parquet
    """

    output: Path | None = out.output_file(out.TABLE_FILE, "INPUT-METHOD.csv")
    method: Method = option(
        "The embedding: tsne, ee, ssne, sne, tee or eigenmaps.",
        flags="--method -m",
        default=Method.tsne,
        metavar="NAME",
    )
    plot: Path | None = option(
        "Draw it, too: .png, .pdf or .svg, or .html, a page to look around in."
    )
    color: str | None = option(
        "Colour the picture by it.", shown="the first label of few values", metavar="COLUMN"
    )
    dims: int = option("Dimensions of the map.", default=2, min=1)
    lam: str | None = option(
        "Weight λ of the repulsion; a list such as 0.1,1,10 is followed in turn.",
        shown="the method's own",
        metavar="NUMBER|auto|LIST",
    )
    max_iter: int = option("Most iterations of each stage, that is per λ.", default=1000, min=0)
    time_limit: float | None = option(
        "Stop minimising after so long and keep what is there.", metavar="SECONDS", min=0.0
    )
    kind: InputKind = input_kind()
    save_model: Path | None = out.model_file()
    transform: list[Path] | None = option(
        "Place the rows of this file on the map, too. May be repeated.", metavar="NEW"
    )
    model: Path | None = option("Place INPUT on the map of a saved model.")
    cluster: str | None = option(
        "Fit on the Dask cluster of this scheduler.", metavar="ADDRESS", shown="this process"
    )
    workers: int | None = option(
        "Fit on this many worker processes of this machine.", min=1, shown="this process"
    )

    def run(self) -> None:
        """See `Command`."""
        if self.model is not None:
            useless = self.given - _PLACING - _READING
            self._refuse(useless, "--model is fitted already")
            self._place(self.model)
            return
        if self.method is Method.eigenmaps:
            useless = self.given & _MINIMIZING
            self._refuse(useless, "--method eigenmaps minimises in one step")
        if self.plot is not None and self.dims > 3:
            raise UsageError(f"--plot cannot show --dims {self.dims}; use up to 3, or no --plot")
        if self.plot is not None and self.plot.suffix.lower() == ".html" and self.dims != 2:
            raise UsageError(f"--plot {self.plot} shows two dimensions, not --dims {self.dims}")
        if self.save_model is not None:
            self.refuse_unprepared("--save-model")
        if self.on_cluster:
            useless = self.given & _NOT_DISTRIBUTED
            self._refuse(useless, "fits on a cluster do not know it")
            if self.method in (Method.sne, Method.tee):
                raise UsageError(f"--method {self.method} does not run on a cluster; use tsne")
        with blocks.client(self.cluster, self.workers) if self.on_cluster else nullcontext():
            self._fit(self._make_keywords())

    @property
    def on_cluster(self) -> bool:
        """Whether a Dask cluster does the work."""
        return self.cluster is not None or self.workers is not None

    def read(self, least: int = 2) -> Table:
        """Read the input, on a cluster in blocks where that can be."""
        table = blocks.read(self) if self.on_cluster else None
        return super().read(least) if table is None else table

    def _refuse(self, useless: frozenset[str], why: str) -> None:
        """Refuse options that were given but have no effect."""
        if useless:
            name = {"kind": "input"}.get(min(useless), min(useless)).replace("_", "-")
            raise UsageError(f"--{name} has no use here: {why}; leave it out")

    def _files(self) -> list[Fact]:
        """The files to write, checked."""
        from closeknit.io.writers import MAPS

        given = None if self.output is None or str(self.output) == "-" else self.output
        suffix = ".csv" if given is None else "".join(given.suffixes[-2:])
        folder = (given or Path()).parent
        what = "placed" if self.model else self.method.value
        target = self.output or out.name_after(self.path, what, ".csv")
        inputs = [*(self.transform or ()), *([] if self.model is None else [self.model])]
        placed = [
            folder / out.name_after(one, self.method.value, suffix) for one in self.transform or ()
        ]
        tables = [(path, MAPS) for path in (target, *placed)]
        out.check_outputs(
            [self.path, *inputs], [*tables, (self.plot, None), (self.save_model, None)]
        )
        if self.plot is not None:
            out.picture_format(self.plot)
        return [
            Fact("output", "Embedding", target),
            Fact("plot", "Picture", self.plot),
            Fact("model", "Model", self.save_model),
            Fact("transformed", "New points", placed),
        ]

    def _make_keywords(self) -> dict[str, Any]:
        """Parameters of the minimiser."""
        if self.method is Method.eigenmaps:
            return {}
        found: dict[str, Any] = {"max_iter": self.max_iter, "time_limit": self.time_limit}
        if self.lam is not None:
            found["lam"] = _parse_lam(self.lam)
        return found

    def _fit(self, minimizer: dict[str, Any]) -> None:
        import numpy as np

        files = self._files()
        with self.stages() as stages:
            report("reading")
            table = self.read()
            new = [self.read_like(table.feature_names, path) for path in self.transform or ()]
            picture = self._picture(table)
            preparation = self.preparation(table)
            prepared = preparation(table)
            X, given = self._prepare(prepared)
            model = self._make(given, minimizer)
            fit(model, X, stages)
            interrupted = getattr(model, "stopped_because_", None) == "interrupted"
            report("writing")
            positions = model.embedding_
            if not blocks.is_in_blocks(table):
                positions = np.asarray(positions)
            _write_map(files[0].value, positions, model, table, self.path)
            if self.save_model is not None:
                out.write_model(model, prepared, self.save_model)
            kept, placed = None, []
            if not interrupted:
                for one, path in zip(new, files[3].value, strict=True):
                    placed.append(transform(model, preparation(one).X))
                    _write_map(path, placed[-1], model, one)
                if not self.on_cluster:
                    report("quality")
                    kept = neighbors_kept(model, self.seed)
            if picture is not None:
                report("drawing")
                picture.draw(positions, _title(model), placed, new)
        facts = self._facts(model, table, preparation.facts, kept)
        self.summarize(f"{_title(model)} of {self.path}", facts, files)
        if interrupted:
            left_out = ", ".join(map(str, self.transform or ()))
            raise Interrupted(
                f"interrupted after {model.n_iter_} iterations; the embedding so far is in "
                f"{files[0].value}" + (f"; {left_out} not placed" if left_out else "")
            )

    def _prepare(self, table: Table) -> tuple[Any, bool]:
        """The matrix to fit to, and whether it holds affinities."""
        X = table.X
        if holds_affinities(self.kind, X):
            from closeknit.graphs import symmetrize

            # The rows of SNE are distributions; the other models take one for all pairs.
            if self.method is not Method.sne:
                X = symmetrize(X, n_jobs=self.n_jobs)
            return X, True
        if self.on_cluster:
            return X, False
        work = {Method.tsne: "graph", Method.eigenmaps: "eigenvectors"}.get(self.method, "spectral")
        warn_if_large(self, X.shape, work, self.dims + 1 if work == "eigenvectors" else 0)
        return X, False

    def _make(self, given: bool, minimizer: dict[str, Any]) -> Any:
        """The estimator, for affinities that are given or data."""
        import closeknit
        from closeknit.io.anndata import METHODS

        if self.on_cluster and given:
            raise UsageError("affinities that are given do not run on a cluster; give data")
        home: Any = closeknit.distributed if self.on_cluster else closeknit
        affinity: Any = "precomputed" if given else "entropic"
        if self.neighbors is not Approximation.auto and not given:
            # Embeddings leave the search to their affinities.
            affinity = closeknit.EntropicAffinities(self.perplexities, **self.keywords)
        keywords = {name: value for name, value in self.keywords.items() if name != "neighbors"}
        return getattr(home, METHODS[self.method.value])(
            self.dims, perplexity=self.perplexities, affinity=affinity, **keywords, **minimizer
        )

    def _facts(
        self, model: Any, table: Table, prepared: list[Fact], kept: float | None
    ) -> list[Fact]:
        affinities = model.affinity_estimator_
        return [
            Fact("method", "method", self.method),
            *self.data_facts(table, affinities=affinities is None),
            *prepared,
            Fact("n_components", "dimensions of the map", self.dims),
            *neighbor_facts(affinities),
            Fact("lam", "λ", getattr(model, "lam_", None), "{:.4g}"),
            Fact("objective", "objective", getattr(model, "objective_", None), "{:.6g}"),
            Fact("kl_divergence", "KL(P‖Q)", getattr(model, "kl_divergence_", None), "{:.4g}"),
            Fact("n_iter", "iterations", getattr(model, "n_iter_", None)),
            stop_fact(model),
            Fact("neighbor_recall", "neighbours kept", kept, "{:.1%}"),
            self.seconds(),
        ]

    def _place(self, path: Path) -> None:
        """Put the rows of a file on the map of a saved model."""
        from closeknit.io import load

        files = self._files()[:2]
        with self.stages():
            report("reading")
            model = load(path)
            if type(model).__name__ not in TITLES:
                raise CommandError(
                    f"{path} holds {type(model).__name__}, which has no map; save one with "
                    "closeknit embed --save-model"
                )
            model.set_params(n_jobs=self.n_jobs)
            # The names the model was fitted with; estimators would want a frame for them.
            names = tuple(vars(model).pop("feature_names_in_", ()))
            table = self.read_like(names, self.path)
            picture = self._picture(table)
            placed = transform(model, table.X)
            report("writing")
            _write_map(files[0].value, placed, model, table, self.path)
            if picture is not None:
                picture.draw(placed, _title(model))
        facts = [
            Fact("fitted_model", "model", path),
            *self.data_facts(table, affinities=model.affinity_estimator_ is None),
            Fact("n_fitted", "points of the model", len(model.embedding_)),
            Fact("n_components", "dimensions of the map", int(placed.shape[1])),
            self.seconds(),
        ]
        self.summarize(f"{self.path} on the map of {path}", facts, files)

    def _picture(self, table: Table) -> Picture | None:
        """What to draw, if anything; a colour that is none is refused before the work."""
        if self.plot is None and self.color is None:
            return None
        picture = Picture.of(table, self.plot, self.color)
        if self.color is not None and self.color not in table.labels:
            self.warn(
                f"--color {self.color} is one of the columns that are embedded; if it is a class, "
                f"keep it out with --label {self.color}"
            )
        return None if self.plot is None else picture


def _title(model: Any) -> str:
    return TITLES[type(model).__name__]


def _write_map(path: Path, Y: Any, model: Any, table: Table, source: Path | None = None) -> None:
    """Write positions, with the names and labels of the rows beside them."""
    from closeknit.io.anndata import METHODS

    name = next(short for short, known in METHODS.items() if known == type(model).__name__)
    columns = [f"{name}{i}" for i in range(Y.shape[1])]
    write = blocks.write_map if blocks.is_in_blocks(table) else out.write_rows
    write(path, Y, columns, table, source)


def _parse_lam(text: str) -> Any:
    if text == "auto":
        return text
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(
            f"--lam {text} is not a number; use one such as 0.5, a list such as 0.1,1,10, or auto"
        ) from None
    return values[0] if len(values) == 1 else values
