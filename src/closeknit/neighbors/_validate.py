"""Check what users give, and tell them what to do."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from closeknit.neighbors._rows import Data

__all__ = ["check_data", "check_finite_distances", "check_n_neighbors", "seed_of"]

_LARGEST = 1e153  # beyond it, squares overflow


def check_data(X: Any, n_features: int | None = None) -> Data:
    """Return finite float32 or float64 data, C-ordered or CSR, copied only if necessary.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix
    n_features : int, optional
        What the fitted data have.

    Returns
    -------
    array or CSR matrix

    Examples
    --------
    >>> check_data([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    from sklearn.utils import check_array

    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C")
    if sp.issparse(X):
        if not (X.has_canonical_format and X.has_sorted_indices):
            X = X.copy()
            X.sum_duplicates()
        values = X.data
    else:
        values = X
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the fitted data have {n_features}")
    if values.size and max(-float(values.min()), float(values.max())) > _LARGEST:
        if sp.issparse(X):
            row = int(np.searchsorted(X.indptr, np.argmax(np.abs(X.data)), side="right")) - 1
        else:
            row = int(np.argmax(np.abs(X).max(axis=1)))
        raise ValueError(
            f"row {row} holds values beyond {_LARGEST:g}, whose squared distances overflow; "
            "divide the data by a constant"
        )
    return X


def check_n_neighbors(n_neighbors: Any, n_samples: int, *, exclude_self: bool) -> int:
    """Return a number of neighbours that the points can provide.

    Examples
    --------
    >>> check_n_neighbors(3, 4, exclude_self=True)
    3
    """
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, (int, np.integer)):
        raise TypeError(f"n_neighbors must be an integer, got {n_neighbors!r}")
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors} must be at least 1")
    needed = int(n_neighbors) + exclude_self
    if needed > n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} needs at least {needed} points, got {n_samples}; "
            f"lower n_neighbors to {max(0, n_samples - exclude_self)} or add points"
        )
    return int(n_neighbors)


def check_finite_distances(
    indices: npt.NDArray[np.integer[Any]], sq_distances: npt.NDArray[np.float64]
) -> None:
    """Refuse distances that overflowed."""
    bad = ~np.isfinite(sq_distances).all(axis=1)
    if bad.any():
        raise ValueError(
            f"the squared distances of row {int(np.argmax(bad))} overflow; "
            "divide the data by a constant"
        )


def seed_of(random_state: Any) -> int:
    """Turn scikit-learn's ``random_state`` into a seed; None is always the same seed.

    Examples
    --------
    >>> seed_of(7) == seed_of(7)
    True
    """
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))
