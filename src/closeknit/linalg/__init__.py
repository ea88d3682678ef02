"""Linear algebra on graphs, upstream of everything that has a graph.

::

    canonical, check_weights, …  a graph as a CSR matrix in order                   (csr.py)
    check_structure, real_array  … whose indices lead somewhere; numbers        (closeknit._checks)
    multiply, inner, norm        the same bits for any number of threads
    thin, sample_entries, …      fewer edges, for cheaper factors                   (strongest.py)
    WeakestKept                  … of a graph in shards                        (strongest_rows.py)
    factorize                    exact factors, dense or sparse                     (factors.py)
    ApproximateCholesky          factors of Laplacians in nearly linear time
    divide, map_order            parts that no edge joins; neighbours on a map in a row
    conjugate_gradients          inexact solutions of many columns
    graph_eigenvectors           the smoothest vectors on a graph (eigenvectors.py, subspace.py)
"""

from closeknit._arrays import Array
from closeknit._checks import check_finite, check_structure, real_array
from closeknit.linalg.approximate_cholesky import ApproximateCholesky
from closeknit.linalg.conjugate_gradients import conjugate_gradients
from closeknit.linalg.csr import (
    canonical,
    check_symmetric,
    check_weights,
    core_graph,
    entry_rows,
    inner,
    multiply,
    norm,
    permuted,
    row_sums,
    same_pattern,
    same_weights,
    sorted_rows,
    with_data,
)
from closeknit.linalg.division import divide
from closeknit.linalg.eigenvectors import Eigenvectors, graph_eigenvectors
from closeknit.linalg.factors import SOLVERS, Factor, choose_solver, factorize
from closeknit.linalg.map_order import map_order
from closeknit.linalg.strongest import (
    sample_entries,
    sample_rows,
    strongest_entries,
    take_entries,
    thin,
)
from closeknit.linalg.strongest_rows import WeakestKept

__all__ = [
    "SOLVERS",
    "ApproximateCholesky",
    "Array",
    "Eigenvectors",
    "Factor",
    "WeakestKept",
    "canonical",
    "check_finite",
    "check_structure",
    "check_symmetric",
    "check_weights",
    "choose_solver",
    "conjugate_gradients",
    "core_graph",
    "divide",
    "entry_rows",
    "factorize",
    "graph_eigenvectors",
    "inner",
    "map_order",
    "multiply",
    "norm",
    "permuted",
    "real_array",
    "row_sums",
    "same_pattern",
    "same_weights",
    "sample_entries",
    "sample_rows",
    "sorted_rows",
    "strongest_entries",
    "take_entries",
    "thin",
    "with_data",
]
