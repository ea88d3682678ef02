"""Affinities: from squared distances to probabilities over the neighbours.

::

    solve_bandwidths(sq_distances, K)      the core: one bandwidth per row
        = a root finder (root_finders.py)  Newton, Halley, Euler, bisection, Brent, Ridders
        × an order (orders.py)             bounds, density, tree, raster, continuation, …; or none
        inside bounds (bounds.py)          Theorem 1.1 and sharper ones
        for a kernel                       the Gaussian, compiled; any other one (any_kernel.py)

    EntropicAffinities                     data → neighbours → solve → CSR matrix
    FixedAffinities                        the rules it is compared with
"""

from closeknit.affinities.bandwidths import solve_bandwidths, solve_perplexities, to_csr
from closeknit.affinities.bounds import bandwidth_bounds, entropy_derivatives
from closeknit.affinities.entropic import EntropicAffinities, entropic_affinities
from closeknit.affinities.fixed import FixedAffinities
from closeknit.affinities.orders import (
    Bounds,
    Continuation,
    Density,
    Gap,
    Given,
    NeighborDistance,
    Oracle,
    RandomOrder,
    Raster,
    Regression,
)
from closeknit.affinities.root_finders import (
    Bisection,
    Brent,
    Euler,
    Halley,
    Newton,
    Ridders,
    RootFinder,
)
from closeknit.affinities.solution import Bandwidths, LocalBandwidths, Status, warn_of_rows
from closeknit.affinities.spanning_tree import MinimumSpanningTree
from closeknit.affinities.traversal import Order, RowProblem, Traversal
from closeknit.affinities.validation import check_kernel, check_perplexity, scales_of

__all__ = [
    "Bandwidths",
    "Bisection",
    "Bounds",
    "Brent",
    "Continuation",
    "Density",
    "EntropicAffinities",
    "Euler",
    "FixedAffinities",
    "Gap",
    "Given",
    "Halley",
    "LocalBandwidths",
    "MinimumSpanningTree",
    "NeighborDistance",
    "Newton",
    "Oracle",
    "Order",
    "RandomOrder",
    "Raster",
    "Regression",
    "Ridders",
    "RootFinder",
    "RowProblem",
    "Status",
    "Traversal",
    "bandwidth_bounds",
    "check_kernel",
    "check_perplexity",
    "entropic_affinities",
    "entropy_derivatives",
    "scales_of",
    "solve_bandwidths",
    "solve_perplexities",
    "to_csr",
    "warn_of_rows",
]
