"""The elastic embedding: its automatic λ, and repulsive weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

import closeknit as ck
from closeknit import objectives

X = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 6.0, 20, axis=0)
X.setflags(write=False)
X_NEW = np.random.default_rng(1).normal(size=(9, 4))
ELASTIC = [ck.ElasticEmbedding, ck.TElasticEmbedding]
each_elastic = pytest.mark.parametrize("model", ELASTIC)


def make(model, **options):
    """The estimator with a small perplexity, few iterations and a seed."""
    options = {"perplexity": 5.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 15)
    return model(**options)


def refuses(match, model, data=X, **options):
    with pytest.raises(ValueError, match=match) as error:
        make(model, **options).fit(data)
    assert "\n" not in str(error.value).strip()
    return str(error.value)


def objective_of(model, emb):
    elastic = model is ck.ElasticEmbedding
    kind = objectives.ElasticEmbedding if elastic else objectives.TElasticEmbedding
    return kind(emb.affinities_)


@each_elastic
def test_lam_auto_balances_attraction_and_repulsion(model):
    """λ Σ K = Σ w⁺ at the solution, as for s-SNE and t-SNE."""
    emb = make(model, max_iter=500, tol=1e-8).fit(X)
    t = np.square(pairwise_distances(emb.embedding_))
    K = 1 / (1 + t) if model is ck.TElasticEmbedding else np.exp(-t)
    np.fill_diagonal(K, 0.0)
    assert emb.lam_ * K.sum() == pytest.approx(emb.affinities_.sum(), rel=0.02)


@each_elastic
def test_lam_auto_is_a_minimum_of_the_normalized_model(model):
    """EE at its λ and s-SNE (t-EE and t-SNE) agree: the gradients are proportional."""
    emb = make(model, max_iter=1000, tol=1e-10).fit(X)
    twin = objectives.TSNE if model is ck.TElasticEmbedding else objectives.SymmetricSNE
    objective = twin(emb.affinities_)
    _, gradient = objective.value_and_gradient(emb.embedding_, 1.0)
    _, attraction = objective.value_and_gradient(emb.embedding_, 0.0)
    assert np.linalg.norm(gradient) < 1e-3 * np.linalg.norm(attraction)


@each_elastic
@pytest.mark.parametrize("n", [200, 1000])
def test_lam_auto_is_good_at_any_number_of_points(model, n, digits, knn_accuracy):
    """Digits are as far apart with n = 200 as with n = 1000."""
    Z, y = digits(n)
    emb = model(perplexity=15.0, random_state=0, max_iter=59).fit(Z)
    baseline = knn_accuracy(Z, y)
    assert knn_accuracy(emb.embedding_, y) > baseline - 0.12


@each_elastic
def test_a_number_is_lambda_as_it_is(model):
    emb = make(model, lam=100.0).fit(X)
    assert emb.lam_ == 100.0
    assert len(emb.path_.results) == 1


@each_elastic
def test_finding_lambda_is_a_stage_that_counts(model):
    """The normalised model at λ = 1, then this one; max_iter is for each."""
    states = []
    emb = make(model, max_iter=4, tol=0.0, callback=states.append).fit(X)
    assert emb.n_iter_ == len(states) == 8
    np.testing.assert_array_equal(emb.path_.lams, [1.0, emb.lam_])
    assert [state.stage for state in states] == [0] * 4 + [1] * 4
    np.testing.assert_array_equal(emb.history_.stage, [0] * 5 + [1] * 5)


@each_elastic
def test_an_early_stop_still_gives_lambda_and_objective(model):
    """At the positions reached by the normalised model."""
    emb = make(model, callback=lambda state: True).fit(X)
    objective = objective_of(model, emb)
    assert len(emb.path_.results) == 1
    assert emb.objective_ == pytest.approx(objective.value(emb.embedding_, emb.lam_), rel=1e-12)
    assert emb.lam_ * objective.value_and_gradient(emb.embedding_, 1.0)[0].parts[1] == (
        pytest.approx(emb.affinities_.sum(), rel=1e-9)
    )


@each_elastic
def test_repulsive_weights(model):
    """Ones, squared distances (the first EE paper) or given."""
    ones = make(model, lam=10.0, repulsive_weights=np.ones((60, 60))).fit_transform(X)
    plain = make(model, lam=10.0).fit_transform(X)
    np.testing.assert_allclose(ones, plain, rtol=1e-4, atol=1e-5)
    squared = np.square(pairwise_distances(X))
    by_name = make(model, lam=1.0, repulsive_weights="sqdistances", max_iter=2).fit(X)
    given = make(model, lam=1.0, repulsive_weights=squared, max_iter=2).fit(X)
    assert by_name.objective_ == pytest.approx(given.objective_, rel=1e-9)
    auto = make(model, repulsive_weights="sqdistances").fit(X)
    assert np.isfinite(auto.embedding_).all()
    assert np.isfinite(auto.transform(X_NEW)).all()


@each_elastic
def test_repulsive_weights_as_a_function_of_distances(model):
    squared = np.square(pairwise_distances(X, metric="cityblock"))
    by_rule = make(
        model, lam=1.0, repulsive_weights=np.sqrt, metric="cityblock", max_iter=2, init="diffusion"
    ).fit(X)
    given = make(
        model,
        lam=1.0,
        repulsive_weights=np.sqrt(squared),
        metric="cityblock",
        max_iter=2,
        init="diffusion",
    ).fit(X)
    assert by_rule.objective_ == pytest.approx(given.objective_, rel=1e-9)
    assert by_rule.new_point_repulsion_ == pytest.approx(given.new_point_repulsion_)


@each_elastic
@pytest.mark.parametrize(
    ("weigh", "saying"),
    [
        (lambda d: 1.0, r"given shape \(60, 60\) and returned \(\)"),
        (lambda d: d[:, :5], r"returned \(60, 5\)"),
        (lambda d: -d, "finite and not negative"),
        (lambda d: np.where(d > 1.0, np.nan, d), "finite and not negative"),
        (lambda d: np.where(d > 1.0, np.inf, d), "finite and not negative"),
    ],
)
def test_functions_that_give_no_weights(model, weigh, saying):
    with pytest.raises(ValueError, match=saying):
        make(model, lam=1.0, repulsive_weights=weigh, max_iter=2).fit(X)


@each_elastic
def test_what_a_function_returns_is_not_changed(model):
    weights = np.ones((60, 60))
    make(model, lam=1.0, repulsive_weights=lambda d: weights, max_iter=2).fit(X)
    assert (weights == 1.0).all()


@each_elastic
def test_sparse_repulsive_weights(model):
    W = np.square(pairwise_distances(X))
    W[np.median(W) > W] = 0.0
    thin = make(model, lam=1.0, repulsive_weights=sparse.csr_matrix(W), max_iter=5).fit(X)
    full = make(model, lam=1.0, repulsive_weights=W, max_iter=5).fit(X)
    assert thin.objective_ == pytest.approx(full.objective_, rel=1e-9)
    np.testing.assert_allclose(thin.transform(X_NEW), full.transform(X_NEW), rtol=1e-5)


@each_elastic
def test_squared_distances_on_the_grid(model):
    """Near the exact sums, with the authors' scaling and λ; new points read the grid."""
    options = {"lam": 100.0, "repulsive_weights": "sqdistances", "scaling": "unit", "max_iter": 30}
    grid = make(model, repulsion="grid", **options).fit(X)
    exact = make(model, repulsion="exact", **options).fit(X)
    assert not grid.repulsion_.is_exact
    assert exact.repulsion_.is_exact
    assert grid.objective_ == pytest.approx(exact.objective_, rel=0.05)
    assert np.isfinite(grid.transform(X_NEW)).all()


@each_elastic
def test_scalings_give_the_same_map_at_lambdas_that_correspond(model):
    """λ of "unit" is λ / (n − 1) of "given", for the map and for new points."""
    unit = make(model, lam=590.0, scaling="unit", tol=1e-9).fit(X)
    given = make(model, lam=10.0, tol=1e-9).fit(X)
    assert unit.affinities_.sum() == pytest.approx(1.0)
    assert 60 * unit.objective_ == pytest.approx(given.objective_, rel=1e-6)
    assert unit.new_point_repulsion_ == pytest.approx(given.new_point_repulsion_)


@each_elastic
def test_an_automatic_lambda_balances_in_either_scaling(model):
    unit, given = (make(model, scaling=s).fit(X) for s in ("unit", "given"))
    assert unit.lam_ == pytest.approx(59.0 * given.lam_, rel=1e-6)
    attractive = unit.history_.attractive  # of the same model in both stages
    assert attractive[-1] == pytest.approx(given.history_.attractive[-1] / 60.0, rel=1e-3)
    assert unit.history_.repulsive[0] * unit.lam_ == pytest.approx(
        given.history_.repulsive[0] * given.lam_ / 60.0, rel=1e-3
    )


@each_elastic
def test_the_diagonal_of_repulsive_weights_means_nothing(model):
    """Neither for the fit nor for new points."""
    ones = make(model, lam=10.0, repulsive_weights=np.ones((60, 60))).fit(X)
    none = make(model, lam=10.0, repulsive_weights=np.ones((60, 60)) - np.eye(60)).fit(X)
    np.testing.assert_array_equal(none.embedding_, ones.embedding_)
    np.testing.assert_allclose(none.transform(X_NEW), ones.transform(X_NEW), rtol=1e-10)


@each_elastic
def test_repulsive_distances_of_sparse_data(model):
    dense = make(model, lam=1.0, repulsive_weights="sqdistances", init="eigenmaps").fit(X)
    S = sparse.csr_matrix(X)
    thin = make(model, lam=1.0, repulsive_weights="sqdistances", init="eigenmaps").fit(S)
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-4)


@each_elastic
def test_bad_repulsive_weights(model):
    refuses(r"repulsive_weights='ones' must be", model, repulsive_weights="ones")
    refuses(
        r"repulsive_weights must be square and of the affinities",
        model,
        repulsive_weights=np.ones((3, 3)),
    )
    refuses(r"repulsive_weights must be finite", model, repulsive_weights=-np.ones((60, 60)))
