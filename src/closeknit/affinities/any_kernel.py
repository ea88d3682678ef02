"""Bandwidths for kernels other than the Gaussian: Newton's method inside bounds, on many rows.

With t = β d, the unknown b = log β and the elasticity u = d log K / d log t, the entropy of
p ∝ K(t) and its derivative are ::

    H = log Z − E[log K],    dH/db = −Cov(u, log K)

as expectations under p. (For the Gaussian u = log K = −t, and dH/db = −Var(t).) Where u falls with
t, as log K does, H falls with b and the root is unique.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array, Integers
from closeknit._threads import chunks, run_chunks
from closeknit.affinities.bounds import bandwidth_bounds
from closeknit.affinities.solution import Status
from closeknit.affinities.traversal import RowProblem
from closeknit.kernels import Kernel

#: Passes after which a row is given up; bisection alone takes some sixty.
MAX_PASSES = 200
#: Entries per chunk of rows: their arrays stay in the processor's cache.
ENTRIES = 2**16
#: Rows that show how the kernel's β compares with the Gaussian's.
SAMPLE = 50
#: log(β d) of that neighbour at which σ → 0 is as good as reached.
LARGEST = 690.0


def solve_for_kernel(
    problem: RowProblem,
    kernel: Kernel,
    starts: Array | None,
    tol: float,
    out: tuple[NDArray[Any], ...],
) -> None:
    """Solve for another kernel the rows that have a root for the Gaussian.

    Parameters
    ----------
    problem : RowProblem
    kernel : Kernel
    starts : ndarray of shape (n_samples,) or None
        β to start from; None takes the Gaussian's, multiplied by the ratio found on a few rows.
        Rows whose start is outside their bounds start in the middle of these.
    tol : float
    out : tuple of ndarray
        Affinities, β, σ, slopes, passes and status of the Gaussian's solution, which are replaced.
    """
    d, one = problem.sq_distances, len(problem.perplexity) == 1
    affinities, betas, sigmas, slopes, evaluations, status = out
    rooted = np.flatnonzero((status == Status.CONVERGED) | (status == Status.STALLED))
    if (d[rooted] < 0.0).any():
        raise ValueError(f"the {kernel.name} kernel needs squared distances of at least 0")
    if starts is None:
        some = rooted[:: max(1, len(rooted) // SAMPLE)]
        perplexity = problem.perplexity[slice(None) if one else some]
        search = _Search(kernel, d[some], perplexity, betas[some], tol)
        ratios = (search.betas / betas[some])[search.status == Status.CONVERGED]
        starts = betas * (np.median(ratios) if len(ratios) else 1.0)

    def solve_chunk(chunk: slice) -> None:
        rows = rooted[chunk]
        perplexity = problem.perplexity[slice(None) if one else rows]
        search = _Search(kernel, d[rows], perplexity, starts[rows], tol)
        affinities[rows], slopes[rows], status[rows] = search.p, search.slope, search.status
        betas[rows], evaluations[rows] = search.betas, evaluations[rows] + search.passes
        with np.errstate(divide="ignore"):
            sigmas[rows] = np.sqrt(0.5 / search.betas)

    parts = chunks(len(rooted), 8, max(1, ENTRIES // d.shape[1]))
    run_chunks("bandwidths", solve_chunk, parts, problem.n_jobs)


def distance_derivatives(kernel: Kernel, d: Array, betas: Array, slopes: Array) -> Array:
    """∂β/∂d of each squared distance: the one at which H stays log K.

    With ∂H/∂d_j = −p_j (log K_j − E[log K]) u_j / d_j. A distance of 0, where u_j / d_j may be
    infinite, gets 0: the gradient of a squared distance vanishes there.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_k, u, p = _log_weights(kernel, d * betas[:, None])
        share = (p * (log_k - (p * log_k).sum(axis=1, keepdims=True)) * u) / d
        return np.where((d > 0.0) & (d < np.inf), share * (betas / slopes)[:, None], 0.0)


def _log_weights(kernel: Kernel, t: Array) -> tuple[Array, Array, Array]:
    """Logarithms of K(t) relative to the largest of a row, their elasticities, and p.

    Both logarithms and elasticities are 0 where p is.
    """
    log_k = kernel.log(t)
    log_k -= log_k.max(axis=1, keepdims=True)
    p = np.exp(log_k)
    p /= p.sum(axis=1, keepdims=True)
    alive = p > 0.0
    return np.where(alive, log_k, 0.0), np.where(alive, kernel.elasticity(t), 0.0), p


class _Search:
    """A search for the roots of many rows, each inside its bracket.

    Squared distances are in units of that of rank ⌊K⌋ + 1, which is not 0 and neither very large
    nor very small beside what matters.
    """

    def __init__(
        self, kernel: Kernel, d: NDArray[Any], perplexity: Array, starts: Array, tol: float
    ) -> None:
        n = len(d)
        rank = np.broadcast_to(np.floor(perplexity), n).astype(np.intp)[:, None]
        unit = np.take_along_axis(np.sort(d, axis=1), rank, axis=1).astype(np.float64)
        self._kernel, self._tol = kernel, tol
        self._target = np.broadcast_to(np.log(perplexity), n)
        self.b, self.p, self.slope = np.empty(n), np.empty(d.shape), np.zeros(n)
        self.passes = np.zeros(n, dtype=np.int32)
        self.status = np.full(n, Status.STALLED, dtype=np.uint8)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            self._x = d / unit
            lower, upper = bandwidth_bounds(self._x, perplexity, kernel=kernel, n_jobs=1)
            self._low, self._high = np.log(lower), np.log(upper)
            start = np.log(starts * unit[:, 0])
            moving = self._limited()
            inside = (start > self._low) & (start < self._high)
            self._run(moving, np.where(inside, start, 0.5 * (self._low + self._high)))
            self.betas = np.exp(self.b) / unit[:, 0]

    def _limited(self) -> Integers:
        """Give every row an upper bound; return the rows that have a root below it.

        The others have the limit of σ → 0, whose entropy is above log K.
        """
        self._high[np.isinf(self._high)] = LARGEST
        unsure = np.flatnonzero(self._high == LARGEST)
        lost = unsure[self._evaluate(unsure, self._high[unsure])[0] > 0.0]
        self.b[lost], self.slope[lost], self.status[lost] = np.inf, 0.0, Status.HEAVY_TAIL
        return np.flatnonzero(self.status != Status.HEAVY_TAIL)

    def _evaluate(self, rows: Integers, b: Array) -> tuple[Array, Array]:
        """Compute H − log K and its derivative in one pass, and store what belongs to the rows."""
        log_k, u, p = _log_weights(self._kernel, self._x[rows] * np.exp(b)[:, None])
        mean = (p * log_k).sum(axis=1)
        slope = -(p * u * (log_k - mean[:, None])).sum(axis=1)
        self.b[rows], self.p[rows], self.slope[rows] = b, p, slope
        self.passes[rows] += 1
        # The largest p is 1/Z.
        return -np.log(p.max(axis=1)) - mean - self._target[rows], slope

    def _run(self, rows: Integers, b: Array) -> None:
        """Newton's steps, with a bisection instead of one that leaves the bracket, or after one
        that gained little.
        """
        b, last = b[rows], np.full(len(rows), np.inf)
        for _ in range(MAX_PASSES):
            if not len(rows):
                break
            f, slope = self._evaluate(rows, b)
            size = np.abs(f)
            self._low[rows] = low = np.where(f > 0.0, b, self._low[rows])
            self._high[rows] = high = np.where(f > 0.0, self._high[rows], b)
            closed = high - low <= 4e-16 * (1.0 + np.abs(b))
            good = size <= 1e-15 * (1.0 + self._target[rows])
            good |= size <= self._tol * np.minimum(1.0, np.abs(slope))
            good |= closed & (size <= self._tol)
            self.status[rows[good]] = Status.CONVERGED
            newton = b - f / slope
            poor = ~((newton > low) & (newton < high)) | (size > 0.5 * last)
            going = ~(good | closed)
            b = np.where(poor, 0.5 * (low + high), newton)[going]
            last = np.where(poor, np.inf, size)[going]
            rows = rows[going]
