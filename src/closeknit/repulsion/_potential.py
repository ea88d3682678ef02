"""The potential φ of points on a grid: made once, read anywhere in its box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import before_exit
from closeknit.kernels import Kernel
from closeknit.repulsion._splines import Resolution, spline_transform

#: Sizes of grids are multiples of a power of two between a 24th and a 12th of them, so that a
#: growing map seldom needs another transform of the kernel.
_STEPS = 12
#: Numbers that the compiled functions read or write at once, by degree.
_LANES = {3: 4, 5: 8}
#: Nodes between the map and the kink where the kernel meets its periodic image, by degree: dividing
#: by the splines' transform spreads the kink, for quintic splines by 0.43 from node to node.
_CLEAR = {3: 0, 5: 32}


@dataclass(frozen=True)
class Box:
    """The nodes that a map needs: the place of the first and their number along each axis."""

    origin: Array
    size: Integers
    scale: Resolution

    @classmethod
    def between(cls, low: Array, high: Array, scale: Resolution) -> Box:
        """Return the smallest box whose splines cover all from the corner `low` to `high`."""
        reach = (scale.degree + 1) // 2
        first = np.floor(low / scale.spacing).astype(np.int64) - reach
        last = np.ceil(high / scale.spacing).astype(np.int64) + reach
        last[-1] += _LANES[scale.degree] - scale.degree - 1
        size = np.array([_rounded(int(n)) for n in last - first + 1], dtype=np.int64)
        return cls(first.astype(np.float64) * scale.spacing, size, scale)

    def padded(self, kernel: Kernel) -> tuple[int, ...]:
        """Lengths of the transforms, so that no point meets the periodic images of others."""
        apart = np.minimum(self.size, np.ceil(kernel.reach / self.scale.spacing))
        apart += _CLEAR[self.scale.degree]
        return tuple(2 * fft.next_fast_len(-(-int(n) // 2), real=True) for n in self.size + apart)

    def arguments(self) -> tuple[Array, Integers, float, int]:
        """What the compiled functions want to know of a grid."""
        return self.origin, self.size, self.scale.spacing, self.scale.degree


def _rounded(n: int) -> int:
    step = 2 ** max(0, int(np.log2(n / _STEPS)))
    return -(-n // step) * step


@dataclass(frozen=True)
class KernelTransform:
    """The kernel from spline to spline: its Fourier transform, and its values between close nodes.

    A spline through given values has coefficients divided by the splines' own transform; here that
    happens twice, once for the points that are spread and once for those that read.
    """

    shape: tuple[int, ...]
    factors: NDArray[Any]
    own: NDArray[Any]

    @classmethod
    @before_exit
    def of(
        cls, kernel: Kernel, scale: Resolution, shape: tuple[int, ...], dtype: Any
    ) -> KernelTransform:
        """Sample the kernel on a periodic grid and transform it.

        It is even along every axis, so a cosine transform of its quarter (or eighth) will do.
        """
        squared: Any = 0.0
        for axis, n in enumerate(shape):
            nodes = np.arange(n // 2 + 1.0) * scale.spacing
            squared = squared + _along(axis, shape, nodes**2)
        waves = fft.dctn(kernel.K(squared), type=1)
        for axis, n in enumerate(shape):
            filtered = spline_transform(scale.degree, n)[: n // 2 + 1]
            waves /= _along(axis, shape, filtered**2)
        own = np.zeros([_LANES[scale.degree]] * len(shape), dtype=dtype)
        close = tuple(slice(scale.degree + 1) for _ in shape)
        own[close] = fft.idctn(waves, type=1)[close]
        factors = waves.astype(dtype)
        for axis, n in enumerate(shape[:-1]):  # the last axis stays a half, as in a real FFT
            factors = np.concatenate([factors, _reversed(factors, axis, n)], axis=axis)
        return cls(shape, factors, own.ravel())


def _reversed(factors: NDArray[Any], axis: int, n: int) -> NDArray[Any]:
    """Return the frequencies above n / 2, which mirror those below."""
    return np.take(factors, np.arange(n // 2 - 1, 0, -1), axis=axis)


def _along(axis: int, shape: tuple[int, ...], values: Array) -> Array:
    return values.reshape([-1 if a == axis else 1 for a in range(len(shape))])


@dataclass(frozen=True)
class Potential:
    """φ(x) = Σ_m w_m K(‖x − x_m‖²) inside a box.

    Attributes
    ----------
    nodes : ndarray
        Coefficients of φ's splines.
    """

    box: Box
    nodes: NDArray[Any]
    own: NDArray[Any]
    points: Array
    weights: Array | None
    _sorted: _core.SortedPoints
    _threads: int

    @classmethod
    def of(
        cls, X: Array, weights: Array | None, box: Box, kernel: KernelTransform, threads: int
    ) -> Potential:
        """Spread, convolve."""
        nodes = np.empty(box.size, dtype=kernel.factors.dtype)
        points = _core.SortedPoints(_core.Grid(*box.arguments()), X, threads)
        _core.spread(points, weights, nodes, threads)
        nodes = _convolve(nodes, kernel, threads)
        return cls(box, nodes, kernel.own, X, weights, points, threads)

    @property
    def field(self) -> _core.Field:
        """The potential as the compiled functions read it."""
        return _core.Field(_core.Grid(*self.box.arguments()), self.nodes)

    def at_points(self, forces: bool) -> tuple[Array, Array]:
        """φ and ∇φ at the points themselves, without each point's own share."""
        shape = self.points.shape
        value = np.empty(shape[0])
        gradient = np.empty(shape if forces else (0, 0))
        slopes = gradient if forces else None
        _core.gather(self.field, self.own, self._sorted, self.weights, value, slopes, self._threads)
        return value, gradient


@before_exit
def _convolve(nodes: NDArray[Any], kernel: KernelTransform, threads: int) -> NDArray[Any]:
    """Multiply in Fourier space, one axis after the other so that padding is never transformed."""
    shape, last = kernel.shape, nodes.ndim - 1
    waves = fft.rfft(nodes, shape[last], axis=last, workers=threads)
    for axis in range(last):
        waves = fft.fft(waves, shape[axis], axis=axis, workers=threads, overwrite_x=True)
    waves *= kernel.factors
    for axis in range(last):
        waves = fft.ifft(waves, axis=axis, workers=threads, overwrite_x=True)
        waves = waves[(slice(None),) * axis + (slice(nodes.shape[axis]),)]
    return fft.irfft(waves, shape[last], axis=last, workers=threads)
