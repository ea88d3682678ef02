"""The elastic embedding."""

from closeknit.kernels import EPANECHNIKOV, GAUSSIAN
from closeknit.objectives.unnormalized import UnnormalizedObjective

__all__ = ["ElasticEmbedding", "EpanechnikovEmbedding"]


class ElasticEmbedding(UnnormalizedObjective):
    """EE: Σ w⁺ t + λ Σ w⁻ exp(−t) with t = ‖x_n − x_m‖²  (Carreira-Perpiñán, 2010)."""

    kernel = GAUSSIAN


class EpanechnikovEmbedding(UnnormalizedObjective):
    """The elastic embedding with a kernel of finite reach: Σ w⁺ t + λ Σ w⁻ max(0, 1 − t).

    One of the models that section 1 of the partial-Hessian paper suggests. Its gradient jumps where
    t = 1.
    """

    kernel = EPANECHNIKOV
