"""Metrics with parameters of their own, and those that some data do not suit."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances

import closeknit as ck
from closeknit.neighbors import AllPoints, ApproximateIndex, find_neighbors

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 5))

PARAMETERS = [
    ("minkowski", {"p": 3}),
    ("minkowski", {"p": 2, "w": np.arange(1.0, 6.0)}),
    ("seuclidean", {"V": np.arange(1.0, 6.0)}),
    ("mahalanobis", {"VI": np.diag(np.arange(1.0, 6.0))}),
]


@pytest.mark.parametrize(("metric", "params"), PARAMETERS)
@pytest.mark.parametrize("n_neighbors", [15, None])
def test_metric_params_reach_the_metric(metric, params, n_neighbors):
    distances = pairwise_distances(X, metric=metric, **params)
    expected = ck.EntropicAffinities(5, n_neighbors=n_neighbors, metric="precomputed")
    given = ck.EntropicAffinities(5, n_neighbors=n_neighbors, metric=metric, metric_params=params)
    np.testing.assert_allclose(given.fit(X).sigmas_, expected.fit(distances).sigmas_, rtol=1e-8)
    new = given.transform(X[:3] + 0.1)
    rows = pairwise_distances(X[:3] + 0.1, X, metric=metric, **params)
    difference = new - expected.transform(rows)
    assert abs(difference).max() < 1e-8


@pytest.mark.parametrize(
    "model",
    [
        ck.TSNE(max_iter=5),
        ck.LaplacianEigenmaps(),
        ck.ElasticEmbedding(lam=1.0, max_iter=5, repulsive_weights="sqdistances"),
        ck.SpectralClustering(2),
    ],
)
def test_estimators_pass_them_on(model):
    model.set_params(perplexity=5, random_state=0, metric="minkowski", metric_params={"p": 3})
    model.fit(X)
    other = type(model)(**{**model.get_params(), "metric_params": {"p": 1}}).fit(X)
    assert model.affinity_estimator_.metric_params == {"p": 3}
    assert abs(model.affinities_ - other.affinities_).max() > 1e-3


def test_variances_are_those_of_the_fitted_points():
    """Whole rows use them, too, whatever the rows asked for."""
    ((_, block),) = AllPoints(X, "seuclidean").blocks(X[:2])
    expected = pairwise_distances(X[:2], X, "seuclidean", V=X.var(axis=0, ddof=1))
    np.testing.assert_allclose(block, expected**2)


@pytest.mark.parametrize(
    ("metric", "params", "words"),
    [
        ("euclidean", {"p": 3}, "has no parameters"),
        ("cosine", {"w": 3}, "has no parameters"),
        ("manhattan", {"p": 3}, "does not take metric_params"),
        ("minkowski", [3], "must be a dict"),
    ],
)
def test_parameters_that_a_metric_does_not_have(metric, params, words):
    for n_neighbors in (15, None):
        model = ck.EntropicAffinities(
            5, n_neighbors=n_neighbors, metric=metric, metric_params=params
        )
        with pytest.raises(ValueError, match=words):
            model.fit(X)


def test_sparse_data_and_a_metric_for_dense_ones():
    with pytest.raises(ValueError, match=r"metric='jaccard' needs dense data; .*X\.toarray\(\)"):
        find_neighbors(
            sparse.random(60, 20, 0.3, format="csr", random_state=0), 5, metric="jaccard"
        )


def test_a_singular_covariance():
    Z = np.column_stack([X, X[:, 0] - 2.0 * X[:, 1]])
    with pytest.raises(ValueError, match="vary in only 5 of 6 directions; leave out features"):
        find_neighbors(Z, 5, metric="mahalanobis")
    Z[:, 5] = 1.0
    with pytest.raises(ValueError, match="feature 5 is constant; leave it out"):
        find_neighbors(Z, 5, metric="seuclidean")


def test_an_approximate_search_tells_the_recall_it_has_measured(tmp_path):
    points = rng.normal(size=(3000, 20))
    index = ApproximateIndex(target_recall=0.9).fit(points)
    assert index.recall_ is None
    found = index.self_neighbors(10)
    assert 0.9 <= index.recall_ <= 1.0
    true = find_neighbors(points, 10, neighbors="exact")
    pairs = zip(found.indices, true.indices, strict=True)
    kept = np.mean([np.isin(a, b).mean() for a, b in pairs])
    assert abs(kept - index.recall_) < 0.05
    model = ck.EntropicAffinities(3, neighbors=ApproximateIndex()).fit(points)
    ck.io.save(model, tmp_path / "a.closeknit")
    assert ck.io.load(tmp_path / "a.closeknit").index_.recall_ == model.index_.recall_
