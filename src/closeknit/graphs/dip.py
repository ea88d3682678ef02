"""Hartigan's dip test of unimodality, and modes found by applying it again and again.

The dip of a sample is the distance of its distribution function from the nearest unimodal one
(equation (11) of the paper). Written from the definition and from Hartigan and Hartigan's proof,
because the licence of the package that offers it is not compatible with this one's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from closeknit._arrays import Array, Integers
from closeknit._checks import check_number
from closeknit.graphs.modes import check_sample

#: Samples larger than this are compared with uniform ones of this size, scaled by √n: the law of
#: √n · dip hardly changes any more.
_LARGEST = 1_000


@dataclass(frozen=True)
class Dip:
    """Result of :func:`dip_test`.

    Attributes
    ----------
    statistic : float
        Largest difference from the nearest unimodal distribution function.
    p_value : float
        Share of uniform samples whose dip is at least as large; small if there are several modes.
    low, high : float
        Ends of the interval that holds the mode of the nearest unimodal distribution.

    Examples
    --------
    >>> from closeknit.graphs import dip_test
    >>> two_groups = [0.0, 0.1, 0.2, 0.3, 0.4, 9.0, 9.1, 9.2, 9.3, 9.4]
    >>> dip = dip_test(two_groups)
    >>> dip.p_value < 0.05
    True
    """

    statistic: float
    p_value: float
    low: float
    high: float


def dip_statistic(sample: ArrayLike) -> tuple[float, float, float]:
    """Dip of a sample, and the interval of the mode.

    Parameters
    ----------
    sample : array-like of shape (n_samples,)

    Returns
    -------
    statistic, low, high : float

    References
    ----------
    Hartigan and Hartigan (1985), The dip test of unimodality.

    Examples
    --------
    >>> from closeknit.graphs import dip_statistic
    >>> round(dip_statistic([0.0, 0.0, 1.0, 1.0])[0], 3)
    0.25
    """
    x = np.sort(check_sample(sample))
    n = len(x)
    if x[0] == x[-1]:
        return 0.0, float(x[0]), float(x[0])
    first, last = 0, n - 1
    # In units of 1/n: F steps from i to i + 1 at point i. Equal points make one high step, which
    # costs nothing at the mode.
    largest = 1.0
    while True:
        part = slice(first, last + 1)
        below = np.arange(first, last + 1, dtype=np.float64)
        above = below + 1.0
        minorant, touches_below = _convex_minorant(x[part], below)
        majorant, touches_above = _convex_minorant(x[part], -above)
        gap = -majorant - minorant
        low = touches_below[gap[touches_below].argmax()]
        high = touches_above[gap[touches_above].argmax()]
        widest = max(gap[low], gap[high])
        # The interval of the mode shrinks to the widest gap and the next point of the other curve.
        if gap[low] > gap[high]:
            high = touches_above[np.searchsorted(touches_above, low)]
        else:
            low = touches_below[np.searchsorted(touches_below, high, side="right") - 1]
        if widest <= largest:
            break
        left = (above - minorant)[: low + 1].max()
        right = (-majorant - below)[high:].max()
        largest = max(largest, left, right)
        if high - low == last - first:
            break
        first, last = first + int(low), first + int(high)
    return 0.5 * float(largest) / n, float(x[first]), float(x[last])


def dip_test(sample: ArrayLike, *, n_samples: int = 200) -> Dip:
    """Test whether a sample may come from a unimodal distribution.

    Parameters
    ----------
    sample : array-like of shape (n,)
    n_samples : int, default=200
        How many uniform samples the dip is compared with (b in equation (12) of the paper). They
        are always the same ones, of the nearest of a few sizes, and scaled by √n.

    Returns
    -------
    Dip

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.graphs import dip_test
    >>> one = np.random.default_rng(0).normal(size=200)
    >>> dip_test(one).p_value > 0.05, dip_test(np.r_[one, one + 6.0]).p_value > 0.05
    (True, False)
    """
    values = check_sample(sample)
    statistic, low, high = dip_statistic(values)
    scaled = _uniform_dips(_near_size(len(values)), n_samples)
    share = float(np.mean(scaled >= np.sqrt(len(values)) * statistic))
    return Dip(statistic, share, low, high)


def dip_modes(
    sample: ArrayLike, *, alpha1: float = 0.05, alpha2: float = 0.05, n_samples: int = 200
) -> Array:
    """Find modes by splitting a sample at the modal interval until each part is unimodal.

    This is the paper's Algorithm 1, and as inaccurate as the paper found it: the parts beside a
    mode still hold its flanks, which are then taken for modes, and the dip does not grow with the
    number of modes. Use :func:`find_modes` instead.

    Parameters
    ----------
    sample : array-like of shape (n,)
    alpha1 : float, default=0.05
        A part is split if its dip has a smaller p-value.
    alpha2 : float, default=0.05
        A part that is not split has no mode of its own if a Kolmogorov–Smirnov test against the
        uniform distribution has at least this p-value. (Lines 9–13 of the printed algorithm have
        that the wrong way round.)
    n_samples : int, default=200
        As in :func:`dip_test`.

    Returns
    -------
    ndarray of shape (n_modes,)
        In increasing order. Parts of fewer than four points have no mode.

    References
    ----------
    Dupré and Lam, Graph sparsification for kernel methods, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.graphs import dip_modes
    >>> rng = np.random.default_rng(0)
    >>> dip_modes(np.r_[rng.normal(0, 1, 300), rng.normal(9, 1, 300)]).size >= 2
    True
    """
    check_number("alpha1", alpha1, share=True)
    check_number("alpha2", alpha2, share=True)
    modes: list[float] = []
    parts = [np.sort(check_sample(sample))]
    while parts:
        part = parts.pop()
        if len(part) < 4:
            continue
        found = dip_test(part, n_samples=n_samples)
        middle = 0.5 * (found.low + found.high)
        if found.p_value >= alpha1:
            if not _looks_uniform(part, alpha2):
                modes.append(middle)
            continue
        modes.append(middle)
        parts += [part[part < found.low], part[part > found.high]]
    return np.unique(modes)


def _looks_uniform(part: Array, alpha: float) -> bool:
    """Whether the points between the ends of a sorted part may be uniform between them."""
    from scipy.stats import kstest

    width = part[-1] - part[0]
    if width == 0.0:
        return False
    return float(kstest((part[1:-1] - part[0]) / width, "uniform").pvalue) >= alpha


def _near_size(n: int) -> int:
    """The nearest of a few sizes, so that uniform samples are drawn for a few sizes only."""
    return min(_LARGEST, max(4, round(1.5 ** round(np.log(max(n, 1)) / np.log(1.5)))))


@cache
def _uniform_dips(n: int, n_samples: int) -> Array:
    """√n · dip of uniform samples of size n."""
    rng = np.random.default_rng(n)
    return np.array([np.sqrt(n) * dip_statistic(rng.random(n))[0] for _ in range(n_samples)])


def _convex_minorant(x: Array, y: Array) -> tuple[Array, Integers]:
    """Greatest convex function below the points (x, y): its values, and where it turns.

    Points may lie above one another.
    """
    hull: list[int] = []
    xs, ys = x.tolist(), y.tolist()
    for i in range(len(xs)):
        while len(hull) > 1:
            a, b = hull[-2], hull[-1]
            # b stays only if the slope grows there.
            if (ys[b] - ys[a]) * (xs[i] - xs[b]) < (ys[i] - ys[b]) * (xs[b] - xs[a]):
                break
            hull.pop()
        hull.append(i)
    corners = np.array(hull)
    segment = np.clip(np.searchsorted(corners, np.arange(len(x)), side="right") - 1, 0, None)
    start = corners[segment]
    end = corners[np.minimum(segment + 1, len(corners) - 1)]
    width = x[end] - x[start]
    share = np.divide(x - x[start], width, out=np.zeros(len(x)), where=width > 0.0)
    return np.where(width > 0.0, y[start] + share * (y[end] - y[start]), y), corners
