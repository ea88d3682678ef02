"""Linear algebra on graphs, upstream of everything that has a graph.

::

    canonical, check_weights, …  a graph as a CSR matrix in order                   (csr.py)
    multiply, inner, norm        the same bits for any number of threads
    keep_strongest, thin         fewer edges, for cheaper factors                   (strongest.py)
    factorize                    factors of Laplacians: dense, sparse, approximate  (factors.py)
    conjugate_gradients          inexact solutions of many columns
    graph_eigenvectors           the smoothest vectors on a graph (eigenvectors.py, subspace.py)
"""

from closeknit.linalg.approximate_cholesky import ApproximateCholesky
from closeknit.linalg.conjugate_gradients import conjugate_gradients
from closeknit.linalg.csr import (
    Array,
    canonical,
    check_symmetric,
    check_weights,
    entry_rows,
    inner,
    multiply,
    norm,
    permuted,
    row_sums,
    same_pattern,
    same_weights,
    with_data,
)
from closeknit.linalg.eigenvectors import Eigenvectors, graph_eigenvectors
from closeknit.linalg.factors import Factor, check_solver, choose_solver, factorize
from closeknit.linalg.strongest import keep_strongest, strongest_entries, take_entries, thin

__all__ = [
    "ApproximateCholesky",
    "Array",
    "Eigenvectors",
    "Factor",
    "canonical",
    "check_solver",
    "check_symmetric",
    "check_weights",
    "choose_solver",
    "conjugate_gradients",
    "entry_rows",
    "factorize",
    "graph_eigenvectors",
    "inner",
    "keep_strongest",
    "multiply",
    "norm",
    "permuted",
    "row_sums",
    "same_pattern",
    "same_weights",
    "strongest_entries",
    "take_entries",
    "thin",
    "with_data",
]
