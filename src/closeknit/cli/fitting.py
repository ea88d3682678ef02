"""Estimators as the command line names them: made, fitted, asked and described."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from closeknit.cli.errors import INTERRUPTED, CommandError
from closeknit.cli.options import AffinityOptions, Approximation
from closeknit.cli.progress import Stages
from closeknit.cli.reporting import Fact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "TITLES",
    "Method",
    "fit",
    "make_estimator",
    "neighbor_facts",
    "neighbors_kept",
    "short_name",
    "stop_fact",
    "transform",
]

#: Why a minimisation stopped, in words that need no knowledge of parameters.
_REASONS = {
    "tol": "converged",
    "gradient_tol": "converged",
    "max_iter": "--max-iter reached",
    "time_limit": "--time-limit reached",
}
#: Points over which the share of kept neighbours is averaged.
_SAMPLE = 1000
#: New points that are placed together: enough to keep all cores busy between two looks at a bar.
_CHUNK = 2000


class Method(StrEnum):
    """The embeddings."""

    tsne = "tsne"
    ee = "ee"
    ssne = "ssne"
    sne = "sne"
    tee = "tee"
    eigenmaps = "eigenmaps"


#: How summaries and pictures name the classes.
TITLES = {
    "TSNE": "t-SNE",
    "ElasticEmbedding": "elastic embedding",
    "SymmetricSNE": "symmetric SNE",
    "SNE": "SNE",
    "TElasticEmbedding": "t-elastic embedding",
    "LaplacianEigenmaps": "Laplacian eigenmaps",
}


def stop_fact(model: Any) -> Fact:
    """Why the minimisation stopped: in words for readers, by its name for scripts.

    Examples
    --------
    >>> import closeknit as ck
    >>> model = ck.TSNE()
    >>> model.stopped_because_ = "tol"
    >>> stop_fact(model).shown, stop_fact(model).value
    ('converged', 'tol')
    """
    reason = getattr(model, "stopped_because_", None)
    words = _REASONS.get(str(reason), "")
    return Fact("stopped_because", "stopped because", reason, words=words)


def short_name(model: Any) -> str:
    """What the command line calls the class of a model.

    Examples
    --------
    >>> import closeknit as ck
    >>> short_name(ck.SymmetricSNE())
    'ssne'
    """
    from closeknit.io.anndata import METHODS

    name = type(model).__name__
    return next(method for method, known in METHODS.items() if known == name)


def make_estimator(
    method: Method,
    options: AffinityOptions,
    *,
    given_affinities: bool,
    dims: int,
    minimizer: dict[str, Any],
) -> Any:
    """Make the estimator for a method.

    Parameters
    ----------
    method : Method
    options : AffinityOptions
    given_affinities : bool
        Whether the data are affinities already.
    dims : int
    minimizer : dict
        Parameters that only methods with an objective have.

    Returns
    -------
    estimator
    """
    import closeknit
    from closeknit.io.anndata import METHODS

    affinity: Any = "precomputed" if given_affinities else "entropic"
    if options.neighbors is not Approximation.auto and not given_affinities:
        # Embeddings leave the search to their affinities.
        affinity = closeknit.EntropicAffinities(options.perplexities, **options.keywords)
    return getattr(closeknit, METHODS[method.value])(
        dims,
        perplexity=options.perplexities,
        affinity=affinity,
        metric=options.metric,
        n_neighbors=options.n_neighbors or "auto",
        n_jobs=options.n_jobs,
        random_state=options.seed,
        **({} if method is Method.eigenmaps else minimizer),
    )


def fit(estimator: Any, X: Any, stages: Stages) -> None:
    """Fit an embedding; Ctrl-C ends it early, or the command if there is nothing yet to keep.

    Parameters
    ----------
    estimator : estimator
    X : array or sparse matrix
    stages : Stages
    """
    try:
        estimator.fit(X)
    except KeyboardInterrupt:
        raise CommandError(
            f"interrupted ({stages.current}); there is no embedding yet, nothing was written",
            exit_code=INTERRUPTED,
        ) from None


def transform(model: Any, X: Any) -> NDArray[np.float64]:
    """Place new points, some at a time, which changes no bit of any.

    Parameters
    ----------
    model : fitted estimator
    X : array or sparse matrix

    Returns
    -------
    ndarray of shape (n_new, n_components)
    """
    import numpy as np

    from closeknit.progress import listening, steps

    size = max(_CHUNK, math.ceil(X.shape[0] / 50))
    starts = range(0, X.shape[0], size)
    parts = []
    for start in steps("new points", starts):
        with listening(None):  # the searches inside are parts of this stage
            parts.append(model.transform(X[start : start + size]))
    return np.vstack(parts)


def neighbors_kept(model: Any, seed: int) -> float | None:
    """Share of neighbours that are neighbours in the embedding, over a sample of the points.

    Parameters
    ----------
    model : fitted embedding
    seed : int

    Returns
    -------
    float or None
        None if the neighbours are not known.
    """
    from closeknit.progress import listening
    from closeknit.quality import neighbor_recall

    neighbors = getattr(model.affinity_estimator_, "neighbors_", None)
    if neighbors is None:
        return None
    n, k = neighbors.indices.shape
    with listening(None):  # the search inside is no stage of its own
        return neighbor_recall(
            neighbors,
            model.embedding_,
            min(15, k),
            sample=_SAMPLE if n > _SAMPLE else None,
            n_jobs=model.n_jobs,
            random_state=seed,
        )


def neighbor_facts(affinities: Any, options: AffinityOptions) -> list[Fact]:
    """How the neighbours were found, and for which perplexity.

    Parameters
    ----------
    affinities : fitted estimator of affinities or None
        None if the affinities were given.
    options : AffinityOptions

    Returns
    -------
    list of Fact

    Examples
    --------
    >>> import closeknit as ck, numpy as np
    >>> affinities = ck.EntropicAffinities(3.0).fit(np.arange(12.0)[:, None])
    >>> [fact.shown for fact in neighbor_facts(affinities, AffinityOptions(["3"]))]
    ['3', '9', 'exact', 'euclidean']
    """
    if affinities is None:
        return [
            Fact(key, "", None)
            for key in ("perplexity", "n_neighbors", "neighbor_search", "metric")
        ]
    neighbors, perplexity = affinities.neighbors_, options.perplexities
    several = perplexity if isinstance(perplexity, list) else [perplexity]
    count = None if neighbors is None else int(neighbors.indices.shape[1])
    return [
        Fact("perplexity", "perplexity", perplexity, words=", ".join(f"{K:g}" for K in several)),
        Fact("n_neighbors", "neighbours per point", count),
        Fact("neighbor_search", "neighbour search", _search_of(affinities)),
        Fact("metric", "metric", options.metric),
    ]


def _search_of(affinities: Any) -> str | None:
    index = getattr(affinities, "index_", None)
    if index is None:
        return None
    kind = type(index).__name__
    if kind == "ApproximateIndex":
        return f"approximate, for a recall of {index.target_recall:g}"
    return "given distances" if kind == "PrecomputedIndex" else "exact"
