"""t-distributed stochastic neighbour embedding."""

from closeknit.kernels import STUDENT
from closeknit.objectives.normalized import NormalizedObjective

__all__ = ["TSNE"]


class TSNE(NormalizedObjective):
    """t-SNE: Σ p log(1 + t) + λ log Σ 1/(1 + t) with t = ‖x_n − x_m‖².

    Van der Maaten and Hinton (2008).
    """

    kernel = STUDENT
