"""Nearest neighbours.

A search is an index fitted to points and asked for neighbours; the answer is a `Neighbors`::

    find_neighbors(X, 90)                        # in one call
    index = make_index("cosine", "exact").fit(X) # an index also serves new points
    index.self_neighbors(90)
    index.query(X_new, 90)

Indices differ in how they search, not in what they answer::

    ExactIndex        k-d tree, or sketches with a proof; sparse products
    ApproximateIndex  sketches without the proof, to a measured recall
    PairwiseIndex     any metric of scikit-learn, row by row
    PrecomputedIndex  distances or a graph given by the user
    EstimatorIndex    anything like scikit-learn's KNeighborsTransformer

Euclidean searches turn a metric into plain squared distances (``geometry.py``), search equal points
once (``_set_aside.py``) and leave the search to an engine (``_tree.py``, ``_sketch_engine.py``,
``_sparse.py``). Distances that users see always come from one compiled kernel that sums squares of
differences in float64 (``candidates.py``). Whole rows of distances come block by block
(``dense.py``).
"""

from closeknit.neighbors.candidates import candidate_distances, nearest_of, nearest_of_all
from closeknit.neighbors.dense import AllPoints, dense_sq_distances
from closeknit.neighbors.euclidean import ApproximateIndex, ExactIndex
from closeknit.neighbors.external import EstimatorIndex
from closeknit.neighbors.geometry import GEOMETRIES
from closeknit.neighbors.index import NeighborIndex
from closeknit.neighbors.pairwise import PairwiseIndex
from closeknit.neighbors.points import (
    DataInputMixin,
    check_data,
    check_n_neighbors,
    same_rows,
    seed_of,
)
from closeknit.neighbors.precomputed import PrecomputedIndex
from closeknit.neighbors.result import Neighbors, check_answer, given_neighbors
from closeknit.neighbors.search import find_neighbors, fit_index, make_index

__all__ = [
    "GEOMETRIES",
    "AllPoints",
    "ApproximateIndex",
    "DataInputMixin",
    "EstimatorIndex",
    "ExactIndex",
    "NeighborIndex",
    "Neighbors",
    "PairwiseIndex",
    "PrecomputedIndex",
    "candidate_distances",
    "check_answer",
    "check_data",
    "check_n_neighbors",
    "dense_sq_distances",
    "find_neighbors",
    "fit_index",
    "given_neighbors",
    "make_index",
    "nearest_of",
    "nearest_of_all",
    "same_rows",
    "seed_of",
]
