"""transform: new points among fitted ones that stay where they are."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

import closeknit as ck
from closeknit.affinities import EntropicAffinities, FixedAffinities
from closeknit.embeddings.out_of_sample import place
from closeknit.kernels import GAUSSIAN, STUDENT

GAUSS = [ck.SymmetricSNE, ck.SNE, ck.ElasticEmbedding]
NONLINEAR = [ck.TSNE, ck.TElasticEmbedding, *GAUSS]
ALL = [*NONLINEAR, ck.LaplacianEigenmaps]
each = pytest.mark.parametrize("model", ALL)
each_nonlinear = pytest.mark.parametrize("model", NONLINEAR)

RNG = np.random.default_rng(0)
CENTRES = 5.0 * np.eye(4, 5)
X = np.repeat(CENTRES, 25, axis=0) + RNG.normal(size=(100, 5))
X_NEW = np.repeat(CENTRES, 5, axis=0) + RNG.normal(size=(20, 5))


def make(model, **options):
    options = {"perplexity": 8.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 59)
    return model(**options)


@pytest.fixture(scope="module")
def fitted():
    """One fit of each model, on the same data."""
    cache = {}

    def fit(model):
        if model not in cache:
            cache[model] = make(model).fit(X)
        return cache[model]

    return fit


# Rows do not know each other


@each
def test_fitted_rows_are_the_fitted_points(model, fitted):
    """All of them, duplicates too, and any of them by coincidence; placed anew if asked for."""
    emb = fitted(model)
    assert emb.transform(X.copy()).tobytes() == emb.embedding_.tobytes()
    np.testing.assert_array_equal(emb.transform(X[[7, 3]]), emb.embedding_[[7, 3]])
    twice = make(model).fit(np.vstack([X, X[:5]]))
    assert twice.transform(np.vstack([X, X[:5]])).tobytes() == twice.embedding_.tobytes()
    beside = X + 1e-12 * np.random.default_rng(3).normal(size=X.shape)
    there = emb.transform(beside)
    spread = emb.embedding_.std()
    np.testing.assert_allclose(emb.transform(X, as_new=True), there, atol=1e-4 * spread)
    assert np.abs(emb.embedding_ - there).max() > 1e-3 * spread


@each
def test_a_row_does_not_depend_on_its_batch(model, fitted):
    """transform(X_new)[i] == transform(X_new[i : i + 1])[0], bit for bit."""
    emb = fitted(model)
    mixed = np.vstack([X_NEW, X[:3], 1e3 * X_NEW[:2]])
    together = emb.transform(mixed)
    assert together.shape == (25, 2)
    for i in range(len(mixed)):
        assert emb.transform(mixed[i : i + 1])[0].tobytes() == together[i].tobytes()
    assert emb.transform(mixed[::-1])[::-1].tobytes() == together.tobytes()


@each
@pytest.mark.parametrize(
    "options",
    [
        {"n_neighbors": None},
        {"affinity": FixedAffinities()},
        {"n_components": 1},
        {"n_components": 5, "init": "eigenmaps"},
    ],
    ids=["dense", "fixed", "1d", "5d"],
)
def test_a_row_does_not_depend_on_its_batch_with_other_options(model, options):
    if model is ck.LaplacianEigenmaps:
        options = {name: value for name, value in options.items() if name != "init"}
    else:
        options = {"max_iter": 10, **options}
    emb = make(model, **options).fit(X)
    together = emb.transform(X_NEW)
    for i in (0, 7, 19):
        assert emb.transform(X_NEW[i : i + 1])[0].tobytes() == together[i].tobytes()


@each
def test_precomputed_rows_do_not_depend_on_their_batch(model):
    D = pairwise_distances(X)
    D_new = pairwise_distances(X_NEW, X)
    emb = make(model, metric="precomputed").fit(D)
    together = emb.transform(D_new)
    for i in (0, 7, 19):
        assert emb.transform(D_new[i : i + 1])[0].tobytes() == together[i].tobytes()


@each
def test_same_bits_for_any_number_of_threads(model, fitted):
    emb = fitted(model)
    before = emb.n_jobs
    try:
        one, two, three = (emb.set_params(n_jobs=j).transform(X_NEW) for j in (1, 2, 3))
    finally:
        emb.set_params(n_jobs=before)
    assert one.tobytes() == two.tobytes() == three.tobytes()


# Fitted points


@each
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_fitted_points_are_where_they_are(model, n_neighbors):
    """transform of what was fitted is embedding_, to the bit."""
    few = {} if model is ck.LaplacianEigenmaps else {"max_iter": 10}
    emb = make(model, n_neighbors=n_neighbors, **few).fit(X)
    np.testing.assert_array_equal(emb.transform(X), emb.embedding_)
    np.testing.assert_array_equal(emb.transform(X[40:43]), emb.embedding_[40:43])


@each
def test_fitted_points_of_sparse_data(model):
    S = sparse.random(80, 30, density=0.3, random_state=0, format="csr")
    few = {} if model is ck.LaplacianEigenmaps else {"max_iter": 10}
    emb = make(model, **few).fit(S)
    np.testing.assert_array_equal(emb.transform(S), emb.embedding_)
    placed = emb.transform(S[:5])
    np.testing.assert_array_equal(placed, emb.embedding_[:5])


@each
def test_the_fit_stays_as_it_is(model, fitted):
    emb = fitted(model)
    before, new = emb.embedding_.copy(), X_NEW.copy()
    placed = emb.transform(new)
    placed[:] = 0.0
    emb.transform(X)[:] = 0.0
    np.testing.assert_array_equal(emb.embedding_, before)
    np.testing.assert_array_equal(new, X_NEW)


# Where new points land


@each
def test_new_points_land_in_their_cluster(model, fitted):
    emb = fitted(model)
    near = KNeighborsClassifier(5).fit(emb.embedding_, np.repeat(np.arange(4), 25))
    assert near.score(emb.transform(X_NEW), np.repeat(np.arange(4), 5)) >= 0.95


@each_nonlinear
def test_new_digits_land_near_their_class(model, digits):
    """400 digits are fitted, 200 placed: about as well classified as in the data."""
    Z, y = digits(600)
    emb = make(model, perplexity=15.0, max_iter=59).fit(Z[:400])
    near = KNeighborsClassifier(5).fit(emb.embedding_, y[:400])
    baseline = KNeighborsClassifier(5).fit(Z[:400], y[:400]).score(Z[400:], y[400:])
    assert near.score(emb.transform(Z[400:]), y[400:]) > baseline - 0.12


def test_eigenmaps_place_at_the_mean_of_the_neighbours(fitted):
    """Where Σ q ‖x − x_m‖² is least."""
    emb = fitted(ck.LaplacianEigenmaps)
    Q = EntropicAffinities(8.0).fit(X).transform(X_NEW)
    np.testing.assert_allclose(emb.transform(X_NEW), Q @ emb.embedding_, rtol=1e-10, atol=1e-13)


def share(emb, Q, y):
    """A new point's part of E at y: Σ q (−log K) + (its weight) Σ K, over the fitted points."""
    t = np.square(y - emb.embedding_).sum(axis=1)
    if isinstance(emb, ck.TSNE | ck.TElasticEmbedding):
        attraction, K = np.log1p(t), 1 / (1 + t)
    else:
        attraction, K = t, np.exp(-t)
    return (Q * attraction).sum() + emb.new_point_repulsion_ * K.sum()


@each_nonlinear
def test_placed_points_are_stationary(model, fitted):
    """The gradient of each point's own share vanishes, by finite differences."""
    emb = fitted(model)
    Q = EntropicAffinities(8.0).fit(X).transform(X_NEW).toarray()
    placed = emb.transform(X_NEW)
    spread = emb.embedding_.std()
    h = 1e-4 * spread
    for q, y in zip(Q, placed, strict=True):
        slopes, curvatures = [], []
        here = share(emb, q, y)
        for step in h * np.eye(2):
            ahead, behind = share(emb, q, y + step), share(emb, q, y - step)
            slopes.append((ahead - behind) / (2 * h))
            curvatures.append((ahead - 2 * here + behind) / h**2)
        # How far the minimum still is, by Newton's step, compared to the embedding.
        distance = np.linalg.norm(slopes) / max(np.abs(curvatures).max(), 1e-12)
        assert distance < 1e-4 * spread
        assert min(curvatures) > -1e-3 * max(curvatures)


@each_nonlinear
def test_placed_points_are_below_their_start(model, fitted):
    """Each point's share is no larger than at the mean of its neighbours, where it starts."""
    emb = fitted(model)
    Q = EntropicAffinities(8.0).fit(X).transform(X_NEW).toarray()
    for q, y in zip(Q, emb.transform(X_NEW), strict=True):
        assert share(emb, q, y) <= share(emb, q, q @ emb.embedding_) * (1 + 1e-12)


@pytest.mark.parametrize("model", [ck.SymmetricSNE, ck.TSNE])
def test_weight_of_the_repulsion(model, fitted):
    """λ n / S: a new point's attraction counts 1/n of P's."""
    emb = fitted(model)
    t = np.square(emb.embedding_[:, None] - emb.embedding_[None]).sum(axis=2)
    K = 1 / (1 + t) if model is ck.TSNE else np.exp(-t)
    np.fill_diagonal(K, 0.0)
    assert emb.new_point_repulsion_ == pytest.approx(100 / K.sum(), rel=1e-10)


# The solver alone


@pytest.mark.parametrize("kernel", [GAUSSIAN, STUDENT], ids=["gaussian", "student"])
@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize("repulsion", [0.0, 0.05, 0.5])
def test_place_finds_a_stationary_point(kernel, d, repulsion):
    """Analytic gradient of Σ q (−log K) + ρ Σ K at the returned positions."""
    rng = np.random.default_rng(d)
    embedding = rng.normal(size=(50, d))
    Q = sparse.random(12, 50, density=0.2, random_state=0, format="csr")
    Q = sparse.csr_matrix(Q.multiply(1 / Q.sum(axis=1)))
    placed = place(Q, embedding, kernel, repulsion, max_iter=2000, tol=1e-10)
    gap = placed[:, None] - embedding[None]
    t = np.square(gap).sum(axis=2)
    K = kernel.K(t)
    k1 = -(K**2) if kernel is STUDENT else -K
    w = Q.toarray() * (K if kernel is STUDENT else 1.0)
    gradient = 2 * ((w + repulsion * k1)[:, :, None] * gap).sum(axis=1)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-6)


def test_place_without_repulsion_is_the_mean():
    """For quadratic attraction; Student's attraction has its own minimum."""
    embedding = np.random.default_rng(0).normal(size=(20, 2))
    Q = sparse.csr_matrix(np.full((3, 20), 0.05))
    np.testing.assert_allclose(
        place(Q, embedding, GAUSSIAN, 0.0), Q @ embedding, rtol=1e-6, atol=1e-8
    )


def test_place_changes_nothing_it_is_given():
    embedding = np.random.default_rng(0).normal(size=(20, 2))
    Q = sparse.csr_matrix(np.full((3, 20), 0.05))
    before = embedding.copy(), Q.data.copy()
    place(Q, embedding, STUDENT, 0.1)
    np.testing.assert_array_equal(embedding, before[0])
    np.testing.assert_array_equal(Q.data, before[1])


# Hard input


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@each
@pytest.mark.parametrize("scale", [1e3, 1e6, 1e100])
def test_far_away_points_are_finite_and_near(model, fitted, scale):
    """Affinities are relative: a far point has neighbours too, and stays near them.

    (From 1e100 away all fitted points are equally far, for which there is a warning.)
    """
    emb = fitted(model)
    placed = emb.transform(scale * X_NEW)
    assert np.isfinite(placed).all()
    centre, radius = emb.embedding_.mean(axis=0), np.abs(emb.embedding_).max()
    assert (np.abs(placed - centre) < 10 * radius).all()


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@each
def test_duplicates_of_fitted_points(model):
    """A new point on several fitted ones is one of them."""
    Z = np.vstack([X, X[:5], X[:5]])
    few = {} if model is ck.LaplacianEigenmaps else {"max_iter": 10}
    emb = make(model, **few).fit(Z)
    placed = emb.transform(X[:5])
    for i in range(5):
        choices = emb.embedding_[[i, 100 + i, 105 + i]]
        assert (placed[i] == choices).all(axis=1).any()


@each
def test_one_new_point_and_many(model, fitted):
    emb = fitted(model)
    assert emb.transform(X_NEW[:1]).shape == (1, 2)
    many = np.tile(X_NEW, (20, 1))
    placed = emb.transform(many)
    np.testing.assert_array_equal(placed, np.tile(placed[:20], (20, 1)))
