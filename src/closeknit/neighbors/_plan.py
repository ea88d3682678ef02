"""Choose how long sketches should be, from a sample of the data.

Long sketches cost more to compare, short ones let more points through to the expensive true
distances. Both costs are estimated on a few rows and the cheapest length wins. For data without
dominant directions that is all coordinates, which makes the search a plain one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from closeknit import _core
from closeknit.neighbors._rows import Data, as_rows
from closeknit.neighbors._sketch import MAX_COMPONENTS, Sketcher, principal_directions

__all__ = ["RESIDUAL_WEIGHT", "SketchPlan", "data_scale", "plan_sketches"]

# The expected cosine between the residuals of two neighbours, for ranking candidates: 0 would be
# unrelated residuals, 1 is the lower bound. Of 0, ¼, ½, ¾ and 1, none was best everywhere on sets
# of 200 rows of MNIST, GloVe and CBMC; from 32 numbers on, ½ lost at most 0.008 of recall to the
# best, with 16 up to 0.021. On 20 newsgroups it is worse than ¼.
RESIDUAL_WEIGHT = 0.5

_LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, MAX_COMPONENTS)
_QUERIES, _POINTS = 96, 8192  # sample sizes
# Points for each direction up to which finding directions takes longer than comparing all points.
_FEW_PER_DIRECTION = 20

# Nanoseconds on an AVX2 core, roughly, from MNIST on a busy machine; only their ratios matter.
_PER_COORDINATE, _PER_POINT = 0.035, 0.4  # comparing a sketch
_PER_EVALUATION, _PER_FEATURE, _PER_STORED = 60.0, 0.35, 6.0  # a true distance, dense or sparse
_PROBED = (
    0.12  # a guess at the share of points an approximate search looks at: MNIST 0.08, GloVe 0.3
)


@dataclass(frozen=True)
class SketchPlan:
    """A way to sketch, and how many candidates an approximate search should rank."""

    sketcher: Sketcher
    n_candidates: int


def data_scale(X: Data) -> float:
    """Return the power of two that brings the largest magnitude into [½, 1).

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
    return float(2.0 ** np.clip(-np.frexp(largest)[1], -500, 500))


def plan_sketches(
    X: Data,
    n_neighbors: int,
    rng: np.random.Generator,
    n_threads: int,
    target_recall: float | None,
) -> SketchPlan:
    """Choose the length of sketches for a search of `n_neighbors` among the rows of `X`.

    Parameters
    ----------
    X : array or CSR matrix
    n_neighbors : int
    rng : numpy.random.Generator
    n_threads : int
    target_recall : float or None
        None plans an exact search.

    Returns
    -------
    SketchPlan
    """
    n_samples, n_features = X.shape
    n_components = min(n_features, MAX_COMPONENTS)
    if not sp.issparse(X) and n_samples <= _FEW_PER_DIRECTION * n_components:
        center = X.mean(axis=0, dtype=np.float64)
        n_candidates = min(n_neighbors + n_neighbors // 4 + 8, n_samples)
        return SketchPlan(Sketcher(center, None, _spread_scale(X, center)), n_candidates)
    center, basis = principal_directions(X, n_components, rng)
    scale = _spread_scale(X, center)
    points = X[np.sort(rng.choice(n_samples, min(n_samples, _POINTS), replace=False))]
    n_points = points.shape[0]
    queries = points[:: max(1, n_points // _QUERIES)]
    n_nearest = min(n_points - 1, max(8, round(n_neighbors * n_points / n_samples)))
    ratio = n_samples / n_points

    rotated, sq_norms = _rotate(points, center, basis * scale, scale, n_threads)
    own, own_sq_norms = _rotate(queries, center, basis * scale, scale, n_threads)
    true = _true_distances(queries, points, center, scale)
    limit = np.partition(true, n_nearest, axis=1)[:, n_nearest, None]  # the query itself is there
    evaluation = _evaluation_cost(X)

    best_cost, best = np.inf, (n_components, 2 * n_neighbors)
    sums, own_sums = np.zeros(n_points), np.zeros(len(own))
    products = np.zeros_like(true)
    done = 0
    for length in (p for p in _LENGTHS if p <= n_components):
        part = slice(done, length)
        products += own[:, part] @ rotated[:, part].T
        sums += np.einsum("ij,ij->i", rotated[:, part], rotated[:, part])
        own_sums += np.einsum("ij,ij->i", own[:, part], own[:, part])
        done = length
        residuals = np.sqrt(np.maximum(sq_norms - sums, 0.0))
        own_residuals = np.sqrt(np.maximum(own_sq_norms - own_sums, 0.0))
        cross = own_residuals[:, None] * residuals
        bound = own_sq_norms[:, None] + sq_norms - 2.0 * (products + cross)
        compare = _PER_COORDINATE * (length + 1) + _PER_POINT
        if target_recall is None:
            n_evaluated = ratio * np.mean(np.sum(bound <= limit, axis=1))
            cost = n_samples * compare + n_evaluated * evaluation
        else:
            estimate = bound + 2.0 * (1.0 - RESIDUAL_WEIGHT) * cross
            n_evaluated = _candidates_needed(estimate, true, limit, target_recall)
            n_evaluated *= n_neighbors / n_nearest
            cost = n_samples * _PROBED * compare + n_evaluated * evaluation
        if cost < best_cost:
            best_cost, best = cost, (length, int(n_evaluated))

    length, n_evaluated = best
    keep_all = not sp.issparse(X) and _plain_cost(
        n_samples, n_features, n_neighbors, evaluation, target_recall
    ) < min(best_cost, np.inf)
    n_candidates = max(n_evaluated, n_neighbors + n_neighbors // 4 + 8)
    if keep_all:
        n_candidates = n_neighbors + n_neighbors // 4 + 8
    chosen = None if keep_all else np.ascontiguousarray(basis[:, :length])
    return SketchPlan(Sketcher(center, chosen, scale), min(n_candidates, n_samples))


def _plain_cost(
    n_samples: int,
    n_features: int,
    n_neighbors: int,
    evaluation: float,
    target_recall: float | None,
) -> float:
    share = 1.0 if target_recall is None else _PROBED
    compare = _PER_COORDINATE * n_features + _PER_POINT
    return n_samples * share * compare + 1.3 * n_neighbors * evaluation


def _evaluation_cost(X: Data) -> float:
    if sp.issparse(X):
        return float(_PER_EVALUATION + _PER_STORED * 2.0 * X.nnz / max(1, X.shape[0]))
    return _PER_EVALUATION + _PER_FEATURE * float(X.shape[1])


def _candidates_needed(
    estimate: npt.NDArray[np.float64],
    true: npt.NDArray[np.float64],
    limit: npt.NDArray[np.float64],
    target_recall: float,
) -> float:
    """How many best estimates contain the wanted share of true neighbours (a third of the loss)."""
    ranks = np.argsort(np.argsort(estimate, axis=1), axis=1)
    wanted = 1.0 - (1.0 - target_recall) / 3.0
    return float(np.quantile(ranks[true <= limit], wanted)) + 1.0


def _spread_scale(X: Data, center: npt.NDArray[np.float64]) -> float:
    """Like `data_scale`, for what is left after centring."""
    if sp.issparse(X):
        return data_scale(X)
    low, high = X.min(axis=0) - center, X.max(axis=0) - center
    return data_scale(np.vstack([low, high]))


def _rotate(
    X: Data,
    center: npt.NDArray[np.float64],
    basis: npt.NDArray[np.float64],
    scale: float,
    n_threads: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    rotated = np.empty((X.shape[0], basis.shape[1]))
    sq_norms = np.empty(X.shape[0])
    _core.project(as_rows(X), center, basis, rotated, sq_norms, n_threads)
    return rotated, sq_norms * scale**2


def _true_distances(
    queries: Data, points: Data, center: npt.NDArray[np.float64], scale: float
) -> npt.NDArray[np.float64]:
    if sp.issparse(points):
        queries, points = queries * scale, points * scale
        products = (queries @ points.T).toarray().astype(np.float64)
        sq_norms = np.asarray(points.multiply(points).sum(axis=1)).ravel()
        own = np.asarray(queries.multiply(queries).sum(axis=1)).ravel()
    else:
        queries, points = (queries - center) * scale, (points - center) * scale
        products = queries @ points.T
        sq_norms = np.einsum("ij,ij->i", points, points)
        own = np.einsum("ij,ij->i", queries, queries)
    return np.asarray(own[:, None] + sq_norms - 2.0 * products)
