"""The elastic embedding with Student's t."""

from closeknit.kernels import STUDENT
from closeknit.objectives.unnormalized import UnnormalizedObjective

__all__ = ["TElasticEmbedding"]


class TElasticEmbedding(UnnormalizedObjective):
    """t-EE: Σ w⁺ log(1 + t) + λ Σ w⁻ / (1 + t) with t = ‖x_n − x_m‖²."""

    kernel = STUDENT
