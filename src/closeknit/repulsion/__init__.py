"""Sums of a kernel over all pairs of points: one protocol, several ways.

::

    Repulsion.sums(X, kernel)   →  Σ_m K, Σ_m K' and Σ_m K'(x_n − x_m) for every n
    ExactRepulsion              every pair, O(n²) work, O(n) memory

The curvature sums of the partial-Hessian strategies exist for exact repulsion only.
"""

from closeknit.repulsion.base import PairSums, Repulsion
from closeknit.repulsion.exact import ExactRepulsion

__all__ = ["ExactRepulsion", "PairSums", "Repulsion"]
