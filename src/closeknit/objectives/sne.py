"""Stochastic neighbour embedding, the original, with a distribution per point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import entr

from closeknit._arrays import Array
from closeknit.graphs import symmetrize
from closeknit.kernels import GAUSSIAN
from closeknit.linalg import check_weights
from closeknit.objectives.base import Objective
from closeknit.repulsion import PairSums, Repulsion


class SNE(Objective):
    """SNE: Σ p_{m|n} t + λ Σ_n log Σ_m exp(−t) with t = ‖x_n − x_m‖²  (Hinton and Roweis, 2003).

    Parameters
    ----------
    affinities : sparse matrix or array of shape (n_samples, n_samples)
        Row n is the distribution of point n over its neighbours; rows need not be symmetric and
        are divided by their sums. E⁺ sees only their symmetric part.
    repulsion, n_jobs, check
        As in :class:`Objective`, but for the symmetry.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.objectives import SNE
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> value, gradient = SNE(W).at(1.0).value_and_gradient(X)
    >>> round(value, 6)
    0.790322
    """

    kernel = GAUSSIAN

    def __init__(
        self,
        affinities: Any,
        *,
        repulsion: Repulsion | None = None,
        n_jobs: int | None = -1,
        check: bool = True,
    ):
        P = check_weights(affinities) if check else affinities
        if not P.nnz:
            raise ValueError("affinities are all zero: no point has a neighbour")
        sums = np.asarray(P.sum(axis=1)).ravel()
        with np.errstate(divide="ignore"):
            P = sparse.diags(np.where(sums > 0.0, 1.0 / sums, 0.0)) @ P
        self.conditional = sparse.csr_matrix(P)
        super().__init__(
            symmetrize(P, n_jobs=n_jobs), repulsion=repulsion, n_jobs=n_jobs, check=False
        )

    @property
    def entropy(self) -> float:
        """Σ_n H(P_n); Σ_n KL(P_n‖Q_n) = E − that at λ = 1."""
        return float(entr(self.conditional.data).sum())

    def repulsive_value(self, sums: Array) -> float:
        """Σ_n log S_n with S_n = Σ_m K."""
        # A point out of everyone's reach: −inf, or NaN if a grid rounds to below 0; rejected.
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.log(sums).sum())

    def repulsive_force(self, X: Array, sums: PairSums) -> Array:
        """½ Σ_m K' (1/S_n + 1/S_m) (x_n − x_m)."""
        with np.errstate(divide="ignore", invalid="ignore"):  # as above
            inverse = 1.0 / sums.value
            other = self.repulsion.sums(X, self.kernel, point_weights=inverse).force
            return 0.5 * (inverse[:, None] * sums.force + other)

    def new_point_repulsion(self, X: Array, lam: float) -> float:
        """λ times the mean of 1/S_n."""
        return float(lam * (1.0 / self.repulsion.values(X, self.kernel)).mean())

    def repulsive_diagonal(self, X: Array) -> Array:
        """Own and others' S''/S − (S'/S)²."""
        own = self.repulsion.curvatures(X, self.kernel)
        inverse = 1.0 / own.value
        other = self.repulsion.curvatures(X, self.kernel, point_weights=inverse)
        bend_own = 2.0 * (own.slope[:, None] + 2.0 * own.curvature) * inverse[:, None]
        bend_other = 2.0 * (other.slope[:, None] + 2.0 * other.curvature)
        # Σ_m (2 K' (x_n − x_m) / S_m)²: K'² = exp(−2t) is K'' at points √2 apart.
        squares = self.repulsion.curvatures(
            np.sqrt(2.0) * X, self.kernel, point_weights=inverse**2
        ).curvature
        square_own = 4.0 * (own.force * inverse[:, None]) ** 2
        return bend_own + bend_other - square_own - 2.0 * squares

    def repulsive_blocks(self, X: Array) -> Callable[[Array], Array]:
        """Weights ½ K'' (1/S_n + 1/S_m) (x_n − x_m)²."""
        own = self.repulsion.curvatures(X, self.kernel)
        inverse = 1.0 / own.value
        other = self.repulsion.curvatures(X, self.kernel, point_weights=inverse).curvature
        diagonal = inverse[:, None] * own.curvature + other

        def product(V: Array) -> Array:
            moved = inverse[:, None] * self.repulsion.curvature_product(X, self.kernel, V)
            moved += self.repulsion.curvature_product(X, self.kernel, V, point_weights=inverse)
            return 4.0 * (diagonal * V - moved)

        return product
