"""Figure 1: every method from one start to one minimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from closeknit._arrays import Array
from closeknit.experiments.drawing import legend_below, new_figure
from closeknit.experiments.embeddings.problems import (
    MINUS_COST,
    PAPERS,
    EmbeddingModel,
    Runs,
    finished,
    methods,
)
from closeknit.experiments.report import Section, claim, listed, settled, table
from closeknit.minimize import homotopy, minimize

SHARES = (1e-2, 1e-4, 1e-6)
STARTS = ("minimum at 0.9 λ", "minimum shrunk by a tenth", "minimum with noise")
UNKNOWN = "the paper does not say where its start lies, and that decides"


@dataclass(frozen=True)
class SameStart(Runs):
    """Runs of all methods on one model, from one start to the minimum X."""

    start: str
    X: Array

    def gaps(self, label: str) -> Array:
        """Return the share of the decrease that is left after each iteration."""
        lowest = self.lowest
        return (self.runs[label].history.objective - lowest) / (self.first - lowest)

    def reached(self, label: str, share: float, column: str = "evaluations") -> float:
        """Evaluations or iterations until such a share is left; infinity if it never is."""
        places = np.flatnonzero(self.gaps(label) <= share)
        values = getattr(self.runs[label].history, column)
        return float(values[places[0]]) if len(places) else np.inf

    def cost(self, *labels: str, share: float = SHARES[1]) -> float:
        """Return the mean of a group's evaluations, those of SD− with the cost of its system."""
        factors = [MINUS_COST if label == "SD−" else 1.0 for label in labels]
        return float(np.mean(np.multiply([self.reached(d, share) for d in labels], factors)))

    def distance(self, label: str) -> float:
        """Return the Procrustes disparity between where a method ends and the minimum."""
        from scipy.spatial import procrustes

        return float(procrustes(self.X, self.runs[label].X)[2])


def minimum(model: EmbeddingModel) -> Array:
    """Return a minimum, found by homotopy, that attracts from 0.9 λ too."""
    lams, start = model.lam * np.geomspace(1e-4, 1.0, 12), model.random_start(1e-4, seed=0)
    path = finished(homotopy(model.objective.at, lams, start, "spectral-lbfgs", max_iter=300))
    return _polished(model, _at_smaller(model, path.X)).X


def _at_smaller(model: EmbeddingModel, X: Array) -> Array:
    smaller = model.objective.at(0.9 * model.lam)
    return finished(minimize(smaller, X, "spectral-lbfgs", max_iter=500, tol=1e-12)).X


def _polished(model: EmbeddingModel, X: Array) -> Any:
    return finished(minimize(model.problem, X, "spectral-lbfgs", tol=0.0, gradient_tol=0.0))


def same_start(model: EmbeddingModel, X: Array, start: str, evaluations: int) -> SameStart:
    """Minimise with every method from beside the minimum X."""
    if start == STARTS[0]:
        X0 = _at_smaller(model, X)
    else:
        X0 = 0.9 * X if start == STARTS[1] else X + model.random_start(0.05 * X.std(), seed=1)
    first = float(model.problem.value(X0))
    # The minimum that SD comes to from there; it is hardly ever another one than X.
    best = _polished(model, model.descend(X0, "SD", methods()["SD"], min(evaluations, 1000)).X)
    until = best.value + 0.5 * SHARES[-1] * (first - best.value)
    runs = {
        label: model.descend(X0, label, method, evaluations, until)
        for label, method in methods().items()
    }
    return SameStart(model.name, first, runs, start, best.X)


def figure_1(models: Sequence[EmbeddingModel], name: str, evaluations: int) -> Section:
    """Run all starts of all models."""
    outcomes = []
    for model in models:
        X = minimum(model)
        outcomes += [same_start(model, X, start, evaluations) for start in STARTS]
    parts = [
        f"{name}. The start lies beside the minimum: at that for 0.9 λ, at the minimum shrunk by a "
        "tenth, or at the minimum with normal noise of 0.05 of its standard deviation (seed 1); "
        "the paper says only that all methods must come to the same minimum. At most "
        f"{evaluations:,} evaluations each; the paper has 10,000 iterations of GD. Evaluations "
        f"until a share of {' / '.join(f'{share:g}' for share in SHARES)} of the decrease is left; "
        "a dash means that the limit came first. Then the largest distance of the last map from "
        "the minimum (Procrustes disparity), and seconds per evaluation over those of GD."
    ]
    for model in models:
        some = [o for o in outcomes if o.model == model.name]
        parts += [f"### {model.name}", runs_table(some)]
    return Section([*parts, "### The paper's claims", _verdicts(outcomes)], draw(outcomes))


def runs_table(outcomes: Sequence[SameStart]) -> str:
    """Evaluations until so small a share of the decrease is left, by start."""
    rows, pace = [], _pace(outcomes)
    for label in outcomes[0].runs:
        counts = [[o.reached(label, share) for share in SHARES] for o in outcomes]
        cells = [" / ".join("–" if np.isinf(n) else f"{n:.0f}" for n in row) for row in counts]
        distance = max(o.distance(label) for o in outcomes)
        rows.append([label, *cells, f"{distance:.0e}", f"{pace[label]:.2f}"])
    return table(["method", *(o.start for o in outcomes), "distance", "seconds"], rows)


def _pace(outcomes: Sequence[SameStart]) -> dict[str, float]:
    """Seconds per evaluation over those of GD, whose direction costs nothing."""
    runs = {label: [o.runs[label] for o in outcomes] for label in outcomes[0].runs}
    seconds = {label: _seconds_per_evaluation(some) for label, some in runs.items()}
    return {label: value / seconds["GD"] for label, value in seconds.items()}


def _seconds_per_evaluation(runs: Sequence[Any]) -> float:
    return float(sum(run.seconds for run in runs) / sum(run.n_evaluations for run in runs))


def draw(outcomes: Sequence[SameStart]) -> Any:
    """A row for each model: what is left of the decrease by iterations and by seconds."""
    shown = [o for o in outcomes if o.start == STARTS[1]]
    figure, grid = new_figure(len(shown), 2, width=4.8, height=3.2)
    for row, outcome in zip(grid, shown, strict=True):
        span = abs(outcome.first - outcome.lowest)
        for axes, x in zip(row, ("iteration", "seconds"), strict=True):
            outcome.draw(axes, x=x, above=outcome.lowest, x_scale="log")
            axes.set(yscale="log", ylabel="E − E*", ylim=(0.3e-6 * span, 2.0 * span))
            axes.set_title(f"{outcome.model}, {outcome.start}", fontsize="medium")
    legend_below(figure, grid[0, 0].lines, columns=5)
    return figure


def _verdicts(outcomes: Sequence[SameStart]) -> str:
    groups = (("GD",), ("FP", "DiagH"), ("CG", "SD−"), ("L-BFGS", "SD"))
    names = [f"{o.model}, {o.start}:" for o in outcomes]

    def each(number: Callable[[SameStart], Any], pattern: str = "{}") -> str:
        return listed(dict(zip(names, map(number, outcomes), strict=True)), pattern)

    def judged(
        says: str,
        holds: Callable[[SameStart, float], bool],
        numbers: str,
        shares: Sequence[float] = SHARES,
    ) -> str:
        """A claim must hold from all starts and to all accuracies, which the paper leaves open."""
        cases = [holds(o, share) for o in outcomes for share in shares]
        verdict = settled(cases)
        counts = f"holds for {sum(cases)} of {len(cases)} pairs of a start and a share; "
        return claim(says, verdict, counts + numbers, UNKNOWN if verdict is None else "")

    def in_order(o: SameStart, share: float) -> bool:
        return all(a > b for a, b in pairwise(o.cost(*group, share=share) for group in groups))

    def ratios(slow: str, fast: str) -> str:
        numbers = each(lambda o: o.cost(slow) / o.cost(fast), "{:.1f}")
        return f"evaluations of {slow} over those of {fast} to a share of 1e-4: {numbers}"

    def is_ten_times(o: SameStart, share: float) -> bool:
        slow, fast = o.cost("FP", share=share), o.cost("SD", share=share)
        return slow < np.inf and 10.0**0.5 < slow / fast < 10.0**1.5

    def fewest(o: SameStart) -> str:
        counts = {label: o.reached(label, SHARES[0], "iteration") for label in PAPERS}
        return f"{counts.pop('SD−'):.0f} and {min(counts.values()):.0f}"

    pace = {label: value for label, value in _pace(outcomes).items() if label in PAPERS[1:]}
    milliseconds = 1e3 * _seconds_per_evaluation([o.runs["GD"] for o in outcomes])
    return "\n".join(
        [
            judged(
                "Runtimes order as GD ≫ (FP, DiagH) > (CG, SD−) > (L-BFGS, SD).",
                in_order,
                "mean evaluations of the groups to a share of 1e-4 (those of SD− times "
                f"{MINUS_COST:.1f}, the paper's ratio on MNIST): "
                + each(lambda o: ", ".join(f"{o.cost(*group):.0f}" for group in groups)),
            ),
            judged(
                "GD is over an order of magnitude slower than FP.",
                lambda o, s: o.cost("GD", share=s) > 10.0 * o.cost("FP", share=s),
                ratios("GD", "FP"),
            ),
            judged(
                "FP is about an order of magnitude slower than SD (a ratio nearer to 10 than to 1 "
                "or 100, by logarithm).",
                is_ten_times,
                ratios("FP", "SD"),
            ),
            judged(
                "SD−, with most of the Hessian, uses the fewest iterations of the paper's methods.",
                lambda o, s: min(PAPERS, key=lambda d: o.reached(d, s, "iteration")) == "SD−",
                "iterations of SD− and of the best other to a share of 1e-2: " + each(fewest),
            ),
            claim(
                "For all methods but SD− the direction costs less than the gradient.",
                None,
                f"seconds per evaluation over those of GD: {listed(pace, '{:.2f}')}",
                "a ratio of programs: an evaluation takes 0.12 seconds there, and "
                f"{milliseconds:.1f} milliseconds here",
            ),
            judged(
                "GD is the only method that does not reach the convergence value, even after "
                "10,000 iterations.",
                lambda o, s: all((o.reached(d, s) == np.inf) == (d == "GD") for d in PAPERS),
                "share that GD leaves: " + each(lambda o: o.gaps("GD").min(), "{:.0e}"),
                SHARES[-1:],
            ),
        ]
    )
