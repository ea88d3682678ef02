"""Figure 3: every method along a homotopy of the elastic embedding."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array
from closeknit.experiments.drawing import legend_below, new_figure, plain_log_ticks
from closeknit.experiments.embeddings.problems import (
    PAPERS,
    EmbeddingModel,
    finished,
    methods,
    styles,
)
from closeknit.experiments.report import Section, claim, table
from closeknit.minimize import Convergence, Schedule, log_spaced, run_schedule
from closeknit.minimize import Path as LambdaPath
from closeknit.plotting import plot_embedding


@dataclass(frozen=True)
class Paths:
    """Homotopies of all methods on one model, and how much they took.

    Attributes
    ----------
    model : str
    lams : ndarray of shape (n_lams,)
    paths : dict of str to Path
    """

    model: str
    lams: Array
    paths: Mapping[str, LambdaPath]

    def count(self, label: str, column: str) -> float:
        """Return iterations (``n_iter``), ``n_evaluations`` or ``seconds`` of a whole path."""
        return sum(getattr(result, column) for result in self.paths[label].results)

    def distances(self, label: str) -> list[float]:
        """Return the Procrustes disparity between a method's last map and those of all but GD."""
        from scipy.spatial import procrustes

        others = [other for other in self.paths if other not in (label, "GD")]
        X = self.paths[label].X
        return [float(procrustes(self.paths[other].X, X)[2]) for other in others]


def follow_paths(model: EmbeddingModel, n_lams: int, max_iter: int) -> Paths:
    """Follow the minimum from λ = 1e-4 to 100 with every method; seconds of the processor."""
    lams = log_spaced(n_lams=n_lams)
    start = model.random_start(1e-4, seed=0)
    schedule, stop = Schedule.homotopy(lams, max_iter), Convergence(1e-6, 0.0, patience=1)

    def follow(method: Any) -> LambdaPath:
        times = np.full(1 + n_lams, time.process_time())

        def note(state: Any) -> None:
            times[1 + state.stage :] = time.process_time()

        run = run_schedule(schedule, model.objective.at, start, *method, stop=stop, callback=note)
        pairs = zip(finished(run).results, np.diff(times), strict=True)
        return replace(run, results=tuple(replace(one, seconds=float(s)) for one, s in pairs))

    paths = {label: follow(method) for label, method in methods().items()}
    return Paths(model.name, lams, paths)


def figure_3(model: EmbeddingModel, name: str, labels: Any, n_lams: int, max_iter: int) -> Section:
    """Run all methods."""
    outcome = follow_paths(model, n_lams, max_iter)
    text = (
        f"{name}, {model.name}. {n_lams} values of λ from {outcome.lams[0]:g} to "
        f"{outcome.lams[-1]:g} at equal ratios, each until the relative decrease is below 1e-6 or "
        f"{max_iter:,} iterations; the first trial step is 1 at each λ. The start is normal of "
        "standard deviation 1e-4 (seed 0), to which a path returns as long as all points collapse "
        "into one."
    )
    return Section([text, runs_table(outcome), _verdicts(outcome)], draw(outcome, labels))


def runs_table(outcome: Paths) -> str:
    """Iterations, evaluations and seconds in all, and the last objective."""
    rows = [
        [
            label,
            outcome.count(label, "n_iter"),
            outcome.count(label, "n_evaluations"),
            f"{outcome.count(label, 'seconds'):.1f}",
            len(path.results),
            f"{path.results[-1].value:.5g}",
        ]
        for label, path in outcome.paths.items()
    ]
    header = ["method", "iterations", "evaluations", "seconds", "values of λ", "last E"]
    return table(header, rows)


def draw(outcome: Paths, labels: NDArray[Any] | None) -> Any:
    """The last map, iterations and seconds for each λ, and the totals."""
    figure, grid = new_figure(2, 2, width=4.8, height=3.3)
    embedding, iterations, seconds, totals = grid.ravel()
    plot_embedding(outcome.paths["SD"].X, labels, embedding, names="none")
    embedding.set_title("the last map of SD", fontsize="medium")
    embedding.set_axis_off()
    for (label, path), style in zip(outcome.paths.items(), styles(outcome.paths), strict=True):
        counts = [max(1, result.n_iter) for result in path.results]
        iterations.plot(path.lams, counts, lw=1.2, label=label, **style)
        seconds.plot(path.lams, [result.seconds for result in path.results], lw=1.2, **style)
        place = outcome.count(label, "seconds"), outcome.count(label, "n_evaluations")
        totals.plot(*place, "o", color=style["color"], ms=8)
    iterations.set(xscale="log", yscale="log", xlabel="λ", ylabel="iterations")
    seconds.set(xscale="log", yscale="log", xlabel="λ", ylabel="seconds")
    totals.set(xscale="log", yscale="log", xlabel="seconds in all", ylabel="evaluations in all")
    for axis in (iterations.yaxis, totals.xaxis, totals.yaxis):
        plain_log_ticks(axis)
    totals.margins(0.15)
    legend_below(figure, iterations.get_legend_handles_labels()[0], columns=5)
    return figure


def _verdicts(outcome: Paths) -> str:
    iterations, evaluations = (
        {label: outcome.count(label, column) for label in PAPERS}
        for column in ("n_iter", "n_evaluations")
    )
    same = max(max(outcome.distances(label)) for label in outcome.paths if label != "GD")
    other = min(outcome.distances("GD"))
    gradient, *ends = (path.results[-1].value for path in outcome.paths.values())
    small, last = _steps(outcome.paths["SD"])
    return "\n".join(
        [
            claim(
                "All methods converge to essentially the same embedding but GD, whose is still "
                "evolving.",
                None,
                f"the last E lie between {min(ends):.5g} and {max(ends):.5g}, that of GD is "
                f"{gradient:.5g}; the last maps differ by a Procrustes disparity of at most "
                f"{same:.2g}, that of GD from them by {other:.2g} or more",
                "the paper gives no measure",
            ),
            claim(
                "SD improves drastically over FP (and GD, which stops before it converges).",
                evaluations["SD"] < evaluations["FP"],
                f"evaluations: SD {evaluations['SD']}, FP {evaluations['FP']}, GD "
                f"{evaluations['GD']}",
            ),
            claim(
                "More of the Hessian means fewer iterations and evaluations: SD− needs fewer than "
                "SD, and SD than FP.",
                [one["SD−"] < one["SD"] < one["FP"] for one in (iterations, evaluations)],
                "iterations / evaluations: "
                + ", ".join(
                    f"{label} {iterations[label]} / {evaluations[label]}" for label in PAPERS
                ),
            ),
            claim(
                "SD's steps shrink from 1 where λ < 0.02 to 0.1 at the last λ.",
                round(small, 1) == 1.0 and round(last, 1) == 0.1,
                f"median step {small:.3g} where λ < 0.02, {last:.3g} at the last λ",
            ),
        ]
    )


def _steps(path: LambdaPath) -> tuple[float, float]:
    """Median accepted step where λ < 0.02, and at the last λ."""
    taken = [result.history.step[1:] for result in path.results]
    small = [steps for steps, lam in zip(taken, path.lams, strict=True) if lam < 0.02]
    return float(np.median(np.concatenate(small))), float(np.median(taken[-1]))
