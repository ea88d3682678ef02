"""Embeddings as scikit-learn estimators.

::

    data → graph (closeknit.graphs)  → objective (closeknit.objectives)
         → start (initialize.py)    → minimiser (closeknit.minimize) → embedding
    new points → out_of_sample.py

What all share is in base.py; what those share that minimise an objective, in nonlinear.py.
"""

from closeknit.embeddings.eigenmaps import LaplacianEigenmaps
from closeknit.embeddings.elastic import ElasticEmbedding, TElasticEmbedding
from closeknit.embeddings.initialize import initial_embedding
from closeknit.embeddings.nonlinear import Training
from closeknit.embeddings.normalized import SNE, SymmetricSNE
from closeknit.embeddings.out_of_sample import new_affinities
from closeknit.embeddings.settled import MapSettled
from closeknit.embeddings.tsne import TSNE

__all__ = [
    "SNE",
    "TSNE",
    "ElasticEmbedding",
    "LaplacianEigenmaps",
    "MapSettled",
    "SymmetricSNE",
    "TElasticEmbedding",
    "Training",
    "initial_embedding",
    "new_affinities",
]
