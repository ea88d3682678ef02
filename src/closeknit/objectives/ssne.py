"""Symmetric stochastic neighbour embedding."""

from closeknit.kernels import GAUSSIAN
from closeknit.objectives.normalized import NormalizedObjective

__all__ = ["SymmetricSNE"]


class SymmetricSNE(NormalizedObjective):
    """s-SNE: Σ p ‖x_n − x_m‖² + λ log Σ exp(−‖x_n − x_m‖²)  (Cook et al., 2007)."""

    kernel = GAUSSIAN
