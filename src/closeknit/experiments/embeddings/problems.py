"""The objectives of the partial-Hessian paper and the directions it compares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from closeknit import objectives
from closeknit.affinities import EntropicAffinities
from closeknit.experiments.data import Points
from closeknit.graphs import symmetrize
from closeknit.minimize import Path as LambdaPath
from closeknit.minimize import Result
from closeknit.plotting import plot_history
from closeknit.plotting._curves import curve_styles

__all__ = [
    "DIRECTIONS",
    "MODELS",
    "Model",
    "draw_histories",
    "finished",
    "lowest_objective",
    "models_of",
    "random_start",
]

#: The paper's names and ours; the last is ours alone.
DIRECTIONS: dict[str, str] = {
    "GD": "gradient",
    "FP": "fixed-point",
    "DiagH": "diagonal-hessian",
    "CG": "cg",
    "SD−": "spectral-minus",
    "L-BFGS": "lbfgs",
    "SD": "spectral",
    "SD + L-BFGS": "spectral-lbfgs",
}
MODELS: dict[str, tuple[Any, float]] = {
    "EE": (objectives.ElasticEmbedding, 100.0),
    "s-SNE": (objectives.SymmetricSNE, 1.0),
}
PERPLEXITY = 20.0


@dataclass(frozen=True)
class Model:
    """An objective on data, and its λ.

    Attributes
    ----------
    name : str
    objective : Objective
    lam : float
    """

    name: str
    objective: Any
    lam: float

    @property
    def problem(self) -> Any:
        """The objective at its λ."""
        return self.objective.at(self.lam)


def models_of(points: Points, n_jobs: int | None = -1) -> list[Model]:
    """EE and s-SNE on entropic affinities over all points at perplexity 20."""
    P = EntropicAffinities(PERPLEXITY, n_neighbors=None, n_jobs=n_jobs).fit_transform(points.X)
    return [
        Model(name, objective(symmetrize(P), n_jobs=n_jobs), lam)
        for name, (objective, lam) in MODELS.items()
    ]


def random_start(model: Model, size: float, seed: int) -> NDArray[np.float64]:
    """Return normal positions in the plane with standard deviation `size`."""
    shape = (model.objective.n_samples, 2)
    return size * np.random.default_rng(seed).standard_normal(shape)


Run = TypeVar("Run", Result, LambdaPath)


def finished(run: Run) -> Run:
    """Pass on a minimisation, but raise if it was cut short by Ctrl-C, which it swallows."""
    if run.stopped_because == "interrupted":
        raise KeyboardInterrupt
    return run


def draw_histories(axes: Any, runs: Mapping[str, Result], **options: Any) -> None:
    """Draw learning curves without a legend, of which several axes share one."""
    for (label, run), style in zip(runs.items(), curve_styles(len(runs)), strict=True):
        plot_history(run, axes, **options)
        axes.lines[-1].set(label=label, **style)


def lowest_objective(runs: Mapping[str, Result]) -> float:
    """Return the least objective that any direction reached."""
    return min(result.value for result in runs.values())
