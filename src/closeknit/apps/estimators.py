"""What the applications' estimators share: tags, checks, and the numbering of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Integers


class GraphInputMixin:
    """The tags of estimators that take points, distances or affinities."""

    metric: str
    affinity: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = "precomputed" in (self.metric, self.affinity)
        return tags


def by_size(labels: NDArray[Any]) -> Integers:
    """Renumber labels so that the largest cluster is 0; of equals the one that comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.apps.estimators import by_size
    >>> by_size(np.array([7, 5, 5, 3]))
    array([1, 0, 0, 2], dtype=int32)
    """
    _, first, inverse, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    place = np.empty(len(counts), dtype=np.int32)
    place[np.lexsort((first, -counts))] = np.arange(len(counts), dtype=np.int32)
    return place[inverse]
