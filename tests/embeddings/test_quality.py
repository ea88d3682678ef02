"""How good the minima are: against scikit-learn's t-SNE, and the directions against each other."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE as SklearnTSNE
from sklearn.manifold import trustworthiness

import closeknit as ck
from closeknit import objectives
from closeknit.graphs import symmetrize
from closeknit.minimize import minimize


@pytest.mark.slow
def test_tsne_is_no_worse_than_scikit_learn_s_exact_tsne(digits):
    """KL of both embeddings on our P (dense, all pairs), from the same starts, by default.

    On average over the thirds of the digits: on one alone either may find the better minimum.
    """
    divergences = []
    for Z in np.array_split(digits(1797)[0], 3):
        init = PCA(2, svd_solver="full").fit_transform(Z)
        init *= 1e-4 / init[:, 0].std()
        ours = ck.TSNE(perplexity=30.0, n_neighbors=None, init=init).fit(Z)
        theirs = SklearnTSNE(perplexity=30.0, method="exact", init=init.astype(np.float32)).fit(Z)
        P = symmetrize(ck.EntropicAffinities(30.0, n_neighbors=None).fit_transform(Z))
        objective = objectives.TSNE(P)
        reference = objective.value(theirs.embedding_, 1.0) - objective.entropy
        assert reference == pytest.approx(theirs.kl_divergence_, rel=1e-3)  # the same P
        assert ours.kl_divergence_ == pytest.approx(
            objective.value(ours.embedding_, 1.0) - objective.entropy, rel=1e-9
        )
        divergences.append((ours.kl_divergence_, reference))
    mean_of_ours, mean_of_theirs = np.mean(divergences, axis=0)
    assert mean_of_ours <= mean_of_theirs


@pytest.mark.parametrize(
    "model", [ck.TSNE, ck.SymmetricSNE, ck.SNE, ck.ElasticEmbedding, ck.TElasticEmbedding]
)
def test_embeddings_of_digits_show_the_digits(model, digits, knn_accuracy):
    """Neighbours in the embedding are neighbours in the data, and of the same class."""
    Z, y = digits(400)
    emb = model(perplexity=15.0, max_iter=200, random_state=0).fit(Z)
    assert trustworthiness(Z, emb.embedding_, n_neighbors=10) > 0.94
    assert knn_accuracy(emb.embedding_, y) > knn_accuracy(Z, y) - 0.1


def test_eigenmaps_of_a_curve_order_it():
    """The first coordinate of a noisy arc is monotone along it."""
    angle = np.sort(np.random.default_rng(0).uniform(0.0, np.pi, 150))
    Z = np.c_[np.cos(angle), np.sin(angle)]
    Y = ck.LaplacianEigenmaps(1, perplexity=10.0).fit_transform(Z)[:, 0]
    rank = np.argsort(np.argsort(Y))
    assert abs(np.corrcoef(rank, np.arange(150))[0, 1]) > 0.999


@pytest.mark.parametrize("model", [ck.TSNE, ck.TElasticEmbedding])
@pytest.mark.parametrize("repulsion", ["exact", "grid"])
def test_clusters_that_hardly_know_each_other_stay_in_sight(model, repulsion, digits):
    """At a low perplexity digits fall apart; line searches put them millions of units away."""
    Z, _ = digits(600)
    emb = model(perplexity=5.0, repulsion=repulsion, random_state=0).fit(Z)
    away = np.linalg.norm(emb.embedding_ - np.median(emb.embedding_, axis=0), axis=1)
    assert away.max() < 4.0 * np.median(away)
    assert away.max() < 500.0


@pytest.fixture(scope="module")
def swiss_roll():
    from sklearn.datasets import make_swiss_roll

    Z, _ = make_swiss_roll(100, random_state=0)
    return symmetrize(ck.EntropicAffinities(12.0, n_neighbors=None).fit_transform(Z))


@pytest.mark.parametrize(
    ("model", "lam"), [(objectives.ElasticEmbedding, 100.0), (objectives.SymmetricSNE, 1.0)]
)
def test_directions_reach_the_same_minimum(swiss_roll, model, lam):
    """SD, L-BFGS, CG and spectral L-BFGS from a start near a minimum: equal to 1e-6."""
    problem = model(swiss_roll).at(lam)
    rng = np.random.default_rng(1)
    found = minimize(
        problem, 0.1 * rng.normal(size=(100, 2)), "spectral-lbfgs", max_iter=3000, tol=1e-13
    )
    scale = found.X.std()
    start = found.X + 1e-3 * scale * rng.normal(size=found.X.shape)
    assert problem.value(start) > found.value
    ends = {
        direction: minimize(problem, start, direction, max_iter=5000, tol=1e-13).value
        for direction in ("spectral", "lbfgs", "cg", "spectral-lbfgs")
    }
    lowest = min(ends.values())
    for direction, value in ends.items():
        assert abs(value - lowest) <= 1e-6 * abs(lowest), (direction, ends)
    assert abs(found.value - lowest) <= 1e-6 * abs(lowest)


@pytest.mark.parametrize("model", [ck.SymmetricSNE, ck.ElasticEmbedding])
def test_estimators_end_at_a_minimum(model):
    """The gradient is small against the attraction alone, in every direction the same value."""
    from sklearn.datasets import load_iris

    Z = load_iris().data[::2]
    options = {"lam": 10.0} if model is ck.ElasticEmbedding else {}
    first = model(perplexity=10.0, max_iter=2000, tol=1e-12, random_state=0, **options).fit(Z)
    near = first.embedding_
    for direction in ("spectral", "lbfgs", "cg"):
        again = model(
            perplexity=10.0, max_iter=2000, tol=1e-12, init=near, direction=direction, **options
        ).fit(Z)
        assert again.objective_ == pytest.approx(first.objective_, rel=1e-6)
        assert again.objective_ <= first.objective_ * (1 + 1e-15)


def test_homotopy_is_no_worse_than_one_minimisation(swiss_roll):
    """EE along λ = 0.01 … 100 ends at least as deep as a random start at λ = 100 (figure 3)."""
    options = {"affinity": "precomputed", "max_iter": 150, "init": "random"}
    path = ck.ElasticEmbedding(lam=np.geomspace(1e-2, 100.0, 6), random_state=0, **options)
    path.fit(swiss_roll)
    assert len(path.path_.results) == 6
    worst = max(
        ck.ElasticEmbedding(lam=100.0, random_state=seed, **options).fit(swiss_roll).objective_
        for seed in range(3)
    )
    assert path.objective_ <= worst * (1 + 1e-6)
