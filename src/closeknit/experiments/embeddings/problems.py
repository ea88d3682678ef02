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
from closeknit.minimize import Result, minimize
from closeknit.plotting import curve_styles, plot_history

__all__ = [
    "DIRECTIONS",
    "MODELS",
    "Model",
    "Runs",
    "draw_histories",
    "finished",
    "models_of",
    "random_start",
    "run_direction",
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
class Runs:
    """Minimisations of one model along several directions.

    Attributes
    ----------
    model : str
    first : float
        The objective at the start.
    runs : dict of str to Result
    """

    model: str
    first: float
    runs: Mapping[str, Result]

    @property
    def lowest(self) -> float:
        """The lowest objective that any direction reached."""
        return min(run.value for run in self.runs.values())


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


def run_direction(
    model: Model,
    start: NDArray[np.float64],
    direction: str,
    *,
    max_iter: int,
    time_limit: float | None,
) -> Result:
    """Minimise until the gradient vanishes or a limit is reached."""
    return finished(
        minimize(
            model.problem,
            start,
            direction,
            max_iter=max_iter,
            tol=0.0,
            gradient_tol=1e-9,
            time_limit=time_limit,
        )
    )
