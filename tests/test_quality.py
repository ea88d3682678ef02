"""Measures of an embedding, against plain NumPy and scikit-learn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import manifold
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

from closeknit.neighbors import Neighbors, find_neighbors
from closeknit.quality import knn_accuracy, neighbor_recall, neighbors_kept, trustworthiness


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8)) * np.linspace(3, 1, 8)
    return X, X[:, :2] + 0.3 * rng.normal(size=(300, 2)), rng.integers(0, 4, 300)


def order(X, metric="euclidean"):
    """All other points of each point, nearest first."""
    distances = pairwise_distances(X, metric=metric)
    np.fill_diagonal(distances, -1.0)
    return np.argsort(distances, axis=1, kind="stable")[:, 1:]


def recall_twin(X, Y, k, rows, metric="euclidean"):
    near, found = order(X, metric)[:, :k], order(Y)[:, :k]
    return np.mean([len(set(near[i]) & set(found[i])) / k for i in rows])


@pytest.mark.parametrize("k", [1, 15, 299])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_recall_is_the_share_of_common_neighbours(data, k, metric):
    X, Y, _ = data
    expected = recall_twin(X, Y, k, range(300), metric)
    assert neighbor_recall(X, Y, k, metric=metric) == pytest.approx(expected, abs=1e-12)


def test_the_recall_is_the_mean_of_what_the_points_keep(data):
    """Each point's share is the recall over a sample of that point alone."""
    X, Y, _ = data
    kept = neighbors_kept(X, Y, 10, n_jobs=1)
    assert kept.mean() == pytest.approx(neighbor_recall(X, Y, 10), abs=1e-12)
    for point in (0, 17, 299):
        assert kept[point] == pytest.approx(recall_twin(X, Y, 10, [point]), abs=1e-12)
    np.testing.assert_array_equal(neighbors_kept(find_neighbors(X, 12), Y, 10), kept)


def test_recall_takes_known_neighbours_sparse_data_and_distances(data):
    X, Y, _ = data
    expected = neighbor_recall(X, Y, 10)
    assert neighbor_recall(find_neighbors(X, 12), Y, 10) == expected
    assert neighbor_recall(sp.csr_array(X), Y, 10) == expected
    assert neighbor_recall(pairwise_distances(X), Y, 10, metric="precomputed") == expected
    assert neighbor_recall(pd.DataFrame(X), pd.DataFrame(Y), 10) == expected


@pytest.mark.parametrize("known", [False, True])
def test_a_sample_averages_over_some_points(data, known):
    """Over which: those that the seed draws; and all of them are all points."""
    X, Y, _ = data
    given = find_neighbors(X, 10) if known else X
    rows = np.random.default_rng(
        np.random.RandomState(3).randint(2**31 - 1)  # how a seed becomes a generator here
    ).choice(300, size=40, replace=False)
    value = neighbor_recall(given, Y, 10, sample=40, random_state=3)
    assert value == pytest.approx(recall_twin(X, Y, 10, rows), abs=1e-12)
    assert neighbor_recall(given, Y, 10, sample=40, random_state=3) == value
    assert neighbor_recall(given, Y, 10, sample=40, random_state=4) != value
    assert neighbor_recall(given, Y, 10, sample=300) == neighbor_recall(given, Y, 10)


@pytest.mark.parametrize("sample", [None, 40])
@pytest.mark.parametrize(
    ("form", "metric"),
    [
        (np.asarray, "euclidean"),
        (sp.csr_array, "euclidean"),
        (pairwise_distances, "precomputed"),
        (lambda X: find_neighbors(X, 60), "euclidean"),
    ],
    ids=["array", "sparse", "distances", "neighbors"],
)
def test_copies_count_as_one_another(form, metric, sample):
    """Which 10 of the 29 others a map has nearest does not matter, if they are copies."""
    X = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 30, axis=0)
    X[:30, 1] = 0.0
    near = np.random.default_rng(1).normal(size=(120, 2))
    Y = near + 100.0 * np.repeat(np.arange(4.0), 30)[:, None]
    given = form(X)
    assert neighbor_recall(given, Y, 10, metric=metric, sample=sample) == 1.0
    shuffled = np.random.default_rng(2).permutation(Y)
    value = neighbor_recall(given, shuffled, 10, metric=metric)
    found, group = order(shuffled)[:, :10], np.repeat(np.arange(4), 30)
    expected = np.mean(group[found] == group[:, None])
    assert value == pytest.approx(expected, abs=1e-12)


def test_samples_do_not_count_the_point_itself_among_duplicates():
    """Fifty copies of each point: a point is not its own neighbour, sampled or not."""
    X = np.repeat(np.arange(4.0), 50)[:, None]
    assert neighbor_recall(X, X, 5, sample=150) == 1.0
    assert knn_accuracy(X, np.repeat(list("abcd"), 50), 5, sample=150) == 1.0
    assert trustworthiness(X, X, 5, sample=150) == 1.0


@pytest.mark.parametrize("k", [1, 5, 149])
def test_trustworthiness_is_scikit_learn_s(data, k):
    X, Y, _ = data
    expected = manifold.trustworthiness(X, Y, n_neighbors=k)
    assert trustworthiness(X, Y, k) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "precomputed"])
def test_trustworthiness_in_other_metrics(data, metric):
    X, Y, _ = data
    given = pairwise_distances(X) if metric == "precomputed" else X
    expected = manifold.trustworthiness(given, Y, n_neighbors=7, metric=metric)
    assert trustworthiness(given, Y, 7, metric=metric) == pytest.approx(expected, abs=1e-12)


def test_trustworthiness_on_digits():
    """Whole-numbered data have ties, which scikit-learn orders at random and we rank alike."""
    X = load_digits().data
    Y = PCA(2).fit_transform(X)
    expected = manifold.trustworthiness(X, Y, n_neighbors=12)
    assert trustworthiness(X, Y, 12) == pytest.approx(expected, abs=1e-3)
    assert trustworthiness(X, Y, 12) >= expected
    assert trustworthiness(X, Y, 12, sample=600) == pytest.approx(expected, abs=0.01)


def test_points_at_equal_distance_share_the_best_rank():
    """Of 100 corners equally far from each other, any five are as good as any other."""
    X = np.eye(100)
    Y = np.random.default_rng(0).normal(size=(100, 2))
    assert (
        trustworthiness(1.0 - np.eye(100), Y, metric="precomputed")
        == 1.0
        == (trustworthiness(X, Y, metric="manhattan"))
    )


def test_sampled_trustworthiness_is_the_average_over_the_sample(data):
    """Many samples average to the whole, within four standard errors."""
    X, Y, _ = data
    values = [trustworthiness(X, Y, 5, sample=60, random_state=seed) for seed in range(30)]
    whole = trustworthiness(X, Y, 5)
    error = np.std(values) / np.sqrt(30)
    assert abs(np.mean(values) - whole) < 4 * error
    assert 0 < error < 0.005


def accuracy_twin(Y, labels, k):
    """Majority of the k nearest, the nearest among the tied, in plain Python."""
    right = 0
    for i, near in enumerate(order(Y)[:, :k]):
        votes = labels[near].tolist()
        most = max(votes.count(v) for v in votes)
        right += next(v for v in votes if votes.count(v) == most) == labels[i]
    return right / len(Y)


@pytest.mark.parametrize("k", [1, 2, 10])
def test_knn_accuracy_is_a_leave_one_out_vote(data, k):
    _, Y, labels = data
    labels = np.where(Y[:, 0] > 0, labels // 2, labels)  # so that there is something to find
    assert knn_accuracy(Y, labels, k) == pytest.approx(accuracy_twin(Y, labels, k), abs=1e-12)


def test_knn_accuracy_on_two_classes_is_scikit_learn_s(data):
    """An odd number of voters on two classes has no ties."""
    _, Y, _ = data
    labels = Y[:, 0] + np.random.default_rng(1).normal(size=300) > 0
    near = KNeighborsClassifier(7).fit(Y, labels).kneighbors(return_distance=False)
    expected = np.mean((labels[near].mean(axis=1) > 0.5) == labels)
    assert knn_accuracy(Y, labels, 7) == pytest.approx(expected, abs=1e-12)


def test_labels_may_be_anything_that_has_names(data):
    _, Y, labels = data
    expected = knn_accuracy(Y, labels, 5)
    names = np.array(["zero", "one", "two", "three"])[labels]
    for same in (names, names.tolist(), names.astype(object), pd.Categorical(names)):
        assert knn_accuracy(Y, same, 5) == expected
    assert knn_accuracy(Y, -labels - 0.5, 5) == expected


@pytest.mark.parametrize("measure", [neighbor_recall, trustworthiness])
def test_threads_do_not_change_the_answer(measure):
    X, _ = load_digits(return_X_y=True)
    X = X[:700] + 1e-3 * np.random.default_rng(0).normal(size=(700, 64))
    values = {measure(X, X[:, 20:23], n_jobs=n_jobs) for n_jobs in (1, 2, 3)}
    assert len(values) == 1


def test_inputs_are_left_alone(data):
    X, Y, labels = (part.copy() for part in data)
    for part in (X, Y, labels):
        part.setflags(write=False)
    neighbor_recall(X, Y)
    trustworthiness(X, Y, sample=10)
    trustworthiness(pairwise_distances(X), Y, metric="precomputed")
    knn_accuracy(Y, labels)
    for part, before in zip((X, Y, labels), data, strict=True):
        np.testing.assert_array_equal(part, before)


@pytest.mark.parametrize("measure", [neighbor_recall, trustworthiness])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"embedding": np.zeros((299, 2))}, "300 points, but the embedding has 299"),
        ({"embedding": np.full((300, 2), np.nan)}, "NaN"),
        ({"embedding": np.zeros(300)}, "Expected 2D array"),
        ({"n_neighbors": 0}, "at least 1"),
        ({"n_neighbors": 300}, "lower n_neighbors to 299"),
        ({"sample": 0}, "sample=0 must be a number of points"),
        ({"sample": 0.5}, "sample=0.5 must be a number of points"),
        ({"metric": "precomputed"}, "square matrix of distances"),
    ],
)
def test_bad_arguments_are_named(data, measure, change, message):
    X, Y, _ = data
    arguments = {"embedding": Y, "n_neighbors": 5, **change}
    with pytest.raises(ValueError, match=message):
        measure(X, **arguments)


def test_too_few_known_neighbours(data):
    X, Y, _ = data
    with pytest.raises(ValueError, match=r"point 0 has only 5 known neighbours; lower n_neighbors"):
        neighbor_recall(find_neighbors(X, 5), Y, 6)
    elsewhere = Neighbors(np.zeros((300, 5), dtype=int), np.zeros((300, 5)), n_targets=7)
    with pytest.raises(ValueError, match="among themselves"):
        neighbor_recall(elsewhere, Y, 5)


def test_trustworthiness_needs_all_distances(data):
    X, Y, _ = data
    with pytest.raises(TypeError, match="use neighbor_recall with Neighbors"):
        trustworthiness(find_neighbors(X, 5), Y)
    with pytest.raises(TypeError, match="pass a dense matrix"):
        trustworthiness(sp.csr_array(pairwise_distances(X)), Y, metric="precomputed")
    with pytest.raises(ValueError, match="lower it to 149"):
        trustworthiness(X, Y, 150)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(299), r"shape \(300,\)"),
        (np.zeros((300, 1)), r"shape \(300,\)"),
        ([*[1.0] * 299, np.nan], "label of point 299 is missing"),
        (["a", None, *["b"] * 298], "label of point 1 is missing"),
    ],
)
def test_bad_labels_are_named(data, labels, message):
    with pytest.raises(ValueError, match=message):
        knn_accuracy(data[1], labels)
