"""What fitted embeddings know: objective, divergence, affinities, history."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

import closeknit as ck
from closeknit import objectives
from closeknit.affinities import EntropicAffinities
from closeknit.graphs import symmetrize
from closeknit.minimize import StopReason

X = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 6.0, 20, axis=0)
X.setflags(write=False)
NORMALIZED = [ck.TSNE, ck.SymmetricSNE, ck.SNE]
ELASTIC = [ck.ElasticEmbedding, ck.TElasticEmbedding]
NONLINEAR = [*NORMALIZED, *ELASTIC]
ALL = [*NONLINEAR, ck.LaplacianEigenmaps]
OBJECTIVE = {
    ck.TSNE: objectives.TSNE,
    ck.SymmetricSNE: objectives.SymmetricSNE,
    ck.SNE: objectives.SNE,
    ck.ElasticEmbedding: objectives.ElasticEmbedding,
    ck.TElasticEmbedding: objectives.TElasticEmbedding,
}
each = pytest.mark.parametrize("model", ALL)
each_nonlinear = pytest.mark.parametrize("model", NONLINEAR)
each_elastic = pytest.mark.parametrize("model", ELASTIC)


def make(model, **options):
    """The estimator with a small perplexity, few iterations and a seed."""
    options = {"perplexity": 5.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 15)
    return model(**options)


def array(P):
    return P.toarray() if sparse.issparse(P) else np.asarray(P)


@each_nonlinear
@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
def test_attributes(model, n_components):
    """For any number of components (init: eigenmaps from four up)."""
    emb = make(model, n_components=n_components)
    Y = emb.fit_transform(X)
    assert Y is emb.embedding_
    assert Y.shape == (60, n_components)
    assert Y.dtype == np.float64
    assert np.isfinite(Y).all()
    assert isinstance(emb.objective_, float)
    assert isinstance(emb.n_iter_, int)
    assert 0 < emb.n_iter_ <= 15 * len(emb.path_.results)
    assert isinstance(emb.stopped_because_, StopReason)
    history = emb.history_
    for column in fields(history):
        assert len(getattr(history, column.name)) == len(history)
    assert (np.diff(history.iteration) >= 0).all()
    assert (np.diff(history.evaluations) > 0).all()
    assert (np.diff(history.seconds) >= 0.0).all()
    assert history.objective[-1] == pytest.approx(emb.objective_, rel=1e-12)
    assert len(history.to_frame()) == len(history)
    assert emb.affinities_.shape == (60, 60)
    assert emb.n_features_in_ == 4
    assert emb.n_iter_ == sum(result.n_iter for result in emb.path_.results)


@each_nonlinear
def test_objective_is_the_model_at_the_embedding(model):
    """objective_ = E(embedding_; lam_) on affinities_."""
    emb = make(model).fit(X)
    given = emb.affinities_
    if model is ck.SNE:
        given = EntropicAffinities(5.0).fit_transform(X)
    objective = OBJECTIVE[model](given)
    assert objective.value(emb.embedding_, emb.lam_) == pytest.approx(emb.objective_, rel=1e-12)


@pytest.mark.parametrize("model", NORMALIZED)
@pytest.mark.parametrize("lam", [1.0, 0.5, [0.1, 1.0], [0.1, 0.5]])
def test_kl_divergence(model, lam):
    """KL(P‖Q) at λ = 1, whatever λ was minimised; for SNE the sum over rows."""
    emb = make(model, lam=lam, n_neighbors=None).fit(X)
    P = EntropicAffinities(5.0, n_neighbors=None).fit_transform(X)
    Y = emb.embedding_
    t = np.square(Y[:, None] - Y[None]).sum(axis=2)
    np.fill_diagonal(t, np.inf)
    log_K = -np.log1p(t) if model is ck.TSNE else -t
    if model is ck.SNE:
        log_Q = log_K - logsumexp(log_K, axis=1, keepdims=True)
    else:
        P, log_Q = (P + P.T) / P.sum() / 2, log_K - logsumexp(log_K)
    some = P > 0.0
    kl = (P[some] * (np.log(P[some]) - log_Q[some])).sum()
    assert emb.kl_divergence_ == pytest.approx(kl, rel=1e-9)
    assert emb.kl_divergence_ >= 0.0


@each_elastic
def test_unnormalized_models_have_no_kl_divergence(model):
    assert not hasattr(make(model).fit(X), "kl_divergence_")


@each
def test_attributes_exist_only_after_fit(model):
    emb = make(model)
    for name in ("embedding_", "objective_", "kl_divergence_", "history_", "path_"):
        assert not hasattr(emb, name)
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        emb.transform(X)


@each
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_affinities_are_symmetric_and_without_diagonal(model, n_neighbors):
    """A CSR matrix, as documented, also where every pair has an affinity."""
    W = make(model, n_neighbors=n_neighbors).fit(X).affinities_
    assert sparse.issparse(W)
    assert (W != W.T).nnz == 0
    assert (W.diagonal() == 0.0).all()
    found = EntropicAffinities(5.0, n_neighbors=n_neighbors).fit_transform(X)
    expected = array(symmetrize(found))
    if model in (ck.TSNE, ck.SymmetricSNE):
        expected = expected / expected.sum()
    np.testing.assert_allclose(W.toarray(), expected, rtol=1e-9, atol=1e-15)


@each_nonlinear
@pytest.mark.parametrize("direction", ["auto", "gradient", "spectral-minus"])
def test_number_of_iterations_is_that_of_the_history(model, direction):
    """One row for the start of each stage, and one for every iteration."""
    emb = make(model, direction=direction).fit(X)
    history, n_stages = emb.history_, len(emb.path_.results)
    assert history.iteration[-1] == emb.n_iter_
    assert len(history) == emb.n_iter_ + n_stages
    np.testing.assert_array_equal(history.lam, emb.path_.lams[history.stage])
    last = history.objective[history.stage == n_stages - 1]
    falls = direction != "auto" or model not in (ck.TSNE, ck.TElasticEmbedding)
    assert (np.diff(last) <= 0.0).all() if falls else last[-1] < last[0]  # momentum may rise


@each_nonlinear
def test_the_history_shows_the_objective_at_one_lambda(model):
    """Also in the stages before: the parts E⁺ and E⁻ are those of the model itself."""
    seen = []
    emb = make(model, callback=lambda state: seen.append(state.X.copy())).fit(X)
    given = EntropicAffinities(5.0).fit_transform(X) if model is ck.SNE else emb.affinities_
    objective = OBJECTIVE[model](given)
    shown = emb.history_.objective_at(emb.lam_)[~np.isnan(emb.history_.step)]
    expected = [objective.value(Y, emb.lam_) for Y in seen]
    np.testing.assert_allclose(shown, expected, rtol=1e-9)


@each
def test_what_is_saved_is_what_was_fitted(model):
    """Everything that a fit sets, and nothing that is derived from it."""
    emb = make(model).fit(X)
    fitted = vars(emb).keys() - emb.get_params().keys()
    assert fitted == set(model.saved_state)
