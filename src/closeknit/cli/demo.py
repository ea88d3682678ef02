"""``closeknit demo``: scikit-learn's digits as a map, their bandwidths and how it was learned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from closeknit.cli import outputs as out
from closeknit.cli.command import Fact, option
from closeknit.cli.errors import Interrupted, UsageError
from closeknit.cli.fitting import fit, neighbors_kept, stop_fact
from closeknit.cli.neighborhood import (
    PerplexityCommand,
    bandwidth_facts,
    neighbor_facts,
    perplexity_option,
)
from closeknit.progress import report

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Demo(PerplexityCommand):
    """Embed scikit-learn's digits; draw the map, the bandwidths and the learning curve.

    Examples
    --------
    closeknit demo

    closeknit demo --perplexity 10 --output digits.pdf
    """

    perplexity: list[str] | None = perplexity_option(several=False)
    output: Path = option(
        "The picture to write; the map goes beside it as CSV.",
        flags="--output -o",
        default=Path("closeknit-demo.png"),
    )

    def run(self) -> None:
        """See `Command`."""
        from sklearn.datasets import load_digits

        from closeknit import TSNE

        csv = self.output.with_suffix(".csv") if self.output.name else self.output
        out.check_outputs([], [(self.output, None), (csv, None)])
        out.picture_format(self.output)
        K = self.single_perplexity("the demo")
        with self.stages() as stages:
            X, digits = load_digits(return_X_y=True)
            others = len(X) - 1
            if not 1 < K < others:
                raise UsageError(
                    f"--perplexity {K:g} is out of range: every digit has {others} others, "
                    f"so choose a number above 1 and below {others}"
                )
            model = TSNE(perplexity=K, random_state=self.seed, n_jobs=self.n_jobs)
            fit(model, X, stages)
            report("picture")
            _write(_draw(model, digits), self.output, csv, model, digits)
            report("quality")
            facts = self._facts(model, X, digits)
        files = [Fact("output", "Picture", self.output), Fact("csv", "Map", csv)]
        self.summarize("t-SNE of scikit-learn's digits", [*facts, self.seconds()], files)
        if model.stopped_because_ == "interrupted":
            raise Interrupted(
                f"interrupted after {model.n_iter_} iterations; the map so far is in "
                f"{self.output} and {csv}"
            )

    def _facts(self, model: Any, X: NDArray[Any], digits: NDArray[Any]) -> list[Fact]:
        from closeknit.quality import knn_accuracy

        affinities = model.affinity_estimator_
        accuracy = float(knn_accuracy(model.embedding_, digits, n_jobs=self.n_jobs))
        passes = float(affinities.evaluations_.mean())
        return [
            Fact("n_samples", "points", X.shape[0]),
            Fact("n_features", "features", X.shape[1]),
            *neighbor_facts(affinities),
            Fact("passes_per_point", "passes per bandwidth", passes, "{:.2f}"),
            *bandwidth_facts(affinities),
            Fact("n_iter", "iterations", model.n_iter_),
            stop_fact(model),
            Fact("kl_divergence", "KL(P‖Q)", model.kl_divergence_, "{:.3f}"),
            Fact("neighbor_recall", "neighbours kept", neighbors_kept(model, self.seed), "{:.1%}"),
            Fact("knn_accuracy", "k-NN accuracy (k = 10)", accuracy, "{:.1%}"),
        ]


def _draw(model: Any, digits: NDArray[Any]) -> Figure:
    from closeknit.plotting import plot_embedding, plot_history, plot_sigmas

    figure = out.new_figure((16.0, 5.0))
    embedding, bandwidths, curve = figure.subplots(1, 3)
    plot_embedding(model.embedding_, digits, ax=embedding, color_title="digit")
    embedding.set_title("t-SNE of scikit-learn's digits")
    plot_sigmas(model.embedding_, model.affinity_estimator_.sigmas_, ax=bandwidths)
    bandwidths.set(xticks=[], yticks=[])  # framed as the map beside it
    bandwidths.spines[:].set_visible(False)
    bandwidths.set_title(f"bandwidth σ at perplexity {model.perplexity:g}")
    # The last stage, after early exaggeration; the objective is KL(P‖Q) plus the entropy of P.
    last = model.path_.results[-1]
    if len(last.history):  # not interrupted before the first evaluation
        plot_history(last, ax=curve, above=model.objective_ - model.kl_divergence_)
        curve.set_xlim(left=float(last.history.iteration[0]))  # it begins where the stage does
    curve.set(title="learning curve after early exaggeration", ylabel="KL(P‖Q)")
    return figure


def _write(figure: Figure, output: Path, csv: Path, model: Any, digits: NDArray[Any]) -> None:
    from closeknit.io import write_table
    from closeknit.io.files import replacing

    columns = ["tsne0", "tsne1"]
    labels = {"digit": digits, "sigma": model.affinity_estimator_.sigmas_}
    with replacing(output) as file:  # both or none
        file.write(out.drawn(figure, output, dpi=150))
        write_table(csv, model.embedding_, columns=columns, labels=labels)
