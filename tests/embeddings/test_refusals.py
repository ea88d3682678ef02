"""Bad input is refused with one clear sentence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.affinities import EntropicAffinities
from closeknit.graphs import symmetrize

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


def refuses(match, model, data=X, **options):
    with pytest.raises(ValueError, match=match) as error:
        make(model, **options).fit(data)
    assert "\n" not in str(error.value).strip()
    return str(error.value)


@each
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_data_that_are_not_finite(model, value):
    Z = X.copy()
    Z[3, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        make(model).fit(Z)


@each
@pytest.mark.parametrize("Z", [X[0], X[None], np.empty((0, 4)), X[:1]], ids=["1d", "3d", "0", "1"])
def test_data_of_the_wrong_shape(model, Z):
    with pytest.raises(ValueError, match=r"2D array|dim 3|0 sample|minimum of 2|1 sample"):
        make(model).fit(Z)


@each
def test_precomputed_matrices_that_are_not_square(model):
    refuses("square", model, affinity="precomputed")
    refuses("square", model, metric="precomputed")


@each
def test_asymmetric_precomputed_affinities(model):
    """SNE takes them as they are: its rows are distributions."""
    P = EntropicAffinities(5.0).fit_transform(X)
    if model is ck.SNE:
        assert np.isfinite(make(model, affinity="precomputed").fit_transform(P)).all()
    else:
        refuses(r"must be symmetric; use .*symmetrize", model, P, affinity="precomputed")


@each
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_negative_precomputed_affinities(model, form):
    W = array(symmetrize(EntropicAffinities(5.0).fit_transform(X)))
    W[3, 4] = W[4, 3] = -0.1
    refuses("must not be negative", model, form(W), affinity="precomputed")


@each
def test_precomputed_affinities_that_are_not_finite(model):
    W = array(symmetrize(EntropicAffinities(5.0).fit_transform(X)))
    W[3, 4] = W[4, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        make(model, affinity="precomputed").fit(W)


@pytest.mark.parametrize("model", NORMALIZED)
def test_precomputed_affinities_that_are_all_zero(model):
    refuses("all zero", model, np.zeros((10, 10)), affinity="precomputed")


@each
@pytest.mark.parametrize("Q", [np.full((2, 60), -1.0), np.zeros((2, 60))], ids=["negative", "zero"])
def test_bad_new_affinities(model, Q):
    W = symmetrize(EntropicAffinities(5.0).fit_transform(X))
    emb = make(model, affinity="precomputed").fit(W)
    with pytest.raises(ValueError, match=r"negative|no neighbour"):
        emb.transform(Q)


@each
def test_new_affinities_with_a_negative_entry(model):
    W = symmetrize(EntropicAffinities(5.0).fit_transform(X))
    emb = make(model, affinity="precomputed").fit(W)
    Q = np.full((2, 60), 1.0)
    Q[1, 3] = -0.5
    with pytest.raises(ValueError, match="negative"):
        emb.transform(Q)


@each
def test_perplexity_too_large(model):
    refuses(r"perplexity=100", model, perplexity=100.0)
    refuses(
        r"perplexity=20.* n_neighbors=?10|perplexity=20 .*got 10",
        model,
        perplexity=20.0,
        n_neighbors=10,
    )


@each
@pytest.mark.parametrize("perplexity", [0.0, -1.0, np.nan])
def test_perplexity_that_makes_no_sense(model, perplexity):
    refuses("perplexity=", model, perplexity=perplexity)


@each_nonlinear
def test_unknown_names(model):
    refuses(r"unknown direction 'newton'; use 'gradient'", model, direction="newton")
    refuses(r"unknown repulsion 'fft'; use 'auto'", model, repulsion="fft")
    refuses(r"unknown init 'spectral'; use 'auto'", model, init="spectral")


@each
def test_unknown_affinity(model):
    refuses(r"unknown affinity 'gaussian'; use 'entropic'", model, affinity="gaussian")
    refuses(r"unknown affinity 3; use .* or a transformer", model, affinity=3)
    refuses(r"metric='manhatan' is unknown", model, metric="manhatan")


@each
@pytest.mark.parametrize("n_components", [60, 61])
def test_too_many_components(model, n_components):
    refuses(rf"n_components={n_components} must be less than", model, n_components=n_components)


@each
@pytest.mark.parametrize("n_components", [0, -1, 1.5, "2"])
def test_components_that_are_not_a_number(model, n_components):
    refuses(r"n_components=.* must be an integer", model, n_components=n_components)


@each_nonlinear
@pytest.mark.parametrize("lam", [-1.0, np.nan])
def test_negative_lambda(model, lam):
    refuses(r"lam=.* must be .*a finite number of at least 0", model, lam=lam)


@each_nonlinear
def test_unknown_lambda(model):
    """Only unnormalised models have an automatic λ."""
    refuses(r"lam='large' must be", model, lam="large")
    if model in NORMALIZED:
        refuses(r"lam='auto' must be", model, lam="auto")


@each_nonlinear
def test_limits_that_make_no_sense(model):
    refuses("max_iter=-1", model, max_iter=-1)
    refuses("tol=-1", model, tol=-1.0)
    refuses("time_limit=-1", model, time_limit=-1.0)
    refuses("n_jobs=0", model, n_jobs=0)


@each
def test_new_points_with_other_features(model):
    emb = make(model).fit(X)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* expecting 4"):
        emb.transform(X_NEW[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        emb.transform(np.full((1, 4), np.nan))
