"""The objectives of the partial-Hessian paper, its directions with its line search, and ours."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from closeknit import objectives
from closeknit._arrays import Array
from closeknit.affinities import EntropicAffinities
from closeknit.experiments.data import Points
from closeknit.graphs import symmetrize
from closeknit.minimize import Backtracking, LineSearch, Result, Step, minimize
from closeknit.minimize import Path as LambdaPath
from closeknit.minimize import SpectralDirection as SD
from closeknit.minimize import SpectralLBFGS as SDLBFGS
from closeknit.plotting import curve_styles, plot_history
from closeknit.repulsion import ExactRepulsion

LAM = 100.0
PAPERS = ("GD", "FP", "DiagH", "CG", "SD−", "L-BFGS", "SD")
OURS = ("ours: SD, growing steps", "ours: SD + L-BFGS")
#: What the library calls the directions of these methods, for their colours.
_DIRECTIONS = {
    "GD": "gradient",
    "FP": "fixed-point",
    "DiagH": "diagonal-hessian",
    "CG": "cg",
    "SD−": "spectral-minus",
    "L-BFGS": "lbfgs",
    "SD": "spectral",
    OURS[0]: "spectral-growing",
    OURS[1]: "spectral-lbfgs",
}
#: Evaluations that an iteration of SD− costs: in an hour on MNIST the paper makes 70 iterations of
#: L-BFGS and 37 of SD−.
MINUS_COST = 70 / 37


@dataclass(frozen=True)
class Shrinking(Step):
    """The paper's line search for every direction: α = 1 at first, then the last accepted step."""

    def start(self, natural: bool) -> LineSearch:
        """Begin a run."""
        return Backtracking(grow=1.0).start(natural=True)


def methods(n_neighbors: int | None = None, leave_out: Iterable[str] = ()) -> dict[str, Any]:
    """Return direction and step of the paper's methods and two of ours; SD with κ = `n_neighbors`.

    CG has a better line search than the others, as in the paper.
    """
    found: dict[str, Any] = {
        label: (_DIRECTIONS[label], "auto" if label == "CG" else Shrinking()) for label in PAPERS
    }
    found["SD"] = (SD(n_neighbors), Shrinking())
    found |= {OURS[0]: (SD(n_neighbors), "auto"), OURS[1]: (SDLBFGS(n_neighbors), "auto")}
    return {label: method for label, method in found.items() if label not in leave_out}


def styles(labels: Iterable[str]) -> list[dict[str, Any]]:
    """How the curves of methods look: the same in every figure."""
    return curve_styles([_DIRECTIONS[label] for label in labels])


@dataclass(frozen=True)
class EmbeddingModel:
    """An objective on data, and its λ."""

    name: str
    objective: Any
    lam: float

    @property
    def problem(self) -> Any:
        """The objective at its λ."""
        return self.objective.at(self.lam)

    def random_start(self, size: float, seed: int) -> Array:
        """Return normal positions in the plane with standard deviation `size`."""
        shape = (self.objective.n_samples, 2)
        return size * np.random.default_rng(seed).standard_normal(shape)

    def descend(
        self,
        start: Array,
        label: str,
        method: tuple[Any, Any],
        evaluations: float,
        until: float = -np.inf,
        watch: Callable[[Any], object] | None = None,
    ) -> Result:
        """Minimise with this many evaluations, or until the objective is as low as `until`.

        Seconds are those of the processor; `watch` is called with the state of each iteration.
        """
        most, iterations = evaluations, int(evaluations)
        if label == "SD−":  # as many iterations as cost that much
            most, iterations = np.inf, max(1, round(evaluations / MINUS_COST))

        began, seconds = time.process_time(), [0.0]

        def is_done(state: Any) -> bool:
            seconds.append(time.process_time() - began)
            if watch is not None:
                watch(state)
            return bool(state.evaluations >= most or state.value <= until)

        options: dict[str, Any] = {"max_iter": iterations, "tol": 0.0, "gradient_tol": 0.0}
        run = finished(minimize(self.problem, start, *method, callback=is_done, **options))
        history = replace(run.history, seconds=np.array(seconds))
        return replace(run, seconds=seconds[-1], history=history)


@dataclass(frozen=True)
class Runs:
    """Minimisations of one model by several methods.

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
        """The lowest objective that any method reached."""
        return min(run.value for run in self.runs.values())

    def draw(self, axes: Any, **options: Any) -> None:
        """Draw learning curves without a legend, of which several axes share one."""
        for (label, run), style in zip(self.runs.items(), styles(self.runs), strict=True):
            plot_history(run, axes, **options)
            axes.lines[-1].set(label=label, **style)


def graph(points: Points, perplexity: float, n_neighbors: Any) -> Any:
    """Symmetric entropic affinities."""
    return symmetrize(
        EntropicAffinities(perplexity, n_neighbors=n_neighbors).fit_transform(points.X)
    )


def elastic(P: Any, X: NDArray[Any]) -> EmbeddingModel:
    """EE as its authors scale it: Σw⁺ = Σw⁻ = 1, and w⁻ proportional to squared distances."""
    n = len(X)
    squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)
    weights = np.empty((n, n))
    for begin in range(0, n, 1000):  # OpenBLAS has been seen to crash on 20,000 at once
        some = slice(begin, begin + 1000)
        weights[some] = squares[some, None] + squares - 2.0 * (X[some] @ X.T)
    np.maximum(weights, 0.0, out=weights)
    np.fill_diagonal(weights, 0.0)
    # With a mean of 1 they are summed as ones are, and scaled like them.
    weights *= n * (n - 1) / weights.sum()
    repulsion = ExactRepulsion(-1, weights)
    return EmbeddingModel(
        "EE", objectives.ElasticEmbedding(P, repulsion=repulsion, scaling="unit"), LAM
    )


def small_models(points: Points) -> list[EmbeddingModel]:
    """EE and s-SNE on affinities over all points at perplexity 20."""
    P = graph(points, 20.0, None)
    return [elastic(P, points.X), EmbeddingModel("s-SNE", objectives.SymmetricSNE(P), 1.0)]


Run = TypeVar("Run", Result, LambdaPath)


def finished(run: Run) -> Run:
    """Return a minimisation; raise KeyboardInterrupt if Ctrl-C has ended it."""
    if run.stopped_because == "interrupted":
        raise KeyboardInterrupt
    return run
