"""closeknit: who is close to whom, and what that looks like.

One line of flow, each module importing only from those before it::

    data ─► neighbours ─► affinities ─► graph ─► objective ─► minimiser ─► embedding ─► picture
    X       who is near   how near,     symmetric  E⁺ + λE⁻    direction    (n, d)       plot
                          per point     / sparser              × step

``W, sigma = ck.entropic_affinities(X, perplexity=30)`` stops after the affinities;
``ck.TSNE().fit_transform(X)`` runs the whole line.
Names are imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from closeknit import (
        affinities,
        datasets,
        exceptions,
        graphs,
        io,
        neighbors,
        plotting,
        quality,
    )
    from closeknit.affinities import (
        EntropicAffinities,
        bandwidth_bounds,
        entropic_affinities,
        solve_bandwidths,
    )
    from closeknit.apps import (
        LabelPropagation,
        LabelSpreading,
        MeanShift,
        SpectralClustering,
        image_affinities,
        segment_image,
    )
    from closeknit.embeddings import (
        SNE,
        TSNE,
        ElasticEmbedding,
        LaplacianEigenmaps,
        SymmetricSNE,
        TElasticEmbedding,
    )
    from closeknit.minimize import directions

__version__ = "0.1.0.dev0"

__all__ = [
    "SNE",
    "TSNE",
    "ElasticEmbedding",
    "EntropicAffinities",
    "LabelPropagation",
    "LabelSpreading",
    "LaplacianEigenmaps",
    "MeanShift",
    "SpectralClustering",
    "SymmetricSNE",
    "TElasticEmbedding",
    "affinities",
    "bandwidth_bounds",
    "datasets",
    "directions",
    "entropic_affinities",
    "exceptions",
    "graphs",
    "image_affinities",
    "io",
    "neighbors",
    "plotting",
    "quality",
    "segment_image",
    "solve_bandwidths",
]

_MODULES = {
    "affinities": "affinities",
    "datasets": "datasets",
    "directions": "minimize.directions",
    "exceptions": "exceptions",
    "graphs": "graphs",
    "io": "io",
    "neighbors": "neighbors",
    "plotting": "plotting",
    "quality": "quality",
}
_HOME = {
    "SNE": "embeddings",
    "TSNE": "embeddings",
    "ElasticEmbedding": "embeddings",
    "LaplacianEigenmaps": "embeddings",
    "SymmetricSNE": "embeddings",
    "TElasticEmbedding": "embeddings",
    "EntropicAffinities": "affinities",
    "bandwidth_bounds": "affinities",
    "entropic_affinities": "affinities",
    "solve_bandwidths": "affinities",
    "LabelPropagation": "apps",
    "LabelSpreading": "apps",
    "MeanShift": "apps",
    "SpectralClustering": "apps",
    "image_affinities": "apps",
    "segment_image": "apps",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"closeknit.{_MODULES[name]}")
    if name in _HOME:
        return getattr(import_module(f"closeknit.{_HOME[name]}"), name)
    raise AttributeError(f"module 'closeknit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
