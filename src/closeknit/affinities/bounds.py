"""Bounds of the bandwidth, and the entropy whose root they bracket (section 1 of the paper)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from closeknit import _core
from closeknit._arrays import Array
from closeknit._threads import effective_n_jobs
from closeknit.affinities.validation import (
    check_kernel,
    check_perplexity,
    check_sq_distances,
    invalid_row,
)
from closeknit.kernels import GAUSSIAN, Kernel


def bandwidth_bounds(
    sq_distances: ArrayLike,
    perplexity: float | ArrayLike,
    *,
    kind: Literal["sharp", "paper"] = "sharp",
    kernel: str | Kernel = "gaussian",
    n_jobs: int | None = -1,
) -> tuple[Array, Array]:
    r"""Lower and upper bounds of each row's precision β = 1/(2σ²), in constant time per row.

    Parameters
    ----------
    sq_distances : array-like of shape (n_samples, n_neighbors)
        Squared distances. ``inf`` marks a missing neighbour.
    perplexity : float or array-like of shape (n_samples,)
    kind : {"sharp", "paper"}, default="sharp"
        ``"paper"`` gives Theorem 1.1 as printed; its upper bound can fail when several neighbours
        tie at the smallest distance. ``"sharp"`` is tighter and allows for ties: with c(N, K, m)
        the precision at which m points at distance 0 and N − m at distance 1 have perplexity K,

        .. math:: \min_{1 ≤ m < K} \frac{c(N, K, m)}{d_N^2 - d_1^2} ≤ β ≤ \frac{c(N, K, m)}{Δ_2^2}

        where the m on the right is the number of ties and Δ₂² the first non-zero gap.
    kernel : str or Kernel, default="gaussian"
        As in :func:`closeknit.solve_bandwidths`. The sharp bounds are about how much the weights of
        two neighbours differ, so they hold for any kernel: β lies between those at which
        log K(β d₁²) − log K(β d²) is c for the farthest neighbour, and for the nearest that is not
        tied.
    n_jobs : int or None, default=-1
        Number of threads.

    Returns
    -------
    lower, upper : ndarray of shape (n_samples,)
        In β; NaN for rows that have no root (see :func:`closeknit.solve_bandwidths`). The upper
        bound of a kernel with heavy tails may be infinite.

    References
    ----------
    Vladymyrov and Carreira-Perpiñán (2013), Theorem 1.1.

    Examples
    --------
    >>> import closeknit as ck
    >>> d = [[1.0, 2.0, 4.0, 7.0, 9.0, 12.0]]
    >>> lower, upper = ck.bandwidth_bounds(d, perplexity=3.0)
    >>> beta = ck.solve_bandwidths(d, perplexity=3.0).betas
    >>> bool(lower[0] <= beta[0] <= upper[0])
    True
    """
    if kind not in ("sharp", "paper"):
        raise ValueError(f"unknown kind {kind!r}; use 'sharp' or 'paper'")
    shape = check_kernel(kernel)
    if kind == "paper" and shape != GAUSSIAN:
        raise ValueError("kind='paper' is for the Gaussian kernel; use kind='sharp'")
    d = check_sq_distances(sq_distances).astype(np.float64, copy=False)
    k = check_perplexity(perplexity, *d.shape)
    _refuse_nan(d)
    lower, upper = np.empty(len(d)), np.empty(len(d))
    _core.bounds_of_rows(d, k, kind == "sharp", lower, upper, effective_n_jobs(n_jobs))
    if shape == GAUSSIAN:
        return lower, upper
    near = d.min(axis=1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = np.where(np.isfinite(d), d, -np.inf).max(axis=1)
        second = np.where(d > near[:, None], d, np.inf).min(axis=1)
        return (
            _where_weights_differ(shape, near, far, lower * (far - near))[0],
            _where_weights_differ(shape, near, second, upper * (second - near))[1],
        )


def _where_weights_differ(
    kernel: Kernel, near: Array, far: Array, wanted: Array
) -> tuple[Array, Array]:
    """The β, from both sides, at which log K of two squared distances differs by what is wanted."""
    low, high = np.full(len(far), -700.0), np.full(len(far), 700.0)  # of log(β far)
    for _ in range(40):
        middle = 0.5 * (low + high)
        t = np.exp(middle)
        below = kernel.log(t * (near / far)) - kernel.log(t) < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    high[high == 700.0] = np.inf
    return np.exp(low + 0.0 * wanted) / far, np.exp(high + 0.0 * wanted) / far  # NaN stays NaN


def entropy_derivatives(
    sq_distances: ArrayLike, log_betas: ArrayLike, *, n_jobs: int | None = -1
) -> Array:
    """Entropy of each row's distribution and its derivatives with respect to log β.

    With the cumulants κ of the squared distances under p, ``H' = −β²κ₂``,
    ``H'' = −2β²κ₂ + β³κ₃`` and ``H''' = −4β²κ₂ + 5β³κ₃ − β⁴κ₄``.

    Parameters
    ----------
    sq_distances : array-like of shape (n_samples, n_neighbors)
    log_betas : float or array-like of shape (n_samples,)
        Natural logarithm of β = 1/(2σ²).
    n_jobs : int or None, default=-1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_samples, 4)
        H in nats, H', H'' and H'''.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import entropy_derivatives
    >>> h = entropy_derivatives([[0.0, 1.0]], np.log(0.5))
    >>> p = 1 / (1 + np.exp(-0.5))
    >>> bool(np.isclose(h[0, 0], -p * np.log(p) - (1 - p) * np.log(1 - p)))
    True
    """
    d = check_sq_distances(sq_distances).astype(np.float64, copy=False)
    b: Array = np.ascontiguousarray(np.broadcast_to(np.asarray(log_betas, np.float64), len(d)))
    if not np.isfinite(b).all():
        raise ValueError("log_betas must be finite")
    _refuse_nan(d)
    out = np.empty((len(d), 4))
    _core.entropy_at(d, b, out, effective_n_jobs(n_jobs))
    return out


def _refuse_nan(sq_distances: Array) -> None:
    invalid = np.isnan(sq_distances).any(axis=1) | (sq_distances == -np.inf).any(axis=1)
    if invalid.any():
        raise invalid_row(int(np.argmax(invalid)))
