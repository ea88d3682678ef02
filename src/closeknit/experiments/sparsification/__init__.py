"""Graph sparsification for kernel methods (Dupré and Lam): figures 1 to 7 and the dip experiment.

::

    problems.py    the data sets, and their graphs made sparse
    graphs.py      figures 1, 2  what the graphs look like
    bandwidths.py  figure 3      bandwidths by perplexity
    parameters.py  figures 4, 5  sparsity by neighbours, entropy and votes
    curves.py      figures 6, 7  D₁, D₂ and clustering by sparsity; real data
    dips.py        section 6     the dip test and the number of modes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from closeknit.experiments.report import Report
from closeknit.experiments.sparsification import bandwidths, curves, dips, graphs, parameters
from closeknit.experiments.sparsification.problems import (
    LEVELS,
    METHODS,
    N_VIEWERS,
    PERPLEXITY,
    VIEW_PERPLEXITY,
    Problem,
    real_problems,
    toy_problems,
)

__all__ = ["INTRODUCTION", "TITLE", "Scale", "run"]

TITLE = "Graph sparsification for kernel methods"
INTRODUCTION = (
    "Figures 1 to 7 of Dupré and Lam, drawn and measured by "
    "`closeknit.experiments.sparsification`. What the paper claims is in italics, our verdict in "
    "bold. It shows circles and says that the other sets are alike; we judge on scikit-learn's "
    "circles, moons and blobs of 500 points, seed 0. The original graph holds symmetric entropic "
    f"affinities over all pairs at perplexity {PERPLEXITY:g}; all sparsifiers keep edges of it, "
    "resistance sampling (ours, not in the paper) with new weights. There are "
    f"{N_VIEWERS} viewers under the entropic bandwidth of perplexity {VIEW_PERPLEXITY:g}. The "
    "paper says neither which graph its D₁ and D₂ start from nor how many viewers it has."
)


@dataclass(frozen=True)
class Scale:
    """How much of the experiment to run.

    Attributes
    ----------
    n_parameters : int
        Perplexities, and numbers of neighbours, in figures 3 and 4.
    levels : tuple of float
        Sparsities in figures 6 and 7.
    methods : tuple of str
        Sparsifiers there.
    repetitions : int
        Of the dip experiment.
    real : bool
        Whether to run real data too.
    """

    n_parameters: int = 20
    levels: tuple[float, ...] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, *LEVELS, 0.99)
    methods: tuple[str, ...] = ("KNN", "entropic", "viewers by votes", "resistance")
    repetitions: int = 1_000
    real: bool = True


FULL = Scale()
QUICK = Scale(6, (0.5, 0.8, 0.93, 0.98), ("KNN", "entropic", "viewers by votes"), 100, real=False)


def run(report: Report, *, quick: bool, data: Path | None) -> None:
    """Figures 1 to 7, the dip experiment, and real data.

    Parameters
    ----------
    report : Report
    quick : bool
        Fewer points on the curves, fewer repetitions, the paper's three sparsifiers only and no
        real data.
    data : Path or None
        Folder with ``coil20.npz`` and ``cbmc_cite_pca50.npz``; without it digits are the only real
        data.
    """
    scale = QUICK if quick else FULL
    problems = toy_problems()
    _figures_1_and_2(report, problems)
    _figures_3_to_5(report, problems, scale)
    _figures_6_and_7(report, problems, scale)
    report.log("the dip test")
    counts = [dips.dip_experiment(other, scale.repetitions) for other in (5.0, 20.0)]
    report.add("Section 6: the dip test", dips.describe(counts))
    if scale.real:
        _real_data(report, data)


def _figures_1_and_2(report: Report, problems: Sequence[Problem]) -> None:
    report.log("figures 1 and 2")
    report.add(
        "Figure 1: nearest neighbours and entropic affinities",
        graphs.describe_neighbors(problems),
        graphs.draw_neighbors(problems),
        "figure-1",
    )
    report.add(
        "Figure 2: viewers (orange)",
        graphs.describe_viewers(problems),
        graphs.draw_viewers(problems),
        "figure-2",
    )


def _figures_3_to_5(report: Report, problems: Sequence[Problem], scale: Scale) -> None:
    report.log("figures 3, 4 and 5")
    perplexities = np.geomspace(5.0, 250.0, scale.n_parameters)
    sigmas = {p.name: bandwidths.sigmas_by_perplexity(p, perplexities) for p in problems}
    report.add(
        "Figure 3: bandwidths",
        bandwidths.describe(perplexities, sigmas),
        bandwidths.draw(perplexities, sigmas),
        "figure-3",
    )
    sparsities = parameters.by_parameter(problems, scale.n_parameters)
    report.add(
        "Figure 4: sparsity by neighbours and by entropy",
        parameters.describe_linearity(sparsities),
        parameters.draw_linearity(sparsities),
        "figure-4",
    )
    by_votes = {p.name: parameters.by_votes(p) for p in problems}
    report.add(
        "Figure 5: sparsity by votes",
        parameters.describe_votes(by_votes),
        parameters.draw_votes(by_votes),
        "figure-5",
    )


def _figures_6_and_7(report: Report, problems: Sequence[Problem], scale: Scale) -> None:
    found = {}
    for problem in problems:
        report.log(f"figures 6 and 7, {problem.name}")
        found[problem.name] = curves.evaluate(problem, scale.levels, scale.methods)
    report.add(
        "Figure 6: D₁ and D₂",
        curves.describe_distances(found),
        curves.draw_distances(found),
        "figure-6",
    )
    report.add(
        "Figure 7: clustering",
        curves.describe_accuracies(found),
        curves.draw_accuracies(found),
        "figure-7",
    )


def _real_data(report: Report, data: Path | None) -> None:
    found = {}
    for problem in real_problems(data):
        report.log(f"real data, {problem.name}")
        found[problem.name] = curves.evaluate(problem, LEVELS, METHODS)
    report.add("Beyond the paper: real data", curves.describe_real(found))
