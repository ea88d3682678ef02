"""What embeddings take: arrays, frames, sparse data, distances, neighbours, affinities."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline

import closeknit as ck
from closeknit.affinities import EntropicAffinities, FixedAffinities
from closeknit.graphs import symmetrize
from closeknit.neighbors import ExactIndex, find_neighbors
from closeknit.repulsion import ExactRepulsion

X = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 6.0, 20, axis=0)
X.setflags(write=False)
X_NEW = np.random.default_rng(1).normal(size=(9, 4))
NORMALIZED = [ck.TSNE, ck.SymmetricSNE, ck.SNE]
ELASTIC = [ck.ElasticEmbedding, ck.TElasticEmbedding]
NONLINEAR = [*NORMALIZED, *ELASTIC]
ALL = [*NONLINEAR, ck.LaplacianEigenmaps]
each = pytest.mark.parametrize("model", ALL)
each_nonlinear = pytest.mark.parametrize("model", NONLINEAR)


def make(model, **options):
    """The estimator with a small perplexity, few iterations and a seed."""
    options = {"perplexity": 5.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 15)
    return model(**options)


def array(P):
    return P.toarray() if sparse.issparse(P) else np.asarray(P)


class Cosines(TransformerMixin, BaseEstimator):
    """An affinity with nothing but scikit-learn's methods."""

    def fit(self, X, y=None):
        self.points_ = np.asarray(X)
        return self

    def transform(self, X):
        points = self.points_
        norms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(points, axis=1)
        return np.exp(5.0 * np.asarray(X) @ points.T / norms)


@each
def test_lists_frames_and_float32_give_the_same(model):
    single = X.astype(np.float32)
    expected = make(model).fit_transform(single.astype(np.float64))
    frame = pd.DataFrame(single.astype(np.float64), columns=list("abcd"))
    np.testing.assert_array_equal(make(model).fit_transform(frame), expected)
    np.testing.assert_array_equal(
        make(model).fit_transform(single.astype(np.float64).tolist()), expected
    )
    assert np.isfinite(make(model).fit_transform(single)).all()
    assert list(make(model).fit(frame).feature_names_in_) == list("abcd")


@each
def test_sparse_data(model):
    options = {} if model is ck.LaplacianEigenmaps else {"max_iter": 5}
    S = sparse.random(60, 20, density=0.4, random_state=0, format="csr")
    got = make(model, **options).fit(S)
    assert got.embedding_.shape == (60, 2)
    assert np.isfinite(got.embedding_).all()
    dense = make(model, **options).fit(S.toarray())
    np.testing.assert_allclose(
        got.affinities_.toarray(), dense.affinities_.toarray(), rtol=1e-9, atol=1e-14
    )
    for other in (S.tocsc(), sparse.csr_array(S)):
        np.testing.assert_array_equal(make(model, **options).fit_transform(other), got.embedding_)


@each
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_precomputed_distances(model, n_neighbors):
    """Distances in place of data: the same affinities, and eigenmaps as the start."""
    D = pairwise_distances(X)
    start = {} if model is ck.LaplacianEigenmaps else {"init": "diffusion"}
    given = make(model, metric="precomputed", n_neighbors=n_neighbors).fit(D)
    found = make(model, n_neighbors=n_neighbors, **start).fit(X)
    np.testing.assert_allclose(
        array(given.affinities_), array(found.affinities_), rtol=1e-6, atol=1e-14
    )
    assert np.isfinite(given.embedding_).all()
    np.testing.assert_array_equal(given.transform(D), given.embedding_)
    assert np.isfinite(given.transform(pairwise_distances(X_NEW, X))).all()


@each
def test_precomputed_neighbour_graph(model):
    """The format of scikit-learn's KNeighborsTransformer, also in a pipeline."""
    graph = KNeighborsTransformer(mode="distance", n_neighbors=15).fit_transform(X)
    emb = make(model, metric="precomputed").fit(graph)
    found = make(model).fit(X)
    np.testing.assert_allclose(
        emb.affinities_.toarray(), found.affinities_.toarray(), rtol=1e-6, atol=1e-14
    )
    pipeline = make_pipeline(
        KNeighborsTransformer(mode="distance", n_neighbors=15),
        make(model, metric="precomputed"),
    )
    np.testing.assert_array_equal(pipeline.fit_transform(X), emb.embedding_)
    placed = pipeline.transform(X_NEW)
    assert placed.shape == (9, 2)
    assert np.isfinite(placed).all()


@each
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pd.DataFrame, np.ndarray.tolist])
def test_precomputed_affinities(model, form):
    """affinity="precomputed" embeds the matrix it is given and does not touch it."""
    P = EntropicAffinities(5.0).fit_transform(X)
    W = symmetrize(P).toarray()
    given = form(P.toarray() if model is ck.SNE else W)
    before = given.copy()
    start = {} if model is ck.LaplacianEigenmaps else {"init": "diffusion"}
    emb = make(model, affinity="precomputed").fit(given)
    expected = make(model, **start).fit(X)
    np.testing.assert_allclose(
        array(emb.affinities_), array(expected.affinities_), rtol=1e-12, atol=1e-18
    )
    np.testing.assert_allclose(emb.embedding_, expected.embedding_, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(array(given), array(before))
    Q = EntropicAffinities(5.0).fit(X).transform(X_NEW)
    placed = emb.transform(form(Q.toarray()))
    np.testing.assert_allclose(placed, expected.transform(X_NEW), rtol=1e-4, atol=1e-4)


@each
@pytest.mark.parametrize(
    "affinity",
    [
        FixedAffinities(),
        FixedAffinities(sigma=1.0, n_neighbors=None),
        EntropicAffinities(7.0, order="density", method="newton"),
    ],
    ids=repr,
)
def test_affinity_transformers(model, affinity):
    """Any transformer; it is cloned, not fitted."""
    emb = make(model, affinity=affinity).fit(X)
    assert not hasattr(affinity, "affinities_")
    assert emb.affinity is affinity
    expected = symmetrize(array(clone(affinity).fit_transform(X)))
    if model in (ck.TSNE, ck.SymmetricSNE):
        expected = expected / expected.sum()
    np.testing.assert_allclose(array(emb.affinities_), expected, rtol=1e-9, atol=1e-15)
    assert np.isfinite(emb.transform(X_NEW)).all()


@each
def test_affinity_transformers_of_other_libraries(model):
    emb = make(model, affinity=Cosines()).fit(X)
    assert np.isfinite(emb.embedding_).all()
    placed = emb.transform(X_NEW)
    assert placed.shape == (9, 2)
    assert np.isfinite(placed).all()


@each
def test_neighbours_may_be_given_or_searched_as_wanted(model):
    """As in EntropicAffinities: by name, as an index, as an estimator, or found already."""
    expected = make(model, neighbors="exact").fit(X)
    found = find_neighbors(X, 15)
    transformer = KNeighborsTransformer(mode="distance", n_neighbors=15)
    pair = found.indices, np.sqrt(found.sq_distances)
    for neighbors in ("auto", ExactIndex(), transformer, found, pair):
        emb = make(model, neighbors=neighbors).fit(X)
        np.testing.assert_allclose(
            emb.affinities_.toarray(), expected.affinities_.toarray(), rtol=1e-6, atol=1e-14
        )
    made = make(model, neighbors="approximate").fit(X)
    assert isinstance(made.affinity_estimator_.neighbors, str)
    assert np.isfinite(made.transform(X_NEW)).all()


@each
def test_inputs_stay_as_they_are(model):
    Z, D = X.copy(), pairwise_distances(X)
    S = sparse.csr_matrix(X)
    G = KNeighborsTransformer(n_neighbors=15).fit_transform(X)
    W = sparse.csr_matrix(symmetrize(EntropicAffinities(5.0).fit_transform(X)))
    for given, options in (
        (Z, {}),
        (S, {}),
        (D, {"metric": "precomputed"}),
        (G, {"metric": "precomputed"}),
        (W, {"affinity": "precomputed"}),
    ):
        before = given.copy()
        emb = make(model, **options).fit(given)
        emb.transform(given)
        np.testing.assert_array_equal(array(given), array(before))
        if sparse.issparse(given):
            np.testing.assert_array_equal(given.data, before.data)
            np.testing.assert_array_equal(given.indices, before.indices)


@each_nonlinear
def test_repulsion_may_be_an_object(model):
    expected = make(model).fit_transform(X)
    for repulsion in ("exact", ExactRepulsion(1)):
        np.testing.assert_array_equal(make(model, repulsion=repulsion).fit_transform(X), expected)
