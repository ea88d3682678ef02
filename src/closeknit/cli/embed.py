"""``closeknit embed``: from a file to a map, and new points on it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.errors import INTERRUPTED, USAGE, CommandError
from closeknit.cli.fitting import (
    TITLES,
    Method,
    fit,
    make_estimator,
    neighbor_facts,
    neighbors_kept,
    stop_fact,
    transform,
)
from closeknit.cli.groups import spelled_out
from closeknit.cli.inputs import data_facts, holds_affinities, read, read_like
from closeknit.cli.map_files import colors_of, draw_map, title_of, write_map
from closeknit.cli.memory import warn_if_large
from closeknit.cli.outputs import check_outputs, name_after, picture_format
from closeknit.cli.outputs import save_model as write_model
from closeknit.cli.reporting import Fact, Reporter, reporting
from closeknit.progress import report

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


@spelled_out
def embed(
    ctx: typer.Context,
    output: Annotated[Path | None, opt.output(opt.TABLE_FILE, "INPUT-METHOD.csv")] = None,
    method: Annotated[
        Method,
        opt.option(
            "--method -m",
            "The embedding: tsne, ee, ssne, sne, tee or eigenmaps.",
            shown=True,
            metavar="NAME",
        ),
    ] = Method.tsne,
    plot: Annotated[Path | None, opt.option("--plot", "Draw it, too: .png, .pdf or .svg.")] = None,
    color: Annotated[
        str | None, opt.option("--color", "Colour the picture by it.", metavar="COLUMN")
    ] = None,
    dims: Annotated[int, opt.option("--dims", "Dimensions of the map.", shown=True, min=1)] = 2,
    lam: Annotated[
        str | None,
        opt.option(
            "--lam",
            "Weight λ of the repulsion; a list such as 0.1,1,10 is followed in turn.",
            shown="the method's own",
            metavar="NUMBER|auto|LIST",
        ),
    ] = None,
    max_iter: Annotated[
        int, opt.option("--max-iter", "Most iterations of the minimiser.", shown=True, min=0)
    ] = 1000,
    time_limit: Annotated[
        float | None,
        opt.option(
            "--time-limit",
            "Stop minimising after so long and keep what is there.",
            metavar="SECONDS",
            min=0.0,
        ),
    ] = None,
    kind: opt.Kind = opt.InputKind.auto,
    save_model: opt.SaveModel = None,
    new: Annotated[
        list[Path] | None,
        opt.option(
            "--transform",
            "Place the rows of this file on the map, too. May be repeated.",
            metavar="NEW",
        ),
    ] = None,
    model: Annotated[
        Path | None, opt.option("--model", "Place INPUT on the map of a saved model.")
    ] = None,
    *,
    data: opt.DataOptions,
    affinity: opt.AffinityOptions,
    talk: opt.TalkOptions,
) -> None:
    """Embed the rows of INPUT: who is close to whom, as a map.

    Numeric columns are the data; the others are labels, kept beside the map.

    Ctrl-C keeps the map as far as it has come.
    """
    with reporting(talk) as reporter:
        suffix = ".csv" if output is None else "".join(output.suffixes[-2:])
        outputs = _Outputs(
            table=output or name_after(data.path, "placed" if model else method.value, ".csv"),
            plot=plot,
            model=save_model,
            new=tuple(
                (output or Path()).parent / name_after(one, method.value, suffix)
                for one in new or ()
            ),
        )
        if model is not None:
            _refuse(ctx, _FITTING, "--model is fitted already")
            outputs.check([data.path, model])
            _place(reporter, data, model, outputs, color, affinity)
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
        outputs.check([data.path, *(new or ())])
        job = _Job(reporter, data, affinity, outputs, method, dims, minimizer, kind, color)
        job.run(new or [])


@dataclass(frozen=True)
class _Job:
    """One call with a fit, its options checked."""

    reporter: Reporter
    data: opt.DataOptions
    affinity: opt.AffinityOptions
    outputs: _Outputs
    method: Method
    dims: int
    minimizer: dict[str, Any]
    kind: opt.InputKind
    color: str | None

    def run(self, new: list[Path]) -> None:
        with self.reporter.stages() as stages:
            report("reading")
            table = read(self.data)
            fresh = [read_like(table.feature_names, self.data, path) for path in new]
            colors = colors_of(self.reporter, table, self.color)
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
            report("writing")
            self._write(estimator, table, colors)
            kept = None
            if not interrupted:
                for one, path in zip(fresh, self.outputs.new, strict=True):
                    write_map(path, transform(estimator, one.X), estimator, one)
                report("quality")
                kept = neighbors_kept(estimator, self.affinity.seed)
        self._summarize(estimator, table, kept)
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
        warn_if_large(self.reporter, X.shape, self.affinity, work, n_vectors=n_vectors)
        return X, False

    def _write(self, estimator: Any, table: Table, colors: dict[str, Any]) -> None:
        write_map(self.outputs.table, estimator.embedding_, estimator, table)
        if self.outputs.plot is not None:
            draw_map(self.outputs.plot, estimator.embedding_, colors, self.color, estimator)
        if self.outputs.model is not None:
            write_model(estimator, table, self.outputs.model)

    def _summarize(self, model: Any, table: Table, kept: float | None) -> None:
        affinities = model.affinity_estimator_
        facts = [
            Fact("method", "method", self.method.value),
            *data_facts(self.data, table, affinities=affinities is None),
            Fact("n_components", "dimensions of the map", self.dims),
            *neighbor_facts(affinities, self.affinity),
            Fact("lam", "λ", getattr(model, "lam_", None), "{:.4g}"),
            Fact("objective", "objective", getattr(model, "objective_", None), "{:.6g}"),
            Fact("kl_divergence", "KL(P‖Q)", getattr(model, "kl_divergence_", None), "{:.4g}"),
            Fact("n_iter", "iterations", getattr(model, "n_iter_", None)),
            stop_fact(model),
            Fact("neighbor_recall", "neighbours kept", kept, "{:.1%}"),
            self.reporter.seconds(),
        ]
        title = f"{title_of(model)} of {self.data.path}"
        self.reporter.summarize(title, facts, self.outputs.facts())


def _place(
    reporter: Reporter,
    data: opt.DataOptions,
    path: Path,
    outputs: _Outputs,
    color: str | None,
    affinity: opt.AffinityOptions,
) -> None:
    """Put the rows of a file on the map of a saved model."""
    from closeknit.io import load

    with reporter.stages():
        report("reading")
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
        colors = colors_of(reporter, table, color)
        placed = transform(model, table.X)
        report("writing")
        write_map(outputs.table, placed, model, table)
        if outputs.plot is not None:
            draw_map(outputs.plot, placed, colors, color, model)
    facts = [
        Fact("fitted_model", "model", str(path)),
        *data_facts(data, table, affinities=model.affinity_estimator_ is None),
        Fact("n_fitted", "points of the model", len(model.embedding_)),
        Fact("n_components", "dimensions of the map", int(placed.shape[1])),
        reporter.seconds(),
    ]
    reporter.summarize(f"{data.path} on the map of {path}", facts, outputs.facts()[:2])


def _refuse(ctx: typer.Context, names: tuple[str, ...], why: str) -> None:
    """Complain about options that were given but mean nothing."""
    flags = {"kind": "--input", "new": "--transform"}
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
            f"--lam {text} is not a number; use one such as 0.5, a list such as 0.1,1,10, or auto",
            exit_code=USAGE,
        ) from None
    return values[0] if len(values) == 1 else values
