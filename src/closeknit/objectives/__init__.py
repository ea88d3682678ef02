"""Embedding models as objectives E(X; λ) = E⁺(X) + λ E⁻(X).

::

    ElasticEmbedding, TElasticEmbedding   E⁻ = Σ w⁻ K
    SymmetricSNE, TSNE                    E⁻ = log Σ K
    SNE                                   E⁻ = Σ_n log Σ_m K

``objective.at(lam)`` is what :func:`closeknit.minimize.minimize` takes. The sums over all pairs
come from :mod:`closeknit.repulsion`.
"""

from closeknit.objectives.base import AtLambda, Attraction, Objective, Value
from closeknit.objectives.normalized import TSNE, SymmetricSNE
from closeknit.objectives.sne import SNE
from closeknit.objectives.unnormalized import ElasticEmbedding, TElasticEmbedding

__all__ = [
    "SNE",
    "TSNE",
    "AtLambda",
    "Attraction",
    "ElasticEmbedding",
    "Objective",
    "SymmetricSNE",
    "TElasticEmbedding",
    "Value",
]
