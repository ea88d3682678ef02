"""Figure 2: every direction from random starts for a fixed time, or number of iterations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.experiments.embeddings.problems import DIRECTIONS, Model, random_start, run_direction
from closeknit.experiments.report import claim, legend_below, new_figure, plain_log_ticks, table
from closeknit.plotting import PALETTE, resolve_scale

__all__ = ["RandomStarts", "describe", "draw", "random_starts", "runs_table"]


@dataclass(frozen=True)
class RandomStarts:
    """Where each direction came from each start.

    Attributes
    ----------
    model : str
    first : float
        Median objective of the starts.
    values, iterations, evaluations : dict of str to ndarray of shape (n_starts,)
    """

    model: str
    first: float
    values: Mapping[str, NDArray[np.float64]]
    iterations: Mapping[str, NDArray[np.int64]]
    evaluations: Mapping[str, NDArray[np.int64]]


def random_starts(
    model: Model, n_starts: int, *, max_iter: int, time_limit: float | None
) -> RandomStarts:
    """Minimise from `n_starts` small random positions with every direction."""
    starts = [random_start(model, 1e-2, seed) for seed in range(n_starts)]
    values, iterations, evaluations = {}, {}, {}
    for label, direction in DIRECTIONS.items():
        runs = [
            run_direction(model, start, direction, max_iter=max_iter, time_limit=time_limit)
            for start in starts
        ]
        values[label] = np.array([run.value for run in runs])
        iterations[label] = np.array([run.n_iter for run in runs])
        evaluations[label] = np.array([run.n_evaluations for run in runs])
    first = float(np.median([model.problem.value(start) for start in starts]))
    return RandomStarts(model.name, first, values, iterations, evaluations)


def runs_table(outcome: RandomStarts) -> str:
    """Median, least and largest objective of each direction, and its median iterations."""
    rows = []
    for label, values in outcome.values.items():
        low, median, high = np.quantile(values, [0.0, 0.5, 1.0])
        count = np.median(outcome.iterations[label])
        rows.append([label, f"{median:.6g}", f"{low:.6g}", f"{high:.6g}", f"{count:.0f}"])
    return table(["direction", "median E", "least", "largest", "iterations (median)"], rows)


def draw(outcomes: Sequence[RandomStarts]) -> Any:
    """The objective against the number of evaluations, a point for each start."""
    figure, grid = new_figure(1, len(outcomes), width=4.6, height=3.6)
    for axes, outcome in zip(grid[0], outcomes, strict=True):
        for colour, label in zip(PALETTE, outcome.values, strict=False):
            axes.scatter(
                outcome.evaluations[label],
                outcome.values[label],
                s=14,
                alpha=0.7,
                color=colour,
                linewidths=0,
                label=label,
            )
        scale = resolve_scale("E", "auto", np.concatenate(list(outcome.values.values())), wide=3.0)
        axes.set(xscale="log", yscale=scale, xlabel="evaluations", ylabel="E")
        plain_log_ticks(axes.xaxis)
        axes.set_title(outcome.model, fontsize="medium")
        axes.spines[["top", "right"]].set_visible(False)
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure


def describe(outcomes: Sequence[RandomStarts], limit: str) -> str:
    """Tables, and our numbers beside the paper's claims."""
    n_starts = len(outcomes[0].values["GD"])
    parts = [
        f"{n_starts} random starts, {limit} each; the paper has 50 of 20 seconds of its machine."
    ]
    for outcome in outcomes:
        parts += [f"### {outcome.model}", runs_table(outcome)]
    return "\n\n".join([*parts, "### The paper's claims", _verdicts(outcomes)])


def _verdicts(outcomes: Sequence[RandomStarts]) -> str:
    medians = [
        {label: float(np.median(values)) for label, values in o.values.items()} for o in outcomes
    ]
    papers = [label for label in DIRECTIONS if label != "SD + L-BFGS"]
    best = [sorted(papers, key=lambda label, m=m: m[label])[:2] for m in medians]  # type: ignore[misc]
    spreads = [
        {label: float(np.ptp(values) / np.median(values)) for label, values in o.values.items()}
        for o in outcomes
    ]
    moved = [
        float((o.first - m["GD"]) / (o.first - min(m.values())))
        for o, m in zip(outcomes, medians, strict=True)
    ]
    names = [o.model for o in outcomes]
    return "\n".join(
        [
            claim(
                "SD and L-BFGS achieve the lowest errors.",
                [set(pair) == {"SD", "L-BFGS"} for pair in best],
                "lowest medians of the paper's methods: "
                + "; ".join(f"{n} {' and '.join(p)}" for n, p in zip(names, best, strict=True)),
            ),
            claim(
                "SD does so more reliably, with less spread.",
                [s["SD"] < s["L-BFGS"] for s in spreads],
                "range over median of SD and L-BFGS: "
                + "; ".join(
                    f"{n} {s['SD']:.3f} and {s['L-BFGS']:.3f}"
                    for n, s in zip(names, spreads, strict=True)
                ),
            ),
            claim(
                "GD barely moves from the start (taken here as less than half of the best "
                "decrease).",
                [share < 0.5 for share in moved],
                "share of the best decrease that GD makes: "
                + "; ".join(f"{n} {share:.3f}" for n, share in zip(names, moved, strict=True)),
            ),
        ]
    )
