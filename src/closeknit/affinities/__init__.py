"""How near the neighbours are: from squared distances to probabilities.

::

    solve_bandwidths(sq_distances, K)      the core: one bandwidth per row
        = a root finder (methods.py)       Newton, Halley, Euler, bisection, Brent, Ridders
        × an order (orders.py)             bounds, density, tree, raster, …; or none
        inside bounds (bounds.py)          Theorem 1.1 and sharper ones

    EntropicAffinities                     data → neighbours → solve → CSR matrix
    FixedAffinities                        the rules it is compared with
"""

from closeknit.affinities.bandwidths import Bandwidths, solve_bandwidths
from closeknit.affinities.bounds import bandwidth_bounds, entropy_derivatives
from closeknit.affinities.entropic import EntropicAffinities, entropic_affinities
from closeknit.affinities.fixed import FixedAffinities
from closeknit.affinities.methods import Bisection, Brent, Euler, Halley, Newton, Ridders
from closeknit.affinities.orders import (
    Bounds,
    Density,
    Given,
    MinimumSpanningTree,
    Oracle,
    RandomOrder,
    Raster,
    Regression,
)

__all__ = [
    "Bandwidths",
    "Bisection",
    "Bounds",
    "Brent",
    "Density",
    "EntropicAffinities",
    "Euler",
    "FixedAffinities",
    "Given",
    "Halley",
    "MinimumSpanningTree",
    "Newton",
    "Oracle",
    "RandomOrder",
    "Raster",
    "Regression",
    "Ridders",
    "bandwidth_bounds",
    "entropic_affinities",
    "entropy_derivatives",
    "solve_bandwidths",
]
