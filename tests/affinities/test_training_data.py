"""The training data as a whole are what was fitted; any other rows are new points."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from scipy.special import entr
from sklearn.neighbors import KNeighborsTransformer

import closeknit as ck
from closeknit.affinities import EntropicAffinities, FixedAffinities
from closeknit.neighbors import ExactIndex, find_neighbors

X = np.random.default_rng(0).normal(size=(150, 3))
X[140:] = X[:10]  # duplicates, of which no row tells which one it is
SINGLE = X[:140]
D = cdist(X, X)


def array(P):
    return P.toarray() if sparse.issparse(P) else P


class OwnIndex:
    """An index of a user's: the protocol, and nothing else."""

    def fit(self, points):
        self._index = ExactIndex().fit(points)
        return self

    def self_neighbors(self, n_neighbors):
        return self._index.self_neighbors(n_neighbors)

    def query(self, points, n_neighbors):
        return self._index.query(points, n_neighbors)


ESTIMATORS = {
    "sparse": EntropicAffinities(12.0),
    "dense": EntropicAffinities(12.0, n_neighbors=None),
    "self": EntropicAffinities(12.0, include_self=True),
    "several": EntropicAffinities([5.0, 12.0]),
    "exponential": EntropicAffinities(12.0, kernel="exponential"),
    "approximate": EntropicAffinities(12.0, neighbors="approximate", random_state=0),
    "cosine": EntropicAffinities(12.0, metric="cosine"),
    "inner products": EntropicAffinities(12.0, metric="inner_product"),
    "manhattan": EntropicAffinities(12.0, metric="manhattan"),
    "estimator": EntropicAffinities(12.0, neighbors=KNeighborsTransformer()),
    "own index": EntropicAffinities(12.0, neighbors=OwnIndex()),
    "fixed": FixedAffinities(sigma=0.5, n_neighbors=30),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_training_data_are_what_was_fitted(name):
    """`fit(X).transform(X)` is `fit_transform(X)` to the bit, for the array and for its values."""
    estimator = ESTIMATORS[name]
    P = estimator.fit_transform(X)
    for same in (X, X.copy(), np.asfortranarray(X), X.tolist()):
        assert estimator.is_training_data(same)
        Q, matches = estimator.transform_and_match(same)
        assert array(Q).tobytes() == array(P).tobytes()
        np.testing.assert_array_equal(matches, np.arange(len(X)))
    again = pickle.loads(pickle.dumps(estimator))
    assert array(again.transform(X)).tobytes() == array(P).tobytes()


@pytest.mark.parametrize("make", [sparse.csr_matrix, lambda values: values.astype(np.float32)])
def test_other_kinds_of_data(make):
    """Sparse rows, and single precision, which double precision may repeat exactly."""
    data = make(X)
    ea = EntropicAffinities(12.0).fit(data)
    for same in (data, data.copy(), data.astype(np.float64)):
        assert (ea.transform(same) != ea.affinities_).nnz == 0
    assert not ea.is_training_data(2.0 * data)


def test_frames_and_precomputed_distances():
    frame = pd.DataFrame(X, columns=list("abc"))
    ea = EntropicAffinities(12.0).fit(frame)
    assert (ea.transform(frame.copy()) != ea.affinities_).nnz == 0
    for n_neighbors in (40, None):
        given = EntropicAffinities(12.0, n_neighbors=n_neighbors, metric="precomputed").fit(D)
        assert array(given.transform(D.copy())).tobytes() == array(given.affinities_).tobytes()
        assert (array(given.transform(D, as_new=True)).diagonal() > 0.0).all()
        assert (array(given.transform(D[:140])).diagonal() > 0.0).all()


def test_a_saved_model_knows_its_data(tmp_path):
    for model in (ESTIMATORS["sparse"], ESTIMATORS["dense"], ck.SymmetricSNE(max_iter=20)):
        model.fit(X)
        ck.io.save(model, tmp_path / "model.closeknit")
        again = ck.io.load(tmp_path / "model.closeknit")
        fitted = again.embedding_ if hasattr(again, "embedding_") else again.affinities_
        assert array(again.transform(X.copy())).tobytes() == array(fitted).tobytes()


def test_what_is_returned_is_a_copy():
    ea = EntropicAffinities(12.0).fit(X)
    ea.transform(X).data[:] = 0.0
    assert ea.affinities_.sum() == pytest.approx(150.0)


@pytest.mark.parametrize(
    "rows", [slice(0, 149), [7], np.arange(150)[::-1], np.r_[0:150, 0]], ids=str
)
@pytest.mark.parametrize("n_neighbors", [40, None])
def test_other_rows_are_new_points(rows, n_neighbors):
    """Parts, other orders and repetitions, each row on its own, unless the flag says otherwise."""
    ea = EntropicAffinities(12.0, n_neighbors=n_neighbors).fit(SINGLE)
    rows = np.arange(150)[rows] % 140
    whole = array(ea.transform(SINGLE, as_new=True))
    assert not ea.is_training_data(SINGLE[rows])
    assert array(ea.transform(SINGLE[rows])).tobytes() == whole[rows].tobytes()
    assert (whole.diagonal() > 0.0).all()
    known = array(ea.transform(SINGLE[rows], as_new=False))
    np.testing.assert_allclose(known, array(ea.affinities_)[rows], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "epanechnikov"])
@pytest.mark.parametrize("n_neighbors", [40, None])
@pytest.mark.parametrize("include_self", [False, True])
def test_new_points_are_continuous_at_fitted_ones(kernel, n_neighbors, include_self):
    """Bandwidth and affinities at a fitted point are those 1e-12 beside it."""
    ea = EntropicAffinities(
        12.0, n_neighbors=n_neighbors, kernel=kernel, include_self=include_self
    ).fit(SINGLE)
    beside = SINGLE + 1e-12 * np.random.default_rng(2).normal(size=SINGLE.shape)
    here, there = ea.bandwidths_at(SINGLE), ea.bandwidths_at(beside)
    np.testing.assert_allclose(here.sigmas, there.sigmas, rtol=1e-6)
    half = len(SINGLE) // 2
    P, Q = (array(ea.transform(places[:half])) for places in (SINGLE, beside))
    np.testing.assert_allclose(P, Q, atol=1e-6)
    # The affinities of the fit are others, unless a point counts among its own neighbours.
    fitted = array(ea.transform(SINGLE))
    assert np.allclose(fitted[:half], Q, atol=1e-4) == include_self


def test_a_new_point_has_the_fitted_one_at_distance_0():
    """Bandwidths by SciPy's root finder on distances with the 0 in them, and without."""
    ea = EntropicAffinities(12.0, n_neighbors=None).fit(SINGLE)
    distances = cdist(SINGLE, SINGLE, "sqeuclidean")
    for leave_out, sigma in ((False, ea.bandwidths_at(SINGLE).sigmas), (True, ea.sigmas_)):
        for row in (0, 77):
            d = np.delete(distances[row], row) if leave_out else distances[row]

            def excess(log_beta, d=d):
                p = np.exp(-np.exp(log_beta) * (d - d.min()))
                return entr(p / p.sum()).sum() - np.log(12.0)

            root = np.exp(brentq(excess, -8.0, 8.0, xtol=1e-14))
            assert sigma[row] == pytest.approx(np.sqrt(0.5 / root), rel=1e-8)


def test_given_neighbours_leave_the_data_unknown():
    near = find_neighbors(X, 40)
    ea = EntropicAffinities(12.0, neighbors=near).fit(X)
    assert not ea.is_training_data(X)


def test_wrong_flag():
    with pytest.raises(ValueError, match="as_new='no' must be True, False or 'auto'"):
        EntropicAffinities(12.0).fit(X).transform(X, as_new="no")
