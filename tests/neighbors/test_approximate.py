"""Approximate search reaches its recall, with exact distances and full rows."""

from __future__ import annotations

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
    engine = index._engine
    engine._prepared = (k, replace(engine._prepare(k), n_probes=1))
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


def test_history_leaves_no_trace(twin, clusters):
    """Asking for 5 after asking for 30 is the same as asking for 5."""
    fresh = ApproximateIndex().fit(clusters)
    used = ApproximateIndex().fit(clusters)
    used.self_neighbors(30)
    twin.assert_same_bits(used.query(clusters[:50], 5), fresh.query(clusters[:50], 5))


@pytest.mark.parametrize("recall", [0.0, 1.0, 2.0])
def test_impossible_recall(recall):
    with pytest.raises(ValueError, match="target_recall"):
        ApproximateIndex(target_recall=recall)
