"""Generated data of any size, the same for the same seed.

scikit-learn has circles, moons, blobs and the Swiss roll; here is what it lacks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from closeknit._arrays import Array, Integers
from closeknit._checks import check_number
from closeknit._threads import chunks, single_threaded_blas
from closeknit.neighbors import seed_of

__all__ = ["make_gaussian_mixture", "make_three_clusters"]


def make_gaussian_mixture(
    n_samples: int = 1000,
    n_features: int = 50,
    n_clusters: int = 20,
    *,
    n_intrinsic: int = 8,
    separation: float = 4.0,
    imbalance: float = 10.0,
    spread_ratio: float = 3.0,
    noise: float = 0.05,
    dtype: DTypeLike = np.float64,
    random_state: Any = None,
) -> tuple[NDArray[Any], Integers]:
    """Clusters of different size, spread and shape, each near a plane of few dimensions.

    As in most real data, and unlike in a ball of Gaussian noise, points have neighbours that are
    much nearer than the rest, whatever `n_features`. A million points of 50 features take seconds.

    Parameters
    ----------
    n_samples : int, default=1000
    n_features : int, default=50
    n_clusters : int, default=20
        At most `n_samples`; every cluster has at least one point.
    n_intrinsic : int, default=8
        Dimensions of each cluster's plane, at most `n_features`. Its axes lie in random directions,
        and the q-th is 1/√q times as long as the first.
    separation : float, default=4.0
        Root mean square distance between the centres, in units of the root mean square distance
        of a point to its centre in an average cluster.
    imbalance : float, default=10.0
        The largest cluster is expected to have at most this many times the points of the smallest.
    spread_ratio : float, default=3.0
        The same for the spread of clusters; 1 gives all the same.
    noise : float, default=0.05
        Root mean square distance to the flat, as a share of the cluster's spread.
    dtype : data-type, default=float64
        float32 halves memory and time; the numbers are those of float32 arithmetic.
    random_state : int, Generator, RandomState or None
        None is a fixed seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        In random order, so that the first rows are a sample.
    y : ndarray of shape (n_samples,)
        Each point's cluster.

    Examples
    --------
    >>> from closeknit.datasets import make_gaussian_mixture
    >>> X, y = make_gaussian_mixture(500, n_features=10, n_clusters=3, random_state=0)
    >>> X.shape, len(set(y.tolist()))
    ((500, 10), 3)
    """
    _check_counts(
        n_samples=n_samples, n_features=n_features, n_clusters=n_clusters, n_intrinsic=n_intrinsic
    )
    if n_clusters > n_samples:
        raise ValueError(f"n_clusters={n_clusters} needs as many points, got n_samples={n_samples}")
    if n_intrinsic > n_features:
        raise ValueError(f"n_intrinsic={n_intrinsic} must be at most n_features={n_features}")
    if not (imbalance >= 1.0 and spread_ratio >= 1.0 and separation >= 0.0 and noise >= 0.0):
        raise ValueError(
            "imbalance and spread_ratio must be at least 1, separation and noise at least 0; got "
            f"{imbalance}, {spread_ratio}, {separation} and {noise}"
        )
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise ValueError(f"dtype={dtype!r} must be float32 or float64")
    rng = np.random.default_rng(seed_of(random_state))
    y = _random_labels(rng, n_samples, n_clusters, imbalance)
    spreads = spread_ratio ** rng.uniform(-0.5, 0.5, n_clusters)
    centers = rng.normal(0.0, separation / np.sqrt(2 * n_features), (n_clusters, n_features))
    X = np.empty((n_samples, n_features), dtype=kind)
    noises = noise * spreads / np.sqrt(n_features)
    with single_threaded_blas():  # so that the bits do not depend on the number of cores
        planes = _random_planes(rng, n_clusters, n_intrinsic, n_features) * spreads[:, None, None]
        for part in chunks(n_samples, 8 * X.itemsize * n_features):
            _fill(X[part], y[part], rng, centers, planes, noises)
    return X, y


def make_three_clusters(
    n_samples: int = 300,
    n_features: int = 2,
    *,
    equidistant: bool = True,
    distance: float = 6.0,
    random_state: Any = None,
) -> tuple[Array, Integers]:
    """Three Gaussian clusters on a line, as seen from the middle of one of them.

    From the first point the other two clusters are equally far, so that its distances have two
    modes, or the third is twice as far as the second and there are three. Tests of unimodality
    reject the former more strongly.

    Parameters
    ----------
    n_samples : int, default=300
        The clusters have a third of them each, up to one point.
    n_features : int, default=2
    equidistant : bool, default=True
    distance : float, default=6.0
        From the first cluster's centre to the second's, in standard deviations.
    random_state : int, Generator, RandomState or None
        None is a fixed seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Its first row is the centre of the first cluster.
    y : ndarray of shape (n_samples,)
        0, 1 and 2 in turn.

    References
    ----------
    Dupré, Graph sparsification for kernel methods, section 6.

    Examples
    --------
    >>> from closeknit.datasets import make_three_clusters
    >>> X, y = make_three_clusters(9, n_features=1, equidistant=False, distance=100.0)
    >>> X.round(-2).ravel()[:3], y[:3]
    (array([   0.,  100., -200.]), array([0, 1, 2], dtype=int32))
    """
    _check_counts(n_samples=n_samples, n_features=n_features)
    rng = np.random.default_rng(seed_of(random_state))
    y = (np.arange(n_samples) % 3).astype(np.int32)
    X = rng.standard_normal((n_samples, n_features))
    X[0] = 0.0
    X[:, 0] += np.array([0.0, distance, -distance if equidistant else -2.0 * distance])[y]
    return X, y


def _random_labels(
    rng: np.random.Generator, n_samples: int, n_clusters: int, imbalance: float
) -> Integers:
    weights = imbalance ** rng.uniform(0.0, 1.0, n_clusters)
    counts = 1 + rng.multinomial(n_samples - n_clusters, weights / weights.sum())
    y = np.repeat(np.arange(n_clusters, dtype=np.int32), counts)
    rng.shuffle(y)
    return y


def _random_planes(
    rng: np.random.Generator, n_clusters: int, n_intrinsic: int, n_features: int
) -> Array:
    """Axes of each cluster, as (n_clusters, n_intrinsic, n_features); their squares sum to 1."""
    frames = np.linalg.qr(rng.standard_normal((n_clusters, n_features, n_intrinsic)))[0]
    lengths = 1.0 / np.sqrt(np.arange(1, n_intrinsic + 1))
    lengths /= np.linalg.norm(lengths)
    return np.swapaxes(frames * lengths, 1, 2)


def _fill(
    X: NDArray[Any],
    y: Integers,
    rng: np.random.Generator,
    centers: Array,
    planes: Array,
    noises: Array,
) -> None:
    """Draw the points of one chunk, cluster by cluster."""
    rng.standard_normal(dtype=X.dtype.type, out=X)
    X *= noises[y].astype(X.dtype)[:, None]
    along = rng.standard_normal((len(X), planes.shape[1]), dtype=X.dtype.type)
    order = np.argsort(y, kind="stable")
    ends = np.cumsum(np.bincount(y, minlength=len(centers)))
    for cluster, rows in enumerate(np.split(order, ends[:-1])):
        X[rows] += along[rows] @ planes[cluster].astype(X.dtype) + centers[cluster].astype(X.dtype)


def _check_counts(**counts: Any) -> None:
    for name, value in counts.items():
        check_number(name, value, integer=True, least=1)
