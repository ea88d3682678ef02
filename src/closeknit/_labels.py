"""Labels: which are missing, and those of clusters by size."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Flags, Integers


def find_missing(labels: NDArray[Any]) -> Flags:
    """Mark labels that are None, NaN, NaT or pandas' NA.

    Examples
    --------
    >>> import numpy as np
    >>> find_missing(np.array(["a", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    if labels.dtype.kind in "fcmM":
        return np.asarray(labels != labels)
    if labels.dtype.kind != "O":
        return np.zeros(labels.shape, dtype=bool)
    return np.array([_is_missing(label) for label in labels.tolist()], dtype=bool)


def _is_missing(label: Any) -> bool:
    # pandas' NA is neither equal nor unequal to itself, and we do not import pandas to name it.
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


def by_size(labels: NDArray[Any]) -> Integers:
    """Renumber labels so that the largest cluster is 0; among equals the first comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit._labels import by_size
    >>> by_size(np.array([7, 5, 5, 3]))
    array([1, 0, 0, 2], dtype=int32)
    """
    _, first, inverse, counts = np.unique(
        labels, return_index=True, return_inverse=True, return_counts=True
    )
    place = np.empty(len(counts), dtype=np.int32)
    place[np.lexsort((first, -counts))] = np.arange(len(counts), dtype=np.int32)
    return place[inverse]
