"""``closeknit embed``: from a file to a map, and new points on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.errors import INTERRUPTED, USAGE, CommandError
from closeknit.cli.files import (
    check_outputs,
    named_after,
    picture_format,
    read,
)
from closeknit.cli.maps import colors_of, draw_map, read_like, save_model, title_of, write_map
from closeknit.cli.memory import warn_if_large
from closeknit.cli.methods import (
    TITLES,
    Method,
    fit,
    holds_affinities,
    make_estimator,
    recall,
    stop_fact,
    transform,
)
from closeknit.cli.session import Fact, Session, session

if TYPE_CHECKING:
    from closeknit.io import Table

__all__ = ["EXAMPLES", "embed"]

EXAMPLES = """
closeknit embed flowers.csv --plot flowers.png --color kind

closeknit embed cells.h5ad -o map.parquet --method ee --perplexity 50

closeknit embed old.npy --save-model old.closeknit --transform new.npy

closeknit embed more.npy --model old.closeknit -o more.csv
"""

#: Options that describe a fit, and mean nothing for a model that is fitted.
_FITTING = (
    "method",
    "perplexity",
    "n_neighbors",
    "metric",
    "neighbors",
    "lam",
    "dims",
    "max_iter",
    "time_limit",
    "kind",
    "save_model",
    "new",
)
_MINIMIZING = ("lam", "max_iter", "time_limit")


@dataclass(frozen=True)
class _Outputs:
    """The files to write."""

    table: Path
    plot: Path | None
    model: Path | None
    new: tuple[Path, ...]

    def check(self, inputs: list[Path]) -> None:
        from closeknit.io.writers import TABLES

        tables = [(path, TABLES) for path in (self.table, *self.new)]
        check_outputs(inputs, [*tables, (self.plot, None), (self.model, None)])
        if self.plot is not None:
            picture_format(self.plot)

    def facts(self) -> list[Fact]:
        return [
            Fact("output", "Embedding", str(self.table)),
            Fact("plot", "Picture", None if self.plot is None else str(self.plot)),
            Fact("model", "Model", None if self.model is None else str(self.model)),
            Fact("transformed", "New points", [str(path) for path in self.new]),
        ]


def embed(
    ctx: typer.Context,
    path: opt.Input,
    output: Annotated[Path | None, opt.output(opt.TABLE_FILE, "INPUT-METHOD.csv")] = None,
    method: Annotated[
        Method,
        typer.Option(
            "--method",
            "-m",
            metavar="NAME",
            help="The embedding: tsne, ee, ssne, sne, tee or eigenmaps.",
        ),
    ] = Method.tsne,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", help="Draw it, too: .png, .pdf or .svg.", show_default=False),
    ] = None,
    color: Annotated[
        str | None,
        typer.Option(
            "--color", metavar="COLUMN", help="Colour the picture by it.", show_default=False
        ),
    ] = None,
    dims: Annotated[int, typer.Option("--dims", min=1, help="Dimensions of the map.")] = 2,
    perplexity: opt.Perplexity = 30.0,
    n_neighbors: opt.NNeighbors = None,
    metric: opt.Metric = "euclidean",
    neighbors: opt.Neighbors = opt.Approximation.auto,
    lam: Annotated[
        str | None,
        typer.Option(
            "--lam",
            metavar="NUMBER|auto|LIST",
            help="Weight λ of the repulsion; a list such as 0.1,1,10 is followed in turn.",
            show_default="the method's own",
        ),
    ] = None,
    max_iter: Annotated[
        int, typer.Option("--max-iter", min=0, help="Most iterations of the minimiser.")
    ] = 1000,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            min=0.0,
            help="Stop minimising after so long and keep what is there.",
            show_default=False,
        ),
    ] = None,
    kind: opt.Kind = opt.InputKind.auto,
    save_model: opt.SaveModel = None,
    new: Annotated[
        list[Path] | None,
        typer.Option(
            "--transform",
            metavar="NEW",
            help="Place the rows of this file on the map, too. May be repeated.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model", help="Place INPUT on the map of a saved model.", show_default=False
        ),
    ] = None,
    label: opt.Label = None,
    ids: opt.Id = None,
    key: opt.Key = None,
    missing: opt.Missing = opt.OnMissing.error,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
    quiet: opt.Quiet = False,
    json: opt.Json = False,
) -> None:
    """Embed the rows of INPUT: who is close to whom, as a map.

    Numeric columns are the data; the others are labels, kept beside the map.

    Ctrl-C keeps the map as far as it has come.
    """
    with session(quiet, json) as current:
        data = opt.DataOptions(path, label, ids, key, missing)
        affinity = opt.AffinityOptions(perplexity, n_neighbors, metric, neighbors, seed, threads)
        suffix = ".csv" if output is None else "".join(output.suffixes[-2:])
        outputs = _Outputs(
            table=output or named_after(path, "placed" if model else method.value, ".csv"),
            plot=plot,
            model=save_model,
            new=tuple(
                (output or Path()).parent / named_after(one, method.value, suffix)
                for one in new or ()
            ),
        )
        if model is not None:
            _refuse(ctx, _FITTING, "--model is fitted already")
            outputs.check([path, model])
            _place(current, data, model, outputs, color, affinity)
            return
        minimizer: dict[str, Any] = {"max_iter": max_iter, "time_limit": time_limit}
        if method is Method.eigenmaps:
            _refuse(ctx, _MINIMIZING, "--method eigenmaps minimises in one step")
        if lam is not None:
            minimizer["lam"] = _parse_lam(lam)
        if plot is not None and dims > 3:
            raise CommandError(
                f"--plot cannot show --dims {dims}; use up to 3, or no --plot", exit_code=USAGE
            )
        outputs.check([path, *(new or ())])
        job = _Job(current, data, affinity, outputs, method, dims, minimizer, kind, color)
        job.run(new or [])


@dataclass(frozen=True)
class _Job:
    """One call with a fit, its options checked."""

    session: Session
    data: opt.DataOptions
    affinity: opt.AffinityOptions
    outputs: _Outputs
    method: Method
    dims: int
    minimizer: dict[str, Any]
    kind: opt.InputKind
    color: str | None

    def run(self, new: list[Path]) -> None:
        start = perf_counter()
        with self.session.stages() as stages:
            stages.begin("reading")
            table = read(self.data)
            fresh = [(path, read_like(table.feature_names, self.data, path)) for path in new]
            colors = colors_of(self.session, table, self.color)
            X, given = self._prepare(table)
            estimator = make_estimator(
                self.method,
                self.affinity,
                given_affinities=given,
                dims=self.dims,
                minimizer=self.minimizer,
            )
            fit(estimator, X, stages)
            interrupted = getattr(estimator, "stopped_because_", None) == "interrupted"
            stages.begin("writing")
            self._write(estimator, table, colors)
            if not interrupted:
                for (_, one), path in zip(fresh, self.outputs.new, strict=True):
                    write_map(path, transform(estimator, one.X, stages), estimator, one)
                stages.begin("quality")
            share = None if interrupted else recall(estimator, self.affinity.seed)
        self._report(estimator, table, share, perf_counter() - start)
        if interrupted:
            left_out = f"; {', '.join(map(str, new))} not placed" if new else ""
            raise CommandError(
                f"interrupted after {estimator.n_iter_} iterations; the embedding so far is in "
                f"{self.outputs.table}{left_out}",
                exit_code=INTERRUPTED,
            )

    def _prepare(self, table: Table) -> tuple[Any, bool]:
        """The matrix to fit to, and whether it holds affinities."""
        X = table.X
        if holds_affinities(self.kind, X):
            from closeknit.graphs import symmetrize

            # The rows of SNE are distributions; the other models take one for all pairs.
            return (X if self.method is Method.sne else symmetrize(X)), True
        work = {Method.tsne: "graph", Method.eigenmaps: "eigenvectors"}.get(self.method, "spectral")
        n_vectors = self.dims + 1 if self.method is Method.eigenmaps else 0
        warn_if_large(self.session, X.shape, self.affinity, work, n_vectors=n_vectors)
        return X, False

    def _write(self, estimator: Any, table: Table, colors: dict[str, Any]) -> None:
        write_map(self.outputs.table, estimator.embedding_, estimator, table)
        if self.outputs.plot is not None:
            draw_map(self.outputs.plot, estimator.embedding_, colors, self.color, estimator)
        if self.outputs.model is not None:
            save_model(estimator, table, self.outputs.model)

    def _report(self, model: Any, table: Table, share: float | None, seconds: float) -> None:
        affinities = model.affinity_estimator_
        given = affinities is None
        facts = [
            Fact("input", "", str(self.data.path)),
            Fact("method", "method", self.method.value),
            Fact("n_samples", "points", table.n_samples),
            Fact("n_features", "features", None if given else table.n_features),
            Fact("n_components", "dimensions of the map", self.dims),
            Fact("perplexity", "perplexity", None if given else self.affinity.perplexity, "{:g}"),
            Fact("n_neighbors", "neighbours a point", _count(affinities)),
            Fact("lam", "λ", getattr(model, "lam_", None), "{:.4g}"),
            Fact("objective", "objective", getattr(model, "objective_", None), "{:.6g}"),
            Fact("kl_divergence", "KL(P‖Q)", getattr(model, "kl_divergence_", None), "{:.4g}"),
            Fact("n_iter", "iterations", getattr(model, "n_iter_", None)),
            stop_fact(model),
            Fact("neighbor_recall", "neighbours kept", share, "{:.1%}"),
            Fact("seconds", "seconds", seconds, "{:.1f}"),
        ]
        title = f"{title_of(model)} of {self.data.path}"
        self.session.report(title, facts, self.outputs.facts())


def _place(
    current: Session,
    data: opt.DataOptions,
    path: Path,
    outputs: _Outputs,
    color: str | None,
    affinity: opt.AffinityOptions,
) -> None:
    """Put the rows of a file on the map of a saved model."""
    from closeknit.io import load

    start = perf_counter()
    with current.stages() as stages:
        stages.begin("reading")
        model = load(path)
        if type(model).__name__ not in TITLES:
            raise CommandError(
                f"{path} holds {type(model).__name__}, which has no map; save one with "
                "closeknit embed --save-model"
            )
        model.set_params(n_jobs=affinity.n_jobs)
        # The names the model was fitted with; estimators would want a frame for them.
        names = tuple(vars(model).pop("feature_names_in_", ()))
        table = read_like(names, data, data.path)
        colors = colors_of(current, table, color)
        placed = transform(model, table.X, stages)
        stages.begin("writing")
        write_map(outputs.table, placed, model, table)
        if outputs.plot is not None:
            draw_map(outputs.plot, placed, colors, color, model)
    facts = [
        Fact("input", "", str(data.path)),
        Fact("fitted_model", "model", str(path)),
        Fact("n_samples", "new points", table.n_samples),
        Fact("n_fitted", "points of the model", len(model.embedding_)),
        Fact("n_components", "dimensions of the map", int(placed.shape[1])),
        Fact("seconds", "seconds", perf_counter() - start, "{:.1f}"),
    ]
    current.report(f"{data.path} on the map of {path}", facts, outputs.facts()[:2])


def _refuse(ctx: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Complain about options that were given but mean nothing."""
    flags = {"n_neighbors": "--n-neighbors", "kind": "--input", "new": "--transform"}
    for name in names:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            flag = flags.get(name, "--" + name.replace("_", "-"))
            raise CommandError(f"{flag} has no use here: {why}; leave it out", exit_code=USAGE)


def _parse_lam(text: str) -> Any:
    if text == "auto":
        return text
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise CommandError(
            f"--lam {text} is no number; use one such as 0.5, a list such as 0.1,1,10, or auto",
            exit_code=USAGE,
        ) from None
    return values[0] if len(values) == 1 else values


def _count(affinities: Any) -> int | None:
    neighbors = getattr(affinities, "neighbors_", None)
    return None if neighbors is None else int(neighbors.indices.shape[1])
