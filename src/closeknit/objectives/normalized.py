"""Normalised symmetric models: E⁻ = log Σ K over all pairs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from closeknit.objectives.base import Objective
from closeknit.repulsion import PairSums

__all__ = ["NormalizedObjective"]

Array = NDArray[np.float64]


class NormalizedObjective(Objective):
    """Kullback–Leibler divergence of pair distributions, up to the constant −H(P).

    The attractive weights are divided by their sum, so that they are a distribution P.
    """

    def _scaled(self, data: Array) -> Array:
        if not len(data):
            raise ValueError("affinities are all zero: no point has a neighbour")
        return data / data.sum(dtype=np.float64)

    @property
    def entropy(self) -> float:
        """H(P) = −Σ p log p; KL(P‖Q) = E − H(P) at λ = 1."""
        return float(entr(self.weights.data).sum(dtype=np.float64))

    def repulsive_value(self, sums: Array) -> float:
        """Log S with S = Σ_n Σ_m K."""
        with np.errstate(divide="ignore"):  # all points out of reach: −inf, which is rejected
            return float(np.log(sums.sum()))

    def repulsive_force(self, X: Array, sums: PairSums) -> Array:
        """Σ_m K' (x_n − x_m) / S."""
        assert sums.force is not None
        with np.errstate(divide="ignore", invalid="ignore"):  # as above
            return sums.force / sums.value.sum()

    def repulsive_diagonal(self, X: Array) -> Array:
        """S''/S − (S'/S)²."""
        sums = self.repulsion.curvatures(X, self.kernel)
        total = sums.value.sum()
        bend = 4.0 * (sums.slope[:, None] + 2.0 * sums.curvature) / total
        return bend - 16.0 * (sums.force / total) ** 2

    def repulsive_blocks(self, X: Array) -> Callable[[Array], Array]:
        """Weights K'' (x_n − x_m)² / S."""
        sums = self.repulsion.curvatures(X, self.kernel)
        total = sums.value.sum()

        def product(V: Array) -> Array:
            moved = self.repulsion.curvature_product(X, self.kernel, V)
            return 8.0 / total * (sums.curvature * V - moved)

        return product
