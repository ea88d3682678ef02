"""What a saved model may consist of: every class, and what of it is kept.

A file can name only the classes listed here. An estimator is its parameters and the fitted
attributes declared below; an index its parameters and the points it searches, from which it is
built anew, to the same bits; a density what it was made of; a frozen dataclass its fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from types import MappingProxyType
from typing import Any

from closeknit.affinities import EntropicAffinities, FixedAffinities
from closeknit.apps import LabelPropagation, LabelSpreading, MeanShift, SpectralClustering
from closeknit.apps.density import SamplePointDensity as Density
from closeknit.apps.trajectories import Trajectories as Paths
from closeknit.embeddings import (
    SNE,
    TSNE,
    ElasticEmbedding,
    LaplacianEigenmaps,
    SymmetricSNE,
    TElasticEmbedding,
)
from closeknit.graphs import (
    EntropicSparsifier,
    KNNSparsifier,
    ResistanceSparsifier,
    ViewerSparsifier,
)
from closeknit.neighbors import ApproximateIndex, ExactIndex, PairwiseIndex, PrecomputedIndex

__all__ = [
    "ESTIMATORS",
    "INDICES",
    "NOT_SAVED",
    "PARTS",
    "Fitted",
    "dataclasses",
    "parameters_of",
]

Shapes = Mapping[str, tuple[str, ...] | str | None]


@dataclass(frozen=True)
class Fitted:
    """What a fitted estimator is made of, besides its parameters.

    Parameters
    ----------
    cls : type
    required : mapping of str to tuple, str or None
        Attributes and their shapes in symbols, such as ``("n", "d")``; a symbol alone is that
        number itself. Equal symbols must be equal numbers. None is anything.
    optional : tuple of str
        Attributes that exist only sometimes.

    Examples
    --------
    >>> ESTIMATORS["TSNE"].required["embedding_"]
    ('n', 'd')
    """

    cls: type
    required: Shapes
    optional: tuple[str, ...] = ("feature_names_in_", "_sklearn_output_config")


_AFFINITIES: Shapes = {
    "n_features_in_": "f",
    "affinities_": ("n", "n"),
    "sigmas_": None,  # (n,), or (n, number of perplexities) as the next three
    "betas_": None,
    "evaluations_": None,
    "converged_": None,
    "scale_perplexities_": None,
    "neighbors_": None,
    "index_": ("n", "f"),
}
_EMBEDDING: Shapes = {
    "n_features_in_": None,
    "_n_features_out": "d",
    "affinity_estimator_": ("n", "n"),
    "affinities_": ("n", "n"),
    "embedding_": ("n", "d"),
}
_MINIMIZED: Shapes = {
    **_EMBEDDING,
    "objective_": None,
    "n_iter_": None,
    "stopped_because_": None,
    "history_": None,
    "path_": None,
    "lam_": None,
    "_kernel": None,
    "_grid": None,
    "_new_repulsion": None,
}
_NORMALIZED: Shapes = {**_MINIMIZED, "_kl_divergence": None}
_SPARSIFIER: Shapes = {
    "n_features_in_": None,
    "_n_features_out": "n",
    "graph_": ("n", "n"),
    "sparsity_": None,
    "_fitted_to": None,
}
_GRAPH: Shapes = {
    "n_features_in_": None,
    "affinity_estimator_": ("n", "n"),
    "affinities_": ("n", "n"),
    "n_iter_": None,
}
_LABELS: Shapes = {
    **_GRAPH,
    "classes_": ("c",),
    "label_distributions_": ("n", "c"),
    "transduction_": ("n",),
}
_CLUSTERING: Shapes = {
    **_GRAPH,
    "eigenvalues_": ("d",),
    "embedding_": ("n", "d"),
    "labels_": ("n",),
}
_MODES: Shapes = {
    "n_features_in_": "f",
    "n_iter_": None,
    "stopped_because_": None,
    "sigmas_": ("n",),
    "labels_": ("n",),
    "cluster_centers_": ("c", "f"),
    "_density": ("n", "f"),
    "_paths": None,
    "_ends": ("e", "f"),
    "_end_labels": ("e",),
}

ESTIMATORS: Mapping[str, Fitted] = MappingProxyType(
    {
        fitted.cls.__name__: fitted
        for fitted in (
            Fitted(EntropicAffinities, {**_AFFINITIES, "starts_": None}),
            Fitted(FixedAffinities, _AFFINITIES),
            Fitted(TSNE, _NORMALIZED),
            Fitted(SymmetricSNE, _NORMALIZED),
            Fitted(SNE, _NORMALIZED),
            Fitted(ElasticEmbedding, _MINIMIZED),
            Fitted(TElasticEmbedding, _MINIMIZED),
            Fitted(LaplacianEigenmaps, _EMBEDDING),
            Fitted(EntropicSparsifier, {**_SPARSIFIER, "threshold_": None}),
            Fitted(KNNSparsifier, {**_SPARSIFIER, "n_neighbors_": None}),
            Fitted(ResistanceSparsifier, {**_SPARSIFIER, "probabilities_": ("n", "n")}),
            Fitted(
                ViewerSparsifier,
                {**_SPARSIFIER, "votes_": ("n", "n"), "viewers_": None, "candidates_": None},
            ),
            Fitted(SpectralClustering, _CLUSTERING),
            Fitted(MeanShift, _MODES),
            Fitted(LabelPropagation, _LABELS),
            Fitted(LabelSpreading, _LABELS),
        )
    }
)

#: scikit-learn's callbacks watch a fit; they are no part of what was fitted.
NOT_SAVED = ("_skl_callbacks",)

#: Indices, and what they keep of the data they were fitted to; the data come first.
INDICES: Mapping[type, tuple[str, ...]] = MappingProxyType(
    {
        cls: cls.saved_state
        for cls in (ExactIndex, ApproximateIndex, PairwiseIndex, PrecomputedIndex)
    }
)

#: What mean shift climbs on is made of, and where that is kept.
PARTS: Mapping[type, Mapping[str, str]] = MappingProxyType(
    {
        Density: {
            "X": "_X",
            "sigmas": "sigmas",
            "index": "_index",
            "n_counting": "_n_counting",
            "n_jobs": "_n_jobs",
        },
        Paths: {"index": "_index", "owners": "_owners"},
    }
)

#: Where the small frozen objects are defined that parameters and results may be.
_MODULES = (
    "closeknit.affinities",
    "closeknit.graphs.viewers",
    "closeknit.kernels",
    "closeknit.minimize",
    "closeknit.neighbors",
    "closeknit.repulsion",
)


@cache
def dataclasses() -> Mapping[str, type]:
    """The frozen dataclasses of the modules listed here, by name.

    Examples
    --------
    >>> dataclasses()["SpectralDirection"](n_neighbors=7)
    SpectralDirection(n_neighbors=7, solver='auto', refresh=None, random_state=0, n_jobs=-1)
    """
    found: dict[str, type] = {}
    for module in _MODULES:
        for value in vars(import_module(module)).values():
            if not (isinstance(value, type) and is_dataclass(value)):
                continue
            if value.__module__.startswith("closeknit.") and value.__dataclass_params__.frozen:  # type: ignore[attr-defined]
                assert found.setdefault(value.__name__, value) is value, value
    return MappingProxyType(found)


def parameters_of(cls: type) -> list[str]:
    """The names that the constructor of an index takes.

    Examples
    --------
    >>> parameters_of(ExactIndex)
    ['metric', 'algorithm', 'n_jobs', 'verbose']
    """
    init: Any = cls.__init__  # type: ignore[misc]
    return [] if init is object.__init__ else list(signature(cls).parameters)
