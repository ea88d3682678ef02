"""Points: as users give them, checked; as the compiled core takes them; and what searches them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import chunks
from closeknit.linalg import check_structure
from closeknit.neighbors._refusals import check_no_times, explained
from closeknit.neighbors._stored import csr_of_distances

Data: TypeAlias = Any  # an (n_samples, n_features) array or CSR matrix of float32 or float64
#: Indices and squared distances, of shape (n_queries, n_neighbors).
Found: TypeAlias = tuple[Integers, Array]

_LARGEST = 1e153  # beyond it squares overflow, and below its inverse they underflow


class DataInputMixin:
    """The tags of estimators that take points, dense or sparse, or distances or affinities.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.utils import get_tags
    >>> get_tags(ck.TSNE()).input_tags.sparse
    True
    """

    metric: Any

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks for."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        given = (self.metric, getattr(self, "affinity", None))
        tags.input_tags.pairwise = "precomputed" in given
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def as_rows(X: Data) -> _core.Rows:
    """Wrap a float32 or float64 matrix, C-ordered or CSR, for the compiled core."""
    if sp.issparse(X):
        return _core.Rows(
            np.ascontiguousarray(X.data),
            np.ascontiguousarray(X.indptr, dtype=np.int64),
            np.ascontiguousarray(X.indices, dtype=np.int32),
            X.shape[1],
        )
    return _core.Rows(np.ascontiguousarray(X))


def check_data(
    X: Any, *, n_features: int | None = None, estimator: Any = None, **options: Any
) -> Data:
    """Return finite float32 or float64 data, C-ordered or CSR, copied only if necessary.

    Parameters
    ----------
    X : array-like, DataFrame or sparse matrix
    n_features : int, optional
        What the fitted data have.
    estimator : estimator, optional
        Learns the number and the names of features, or is asked for them if `reset` is False.
    **options
        Of `sklearn.utils.check_array`, and with an estimator of
        `sklearn.utils.validation.validate_data`.

    Returns
    -------
    array or CSR matrix

    Examples
    --------
    >>> from closeknit.neighbors import check_data
    >>> check_data([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """
    from sklearn.utils.validation import check_array, validate_data

    X = check_structure(X)
    check_no_times(X)
    kinds = (getattr(estimator, "metric", None), getattr(estimator, "input", None))
    are_distances = "precomputed" in kinds or "distances" in kinds
    if are_distances and sp.issparse(X):
        X = csr_of_distances(X)
    # In C order: sums in the order of memory would give a frame of columns other bits than the same
    # array of rows.
    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C", **options}
    given = X
    try:
        if estimator is None:
            X = check_array(X, **options)
        else:
            X = validate_data(estimator, X, **options)
    except (TypeError, ValueError) as error:
        found = explained(str(error), given)
        if found is None:
            raise
        raise ValueError(found) from error
    if sp.issparse(X) and not (X.has_canonical_format and X.has_sorted_indices):
        X = X.copy()
        if are_distances:
            X.sort_indices()  # sums of distances mean nothing; the search refuses them
        else:
            X.sum_duplicates()
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features, but the fitted data have {n_features}")
    return X


def same_rows(X: Data, fitted: Data, convert: Callable[[Data], Data] | None = None) -> bool:
    """Whether the rows of two matrices have the same values, all of them in the same order.

    Parameters
    ----------
    X, fitted : array or CSR matrix
    convert : callable, optional
        Turns rows of `X` into such as `fitted` holds.

    Returns
    -------
    bool
        Found at the first block of rows in which they differ.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(6.0).reshape(3, 2)
    >>> same_rows(X, X.copy()), same_rows(X[:2], X), same_rows(X[::-1], X)
    (True, False, False)
    """
    if X is fitted and convert is None:
        return True
    if X.shape != fitted.shape or sp.issparse(X) != sp.issparse(fitted):
        return False
    for rows in chunks(X.shape[0], 64 * X.shape[1], 2**14):
        part = X[rows] if convert is None else convert(X[rows])
        differs = part != fitted[rows]
        if differs.nnz if sp.issparse(differs) else differs.any():
            return False
    return True


def data_scale(X: Data, *, refuse: bool = True) -> float:
    """Return the power of two that brings the largest magnitude into [½, 1).

    Parameters
    ----------
    X : array or CSR matrix
    refuse : bool
        Whether to refuse data whose squared distances would overflow or underflow.

    Returns
    -------
    float
        1.0 if all values are zero.

    Examples
    --------
    >>> import numpy as np
    >>> data_scale(np.array([[3.0, -5.0]]))
    0.125
    """
    values = X.data if sp.issparse(X) else X
    largest = max(abs(float(values.max(initial=0.0))), abs(float(values.min(initial=0.0))))
    if largest == 0.0:
        return 1.0
    if refuse and largest > _LARGEST:
        if sp.issparse(X):
            row = int(np.searchsorted(X.indptr, np.argmax(np.abs(X.data)), side="right")) - 1
        else:
            row = int(np.argmax(np.abs(X).max(axis=1)))
        raise ValueError(
            f"row {row} holds values beyond {_LARGEST:g}, whose squared distances overflow; "
            "divide the data by a constant"
        )
    if refuse and largest < 1.0 / _LARGEST:
        raise ValueError(
            f"all values are smaller than {1.0 / _LARGEST:g}, so their squared distances "
            "underflow; multiply the data by a constant"
        )
    return float(2.0 ** np.clip(-np.frexp(largest)[1], -500, 500))


def in_float32_if_exact(X: Data) -> Data:
    """Return dense points in float32 where that loses nothing, as with counts and pixels.

    Searching takes half the memory then, and distances are still added up in float64.

    Examples
    --------
    >>> import numpy as np
    >>> [in_float32_if_exact(np.array([[x]])).dtype.name for x in (0.5, 0.1)]
    ['float32', 'float64']
    """
    if sp.issparse(X) or X.dtype == np.float32:
        return X
    rounded = np.empty(X.shape, dtype=np.float32)
    with np.errstate(over="ignore", under="ignore"):
        for chunk in chunks(X.shape[0], 16 * X.shape[1]):
            rounded[chunk] = X[chunk]
            if (rounded[chunk] != X[chunk]).any():
                return X
    return rounded


def check_n_neighbors(n_neighbors: Any, n_samples: int, *, exclude_self: bool) -> int:
    """Return a number of neighbours that the points can provide.

    Parameters
    ----------
    n_neighbors : int
    n_samples : int
        Points among which to search.
    exclude_self : bool
        Whether the query is one of them, and no neighbour of itself.

    Returns
    -------
    int

    Examples
    --------
    >>> from closeknit.neighbors import check_n_neighbors
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


def seed_of(random_state: Any) -> int:
    """Turn scikit-learn's ``random_state`` into a seed; None is always the same seed.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None

    Returns
    -------
    int

    Examples
    --------
    >>> from closeknit.neighbors import seed_of
    >>> seed_of(7) == seed_of(7)
    True
    """
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    from sklearn.utils import check_random_state

    return int(check_random_state(random_state).randint(2**31 - 1))


@dataclass(eq=False)
class SearchEngine(ABC):
    """Searches among Euclidean points.

    Parameters
    ----------
    points : array or CSR matrix
    n_threads : int
    """

    points: Data
    n_threads: int

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the copy that the next search can make again."""
        return {name: held for name, held in vars(self).items() if name != "_double_points"}

    @abstractmethod
    def search(
        self, n_neighbors: int, queries: Data | None = None, *, exclude_self: bool = False
    ) -> Found:
        """Find the nearest points to each query, or to each point itself if there are none.

        Parameters
        ----------
        n_neighbors : int
            At most the number of points (one less if `exclude_self`).
        queries : array or CSR matrix, optional
            May be in double precision where the points are in single precision.
        exclude_self : bool
            Whether a point may not be its own neighbour; only without queries.

        Returns
        -------
        indices, sq_distances : (n_queries, n_neighbors) arrays
            Sorted by (distance, index).
        """

    def _points_for(self, rows: Data) -> Data:
        """Return the points in the precision of `rows`, which is theirs or double."""
        return self.points if rows.dtype == self.points.dtype else self._double_points

    @cached_property
    def _double_points(self) -> Data:
        return self.points.astype(np.float64)
