"""Graphs made of affinities: symmetric weights, Laplacians, and sparser graphs that keep the shape.

::

    points, distances or affinities
        └─► affinity_graph         symmetric entropic affinities of points (from_data.py)
        └─► MutualNeighbors        the same at one perplexity after the other (mutual.py)
        └─► EntropicSparsifier     edges of large entropic affinity
        └─► KNNSparsifier          edges between nearest neighbours
        └─► ViewerSparsifier       edges that few viewers (viewers.py) vote against, by the modes
                                   (modes.py, dip.py) of their distances (viewer_distances.py)
        └─► ResistanceSparsifier   a sample of edges that keeps the Laplacian (resistances.py)
    compare({...})                 what they kept: edges, components, spectra (spectra.py)
"""

from closeknit.graphs.compare import (
    Comparison,
    Degrees,
    GraphSummary,
    compare,
    connected_components,
    degrees,
    sparsity,
)
from closeknit.graphs.dip import Dip, dip_modes, dip_statistic, dip_test
from closeknit.graphs.entropic_sparsifier import EntropicSparsifier
from closeknit.graphs.from_data import affinity_graph, mean_of, symmetrize
from closeknit.graphs.knn_sparsifier import KNNSparsifier
from closeknit.graphs.laplacian import laplacian
from closeknit.graphs.modes import find_modes, silverman_bandwidth
from closeknit.graphs.mutual import MutualNeighbors
from closeknit.graphs.resistance_sparsifier import ResistanceSparsifier
from closeknit.graphs.resistances import effective_resistances
from closeknit.graphs.spectra import laplacian_distance, spectrum_distance
from closeknit.graphs.viewer_sparsifier import ViewerSparsifier
from closeknit.graphs.viewers import View

__all__ = [
    "Comparison",
    "Degrees",
    "Dip",
    "EntropicSparsifier",
    "GraphSummary",
    "KNNSparsifier",
    "MutualNeighbors",
    "ResistanceSparsifier",
    "View",
    "ViewerSparsifier",
    "affinity_graph",
    "compare",
    "connected_components",
    "degrees",
    "dip_modes",
    "dip_statistic",
    "dip_test",
    "effective_resistances",
    "find_modes",
    "laplacian",
    "laplacian_distance",
    "mean_of",
    "silverman_bandwidth",
    "sparsity",
    "spectrum_distance",
    "symmetrize",
]
