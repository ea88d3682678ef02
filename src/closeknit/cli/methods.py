"""From the names of embeddings on the command line to estimators, and what commands ask of them."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from closeknit.cli.errors import INTERRUPTED, CommandError
from closeknit.cli.options import AffinityOptions, Approximation, InputKind
from closeknit.cli.progress import Stages
from closeknit.cli.session import Fact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "TITLES",
    "Method",
    "fit",
    "holds_affinities",
    "make_estimator",
    "recall",
    "short_name",
    "stop_fact",
    "transform",
]

#: Why a minimisation stopped, in words that need no knowledge of parameters.
_REASONS = {
    "tol": "it has converged",
    "gradient_tol": "it has converged",
    "max_iter": "--max-iter is reached",
    "time_limit": "--time-limit is reached",
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


_CLASSES = {
    Method.tsne: "TSNE",
    Method.ee: "ElasticEmbedding",
    Method.ssne: "SymmetricSNE",
    Method.sne: "SNE",
    Method.tee: "TElasticEmbedding",
    Method.eigenmaps: "LaplacianEigenmaps",
}
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
    ('it has converged', 'tol')
    """
    reason = getattr(model, "stopped_because_", None)
    return Fact("stopped_because", "stopped because", reason, _REASONS.get(str(reason), "{}"))


def short_name(model: Any) -> str:
    """What the command line calls the class of a model.

    Examples
    --------
    >>> import closeknit as ck
    >>> short_name(ck.SymmetricSNE())
    'ssne'
    """
    name = type(model).__name__
    return next(method.value for method, known in _CLASSES.items() if known == name)


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

    affinity: Any = "precomputed" if given_affinities else "entropic"
    if options.neighbors is not Approximation.auto and not given_affinities:
        # Embeddings leave the search to their affinities.
        affinity = closeknit.EntropicAffinities(options.perplexity, **options.keywords)
    return getattr(closeknit, _CLASSES[method])(
        dims,
        perplexity=options.perplexity,
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
    minimizes = hasattr(estimator, "callback")
    if minimizes:
        estimator.set_params(callback=stages.iterations(estimator.max_iter))
    try:
        estimator.fit(X)
    except KeyboardInterrupt:
        raise CommandError(
            f"interrupted ({stages.current}); there is no embedding yet, nothing was written",
            exit_code=INTERRUPTED,
        ) from None
    finally:
        if minimizes:
            estimator.set_params(callback=None)  # no part of the model


def transform(model: Any, X: Any, stages: Stages) -> NDArray[np.float64]:
    """Place new points, some at a time, which changes no bit of any.

    Parameters
    ----------
    model : fitted estimator
    X : array or sparse matrix
    stages : Stages

    Returns
    -------
    ndarray of shape (n_new, n_components)
    """
    import numpy as np

    from closeknit.progress import listening

    size = max(_CHUNK, math.ceil(X.shape[0] / 50))
    starts = range(0, X.shape[0], size)
    parts = []
    for start in stages.each("new points", starts):
        with listening(None):  # the searches inside are parts of this stage
            parts.append(model.transform(X[start : start + size]))
    return np.vstack(parts)


def recall(model: Any, seed: int) -> float | None:
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
    from closeknit.quality import neighbor_recall

    neighbors = getattr(model.affinity_estimator_, "neighbors_", None)
    if neighbors is None:
        return None
    n, k = neighbors.indices.shape
    return neighbor_recall(
        neighbors,
        model.embedding_,
        min(15, k),
        sample=_SAMPLE if n > _SAMPLE else None,
        n_jobs=model.n_jobs,
        random_state=seed,
    )


def holds_affinities(kind: InputKind, X: Any) -> bool:
    """Whether the input is a graph: as the user says, or if it looks like one.

    That is: sparse, square, not negative, and without loops.

    Examples
    --------
    >>> from scipy import sparse
    >>> holds_affinities(InputKind.auto, sparse.csr_matrix([[0.0, 1.0], [1.0, 0.0]]))
    True
    >>> holds_affinities(InputKind.auto, sparse.eye(3, format="csr"))
    False
    """
    from scipy import sparse

    if kind is not InputKind.auto:
        return kind is InputKind.affinities
    square = sparse.issparse(X) and X.shape[0] == X.shape[1]
    return bool(square and X.min() >= 0.0 and not X.diagonal().any())
