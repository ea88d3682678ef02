"""``closeknit demo``: scikit-learn's digits as a map, their bandwidths and how it was learned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from closeknit.cli import options as opt
from closeknit.cli.errors import INTERRUPTED, USAGE, CommandError
from closeknit.cli.fitting import fit, neighbor_facts, neighbors_kept, stop_fact
from closeknit.cli.groups import spelled_out
from closeknit.cli.outputs import check_outputs, new_figure, picture_format
from closeknit.cli.reporting import Fact, reporting
from closeknit.progress import report

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

__all__ = ["EXAMPLES", "demo"]

EXAMPLES = """
closeknit demo

closeknit demo --perplexity 10 --output digits.pdf
"""


@spelled_out
def demo(
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="The picture to write; the map goes beside it as CSV.",
        ),
    ] = Path("closeknit-demo.png"),
    *,
    choice: opt.PerplexityOptions,
    talk: opt.TalkOptions,
) -> None:
    """Embed scikit-learn's digits; draw the map, the bandwidths and the learning curve."""
    with reporting(talk) as reporter:
        csv = output.with_suffix(".csv") if output.name else output
        check_outputs([], [(output, None), (csv, None)])
        picture_format(output)
        options = opt.AffinityOptions(choice.perplexity, choice.seed, choice.threads)
        with reporter.stages() as stages:
            X, digits = _load(options.single("the demo"))
            model = _make(options)
            fit(model, X, stages)
            report("picture")
            figure = _draw(model, digits)
            _write(figure, output, csv, model, digits)
            report("quality")
            facts = _facts(model, X, digits, options)
        files = [Fact("output", "Picture", str(output)), Fact("csv", "Map", str(csv))]
        facts.append(reporter.seconds())
        reporter.summarize("t-SNE of scikit-learn's digits", facts, files)
        if model.stopped_because_ == "interrupted":
            raise CommandError(
                f"interrupted after {model.n_iter_} iterations; the map so far is in {output} and "
                f"{csv}",
                exit_code=INTERRUPTED,
            )


def _load(perplexity: float) -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import load_digits

    X, digits = load_digits(return_X_y=True)
    others = len(X) - 1
    if not 1 < perplexity < others:
        raise CommandError(
            f"--perplexity {perplexity:g} is out of range: every digit has {others} others, "
            f"so choose a number above 1 and below {others}",
            exit_code=USAGE,
        )
    return X, digits


def _make(options: opt.AffinityOptions) -> Any:
    from closeknit import TSNE

    return TSNE(perplexity=options.perplexities, random_state=options.seed, n_jobs=options.n_jobs)


def _facts(
    model: Any, X: NDArray[Any], digits: NDArray[Any], options: opt.AffinityOptions
) -> list[Fact]:
    import numpy as np

    from closeknit.quality import knn_accuracy

    affinities = model.affinity_estimator_
    converged = affinities.converged_
    errors = np.abs(affinities.perplexities_ - options.perplexities)[converged]
    error = float(errors.max()) if errors.size else None
    accuracy = float(knn_accuracy(model.embedding_, digits))
    missing = int(np.count_nonzero(~converged))
    passes = float(affinities.evaluations_.mean())
    return [
        Fact("n_samples", "points", X.shape[0]),
        Fact("n_features", "features", X.shape[1]),
        *neighbor_facts(affinities, options),
        Fact("passes_per_point", "passes per bandwidth", passes, "{:.2f}"),
        Fact("largest_perplexity_error", "largest error of a perplexity", error, "{:.1e}"),
        Fact("rows_without_bandwidth", "points without a bandwidth", missing),
        Fact("n_iter", "iterations", model.n_iter_),
        stop_fact(model),
        Fact("kl_divergence", "KL(P‖Q)", model.kl_divergence_, "{:.3f}"),
        Fact("neighbor_recall", "neighbours kept", neighbors_kept(model, options.seed), "{:.1%}"),
        Fact("knn_accuracy", "k-NN accuracy (k = 10)", accuracy, "{:.1%}"),
    ]


def _draw(model: Any, digits: NDArray[Any]) -> Figure:
    from closeknit.plotting import plot_embedding, plot_history, plot_sigmas

    figure = new_figure((16.0, 5.0))
    embedding, bandwidths, curve = figure.subplots(1, 3)
    plot_embedding(model.embedding_, digits, ax=embedding)
    embedding.set_title("t-SNE of scikit-learn's digits")
    plot_sigmas(model.embedding_, model.affinity_estimator_.sigmas_, ax=bandwidths)
    bandwidths.set_title(f"bandwidth σ at perplexity {model.perplexity:g}")
    # The last stage, after early exaggeration; the objective is KL(P‖Q) plus the entropy of P.
    constant = model.objective_ - model.kl_divergence_
    plot_history(model.path_.results[-1], ax=curve, above=constant)
    curve.set(title="learning curve after early exaggeration", ylabel="KL(P‖Q)")
    return figure


def _write(figure: Figure, output: Path, csv: Path, model: Any, digits: NDArray[Any]) -> None:
    from closeknit.io import write_table
    from closeknit.io.files import replacing

    columns = ["tsne0", "tsne1"]
    labels = {"digit": digits, "sigma": model.affinity_estimator_.sigmas_}
    with replacing(output) as file:  # both or none
        figure.savefig(file, format=picture_format(output), dpi=150)
        write_table(csv, model.embedding_, columns=columns, labels=labels)
