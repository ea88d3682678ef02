"""Sums over all pairs in linear time: a grid of B-splines and fast Fourier transforms.

The potential φ(x) = Σ_m K(‖x − x_m‖²) is a convolution. The points are spread onto the nodes of a
regular grid, the nodes are convolved with the kernel by FFT, and φ is read off between the nodes::

    points ──spread──► nodes ──FFT, × kernel, FFT⁻¹──► spline coefficients ──gather──► φ, ∇φ

One scalar potential is enough: the force Σ K'(x_n − x_m) is ∇φ/2, taken of the spline itself. So
value and force belong together exactly, as line searches want. The nodes lie on a fixed lattice
(multiples of the spacing), so that φ does not depend on where the grid begins, and each point's own
share is computed in closed form and left out. On wide maps, pairs that are close are summed one by
one, and the grid need only follow the rest of the kernel, which is smooth (`_tapered.py`).

The idea of a grid with FFT is that of Linderman et al. (2019), Fast interpolation-based t-SNE; they
convolve three or four potentials with polynomial interpolation in a fixed number of boxes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from closeknit import _core
from closeknit._arrays import Array
from closeknit._threads import effective_n_jobs
from closeknit.exceptions import CloseknitWarning
from closeknit.kernels import Kernel
from closeknit.linalg import norm
from closeknit.repulsion._grid_plan import GridPlan, cheapest, plans
from closeknit.repulsion._potential import Box, KernelTransform, Potential
from closeknit.repulsion._sampled_error import SampledError
from closeknit.repulsion.exact import PairSums, Repulsion, Wanted, check_positions

#: Accuracies below which single precision would show.
_SINGLE = 1e-4
#: Kernel transforms that are kept; a map that has grown does not shrink again.
_REMEMBERED = 4
#: Distance from the origin, in widths of the kernel, beyond which places between nodes blur.
_FARTHEST = 2.0**40
#: Share of the accuracy that the error may use up, because it is only estimated.
_SHARE = 0.7
#: Share of the values below which forces count as nothing.
_CANCELLED = 1e-4
_FINEST = 1e-9


@dataclass(frozen=True)
class GridRepulsion(Repulsion):
    """Kernel sums over all pairs in O(n + area log area), for one, two or three components.

    Parameters
    ----------
    accuracy : float, default=0.02
        Wanted error of the forces, relative to their norm, or to 1e-4 of that of the values if
        forces are smaller still. The spacing of the grid follows from it and from the kernel, not
        from the size of the map, so that it holds as the map grows.
    max_memory : float, default=2e9
        Bytes that the grid may take. A map too large for it is summed exactly, with a warning.
    verify : bool, default=True
        Whether to compare the forces on 32 points with exact ones. Where forces nearly cancel (on
        regular lattices, inside tight clusters, on maps narrower than the kernel) their error is a
        larger share of them; then a finer grid is taken and, if none will do, all pairs are summed
        exactly, with a warning. Without it the error there can be many times the accuracy, which
        does a minimiser no harm; that is how the estimators use it.
    n_jobs : int or None, default=-1
        Number of threads; sums are the same to the bit for any.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.kernels import STUDENT
    >>> from closeknit.repulsion import ExactRepulsion, GridRepulsion
    >>> X = np.random.default_rng(0).normal(scale=10.0, size=(500, 2))
    >>> exact = ExactRepulsion().sums(X, STUDENT).force
    >>> error = GridRepulsion(accuracy=1e-3).sums(X, STUDENT).force - exact
    >>> bool(np.linalg.norm(error) < 1e-3 * np.linalg.norm(exact))
    True
    """

    accuracy: float = 0.02
    max_memory: float = 2e9
    verify: bool = True
    n_jobs: int | None = -1
    _kernels: dict[Any, KernelTransform] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        if not _FINEST <= self.accuracy < 1.0:
            raise ValueError(f"accuracy={self.accuracy!r} must lie between 1e-9 and 1")
        if not self.max_memory > 0:
            raise ValueError(f"max_memory={self.max_memory!r} must be a positive number of bytes")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the kernels' transforms, which are large and quickly made again."""
        return {**self.__dict__, "_kernels": {}}

    is_exact = False

    @property
    def dtype(self) -> type[np.float32] | type[np.float64]:  # type: ignore[override]
        """The precision that the accuracy asks for."""
        return np.float32 if self.accuracy >= _SINGLE else np.float64

    def values(self, X: Array, kernel: Kernel) -> Array:
        """Σ_m K for every n, approximately; NaN if a point is not finite."""
        return self._sums(X, kernel, None, forces=self.verify).value

    def sums(self, X: Array, kernel: Kernel, point_weights: Array | None = None) -> PairSums:
        """Values and forces for every n, approximately; NaN if a point is not finite."""
        if point_weights is not None:
            point_weights = np.ascontiguousarray(point_weights, dtype=np.float64)
        return self._sums(X, kernel, point_weights, forces=True)

    def potential(self, X: Array, kernel: Kernel) -> Potential | None:
        """Return φ over the bounding box of X in one piece, or None where no grid can serve."""
        X = check_positions(X)
        plan = self._plan(X, kernel, whole=True)
        return None if plan is None else self._make(X, None, plan.kernel, plan.box)

    def _sums(self, X: Array, kernel: Kernel, weights: Array | None, *, forces: bool) -> PairSums:
        """Read φ and half of ∇φ at the points, or sum all pairs where no grid can serve."""
        X = check_positions(X)
        if not np.isfinite(X.sum()):
            return PairSums(np.full(len(X), np.nan), np.full(X.shape, np.nan))
        plan = self._plan(X, kernel)
        sums = None if plan is None else self._read(X, weights, plan, forces=forces)
        if sums is not None and self.verify:
            sums = self._refine(X, kernel, weights, sums)
        return self._sum_pairs(X, kernel, Wanted(weights, forces=forces)) if sums is None else sums

    def _refine(
        self, X: Array, kernel: Kernel, weights: Array | None, sums: PairSums
    ) -> PairSums | None:
        """Return sums that are as accurate as wanted, if need be of a finer grid, or None."""
        grid, sample = self, SampledError.of(X, kernel, weights, sums.force, self.n_jobs)
        while True:
            size = max(norm(sums.force), _CANCELLED * norm(sums.value))
            error, allowed = sample.norm_of(sums.force), _SHARE * self.accuracy * size
            if error <= allowed:
                return sums
            finer = grid.accuracy * max(0.5 * allowed / error, 0.01)
            if finer < _FINEST:
                _warn("no grid is fine enough for forces that cancel", "Raise the accuracy")
                return None
            grid = replace(grid, accuracy=finer)
            plan = grid._plan(X, kernel)
            if plan is None or plan.is_slower_than_exact(len(X)):
                return None
            sums = grid._read(X, weights, plan, forces=True)

    def _read(self, X: Array, weights: Array | None, plan: GridPlan, *, forces: bool) -> PairSums:
        """Return the sums of a plan."""
        value, gradient = self._make(X, weights, plan.kernel, plan.box).at_points(forces)
        threads = effective_n_jobs(self.n_jobs)
        slopes = gradient if forces else None
        plan.add_close_pairs(X, weights, value, slopes, self.accuracy, threads)
        gradient *= 0.5
        return PairSums(value, gradient)

    def _plan(self, X: Array, kernel: Kernel, whole: bool = False) -> GridPlan | None:
        """Choose how to sum the kernel, if there is a way that is not too large."""
        n, d = X.shape
        if n == 0 or not 1 <= d <= 3:
            return None
        low, high = np.empty(d), np.empty(d)
        _core.bounding_box(X, low, high, effective_n_jobs(self.n_jobs))
        farthest = float(max(-low.min(), high.max()))
        if kernel.smooth and farthest > _FARTHEST * kernel.width:
            _warn(f"points lie {farthest:.3g} from the origin, too far for a grid", "Move them")
            return None
        possible = plans(low, high, kernel, self.accuracy)
        possible = possible[:1] if whole else possible
        if not possible:
            return None
        needed = [plan.memory(np.dtype(self.dtype).itemsize) for plan in possible]
        pairs = zip(possible, needed, strict=True)
        fitting = [plan for plan, size in pairs if size <= self.max_memory]
        if fitting:
            return cheapest(fitting, X)
        _warn(
            f"a map {float((high - low).max()):.3g} wide needs a grid of "
            f"{min(needed) / 2**30:.3g} GiB",
            f"Raise max_memory={self.max_memory:.3g} or accuracy={self.accuracy:.3g}",
        )
        return None

    def _make(self, X: Array, point_weights: Array | None, kernel: Kernel, box: Box) -> Potential:
        key = (kernel, box.padded(kernel))
        if key not in self._kernels:
            if len(self._kernels) >= _REMEMBERED:
                self._kernels.clear()
            self._kernels[key] = KernelTransform.of(kernel, box.scale, key[1], self.dtype)
        threads = effective_n_jobs(self.n_jobs)
        return Potential.of(X, point_weights, box, self._kernels[key], threads)


def _warn(reason: str, advice: str) -> None:
    warnings.warn(
        f"{reason}; summing all pairs exactly instead, which is slow for many points. {advice}",
        CloseknitWarning,
        stacklevel=5,
    )
