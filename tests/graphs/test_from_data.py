"""One way from data to a graph: what every estimator gets for its parameters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

import closeknit as ck
from closeknit.affinities import FixedAffinities
from closeknit.graphs import affinity_graph, symmetrize

X = np.random.default_rng(0).normal(size=(120, 3))
P = ck.EntropicAffinities(10.0).fit_transform(X)


class Parameters:
    """Stands for an estimator with some parameters."""

    def __init__(self, **parameters):
        vars(self).update(parameters)


@pytest.mark.parametrize(
    "estimator",
    [
        ck.TSNE(perplexity=10),
        ck.SpectralClustering(perplexity=10),
        ck.LabelSpreading(perplexity=10),
        Parameters(perplexity=10),
        Parameters(perplexity=10, affinity="entropic", n_jobs=1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators_share_one_graph(estimator):
    W, fitted = affinity_graph(X, estimator)
    assert (symmetrize(P) != W).nnz == 0
    assert W.has_canonical_format
    assert (fitted.affinities_ != P).nnz == 0


def test_changed_parameters_replace_those_of_the_estimator():
    W, fitted = affinity_graph(X, ck.TSNE(perplexity=30), perplexity=10, n_neighbors=40)
    expected = ck.EntropicAffinities(10, n_neighbors=40).fit_transform(X)
    assert (symmetrize(expected) != W).nnz == 0
    assert fitted.n_neighbors == 40


def test_distributions_that_are_not_symmetric():
    W, _ = affinity_graph(X, Parameters(perplexity=10), symmetric=False)
    assert (W != P).nnz == 0


def test_all_neighbours_give_a_sparse_graph_without_diagonal():
    W, _ = affinity_graph(X, Parameters(perplexity=10, n_neighbors=None))
    assert isinstance(W, sparse.csr_matrix)
    assert not W.diagonal().any()
    dense = ck.EntropicAffinities(10, n_neighbors=None).fit_transform(X)
    np.testing.assert_array_equal(W.toarray(), 0.5 * (dense + dense.T))


def test_distances():
    W, _ = affinity_graph(pairwise_distances(X), Parameters(perplexity=10, metric="precomputed"))
    np.testing.assert_allclose(W.toarray(), symmetrize(P).toarray(), rtol=1e-6, atol=1e-12)


def test_given_affinities_are_checked_and_shared():
    given = Parameters(affinity="precomputed")
    W = symmetrize(P)
    found, fitted = affinity_graph(W, given)
    assert fitted is None
    assert np.shares_memory(found.data, W.data)
    with pytest.raises(ValueError, match="must be symmetric"):
        affinity_graph(P, given)
    assert (affinity_graph(P, given, symmetric=False)[0] != P).nnz == 0
    with pytest.raises(ValueError, match="must be square"):
        affinity_graph(X, given)


def test_transformers_are_cloned_and_their_affinities_checked():
    own = FixedAffinities(0.5, include_self=True)
    W, fitted = affinity_graph(X, Parameters(affinity=own))
    assert fitted is not own
    assert not hasattr(own, "affinities_")
    assert not W.diagonal().any()
    expected = symmetrize(fitted.affinities_).toarray()
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_array_equal(W.toarray(), expected)


class Wrong(FixedAffinities):
    def fit_transform(self, X, y=None):
        return self.result


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (np.ones((120, 7)), r"gave shape \(120, 7\) for 120 points"),
        (-np.ones((120, 120)), "must not be negative"),
        (np.full((120, 120), np.nan), "NaN or infinite"),
    ],
)
def test_wrong_transformers(monkeypatch, result, message):
    monkeypatch.setattr(Wrong, "result", result, raising=False)
    with pytest.raises(ValueError, match=message):
        affinity_graph(X, Parameters(affinity=Wrong()))


@pytest.mark.parametrize("affinity", ["rbf", 7, None])
def test_unknown_affinities(affinity):
    with pytest.raises(ValueError, match=f"unknown affinity {affinity!r}; use 'entropic'"):
        affinity_graph(X, Parameters(affinity=affinity))
