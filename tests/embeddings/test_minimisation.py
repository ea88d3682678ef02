"""Directions, callbacks, limits and stages of the embeddings."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.minimize import LBFGS, SpectralDirection
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


def make(model, **options):
    """The estimator with a small perplexity, few iterations and a seed."""
    options = {"perplexity": 5.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 15)
    return model(**options)


def array(P):
    return P.toarray() if sparse.issparse(P) else np.asarray(P)


@each_nonlinear
@pytest.mark.parametrize("direction", [name for name, cls in DIRECTIONS.items() if cls.monotone])
def test_every_direction_decreases_the_objective(model, direction):
    stages = {"exaggeration": ()} if model is ck.TSNE else {}
    lam = {} if model in NORMALIZED else {"lam": 1.0}
    start = 0.3 * np.random.default_rng(2).normal(size=(60, 2))
    emb = make(model, direction=direction, init=start, **stages, **lam).fit(X)
    objective = emb.history_.objective
    assert len(objective) > 2
    assert (np.diff(objective) <= 0.0).all()
    assert objective[-1] < objective[0] - 1e-3 * abs(objective[0])
    assert emb.objective_ == objective[-1]


@each_nonlinear
def test_directions_may_be_objects(model):
    for name, direction in (("spectral", SpectralDirection()), ("lbfgs", LBFGS())):
        np.testing.assert_array_equal(
            make(model, direction=direction).fit_transform(X),
            make(model, direction=name).fit_transform(X),
        )
    emb = make(model, direction=SpectralDirection(n_neighbors=7)).fit(X)
    assert np.isfinite(emb.embedding_).all()


@each_nonlinear
def test_callbacks_are_called_and_may_stop(model):
    """One call that returns True is enough, whatever stages the model goes through."""
    calls = []

    def stop(state):
        calls.append(state.value)
        return len(calls) == 3

    emb = make(model, callback=stop, max_iter=50).fit(X)
    assert len(calls) == 3
    assert emb.stopped_because_ == "callback"
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.objective_)
    assert np.isfinite(emb.transform(X_NEW)).all()


@each_nonlinear
def test_time_limit(model):
    emb = make(model, time_limit=0.0).fit(X)
    assert emb.stopped_because_ == "time_limit"
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(X_NEW)).all()


@each_nonlinear
def test_max_iter_and_tol(model):
    few = make(model, max_iter=2, tol=0.0).fit(X)
    assert few.n_iter_ == 2 * len(few.path_.results)
    assert few.stopped_because_ == "max_iter"
    assert make(model, max_iter=500, tol=1e-2).fit(X).stopped_because_ == "tol"
    few = make(model, max_iter=np.int64(2)).fit(X)
    assert few.n_iter_ <= 2 * len(few.path_.results)


@each_nonlinear
def test_homotopy_follows_a_list_of_lambdas(model):
    """path_ holds a result for each λ; the last is the model's."""
    lams = [0.01, 0.1, 1.0]
    emb = make(model, lam=lams).fit(X)
    np.testing.assert_array_equal(emb.path_.lams, lams)
    assert len(emb.path_.results) == 3
    assert emb.path_.stopped_because == "end of path"
    assert emb.lam_ == 1.0
    np.testing.assert_array_equal(emb.embedding_, emb.path_.X)
    assert emb.objective_ == emb.path_.results[-1].value
    assert len(emb.history_) == sum(len(result.history) for result in emb.path_.results)
    same = make(model, lam=np.array(lams)).fit(X)
    np.testing.assert_array_equal(same.embedding_, emb.embedding_)


@each_nonlinear
def test_callbacks_see_every_iteration_of_every_stage(model):
    """Counted on from stage to stage, with the λ of each."""
    states = []
    emb = make(model, callback=states.append).fit(X)
    assert [state.iteration for state in states] == list(range(1, emb.n_iter_ + 1))
    assert {state.stage for state in states} == set(range(len(emb.path_.results)))
    assert all(state.lam == emb.path_.lams[state.stage] for state in states)


def test_every_direction_has_stages_of_exaggeration():
    for name, direction in DIRECTIONS.items():
        emb = make(ck.TSNE, direction=name, max_iter=1).fit(X)
        factors = [1.0 / lam for lam in emb.path_.lams]
        np.testing.assert_allclose(factors, [*(f for f, _ in direction.exaggeration), 1.0])


@each_nonlinear
def test_homotopy_with_numpy_s_integers(model):
    """max_iter may come out of an array, as anywhere in scikit-learn."""
    emb = make(model, lam=[0.1, 1.0], max_iter=np.int64(3)).fit(X)
    assert emb.n_iter_ <= 3 * len(emb.path_.results)


@each_nonlinear
@pytest.mark.parametrize(
    "lams", [[1.0, 0.1], [0.1, 0.1], [0.0, 1.0], [-1.0, 1.0], [], [0.1, np.nan]]
)
def test_lambdas_that_do_not_increase(model, lams):
    with pytest.raises(ValueError, match="lam must hold positive, strictly increasing numbers"):
        make(model, lam=lams).fit(X)


def test_exaggeration_is_a_homotopy_in_lambda():
    """λ divided by the factors, then λ."""
    emb = make(ck.TSNE, exaggeration=((12.0, 5), (4.0, 3)), tol=0.0).fit(X)
    np.testing.assert_allclose(emb.path_.lams, [1 / 12, 1 / 4, 1.0])
    assert [result.n_iter for result in emb.path_.results][:2] == [5, 3]
    assert emb.lam_ == 1.0
    assert len(make(ck.TSNE, exaggeration=()).fit(X).path_.results) == 1


@pytest.mark.parametrize("exaggeration", [((0.0, 5),), ((12.0, -1),), ((12.0,),), ((12.0, 5, 1),)])
def test_exaggeration_that_makes_no_sense(exaggeration):
    with pytest.raises(ValueError, match="exaggeration="):
        make(ck.TSNE, exaggeration=exaggeration).fit(X)


@pytest.mark.parametrize("exaggeration", [((2.0, 5), (12.0, 5)), ((1.0, 5),), ((0.5, 5),)])
def test_exaggeration_that_does_not_decrease_to_one(exaggeration):
    """The message names the parameter that is wrong."""
    with pytest.raises(ValueError, match="exaggeration"):
        make(ck.TSNE, exaggeration=exaggeration).fit(X)
