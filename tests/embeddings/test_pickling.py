"""Fitted estimators through pickle, joblib and deepcopy: new points land on the same bits."""

from __future__ import annotations

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.affinities import FixedAffinities
from closeknit.neighbors import ApproximateIndex, ExactIndex

EMBEDDINGS = [ck.TSNE, ck.SymmetricSNE, ck.SNE, ck.ElasticEmbedding, ck.TElasticEmbedding]


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "joblib": by_joblib,
    "deepcopy": copy.deepcopy,
}
each_copy = pytest.mark.parametrize("how", COPIES)


def assert_same(model, how, new):
    """The same answers as before, from the copy and still from the original."""
    expected = model.transform(new)
    made = COPIES[how](model)
    for one in (made, model):
        got = one.transform(new)
        if sparse.issparse(expected):
            assert (got != expected).nnz == 0
        else:
            np.testing.assert_array_equal(got, expected)
    return made


@each_copy
@pytest.mark.parametrize("repulsion", ["exact", "grid"])
@pytest.mark.parametrize("model", EMBEDDINGS)
def test_embeddings(model, repulsion, how, digits):
    """Digits have 64 features, so that neighbours are searched by sketches."""
    X, _ = digits(150)
    emb = model(perplexity=10.0, repulsion=repulsion, max_iter=5, random_state=0).fit(X[:120])
    made = assert_same(emb, how, X[115:])
    np.testing.assert_array_equal(made.embedding_, emb.embedding_)
    np.testing.assert_array_equal(made.fit(X[:120]).embedding_, emb.embedding_)


@each_copy
def test_eigenmaps_and_affinities(how, digits):
    X, _ = digits(150)
    for model in (
        ck.LaplacianEigenmaps(perplexity=10.0, random_state=0),
        ck.EntropicAffinities(10.0),
        ck.EntropicAffinities(10.0, neighbors="approximate", random_state=3),
        FixedAffinities(rank=5),
    ):
        assert_same(model.fit(X[:120]), how, X[115:])


@each_copy
@pytest.mark.parametrize(
    "index", [ExactIndex(algorithm="sketch"), ApproximateIndex(random_state=1)]
)
def test_indices(index, how):
    """Unfitted, fitted, and after searches; packed sketches are made again."""
    X = np.random.default_rng(0).normal(size=(3000, 12))
    index = COPIES[how](copy.deepcopy(index)).fit(X)
    before = COPIES[how](index).query(X[:50] + 0.1, 5)
    expected = index.query(X[:50] + 0.1, 5)
    after = COPIES[how](index).query(X[:50] + 0.1, 5)
    for found in (before, after):
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.sq_distances, expected.sq_distances)
    own = index.self_neighbors(4)
    np.testing.assert_array_equal(COPIES[how](index).self_neighbors(4).indices, own.indices)
