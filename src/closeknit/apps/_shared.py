"""What the applications share: checks, the graph, the numbering of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from closeknit.embeddings.affinity import fit_affinities
from closeknit.graphs import symmetrize
from closeknit.linalg import check_symmetric

__all__ = ["by_size", "check_count", "fit_graph", "pairwise_tags", "validate_points"]


def fit_graph(estimator: Any, X: Any) -> Any:
    """Return the symmetric weights of the points of `X`, as a CSR matrix without diagonal.

    Sets ``affinity_estimator_``: the transformer for new points, or None for given affinities.
    """
    P, estimator.affinity_estimator_ = fit_affinities(estimator, X)
    given = estimator.affinity_estimator_ is None
    return check_symmetric(P if given else symmetrize(P))


def validate_points(estimator: Any, X: Any, **options: Any) -> Any:
    """Check data as every application takes it: dense or sparse rows, in single or double."""
    return validate_data(
        estimator, X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", **options
    )


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Complain about a number of things that is none."""
    integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not integer or value < least:
        raise ValueError(f"{name}={value!r} must be an integer of at least {least}")


def pairwise_tags(estimator: Any, tags: Any) -> Any:
    """Tell scikit-learn that rows may be sparse, and which parameters make X a square matrix."""
    tags.input_tags.sparse = True
    tags.input_tags.pairwise = "precomputed" in (estimator.metric, estimator.affinity)
    return tags


def by_size(labels: NDArray[Any]) -> NDArray[np.int32]:
    """Renumber labels so that the largest cluster is 0; of equals the one that comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.apps._shared import by_size
    >>> by_size(np.array([7, 5, 5, 3]))
    array([1, 0, 0, 2], dtype=int32)
    """
    _, first, inverse, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    place = np.empty(len(counts), dtype=np.int32)
    place[np.lexsort((first, -counts))] = np.arange(len(counts), dtype=np.int32)
    return place[inverse]
