"""Algorithm 1 of the paper, step by step, because the library's own counts passes only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array, Integers
from closeknit.affinities import Order, RowProblem, Traversal, bandwidth_bounds, entropy_derivatives

METHODS = ("euler", "halley", "newton")
TOL = 1e-10


@dataclass(frozen=True)
class Counts:
    """What Algorithm 1 takes from each start to the root.

    Attributes
    ----------
    steps, bisections : ndarray of shape (n_starts,)
        Steps by the method's formula, and bisections.
    """

    steps: Integers
    bisections: Integers

    @property
    def iterations(self) -> Integers:
        """Both together."""
        return self.steps + self.bisections

    def within(self, most: int) -> float:
        """Return the share of starts from which this many iterations are enough."""
        return float(np.mean(self.iterations <= most))

    @property
    def bisected(self) -> float:
        """The share of starts from which there are bisections."""
        return float(np.mean(self.bisections > 0))


def algorithm_1(
    rows: Array,
    perplexity: float,
    method: str,
    starts: Array | None = None,
    kind: Literal["paper", "sharp"] = "paper",
) -> Counts:
    """Run Algorithm 1 on all rows at once, and count.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_neighbors)
        Squared distances, sorted.
    perplexity : float
    method : {"euler", "halley", "newton"}
    starts : ndarray of shape (n_rows,), optional
        log β; the middle of the bounds where missing or not finite.
    kind : {"paper", "sharp"}, default="paper"
        Of the bounds: Theorem 1.1, or those of the library.
    """
    low, high = map(np.log, bandwidth_bounds(rows, perplexity, kind=kind))
    b = 0.5 * (low + high)
    if starts is not None:
        b = np.where(np.isfinite(starts), np.clip(starts, low, high), b)
    steps, bisections = np.zeros((2, len(rows)), dtype=np.int64)
    busy = np.arange(len(rows))
    for _ in range(100):
        H, slope, curvature = entropy_derivatives(rows[busy], b[busy])[:, :3].T
        f = H - np.log(perplexity)
        going = (np.abs(f) > TOL * np.minimum(1.0, np.abs(slope))) & (np.abs(f) > 5e-15)
        if not going.any():
            break
        busy, f, slope, curvature = busy[going], f[going], slope[going], curvature[going]
        at = b[busy]
        low[busy], high[busy] = np.where(f > 0.0, (at, high[busy]), (low[busy], at))
        next_b = _next_point(method, at, f, slope, curvature)
        inside = (next_b > low[busy]) & (next_b < high[busy])
        b[busy] = np.where(inside, next_b, 0.5 * (low[busy] + high[busy]))
        steps[busy] += inside
        bisections[busy] += ~inside
    return Counts(steps, bisections)


def _next_point(
    method: str, b: Any, f: NDArray[Any], slope: NDArray[Any], curvature: NDArray[Any]
) -> Array:
    """Gander's family of section 2.1; a step that is not a number counts as outside."""
    with np.errstate(all="ignore"):
        u = f / slope
        t = u * curvature / slope
        factor = {
            "newton": 1.0,
            "halley": 1.0 / (1.0 - 0.5 * t),
            "euler": 2.0 / (1.0 + np.sqrt(1.0 - 2.0 * t)),
        }[method]
        return b - u * factor


def starts_in_order(order: Order, problem: RowProblem, betas: Array) -> Array:
    """Return the log β from which an order starts each row; NaN for the middle of the bounds."""
    plan = order.plan(problem)
    given = np.full(len(betas), np.nan) if plan.starts is None else plan.starts
    starts = np.array(given, dtype=np.float64)
    child = plan.parent >= 0
    starts[plan.sequence[child]] = betas[plan.parent[child]]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(starts))


@dataclass(frozen=True)
class MiddleOfBounds:
    """The paper's *bounds* order: every row starts from the middle of Theorem 1.1's bounds."""

    def plan(self, problem: RowProblem) -> Traversal:
        """Lay out the rows of a problem."""
        d = problem.sq_distances
        lower, upper = bandwidth_bounds(d, float(problem.perplexity[0]), kind="paper")
        n, one = len(d), np.arange(2, dtype=np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            starts = np.sqrt(lower) * np.sqrt(upper)
        no_parent = np.full(n, -1, dtype=np.int64)
        return Traversal(np.arange(n), no_parent, one * n, one, starts)
