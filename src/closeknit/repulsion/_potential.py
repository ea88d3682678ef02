"""The potential φ of points on a grid: made once, read anywhere in its box."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, floor, log2
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
#: Nodes from which on several threads transform faster than one.
_MANY_NODES = 2**20


@dataclass(frozen=True)
class Box:
    """The nodes that a map needs: the place of the first and their number along each axis."""

    origin: Array
    size: Integers
    scale: Resolution

    @classmethod
    def between(cls, low: Array, high: Array, scale: Resolution) -> Box:
        """Return the smallest box whose splines cover all from the corner `low` to `high`."""
        # In plain numbers: several boxes are looked at in every evaluation.
        reach = (scale.degree + 1) // 2
        first = [floor(x / scale.spacing) - reach for x in low.tolist()]
        last = [ceil(x / scale.spacing) + reach for x in high.tolist()]
        last[-1] += _LANES[scale.degree] - scale.degree - 1
        size = [_rounded(b - a + 1) for a, b in zip(first, last, strict=True)]
        origin = np.array(first, dtype=np.float64) * scale.spacing
        return cls(origin, np.array(size, dtype=np.int64), scale)

    def padded(self, kernel: Kernel) -> tuple[int, ...]:
        """Lengths of the transforms, so that no point meets the periodic images of others."""
        reach, clear = kernel.reach / self.scale.spacing, _CLEAR[self.scale.degree]
        apart = [n if reach >= n else ceil(reach) for n in self.size.tolist()]
        return tuple(
            _fast_and_even(n + a + clear) for n, a in zip(self.size.tolist(), apart, strict=True)
        )

    def arguments(self) -> tuple[Array, Integers, float, int]:
        """What the compiled functions want to know of a grid."""
        return self.origin, self.size, self.scale.spacing, self.scale.degree


def _rounded(n: int) -> int:
    step = 2 ** max(0, int(log2(n / _STEPS)))
    return -(-n // step) * step


@lru_cache(maxsize=1024)
def _fast_and_even(n: int) -> int:
    return 2 * int(fft.next_fast_len(-(-n // 2), real=True))


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

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.kernels import STUDENT
    >>> from closeknit.repulsion import GridRepulsion
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> potential = GridRepulsion().potential(X, STUDENT)
    >>> potential.at_points(forces=True)[1].shape
    (200, 2)
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
    threads = threads if np.prod(shape, dtype=float) > _MANY_NODES else 1
    waves = fft.rfft(nodes, shape[last], axis=last, workers=threads)
    for axis in range(last):
        waves = fft.fft(waves, shape[axis], axis=axis, workers=threads, overwrite_x=True)
    waves *= kernel.factors
    for axis in range(last):
        waves = fft.ifft(waves, axis=axis, workers=threads, overwrite_x=True)
        waves = waves[(slice(None),) * axis + (slice(nodes.shape[axis]),)]
    return fft.irfft(waves, shape[last], axis=last, workers=threads)
