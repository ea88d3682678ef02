"""Partial-Hessian strategies (Vladymyrov and Carreira-Perpiñán, 2012): figures 1 to 4.

::

    problems.py       the models, the directions
    same_start.py     figure 1: one start, one minimum
    random_starts.py  figure 2: random starts for a fixed time
    paths.py          figure 3: homotopy
    large.py          figure 4: MNIST
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from closeknit.experiments import data as sets
from closeknit.experiments.embeddings import large, paths, random_starts, same_start
from closeknit.experiments.embeddings.problems import Model, models_of
from closeknit.experiments.report import Report

__all__ = ["INTRODUCTION", "TITLE", "Limits", "Scale", "run"]

TITLE = "Partial-Hessian strategies for fast learning of nonlinear embeddings"
INTRODUCTION = (
    "Figures 1 to 4 of Vladymyrov and Carreira-Perpiñán (2012), drawn and measured by "
    "`closeknit.experiments.embeddings`. What the paper claims is in italics, our verdict in bold. "
    "Seconds, and what a limit in seconds leads to, are those of the machine that ran this."
)


@dataclass(frozen=True)
class Limits:
    """When a run stops.

    Attributes
    ----------
    max_iter : int
    seconds : float or None
    """

    max_iter: int
    seconds: float | None = None

    def __str__(self) -> str:
        iterations = f"{self.max_iter:,} iterations"
        return f"{iterations} at most" if self.seconds is None else f"{self.seconds:g} seconds"

    @property
    def options(self) -> dict[str, Any]:
        """As keywords."""
        return {"max_iter": self.max_iter, "time_limit": self.seconds}


@dataclass(frozen=True)
class Scale:
    """How much of the experiment to run; limits in iterations give the same numbers anywhere.

    Attributes
    ----------
    same, random, path, large : Limits
        Of a run in figures 1 to 4; for figure 3 iterations at each λ, but seconds in all.
    n_small, n_large : int
        Digits that stand in for COIL-20, and points of figure 4.
    n_starts, n_lams : int
    """

    same: Limits = Limits(3000, 12.0)
    random: Limits = Limits(100_000, 0.2)
    path: Limits = Limits(10_000, 15.0)
    large: Limits = Limits(100_000, 15.0)
    n_small: int = 720
    n_large: int = 20_000
    n_starts: int = 50
    n_lams: int = 50


FULL = Scale()
QUICK = Scale(
    same=Limits(100),
    random=Limits(20),
    path=Limits(40),
    large=Limits(12),
    n_small=150,
    n_large=600,
    n_starts=3,
    n_lams=10,
)


def run(report: Report, *, quick: bool, data: Path | None) -> None:
    """Figures 1 to 4.

    Parameters
    ----------
    report : Report
    quick : bool
        Few digits, few starts, and limits in iterations instead of seconds.
    data : Path or None
        Folder with ``coil20.npz`` and ``mnist70k.npz``, for which scikit-learn's digits stand in.
    """
    scale = QUICK if quick else FULL
    small = sets.digits(scale.n_small) if data is None else sets.coil(data)
    models = models_of(small)
    name = f"{len(small.X)} points of {small.name}"
    _figure_1(report, models, name, scale)
    _figure_2(report, models, name, scale)
    report.log("figure 3")
    path = paths.follow_paths(models[0], scale.n_lams, **scale.path.options)
    text = f"{name}. " + paths.describe(path, str(scale.path))
    report.add("Figure 3: homotopy", text, paths.draw(path, small.y), "figure-3")
    _figure_4(report, data, scale)


def _figure_1(report: Report, models: list[Model], name: str, scale: Scale) -> None:
    outcomes = []
    for model in models:
        report.log(f"figure 1, {model.name}")
        outcomes.append(same_start.same_start(model, **scale.same.options))
    text = f"{name}, {scale.same} for each run. " + same_start.describe(outcomes)
    report.add("Figure 1: one start", text, same_start.draw(outcomes), "figure-1")


def _figure_2(report: Report, models: list[Model], name: str, scale: Scale) -> None:
    outcomes = []
    for model in models:
        report.log(f"figure 2, {model.name}")
        outcomes.append(random_starts.random_starts(model, scale.n_starts, **scale.random.options))
    text = f"{name}. " + random_starts.describe(outcomes, str(scale.random))
    report.add("Figure 2: random starts", text, random_starts.draw(outcomes), "figure-2")


def _figure_4(report: Report, data: Path | None, scale: Scale) -> None:
    n = scale.n_large
    points = sets.digits(n) if data is None else sets.mnist(data, n)
    assert points.y is not None
    report.log(f"figure 4, affinities of {points.name}")
    outcomes = []
    for model in large.large_models(points):
        report.log(f"figure 4, {model.name}")
        outcomes.append(large.run_large(model, points.y, **scale.large.options))
    text = large.describe(points, outcomes, str(scale.large))
    report.add("Figure 4: a larger data set", text, large.draw(outcomes, points.y), "figure-4")
