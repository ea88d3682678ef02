"""Partial-Hessian strategies (Vladymyrov and Carreira-Perpiñán, 2012): figures 1 to 4.

::

    problems.py       the models, the methods, the paper's line search
    same_start.py     figure 1: one start, one minimum
    random_starts.py  figure 2: random starts
    paths.py          figure 3: homotopy
    large.py          figure 4: MNIST
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from closeknit.experiments import data as sets
from closeknit.experiments.embeddings.large import HOUR, figure_4
from closeknit.experiments.embeddings.paths import figure_3
from closeknit.experiments.embeddings.problems import EmbeddingModel, small_models
from closeknit.experiments.embeddings.random_starts import figure_2
from closeknit.experiments.embeddings.same_start import figure_1
from closeknit.experiments.report import Section

__all__ = ["INTRODUCTION", "NEEDS_DATA", "TITLE", "Scale", "sections"]

NEEDS_DATA = True
TITLE = "Partial-Hessian strategies for fast learning of nonlinear embeddings"
INTRODUCTION = (
    "Figures 1 to 4 of Vladymyrov and Carreira-Perpiñán (2012), run by "
    "`closeknit.experiments.embeddings` under the paper's conditions: the elastic embedding (EE) "
    "scaled as its authors do, Σw⁺ = Σw⁻ = 1 with w⁻ proportional to squared distances, λ = 100; "
    "affinities of perplexity 20 over all points; for every direction but CG a line search whose "
    "first trial is α = 1 and which only shrinks; budgets in evaluations of E and its gradient, "
    "derived from the paper's seconds and iterations. Seeds are 0 to 49 for figure 2's starts, 1 "
    "for figure 1's noise, and 0 elsewhere. Seconds are processor time. Curves named "
    "*ours* are not the paper's: steps that may grow again, and L-BFGS that starts from the "
    "spectral matrix. What the paper claims is in italics, our verdict in bold. A claim is not "
    "comparable where the outcome depends on something that the paper does not say, or for which "
    "it gives no measure."
)


@dataclass(frozen=True)
class Scale:
    """How much of the experiment to run.

    Attributes
    ----------
    same, random, large : int
        Evaluations of a run in figures 1, 2 and 4.
    path : int
        Most iterations at each λ of figure 3.
    n_small, n_large : int
        Digits that stand in for COIL-20, and points of figure 4.
    n_starts, n_lams : int
    most_minus : int
        Most iterations of SD− in figure 4.
    """

    same: int = 10_000
    random: int = 167
    path: int = 10_000
    large: int = HOUR
    n_small: int = 720
    n_large: int = 20_000
    n_starts: int = 50
    n_lams: int = 50
    most_minus: int = 37


FULL = Scale()
QUICK = Scale(100, 20, 40, 12, n_small=150, n_large=600, n_starts=3, n_lams=10, most_minus=5)


def sections(quick: bool, data: Path | None) -> dict[str, Callable[[], Section]]:
    """Figures 1 to 4.

    Parameters
    ----------
    quick : bool
        Few digits, few starts, few iterations.
    data : Path or None
        Folder with ``coil20.npz`` and ``mnist70k.npz``, for which scikit-learn's digits stand in.
    """
    scale = QUICK if quick else FULL
    small = sets.digits(scale.n_small) if data is None else sets.coil(data)
    name = f"{len(small.X)} points of {small.name}"

    @cache
    def models() -> list[EmbeddingModel]:
        return small_models(small)

    def large() -> Section:
        n = scale.n_large
        points = sets.digits(n) if data is None else sets.mnist(data, n)
        return figure_4(points, scale.large, scale.most_minus)

    return {
        "Figure 1: one start": lambda: figure_1(models(), name, scale.same),
        "Figure 2: random starts": lambda: figure_2(models(), name, scale.n_starts, scale.random),
        "Figure 3: homotopy": lambda: figure_3(
            models()[0], name, small.y, scale.n_lams, scale.path
        ),
        "Figure 4: a larger data set": large,
    }
