"""Figures 2 and 3: the entropy of one point, how root finders approach its root, its bounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array
from closeknit.affinities import Bandwidths, bandwidth_bounds
from closeknit.experiments.affinities.algorithm import METHODS, Counts, algorithm_1
from closeknit.experiments.drawing import legend_below, new_figure
from closeknit.experiments.report import Section, claim, listed, table
from closeknit.neighbors import Neighbors
from closeknit.plotting import plot_entropy

N_STARTS = 2001
#: Why nothing about pixels is judged.
PICTURE = "the picture is not the paper's, Lena"
_COLOURS = {"steps": "#0072B2", "bisections": "#D55E00"}


def typical_row(found: Neighbors, solution: Bandwidths) -> Array:
    """Squared distances of the point whose β is the median."""
    order = np.argsort(solution.betas, kind="stable")
    return np.asarray(found.sq_distances[order[len(order) // 2]], dtype=np.float64)


def figure_2(found: Neighbors, solution: Bandwidths, perplexity: float) -> Section:
    """Steps and bisections of Algorithm 1 from starts all over the bounds of one point."""
    row = typical_row(found, solution)
    (lower,), (upper,) = bandwidth_bounds(row[None], perplexity, kind="paper")
    starts = np.linspace(np.log(lower), np.log(upper), N_STARTS)
    rows = np.tile(row, (N_STARTS, 1))
    counts = {method: algorithm_1(rows, perplexity, method, starts) for method in METHODS}
    cells = [
        [
            method,
            *(f"{c.within(most):.4f}" for most in (1, 2, 3)),
            int(c.iterations.max()),
            f"{c.bisected:.3f}",
        ]
        for method, c in counts.items()
    ]
    two = {method: c.within(2) for method, c in counts.items()}
    bisected = {method: c.bisected for method, c in counts.items()}
    text = (
        f"The point whose β is the median, K = {perplexity:g}, {N_STARTS:,} starts at equal "
        "distances in log β between the bounds of Theorem 1.1 (the paper's interval is [−4, 3] in "
        "log β of a point of Lena), tolerance 1e-10. Shares of the starts."
    )
    verdicts = [
        claim(
            "Near the root Halley and Euler behave alike, and Newton's region of one iteration is "
            "a lot smaller.",
            None,
            f"two iterations suffice for {listed(two, '{:.2%}')} of the starts",
            PICTURE,
        ),
        claim(
            "Newton's and Euler's first steps can leave the bounds, Euler's in a smaller region; "
            "Halley's method never has to bisect.",
            None,
            f"bisections from {listed(bisected, '{:.1%}')} of the starts",
            PICTURE,
        ),
    ]
    header = ["method", "in 1 iteration", "in 2", "in 3", "most", "with bisections"]
    figure = _draw_steps(row, perplexity, np.exp(starts), counts)
    return Section([text, table(header, cells), "\n".join(verdicts)], figure)


def _draw_steps(
    row: NDArray[Any], perplexity: float, starts: NDArray[Any], counts: dict[str, Counts]
) -> Any:
    """The entropy above, and below the steps and bisections from each start."""
    figure, grid = new_figure(1 + len(counts), 1, width=7.0, height=1.5)
    plot_entropy(row, perplexity, grid[0, 0], bounds=None)
    most = max(int(c.iterations.max()) for c in counts.values())
    for axes, (method, c) in zip(grid[1:, 0], counts.items(), strict=True):
        axes.fill_between(starts, c.steps, color=_COLOURS["steps"], lw=0, label="steps")
        axes.fill_between(
            starts, c.steps, c.iterations, color=_COLOURS["bisections"], lw=0, label="bisections"
        )
        axes.set(xscale="log", xlim=starts[[0, -1]], ylim=(0, most + 0.5), ylabel=method)
    grid[0, 0].set(xlim=starts[[0, -1]], xlabel="")
    grid[1, 0].legend(frameon=False, fontsize="small", ncols=2, loc="upper right")
    grid[-1, 0].set_xlabel("start β")
    return figure


def figure_3(found: Neighbors, solution: Bandwidths, perplexity: float) -> Section:
    """Whether the bounds hold, and how wide they are."""
    good = solution.converged
    rows, widths, outside = [], {}, {}
    for kind, name in (("paper", "Theorem 1.1"), ("sharp", "sharper bounds")):
        lower, upper = bandwidth_bounds(found.sq_distances, perplexity, kind=kind)  # type: ignore[arg-type]
        inside = (lower <= solution.betas) & (solution.betas <= upper)
        outside[kind] = int(np.count_nonzero(~inside[good]))
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.log2(upper / lower)[good]
        widths[kind] = float(np.median(width))
        quantile = f"{np.quantile(width, 0.95):.2f}"
        rows.append([name, outside[kind], f"{widths[kind]:.2f}", quantile])
    n = np.count_nonzero(good)
    text = f"The curves are those of one point; the table is over all {n:,}, K = {perplexity:g}."
    verdicts = [
        claim(
            "The bounds of Theorem 1.1 contain the root.",
            outside["paper"] == 0,
            f"{outside['paper']} of {n:,} roots lie outside",
        ),
        claim(
            "They are quite tight.",
            None,
            f"they differ by a factor of {2 ** widths['paper']:.0f} in β at the median; ours, in "
            f"the library by default, by {2 ** widths['sharp']:.0f}",
            f"{PICTURE}, which gives no measure either",
        ),
    ]
    header = ["bounds", "roots outside", "median log₂(β_U/β_L)", "95 % quantile"]
    figure = _draw_bounds(typical_row(found, solution), perplexity)
    return Section([text, table(header, rows), "\n".join(verdicts)], figure)


def _draw_bounds(row: NDArray[Any], perplexity: float) -> Any:
    """Theorem 1.1 as printed, with the weaker of its lower bounds dotted, and the sharp bounds."""
    figure, grid = new_figure(1, 2, width=4.5, height=3.6)
    for axes, kind in zip(grid[0], ("paper", "sharp"), strict=True):
        plot_entropy(row, perplexity, axes, bounds=kind)
        axes.set_title("Theorem 1.1" if kind == "paper" else "sharper bounds", fontsize="medium")
    d = np.sort(row)
    heights = np.geomspace(1.001, 0.999 * len(d), 200)
    weaker = np.minimum(*lower_bounds(d, heights))
    grid[0, 0].plot(weaker, heights, "k:", lw=1.2, label="weaker lower bound of (7)")
    for axes in grid[0]:
        axes.get_legend().remove()
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure


def lower_bounds(d: NDArray[Any], perplexity: NDArray[Any]) -> tuple[Any, Any]:
    """Both expressions of eq. (7)."""
    n = len(d)
    ratio = np.log(n / perplexity)
    return n * ratio / ((n - 1) * (d[-1] - d[0])), np.sqrt(ratio / (d[-1] ** 2 - d[0] ** 2))
