"""Measures of how faithful an embedding is, to the neighbours in the data and to labels.

Measures of a whole map are averages over points, exact by default. For large data ask for a
`sample`: the average is then taken over that many random points, each still compared with all the
others. `neighbors_kept` has a number for each point.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from closeknit._arrays import Integers
from closeknit._labels import find_missing
from closeknit._threads import chunks, effective_n_jobs, single_threaded_blas
from closeknit.linalg import check_structure, entry_rows
from closeknit.neighbors import (
    Neighbors,
    check_data,
    check_n_neighbors,
    make_index,
    nearest_of,
    seed_of,
)

__all__ = ["knn_accuracy", "neighbor_recall", "neighbors_kept", "trustworthiness"]


def neighbor_recall(
    X: Any,
    embedding: ArrayLike,
    n_neighbors: int = 15,
    *,
    metric: str | Callable[..., float] = "euclidean",
    sample: int | None = None,
    n_jobs: int | None = -1,
    random_state: Any = None,
) -> float:
    """Share of each point's nearest neighbours that are its nearest in the embedding as well.

    Parameters
    ----------
    X : (n_samples, n_features) array-like or sparse matrix, or Neighbors
        The data, or their neighbours if they are known: at least `n_neighbors` per point.
    embedding : array-like of shape (n_samples, n_components)
    n_neighbors : int, default=15
        Without the point itself. Among equal distances those of smaller index are taken, but
        copies of a point, at distance zero from each other, count as one another.
    metric : str or callable, default="euclidean"
        Of the data, as in :func:`closeknit.neighbors.find_neighbors`; ``"precomputed"`` if X holds
        distances. The embedding's is always Euclidean.
    sample : int, optional
        Average over this many random points instead of all.
    n_jobs : int or None, default=-1
        Threads; the answer does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the sample; None is a fixed seed.

    Returns
    -------
    float
        Between 0 and 1; a random embedding has about ``n_neighbors / n_samples``.

    See Also
    --------
    neighbors_kept : The share of every point on its own.
    trustworthiness : Also looks at how far away the intruders are.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.quality import neighbor_recall
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> neighbor_recall(X, 2 * X + 1), neighbor_recall(X, X[:, :1]) < 0.5
    (1.0, True)
    """
    counts = _counts_kept(X, embedding, n_neighbors, metric, sample, n_jobs, random_state)
    return int(counts.sum()) / (len(counts) * n_neighbors)


def neighbors_kept(
    X: Any,
    embedding: ArrayLike,
    n_neighbors: int = 15,
    *,
    metric: str | Callable[..., float] = "euclidean",
    n_jobs: int | None = -1,
) -> NDArray[np.float64]:
    """Share of its nearest neighbours that each point keeps: where to believe a map.

    Parameters
    ----------
    X, embedding, n_neighbors, metric, n_jobs
        As for :func:`neighbor_recall`, which is the mean of these shares.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> from closeknit.quality import neighbors_kept
    >>> neighbors_kept([[0.0], [1.0], [3.0], [9.0]], [[0.0], [1.0], [3.0], [-0.5]], n_neighbors=1)
    array([0., 1., 1., 0.])
    """
    counts = _counts_kept(X, embedding, n_neighbors, metric, None, n_jobs, None)
    return counts / n_neighbors


def trustworthiness(
    X: Any,
    embedding: ArrayLike,
    n_neighbors: int = 5,
    *,
    metric: str | Callable[..., float] = "euclidean",
    sample: int | None = None,
    n_jobs: int | None = -1,
    random_state: Any = None,
) -> float:
    r"""How far from a point in the data its nearest neighbours in the embedding are, by rank.

    .. math:: T = 1 - \frac{2}{n k (2n - 3k - 1)} \sum_i \sum_{j \in N_i} \max(0, r(i, j) - k)

    where N is the k nearest neighbours in the embedding and r(i, j) the rank of j among the
    neighbours of i in the data. The same measure as scikit-learn's, but in bounded memory, on
    several threads and, if wanted, over a sample of the points i.

    Parameters
    ----------
    X : (n_samples, n_features) array-like or sparse matrix
        The data. Ranks need the distances to all points, so neighbours do not suffice.
    embedding : array-like of shape (n_samples, n_components)
    n_neighbors : int, default=5
        Less than half the number of points.
    metric : str or callable, default="euclidean"
        Any of `sklearn.metrics.pairwise_distances`; ``"precomputed"`` if X holds the distances.
    sample, n_jobs, random_state
        As for :func:`neighbor_recall`.

    Returns
    -------
    float
        Between 0 and 1, where 1 is best. Points at equal distances share the best of their ranks.

    References
    ----------
    Venna and Kaski (2001), Neighborhood preservation in nonlinear projection methods.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.quality import trustworthiness
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> trustworthiness(X, X), trustworthiness(X, X[:, :2]) > trustworthiness(X, X[:, :1])
    (1.0, True)
    """
    if isinstance(X, Neighbors):
        raise TypeError(
            "trustworthiness needs the data, because ranks count all points; "
            "pass X, or use neighbor_recall with Neighbors"
        )
    X = _check_rows(X, metric)
    n_samples = X.shape[0]
    Y = _check_embedding(embedding, n_samples)
    n_neighbors = check_n_neighbors(n_neighbors, n_samples, exclude_self=True)
    if 2 * n_neighbors >= n_samples:
        raise ValueError(
            f"n_neighbors={n_neighbors} must be less than half the number of points, "
            f"{n_samples}; lower it to {(n_samples - 1) // 2}"
        )
    queries = _queries(n_samples, sample, random_state)
    near = _neighbors_of(queries, Y, n_neighbors, "euclidean", n_jobs)
    rows = np.arange(n_samples) if queries is None else queries
    excess = _sum_of_excess_ranks(X, rows, near, metric, effective_n_jobs(n_jobs))
    worst = len(rows) * n_neighbors * (2 * n_samples - 3 * n_neighbors - 1) / 2
    return 1.0 - excess / worst


def knn_accuracy(
    embedding: ArrayLike,
    labels: ArrayLike,
    n_neighbors: int = 10,
    *,
    sample: int | None = None,
    n_jobs: int | None = -1,
    random_state: Any = None,
) -> float:
    """Share of points whose label is that of most of their nearest neighbours.

    A point does not vote for itself (leave-one-out). Of labels with equally many votes, the one
    whose nearest voter is nearest wins.

    Parameters
    ----------
    embedding : array-like of shape (n_samples, n_components)
        Or any data, to see what the embedding could at best preserve.
    labels : array-like of shape (n_samples,)
        Numbers, strings or categories; none may be missing.
    n_neighbors : int, default=10
    sample, n_jobs, random_state
        As for :func:`neighbor_recall`.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from closeknit.quality import knn_accuracy
    >>> knn_accuracy([[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]], list("aaabbb"), n_neighbors=2)
    1.0
    >>> knn_accuracy([[0.0], [0.1], [0.3], [5.0], [5.1], [5.3]], list("ababab"), n_neighbors=1)
    0.0
    """
    Y = check_data(embedding)
    codes = _label_codes(labels, Y.shape[0])
    n_neighbors = check_n_neighbors(n_neighbors, Y.shape[0], exclude_self=True)
    queries = _queries(Y.shape[0], sample, random_state)
    near = _neighbors_of(queries, Y, n_neighbors, "euclidean", n_jobs)
    own = codes if queries is None else codes[queries]
    right = 0
    for part in chunks(len(near), 16 * n_neighbors**2):
        votes = codes[near[part]]
        count = np.count_nonzero(votes[:, :, None] == votes[:, None, :], axis=2)
        # argmax takes the first of equals, and the nearest neighbour comes first.
        winner = np.take_along_axis(votes, count.argmax(axis=1)[:, None], axis=1)[:, 0]
        right += int(np.count_nonzero(winner == own[part]))
    return right / len(near)


def _counts_kept(
    X: Any,
    embedding: ArrayLike,
    n_neighbors: int,
    metric: Any,
    sample: int | None,
    n_jobs: int | None,
    random_state: Any,
) -> Integers:
    """How many neighbours each point keeps, of all or of a sample."""
    if not isinstance(X, Neighbors):
        X = _check_rows(X, metric)
    n_samples = X.n_samples if isinstance(X, Neighbors) else X.shape[0]
    Y = _check_embedding(embedding, n_samples)
    n_neighbors = check_n_neighbors(n_neighbors, n_samples, exclude_self=True)
    queries = _queries(n_samples, sample, random_state)
    if isinstance(X, Neighbors):
        wanted = _known_neighbors(X, n_neighbors)[slice(None) if queries is None else queries]
    else:
        wanted = _neighbors_of(queries, X, n_neighbors, metric, n_jobs)
    found = _neighbors_of(queries, Y, n_neighbors, "euclidean", n_jobs)
    copies = _copies(X, metric)
    if copies is not None:
        wanted, found = (_occurrences(copies[near]) for near in (wanted, found))
    return _shared(wanted, found, n_samples * n_neighbors)


def _check_rows(X: Any, metric: Any) -> Any:
    """Return data, or a square matrix of distances."""
    if metric != "precomputed":
        return check_data(X)
    check_structure(X)
    X = X.tocsr() if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.shape[0] != X.shape[1]:
        raise ValueError(
            f"metric='precomputed' needs a square matrix of distances, got shape {X.shape}"
        )
    return X


def _check_embedding(embedding: ArrayLike, n_samples: int) -> Any:
    Y = check_data(embedding)
    if Y.shape[0] != n_samples:
        raise ValueError(
            f"the data have {n_samples} points, but the embedding has {Y.shape[0]}; "
            "pass the rows that were embedded, in the same order"
        )
    return Y


def _queries(n_samples: int, sample: int | None, random_state: Any) -> Integers | None:
    """Return the sampled points, ascending, or None for all."""
    if sample is None:
        return None
    if isinstance(sample, bool) or not isinstance(sample, int | np.integer) or sample < 1:
        raise ValueError(f"sample={sample!r} must be a number of points, or None for all")
    if sample >= n_samples:
        return None
    rng = np.random.default_rng(seed_of(random_state))
    return np.sort(rng.choice(n_samples, size=int(sample), replace=False))


def _known_neighbors(neighbors: Neighbors, n_neighbors: int) -> Integers:
    if neighbors.n_targets != neighbors.n_samples:
        raise ValueError(
            f"the neighbours of {neighbors.n_samples} points are among {neighbors.n_targets} "
            "others; pass the neighbours of the embedded points among themselves"
        )
    short = neighbors.counts < n_neighbors
    if short.any():
        row = int(np.argmax(short))
        raise ValueError(
            f"n_neighbors={n_neighbors}, but point {row} has only {neighbors.counts[row]} known "
            "neighbours; lower n_neighbors or find more"
        )
    return neighbors.indices[:, :n_neighbors]


def _neighbors_of(
    queries: Integers | None, X: Any, n_neighbors: int, metric: Any, n_jobs: int | None
) -> Integers:
    """Each query's nearest other points, by exact search."""
    index = make_index(metric, "exact", n_jobs=n_jobs).fit(X)
    if queries is None:
        return index.self_neighbors(n_neighbors).indices
    found = index.query(X[queries], n_neighbors + 1)
    return nearest_of(found.indices, found.sq_distances, n_neighbors, queries)[0]


def _copies(X: Any, metric: Any) -> Integers | None:
    """Return a number for each point, the same for copies, or None if there are none."""
    if not isinstance(X, Neighbors) and metric != "precomputed":
        return _equal_rows(X)
    if isinstance(X, Neighbors):
        n, (points, places) = X.n_samples, np.nonzero(X.sq_distances == 0.0)
        others = X.indices[points, places]
    elif sp.issparse(X):
        n, at_zero = X.shape[0], X.data == 0.0
        points, others = entry_rows(X)[at_zero], X.indices[at_zero]
    else:
        n, (points, others) = X.shape[0], np.nonzero(X == 0.0)
    pairs = sp.coo_array((np.ones(len(points)), (points, others)), shape=(n, n))
    count, numbers = sp.csgraph.connected_components(pairs, directed=False)
    return numbers if count < n else None


def _equal_rows(X: Any) -> Integers | None:
    if sp.issparse(X):
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        rows = [X.indices[a:b].tobytes() + X.data[a:b].tobytes() for a, b in ends]
        values = np.array(rows, dtype=object)
    else:
        dense = np.ascontiguousarray(X + X.dtype.type(0))  # without negative zeros
        values = dense.view(np.dtype((np.void, dense.itemsize * dense.shape[1]))).ravel()
    distinct, numbers = np.unique(values, return_inverse=True)
    return numbers if len(distinct) < X.shape[0] else None


def _occurrences(near: Integers) -> Integers:
    """Number equal entries of a row apart: the same in two rows as often as both have them."""
    k = near.shape[1]
    ordered, place = np.sort(near, axis=1).astype(np.int64), np.arange(k)
    again = np.zeros(near.shape, dtype=bool)
    again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
    began = np.maximum.accumulate(np.where(again, 0, place), axis=1)
    return ordered * k + (place - began)


def _shared(wanted: Integers, found: Integers, n_numbers: int) -> Integers:
    """How many neighbours two lists have in common, for every row."""
    counts = np.zeros(len(wanted), np.intp)
    for part in chunks(len(wanted), 64 * wanted.shape[1]):
        n_rows = part.stop - part.start
        row = np.arange(n_rows, dtype=np.int64)[:, None] * n_numbers
        both = np.concatenate([row + wanted[part], row + found[part]], axis=1)
        both.sort(axis=1)
        counts[part] = np.count_nonzero(both[:, 1:] == both[:, :-1], axis=1)
    return counts


def _sum_of_excess_ranks(
    X: Any, rows: Integers, near: Integers, metric: Any, n_threads: int
) -> int:
    """Σ max(0, r(i, j) − k) over the queries i and their neighbours j in the embedding."""
    distances_of = _ranking_distances(X, metric)

    def of_chunk(part: slice) -> int:
        return sum(map(_excess_ranks, distances_of(rows[part]), rows[part], near[part]))

    # Chunks of one size on threads of our own: the same products, and bits, for any n_jobs.
    parts = chunks(len(rows), 16 * X.shape[0])
    with single_threaded_blas(), ThreadPoolExecutor(n_threads) as pool:
        return sum(pool.map(of_chunk, parts))


def _ranking_distances(X: Any, metric: Any) -> Callable[[Integers], NDArray[Any]]:
    """Return a function from some rows of X to what ranks all points as their distances do."""
    if metric == "precomputed":
        if sp.issparse(X):
            raise TypeError(
                "trustworthiness needs all distances, but X is sparse; pass a dense matrix"
            )
        return lambda rows: X[rows]
    if metric == "euclidean" and not sp.issparse(X):
        # ‖x − y‖² without ‖x‖², which is the same for all y; centring spares digits.
        largest = max(float(X.max(initial=0.0)), -float(X.min(initial=0.0)))
        scaled = X * 2.0 ** -float(max(-1000, np.frexp(largest)[1]))  # no square overflows
        centered = scaled - scaled.mean(axis=0, dtype=np.float64)
        norms = np.einsum("ij,ij->i", centered, centered)
        return lambda rows: norms - 2.0 * (centered[rows] @ centered.T)
    from sklearn.metrics import pairwise_distances

    return lambda rows: pairwise_distances(X[rows], X, metric=metric)


def _excess_ranks(distances: NDArray[Any], own: int, near: Integers) -> int:
    """Σ max(0, r(i, j) − k) for one point, `own`, and its `near` in the embedding."""
    limits = np.sort(distances[near])
    inside = distances < limits[-1]
    inside[own] = False
    first_beyond = np.searchsorted(limits, distances[inside], side="right")
    closer = np.cumsum(np.bincount(first_beyond, minlength=len(near)))
    return int(np.maximum(0, closer + 1 - len(near)).sum())


def _label_codes(labels: ArrayLike, n_samples: int) -> Integers:
    """Number the labels 0, 1, …"""
    values = np.asarray(labels)
    if values.shape != (n_samples,):
        raise ValueError(
            f"labels must have shape ({n_samples},), one for each point, got {values.shape}"
        )
    missing = find_missing(values)
    if missing.any():
        raise ValueError(
            f"the label of point {int(np.argmax(missing))} is missing; "
            "leave such points out of embedding and labels"
        )
    return np.unique(values, return_inverse=True)[1].astype(np.intp)
