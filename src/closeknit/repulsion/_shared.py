"""Sums over all pairs that several processes read together, each in a strip of the map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit.repulsion._grid_plan import GridPlan
from closeknit.repulsion._potential import gather_at
from closeknit.repulsion._tapered import TaperedKernel
from closeknit.repulsion.exact import PairSums

#: Points by which the map is cut into strips of about equal numbers.
_SAMPLE = 10_000


@dataclass(frozen=True)
class SharedSums:
    """A potential on its grid, without the points: small enough to be sent around.

    :meth:`closeknit.repulsion.GridRepulsion.shared` makes one. What a point reads does not depend
    on the strip it is read in.

    Attributes
    ----------
    plan : GridPlan
    nodes, own : ndarray
        Coefficients of the potential's splines, and the kernel between close nodes.
    accuracy : float

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.kernels import STUDENT
    >>> from closeknit.repulsion import GridRepulsion
    >>> X = np.random.default_rng(0).normal(scale=10.0, size=(500, 2))
    >>> repulsion = GridRepulsion(verify=False)
    >>> shared = repulsion.shared(X, STUDENT)
    >>> whole = repulsion.sums(X, STUDENT)
    >>> found = [shared.of_strip(X, *ends) for ends in shared.strips(X, 3)]
    >>> all(np.allclose(sums.force, whole.force[points]) for points, sums in found)
    True
    >>> sum(len(points) for points, _ in found)
    500
    """

    plan: GridPlan
    nodes: NDArray[Any]
    own: NDArray[Any]
    accuracy: float

    def strips(self, X: Array, n_strips: int) -> list[tuple[float, float]]:
        """Cut the map across its first axis into strips of about as many points each."""
        some = X[:: -(-len(X) // _SAMPLE), 0]
        cuts = np.quantile(some, np.arange(1, n_strips) / n_strips).tolist()
        return list(zip([-np.inf, *cuts], [*cuts, np.inf], strict=True))

    def of_strip(
        self, X: Array, low: float, high: float, n_threads: int = 1
    ) -> tuple[Integers, PairSums]:
        """Return which points lie in a strip, and their sums over all others."""
        plan, x = self.plan, X[:, 0]
        reach = plan.kernel.radius if isinstance(plan.kernel, TaperedKernel) else 0.0
        near = np.flatnonzero((x >= low - reach) & (x <= high + reach))
        points = X[near].astype(np.float64, copy=False)
        inside = np.flatnonzero((points[:, 0] >= low) & (points[:, 0] < high))
        own = points[inside]
        grid = _core.Grid(*plan.box.arguments())
        value, gradient = gather_at(
            _core.Field(grid, self.nodes),
            self.own,
            _core.SortedPoints(grid, own, n_threads),
            None,
            own.shape,
            True,
            n_threads,
        )
        if reach:
            close, slopes = np.zeros(len(points)), np.zeros(points.shape)
            plan.add_close_pairs(points, None, close, slopes, self.accuracy, n_threads)
            value += close[inside]
            gradient += slopes[inside]
        gradient *= 0.5
        return near[inside], PairSums(value, gradient)
