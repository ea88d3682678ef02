"""Approximate search reaches its recall, with exact distances and full rows."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

from closeknit.neighbors import ApproximateIndex, ExactIndex


def recall(found, exact):
    """The share of neighbours that are as near as true ones."""
    return float(np.mean(found.sq_distances <= exact.sq_distances[:, -1:]))


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product"])
def test_recall_on_clusters(clusters, metric):
    found = ApproximateIndex(metric).fit(clusters).self_neighbors(30)
    assert recall(found, ExactIndex(metric).fit(clusters).self_neighbors(30)) >= 0.99


def test_recall_on_digits():
    X = load_digits().data
    found = ApproximateIndex().fit(X).self_neighbors(30)
    assert recall(found, ExactIndex(algorithm="sketch").fit(X).self_neighbors(30)) >= 0.99


def test_recall_without_structure(rng):
    X = rng.normal(size=(3000, 60))
    found = ApproximateIndex().fit(X).self_neighbors(15)
    assert recall(found, ExactIndex().fit(X).self_neighbors(15)) >= 0.985


def test_recall_on_sparse_rows(rng):
    topics = rng.gamma(0.3, size=(20, 500))
    weights = rng.dirichlet(np.full(20, 0.1), size=2500)
    X = sp.csr_matrix(rng.poisson(8 * weights @ topics / topics.sum(axis=1).mean()), dtype=float)
    X = X[np.diff(X.indptr) > 0]
    found = ApproximateIndex("cosine").fit(X).self_neighbors(10)
    assert recall(found, ExactIndex("cosine").fit(X).self_neighbors(10)) >= 0.985


def test_distances_are_exact(twin, clusters):
    found = ApproximateIndex().fit(clusters).self_neighbors(10)
    gaps = clusters[found.indices].astype(float) - clusters[:, None].astype(float)
    np.testing.assert_allclose(found.sq_distances, (gaps**2).sum(axis=2), rtol=1e-13)
    assert (found.indices != np.arange(len(clusters))[:, None]).all()


def test_short_rows_are_completed(twin, rng):
    """A search that may look into one cell only, of fewer points than neighbours are wanted."""
    X = rng.normal(size=(3000, 15))
    k = 300
    index = ApproximateIndex().fit(X)
    index.self_neighbors(k)
    engine = index._engine
    engine._prepared = replace(engine._prepared, n_probes=1)
    twin.assert_nearest(index.self_neighbors(k), twin.sq_euclidean(X, X), k)


def test_all_neighbors_of_identical_points(rng):
    found = ApproximateIndex().fit(np.ones((2500, 20))).self_neighbors(40)
    assert (found.counts == 40).all()
    assert (found.sq_distances == 0).all()
    assert (found.indices != np.arange(2500)[:, None]).all()


def test_seed(twin, clusters):
    def search(seed):
        return ApproximateIndex(random_state=seed).fit(clusters).self_neighbors(10)

    twin.assert_same_bits(search(1), search(1))
    twin.assert_same_bits(search(None), search(None))


def test_an_index_is_built_once_for_fewer_neighbors(clusters):
    """After a search for 30, a search for 5 or for 31 of new points builds nothing."""
    index = ApproximateIndex().fit(clusters)
    index.self_neighbors(30)
    built = index._engine._prepared
    for k in (5, 30, 31, 1):
        found = index.query(clusters[:500], k)
        assert index._engine._prepared is built
        assert recall(found, ExactIndex().fit(clusters).query(clusters[:500], k)) >= 0.99
    index.query(clusters[:50], 32)
    assert index._engine._prepared is not built
    assert index.built_for_ == 32


def test_a_copy_answers_as_the_index_does(twin, clusters):
    """A pickled index, and one restored from its saved state, know what they were built for."""
    index = ApproximateIndex().fit(clusters)
    index.self_neighbors(30)
    expected = index.query(clusters[:50] + 0.1, 5)
    copies = [pickle.loads(pickle.dumps(index)), ApproximateIndex()]
    for name in ApproximateIndex.saved_state:
        setattr(copies[1], name, getattr(index, name))
    copies[1].restore_state()
    for copy in copies:
        twin.assert_same_bits(copy.query(clusters[:50] + 0.1, 5), expected)


@pytest.mark.parametrize("algorithm", ["tree", "sketch"])
def test_exact_answers_do_not_depend_on_what_was_asked_before(twin, clusters, algorithm):
    X = clusters[:2500, : 6 if algorithm == "tree" else 40]
    used = ExactIndex(algorithm=algorithm).fit(X)
    used.self_neighbors(30)
    fresh = ExactIndex(algorithm=algorithm).fit(X)
    twin.assert_same_bits(used.query(X[:50] + 0.1, 5), fresh.query(X[:50] + 0.1, 5))


@pytest.mark.parametrize("recall", [0.0, 1.0, 2.0])
def test_impossible_recall(recall):
    with pytest.raises(ValueError, match="target_recall"):
        ApproximateIndex(target_recall=recall)
