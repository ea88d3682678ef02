"""Where embeddings start."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

import closeknit as ck

X = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 6.0, 20, axis=0)
X.setflags(write=False)
NORMALIZED = [ck.TSNE, ck.SymmetricSNE, ck.SNE]
ELASTIC = [ck.ElasticEmbedding, ck.TElasticEmbedding]
NONLINEAR = [*NORMALIZED, *ELASTIC]
ALL = [*NONLINEAR, ck.LaplacianEigenmaps]
each = pytest.mark.parametrize("model", ALL)
each_nonlinear = pytest.mark.parametrize("model", NONLINEAR)


def stages(emb):
    """How many times max_iter applies: once for each λ of the path."""
    return 1 if getattr(emb, "path_", None) is None else len(emb.path_.results)


def make(model, **options):
    """The estimator with a small perplexity, few iterations and a seed."""
    options = {"perplexity": 5.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 15)
    return model(**options)


def array(P):
    return P.toarray() if sparse.issparse(P) else np.asarray(P)


def refuses(match, model, data=X, **options):
    with pytest.raises(ValueError, match=match) as error:
        make(model, **options).fit(data)
    assert "\n" not in str(error.value).strip()
    return str(error.value)


@each_nonlinear
@pytest.mark.parametrize("init", ["pca", "diffusion", "eigenmaps", "random"])
def test_starts(model, init):
    """With max_iter=0 the embedding is the start, small along every component."""
    start = make(model, init=init, max_iter=0).fit(X)
    assert np.abs(start.embedding_).max() < 1e-2
    assert np.abs(start.embedding_).min(axis=0).max() < 1e-3
    assert start.n_iter_ == 0
    assert np.isfinite(start.objective_)
    end = make(model, init=init).fit(X)
    assert np.isfinite(end.embedding_).all()
    assert end.embedding_.std() > 1e-2


def test_pca_start_is_the_scaled_pca():
    from sklearn.decomposition import PCA

    expected = PCA(2).fit_transform(X)
    got = make(ck.SymmetricSNE, init="pca", max_iter=0).fit_transform(X)
    np.testing.assert_allclose(got * (expected[0, 0] / got[0, 0]), expected, rtol=1e-9, atol=1e-12)
    assert got[:, 0].std() == pytest.approx(1e-4)


@each_nonlinear
def test_given_start(model):
    """An array is where the minimiser begins; it is copied, whatever its type."""
    init = np.random.default_rng(5).normal(size=(60, 2))
    before = init.copy()
    emb = make(model, init=init).fit(X)
    np.testing.assert_array_equal(init, before)
    assert not np.shares_memory(emb.embedding_, init)
    np.testing.assert_array_equal(make(model, init=init.tolist()).fit_transform(X), emb.embedding_)
    if model not in ELASTIC:  # lam="auto" minimises another model first
        stay = make(model, init=init, max_iter=0).fit(X)
        np.testing.assert_array_equal(stay.embedding_, init)


@each_nonlinear
def test_better_than_the_start(model):
    stages = {"exaggeration": ()} if model is ck.TSNE else {"lam": 1.0}
    emb = make(model, init="random", max_iter=59, **stages).fit(X)
    assert emb.history_.objective[-1] < emb.history_.objective[0]


@each_nonlinear
def test_bad_starts(model):
    refuses(r"init has shape \(59, 2\)", model, init=np.zeros((59, 2)))
    refuses(r"init has shape \(60, 3\)", model, init=np.zeros((60, 3)))
    refuses(r"init contains NaN", model, init=np.full((60, 2), np.nan))
    refuses(r"init='pca' needs data", model, init="pca", n_components=5)
    D = pairwise_distances(X)
    refuses(r"init='pca' needs data", model, D, init="pca", metric="precomputed")


@each_nonlinear
def test_a_start_without_extent(model):
    """No gradient moves points apart that agree in a coordinate: the map would be a line."""
    flat = np.column_stack([X[:, 0], np.full(60, 3.0)])
    refuses("column 1 of init has one value for all points", model, init=flat)
    refuses("column 0 of init has one value for all points", model, init=np.zeros((60, 2)))


@pytest.mark.parametrize("model", [ck.SymmetricSNE, ck.SNE])
def test_a_start_too_far_apart(model):
    """exp(−t) of all pairs is 0, so there is no Q."""
    init = 100.0 * np.arange(120.0).reshape(60, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        refuses("not finite at X0.*start from other positions", model, init=init)


def test_diffused_noise_is_smooth_on_the_graph():
    """Close to the smoothest vectors: along edges it changes by little of what it varies."""
    from closeknit.embeddings.initialize import diffused_noise

    X = np.random.default_rng(0).normal(size=(400, 2))
    W = ck.TSNE(perplexity=10, max_iter=0).fit(X).affinities_
    degrees = np.asarray(W.sum(axis=1)).ravel()

    def roughness(Y):
        energy = np.einsum("ij,ij->j", Y, degrees[:, None] * Y - W @ Y)
        return (energy / np.einsum("ij,ij->j", Y, degrees[:, None] * Y)).max()

    Y = diffused_noise(W, 2, random_state=0)
    exact = ck.LaplacianEigenmaps(affinity="precomputed").fit_transform(W)
    noise = np.random.default_rng(1).normal(size=(400, 2))
    assert roughness(Y) < 0.1 * roughness(noise)
    assert roughness(Y) < 10.0 * roughness(exact)
    covariance = Y.T @ (degrees[:, None] * Y)
    np.testing.assert_allclose(covariance, np.eye(2) * covariance[0, 0], atol=1e-10)


def test_diffused_noise_of_many_components():
    """Points of a component begin together; isolated points do no harm."""
    from closeknit.embeddings.initialize import diffused_noise

    W = sparse.csr_matrix(sparse.block_diag([np.ones((5, 5)) - np.eye(5)] * 300 + [[[0.0]]]))
    Y = diffused_noise(W, 2, random_state=0)
    assert np.isfinite(Y).all()
    places = Y[:-1].reshape(300, 5, 2)
    assert places.std(axis=1).max() < 0.2 * places.mean(axis=1).std()
