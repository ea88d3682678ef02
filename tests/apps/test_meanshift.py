"""Mean shift with a bandwidth for each point, against a plain twin and known modes."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from skimage import data
from sklearn import cluster as sklearn_cluster
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import closeknit as ck
from closeknit.apps import ascent, mode_search
from closeknit.apps.ascent import Ascent
from closeknit.exceptions import NotConvergedWarning
from closeknit.progress import listening


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(
        240, centers=[[0, 0], [9, 0], [0, 9]], cluster_std=[0.5, 1.0, 2.0], random_state=0
    )
    X.setflags(write=False)
    return X, y


def log_density(x: np.ndarray, X: np.ndarray, sigmas: np.ndarray) -> float:
    """log Σ σ^(−D) exp(−‖x − x_n‖² / 2σ_n²)."""
    exponents = -0.5 * ((x - X) ** 2).sum(axis=1) / sigmas**2
    return float(logsumexp(exponents - X.shape[1] * np.log(sigmas)))


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")
@parametrize_with_checks([ck.MeanShift(perplexity=4, max_iter=100)])
def test_scikit_learn_checks(estimator, check):
    """(The checks fit integer data with ties.)"""
    check(estimator)


def test_finds_blobs_of_different_spread(blobs):
    X, y = blobs
    model = ck.MeanShift(60).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.98
    assert model.cluster_centers_.shape == (3, 2)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_centres_are_modes_of_the_density(blobs):
    """With all points as neighbours: where SciPy's minimiser ends, started at each centre."""
    X, _ = blobs
    model = ck.MeanShift(60, n_neighbors=239, tol=1e-7, max_iter=5000).fit(X)
    for centre in model.cluster_centers_:
        best = minimize(lambda x: -log_density(x, X, model.sigmas_), centre, tol=1e-10)
        np.testing.assert_allclose(centre, best.x, atol=1e-4)


def test_one_step_is_the_weighted_mean(blobs):
    """x ← Σ w x_n / Σ w with w = σ^(−D−2) exp(−‖x − x_n‖² / 2σ²), which increases the density."""
    X, _ = blobs
    model = ck.MeanShift(20, n_neighbors=239).fit(X)
    starts = X[::30]
    after = model.density_.evaluate(starts, model.density_.search(starts))[1]
    for x, moved in zip(starts, after, strict=True):
        weights = np.exp(-0.5 * ((x - X) ** 2).sum(axis=1) / model.sigmas_**2)
        weights *= model.sigmas_**-4.0
        np.testing.assert_allclose(moved, weights @ X / weights.sum(), rtol=1e-10)
        assert log_density(moved, X, model.sigmas_) >= log_density(x, X, model.sigmas_)


def test_equal_bandwidths_cluster_like_scikit_learn():
    """Well apart blobs of one spread: both find them."""
    X, _ = make_blobs(200, centers=[[0, 0], [12, 0], [0, 12], [12, 12]], random_state=0)
    theirs = sklearn_cluster.MeanShift(bandwidth=3.0).fit_predict(X)
    assert adjusted_rand_score(theirs, ck.MeanShift(40).fit_predict(X)) == 1.0


def test_more_perplexity_means_fewer_modes(blobs):
    X, _ = blobs
    counts = [len(ck.MeanShift(k).fit(X).cluster_centers_) for k in (5, 15, 60)]
    assert counts[0] > counts[1] > counts[2] == 3


def test_new_points_ascend_on_their_own(blobs):
    X, _ = blobs
    model = ck.MeanShift(60).fit(X)
    new = np.random.default_rng(1).normal(size=(20, 2)) + X[:20]
    labels = model.predict(new)
    np.testing.assert_array_equal([model.predict(row[None])[0] for row in new], labels)
    centres = np.array([[0, 0], [9, 0], [0, 9]], dtype=float)
    own = model.predict(centres)
    assert len(set(own.tolist())) == 3
    near = np.linalg.norm(model.cluster_centers_[own] - centres, axis=1)
    assert (near < 1.5).all()


def test_labels_are_numbered_by_size_and_name_their_centres(blobs):
    X, _ = blobs
    model = ck.MeanShift(15).fit(X)
    counts = np.bincount(model.labels_)
    assert (np.diff(counts) <= 0).all()
    assert len(counts) == len(model.cluster_centers_)
    np.testing.assert_array_equal(
        model.predict(model.cluster_centers_), np.arange(len(model.cluster_centers_))
    )


def test_merge_joins_modes(blobs):
    X, _ = blobs
    few, many = (ck.MeanShift(15, merge=merge).fit(X) for merge in (30.0, 1.0))
    assert len(few.cluster_centers_) < len(many.cluster_centers_)


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
def test_duplicates():
    """Places with more points than the perplexity have σ = 0 and are modes of their own."""
    X = np.repeat([[0.0, 0.0], [5.0, 0.0]], 30, axis=0)
    labels = ck.MeanShift(5).fit_predict(X)
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 30))
    assert not ck.MeanShift(5).fit_predict(np.zeros((20, 2))).any()


@pytest.mark.parametrize("n_jobs", [1, 3, None])
def test_same_bits_for_any_number_of_threads(blobs, n_jobs):
    one, other = (ck.MeanShift(15, n_jobs=jobs).fit(blobs[0]) for jobs in (2, n_jobs))
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)
    np.testing.assert_array_equal(one.labels_, other.labels_)


def test_too_few_steps_warn(blobs):
    with pytest.warns(NotConvergedWarning, match="of 240 points still moved after max_iter=2"):
        model = ck.MeanShift(30, max_iter=2).fit(blobs[0])
    assert model.n_iter_ == 2
    assert len(model.labels_) == 240


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"perplexity": 240.0}, "perplexity"),
        ({"n_neighbors": None}, "n_neighbors=None has no meaning here"),
        ({"n_neighbors": 240}, "n_neighbors=240 needs at least 241 points"),
        ({"neighbors": ([[1]], [[1.0]])}, "not the neighbours themselves"),
        ({"merge": 0.0}, "merge=0.0 must be a positive number"),
        ({"tol": 0.0}, "tol=0.0 must lie between 0 and 1"),
        ({"max_iter": 0}, "max_iter=0 must be an integer of at least 1"),
    ],
)
def test_wrong_parameters(blobs, parameters, message):
    with pytest.raises(ValueError, match=message):
        ck.MeanShift(**parameters).fit(blobs[0])


@pytest.fixture
def generations(monkeypatch):
    """Let even few points follow the trajectories of others."""
    monkeypatch.setattr(mode_search, "FIRST", 8)


@pytest.mark.parametrize("perplexity", [15, 60])
def test_following_trajectories_hardly_changes_labels(blobs, monkeypatch, perplexity):
    X, _ = blobs
    alone = ck.MeanShift(perplexity).fit(X)
    assert alone.trajectories_ is None
    monkeypatch.setattr(mode_search, "FIRST", 8)
    together = ck.MeanShift(perplexity).fit(X)
    assert together.trajectories_ is not None
    assert len(together.ends_.leaders) < 0.6 * len(X)
    assert adjusted_rand_score(alone.labels_, together.labels_) > 0.97


@pytest.mark.usefixtures("generations")
def test_points_that_followed_others_are_predicted_as_they_were_fitted(blobs):
    X, _ = blobs
    model = ck.MeanShift(15).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    new = X[:20] + 0.1
    together = model.predict(new)
    np.testing.assert_array_equal([model.predict(row[None])[0] for row in new], together)


@pytest.mark.usefixtures("generations")
def test_batches_do_not_matter(blobs, monkeypatch):
    one = ck.MeanShift(15).fit(blobs[0])
    monkeypatch.setattr(mode_search, "BATCH", 7)
    monkeypatch.setattr("closeknit._threads._BUDGET", 100 * 64)
    other = ck.MeanShift(15).fit(blobs[0])
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.cluster_centers_, other.cluster_centers_)


def test_shortcuts_hardly_change_the_segments_of_a_photograph(monkeypatch):
    """Against plain steps with new neighbours at each: only trajectories may move a border."""
    X = ck.apps.pixel_features(data.astronaut()[::12, ::12])
    monkeypatch.setattr(mode_search, "FIRST", 128)
    together = ck.MeanShift(30).fit(X)
    monkeypatch.setattr(mode_search, "FIRST", 10**6)
    alone = ck.MeanShift(30).fit(X)
    monkeypatch.setattr(ascent, "GROWTH", 1.0)
    monkeypatch.setattr(ascent, "SEARCH", 0.0)
    plain = ck.MeanShift(30).fit(X)
    assert len(together.ends_.leaders) < 0.5 * len(X)
    assert alone.n_iter_ < 0.5 * plain.n_iter_
    assert adjusted_rand_score(plain.labels_, alone.labels_) > 0.99
    assert adjusted_rand_score(plain.labels_, together.labels_) > 0.99


def test_generations_hold_all_points_once(monkeypatch):
    monkeypatch.setattr(mode_search, "FIRST", 3)
    sizes = []
    for n in (1, 11, 12, 13, 200):
        generations = mode_search._generations(n)
        np.testing.assert_array_equal(np.sort(np.concatenate(generations)), np.arange(n))
        sizes.append(len(generations))
    assert sizes == [1, 1, 2, 2, 4]


def test_stretched_steps_need_fewer_and_end_at_the_same_modes(blobs, monkeypatch):
    """GROWTH = 1 leaves plain steps, which end at the same modes to within the tolerance."""
    X, _ = blobs
    stretched = ck.MeanShift(15, n_neighbors=239, tol=1e-6, max_iter=5000).fit(X)
    monkeypatch.setattr(ascent, "GROWTH", 1.0)
    plain = ck.MeanShift(15, n_neighbors=239, tol=1e-6, max_iter=5000).fit(X)
    assert stretched.n_iter_ < 0.7 * plain.n_iter_
    np.testing.assert_array_equal(stretched.labels_, plain.labels_)
    np.testing.assert_allclose(stretched.cluster_centers_, plain.cluster_centers_, atol=1e-3)


def test_no_stretched_step_lowers_the_density(blobs):
    """With all points as neighbours, along every trajectory."""
    X, _ = blobs
    model = ck.MeanShift(15, n_neighbors=239).fit(X)
    starts = X[::40]
    near = model.density_.search(starts)
    points = Ascent(model.density_, starts, near, 1e-3, None)
    trajectories = {start: [] for start in range(len(starts))}

    def record(some, places):
        for point, place in zip(some, places, strict=True):
            trajectories[point].append(log_density(place, X, model.sigmas_))

    points.run(300, record, 0, len(starts))
    assert not len(points.moving)
    for logs in trajectories.values():
        assert (np.diff(logs) > -1e-9).all()


def test_progress_is_reported(blobs):
    reported = []
    with listening(lambda event: reported.append((event.stage, event.done, event.total))):
        ck.MeanShift(15).fit(blobs[0])
    stages = list(dict.fromkeys(stage for stage, _, _ in reported))
    assert stages == ["neighbours", "affinities", "modes"]
    done = [count for stage, count, _ in reported if stage == "modes"]
    assert done == sorted(done)
    assert reported[-1] == ("modes", 240, 240)


def interrupting(at):
    """A listener that interrupts when so many points have arrived."""

    def listen(event):
        if event.stage == "modes" and event.done >= at:
            raise KeyboardInterrupt

    return listening(listen)


def test_interrupt_before_any_point_arrived_leaves_an_earlier_fit(blobs):
    X, _ = blobs
    model = ck.MeanShift(60).fit(X)
    assert model.stopped_because_ == "converged"
    before = model.labels_.copy()
    with interrupting(0), pytest.raises(KeyboardInterrupt):
        model.set_params(perplexity=15).fit(X)
    np.testing.assert_array_equal(model.labels_, before)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("at", [1, 60, 150])
@pytest.mark.parametrize("first", [10, 1024])
def test_interrupt_keeps_the_points_that_have_arrived(blobs, monkeypatch, at, first):
    """Together, or in generations; the others are labelled -1 and form no cluster."""
    monkeypatch.setattr(mode_search, "FIRST", first)
    X, _ = blobs
    whole = ck.MeanShift(60).fit(X)
    model = ck.MeanShift(60)
    with interrupting(at), pytest.warns(NotConvergedWarning, match="interrupted: .* labelled -1"):
        model.fit(X)
    assert model.stopped_because_ == "interrupted"
    arrived = model.labels_ >= 0
    assert at <= arrived.sum() < len(X)
    assert set(model.labels_[arrived]) == set(range(len(model.cluster_centers_)))
    assert adjusted_rand_score(whole.labels_[arrived], model.labels_[arrived]) == 1.0
    # New points ascend the density of all points, and reach the modes that were found.
    assert (model.predict(X[arrived]) == model.labels_[arrived]).mean() > 0.99
    assert (model.predict(X) >= 0).all()


def test_saved_state_names_every_fitted_attribute(blobs):
    model = ck.MeanShift(60).fit(blobs[0])
    assert vars(model).keys() == {*model.get_params(), *model.saved_state}
