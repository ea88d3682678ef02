"""Modes of a one-dimensional sample under kernels other than the Gaussian.

Mean shift moves x to Σ g tᵢ / Σ g with g = −K′ at (x − tᵢ)²/2h² (equations (4)–(6) of the paper);
its ends are the places where Σ g (tᵢ − x), which has the sign of the density's derivative, falls
through zero.
"""

from __future__ import annotations

import numpy as np

from closeknit._arrays import Array
from closeknit._threads import chunks
from closeknit.kernels import EPANECHNIKOV, Kernel

#: Step of the grid on which signs are taken, in bandwidths: much less than a smooth kernel's width.
_STEP = 1.0 / 16.0
#: Distance beyond which no kernel is concave, in bandwidths.
_FAR = 64.0
_BYTES = 64  # working memory per difference


def modes_of_kernel(t: Array, bandwidth: float, kernel: Kernel) -> Array:
    """Find all modes of a sorted sample.

    Parameters
    ----------
    t : ndarray of shape (n_samples,)
    bandwidth : float
    kernel : Kernel
        Epanechnikov's, for which mean shift takes the mean of all points in range, or a smooth one.

    Returns
    -------
    ndarray of shape (n_modes,)
    """
    if kernel == EPANECHNIKOV:
        return _flat_modes(t, np.sqrt(2.0) * bandwidth)
    if not np.isfinite(kernel.K1(0.0)):
        raise ValueError(f"the {kernel.name} kernel has no derivative at 0, so mean shift has none")
    step, around = _STEP * bandwidth, int(np.ceil(_concave(kernel) / _STEP)) + 1
    near = np.unique(np.rint((t - t[0]) / step).astype(np.int64))
    places = np.unique(near[:, None] + np.arange(-around, around + 1))
    nodes = t[0] + step * places
    rising = _slopes(nodes, t, bandwidth, kernel) > 0.0
    peaks = np.flatnonzero(rising[:-1] & ~rising[1:] & (np.diff(places) == 1))
    low, high = nodes[peaks], nodes[peaks + 1]
    for _ in range(50):  # to the last digit
        middle = 0.5 * (low + high)
        up = _slopes(middle, t, bandwidth, kernel) > 0.0
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    return 0.5 * (low + high)


def _concave(kernel: Kernel) -> float:
    """How far from a point, in bandwidths, its kernel is concave: modes are not farther from all.

    K(u²/2) has the second derivative K (K₁ + u² K₂).
    """
    u = np.arange(0.0, _FAR, _STEP)
    inside = kernel.K1(0.5 * u * u) + u * u * kernel.K2(0.5 * u * u) < 0.0
    return float(u[inside].max(initial=0.0)) + _STEP


def _slopes(x: Array, t: Array, bandwidth: float, kernel: Kernel) -> Array:
    """Σ g (tᵢ − x) at each place, block by block."""
    out = np.empty(len(x))
    for some in chunks(len(x), _BYTES * len(t)):
        apart = (t - x[some, None]) / bandwidth
        squared = 0.5 * np.square(apart)
        out[some] = -(kernel.K(squared) * kernel.K1(squared) * apart).sum(axis=1)
    return out


def _flat_modes(t: Array, radius: float) -> Array:
    """Move all points to the mean of those in range, until the points in range stay the same."""
    sums = np.concatenate([[0.0], np.cumsum(t - t[0])])
    x = t
    for _ in range(2 * len(t)):  # each point goes in one direction, and its range with it
        first = np.searchsorted(t, x - radius, side="right")
        last = np.searchsorted(t, x + radius, side="left")
        x, before = t[0] + (sums[last] - sums[first]) / (last - first), x
        if np.array_equal(x, before):
            break
    ranges = np.unique(np.column_stack([first, last]), axis=0)
    # From the first point in range, which loses fewer digits.
    return np.array([t[low] + np.mean(t[low:high] - t[low]) for low, high in ranges])
