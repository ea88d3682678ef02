"""Embedding models as objectives E(X; λ) = E⁺(X) + λ E⁻(X).

::

    ElasticEmbedding, EpanechnikovEmbedding, TElasticEmbedding   E⁻ = Σ w⁻ K
    SymmetricSNE, TSNE                                           E⁻ = log Σ K
    SNE                                                          E⁻ = Σ_n log Σ_m K

``objective.at(lam)`` is what :func:`closeknit.minimize.minimize` takes. The sums over all pairs
come from :mod:`closeknit.repulsion`.
"""

from closeknit.objectives.base import AtLambda, Objective
from closeknit.objectives.elastic import ElasticEmbedding, EpanechnikovEmbedding
from closeknit.objectives.sne import SNE
from closeknit.objectives.ssne import SymmetricSNE
from closeknit.objectives.tee import TElasticEmbedding
from closeknit.objectives.tsne import TSNE

__all__ = [
    "SNE",
    "TSNE",
    "AtLambda",
    "ElasticEmbedding",
    "EpanechnikovEmbedding",
    "Objective",
    "SymmetricSNE",
    "TElasticEmbedding",
]
