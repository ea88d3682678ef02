"""Sums over all pairs with weights of their own, in less memory than n² numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from closeknit._arrays import Array
from closeknit._threads import effective_n_jobs
from closeknit.kernels import Kernel
from closeknit.linalg import entry_rows, real_array, row_sums, with_data
from closeknit.neighbors import dense_sq_distances
from closeknit.repulsion._potential import Potential
from closeknit.repulsion.exact import CurvatureSums, ExactRepulsion, PairSums, Repulsion, Wanted
from closeknit.repulsion.grid import GridRepulsion

#: Pairs whose weights are kept from sum to sum (200 MB).
_KEPT = 25_000_000


@dataclass(frozen=True)
class SparseRepulsion(ExactRepulsion):
    """Sums over the pairs that have a weight, in time and memory that grow with their number.

    Parameters
    ----------
    n_jobs : int or None, default=-1
        Not used: the sums run on one thread.
    pair_weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric, in canonical format, without diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.kernels import GAUSSIAN
    >>> from closeknit.repulsion import SparseRepulsion
    >>> pair = csr_matrix([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> X = np.array([[0.0], [1.0], [1.0]])
    >>> SparseRepulsion(pair_weights=pair).values(X, GAUSSIAN).round(2)
    array([0.74, 0.74, 0.  ])
    """

    pair_weights: Any = None

    def _sum_pairs(self, X: Array, kernel: Kernel, wanted: Wanted) -> CurvatureSums:
        W: csr_matrix = self.pair_weights
        rows, columns = entry_rows(W), W.indices
        gap = X[rows] - X[columns]
        t = np.einsum("ij,ij->i", gap, gap)
        wK = W.data * kernel.K(t)
        if wanted.point_weights is not None:
            wK = wK * wanted.point_weights[columns]

        def total(terms: Array) -> Array:
            if terms.ndim == 1:
                return row_sums(with_data(W, terms))
            return np.stack([total(column) for column in terms.T], axis=1)

        slopes = wK * kernel.K1(t)
        force: Any = total(slopes[:, None] * gap) if wanted.forces else None
        slope: Any = total(slopes) if wanted.forces and wanted.curvatures else None
        curvature: Any = None
        if wanted.curvatures:
            bends = (wK * kernel.K2(t))[:, None] * gap**2
            curvature = total(bends if wanted.vectors is None else bends * wanted.vectors[columns])
        return CurvatureSums(total(wK), force, slope, curvature)


@dataclass(frozen=True)
class DistanceRepulsion(ExactRepulsion):
    """Sums whose weights are the squared distances of data, or a function of them.

    Weights are computed block by block at every sum (up to 5,000 points they are kept). On a grid
    even that is not necessary: ‖z_n − z_m‖² = ‖z_n‖² + ‖z_m‖² − 2⟨z_n, z_m⟩ splits the sums into
    D + 2 with weights of points, each in linear time.

    Parameters
    ----------
    n_jobs : int or None, default=-1
    data : ndarray or csr_matrix of shape (n_samples, n_features)
        Points, or their distances if the metric is ``"precomputed"``.
    metric : str, default="euclidean"
    metric_params : dict or None, default=None
    weigh : callable or None, default=None
        Gives weights from an array of squared distances; None takes these.
    grid : Repulsion or None, default=None
        Sums without pair weights, such as a :class:`GridRepulsion`; only for squared Euclidean
        distances of an array. The three terms nearly cancel where data are close, which costs some
        of the grid's accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.kernels import GAUSSIAN
    >>> from closeknit.repulsion import DistanceRepulsion
    >>> data = np.array([[0.0], [2.0], [0.0]])
    >>> DistanceRepulsion(data=data).values(np.array([[0.0], [1.0], [1.0]]), GAUSSIAN).round(2)
    array([1.47, 5.47, 4.  ])
    """

    pair_weights: None = field(default=None, init=False, repr=False)
    data: Any = None
    metric: str = "euclidean"
    metric_params: dict[str, Any] | None = None
    weigh: Callable[[Array], Array] | None = None
    grid: Repulsion | None = None
    _kept: list[tuple[slice, Array]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    is_weighted = True

    def __post_init__(self) -> None:
        if isinstance(self.grid, GridRepulsion):  # errors of terms that cancel say little
            object.__setattr__(self, "grid", replace(self.grid, verify=False))

    @property
    def is_exact(self) -> bool:  # type: ignore[override]
        """Whether there is no grid."""
        return self.grid is None

    @property
    def dtype(self) -> type[np.float32] | type[np.float64]:  # type: ignore[override]
        """That of the grid."""
        return np.float64 if self.grid is None else self.grid.dtype

    def total_weight(self, n: int) -> float:
        """Σ w over all ordered pairs."""
        if self.grid is None:
            return float(sum(block.sum() for _, block in self._blocks()))
        Z = self._centred()
        return 2.0 * n * float(np.square(Z).sum())

    def values(self, X: Array, kernel: Kernel) -> Array:
        """Σ_m w K for every n."""
        return super().values(X, kernel) if self.grid is None else self.sums(X, kernel).value

    def sums(self, X: Array, kernel: Kernel, point_weights: Array | None = None) -> PairSums:
        """Values and forces for every n."""
        if self.grid is None or point_weights is not None:
            return super().sums(X, kernel, point_weights)
        Z = self._centred()
        squares = np.einsum("ij,ij->i", Z, Z)
        first = self.grid.sums(X, kernel)
        value, force = squares * first.value, squares[:, None] * first.force
        for factor, charge in ((1.0, squares), *((-2.0 * z, z) for z in Z.T)):
            part = self.grid.sums(X, kernel, charge)
            value += factor * part.value
            force += np.reshape(factor, (-1, 1)) * part.force
        return PairSums(value, force)

    def potential(self, X: Array, kernel: Kernel) -> Potential | None:
        """Σ_m K without weights, if there is a grid."""
        return None if self.grid is None else self.grid.potential(X, kernel)

    def _sum_pairs(self, X: Array, kernel: Kernel, wanted: Wanted) -> CurvatureSums:
        parts = [
            ExactRepulsion(self.n_jobs, block)._sum_pairs(
                X, kernel, replace(wanted, queries=X[rows])
            )
            for rows, block in self._blocks()
        ]
        columns: Any = zip(*((p.value, p.force, p.slope, p.curvature) for p in parts), strict=True)
        joined: Any = (None if c[0] is None else np.concatenate(c) for c in columns)
        return CurvatureSums(*joined)

    def _centred(self) -> Array:
        Z = np.asarray(self.data, dtype=np.float64)
        return Z - Z.mean(axis=0)

    def _blocks(self) -> Iterator[tuple[slice, Array]]:
        """Weights of some points to all, which are zero between a point and itself."""
        if self._kept:
            yield from self._kept
            return
        threads, made = effective_n_jobs(self.n_jobs), []
        options = (self.metric, threads, self.metric_params)
        for rows, block in dense_sq_distances(self.data, self.data, *options):
            weights = block if self.weigh is None else _weigh(self.weigh, block)
            weights[np.arange(len(block)), np.arange(rows.start, rows.stop)] = 0.0
            if not (weights >= 0.0).all() or np.isinf(weights).any():
                raise ValueError("the weights of pairs must be finite and not negative")
            if self.data.shape[0] ** 2 <= _KEPT:
                made.append((rows, weights))
            yield rows, weights
        self._kept.extend(made)  # only now, as an interrupt may have come before


def _weigh(weigh: Callable[[Array], Array], block: Array) -> Array:
    """What a function makes of squared distances, in an array of our own."""
    weights = np.array(real_array(weigh(block), "the weights of pairs"))
    if weights.shape != block.shape:
        raise ValueError(
            "the function that weighs pairs must return one weight per squared distance: it was "
            f"given shape {block.shape} and returned {weights.shape}"
        )
    return weights
