"""Figures 3 to 5: bandwidths by perplexity; sparsity by neighbours, entropy and votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from closeknit.experiments.drawing import legend_below, new_figure
from closeknit.experiments.report import Section, claim, listed
from closeknit.experiments.sparsification.graphs import OURS, grows, growth
from closeknit.experiments.sparsification.problems import EQUATIONS, PROGRAM, THRESHOLD, Problem
from closeknit.graphs import sparsity
from closeknit.plotting import PALETTE

#: What the program in the report's repository printed for K = 10, 20, …, 110.
PRINTED = (0.937, 0.830, 0.731, 0.636, 0.552, 0.468, 0.378, 0.300, 0.235, 0.201, 0.170)


def figure_3(problems: Sequence[Problem], perplexities: Sequence[int]) -> Section:
    """Mean and standard deviation of the bandwidths by perplexity."""
    figure, grid = new_figure(1, len(problems))
    numbers, cases = {}, []
    for axes, problem in zip(grid[0], problems, strict=True):
        for kind, colour in zip((EQUATIONS, PROGRAM), PALETTE, strict=False):
            sigmas = [problem.sigmas(K, kind) for K in perplexities]
            mean, deviation = np.array([[s.mean(), s.std()] for s in sigmas]).T
            axes.plot(perplexities, mean, color=colour, label=f"mean ({kind})")
            axes.plot(perplexities, deviation, "--", color=colour, label=f"deviation ({kind})")
            numbers[f"{problem.name}, {kind}:"] = f"{growth(mean)}, {growth(deviation)}"
            if problem.name == "circles":
                cases += [grows(mean), grows(deviation)]
        axes.set_title(problem.name, fontsize="medium")
        axes.set(xlabel="perplexity K", ylim=(0.0, None))
    grid[0, 0].set_ylabel("bandwidth σ")
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    text = claim(
        "Mean and standard deviation of the bandwidths of the circles grow with the perplexity.",
        cases,
        f"from K = {perplexities[0]} to {perplexities[-1]}, mean and deviation (and at how many "
        f"steps they grow): {listed(numbers)}",
    )
    return Section([text], figure)


def figure_4(problems: Sequence[Problem], perplexities: Sequence[int]) -> Section:
    """Sparsity by the number of neighbours and by the entropy."""
    figure, grid = new_figure(1, 2, width=4.5)
    entropies = np.log2(perplexities)
    by_k, by_entropy = {}, {}
    for problem in problems:
        neighbors = range(35, min(351, len(problem.X)), 35)
        by_k[problem.name] = (neighbors, [sparsity(problem.nearest(k, 0.5)) for k in neighbors])
        ours = [_one_sided(problem, K, EQUATIONS) for K in perplexities]
        by_entropy[problem.name] = (entropies, ours)
    program = [_one_sided(problems[0], K, PROGRAM) for K in perplexities]
    by_entropy[f"{problems[0].name}, report's program"] = (entropies, program)
    _draw_lines(grid[0, 0], by_k, "nearest neighbours k", marker=".")
    _draw_lines(grid[0, 1], by_entropy, "entropy log₂ K", marker=".")
    legend_below(figure, grid[0, 1].get_legend_handles_labels()[0])
    fits = [
        listed({name: np.corrcoef(*line)[0, 1] ** 2 for name, line in lines.items()}, "{:.4f}")
        for lines in (by_k, by_entropy)
    ]
    text = (
        f"Edges below {THRESHOLD:g} count as dropped. The report's program mixes exp(−2βd²) and "
        "exp(−βd²) in F and takes exp(−d²/σ²) for the affinity, which is exp(−2βd²). On circles it "
        f"printed, for K = 10, 20, …, {', '.join(map(str, PRINTED))}; by its formulas we get "
        f"{', '.join(f'{K}: {s:.3f}' for K, s in zip(perplexities, program, strict=True))}. Its "
        "random numbers are those of another version of scikit-learn."
    )
    reasons = ("by construction, if edges are counted at one end", "the report gives no measure")
    verdicts = [
        claim(f"Sparsity falls {how}.", None, f"R² of a straight line: {fit}", because)
        for how, fit, because in zip(
            ("linearly with k", "quasi-linearly with the entropy"), fits, reasons, strict=True
        )
    ]
    return Section([text, "\n".join(verdicts)], figure)


def _one_sided(problem: Problem, perplexity: float, kind: str) -> float:
    """Share of entries below the threshold, as the report's program counts them."""
    scale = (2.0 if kind == EQUATIONS else 1.0) * problem.sigmas(perplexity, kind) ** 2
    return float(np.mean(np.exp(-problem.sq_distances / scale[:, None]) < THRESHOLD))


def figure_5(problems: Sequence[Problem]) -> Section:
    """Sparsity by the number of votes."""
    figure, grid = new_figure(1, 1, width=4.5)
    curves = {problem.name: problem.kept_by_votes for problem in problems}
    lines = {name: (np.arange(1, len(values) + 1), values) for name, values in curves.items()}
    _draw_lines(grid[0, 0], lines, "votes that drop an edge")
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    steepest = {}
    for name, values in curves.items():
        slope = np.convolve(-np.diff(values), np.ones(5) / 5.0, mode="valid")
        first, last, most = slope[0], slope[-1], slope.max()
        steepest[name] = (
            f"at {int(slope.argmax()) + 3} of {len(values)} votes (first {first / most:.2f}, last "
            f"{last / most:.2f} of that)"
        )
    text = claim(
        "With the votes sparsity changes slowly at first, faster up to a turning point, then "
        "slowly again.",
        None,
        f"steepest {listed(steepest)}",
        OURS,
    )
    return Section([text], figure)


def _draw_lines(
    axes: Any, lines: Mapping[str, tuple[ArrayLike, ArrayLike]], label: str, **style: Any
) -> None:
    for colour, (name, (x, y)) in zip(PALETTE, lines.items(), strict=False):
        axes.plot(x, y, color=colour, label=name, **style)
    axes.set(xlabel=label, ylabel="sparsity", ylim=(0.0, 1.02))
