"""How to sum a kernel over a map: on a grid alone, or with close pairs one by one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, prod
from typing import Any

import numpy as np

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit.kernels import STUDENT, Kernel
from closeknit.repulsion._potential import Box
from closeknit.repulsion._splines import resolution
from closeknit.repulsion._tapered import TaperedKernel

#: Radii of close pairs that are considered, in widths of the kernel.
_RADII = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
#: Nanoseconds on two AVX2 cores, from maps of MNIST and of mixtures of Gaussians: a node in
#: the transforms, a pair that is considered, a point sorted into its cell, and one of all pairs.
_PER_NODE, _PER_PAIR, _PER_POINT, _PER_EXACT_PAIR = 6.0, 0.4, 45.0, 0.5
#: Cells along the longest axis, and points, with which the density of a map is estimated.
_CELLS = {1: 64, 2: 64, 3: 24}
_SAMPLE = 10_000


@dataclass(frozen=True)
class GridPlan:
    """A grid for a kernel, or for what close pairs leave of it."""

    kernel: Kernel
    box: Box
    low: Array
    high: Array

    @cached_property
    def cells(self) -> Integers | None:
        """Number of cells along each axis in which close pairs are found, if they are."""
        if not isinstance(self.kernel, TaperedKernel):
            return None
        return _n_cells(self.low, self.high, self.kernel.radius)

    def memory(self, itemsize: int) -> float:
        """Bytes, roughly: nodes, two copies in Fourier space, the kernel's transform, and cells."""
        cells = 0.0 if self.cells is None else float(prod(self.cells.tolist()))
        return 3.5 * itemsize * self._nodes + 8.0 * cells

    def cost(self, n: int, density: float) -> float:
        """Nanoseconds, roughly."""
        grid = _PER_NODE * self._nodes
        if not isinstance(self.kernel, TaperedKernel):
            return grid
        pairs = density * (3.0 * self.kernel.radius) ** len(self.low)
        return grid + n * (_PER_POINT + _PER_PAIR * pairs)

    def is_slower_than_exact(self, n: int) -> bool:
        """Whether all pairs are summed sooner."""
        return self.cost(n, 0.0) > _PER_EXACT_PAIR * n * n

    def add_close_pairs(
        self,
        X: Array,
        weights: Array | None,
        value: Array,
        gradient: Array | None,
        accuracy: float,
        threads: int,
    ) -> None:
        """Add what the grid does not see to Σ K and its gradient."""
        kernel = self.kernel
        if not isinstance(kernel, TaperedKernel) or self.cells is None:
            return
        rounding = 2.0**-24 * float((self.high - self.low).max())
        _core.add_close_pairs(
            _core.Cells(self.low, self.cells, kernel.radius),
            (kernel.code, kernel.coefficients),
            X,
            weights,
            rounding <= 1e-3 * accuracy * kernel.core,
            value,
            gradient,
            threads,
        )

    @cached_property
    def _nodes(self) -> float:
        return float(prod(self.box.padded(self.kernel)))


def plans(low: Array, high: Array, kernel: Kernel, accuracy: float) -> list[GridPlan]:
    """Return the ways to sum a kernel over a map between two corners, a grid alone first."""
    kernels = [kernel]
    if kernel.family == STUDENT.family:
        kernels += [TaperedKernel.of(kernel, radius * kernel.width) for radius in _RADII]
    found = []
    for part in kernels:
        scale = resolution(part, accuracy)
        if scale is not None:
            found.append(GridPlan(part, Box.between(low, high, scale), low, high))
    return found


def cheapest(possible: list[GridPlan], X: Array) -> GridPlan:
    """Return the plan that should take the least time for the points of a map."""
    n, d = X.shape
    whole = possible[0]
    side = float((whole.high - whole.low).max()) / _CELLS[d]
    if len(possible) == 1 or side**d == 0.0 or whole.cost(n, 0.0) < _PER_POINT * n:
        return whole
    some = np.ascontiguousarray(X[:: -(-n // _SAMPLE)])
    cells = _n_cells(whole.low, whole.high, side)
    crowded = _core.crowding(_core.Cells(whole.low, cells, side), some, 1) * n / len(some)
    density = crowded / side**d
    return min(possible, key=lambda plan: plan.cost(n, density))


def _n_cells(low: Array, high: Array, side: float) -> Any:
    widths = (high - low).tolist()
    return np.array([max(1, ceil(width / side)) for width in widths], dtype=np.int64)
