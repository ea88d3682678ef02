"""Affinities of new points, and of the fitted ones where they are recognised."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import pairwise_distances

from closeknit.affinities import EntropicAffinities, FixedAffinities
from closeknit.neighbors import ApproximateIndex, ExactIndex

X = np.random.default_rng(0).normal(size=(120, 4))
X_NEW = np.random.default_rng(1).normal(size=(25, 4))
both = pytest.mark.parametrize(
    "estimator",
    [
        EntropicAffinities(perplexity=8.0),
        EntropicAffinities(perplexity=8.0, n_neighbors=None),
        EntropicAffinities(perplexity=8.0, method="newton", order="density"),
        EntropicAffinities(perplexity=8.0, method="newton"),
        EntropicAffinities(perplexity=8.0, n_neighbors=None, order="given"),
        EntropicAffinities(perplexity=8.0, include_self=True),
        EntropicAffinities(perplexity=8.0, n_neighbors=None, include_self=True),
        FixedAffinities(n_neighbors=30),
        FixedAffinities(n_neighbors=None),
        FixedAffinities(sigma=0.5, n_neighbors=30),
        FixedAffinities(sigma=0.5, n_neighbors=None, include_self=True),
    ],
    ids=repr,
)


def array(P):
    return P.toarray() if sparse.issparse(P) else P


@both
def test_transform_of_the_fitted_points_is_fit_transform(estimator):
    fitted = clone(estimator)
    P = array(fitted.fit_transform(X))
    np.testing.assert_allclose(array(fitted.transform(X)), P, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_transform_of_the_fitted_points_is_fit_transform_to_the_bit(n_neighbors):
    """The default solver starts new rows as it started the fitted ones."""
    ea = EntropicAffinities(8.0, n_neighbors=n_neighbors)
    P = array(ea.fit_transform(X))
    assert P.tobytes() == array(ea.transform(X)).tobytes()


@both
def test_transform_does_not_depend_on_the_batch(estimator):
    """transform(X_new)[i] == transform(X_new[i : i + 1])[0], bit for bit."""
    fitted = clone(estimator).fit(X)
    together = array(fitted.transform(X_NEW))
    for i in range(len(X_NEW)):
        alone = array(fitted.transform(X_NEW[i : i + 1]))
        assert alone[0].tobytes() == together[i].tobytes()


@both
def test_transform_gives_distributions_over_the_fitted_points(estimator):
    fitted = clone(estimator).fit(X)
    P = fitted.transform(X_NEW)
    assert P.shape == (25, 120)
    assert sparse.issparse(P) == (estimator.n_neighbors is not None)
    np.testing.assert_allclose(array(P).sum(axis=1), 1.0, rtol=0, atol=1e-12)
    D = pairwise_distances(X_NEW, X)
    np.testing.assert_array_equal(array(P).argmax(axis=1), D.argmin(axis=1))


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_transform_gives_new_points_the_perplexity(n_neighbors):
    P = array(EntropicAffinities(8.0, n_neighbors=n_neighbors).fit(X).transform(X_NEW))
    entropy = -(P * np.log(np.where(P > 0, P, 1.0))).sum(axis=1)
    assert np.abs(entropy - np.log(8.0)).max() <= 1e-10


@pytest.mark.parametrize("neighbors", ["exact", "approximate"])
@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_transform_by_inner_products_is_fit_transform(n_neighbors, include_self, neighbors):
    """By inner products a point need not be its own nearest neighbour, or at distance 0."""
    ea = EntropicAffinities(
        8.0,
        n_neighbors=n_neighbors,
        metric="inner_product",
        neighbors=neighbors,
        include_self=include_self,
    )
    P = array(ea.fit_transform(X))
    Q, matches = ea.transform_and_match(np.vstack([X, X_NEW]), as_new=False)
    assert array(Q)[:120].tobytes() == P.tobytes()
    np.testing.assert_array_equal(matches, np.r_[np.arange(120), np.full(25, -1)])


def test_an_index_has_its_own_metric():
    """An index of inner products is one, whatever the estimator's own metric is."""
    ea = EntropicAffinities(8.0, neighbors=ExactIndex("inner_product"))
    P = array(ea.fit_transform(X))
    assert array(ea.transform(X)).tobytes() == P.tobytes()


@both
def test_matches_are_the_fitted_points_at_the_same_place(estimator):
    fitted = clone(estimator).fit(np.vstack([X, X[:3]]))
    mixed = np.vstack([X_NEW[:5], X[10:20], X[:3]])
    Q, matches = fitted.transform_and_match(mixed)
    np.testing.assert_array_equal(matches, np.r_[np.full(5, -1), np.arange(10, 20), np.arange(3)])
    assert array(Q).tobytes() == array(fitted.transform(mixed)).tobytes()


def test_transform_searches_once_and_builds_nothing(monkeypatch):
    """The index that the fit has built serves every transform."""
    from closeknit.neighbors._sketch_engine import SketchEngine

    points = np.random.default_rng(0).normal(size=(2100, 15))
    ea = EntropicAffinities(8.0, neighbors="approximate").fit(points)
    calls = []
    build, query = SketchEngine._build, ApproximateIndex.query
    monkeypatch.setattr(SketchEngine, "_build", lambda *args: calls.append("build") or build(*args))
    monkeypatch.setattr(
        ApproximateIndex, "query", lambda *args: calls.append("query") or query(*args)
    )
    for _ in range(3):
        ea.transform_and_match(points[:50] + 0.1)
    assert calls == ["query"] * 3
    pickle.loads(pickle.dumps(ea)).transform_and_match(points[:50] + 0.1)
    assert calls == ["query"] * 4 + ["build"]


def test_data_are_checked_for_finite_values_once(monkeypatch):
    """Where they come in; what follows may rely on it."""
    from sklearn.utils import validation

    seen = []
    check = validation._assert_all_finite

    def count(values, **options):
        seen.append(validation._get_config()["assume_finite"])
        return check(values, **options)

    monkeypatch.setattr(validation, "_assert_all_finite", count)
    ea = EntropicAffinities(8.0).fit(X)
    assert seen.count(False) == 1
    ea.transform(X_NEW)
    assert seen.count(False) == 2


def test_transform_leaves_the_fit_alone():
    ea = EntropicAffinities(8.0).fit(X)
    before = ea.affinities_.copy(), ea.sigmas_.copy()
    ea.transform(X_NEW)
    assert (before[0] != ea.affinities_).nnz == 0
    np.testing.assert_array_equal(before[1], ea.sigmas_)
