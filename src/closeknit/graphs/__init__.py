"""Graphs made of affinities: symmetric matrices of weights and their Laplacians."""

from closeknit.graphs.laplacian import laplacian
from closeknit.graphs.symmetrize import symmetrize

__all__ = ["laplacian", "symmetrize"]
