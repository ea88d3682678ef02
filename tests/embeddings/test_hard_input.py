"""Hard input: finite results, and no hang."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.affinities import EntropicAffinities
from closeknit.graphs import symmetrize
from closeknit.minimize.directions import DIRECTIONS

X = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 6.0, 20, axis=0)
X.setflags(write=False)
X_NEW = np.random.default_rng(1).normal(size=(9, 4))
NORMALIZED = [ck.TSNE, ck.SymmetricSNE, ck.SNE]
ELASTIC = [ck.ElasticEmbedding, ck.TElasticEmbedding]
NONLINEAR = [*NORMALIZED, *ELASTIC]
ALL = [*NONLINEAR, ck.LaplacianEigenmaps]
each = pytest.mark.parametrize("model", ALL)
each_nonlinear = pytest.mark.parametrize("model", NONLINEAR)
ties = pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")


def make(model, **options):
    """The estimator with a small perplexity, few iterations and a seed."""
    options = {"perplexity": 5.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 15)
    return model(**options)


def array(P):
    return P.toarray() if sparse.issparse(P) else np.asarray(P)


def islands(count=4, size=12, gap=1e4):
    rng = np.random.default_rng(8)
    return np.vstack([rng.normal(size=(size, 3)) + gap * i for i in range(count)])


@ties
@each
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_identical_points(model, n_neighbors):
    emb = make(model, n_neighbors=n_neighbors).fit(np.ones((30, 4)))
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(np.ones((2, 4)))).all()
    assert np.isfinite(emb.transform(np.zeros((2, 4)))).all()


@ties
@each_nonlinear
@pytest.mark.parametrize("init", ["eigenmaps", "random"])
def test_identical_points_from_other_starts(model, init):
    emb = make(model, init=init, max_iter=100).fit(np.ones((30, 4)))
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.objective_)


@ties
@each
def test_many_duplicates(model):
    Z = np.vstack([X[:30], np.repeat(X[:3], 12, axis=0)])
    emb = make(model, max_iter=59) if model is not ck.LaplacianEigenmaps else make(model)
    emb.fit(Z)
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(X_NEW)).all()


@each
def test_disconnected_graphs(model):
    """Clusters without an edge between them: all points placed, clusters apart."""
    Z = islands()
    emb = make(model, perplexity=3.0, n_neighbors=6).fit(Z)
    from scipy.sparse.csgraph import connected_components

    assert connected_components(emb.affinities_)[0] >= 4
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(Z + 0.1)).all()


@each_nonlinear
@pytest.mark.parametrize("direction", list(DIRECTIONS))
def test_disconnected_graphs_in_every_direction(model, direction):
    emb = make(model, perplexity=3.0, n_neighbors=6, direction=direction).fit(islands())
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.objective_)


@each
@pytest.mark.parametrize("n_isolated", [1, 5])
def test_isolated_points(model, n_isolated):
    """Points without a single affinity."""
    W = np.zeros((30 + n_isolated, 30 + n_isolated))
    W[:30, :30] = array(symmetrize(EntropicAffinities(5.0).fit_transform(X[:30])))
    emb = make(model, affinity="precomputed")
    if model is not ck.LaplacianEigenmaps:
        emb.set_params(max_iter=400)
    emb.fit(W)
    assert np.isfinite(emb.embedding_).all()
    if model is not ck.LaplacianEigenmaps:
        assert np.isfinite(emb.objective_)


@each
def test_two_and_three_points(model):
    for n in (2, 3):
        W = 1.0 - np.eye(n)
        emb = make(model, n_components=1, affinity="precomputed").fit(W)
        assert emb.embedding_.shape == (n, 1)
        assert np.isfinite(emb.embedding_).all()


@each
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_data_of_any_scale(model, scale):
    emb = make(model).fit(scale * X)
    plain = make(model).fit(X)
    np.testing.assert_allclose(
        array(emb.affinities_), array(plain.affinities_), rtol=1e-6, atol=1e-12
    )
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(scale * X_NEW)).all()


@each
def test_constant_features_and_one_outlier(model):
    Z = np.hstack([X, np.ones((60, 2))])
    Z[0] += 1e8
    emb = make(model).fit(Z)
    assert np.isfinite(emb.embedding_).all()
