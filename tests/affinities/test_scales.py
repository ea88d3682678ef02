"""Several perplexities: the average of scales that are each solved exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_blobs

import closeknit as ck
from closeknit.affinities import EntropicAffinities
from closeknit.exceptions import NoBandwidthWarning

X = np.random.default_rng(0).normal(size=(150, 4))
X_NEW = np.random.default_rng(1).normal(size=(20, 4))
SCALES = [5.0, 12.5, 30.0]


def array(P):
    return P.toarray() if sparse.issparse(P) else P


@pytest.mark.parametrize("n_neighbors", [90, None])
@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("kind", [list, tuple])
def test_average_of_the_single_scales(n_neighbors, include_self, kind):
    """P = (P₁ + … + P_s)/s, and every attribute is a column per scale."""
    options = {"n_neighbors": n_neighbors, "include_self": include_self}
    several = EntropicAffinities(kind(SCALES), **options).fit(X)
    singles = [EntropicAffinities(scale, **options).fit(X) for scale in SCALES]
    mean = sum(array(single.affinities_) for single in singles) / len(SCALES)
    np.testing.assert_allclose(array(several.affinities_), mean, rtol=1e-12, atol=1e-16)
    assert sparse.issparse(several.affinities_) == (n_neighbors is not None)
    for name in ("sigmas_", "betas_", "evaluations_", "converged_"):
        expected = np.column_stack([getattr(single, name) for single in singles])
        np.testing.assert_array_equal(getattr(several, name), expected)
    assert several.converged_.all()


def test_each_scale_has_its_perplexity():
    """Independently: exp(H) of the Gaussian at each column's σ is that column's K."""
    ea = EntropicAffinities(SCALES, n_neighbors=None).fit(X)
    d = np.square(X[:, None] - X[None]).sum(axis=2)
    np.fill_diagonal(d, np.inf)
    for scale, sigma in zip(SCALES, ea.sigmas_.T, strict=True):
        p = np.exp(-d / (2.0 * sigma[:, None] ** 2))
        p /= p.sum(axis=1, keepdims=True)
        entropy = -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=1)
        np.testing.assert_allclose(entropy, np.log(scale), rtol=0, atol=1e-9)
    np.testing.assert_allclose(ea.perplexities_, np.tile(SCALES, (150, 1)), rtol=0, atol=1e-8)


def test_not_the_smallest_scale_only():
    """The largest scale reaches farther than the smallest, and the average shows it.

    A mixture whose row is that of the smallest perplexity would have that perplexity; the average
    of distributions has an entropy of at least the average entropy (it is concave).
    """
    small = EntropicAffinities(5.0, n_neighbors=100).fit(X)
    both = EntropicAffinities([5.0, 60.0], n_neighbors=100).fit(X)
    assert abs(both.affinities_ - small.affinities_).max() > 0.05
    p = both.affinities_.toarray()
    entropy = -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=1)
    assert (entropy >= 0.5 * (np.log(5.0) + np.log(60.0)) - 1e-9).all()


def test_auto_counts_neighbours_for_the_largest_scale():
    ea = EntropicAffinities([5.0, 40.0]).fit(X)
    assert ea.neighbors_.indices.shape == (150, 120)


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_transform_is_the_average_too(n_neighbors):
    options = {"n_neighbors": 90 if n_neighbors == "auto" else None}
    several = EntropicAffinities(SCALES, n_neighbors=n_neighbors).fit(X)
    singles = [EntropicAffinities(scale, **options).fit(X).transform(X_NEW) for scale in SCALES]
    mean = sum(array(single) for single in singles) / len(SCALES)
    np.testing.assert_allclose(array(several.transform(X_NEW)), mean, rtol=1e-10, atol=1e-14)
    again = array(several.transform(X))
    np.testing.assert_allclose(again, array(several.affinities_), rtol=1e-8, atol=1e-12)


def test_one_scale_in_a_list_is_that_scale():
    one = EntropicAffinities([8.0]).fit(X)
    plain = EntropicAffinities(8.0).fit(X)
    np.testing.assert_array_equal(one.affinities_.toarray(), plain.affinities_.toarray())
    assert one.sigmas_.shape == (150, 1)


def test_any_number_of_threads_gives_the_same_bits():
    one = EntropicAffinities(SCALES, n_jobs=1).fit_transform(X)
    two = EntropicAffinities(SCALES, n_jobs=2).fit_transform(X)
    np.testing.assert_array_equal(one.data, two.data)


def test_the_function_returns_a_column_per_scale():
    W, sigma = ck.entropic_affinities(X, perplexity=[5, 10])
    assert sigma.shape == (150, 2)
    assert (sigma[:, 0] < sigma[:, 1]).all()
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-13)


@pytest.mark.parametrize(
    "estimator",
    [
        ck.TSNE(perplexity=[5, 20], max_iter=20, random_state=0),
        ck.ElasticEmbedding(perplexity=(5, 20), max_iter=5, random_state=0),
        ck.LaplacianEigenmaps(perplexity=[5, 20]),
    ],
    ids=lambda e: type(e).__name__,
)
def test_embeddings_take_several_scales(estimator):
    points, _ = make_blobs(80, centers=3, random_state=0)
    Y = clone(estimator).fit_transform(points)
    assert Y.shape == (80, 2)
    assert np.isfinite(Y).all()


@pytest.mark.parametrize(
    ("perplexity", "message"),
    [
        ([], r"perplexity=\[\] is empty; give one number or a list"),
        ([5, [6]], "one number or a list of them, one per scale"),
        (np.array([5.0, 6.0]), "one number or a list of them, one per scale"),
        ([5, 0.5], "perplexity=0.5 must be at least 1"),
        ([5, "many"], "perplexity must be one number or a list of them"),
        ([5, 200], "perplexity=200 must be less than the number of other points"),
    ],
)
def test_bad_scales(perplexity, message):
    with pytest.raises(ValueError, match=message):
        EntropicAffinities(perplexity).fit(X)


def test_ties_are_reported_once_per_point():
    """A point counts once, even if no scale has a bandwidth."""
    points = np.repeat(np.arange(20.0), 5)[:, None]
    with pytest.warns(NoBandwidthWarning, match="100 of 100 points"):
        ea = EntropicAffinities([2.0, 3.0, 10.0]).fit(points)
    assert ea.converged_.any(axis=0).tolist() == [False, False, True]
