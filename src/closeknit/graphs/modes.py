"""All modes of a one-dimensional sample under a Gaussian kernel: where mean shift ends.

Mean shift moves x to M(x) = Σ wᵢtᵢ / Σ wᵢ with wᵢ = exp(−(x − tᵢ)²/2h²), until it is at a mode
of the kernel density (equations (4)–(6) of the paper). Two facts replace the n runs of it:

* M never decreases, since M′ is the variance of t under w, over h². So if M(a) > b, or M(b) < a,
  then there is no fixed point in [a, b]. Evaluated on a grid of step h/4, this rules out all but a
  few cells.
* A mode has a point of the sample within h of it: farther from all of them the density is convex.

The grid is filled from the moments of the points next to each node (a fast Gauss transform), so it
costs O(n) once the sample is sorted. In each cell that is left the derivative of the density is a
polynomial to rounding, taken from the points themselves; its roots are polished by Newton's method.
"""

from __future__ import annotations

from functools import cache
from math import factorial
from typing import Any

import numpy as np
from numpy.polynomial.hermite_e import hermevander
from numpy.typing import ArrayLike, NDArray

from closeknit._arrays import Array, Integers
from closeknit.affinities import check_kernel
from closeknit.graphs.kernel_modes import modes_of_kernel
from closeknit.kernels import GAUSSIAN, Kernel
from closeknit.linalg import real_array

#: Step of the grid, and the radius beyond which a Gaussian is less than rounding (e⁻³⁶), both in
#: bandwidths.
_STEP = 0.25
_REACH = 8.5
#: Terms of the expansions: (1/8)¹²/√12! is less than 1e-15.
_ORDER = 12
#: Modes closer than this, in bandwidths, are taken for one.
_SAME = 1e-8
_LARGEST = 1e150  # whose squares are finite, even many of them


def find_modes(
    sample: ArrayLike, bandwidth: float | str = "silverman", *, kernel: str | Kernel = "gaussian"
) -> Array:
    """Find all modes of a sample of numbers under a kernel.

    Parameters
    ----------
    sample : array-like of shape (n_samples,)
        In any order.
    bandwidth : float or "silverman", default="silverman"
        Standard deviation h of the Gaussian, or :func:`silverman_bandwidth` of the sample. Other
        kernels K are taken at (x − t)²/2h², too.
    kernel : {"gaussian", "student", "epanechnikov"} or Kernel, default="gaussian"
        Mean shift under Epanechnikov's kernel takes the mean of all points within √2 h: it is the
        mean shift of a flat kernel.

    Returns
    -------
    ndarray of shape (n_modes,)
        Where mean shift would end from all points of the sample, in increasing order and accurate
        almost to rounding. Modes closer than 1e-8 bandwidths count as one.

    References
    ----------
    Dupré and Lam, Graph sparsification for kernel methods, section 2.

    Examples
    --------
    >>> from closeknit.graphs import find_modes
    >>> find_modes([0.0, 0.2, 5.0, 5.0, 5.3], bandwidth=1.0).round(2)
    array([0.1, 5.1])
    >>> find_modes([0.0, 0.2, 5.0, 5.0, 5.3], bandwidth=4.0).size
    1
    """
    t = np.sort(check_sample(sample))
    if isinstance(bandwidth, str):
        if bandwidth != "silverman":
            raise ValueError(f"bandwidth={bandwidth!r} must be a number or 'silverman'")
        bandwidth = silverman_bandwidth(t)
        if bandwidth == 0.0:  # all points in one place
            return t[:1]
    if not 0.0 < bandwidth < np.inf:
        raise ValueError(f"bandwidth={bandwidth} must be a positive number")
    shape = check_kernel(kernel)
    if shape != GAUSSIAN:
        return modes_of_kernel(t, float(bandwidth), shape)
    # Points farther apart than this do not interact at any place that may hold a mode.
    breaks = np.flatnonzero(np.diff(t) > 2.0 * (_REACH + 2.0) * bandwidth) + 1
    groups = np.split(t, breaks)
    return np.concatenate([_modes_of_group(group, float(bandwidth)) for group in groups])


def check_sample(sample: ArrayLike) -> Array:
    """Return a sample as finite numbers whose squares are finite, too, and at least one."""
    t = real_array(sample, "the sample")
    if t.ndim > 1 and t.size > t.shape[0]:
        raise ValueError(
            f"the sample must be one column of numbers, got shape {t.shape}; pass its columns one "
            "by one, or its ravel()"
        )
    t = t.ravel()
    if not len(t):
        raise ValueError("the sample is empty; pass at least one number")
    if not np.isfinite(t).all():
        raise ValueError("the sample contains NaN or infinite values; remove them")
    if np.abs(t).max() > _LARGEST:
        raise ValueError(f"the sample holds values beyond {_LARGEST:g}; divide it by a constant")
    return t


def silverman_bandwidth(sample: ArrayLike) -> float:
    """Silverman's rule of thumb, 0.9 · min(standard deviation, IQR/1.34) · n^(−1/5).

    Parameters
    ----------
    sample : array-like of shape (n_samples,)

    Returns
    -------
    float
        If half of the points are in one place, the standard deviation is used alone; 0 only if all
        are.

    Examples
    --------
    >>> from closeknit.graphs import silverman_bandwidth
    >>> round(silverman_bandwidth([1.0, 2.0, 3.0, 4.0]), 3)
    0.763
    """
    t = check_sample(sample)
    lower, upper = np.percentile(t, [25.0, 75.0])
    spread = min(t.std(), (upper - lower) / 1.34) or t.std()
    return float(0.9 * spread * len(t) ** -0.2)


def _modes_of_group(t: Array, h: float) -> Array:
    if t[0] == t[-1]:
        return t[:1]
    grid = _Grid(t, h)
    cells, terms = grid.open_cells()
    before, after = grid.slope[cells] > 0.0, grid.slope[cells + 1] > 0.0
    # Where the linear term outweighs the others, the signs at the ends decide if there is a root.
    weights = np.arange(2, terms.shape[1])
    simple = np.abs(terms[:, 1]) > np.abs(terms[:, 2:]) @ weights
    falling = np.flatnonzero(simple & before & ~after)
    places = (cells[falling] + 0.5 + 0.5 * _bisect(terms[falling])).tolist()
    for i in np.flatnonzero(~simple):
        places += [cells[i] + 0.5 + 0.5 * z for z in _falling_roots(terms[i], before[i], after[i])]
    modes = [_polish(t, h, grid.start + place * _STEP * h) for place in sorted(places)]
    return _merge(np.sort(modes), _SAME * h)


class _Grid:
    """Nodes h/4 apart with the moments of the points nearest to each: a fast Gauss transform.

    A point at distance ε from its node contributes e^(−(u−ε)²/2) = Σ_k He_k(u)·e^(−u²/2)·εᵏ/k! at a
    distance of u from that node, all in bandwidths.
    """

    #: Nodes before the first and after the last point; a mode is at most 4 away from a point.
    margin = 6

    def __init__(self, t: Array, h: float) -> None:
        place = (t - t[0]) / (_STEP * h)
        index = np.rint(place).astype(np.int64)
        offset = (place - index) * _STEP
        index += self.margin
        self.n_nodes = int(index[-1]) + self.margin + 1
        self.start = t[0] - self.margin * _STEP * h
        self.moments = np.empty((_ORDER, self.n_nodes))
        power = np.ones(len(t))
        for k in range(_ORDER):
            self.moments[k] = np.bincount(index, power, self.n_nodes)
            power *= offset
        taps = _taps()
        self.density = self._transform(taps[0])
        self.slope = self._transform(taps[1])

    def _transform(self, taps: Array) -> Array:
        """A derivative of the density at the nodes."""
        return np.sum([_convolve(*pair) for pair in zip(self.moments, taps, strict=True)], axis=0)

    def open_cells(self) -> tuple[Integers, Array]:
        """Cells between neighbouring nodes that may hold a mode, and the expansions in them."""
        near = _convolve(self.moments[0], np.ones(2 * 5 + 1)) > 0.5
        with np.errstate(divide="ignore", invalid="ignore"):  # only where no mode can be
            shift = self.slope / self.density  # M(x) − x
        step = _STEP * (1.0 + 1e-6)
        ruled_out = (shift[:-1] > step) | (shift[1:] < -step)
        cells = np.flatnonzero((near[:-1] | near[1:]) & ~ruled_out)
        terms = self._expansions(cells)
        rising = self.slope > 0.0
        steady = np.abs(terms[:, 0]) > np.abs(terms[:, 1:]).sum(axis=1)
        left = ~steady | (rising[cells] & ~rising[cells + 1])
        return cells[left], terms[left]

    def _expansions(self, cells: Integers) -> Array:
        """Coefficients of the density's derivative in each cell, which is scaled to [−1, 1]."""
        taps = _taps(middle=True)
        width = taps.shape[2]
        padded = np.pad(self.moments, ((0, 0), (width // 2 - 1, width // 2)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, width, axis=1)[:, cells]
        derivatives = np.tensordot(windows, taps[1:, :, ::-1], axes=((0, 2), (1, 2)))
        j = np.arange(derivatives.shape[1])
        return derivatives * (0.5 * _STEP) ** j / [factorial(k) for k in j]


@cache
def _taps(*, middle: bool = False) -> Array:
    """What a moment k at each node around x contributes to the derivative j of the density at x.

    Shape (derivatives, moments, nodes); x is a node, or the middle between two.
    """
    half = int(_REACH / _STEP)
    u: Array = _STEP * np.arange(-half - 0.5 * middle, half + 1.0)
    hermite = hermevander(u, 2 * _ORDER).T * np.exp(-0.5 * u * u)
    return np.array(
        [
            [(-1) ** j * hermite[j + k] / factorial(k) for k in range(_ORDER)]
            for j in range(_ORDER + 1)
        ]
    )


def _convolve(values: NDArray[Any], taps: Array) -> Array:
    """Centred convolution of the length of `values`."""
    half = len(taps) // 2
    return np.convolve(values, taps)[half : half + len(values)]


def _bisect(terms: Array) -> Array:
    """The roots on [−1, 1] of polynomials that fall there, a row of coefficients each."""
    low, high = np.full(len(terms), -1.0), np.ones(len(terms))
    for _ in range(30):  # to 2e-9 of a cell; Newton's method does the rest
        middle = 0.5 * (low + high)
        above = np.polynomial.polynomial.polyval(middle, terms.T, tensor=False) > 0.0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return 0.5 * (low + high)


def _falling_roots(terms: Array, rising_before: bool, rising_after: bool) -> list[float]:
    """Where a polynomial on [−1, 1] goes from above zero to below.

    The signs at the ends are given, so that neighbouring cells agree on which of them has the root
    that lies on their common node.
    """
    roots = np.polynomial.polynomial.polyroots(_without_tiny_terms(terms))
    # A root that rounding has made complex does no harm: signs decide.
    roots = np.sort(roots.real[(np.abs(roots.imag) < 1e-4) & (np.abs(roots.real) < 1.0)])
    if not len(roots):
        # By the signs there is a root nevertheless, so it is where the polynomial is almost zero.
        values = np.abs(np.polynomial.polynomial.polyval([-1.0, 1.0], terms))
        return [(-1.0, 1.0)[values.argmin()]] if rising_before and not rising_after else []
    middles = 0.5 * (roots[:-1] + roots[1:])
    between = np.polynomial.polynomial.polyval(middles, terms) > 0.0
    rising = [rising_before, *between, rising_after]
    pairs = zip(roots, rising[:-1], rising[1:], strict=True)
    return [float(z) for z, before, after in pairs if before and not after]


def _without_tiny_terms(terms: Array) -> Array:
    """Leave out leading terms below rounding, which would only make spurious roots."""
    matters = np.flatnonzero(np.abs(terms) > 1e-17 * np.abs(terms).max())
    return terms[: matters[-1] + 1]


def _polish(t: Array, h: float, x: float) -> float:
    """Two of Newton's steps on M(x) − x, whose slope is the variance minus one, over all points."""
    for _ in range(2):
        low, high = np.searchsorted(t, [x - _REACH * h, x + _REACH * h])
        u = (t[low:high] - x) / h
        w = np.exp(-0.5 * u * u)
        w /= w.sum()
        mean = float(w @ u)
        slope = float(w @ np.square(u - mean)) - 1.0
        if not slope < -1e-6:  # rounding decides where so flat a mode is
            break
        x -= h * mean / slope
    return float(x)


def _merge(modes: Array, apart: float) -> Array:
    return modes[np.diff(modes, prepend=-np.inf) > apart]
