"""t-distributed stochastic neighbour embedding."""

from __future__ import annotations

from typing import Any

from closeknit.kernels import STUDENT, Kernel, student
from closeknit.objectives.normalized import NormalizedObjective

__all__ = ["TSNE"]


class TSNE(NormalizedObjective):
    """t-SNE: Σ p log(1 + t) + λ log Σ 1/(1 + t) with t = ‖x_n − x_m‖².

    Van der Maaten and Hinton (2008).

    Parameters
    ----------
    affinities, repulsion, n_jobs, check
        As in :class:`Objective`.
    dof : float, default=1.0
        Degrees of freedom of the kernel; see :func:`closeknit.kernels.student`.
    """

    kernel: Kernel = STUDENT

    def __init__(self, affinities: Any, *, dof: float = 1.0, **options: Any):
        self.kernel = student(dof)
        super().__init__(affinities, **options)
