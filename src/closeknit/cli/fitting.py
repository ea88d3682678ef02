"""Embeddings on the command line: fitted, used and described."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from closeknit.cli.command import Fact
from closeknit.cli.errors import Interrupted
from closeknit.cli.progress import Stages

if TYPE_CHECKING:
    from closeknit._arrays import Array

#: Why a minimisation stopped, in words that need no knowledge of parameters.
_REASONS = {
    "tol": "converged",
    "gradient_tol": "converged",
    "max_iter": "--max-iter reached",
    "time_limit": "--time-limit reached",
}
#: Points over which the share of kept neighbours is averaged.
_SAMPLE = 1000
#: New points that are placed together: enough to keep all cores busy between two updates of a bar.
_CHUNK = 2000

Method = StrEnum("Method", ["tsne", "ee", "ssne", "sne", "tee", "eigenmaps"])
#: How summaries and pictures name the classes.
TITLES = {
    "TSNE": "t-SNE",
    "ElasticEmbedding": "Elastic embedding",
    "SymmetricSNE": "Symmetric SNE",
    "SNE": "SNE",
    "TElasticEmbedding": "T-elastic embedding",
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
        raise Interrupted(
            f"interrupted ({stages.current}); there is no embedding yet, nothing was written"
        ) from None


def transform(model: Any, X: Any) -> Array:
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
    if X.shape[0] == model.embedding_.shape[0]:
        size = X.shape[0]  # so that the training data are recognised as a whole
    parts = []
    for start in steps("new points", range(0, X.shape[0], size)):
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
    sample = _SAMPLE if n > _SAMPLE else None
    with listening(None):  # the search inside is not a stage of its own
        return neighbor_recall(
            neighbors,
            model.embedding_,
            min(15, k),
            sample=sample,
            n_jobs=model.n_jobs,
            random_state=seed,
        )
