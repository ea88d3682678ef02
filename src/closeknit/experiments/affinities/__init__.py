"""Entropic affinities (Vladymyrov and Carreira-Perpiñán, 2013): figures 1 to 6.

::

    rules.py     figure 1      embeddings under three rules for the bandwidth
    roots.py     figures 2, 3  one point's entropy, the root finders' steps, the bounds
    orders.py    figure 4      β and the orders that follow it
    pixels.py    figure 5      β of a photograph
    methods.py   figure 6      root finders × orders; verdicts.py judges the paper's claims
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

from closeknit.affinities import solve_bandwidths
from closeknit.exceptions import NoBandwidthWarning
from closeknit.experiments import data as sets
from closeknit.experiments.affinities import methods, orders, pixels, roots, rules, verdicts
from closeknit.experiments.data import Points
from closeknit.experiments.report import Report
from closeknit.neighbors import Neighbors, find_neighbors

__all__ = ["INTRODUCTION", "TITLE", "Scale", "run"]

TITLE = "Entropic affinities: properties and efficient numerical computation"
INTRODUCTION = (
    "Figures 1 to 6 of Vladymyrov and Carreira-Perpiñán (2013), drawn and measured by "
    "`closeknit.experiments.affinities`. What the paper claims is in italics, our verdict in bold. "
    "Seconds are those of the machine that ran this, all cores; the rest does not depend on it."
)


@dataclass(frozen=True)
class Scale:
    """How much of the experiment to run.

    Attributes
    ----------
    image_size : int or None
        Side of the square of the photograph; None for all of it.
    n_embedded : int
        Digits in figure 1, if there is no COIL-20.
    n_lams, max_iter : int
        Of its homotopy.
    """

    image_size: int | None = None
    n_embedded: int = 720
    n_lams: int = 12
    max_iter: int = 200


FULL = Scale()
QUICK = Scale(image_size=80, n_embedded=200, n_lams=6, max_iter=60)


def run(report: Report, *, quick: bool, data: Path | None) -> None:
    """Figures 1 to 6.

    Parameters
    ----------
    report : Report
    quick : bool
        A small part of the photograph and few digits.
    data : Path or None
        Folder with ``coil20.npz``, ``mnist70k.npz`` and ``newsgroups20_counts.npz``, for which
        scikit-learn's digits and the docstrings of NumPy and SciPy stand in.
    """
    scale = QUICK if quick else FULL
    with warnings.catch_warnings():
        # Pictures have pixels with many equals, and each experiment would say so again.
        warnings.simplefilter("ignore", NoBandwidthWarning)
        _figure_1(report, sets.digits(scale.n_embedded) if data is None else sets.coil(data), scale)
        photograph = sets.photograph(scale.image_size)
        report.log("neighbours of the pixels")
        near = _neighbors(photograph)
        _figures_2_and_3(report, photograph, near)
        report.log("figure 4")
        square = orders.uniform_square()
        report.add("Figure 4: orders", orders.describe(square), orders.draw(square), "figure-4")
        _figure_5(report, photograph, near)
        _figure_6(report, photograph, near, data)


def _neighbors(points: Points) -> Neighbors:
    return find_neighbors(points.X, methods.N_NEIGHBORS, metric=points.metric, neighbors="exact")


def _figure_1(report: Report, points: Points, scale: Scale) -> None:
    report.log(f"figure 1, {points.name}")
    outcomes = rules.compare_rules(points, scale.n_lams, scale.max_iter)
    text = rules.describe(points, outcomes)
    report.add("Figure 1: three rules", text, rules.draw(points, outcomes), "figure-1")


def _figures_2_and_3(report: Report, points: Points, near: Neighbors) -> None:
    report.log("figures 2 and 3")
    K = methods.PERPLEXITY
    row = near.sq_distances[roots.typical_point(solve_bandwidths(near.sq_distances, K).betas)]
    counts = [roots.count_steps(row, K, method) for method in roots.METHODS]
    text = roots.describe_steps(K, counts)
    report.add("Figure 2: one root", text, roots.draw_steps(row, K, counts), "figure-2")
    text = roots.describe_bounds(near, K)
    report.add("Figure 3: bounds", text, roots.draw_bounds(row, K), "figure-3")


def _figure_5(report: Report, points: Points, near: Neighbors) -> None:
    report.log("figure 5")
    solution = solve_bandwidths(near.sq_distances, methods.PERPLEXITY)
    text = pixels.describe(points, solution.betas, methods.PERPLEXITY)
    report.add("Figure 5: a photograph", text, pixels.draw(points, solution.sigmas), "figure-5")


def _figure_6(report: Report, points: Points, near: Neighbors, data: Path | None) -> None:
    report.log(f"figure 6, {points.name}")
    shape = None if points.image is None else points.image.shape[:2]
    trials = [methods.try_methods(points.name, near, shape)]
    others = [
        sets.digits() if data is None else sets.mnist(data, 60_000),
        sets.docstrings() if data is None else sets.newsgroups(data),
    ]
    for other in others:
        report.log(f"figure 6, {other.name}")
        trials.append(methods.try_methods(other.name, _neighbors(other)))
    parts = [
        f"K = {methods.PERPLEXITY:g}, {methods.N_NEIGHBORS} neighbours, tolerance 1e-10, as in the "
        "paper. Mean passes over a point's distances / seconds with the order's own cost; methods "
        "without derivatives do not use the order. *auto* is the library's start, a regression.",
    ]
    for trial in trials:
        parts += [
            f"### {trial.name}: n = {trial.n_samples:,}",
            methods.methods_table(trial),
            f"The library's own choice, no order: {trial.counts['auto'].mean():.2f} passes, "
            f"{trial.auto_seconds:.2f} seconds.",
            "Share of points converged within so many passes, MST order:",
            methods.convergence_table(trial),
        ]
    parts += ["### The paper's claims", verdicts.verdicts(trials)]
    report.add("Figure 6: methods and orders", "\n\n".join(parts), methods.draw(trials), "figure-6")
