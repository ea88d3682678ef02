"""Figure 3: mean and standard deviation of the bandwidths by perplexity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.affinities import solve_bandwidths
from closeknit.experiments.report import claim, legend_below, new_figure
from closeknit.experiments.sparsification.problems import Problem
from closeknit.plotting import PALETTE

__all__ = ["describe", "draw", "sigmas_by_perplexity"]


def sigmas_by_perplexity(problem: Problem, perplexities: Iterable[float]) -> NDArray[np.float64]:
    """Mean and standard deviation of the bandwidths, a row per perplexity."""
    n = len(problem.X)
    others = problem.distances[~np.eye(n, dtype=bool)].reshape(n, n - 1) ** 2
    sigmas = [solve_bandwidths(others, float(K)).sigmas for K in perplexities]
    return np.array([[values.mean(), values.std()] for values in sigmas])


def draw(perplexities: NDArray[np.float64], sigmas: Mapping[str, NDArray[np.float64]]) -> Any:
    """Both, and a band of one standard deviation about the mean."""
    figure, grid = new_figure(1, len(sigmas))
    for axes, (name, values) in zip(grid[0], sigmas.items(), strict=True):
        mean, deviation = values.T
        axes.fill_between(
            perplexities, mean - deviation, mean + deviation, color=PALETTE[0], alpha=0.25, lw=0
        )
        axes.plot(perplexities, mean, color=PALETTE[0], label="mean")
        axes.plot(perplexities, deviation, color=PALETTE[5], ls="--", label="standard deviation")
        axes.set_title(name, fontsize="medium")
        axes.set(xlabel="perplexity K", ylim=(0.0, None))
        axes.spines[["top", "right"]].set_visible(False)
    grid[0, 0].set_ylabel("bandwidth σ")
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure


def describe(perplexities: NDArray[np.float64], sigmas: Mapping[str, NDArray[np.float64]]) -> str:
    """Our numbers beside the paper's claims."""
    span = f"from K = {perplexities[0]:.0f} to {perplexities[-1]:.0f}"
    means, deviations = (
        "; ".join(f"{name} {v[0, column]:.3f} to {v[-1, column]:.3f}" for name, v in sigmas.items())
        for column in (0, 1)
    )
    steps = [np.diff(values[:, 1]) > 0.0 for values in sigmas.values()]
    always = [bool(grows.all()) for grows in steps]
    return "\n".join(
        [
            claim(
                "The mean of the bandwidths grows with the perplexity.",
                [bool((np.diff(values[:, 0]) > 0.0).all()) for values in sigmas.values()],
                f"{span}, {means}",
            ),
            claim(
                "So does their standard deviation.",
                [bool(values[-1, 1] > values[0, 1]) for values in sigmas.values()],
                f"{span}, {deviations}; it grows at every step on {sum(always)} of {len(always)}",
            ),
        ]
    )
