"""B-splines on a regular grid: how fine it must be for a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import comb, factorial
from typing import Any

import numpy as np
from scipy import fft

from closeknit._arrays import Array
from closeknit._threads import before_exit
from closeknit.kernels import Kernel

#: Spacings that are tried, coarsest first, in units of the kernel's width.
_SPACINGS = 2.0 ** (-np.arange(0, 29) / 4.0)
#: Share of the wanted accuracy that pairs along an axis may use up; the rest is for pairs across.
_SHARE = 0.7


@dataclass(frozen=True)
class Resolution:
    """A grid's spacing and the degree of its splines."""

    spacing: float
    degree: int


@lru_cache(maxsize=64)
def resolution(kernel: Kernel, accuracy: float) -> Resolution | None:
    """Return the coarsest grid that is as accurate as wanted, or None if no grid is.

    The error is that of the force between two points on an axis, over all their distances and
    places between nodes, relative to the root mean square force. Sums over many points are at least
    as accurate, because the errors of pairs differ in sign more than their forces do.

    Cubic splines are preferred; quintic ones touch twice as many nodes in two dimensions, and have
    to allow a grid that much coarser.
    """
    if not kernel.smooth:
        return None
    spacings = _SPACINGS * kernel.width
    cubic = _coarsest(kernel, spacings, 3, accuracy)
    quintic = _coarsest(kernel, spacings, 5, accuracy)
    if cubic is None or (quintic is not None and quintic >= 1.6 * cubic):
        return None if quintic is None else Resolution(quintic, 5)
    return Resolution(cubic, 3)


def _coarsest(kernel: Kernel, spacings: Array, degree: int, accuracy: float) -> float | None:
    for spacing in spacings:
        if pair_error(kernel, float(spacing), degree) <= _SHARE * accuracy:
            return float(spacing)
    return None


@lru_cache(maxsize=2048)
@before_exit
def pair_error(kernel: Kernel, spacing: float, degree: int) -> float:
    """Root mean square error of the force of one point on another along an axis, relative."""
    far = 4.0 * kernel.width
    n = fft.next_fast_len(int(np.ceil(12.0 * far / spacing)) + 4 * degree, real=True)
    away = np.minimum(np.arange(n), n - np.arange(n)) * spacing
    factors = fft.rfft(kernel.K(away**2)).real / spline_transform(degree, n)[: n // 2 + 1] ** 2
    middle = n // 2
    nodes = middle + np.arange(-degree, degree + 1)
    errors, forces = [], []
    for phase in np.linspace(0.0, 0.5, 5):
        source = np.zeros(n)
        source[nodes] = cardinal(degree, middle + phase - nodes)
        potential = fft.irfft(fft.rfft(source) * factors, n)
        x = middle + phase + np.arange(1, 48) / 48.0 * far / spacing
        near = (np.floor(x)[:, None] + np.arange(-(degree // 2), degree // 2 + 2)).astype(int)
        slope = (cardinal_slope(degree, x[:, None] - near) * potential[near]).sum(axis=1) / spacing
        gap = (x - middle - phase) * spacing
        force = 2.0 * gap * kernel.K(gap**2) * kernel.K1(gap**2)
        errors.append(slope - force)
        forces.append(force)
    return float(np.linalg.norm(errors) / np.linalg.norm(forces))


def cardinal(degree: int, x: Array) -> Array:
    """Return the B-spline on integer knots that is centred at 0, by truncated powers."""
    total: Any = 0.0
    for k in range(degree + 2):
        shifted = np.maximum(0.0, np.asarray(x) + (degree + 1) / 2.0 - k)
        total = total + (-1) ** k * comb(degree + 1, k) * shifted**degree
    return np.where(np.abs(x) < (degree + 1) / 2.0, total / factorial(degree), 0.0)


def cardinal_slope(degree: int, x: Array) -> Array:
    """Return the derivative of :func:`cardinal`."""
    return cardinal(degree - 1, x + 0.5) - cardinal(degree - 1, x - 0.5)


def spline_transform(degree: int, n: int) -> Array:
    """Discrete Fourier transform, of length n, of the splines' values at the nodes; real."""
    half = degree // 2
    values = cardinal(degree, np.arange(-half, half + 1.0))
    waves = 2.0 * np.pi * np.arange(n) / n
    return values[half] + 2.0 * sum(
        values[half + k] * np.cos(k * waves) for k in range(1, half + 1)
    )
