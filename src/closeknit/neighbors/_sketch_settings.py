"""Choose how long sketches should be, from a sample of the data.

Long sketches cost more to compare, short ones let more points through to the expensive true
distances. Both costs are estimated on a few rows and the cheapest length wins. For data without
dominant directions that is all coordinates, which makes the search a plain one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from closeknit import _core
from closeknit.neighbors._sketch import MAX_COMPONENTS, Sketcher, principal_directions
from closeknit.neighbors.points import Data, as_rows

__all__ = ["RESIDUAL_WEIGHT", "SketchSettings", "choose_settings"]

# The expected cosine between the residuals of two neighbours, for ranking candidates: 0 would be
# unrelated residuals, 1 is the lower bound. Of 0, ¼, ½, ¾ and 1, none was best everywhere on sets
# of 200 rows of MNIST, GloVe and CBMC; from 32 numbers on, ½ lost at most 0.008 of recall to the
# best, with 16 up to 0.021. On 20 newsgroups it is worse than ¼.
RESIDUAL_WEIGHT = 0.5

_LENGTHS = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, MAX_COMPONENTS)
_QUERIES, _POINTS = 96, 8192  # sample sizes

# Nanoseconds on an AVX2 core, roughly, from MNIST on a busy machine; only their ratios matter.
_PER_COORDINATE, _PER_POINT = 0.035, 0.4  # comparing a sketch
_PER_EVALUATION, _PER_FEATURE = 60.0, 0.35  # a true distance
# A guess at the share of points an approximate search looks at: MNIST 0.08, GloVe 0.3.
_PROBED = 0.12


@dataclass(frozen=True)
class SketchSettings:
    """How to sketch, and how many candidates an approximate search should rank."""

    sketcher: Sketcher
    n_candidates: int


def choose_settings(
    X: Data,
    n_neighbors: int,
    fewest: int,
    rng: np.random.Generator,
    n_threads: int,
    target_recall: float | None,
) -> SketchSettings:
    """Choose the length of sketches for a search of `n_neighbors` among the rows of `X`.

    Parameters
    ----------
    X : array
    n_neighbors : int
    fewest : int
        Candidates to rank at least.
    rng : numpy.random.Generator
    n_threads : int
    target_recall : float or None
        None means an exact search.

    Returns
    -------
    SketchSettings
    """
    n_samples, n_features = X.shape
    n_components = min(n_features, MAX_COMPONENTS)
    center, basis = principal_directions(X, n_components, rng)
    whole = Sketcher.of_all_coordinates(X, center)
    scale = whole.scale
    points = X[np.sort(rng.choice(n_samples, min(n_samples, _POINTS), replace=False))]
    n_points = points.shape[0]
    queries = points[:: max(1, n_points // _QUERIES)]
    n_nearest = min(n_points - 1, max(8, round(n_neighbors * n_points / n_samples)))
    ratio = n_samples / n_points

    rotated, sq_norms = _rotate(points, center, basis * scale, scale, n_threads)
    own, own_sq_norms = _rotate(queries, center, basis * scale, scale, n_threads)
    true = _true_distances(queries, points, center, scale)
    limit = np.partition(true, n_nearest, axis=1)[:, n_nearest, None]  # the query itself is there
    evaluation = _PER_EVALUATION + _PER_FEATURE * float(n_features)

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

    share = 1.0 if target_recall is None else _PROBED
    compare = _PER_COORDINATE * n_features + _PER_POINT
    if n_samples * share * compare + 1.3 * n_neighbors * evaluation < best_cost:
        return SketchSettings(whole, min(fewest, n_samples))
    length, n_evaluated = best
    sketcher = Sketcher(center, np.ascontiguousarray(basis[:, :length]), scale)
    return SketchSettings(sketcher, min(max(n_evaluated, fewest), n_samples))


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
    queries, points = (queries - center) * scale, (points - center) * scale
    sq_norms = np.einsum("ij,ij->i", points, points)
    own = np.einsum("ij,ij->i", queries, queries)
    return np.asarray(own[:, None] + sq_norms - 2.0 * (queries @ points.T))
