"""closeknit: neighbours, entropic affinities, graphs and maps of data.

One line of flow, each module importing only from those before it::

    data ─► neighbours ─► affinities ─► graph ─► objective ─► minimiser ─► embedding ─► picture
    X       who is near   how near,     symmetric  E⁺ + λE⁻    direction    (n, d)       plot
                          per point     / sparser              × step

``W, sigma = ck.entropic_affinities(X, perplexity=30)`` stops after the affinities;
``ck.TSNE().fit_transform(X)`` runs the whole line.
Names are imported when they are first used.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from closeknit import (
        affinities,
        apps,
        cli,
        datasets,
        distributed,
        embeddings,
        exceptions,
        experiments,
        graphs,
        io,
        kernels,
        linalg,
        minimize,
        neighbors,
        objectives,
        plotting,
        progress,
        quality,
        repulsion,
    )
    from closeknit.affinities import (
        EntropicAffinities,
        bandwidth_bounds,
        entropic_affinities,
        solve_bandwidths,
    )
    from closeknit.apps import (
        BlurringMeanShift,
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
    from closeknit.explore import explore  # the package, which can be called
    from closeknit.minimize import directions

__version__ = "0.1.0.dev0"

#: The public names that are not stations themselves, by the station they live in.
_NAMES = {
    "affinities": "EntropicAffinities bandwidth_bounds entropic_affinities solve_bandwidths",
    "apps": "BlurringMeanShift LabelPropagation LabelSpreading MeanShift SpectralClustering "
    "image_affinities segment_image",
    "embeddings": "SNE TSNE ElasticEmbedding LaplacianEigenmaps SymmetricSNE TElasticEmbedding",
    "minimize": "directions",
}
_HOME = {name: station for station, names in _NAMES.items() for name in names.split()}

__all__ = [
    "SNE",
    "TSNE",
    "BlurringMeanShift",
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
    "apps",
    "bandwidth_bounds",
    "cli",
    "datasets",
    "directions",
    "distributed",
    "embeddings",
    "entropic_affinities",
    "exceptions",
    "experiments",
    "explore",
    "graphs",
    "image_affinities",
    "io",
    "kernels",
    "linalg",
    "minimize",
    "neighbors",
    "objectives",
    "plotting",
    "progress",
    "quality",
    "repulsion",
    "segment_image",
    "solve_bandwidths",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in __all__:
        here = sys.modules[__name__]  # with which Python itself suggests similar names
        raise AttributeError(f"module 'closeknit' has no attribute {name!r}", name=name, obj=here)
    home = import_module(f"closeknit.{_HOME.get(name, name)}")
    globals()[name] = found = getattr(home, name) if name in _HOME else home
    return found  # at once the next time


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
