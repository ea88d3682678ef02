"""Figure 2: every method from random starts, with a fixed number of evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from closeknit._arrays import Array, Integers
from closeknit.experiments.drawing import legend_below, new_figure, plain_log_ticks
from closeknit.experiments.embeddings.problems import (
    MINUS_COST,
    PAPERS,
    EmbeddingModel,
    methods,
    styles,
)
from closeknit.experiments.report import Section, claim, listed, table

SIZE = 1e-2


@dataclass(frozen=True)
class RandomStarts:
    """Where each method came from each start.

    Attributes
    ----------
    model : str
    first : float
        Median objective of the starts.
    values, iterations : dict of str to ndarray of shape (n_starts,)
    """

    model: str
    first: float
    values: Mapping[str, Array]
    iterations: Mapping[str, Integers]

    @property
    def medians(self) -> dict[str, float]:
        """Of the objectives."""
        return {label: float(np.median(values)) for label, values in self.values.items()}


def random_starts(model: EmbeddingModel, n_starts: int, evaluations: int) -> RandomStarts:
    """Minimise from `n_starts` small random positions with every method."""
    starts = [model.random_start(SIZE, seed) for seed in range(n_starts)]
    values, iterations = {}, {}
    for label, method in methods().items():
        runs = [model.descend(start, label, method, evaluations) for start in starts]
        values[label] = np.array([run.value for run in runs])
        iterations[label] = np.array([run.n_iter for run in runs])
    first = float(np.median([model.problem.value(start) for start in starts]))
    return RandomStarts(model.name, first, values, iterations)


def figure_2(
    models: Sequence[EmbeddingModel], name: str, n_starts: int, evaluations: int
) -> Section:
    """Run all starts of all models."""
    outcomes = [random_starts(model, n_starts, evaluations) for model in models]
    parts = [
        f"{name}. {n_starts} normal starts of standard deviation {SIZE:g} (seeds 0 to "
        f"{n_starts - 1}), {evaluations} evaluations each. The paper has 50 starts with small "
        "values and 20 seconds, which are 167 evaluations at the 0.12 seconds that an iteration "
        f"of GD takes there. SD− makes {evaluations / MINUS_COST:.0f} iterations, in the "
        "proportion of the iterations that the paper makes on MNIST in an hour, 37 to 70."
    ]
    for outcome in outcomes:
        parts += [f"### {outcome.model}", runs_table(outcome)]
    return Section([*parts, "### The paper's claims", _verdicts(outcomes)], draw(outcomes))


def runs_table(outcome: RandomStarts) -> str:
    """Median, least and largest objective of each method, and its median iterations."""
    rows = []
    for label, values in outcome.values.items():
        quantiles = np.quantile(values, [0.5, 0.0, 1.0])
        count = np.median(outcome.iterations[label])
        rows.append([label, *(f"{value:.5g}" for value in quantiles), f"{count:.0f}"])
    return table(["method", "median E", "least", "largest", "iterations (median)"], rows)


def draw(outcomes: Sequence[RandomStarts]) -> Any:
    """The objective against the number of iterations, a point for each start; GD lies above."""
    figure, grid = new_figure(1, len(outcomes), width=4.8, height=3.8)
    for axes, outcome in zip(grid[0], outcomes, strict=True):
        for label, style in zip(outcome.values, styles(outcome.values), strict=True):
            dots = {"s": 12, "alpha": 0.7, "color": style["color"], "lw": 0}
            axes.scatter(outcome.iterations[label], outcome.values[label], label=label, **dots)
        shown = np.concatenate([v for label, v in outcome.values.items() if label != "GD"])
        margin = 0.05 * np.ptp(shown)
        axes.set_ylim(shown.min() - margin, shown.max() + margin)
        axes.set(xscale="log", xlabel="iterations", ylabel="E")
        plain_log_ticks(axes.xaxis)
        axes.set_title(f"{outcome.model} (GD is outside)", fontsize="medium")
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0], columns=5)
    return figure


def _verdicts(outcomes: Sequence[RandomStarts]) -> str:
    best = {o.model: sorted(PAPERS, key=o.medians.__getitem__)[:2] for o in outcomes}
    spreads = {
        o.model: [float(np.std(o.values[label])) for label in ("SD", "L-BFGS")] for o in outcomes
    }
    others = [label for label in PAPERS if label != "GD"]
    moved = {
        o.model: (o.first - o.medians["GD"]) / (o.first - min(o.medians.values())) for o in outcomes
    }
    return "\n".join(
        [
            claim(
                "SD and L-BFGS achieve the lowest errors.",
                [set(pair) == {"SD", "L-BFGS"} for pair in best.values()],
                "lowest medians of the paper's methods: "
                + listed({model: " and ".join(pair) for model, pair in best.items()}),
            ),
            claim(
                "SD does so more reliably, with less spread.",
                [sd < lbfgs for sd, lbfgs in spreads.values()],
                "standard deviation of SD and L-BFGS: "
                + listed({m: f"{sd:.3g} and {lb:.3g}" for m, (sd, lb) in spreads.items()}),
            ),
            claim(
                "GD lies outside the plot (above every run of every other method).",
                [o.values["GD"].min() > max(o.values[d].max() for d in others) for o in outcomes],
                "least E of GD, and largest of the others: "
                + listed(
                    {
                        o.model: f"{o.values['GD'].min():.4g} and "
                        f"{max(o.values[d].max() for d in others):.4g}"
                        for o in outcomes
                    }
                ),
            ),
            claim(
                "GD barely moves from the start.",
                None,
                "share of the best decrease that GD makes: " + listed(moved, "{:.2%}"),
                "the paper gives no measure",
            ),
        ]
    )
