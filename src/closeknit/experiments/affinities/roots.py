"""Figures 2 and 3: the entropy of one point, how root finders approach its root, its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from closeknit.affinities import bandwidth_bounds, entropy_derivatives, solve_bandwidths
from closeknit.experiments.report import claim, legend_below, new_figure, table
from closeknit.neighbors import Neighbors
from closeknit.plotting import plot_entropy

__all__ = ["Steps", "count_steps", "describe_bounds", "describe_steps", "draw_bounds", "draw_steps"]

METHODS = ("Halley", "Euler", "Newton")
N_STARTS = 2001
TOL = 1e-10
_COLOURS = {"steps": "#0072B2", "bisections": "#D55E00"}


@dataclass(frozen=True)
class Steps:
    """What Algorithm 1 takes from each start to the root.

    Attributes
    ----------
    method : str
    log_betas : ndarray of shape (n_starts,)
        The starts.
    steps, bisections : ndarray of shape (n_starts,)
        Steps by the method's formula, and bisections.
    """

    method: str
    log_betas: NDArray[np.float64]
    steps: NDArray[np.int64]
    bisections: NDArray[np.int64]


def typical_point(betas: NDArray[np.float64]) -> int:
    """Return the point whose β is the median."""
    return int(np.argsort(betas, kind="stable")[len(betas) // 2])


def count_steps(
    sq_distances: NDArray[np.float64],
    perplexity: float,
    method: str,
    kind: Literal["paper", "sharp"] = "paper",
) -> Steps:
    """Run Algorithm 1 from starts all over the bounds, and count.

    All starts advance together; a start that is done stays where it is.

    Parameters
    ----------
    sq_distances : ndarray of shape (n_neighbors,)
        Of one point.
    perplexity : float
    method : {"Halley", "Euler", "Newton"}
    kind : {"paper", "sharp"}, default="paper"
        Of the bounds: Theorem 1.1, or those of the library.
    """
    lower, upper = bandwidth_bounds(sq_distances[None], perplexity, kind=kind)
    starts = np.linspace(np.log(lower[0]), np.log(upper[0]), N_STARTS)
    rows = np.tile(sq_distances, (N_STARTS, 1))
    b, low, high = starts.copy(), np.full(N_STARTS, starts[0]), np.full(N_STARTS, starts[-1])
    steps, bisections = np.zeros((2, N_STARTS), dtype=np.int64)
    for _ in range(100):
        H, slope, curvature = entropy_derivatives(rows, b)[:, :3].T
        f = H - np.log(perplexity)
        busy = (np.abs(f) > TOL * np.minimum(1.0, np.abs(slope))) & (np.abs(f) > 5e-15)
        if not busy.any():
            break
        low, high = np.where(f > 0.0, b, low), np.where(f > 0.0, high, b)
        next_b = _next_point(method, b, f, slope, curvature)
        inside = (next_b > low) & (next_b < high)
        b = np.where(busy, np.where(inside, next_b, 0.5 * (low + high)), b)
        steps += busy & inside
        bisections += busy & ~inside
    return Steps(method, starts, steps, bisections)


def _next_point(
    method: str, b: Any, f: NDArray[Any], slope: NDArray[Any], curvature: NDArray[Any]
) -> NDArray[np.float64]:
    """Gander's family of section 2.1; a step that is not a number counts as outside."""
    with np.errstate(all="ignore"):
        u = f / slope
        t = u * curvature / slope
        factor = {
            "Newton": 1.0,
            "Halley": 1.0 / (1.0 - 0.5 * t),
            "Euler": 2.0 / (1.0 + np.sqrt(1.0 - 2.0 * t)),
        }[method]
        return b - u * factor


def draw_steps(sq_distances: NDArray[Any], perplexity: float, counts: list[Steps]) -> Any:
    """The entropy above, and below the steps and bisections from each start."""
    figure, grid = new_figure(1 + len(counts), 1, width=7.0, height=1.5)
    plot_entropy(sq_distances, perplexity, grid[0, 0], bounds=None)
    limits = np.exp(counts[0].log_betas[[0, -1]])
    most = max(int((c.steps + c.bisections).max()) for c in counts)
    for axes, count in zip(grid[1:, 0], counts, strict=True):
        x = np.exp(count.log_betas)
        axes.fill_between(x, count.steps, color=_COLOURS["steps"], lw=0, label="steps")
        axes.fill_between(
            x,
            count.steps,
            count.steps + count.bisections,
            color=_COLOURS["bisections"],
            lw=0,
            label="bisections",
        )
        axes.set(xscale="log", xlim=limits, ylim=(0, most + 0.5), ylabel=count.method)
        axes.spines[["top", "right"]].set_visible(False)
    grid[0, 0].set(xlim=limits, xlabel="")
    grid[1, 0].legend(frameon=False, fontsize="small", ncols=2, loc="upper right")
    grid[-1, 0].set_xlabel("start β")
    return figure


def describe_steps(perplexity: float, counts: list[Steps]) -> str:
    """Our numbers beside the paper's claims about figure 2."""
    shares = {
        c.method: [np.mean(c.steps + c.bisections <= most) for most in (1, 2, 3)] for c in counts
    }
    bisected = {c.method: float(np.mean(c.bisections > 0)) for c in counts}
    rows = [
        [
            c.method,
            *(f"{share:.4f}" for share in shares[c.method]),
            int((c.steps + c.bisections).max()),
            f"{bisected[c.method]:.3f}",
        ]
        for c in counts
    ]
    header = ["method", "in 1 step", "in 2", "in 3", "most", "with bisections"]
    few = {method: share[1] for method, share in shares.items()}
    return "\n\n".join(
        [
            f"The point whose β is the median, K = {perplexity:g}, {N_STARTS:,} starts at equal "
            "distances in log β between the bounds of Theorem 1.1, tolerance 1e-10. Shares of the "
            "starts; the last step is the one after which the tolerance is met. Algorithm 1 is "
            "written out here step by step, because the library's own counts passes only.",
            table(header, rows),
            "\n".join(
                [
                    claim(
                        "Near the root Halley and Euler behave alike, and Newton's region of one "
                        "iteration is a lot smaller.",
                        bool(
                            few["Newton"] < 0.5 * min(few["Halley"], few["Euler"])
                            and 0.5 < few["Halley"] / few["Euler"] < 2.0
                        ),
                        f"two steps suffice for {few['Halley']:.2%} and {few['Euler']:.2%} of the "
                        f"starts, with Newton for {few['Newton']:.2%} (alike means within a factor "
                        "of two). At this tolerance one step is hardly ever enough, so the paper "
                        "must count otherwise",
                    ),
                    claim(
                        "Newton's and Euler's first steps can leave the bounds; Euler's do so in "
                        "a smaller region.",
                        bisected["Newton"] > bisected["Euler"],
                        f"bisections from {bisected['Newton']:.1%} of the starts with Newton and "
                        f"{bisected['Euler']:.1%} with Euler",
                    ),
                    claim(
                        "Halley's method never has to bisect.",
                        bisected["Halley"] == 0.0,
                        f"bisections from {bisected['Halley']:.1%} of the starts",
                    ),
                ]
            ),
        ]
    )


def draw_bounds(sq_distances: NDArray[Any], perplexity: float) -> Any:
    """Theorem 1.1 as printed, with the weaker of its lower bounds dotted, and the sharp bounds."""
    figure, grid = new_figure(1, 2, width=4.5, height=3.6)
    for axes, kind in zip(grid[0], ("paper", "sharp"), strict=True):
        plot_entropy(sq_distances, perplexity, axes, bounds=kind)
        axes.set_title("Theorem 1.1" if kind == "paper" else "sharper bounds", fontsize="medium")
    d = np.sort(sq_distances)
    heights = np.geomspace(1.001, 0.999 * len(d), 200)
    weaker = np.minimum(*_lower_bounds(d, heights))
    grid[0, 0].plot(weaker, heights, "k:", lw=1.2, label="weaker lower bound of (7)")
    for axes in grid[0]:
        axes.get_legend().remove()
    legend_below(figure, grid[0, 0].get_legend_handles_labels()[0])
    return figure


def _lower_bounds(d: NDArray[Any], perplexity: NDArray[Any]) -> tuple[Any, Any]:
    """Both expressions of eq. (7)."""
    n = len(d)
    ratio = np.log(n / perplexity)
    return n * ratio / ((n - 1) * (d[-1] - d[0])), np.sqrt(ratio / (d[-1] ** 2 - d[0] ** 2))


def describe_bounds(found: Neighbors, perplexity: float) -> str:
    """Over all points: whether the bounds hold, and how wide they are."""
    solution = solve_bandwidths(found.sq_distances, perplexity)
    betas, rows, held, widths = solution.betas, [], {}, {}
    good = solution.converged
    for kind, name in (("paper", "Theorem 1.1"), ("sharp", "sharper bounds")):
        lower, upper = bandwidth_bounds(found.sq_distances, perplexity, kind=kind)  # type: ignore[arg-type]
        inside = (lower <= betas) & (betas <= upper)
        held[kind] = int(np.count_nonzero(~inside[good]))
        with np.errstate(divide="ignore", invalid="ignore"):
            width = np.log2(upper / lower)[good]
        widths[kind] = float(np.median(width))
        rows.append([name, held[kind], f"{widths[kind]:.2f}", f"{np.quantile(width, 0.95):.2f}"])
    header = ["bounds", "roots outside", "median log₂(β_U/β_L)", "95 % quantile"]
    n = np.count_nonzero(good)
    return "\n\n".join(
        [
            f"The curves are those of one point; the table is over all {n:,}, K = {perplexity:g}.",
            table(header, rows),
            "\n".join(
                [
                    claim(
                        "The bounds of Theorem 1.1 contain the root.",
                        held["paper"] == 0,
                        f"{held['paper']} of {n:,} roots lie outside",
                    ),
                    claim(
                        "They are quite tight (taken here as a factor below 100).",
                        widths["paper"] < np.log2(100.0),
                        f"the bounds differ by a factor of {2 ** widths['paper']:.0f} in β at the "
                        f"median; ours, in the library by default, by {2 ** widths['sharp']:.0f}",
                    ),
                ]
            ),
        ]
    )
