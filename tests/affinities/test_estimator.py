"""EntropicAffinities and FixedAffinities as scikit-learn estimators."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import closeknit as ck
from closeknit.affinities import EntropicAffinities, FixedAffinities
from closeknit.neighbors import ExactIndex, Neighbors

X = np.random.default_rng(0).normal(size=(120, 4))
X_NEW = np.random.default_rng(1).normal(size=(25, 4))


def array(P):
    return P.toarray() if sparse.issparse(P) else P


#: Checks that transform parts of the training data, or these in another order, which are new points
#: here: a transform that took them for fitted points would not be continuous.
OF_PARTS = {"check_methods_sample_order_invariance", "check_methods_subset_invariance"}


def checks_that_apply(*estimators):
    mark = parametrize_with_checks(list(estimators))
    names, pairs = mark.args
    kept = [
        (estimator, check)
        for estimator, check in pairs
        if estimator.include_self or getattr(check, "func", check).__name__ not in OF_PARTS
    ]
    return pytest.mark.parametrize(names, kept, **mark.kwargs)


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@checks_that_apply(
    EntropicAffinities(perplexity=2),
    EntropicAffinities(perplexity=2, include_self=True),
    EntropicAffinities(perplexity=(1.5, 2)),
    FixedAffinities(rank=2),
)
def test_scikit_learn_checks(estimator, check):
    """The checks pass. (They fit integer data, where ties have no bandwidth.)"""
    check(estimator)


# Attributes


@pytest.mark.parametrize("n_neighbors", ["auto", 30, None])
@pytest.mark.parametrize("include_self", [False, True])
def test_attributes_and_shapes(n_neighbors, include_self):
    """Names, shapes and promises of DESIGN: rows sum to 1 and have the perplexity."""
    ea = EntropicAffinities(8.0, n_neighbors=n_neighbors, include_self=include_self)
    P = ea.fit_transform(X)
    assert P is ea.affinities_
    assert P.shape == (120, 120)
    assert sparse.issparse(P) == (n_neighbors is not None)
    assert P.dtype == np.float64
    for name in ("sigmas_", "betas_", "perplexities_", "evaluations_", "converged_"):
        assert getattr(ea, name).shape == (120,)
    assert ea.converged_.all()
    assert ea.converged_.dtype == bool
    assert (ea.evaluations_ >= 1).all()
    dense = array(P)
    np.testing.assert_allclose(dense.sum(axis=1), 1.0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(ea.perplexities_, 8.0, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ea.betas_, 0.5 / ea.sigmas_**2, rtol=1e-13)
    assert (dense >= 0.0).all()
    assert (np.diag(dense) > 0.0).all() == include_self
    if not include_self:
        assert (np.diag(dense) == 0.0).all()
    if n_neighbors is None:
        assert ea.neighbors_ is None
    else:
        count = 24 if n_neighbors == "auto" else n_neighbors
        assert ea.neighbors_.indices.shape == (120, count)
        assert P.nnz == 120 * (count + include_self)
    assert ea.n_features_in_ == 4


def test_affinities_are_the_gaussian_of_the_distances():
    """p_j ∝ exp(-‖x − x_j‖² / 2σ²) over all other points."""
    ea = EntropicAffinities(8.0, n_neighbors=None).fit(X)
    w = np.exp(-np.square(pairwise_distances(X)) / (2 * ea.sigmas_[:, None] ** 2))
    np.fill_diagonal(w, 0.0)
    np.testing.assert_allclose(ea.affinities_, w / w.sum(axis=1, keepdims=True), atol=1e-12)


@pytest.mark.parametrize("include_self", [False, True])
def test_dense_and_sparse_with_all_neighbours_agree(include_self):
    options = {"perplexity": 8.0, "include_self": include_self}
    dense = EntropicAffinities(n_neighbors=None, **options).fit(X)
    full = EntropicAffinities(n_neighbors=119, **options).fit(X)
    np.testing.assert_allclose(dense.affinities_, full.affinities_.toarray(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(dense.sigmas_, full.sigmas_, rtol=1e-9)


@pytest.mark.parametrize(
    "order", ["bounds", "density", "gap", "neighbor", "mst", "given", "random", "oracle"]
)
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_orders_in_the_estimator(order, n_neighbors):
    options = {"perplexity": 8.0, "n_neighbors": n_neighbors}
    base = EntropicAffinities(**options).fit(X)
    other = EntropicAffinities(order=order, random_state=0, **options).fit(X)
    np.testing.assert_allclose(array(other.affinities_), array(base.affinities_), atol=1e-9)
    assert sparse.issparse(other.affinities_) == (n_neighbors is not None)


def test_include_self_adds_one_zero_distance():
    """The row of a point is solved over its neighbours and one distance 0."""
    ea = EntropicAffinities(8.0, include_self=True, n_neighbors=30).fit(X)
    d = np.sort(np.square(pairwise_distances(X)), axis=1)[:, 1:31]
    d = np.hstack([np.zeros((120, 1)), d])
    expected = ck.solve_bandwidths(d, 8.0)
    np.testing.assert_allclose(ea.sigmas_, expected.sigmas, rtol=1e-9)
    np.testing.assert_allclose(np.diag(ea.affinities_.toarray()), expected.affinities[:, 0])


def test_include_self_allows_one_more():
    """K < k + 1 instead of K < k."""
    with pytest.raises(ValueError, match=r"perplexity=10 .*got 10"):
        EntropicAffinities(10.0, n_neighbors=10).fit(X)
    ea = EntropicAffinities(10.0, n_neighbors=10, include_self=True).fit(X)
    np.testing.assert_allclose(ea.perplexities_, 10.0, atol=1e-8)


def test_same_bits_for_any_number_of_threads():
    for n_neighbors in ("auto", None):
        one, two, three = (
            EntropicAffinities(8.0, n_neighbors=n_neighbors, n_jobs=j).fit(X) for j in (1, 2, 3)
        )
        for other in (two, three):
            assert array(one.affinities_).tobytes() == array(other.affinities_).tobytes()
            assert one.sigmas_.tobytes() == other.sigmas_.tobytes()


@pytest.mark.parametrize("n_neighbors", ["auto", None])
@pytest.mark.parametrize("exponent", [-498, 498])
def test_data_of_any_scale(n_neighbors, exponent):
    """X × 2^s gives σ × 2^s and the same affinities, from 1e-150 to 1e150."""
    base = EntropicAffinities(8.0, n_neighbors=n_neighbors).fit(X)
    scaled = EntropicAffinities(8.0, n_neighbors=n_neighbors).fit(np.ldexp(X, exponent))
    assert scaled.converged_.all()
    np.testing.assert_allclose(array(scaled.affinities_), array(base.affinities_), atol=1e-9)
    np.testing.assert_allclose(np.ldexp(scaled.sigmas_, -exponent), base.sigmas_, rtol=1e-9)


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_data_far_from_the_origin(n_neighbors):
    """An offset of 1e6 costs no more digits than rounding the data did."""
    shifted = X + 1e6
    base = EntropicAffinities(8.0, n_neighbors=n_neighbors).fit(shifted - 1e6)
    far = EntropicAffinities(8.0, n_neighbors=n_neighbors).fit(shifted)
    np.testing.assert_allclose(array(far.affinities_), array(base.affinities_), rtol=0, atol=1e-8)


def test_fit_does_not_change_the_data():
    for n_neighbors in ("auto", None):
        for metric, data in (("euclidean", X), ("precomputed", pairwise_distances(X))):
            given = data.copy()
            given.setflags(write=False)
            EntropicAffinities(8.0, n_neighbors=n_neighbors, metric=metric).fit(given)
            np.testing.assert_array_equal(given, data)


# Input


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_precomputed_distances(n_neighbors):
    """metric="precomputed" takes distances, not squared ones, and new rows of them."""
    options = {"perplexity": 8.0, "n_neighbors": n_neighbors}
    base = EntropicAffinities(**options).fit(X)
    given = EntropicAffinities(metric="precomputed", **options).fit(pairwise_distances(X))
    np.testing.assert_allclose(array(given.affinities_), array(base.affinities_), atol=1e-9)
    np.testing.assert_allclose(
        array(given.transform(pairwise_distances(X_NEW, X))),
        array(base.transform(X_NEW)),
        atol=1e-9,
    )


def test_a_sparse_graph_is_not_full_of_zero_distances():
    """What a precomputed sparse graph does not store is missing, not at distance 0."""
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, 30, mode="distance")
    base = EntropicAffinities(8.0, n_neighbors=30).fit(X)
    given = EntropicAffinities(8.0, n_neighbors=30, metric="precomputed").fit(graph)
    np.testing.assert_allclose(array(given.affinities_), array(base.affinities_), atol=1e-9)


def test_dense_affinities_of_a_sparse_graph():
    """n_neighbors=None: an error, or nothing for the pairs that the graph does not hold."""
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, 30, mode="distance")
    estimator = EntropicAffinities(8.0, n_neighbors=None, metric="precomputed")
    try:
        P = array(estimator.fit_transform(graph))
    except ValueError:
        return
    base = EntropicAffinities(8.0, n_neighbors=30).fit(X)
    np.testing.assert_allclose(P, array(base.affinities_), atol=1e-9)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev", "sqeuclidean"])
def test_metrics_of_scikit_learn(metric):
    """The affinities are those of the squared distances of that metric."""
    name = "euclidean" if metric == "sqeuclidean" else metric
    expected = EntropicAffinities(8.0, n_neighbors=None, metric="precomputed").fit(
        pairwise_distances(X, metric=name)
    )
    dense = EntropicAffinities(8.0, n_neighbors=None, metric=metric).fit(X)
    np.testing.assert_allclose(dense.affinities_, expected.affinities_, atol=1e-8)
    full = EntropicAffinities(8.0, n_neighbors=119, metric=metric).fit(X)
    np.testing.assert_allclose(array(full.affinities_), expected.affinities_, atol=1e-8)


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_lists_integers_and_single_precision(n_neighbors):
    # No two of these points coincide and no two distances from a point tie in number ≥ 3.
    whole = np.random.default_rng(3).integers(0, 10**6, size=(40, 3))
    options = {"perplexity": 5.0, "n_neighbors": n_neighbors}
    expected = array(EntropicAffinities(**options).fit_transform(whole.astype(float)))
    for given in (whole, whole.tolist(), whole.astype(np.int32), whole.astype(np.float32)):
        np.testing.assert_allclose(
            array(EntropicAffinities(**options).fit_transform(given)), expected, atol=1e-6
        )


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_sparse_data(n_neighbors):
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    options = {"perplexity": 5.0, "n_neighbors": n_neighbors}
    expected = array(EntropicAffinities(**options).fit_transform(thin))
    for kind in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix):
        got = array(EntropicAffinities(**options).fit_transform(kind(thin)))
        np.testing.assert_allclose(got, expected, atol=1e-9)


@pytest.mark.parametrize("n_neighbors", ["auto", None])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_near_identical_points_do_not_suffer_cancellation(kind, n_neighbors):
    """Points that differ by 1e-7 beside coordinates of 1e3, dense and sparse alike."""
    points = np.ldexp(np.random.default_rng(2).integers(0, 64, size=(40, 3)), -24).astype(float)
    points = np.hstack([np.full((40, 1), 1024.0), points + np.arange(3) * 8.0])
    exact = EntropicAffinities(5.5, n_neighbors=n_neighbors).fit((points - points[0]) * 2.0**24)
    got = EntropicAffinities(5.5, n_neighbors=n_neighbors).fit(kind(points))
    np.testing.assert_allclose(array(got.affinities_), array(exact.affinities_), atol=1e-9)
    np.testing.assert_allclose(got.sigmas_ * 2.0**24, exact.sigmas_, rtol=1e-9)


def test_data_frames_and_feature_names():
    frame = load_iris(as_frame=True).data
    frame = frame[~frame.duplicated()]
    ea = EntropicAffinities(20.0).fit(frame)
    np.testing.assert_array_equal(ea.feature_names_in_, frame.columns)
    names = ea.get_feature_names_out()
    assert names.shape == (len(frame),)
    assert names[0] == "entropicaffinities0"
    with pytest.raises(ValueError, match="feature names"):
        ea.transform(frame.rename(columns=str.upper))


def test_set_output():
    """Dense affinities come as a data frame if asked for; sparse ones cannot."""
    dense = EntropicAffinities(8.0, n_neighbors=None).set_output(transform="pandas")
    out = dense.fit_transform(pd.DataFrame(X, columns=list("abcd")))
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == list(dense.get_feature_names_out())
    assert isinstance(dense.affinities_, np.ndarray)
    again = dense.transform(pd.DataFrame(X, columns=list("abcd")))
    assert list(again.columns) == list(out.columns)
    with pytest.raises(ValueError, match="sparse"):
        EntropicAffinities(8.0).set_output(transform="pandas").fit_transform(X)


@pytest.mark.parametrize("kind", [EntropicAffinities, FixedAffinities])
@pytest.mark.parametrize("n_neighbors", ["auto", None])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_data_that_are_not_finite(kind, n_neighbors, value):
    broken = X.copy()
    broken[3, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        kind(n_neighbors=n_neighbors).fit(broken)


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_distances_that_overflow(n_neighbors):
    """Data beyond 1e154, whose squares are infinite, are refused."""
    with pytest.raises(ValueError, match=r"rescale|overflow|inf"):
        EntropicAffinities(8.0, n_neighbors=n_neighbors).fit(X * 1e200)


# Parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"perplexity": 0.5}, "perplexity=0.5 must be at least 1"),
        ({"perplexity": np.nan}, "perplexity"),
        ({"perplexity": "many"}, "perplexity"),
        ({"perplexity": None}, "perplexity"),
        ({"perplexity": np.array([5.0, 6.0])}, "solve_bandwidths takes one per point"),
        ({"perplexity": 30.0, "n_neighbors": 30}, "perplexity=30 .*got 30;"),
        (
            {"perplexity": 119.0, "n_neighbors": None},
            "perplexity=119 must be less than the number of other points, 119;",
        ),
        (
            {"perplexity": 500.0},
            "perplexity=500 must be less than the number of other points, 119;",
        ),
        ({"n_neighbors": 120}, "n_neighbors=120 needs at least 121 points, got n_samples = 120"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"n_neighbors": 2.5}, "n_neighbors=2.5"),
        ({"n_neighbors": True}, "n_neighbors=True"),
        ({"n_neighbors": "all"}, "n_neighbors='all'"),
        ({"tol": 0.0}, "tol"),
        ({"method": "secant"}, "unknown method"),
        ({"order": "alphabetical"}, "unknown order"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_errors_of_entropic_affinities(options, message):
    with pytest.raises(ValueError, match=message):
        EntropicAffinities(**options).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sigma": 0.0}, "sigma=0.0"),
        ({"sigma": -1.0}, "sigma=-1.0"),
        ({"sigma": np.inf}, "sigma=inf"),
        ({"sigma": np.nan}, "sigma=nan"),
        ({"sigma": "median"}, "sigma='median'"),
        ({"rank": 0}, "rank=0"),
        ({"rank": 2.5}, "rank=2.5 must be a whole number"),
        ({"rank": 31, "n_neighbors": 30}, "rank=31 .*got 30"),
        ({"rank": 120, "n_neighbors": None}, "rank=120 .*got 119"),
    ],
)
def test_errors_of_fixed_affinities(options, message):
    with pytest.raises(ValueError, match=message):
        FixedAffinities(**options).fit(X)


def test_clone_set_params_and_pickle():
    ea = EntropicAffinities(8.0, n_neighbors=40, tol=1e-8, method="newton")
    copy = clone(ea)
    assert copy.get_params() == ea.get_params()
    copy.set_params(perplexity=5.0, n_neighbors=None)
    assert ea.perplexity == 8.0
    assert copy.fit(X).affinities_.shape == (120, 120)
    for n_neighbors in (40, None):
        fitted = EntropicAffinities(8.0, n_neighbors=n_neighbors).fit(X)
        loaded = pickle.loads(pickle.dumps(fitted))
        expected, got = (array(e.transform(X_NEW)) for e in (fitted, loaded))
        assert expected.tobytes() == got.tobytes()


def test_refitting_forgets():
    """A second fit, with other parameters, leaves nothing of the first behind."""
    ea = EntropicAffinities(8.0).fit(X)
    again = ea.set_params(n_neighbors=None, perplexity=5.0).fit(X[:50])
    fresh = EntropicAffinities(5.0, n_neighbors=None).fit(X[:50])
    assert array(again.affinities_).tobytes() == array(fresh.affinities_).tobytes()
    assert again.neighbors_ is None
    assert again.transform(X_NEW).tobytes() == fresh.transform(X_NEW).tobytes()


def test_verbose_reports_on_standard_error(capsys):
    EntropicAffinities(8.0).fit(X)
    assert capsys.readouterr() == ("", "")
    for n_neighbors in ("auto", None):
        EntropicAffinities(8.0, n_neighbors=n_neighbors, verbose=True).fit(X)
        out, err = capsys.readouterr()
        assert out == ""
        assert "affinities: 120 points" in err


def test_neighbours_given_by_the_user():
    """A pair (indices, distances) replaces the search; transform then says what is missing."""
    D = pairwise_distances(X)
    np.fill_diagonal(D, np.inf)
    indices = np.argsort(D, axis=1)[:, :40]
    distances = np.take_along_axis(D, indices, axis=1)
    base = EntropicAffinities(8.0, n_neighbors=40).fit(X)
    given = EntropicAffinities(8.0, n_neighbors=40, neighbors=(indices, distances)).fit(X)
    np.testing.assert_allclose(array(given.affinities_), array(base.affinities_), atol=1e-9)
    with pytest.raises(ValueError, match="given neighbours"):
        given.transform(X_NEW)
    with pytest.raises(ValueError, match=r"n_neighbors=50.*40"):
        given.set_params(n_neighbors=50).fit(X)


class Brute:
    """An index of a user, who may be wrong."""

    def __init__(self, **changes):
        self.changes = changes

    def fit(self, X):
        self.X = X
        return self

    def self_neighbors(self, n_neighbors):
        found = Neighbors.from_distances(pairwise_distances(self.X), n_neighbors)
        return self.changed(found)

    def query(self, X, n_neighbors):
        found = ExactIndex().fit(self.X).query(X, n_neighbors)
        return self.changed(found)

    def changed(self, found):
        parts = {name: getattr(found, name) for name in ("indices", "sq_distances", "n_targets")}
        return Neighbors(**{**parts, **self.changes})


def test_an_index_of_the_user():
    base = EntropicAffinities(8.0).fit(X)
    own = EntropicAffinities(8.0, neighbors=Brute()).fit(X)
    np.testing.assert_allclose(array(own.affinities_), array(base.affinities_), atol=1e-9)
    np.testing.assert_allclose(array(own.transform(X_NEW)), array(base.transform(X_NEW)), atol=1e-9)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"indices": np.full((120, 24), 120)}, ValueError, "names point 120"),
        ({"indices": np.full((120, 24), 2**32)}, ValueError, f"names point {2**32}"),
        ({"indices": np.zeros((120, 24))}, TypeError, "must be integers"),
        ({"n_targets": 500}, ValueError, "among 500"),
        (
            {"indices": np.zeros((7, 24), dtype=int), "sq_distances": np.ones((7, 24))},
            ValueError,
            "24 neighbours of 7 points",
        ),
        (
            {"indices": np.zeros((120, 2), dtype=int), "sq_distances": np.ones((120, 2))},
            ValueError,
            "2 neighbours of 120 points",
        ),
    ],
)
def test_an_index_of_the_user_that_is_wrong(changes, error, message):
    with pytest.raises(error, match=message):
        EntropicAffinities(8.0, neighbors=Brute(**changes)).fit(X)


def test_an_index_that_answers_with_something_else():
    index = Brute()
    index.changed = lambda found: (found.indices, found.sq_distances)
    with pytest.raises(TypeError, match=r"must answer with closeknit.neighbors.Neighbors"):
        EntropicAffinities(8.0, neighbors=index).fit(X)


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_negative_distances_are_refused(n_neighbors):
    D = pairwise_distances(X)
    D[4, 9] = -D[4, 9]
    with pytest.raises(ValueError, match="row 4 has the distance -"):
        EntropicAffinities(8.0, n_neighbors=n_neighbors, metric="precomputed").fit(D)


@pytest.mark.parametrize(
    "estimator",
    [
        EntropicAffinities(2.0, n_neighbors=4, metric="precomputed"),
        ck.TSNE(perplexity=2.0, n_neighbors=4, metric="precomputed"),
        ck.graphs.KNNSparsifier(n_neighbors=2, input="distances"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_distances_that_are_stored_twice_are_not_added_up(estimator):
    graph = Neighbors.from_distances(pairwise_distances(X), 6).to_graph()
    graph.indices[graph.indptr[7] + 3] = graph.indices[graph.indptr[7]]
    with pytest.raises(ValueError, match="row 7 stores the distance to point"):
        estimator.fit(graph)


@pytest.mark.parametrize(
    ("point", "saying"), [(1, "names point 1 more than once"), (0, "names its own point")]
)
def test_given_neighbors_are_other_points(point, saying):
    found = Neighbors.from_distances(pairwise_distances(X[:6]), 3)
    indices = found.indices.copy()
    indices[0] = [1, 2, point]
    given = Neighbors(indices, found.sq_distances, 6)
    with pytest.raises(ValueError, match=f"row 0 {saying}"):
        EntropicAffinities(2.0, neighbors=given).fit(X[:6])


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_masked_and_damaged_data(n_neighbors):
    mask = np.zeros(X.shape, dtype=bool)
    mask[5, 2] = True
    estimator = EntropicAffinities(8.0, n_neighbors=n_neighbors)
    with pytest.raises(ValueError, match="masked entries"):
        estimator.fit(np.ma.masked_array(X, mask))
    broken = sparse.csr_matrix(X)
    broken.indices[7] = 10**6
    with pytest.raises(ValueError, match="damaged"):
        estimator.fit(broken)
    with pytest.raises(ValueError, match="masked entries"):
        estimator.fit(X).transform(np.ma.masked_array(X, mask))


@pytest.mark.parametrize("n_neighbors", ["auto", None])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_distances_that_underflow(n_neighbors, metric):
    """Data below 1e-153, whose squares are zero or have few digits, are refused as well."""
    with pytest.raises(ValueError, match="underflow; multiply"):
        EntropicAffinities(8.0, n_neighbors=n_neighbors, metric=metric).fit(X * 1e-165)


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_new_points_in_double_precision_are_not_rounded(n_neighbors):
    single = X.astype(np.float32)
    near = single[:9].astype(float) * (1 + 1e-12)
    _, matches = (
        EntropicAffinities(8.0, n_neighbors=n_neighbors).fit(single).transform_and_match(near)
    )
    assert (matches == -1).all()


# The function, the pipeline


def test_entropic_affinities_is_ea_of_the_papers():
    """[W, s] = ea(X, K, k)."""
    W, sigma = ck.entropic_affinities(X, 8.0, 30)
    ea = EntropicAffinities(8.0, n_neighbors=30).fit(X)
    assert (ea.affinities_ != W).nnz == 0
    np.testing.assert_array_equal(sigma, ea.sigmas_)
    W, sigma = ck.entropic_affinities(X, perplexity=8.0, n_neighbors=None, include_self=True)
    assert isinstance(W, np.ndarray)
    assert sigma.shape == (120,)


@pytest.mark.filterwarnings("ignore:Array is not symmetric")
@pytest.mark.parametrize("data", ["blobs", "moons"])
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_pipeline_in_front_of_spectral_clustering(data, n_neighbors):
    """`SpectralClustering(affinity="precomputed")` on entropic affinities finds the two parts."""
    if data == "blobs":
        points, labels = make_blobs(200, centers=[[0, 0], [8, 0]], random_state=0)
    else:
        points, labels = make_moons(300, noise=0.05, random_state=0)
    pipeline = make_pipeline(
        EntropicAffinities(10.0, n_neighbors=n_neighbors),
        SpectralClustering(2, affinity="precomputed", random_state=0),
    )
    assert adjusted_rand_score(labels, pipeline.fit_predict(points)) > 0.99
