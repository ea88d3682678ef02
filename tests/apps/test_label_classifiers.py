"""Label propagation and spreading against dense solutions, closed forms and scikit-learn's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import semi_supervised
from sklearn.utils.estimator_checks import parametrize_with_checks

import closeknit as ck
from closeknit.exceptions import DisconnectedWarning, NotConvergedWarning
from closeknit.graphs import laplacian

BOTH = [ck.LabelPropagation, ck.LabelSpreading]
both = pytest.mark.parametrize("model", BOTH)


def few(y: np.ndarray, every: int = 20) -> np.ndarray:
    return np.where(np.arange(len(y)) % every == 0, y, -1)


def path(n: int) -> np.ndarray:
    return np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")
@parametrize_with_checks([ck.LabelPropagation(2), ck.LabelSpreading(2)])
def test_scikit_learn_checks(estimator, check):
    """(The checks fit integer data with ties.)"""
    check(estimator)


# Equations


def test_propagation_is_harmonic(digits, digits_graph):
    """L_uu f_u = W_ul y_l, by LAPACK."""
    y = few(digits[1])
    model = ck.LabelPropagation(affinity="precomputed", tol=1e-10).fit(digits_graph, y)
    given = (y[:, None] == np.arange(10)).astype(float)
    u, L = y < 0, laplacian(digits_graph).toarray()
    expected = np.linalg.solve(L[np.ix_(u, u)], -L[np.ix_(u, ~u)] @ given[~u])
    np.testing.assert_allclose(model.label_distributions_[u], expected, atol=1e-8)
    np.testing.assert_array_equal(model.label_distributions_[~u], given[~u])
    np.testing.assert_array_equal(model.transduction_[~u], y[~u])


@pytest.mark.parametrize("alpha", [0.2, 0.9, 0.999])
def test_spreading_solves_its_equation(digits, digits_graph, alpha):
    """F = αSF + (1 − α)Y, by LAPACK, then rows that sum to 1."""
    y = few(digits[1])
    model = ck.LabelSpreading(alpha=alpha, affinity="precomputed", tol=1e-11)
    model.fit(digits_graph, y)
    roots = np.sqrt(np.asarray(digits_graph.sum(axis=1)).ravel())
    S = digits_graph.toarray() / np.outer(roots, roots)
    given = (y[:, None] == np.arange(10)).astype(float)
    F = np.linalg.solve(np.eye(len(y)) - alpha * S, (1.0 - alpha) * given)
    expected = F / F.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-6)


def test_path_interpolates():
    """On a path between two labels the harmonic function is linear."""
    y = np.full(11, -1)
    y[0], y[10] = 0, 1
    model = ck.LabelPropagation(affinity="precomputed", tol=1e-12).fit(path(11), y)
    np.testing.assert_allclose(model.label_distributions_[:, 1], np.linspace(0.0, 1.0, 11))


def test_a_walk_meets_the_nearer_label_first():
    """Edges of a path with different weights: resistances add up."""
    W = np.diag([1.0, 2.0, 4.0], 1)
    model = ck.LabelPropagation(affinity="precomputed", tol=1e-12)
    model.fit(W + W.T, [0, -1, -1, 1])
    resistance = np.array([0.0, 1.0, 1.5, 1.75])
    np.testing.assert_allclose(model.label_distributions_[:, 1], resistance / 1.75)


def test_two_cliques(cliques):
    W = cliques(6, 9, bridge=0.1)
    y = np.full(15, -1)
    y[0], y[14] = 7, 3
    for model in BOTH:
        found = model(affinity="precomputed").fit(W, y)
        np.testing.assert_array_equal(found.classes_, [3, 7])
        np.testing.assert_array_equal(found.transduction_, [7] * 6 + [3] * 9)


def test_spreading_overrules_a_wrong_label(cliques):
    W = cliques(10, 10, bridge=0.1)
    y = np.repeat([0, 1], 10)
    y[4] = 1
    assert ck.LabelSpreading(affinity="precomputed").fit(W, y).transduction_[4] == 0
    assert ck.LabelPropagation(affinity="precomputed").fit(W, y).transduction_[4] == 1


# Against scikit-learn


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (
            ck.LabelPropagation(affinity="precomputed", tol=1e-8),
            semi_supervised.LabelPropagation(max_iter=20_000, tol=1e-9),
        ),
        (
            ck.LabelSpreading(alpha=0.8, affinity="precomputed", tol=1e-8),
            semi_supervised.LabelSpreading(alpha=0.8, max_iter=20_000, tol=1e-9),
        ),
    ],
)
def test_same_distributions_as_scikit_learn_on_the_same_graph(moons, ours, theirs):
    X, y = moons
    labels = few(y, 40)
    kernel = np.exp(-20.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    np.fill_diagonal(kernel, 0.0)
    theirs.set_params(kernel=lambda A, B: kernel.copy()).fit(X, labels)
    ours.fit(kernel, labels)
    np.testing.assert_array_equal(ours.transduction_, theirs.transduction_)
    if isinstance(ours, ck.LabelPropagation):
        np.testing.assert_allclose(
            ours.label_distributions_, theirs.label_distributions_, atol=1e-3
        )


@both
def test_better_than_scikit_learn_on_digits(digits, model):
    X, y = digits
    labels, unknown = few(y, 40), few(y, 40) < 0
    theirs = getattr(semi_supervised, model.__name__)(kernel="knn", n_neighbors=7)
    ours = model(perplexity=7).fit(X, labels)
    accuracy = np.mean(ours.transduction_[unknown] == y[unknown])
    assert accuracy > np.mean(theirs.fit(X, labels).transduction_[unknown] == y[unknown])
    assert accuracy > 0.93


# New points


@both
def test_new_points(digits, model):
    X, y = digits
    fitted = model(perplexity=10).fit(X[:1200], few(y[:1200], 10))
    shares = fitted.predict_proba(X[1200:])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares >= 0.0).all()
    assert np.mean(fitted.predict(X[1200:]) == y[1200:]) > 0.88
    Q = fitted.affinity_estimator_.transform(X[1200:1210])
    np.testing.assert_allclose(shares[:10], Q @ fitted.label_distributions_, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict_proba(X[1203:1204])[0], shares[3])


@both
def test_fitted_points_keep_their_distribution(moons, model):
    X, y = moons
    fitted = model(perplexity=10).fit(X, few(y))
    np.testing.assert_allclose(fitted.predict_proba(X), fitted.label_distributions_, atol=1e-15)
    np.testing.assert_array_equal(fitted.predict(X), fitted.transduction_)


@both
def test_new_rows_of_affinities(cliques, model):
    y = [0, *[-1] * 7, 1]
    fitted = model(affinity="precomputed").fit(cliques(4, 5, bridge=0.1), y)
    np.testing.assert_array_equal(fitted.predict(np.eye(9)[[1, 7]]), [0, 1])
    with pytest.raises(ValueError, match="row 0 of the new affinities has no neighbour"):
        fitted.predict(np.zeros((1, 9)))


# Pieces, and what else may be wrong


@both
def test_components_without_labels_get_the_shares_of_the_classes(cliques, model):
    y = [0, -1, -1, 0, 5, -1, -1, -1, -1]
    with pytest.warns(DisconnectedWarning, match="3 of 9 points"):
        fitted = model(affinity="precomputed").fit(cliques(4, 2, 3), y)
    np.testing.assert_allclose(fitted.label_distributions_[6:], [[2 / 3, 1 / 3]] * 3)
    np.testing.assert_array_equal(fitted.transduction_, [0] * 4 + [5] * 2 + [0] * 3)


@both
def test_all_labelled_and_one_class(moons, model):
    X, y = moons
    np.testing.assert_array_equal(model(5).fit(X, y).transduction_, y)
    assert (model(5).fit(X, np.full(400, 3)).predict(X) == 3).all()


@both
def test_names_as_classes(moons, model):
    X, y = moons
    names = np.where(y == 0, "up", "down").astype(object)
    names[few(y, 40) < 0] = -1
    fitted = model(10).fit(X, names)
    assert fitted.classes_.tolist() == ["down", "up"]
    assert np.mean(fitted.predict(X) == np.where(y == 0, "up", "down")) > 0.9


@both
def test_saved_state_names_every_fitted_attribute(moons, model):
    fitted = model(10).fit(moons[0], few(moons[1]))
    assert vars(fitted).keys() == {*fitted.get_params(), *fitted.saved_state}


@both
@pytest.mark.parametrize("n_jobs", [1, 3, None])
def test_same_bits_for_any_number_of_threads(digits, model, n_jobs):
    X, y = digits[0], few(digits[1])
    one, other = (model(10, n_jobs=jobs).fit(X, y) for jobs in (2, n_jobs))
    np.testing.assert_array_equal(one.label_distributions_, other.label_distributions_)


@both
def test_sparse_rows_and_inputs_that_stay(moons, model):
    X, y = moons
    labels = few(y)
    before = labels.copy()
    dense = model(10).fit(X, labels)
    thin = model(10).fit(sparse.csr_matrix(X), labels.tolist())
    np.testing.assert_array_equal(dense.transduction_, thin.transduction_)
    np.testing.assert_array_equal(labels, before)


@both
def test_too_few_iterations_warn(digits, digits_graph, model):
    with pytest.warns(NotConvergedWarning, match="max_iter=1 "):
        fitted = model(affinity="precomputed", tol=1e-12, max_iter=1).fit(
            digits_graph, few(digits[1])
        )
    np.testing.assert_allclose(fitted.label_distributions_.sum(axis=1), 1.0)


@both
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(400, -1), "no point has a label: all of y is -1"),
        (np.zeros(399, int), "y has 399 labels, but X has 400 points"),
        (np.linspace(0.0, 1.0, 400), "Unknown label type"),
        (None, "requires y to be passed"),
        (np.where(np.arange(400) % 2, 1.0, np.nan), "label 0 is nan; the number -1 marks"),
        (np.where(np.arange(400) % 2, "a", None), "label 0 is None; the number -1 marks"),
        (np.where(np.arange(400) % 2, "a", "-1"), "label 0 is '-1'; the number -1 marks"),
        (pd.array(["a", pd.NA] * 200, dtype="string"), "label 1 is <NA>; the number -1 marks"),
    ],
)
def test_wrong_labels(moons, model, y, message):
    with pytest.raises(ValueError, match=message):
        model(10).fit(moons[0], y)


@both
@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"tol": 1.0}, "tol=1.0 must lie"), ({"max_iter": 0}, "max_iter=0 must be an integer")],
)
def test_wrong_parameters(moons, model, parameters, message):
    with pytest.raises(ValueError, match=message):
        model(10, **parameters).fit(*moons)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5])
def test_wrong_alpha(moons, alpha):
    with pytest.raises(ValueError, match=f"alpha={alpha} must lie between 0 and 1"):
        ck.LabelSpreading(10, alpha=alpha).fit(*moons)
