"""Sums of a kernel over all pairs of points: one interface, several ways.

::

    Repulsion.sums(X, kernel)   →  Σ_m K and Σ_m K'(x_n − x_m) for every n
    ExactRepulsion              every pair, O(n²) work, O(n) memory
    GridRepulsion               a grid and FFTs, O(n) work, to a wanted accuracy
    SparseRepulsion             pairs that have a weight
    DistanceRepulsion           pairs weighted by distances of data, in blocks or on a grid

The curvature sums of the partial-Hessian strategies are always exact.
"""

from closeknit.repulsion._potential import Potential
from closeknit.repulsion.exact import CurvatureSums, ExactRepulsion, PairSums, Repulsion
from closeknit.repulsion.grid import GridRepulsion
from closeknit.repulsion.weighted import DistanceRepulsion, SparseRepulsion

__all__ = [
    "CurvatureSums",
    "DistanceRepulsion",
    "ExactRepulsion",
    "GridRepulsion",
    "PairSums",
    "Potential",
    "Repulsion",
    "SparseRepulsion",
]
