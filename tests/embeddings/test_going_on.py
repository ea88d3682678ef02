"""`optimize` goes on where a fit has ended, or was cut short."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

import closeknit as ck
from closeknit.quality import neighbor_recall

X = load_digits().data[:200]


@pytest.mark.parametrize(
    "model",
    [
        ck.TSNE(),
        ck.TSNE(direction="momentum"),
        ck.SymmetricSNE(),
        ck.SNE(),
        ck.ElasticEmbedding(lam=0.03),
        ck.TElasticEmbedding(lam=0.1),
    ],
    ids=lambda model: repr(model),
)
def test_two_parts_are_as_good_as_one(model):
    model.set_params(random_state=0, tol=0, perplexity=10)
    whole = clone(model).set_params(max_iter=160).fit(X)
    model.set_params(max_iter=80).fit(X).optimize(80)
    assert model.objective_ <= whole.objective_ + 5e-3 * abs(whole.objective_)
    kept = [neighbor_recall(X, m.embedding_, 10) for m in (whole, model)]
    assert kept[1] >= kept[0] - 0.01


@pytest.fixture(scope="module")
def fitted():
    return ck.TSNE(max_iter=40, random_state=0).fit(X)


def test_counts_go_on(fitted):
    model = ck.TSNE(max_iter=40, random_state=0, tol=0).fit(X)
    n_iter, before = model.n_iter_, model.history_
    states = []
    model.set_params(callback=states.append)
    assert model.optimize(10) is model
    assert model.n_iter_ == n_iter + 10
    assert [state.iteration for state in states] == list(range(n_iter + 1, n_iter + 11))
    history = model.history_
    np.testing.assert_array_equal(history.objective[: len(before)], before.objective)
    assert (np.diff(history.iteration) >= 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    assert (np.diff(history.evaluations) >= 0).all()
    assert len(model.path_.results) == len(model.path_.lams) == 6
    assert model.path_.results[-1].n_iter == 50
    assert history.stage[-1] == 5
    assert model.objective_ == history.objective[-1]


def test_a_fit_that_was_cut_short_is_completed():
    cut = ck.TSNE(random_state=0, callback=lambda state: state.iteration == 30).fit(X)
    assert cut.lam_ == pytest.approx(1 / 6)
    cut.set_params(callback=None).optimize(1000)
    whole = ck.TSNE(random_state=0).fit(X)
    np.testing.assert_allclose(cut.path_.lams, whole.path_.lams)
    assert [r.n_iter for r in cut.path_.results[:-1]] == [
        r.n_iter for r in whole.path_.results[:-1]
    ]
    assert cut.kl_divergence_ == pytest.approx(whole.kl_divergence_, rel=0.01)


def test_an_automatic_lambda_is_found_later():
    cut = ck.ElasticEmbedding(random_state=0, callback=lambda state: state.iteration == 5).fit(X)
    cut.set_params(callback=None).optimize(1000)
    whole = ck.ElasticEmbedding(random_state=0).fit(X)
    assert cut.lam_ == pytest.approx(whole.lam_, rel=0.01)
    assert cut.objective_ == pytest.approx(whole.objective_, rel=0.01)


def test_a_loaded_model_goes_on(tmp_path, fitted):
    ck.io.save(fitted, tmp_path / "map.closeknit")
    loaded = ck.io.load(tmp_path / "map.closeknit")
    loaded.optimize(20)
    assert loaded.kl_divergence_ < fitted.kl_divergence_
    assert loaded.transform(X[:3] + 0.1).shape == (3, 2)


def test_a_time_limit_counts_anew(fitted):
    model = ck.TSNE(random_state=0, time_limit=0.0).fit(X)
    assert model.stopped_because_ == "time_limit"
    model.set_params(time_limit=1000.0).optimize(20)
    assert model.stopped_because_ == "max_iter"


def test_what_cannot_go_on_says_so():
    with pytest.raises(NotFittedError):
        ck.TSNE().optimize()
    model = ck.ElasticEmbedding(lam=1.0, max_iter=2, repulsive_weights="sqdistances").fit(X)
    with pytest.raises(ValueError, match="repulsive_weights"):
        model.optimize(5)
    P = ck.entropic_affinities(X, 10)[0]
    sne = ck.SNE(affinity="precomputed", max_iter=2).fit(P)
    with pytest.raises(ValueError, match="given affinities only the symmetric part"):
        sne.optimize(5)


@pytest.mark.parametrize("n_iter", [0, -1, 2.5, "many"])
def test_wrong_numbers(fitted, n_iter):
    with pytest.raises(ValueError, match="n_iter="):
        fitted.optimize(n_iter)


def test_one_line_each(fitted):
    for printed in map(repr, (fitted.history_, fitted.path_, fitted.path_.results[-1])):
        assert "\n" not in printed
        assert len(printed) < 120
    states = []
    ck.TSNE(max_iter=1, exaggeration=None, callback=states.append).fit(X)
    assert repr(states[0]).startswith("State(iteration 1, objective ")
    assert "nan" not in repr(states[0])
