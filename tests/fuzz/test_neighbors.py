"""Exact searches against brute force in extended precision, on data that search badly."""

import numpy as np
import pytest
import scipy.sparse as sp

from closeknit.neighbors import ApproximateIndex, ExactIndex

EPS = np.finfo(np.float64).eps


def normal(rng, n, d):
    return rng.normal(size=(n, d)) * 10 ** rng.uniform(-6, 6)


def offset(rng, n, d):
    """Far from the origin, where ‖x‖² + ‖y‖² − 2⟨x, y⟩ would have no digits left."""
    return 1e6 + rng.normal(size=(n, d)) * 10 ** rng.uniform(-3, 0)


def duplicates(rng, n, d):
    few = rng.normal(size=(max(1, n // 5), d))
    return few[rng.integers(len(few), size=n)]


def near_duplicates(rng, n, d):
    return duplicates(rng, n, d) * (1.0 + rng.integers(-3, 4, size=(n, d)) * 2.0**-50)


def lattice(rng, n, d):
    """Small integers: distances are exact, and most of them tie."""
    return rng.integers(0, rng.integers(2, 6), size=(n, d)).astype(float)


def sparse_rows(rng, n, d):
    return np.where(rng.random((n, d)) < rng.choice([0.01, 0.1, 0.5]), rng.normal(size=(n, d)), 0.0)


def outliers(rng, n, d):
    X = rng.normal(size=(n, d))
    X[rng.integers(n, size=rng.integers(1, 3))] *= 10 ** rng.uniform(3, 15)
    return X


def line(rng, n, d):
    return np.outer(np.sort(rng.random(n)), rng.normal(size=d))


SHAPES = [normal, offset, duplicates, near_duplicates, lattice, sparse_rows, outliers, line]
KINDS = {
    "tree": lambda rng: int(rng.integers(1, 8)),
    "sketch": lambda rng: int(10 ** rng.uniform(0, 3.3)),
    "sparse": lambda rng: int(10 ** rng.uniform(0, 3.3)),
}


def true_sq_distances(Q, X):
    X = X.astype(np.longdouble)
    return np.array([((X - q) ** 2).sum(axis=1) for q in Q.astype(np.longdouble)])


def check(found, true, k, n_features, *, exact):
    """The k nearest of each row: to rounding, and where distances are exact to the last tie."""
    tolerance = (n_features + 8) * EPS
    indices = found.indices
    assert indices.shape == (len(true), k)
    named = np.take_along_axis(true, indices.astype(np.intp), axis=1)
    np.testing.assert_allclose(found.sq_distances, named.astype(float), rtol=tolerance, atol=0)
    nearest = np.sort(true, axis=1)[:, :k]
    np.testing.assert_allclose(named.astype(float), nearest.astype(float), rtol=tolerance, atol=0)
    assert (np.diff(np.sort(indices, axis=1), axis=1) > 0).all()  # none twice
    ties = np.diff(found.sq_distances, axis=1) == 0.0
    assert (np.diff(indices.astype(np.int64), axis=1)[ties] > 0).all()
    if exact:
        order = np.argsort(true, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(indices, order)


def every_k(n, rounds, rng):
    """Numbers of neighbours up to n: a few of them, all in long runs."""
    if rounds > 100 or n < 6:
        return range(1, n + 1)
    return sorted({1, n, *rng.integers(1, n + 1, size=2).tolist()})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_exact_search(shape, kind, rounds):
    rng = np.random.default_rng([SHAPES.index(shape), len(kind)])
    container = sp.csr_matrix if kind == "sparse" else np.asarray
    algorithm = "auto" if kind == "sparse" else kind
    for _ in range(max(1, rounds // 10)):
        n, d = int(rng.integers(1, 201)), KINDS[kind](rng)
        dtype = rng.choice([np.float32, np.float64])
        X = shape(rng, n, d).astype(dtype)
        Q = shape(rng, 9, d) if rng.random() < 0.5 else X[rng.integers(n, size=9)]
        Q = Q.astype(rng.choice([dtype, np.float64]))  # which need not be that of the points
        kept = X.copy(), Q.copy()
        index = ExactIndex(algorithm=algorithm, n_jobs=int(rng.integers(1, 4))).fit(container(X))
        true_self, true = true_sq_distances(X, X), true_sq_distances(Q, X)
        np.fill_diagonal(true_self, np.inf)
        exact = shape is lattice
        for k in every_k(n, rounds, rng):
            check(index.query(container(Q), k), true, k, d, exact=exact)
            if k < n:
                check(index.self_neighbors(k), true_self, k, d, exact=exact)
        assert X.tobytes() == kept[0].tobytes()
        assert Q.tobytes() == kept[1].tobytes()


@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_other_metrics(metric, rounds):
    rng = np.random.default_rng(len(metric))
    for _ in range(rounds):
        n, d = int(rng.integers(2, 150)), int(10 ** rng.uniform(0, 2.5))
        X = SHAPES[rng.integers(2)](rng, n, d)
        Q, L = X[: min(n, 9)], X.astype(np.longdouble)
        k = int(rng.integers(1, n + 1))
        if metric == "cosine":
            units = L / np.sqrt((L**2).sum(axis=1))[:, None]
            true = (0.5 * true_sq_distances(units[: len(Q)], units)) ** 2
        else:
            sq_norms = (L**2).sum(axis=1)
            true = sq_norms[: len(Q), None] + sq_norms.max() - 2 * L[: len(Q)] @ L.T
        found = ExactIndex(metric).fit(X).query(Q, k)
        # Unit vectors and offsets are rounded before distances are taken.
        scale = 4.0 if metric == "cosine" else float(4 * (L**2).sum(axis=1).max())
        error = 8 * (d + 8) * EPS * scale
        nearest = np.sort(true, axis=1)[:, :k].astype(float)
        np.testing.assert_allclose(found.sq_distances, nearest, rtol=0, atol=error)
        named = np.take_along_axis(true, found.indices.astype(np.intp), axis=1).astype(float)
        np.testing.assert_allclose(named, nearest, rtol=0, atol=error)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_approximate_search_tells_true_distances(shape, rounds):
    """Neighbours may be missed, but distances, order and number are right."""
    rng = np.random.default_rng(SHAPES.index(shape))
    for _ in range(max(1, rounds // 10)):
        n, d = int(rng.integers(2, 400)), int(10 ** rng.uniform(0, 2))
        X = shape(rng, n, d)
        k = int(rng.integers(1, n))
        found = ApproximateIndex(target_recall=0.9).fit(X).self_neighbors(k)
        true = true_sq_distances(X, X)
        np.fill_diagonal(true, np.inf)
        named = np.take_along_axis(true, found.indices.astype(np.intp), axis=1).astype(float)
        np.testing.assert_allclose(found.sq_distances, named, rtol=(d + 8) * EPS, atol=0)
        assert (np.diff(np.sort(found.indices, axis=1), axis=1) > 0).all()
