"""Blurring mean shift against X ← PX written out, and what is known of it in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import closeknit as ck
from closeknit.apps.blurring import blur
from closeknit.exceptions import NotConvergedWarning
from closeknit.progress import listening


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(
        240, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=[0.5, 1.0, 2.0], random_state=0
    )
    X.setflags(write=False)
    return X, y


def iterate(X, sigmas, count):
    """X ← PX with all pairs, so many times."""
    for _ in range(count):
        P = np.exp(-0.5 * np.square(cdist(X, X) / sigmas[:, None]))
        X = P / P.sum(axis=1, keepdims=True) @ X
    return X


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")
@parametrize_with_checks([ck.BlurringMeanShift(perplexity=4, max_iter=100)])
def test_scikit_learn_checks(estimator, check):
    """(The checks fit integer data with ties.)"""
    check(estimator)


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NotConvergedWarning")
@pytest.mark.parametrize("count", [1, 2, 5, 20])
def test_iterations_against_all_pairs(blobs, count):
    """As long as no two points have met, to rounding; then to the distance at which they do."""
    X, _ = blobs
    model = ck.BlurringMeanShift(30, n_neighbors=239, max_iter=count).fit(X)
    expected = iterate(X, model.sigmas_, model.n_iter_)
    errors = np.linalg.norm(model.places_ - expected, axis=1) / model.sigmas_
    assert errors.max() < (1e-9 if count <= 2 else 2e-3)


def test_a_gaussian_shrinks_as_it_must():
    """Standard deviation s becomes s³ / (s² + σ²): convergence is cubic."""
    n, s, sigma = 2001, 1.0, 0.7
    x = s * norm.ppf((np.arange(n) + 0.5) / n)[:, None]
    near = np.tile(np.arange(n, dtype=np.int32), (n, 1))
    for _ in range(2):
        x = blur(x, x, np.ones(n), np.full(n, sigma), near, 1)
        s = s**3 / (s**2 + sigma**2)
        assert x.std() == pytest.approx(s, rel=0.01)


@pytest.mark.parametrize("n_neighbors", ["auto", 100])
def test_finds_blobs_although_few_neighbours_count(blobs, n_neighbors):
    """Fewer neighbours than a cluster has points: those that met count as one."""
    X, y = blobs
    model = ck.BlurringMeanShift(30, n_neighbors=n_neighbors).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    np.testing.assert_array_equal(model.labels_, ck.BlurringMeanShift(30).fit_predict(X))
    assert model.stopped_because_ == "converged"
    assert model.n_iter_ < ck.MeanShift(30).fit(X).n_iter_
    sizes = np.bincount(model.labels_)
    assert (np.diff(sizes) <= 0).all()
    nearest = cdist(model.places_, model.cluster_centers_).argmin(axis=1)
    np.testing.assert_array_equal(nearest, model.labels_)


def test_points_that_met_weigh_as_many(blobs):
    """One place of three points draws others as three points in that place do."""
    rng = np.random.default_rng(0)
    places, sigmas = rng.normal(size=(6, 2)), rng.uniform(0.5, 1.0, 6)
    representatives, sizes = places[:4], np.array([1.0, 3.0, 1.0, 2.0])
    near = np.tile(np.arange(4, dtype=np.int32), (6, 1))
    repeated = np.repeat(representatives, sizes.astype(int), axis=0)
    P = np.exp(-0.5 * np.square(cdist(places, repeated) / sigmas[:, None]))
    expected = P / P.sum(axis=1, keepdims=True) @ repeated
    np.testing.assert_allclose(
        blur(places, representatives, sizes, sigmas, near, 1), expected, rtol=1e-12
    )


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
def test_duplicates():
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 20, axis=0)
    model = ck.BlurringMeanShift(3).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, [[0.0, 0.0], [5.0, 5.0]], atol=1e-9)


@pytest.mark.parametrize("n_jobs", [1, 3, None])
def test_same_bits_for_any_number_of_threads(blobs, n_jobs):
    X, _ = blobs
    expected = ck.BlurringMeanShift(20).fit(X).places_
    np.testing.assert_array_equal(ck.BlurringMeanShift(20, n_jobs=n_jobs).fit(X).places_, expected)


def test_too_few_iterations_warn(blobs):
    with pytest.warns(NotConvergedWarning, match="still moved after max_iter=1 iterations"):
        model = ck.BlurringMeanShift(30, max_iter=1).fit(blobs[0])
    assert (model.stopped_because_, model.n_iter_) == ("max_iter", 1)


def test_wrong_parameters(blobs):
    with pytest.raises(ValueError, match="n_neighbors=None has no meaning here"):
        ck.BlurringMeanShift(n_neighbors=None).fit(blobs[0])
    with pytest.raises(ValueError, match="tol=2 must lie between 0 and 1"):
        ck.BlurringMeanShift(tol=2).fit(blobs[0])


def test_interrupt_leaves_an_earlier_fit(blobs):
    def interrupt(event):
        if (event.stage, event.done) == ("blurring", 2):
            raise KeyboardInterrupt

    model = ck.BlurringMeanShift(30).fit(blobs[0])
    before = {name: value for name, value in vars(model).items() if name.endswith("_")}
    with listening(interrupt), pytest.raises(KeyboardInterrupt):
        model.fit(2.0 * blobs[0])
    for name, value in before.items():
        assert getattr(model, name) is value, name
