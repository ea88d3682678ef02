"""Figure 3: every direction along a homotopy of the elastic embedding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit.experiments.embeddings.problems import DIRECTIONS, Model, finished, random_start
from closeknit.experiments.report import claim, legend_below, new_figure, plain_log_ticks, table
from closeknit.minimize import Path as LambdaPath
from closeknit.minimize import homotopy
from closeknit.plotting import curve_styles, plot_embedding

__all__ = ["Paths", "describe", "draw", "follow_paths", "runs_table"]


@dataclass(frozen=True)
class Paths:
    """Homotopies of all directions on one model.

    Attributes
    ----------
    model : str
    lams : ndarray of shape (n_lams,)
    paths : dict of str to Path
        As far as each came within its limits.
    """

    model: str
    lams: NDArray[np.float64]
    paths: Mapping[str, LambdaPath]

    def complete(self, direction: str) -> bool:
        """Whether a direction came to a minimum at every λ."""
        path = self.paths[direction]
        return path.stopped_because == "end of path" and not any(
            result.stopped_because == "max_iter" for result in path.results
        )


def follow_paths(model: Model, n_lams: int, *, max_iter: int, time_limit: float | None) -> Paths:
    """Follow the minimum from λ / 10⁶ (EE) or λ / 10⁴ to the model's λ with every direction."""
    span = 1e-6 if model.name == "EE" else 1e-4
    lams = model.lam * np.geomspace(span, 1.0, n_lams)
    start = random_start(model, 1e-4, seed=0)
    paths = {
        label: finished(
            homotopy(
                model.objective.at,
                lams,
                start,
                direction,
                max_iter=max_iter,
                tol=1e-6,
                time_limit=time_limit,
            )
        )
        for label, direction in DIRECTIONS.items()
    }
    return Paths(model.name, lams, paths)


def runs_table(outcome: Paths) -> str:
    """Evaluations and seconds in all, how far each direction came, and the objective there."""
    rows = []
    for label, path in outcome.paths.items():
        history = path.history
        rows.append(
            [
                label,
                history.evaluations[-1],
                f"{history.seconds[-1]:.1f}",
                len(path.results),
                f"{path.results[-1].value:.6g}",
            ]
        )
    n_lams = len(outcome.lams)
    header = ["direction", "evaluations", "seconds", f"λ reached of {n_lams}", "E at the last λ"]
    return table(header, rows)


def draw(outcome: Paths, labels: NDArray[Any] | None) -> Any:
    """The last map, iterations and seconds for each λ, and the totals."""
    figure, grid = new_figure(2, 2, width=4.6, height=3.3)
    embedding, iterations, seconds, totals = grid.ravel()
    best = _lowest(outcome)
    plot_embedding(outcome.paths[best].X, labels, embedding, names="none")
    embedding.set_title(f"the lowest minimum, by {best}", fontsize="medium")
    embedding.set_axis_off()
    for (label, path), style in zip(
        outcome.paths.items(), curve_styles(len(outcome.paths)), strict=True
    ):
        counts = [max(1, result.n_iter) for result in path.results]
        iterations.plot(path.lams, counts, lw=1.2, label=label, **style)
        seconds.plot(path.lams, [result.seconds for result in path.results], lw=1.2, **style)
        history = path.history
        filled = style["color"] if outcome.complete(label) else "white"
        totals.plot(
            history.seconds[-1],
            history.evaluations[-1],
            "o",
            mec=style["color"],
            mfc=filled,
            ms=8,
            mew=2,
        )
    iterations.set(xscale="log", yscale="log", xlabel="λ", ylabel="iterations")
    seconds.set(xscale="log", yscale="log", xlabel="λ", ylabel="seconds")
    totals.set(yscale="log", xlabel="seconds in all", ylabel="evaluations in all")
    plain_log_ticks(iterations.yaxis)
    plain_log_ticks(totals.yaxis)
    totals.margins(0.15)
    totals.set_title("filled: a minimum at every λ", fontsize="medium")
    for axes in (iterations, seconds, totals):
        axes.spines[["top", "right"]].set_visible(False)
    legend_below(figure, iterations.get_legend_handles_labels()[0])
    return figure


def describe(outcome: Paths, limit: str) -> str:
    """The table, and our numbers beside the paper's claims."""
    return "\n\n".join(
        [
            f"{outcome.model}, {len(outcome.lams)} values of λ from {outcome.lams[0]:g} to "
            f"{outcome.lams[-1]:g}, relative decrease 1e-6, {limit}; the paper allows 10,000 "
            "iterations at each λ and no limit in time.",
            runs_table(outcome),
            _verdicts(outcome),
        ]
    )


def _verdicts(outcome: Paths) -> str:
    done = [label for label in outcome.paths if outcome.complete(label)]
    ends = {label: outcome.paths[label].results[-1].value for label in done}
    spread = max(ends.values()) / min(ends.values()) - 1.0 if ends else np.inf
    evaluations = {label: _evaluations(outcome, label) for label in outcome.paths}
    lines = [
        claim(
            "Nearly all methods converge to the same minimum (taken here as all but GD, within "
            "one per cent).",
            len(done) >= len(outcome.paths) - 1 and spread < 0.01,
            f"{len(done)} of {len(outcome.paths)} come to a minimum at every λ within the limits"
            + (f", and their last objectives differ by {spread:.2%}" if len(done) > 1 else ""),
        ),
        claim(
            "SD needs far fewer evaluations than GD and FP (taken here as less than half).",
            bool(2 * evaluations["SD"] < min(evaluations["GD"], evaluations["FP"])),
            f"evaluations up to λ = {_common(outcome):.3g}, which all reach: SD "
            f"{evaluations['SD']}, GD {evaluations['GD']}, FP {evaluations['FP']}",
        ),
        claim(
            "More of the Hessian means fewer evaluations: SD− needs fewer than SD, SD than DiagH "
            "and FP.",
            evaluations["SD−"] < evaluations["SD"] < min(evaluations["DiagH"], evaluations["FP"]),
            ", ".join(f"{label} {count}" for label, count in evaluations.items()),
        ),
    ]
    small, last = _steps(outcome.paths["SD"])
    lines.append(
        claim(
            "SD's steps shrink from 1 where λ < 0.02 to 0.1 at the last λ (taken here as above "
            "0.9 and below 0.3).",
            small > 0.9 and last < 0.3,
            f"median step {small:.3g} where λ < 0.02, {last:.3g} at λ = "
            f"{outcome.paths['SD'].lams[-1]:.3g}, the last that SD reached. Ours may grow again "
            "within a λ, the paper's cannot",
        )
    )
    return "\n".join(lines)


def _common(outcome: Paths) -> float:
    """The last λ that every direction finished."""
    return float(outcome.lams[_n_common(outcome) - 1])


def _n_common(outcome: Paths) -> int:
    return max(
        1,
        min(
            len(path.results) - (path.stopped_because != "end of path")
            for path in outcome.paths.values()
        ),
    )


def _evaluations(outcome: Paths, direction: str) -> int:
    results = outcome.paths[direction].results[: _n_common(outcome)]
    return sum(result.n_evaluations for result in results)


def _steps(path: LambdaPath) -> tuple[float, float]:
    """Median accepted step where λ < 0.02, and at the last λ."""
    taken = [result.history.step[1:] for result in path.results]
    small = [steps for steps, lam in zip(taken, path.lams, strict=True) if lam < 0.02]
    return float(np.median(np.concatenate(small))), float(np.median(taken[-1]))


def _lowest(outcome: Paths) -> str:
    """The direction with the lowest objective among those that came farthest."""
    paths = outcome.paths
    return min(
        paths, key=lambda label: (-len(paths[label].results), paths[label].results[-1].value)
    )
