"""Normalised symmetric models, E⁻ = log Σ K over all pairs: s-SNE and t-SNE."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from closeknit import _core
from closeknit._arrays import Array
from closeknit._threads import effective_n_jobs
from closeknit.kernels import GAUSSIAN, STUDENT, Kernel, student
from closeknit.objectives.base import Objective
from closeknit.repulsion import PairSums


class NormalizedObjective(Objective):
    """Kullback–Leibler divergence of pair distributions, up to the constant −H(P).

    The attractive weights are divided by their sum, so that they are a distribution P.
    """

    unit_sum = True

    @cached_property
    def entropy(self) -> float:
        """H(P) = −Σ p log p; KL(P‖Q) = E − H(P) at λ = 1."""
        data: Any = np.ascontiguousarray(self.weights.data)
        return _core.sum_entropy(data, effective_n_jobs(self.attraction.n_jobs))

    def repulsive_value(self, sums: Array) -> float:
        """Log S with S = Σ_n Σ_m K."""
        with np.errstate(divide="ignore"):  # all points out of reach: −inf, which is rejected
            return float(np.log(sums.sum()))

    def repulsive_force(self, X: Array, sums: PairSums) -> Array:
        """Σ_m K' (x_n − x_m) / S."""
        with np.errstate(divide="ignore", invalid="ignore"):  # as above
            return sums.force / sums.value.sum()

    def new_point_repulsion(self, X: Array, lam: float) -> float:
        """λ n / S: a new point's share of E, times n/2, is Σ q (−log K) + λ (n / S) Σ K."""
        return float(lam * len(X) / self.repulsion.values(X, self.kernel).sum())

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


class SymmetricSNE(NormalizedObjective):
    """s-SNE: Σ p ‖x_n − x_m‖² + λ log Σ exp(−‖x_n − x_m‖²)  (Cook et al., 2007).

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.objectives import SymmetricSNE
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> value, gradient = SymmetricSNE(W).at(1.0).value_and_gradient(X)
    >>> round(value, 6)
    1.410883
    """

    kernel = GAUSSIAN


class TSNE(NormalizedObjective):
    """t-SNE: Σ p log(1 + t) + λ log Σ 1/(1 + t) with t = ‖x_n − x_m‖².

    Van der Maaten and Hinton (2008).

    Parameters
    ----------
    affinities, repulsion, n_jobs, check
        As in :class:`Objective`.
    dof : float, default=1.0
        Degrees of freedom of the kernel; see :func:`closeknit.kernels.student`.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.objectives import TSNE
    >>> W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> value, gradient = TSNE(W).at(1.0).value_and_gradient(X)
    >>> round(value, 6)
    1.568616
    """

    kernel: Kernel = STUDENT

    def __init__(self, affinities: Any, *, dof: float = 1.0, **options: Any):
        self.kernel = student(dof)
        super().__init__(affinities, **options)
