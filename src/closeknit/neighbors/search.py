"""Find neighbours, and choose how."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from closeknit.neighbors.euclidean import ApproximateIndex, ExactIndex
from closeknit.neighbors.external import EstimatorIndex
from closeknit.neighbors.geometry import GEOMETRIES
from closeknit.neighbors.index import NeighborIndex
from closeknit.neighbors.pairwise import PairwiseIndex
from closeknit.neighbors.precomputed import PrecomputedIndex
from closeknit.neighbors.result import Neighbors
from closeknit.progress import log, shown

#: Up to how many points "auto" searches exactly, by the number of features at most. That takes
#: seconds, or not much longer than an approximate search: with 4 features and a million points 1.3
#: times as long, with 10 more than three times.
_EXACT_SAMPLES = {4: np.inf, 12: 100_000, np.inf: 20_000}


def find_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: str | Callable[..., float] = "euclidean",
    neighbors: Any = "auto",
    n_jobs: int | None = -1,
    random_state: Any = None,
    verbose: bool = False,
    metric_params: dict[str, Any] | None = None,
) -> Neighbors:
    """Find each point's nearest neighbours.

    Parameters
    ----------
    X : (n_samples, n_features) array-like or sparse matrix
        With ``metric="precomputed"``, distances: a square matrix, or a sparse graph in the format
        of scikit-learn's KNeighborsTransformer.
    n_neighbors : int
        Without the point itself.
    metric : str or callable
        "euclidean", "cosine", "inner_product", "precomputed", or any metric of
        `sklearn.metrics.pairwise_distances`.
    neighbors : {"auto", "exact", "approximate"}, index or estimator
        "auto" is exact for up to 20,000 points (100,000 with up to 12 features, any number with up
        to 4), sparse data and metrics that do not reduce to Euclidean distances, and approximate
        (recall 0.99) otherwise. An index is one of this package; an estimator is anything like
        KNeighborsTransformer. Both use their own metric and ignore the remaining parameters.
    n_jobs : int or None
        Threads, -1 for all cores. The answer does not depend on it.
    random_state : int, Generator, RandomState or None
        For approximate search.
    verbose : bool
        Whether to show on stderr what is done.
    metric_params : dict, optional
        Further arguments of the metric.

    Returns
    -------
    Neighbors

    See Also
    --------
    make_index : For the neighbours of new points.

    Notes
    -----
    `Neighbors.sq_distances` are the squares of the metric's distances: ‖x − y‖² for "euclidean"
    and "sqeuclidean", (1 − cos)² for "cosine", and ‖x‖² + M² − 2⟨x, y⟩ for "inner_product", with M
    the largest norm of the points.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> neighbors = find_neighbors(load_digits().data, n_neighbors=5)
    >>> neighbors.indices[0]
    array([ 877, 1365, 1541, 1167, 1029], dtype=int32)
    >>> neighbors.sq_distances[0]
    array([120., 164., 172., 176., 178.])
    """
    options = {"n_jobs": n_jobs, "random_state": random_state, "verbose": verbose}
    with shown(verbose):
        index = fit_index(X, metric, neighbors, metric_params=metric_params, **options)
        return index.self_neighbors(n_neighbors)


def fit_index(
    X: Any,
    metric: str | Callable[..., float] = "euclidean",
    neighbors: Any = "auto",
    *,
    verbose: bool = False,
    **options: Any,
) -> NeighborIndex:
    """Fit an index to points, choosing between exact and approximate search by their number.

    Parameters
    ----------
    X : (n_samples, n_features) array-like or sparse matrix
    metric, neighbors, verbose, **options
        As for `find_neighbors`.

    Returns
    -------
    NeighborIndex
        Fitted.

    Examples
    --------
    >>> fit_index([[0.0], [1.0], [3.0]]).query([[0.9]], 1).indices
    array([[1]], dtype=int32)
    """
    with shown(verbose):
        if isinstance(neighbors, str) and neighbors == "auto" and metric in GEOMETRIES:
            n_samples, n_features = X.shape if hasattr(X, "shape") else np.shape(X)
            most = next(n for features, n in _EXACT_SAMPLES.items() if n_features <= features)
            few = n_samples <= most
            neighbors = "exact" if few or sp.issparse(X) else "approximate"
            log("neighbors='auto' means %r for %d × %d data", neighbors, n_samples, n_features)
        return make_index(metric, neighbors, verbose=verbose, **options).fit(X)


def make_index(
    metric: str | Callable[..., float] = "euclidean",
    neighbors: Any = "exact",
    *,
    n_jobs: int | None = -1,
    random_state: Any = None,
    verbose: bool = False,
    metric_params: dict[str, Any] | None = None,
) -> NeighborIndex:
    """Make an index of the wanted kind: the one place where names become objects.

    Parameters
    ----------
    metric : str or callable
    neighbors : {"exact", "approximate", "auto"}, index or estimator
    n_jobs, random_state, verbose, metric_params
        As for `find_neighbors`.

    Returns
    -------
    NeighborIndex
        Not fitted yet.

    Examples
    --------
    >>> index = make_index("cosine", "exact").fit([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> index.query([[0.9, 0.1]], 2).indices
    array([[0, 1]], dtype=int32)
    """
    if not isinstance(neighbors, str):
        return neighbors if isinstance(neighbors, NeighborIndex) else EstimatorIndex(neighbors)
    if neighbors not in ("auto", "exact", "approximate"):
        raise ValueError(
            f"neighbors={neighbors!r} is unknown; choose 'auto', 'exact', 'approximate', an index "
            "or an estimator like sklearn.neighbors.KNeighborsTransformer"
        )
    metric = check_metric_params(metric, metric_params)
    if metric == "precomputed":
        return PrecomputedIndex()
    if isinstance(metric, str) and metric in GEOMETRIES:
        if neighbors == "approximate":
            return ApproximateIndex(
                metric, n_jobs=n_jobs, random_state=random_state, verbose=verbose
            )
        return ExactIndex(metric, n_jobs=n_jobs, verbose=verbose)
    _check_metric(metric)
    if neighbors == "approximate":
        raise ValueError(
            f"metric={metric!r} has no approximate search; use neighbors='exact' or one of the "
            f"metrics {', '.join(sorted(GEOMETRIES))}"
        )
    return PairwiseIndex(metric, metric_params=metric_params, n_jobs=n_jobs, verbose=verbose)


def _check_metric(metric: Any) -> None:
    if callable(metric):
        return
    from sklearn.neighbors import VALID_METRICS

    known = {*VALID_METRICS["brute"], *GEOMETRIES, "precomputed"}
    if metric not in known:
        raise ValueError(
            f"metric={metric!r} is unknown; choose a callable or one of {', '.join(sorted(known))}"
        )


def check_metric_params(metric: Any, params: dict[str, Any] | None) -> Any:
    """Return the metric, by its simplest name; refuse parameters that it does not have.

    Examples
    --------
    >>> check_metric_params("minkowski", {"p": 2}), check_metric_params("minkowski", {"p": 1})
    ('euclidean', 'minkowski')
    """
    if params is not None and not isinstance(params, dict):
        raise ValueError(f"metric_params={params!r} must be a dict, such as {{'p': 3}}, or None")
    if not isinstance(metric, str):
        return metric
    if metric == "minkowski" and (params or {}) in ({}, {"p": 2}):
        return "euclidean"
    if params and (metric in GEOMETRIES or metric == "precomputed"):
        raise ValueError(
            f"metric={metric!r} has no parameters, got metric_params={params!r}; leave them out, "
            "or choose a metric that has, such as 'minkowski' with {'p': 3}"
        )
    return metric
