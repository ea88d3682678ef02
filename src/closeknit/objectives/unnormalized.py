"""Unnormalised models, E⁻ = Σ w⁻ K over all pairs: the elastic embedding and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from closeknit._arrays import Array
from closeknit.kernels import GAUSSIAN, STUDENT
from closeknit.linalg import check_symmetric, real_array
from closeknit.objectives.base import Objective
from closeknit.repulsion import ExactRepulsion, PairSums, Repulsion, SparseRepulsion


class UnnormalizedObjective(Objective):
    """Attraction along a graph against plain repulsion of all pairs.

    Parameters
    ----------
    affinities : sparse matrix or array of shape (n_samples, n_samples)
        Attractive weights W⁺.
    repulsive_weights : array, sparse matrix or None, default=None
        Repulsive weights W⁻, symmetric and non-negative; None means those of the repulsion, which
        are ones unless it is a :class:`~closeknit.repulsion.DistanceRepulsion`.
    scaling : {"given", "unit"}, default="given"
        Whether the weights are taken as they are, or divided by their sums, so that
        Σ w⁺ = Σ w⁻ = 1. E at λ with the one is a multiple of E at λ Σ w⁺ / Σ w⁻ with the other.
    repulsion, n_jobs, check
        As in :class:`Objective`. Given weights are summed exactly.
    """

    def __init__(
        self,
        affinities: Any,
        *,
        repulsive_weights: ArrayLike | None = None,
        scaling: str = "given",
        repulsion: Repulsion | None = None,
        n_jobs: int | None = -1,
        check: bool = True,
    ):
        if scaling not in ("given", "unit"):
            raise ValueError(f"scaling={scaling!r} must be 'given' or 'unit'")
        self.unit_sum = scaling == "unit"
        if repulsive_weights is not None:
            if repulsion is not None:
                raise ValueError("repulsive_weights are summed exactly; leave repulsion out")
            repulsion = _weighted(repulsive_weights, np.shape(affinities), n_jobs)
        super().__init__(affinities, repulsion=repulsion, n_jobs=n_jobs, check=check)
        n = self.weights.shape[0]
        pairs, total = float(n * (n - 1)) or 1.0, self.repulsion.total_weight(n)
        self.repulsive_scale = 1.0 / total if self.unit_sum and total > 0.0 else 1.0
        # A new point's attractive weights sum to 1; those of the others to 1, or to 1/n.
        self._new_point_weight = (n if self.unit_sum else 1) * self.repulsive_scale * total / pairs

    def repulsive_value(self, sums: Array) -> float:
        """Σ_n Σ_m w⁻ K."""
        return self.repulsive_scale * float(sums.sum())

    def repulsive_force(self, X: Array, sums: PairSums) -> Array:
        """Σ_m w⁻ K' (x_n − x_m)."""
        return self.repulsive_scale * sums.force if self.unit_sum else sums.force

    def new_point_repulsion(self, X: Array, lam: float) -> float:
        """λ times the mean weight w⁻ of a pair, beside attractive weights that sum to 1."""
        return lam * self._new_point_weight

    def repulsive_diagonal(self, X: Array) -> Array:
        """4 Σ_m w⁻ (K' + 2 K'' (x_n − x_m)²)."""
        sums = self.repulsion.curvatures(X, self.kernel)
        return 4.0 * self.repulsive_scale * (sums.slope[:, None] + 2.0 * sums.curvature)

    def repulsive_blocks(self, X: Array) -> Callable[[Array], Array]:
        """Weights w⁻ K'' (x_n − x_m)²."""
        curvature = self.repulsion.curvatures(X, self.kernel).curvature

        def product(V: Array) -> Array:
            moved = self.repulsion.curvature_product(X, self.kernel, V)
            return 8.0 * self.repulsive_scale * (curvature * V - moved)

        return product


class ElasticEmbedding(UnnormalizedObjective):
    """EE: Σ w⁺ t + λ Σ w⁻ exp(−t) with t = ‖x_n − x_m‖²  (Carreira-Perpiñán, 2010).

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.objectives import ElasticEmbedding
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> value, gradient = ElasticEmbedding(W).at(1.0).value_and_gradient(X)
    >>> round(value, 6)
    5.508149
    """

    kernel = GAUSSIAN


class TElasticEmbedding(UnnormalizedObjective):
    """t-EE: Σ w⁺ log(1 + t) + λ Σ w⁻ / (1 + t) with t = ‖x_n − x_m‖².

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.objectives import TElasticEmbedding
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> value, gradient = TElasticEmbedding(W).at(1.0).value_and_gradient(X)
    >>> round(value, 6)
    5.172589
    """

    kernel = STUDENT


def _weighted(weights: Any, shape: tuple[int, ...], n_jobs: int | None) -> Repulsion:
    """Return sums with the given weights, once these are checked."""
    is_sparse = sparse.issparse(weights)
    name = "repulsive_weights"
    if is_sparse:
        w = check_symmetric(weights, name, n_jobs=n_jobs)
    else:
        w = np.array(real_array(weights, name))
    if w.shape != shape or w.ndim != 2 or w.shape[0] != w.shape[1]:
        raise ValueError(
            f"repulsive_weights must be square and of the affinities' shape {shape}, got {w.shape}"
        )
    if is_sparse:
        return SparseRepulsion(n_jobs, w)
    if not np.isfinite(w).all() or (w < 0.0).any():
        raise ValueError("repulsive_weights must be finite and not negative")
    if np.abs(w - w.T).max() > 1e-10 * w.max():
        raise ValueError("repulsive_weights must be symmetric; average them with their transpose")
    np.fill_diagonal(w, 0.0)
    return ExactRepulsion(n_jobs, np.ascontiguousarray(w))
