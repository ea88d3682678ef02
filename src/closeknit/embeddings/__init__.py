"""Embeddings as scikit-learn estimators.

::

    data → graph (closeknit.graphs)  → objective (closeknit.objectives)
         → start (initialize.py)    → minimiser (closeknit.minimize) → embedding
    new points → out_of_sample.py

What all share is in base.py; what those share that minimise an objective, in nonlinear.py.
"""

from closeknit.embeddings.base import BaseEmbedding
from closeknit.embeddings.eigenmaps import LaplacianEigenmaps
from closeknit.embeddings.elastic import ElasticEmbedding, TElasticEmbedding
from closeknit.embeddings.initialize import initial_embedding, scaled_start
from closeknit.embeddings.nonlinear import MAX_POINTS_EXACT, NonlinearEmbedding, Training
from closeknit.embeddings.normalized import SNE, SymmetricSNE
from closeknit.embeddings.out_of_sample import new_affinities
from closeknit.embeddings.settled import MapSettled
from closeknit.embeddings.tsne import TSNE

__all__ = [
    "MAX_POINTS_EXACT",
    "SNE",
    "TSNE",
    "BaseEmbedding",
    "ElasticEmbedding",
    "LaplacianEigenmaps",
    "MapSettled",
    "NonlinearEmbedding",
    "SymmetricSNE",
    "TElasticEmbedding",
    "Training",
    "initial_embedding",
    "new_affinities",
    "scaled_start",
]
