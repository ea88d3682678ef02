"""The embedding estimators: scikit-learn's conventions, inputs, attributes, bad and hard input."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import closeknit as ck
from closeknit import objectives
from closeknit.affinities import EntropicAffinities, FixedAffinities
from closeknit.graphs import symmetrize
from closeknit.minimize import LBFGS, SpectralDirection
from closeknit.minimize.directions import DIRECTIONS
from closeknit.repulsion import ExactRepulsion

X = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 6.0, 20, axis=0)
X.setflags(write=False)
X_NEW = np.random.default_rng(1).normal(size=(9, 4))

NORMALIZED = [ck.TSNE, ck.SymmetricSNE, ck.SNE]
ELASTIC = [ck.ElasticEmbedding, ck.TElasticEmbedding]
NONLINEAR = [*NORMALIZED, *ELASTIC]
ALL = [*NONLINEAR, ck.LaplacianEigenmaps]
OBJECTIVE = {
    ck.TSNE: objectives.TSNE,
    ck.SymmetricSNE: objectives.SymmetricSNE,
    ck.SNE: objectives.SNE,
    ck.ElasticEmbedding: objectives.ElasticEmbedding,
    ck.TElasticEmbedding: objectives.TElasticEmbedding,
}
each = pytest.mark.parametrize("model", ALL)
each_nonlinear = pytest.mark.parametrize("model", NONLINEAR)
each_elastic = pytest.mark.parametrize("model", ELASTIC)
ties = pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")


def stages(emb):
    """How many times max_iter applies: once for each λ of the path."""
    return 1 if getattr(emb, "path_", None) is None else len(emb.path_.results)


def make(model, **options):
    """The estimator with a small perplexity, few iterations and a seed."""
    options = {"perplexity": 5.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 15)
    return model(**options)


def array(P):
    return P.toarray() if sparse.issparse(P) else np.asarray(P)


@ties
@parametrize_with_checks(
    [
        ck.TSNE(perplexity=2, max_iter=5),
        ck.SymmetricSNE(perplexity=2, max_iter=5),
        ck.SNE(perplexity=2, max_iter=5),
        ck.ElasticEmbedding(perplexity=2, max_iter=5),
        ck.TElasticEmbedding(perplexity=2, max_iter=5),
        ck.LaplacianEigenmaps(perplexity=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    """`check_estimator` is clean. (The checks fit integer data, where ties have no bandwidth.)"""
    check(estimator)


# Attributes


@each_nonlinear
@pytest.mark.parametrize("n_components", [1, 2, 3, 5])
def test_attributes(model, n_components):
    """The names of DESIGN, for any number of components (init: eigenmaps from four up)."""
    emb = make(model, n_components=n_components)
    Y = emb.fit_transform(X)
    assert Y is emb.embedding_
    assert Y.shape == (60, n_components)
    assert Y.dtype == np.float64
    assert np.isfinite(Y).all()
    assert isinstance(emb.objective_, float)
    assert isinstance(emb.n_iter_, int)
    assert 0 < emb.n_iter_ <= 15 * stages(emb)
    assert isinstance(emb.stopped_because_, str)
    history = emb.history_
    for name in ("iteration", "evaluations", "seconds", "objective", "gradient_norm", "step"):
        assert len(getattr(history, name)) == len(history)
    assert (np.diff(history.iteration) >= 0).all()
    assert (np.diff(history.evaluations) > 0).all()
    assert (np.diff(history.seconds) >= 0.0).all()
    assert history.objective[-1] == pytest.approx(emb.objective_, rel=1e-12)
    assert len(history.to_frame()) == len(history)
    assert emb.affinities_.shape == (60, 60)
    assert emb.n_features_in_ == 4
    if model is not ck.TSNE:
        assert emb.path_ is None


@each_nonlinear
def test_objective_is_the_model_at_the_embedding(model):
    """objective_ = E(embedding_; lam_) on affinities_."""
    emb = make(model).fit(X)
    given = emb.affinities_
    if model is ck.SNE:
        given = EntropicAffinities(5.0).fit_transform(X)
    objective = OBJECTIVE[model](given)
    assert objective.value(emb.embedding_, emb.lam_) == pytest.approx(emb.objective_, rel=1e-12)


@pytest.mark.parametrize("model", NORMALIZED)
@pytest.mark.parametrize("lam", [1.0, 0.5, [0.1, 1.0], [0.1, 0.5]])
def test_kl_divergence(model, lam):
    """KL(P‖Q) at λ = 1, whatever λ was minimised; for SNE the sum over rows."""
    emb = make(model, lam=lam, n_neighbors=None).fit(X)
    P = EntropicAffinities(5.0, n_neighbors=None).fit_transform(X)
    Y = emb.embedding_
    t = np.square(Y[:, None] - Y[None]).sum(axis=2)
    np.fill_diagonal(t, np.inf)
    log_K = -np.log1p(t) if model is ck.TSNE else -t
    if model is ck.SNE:
        log_Q = log_K - logsumexp(log_K, axis=1, keepdims=True)
    else:
        P, log_Q = (P + P.T) / P.sum() / 2, log_K - logsumexp(log_K)
    some = P > 0.0
    kl = (P[some] * (np.log(P[some]) - log_Q[some])).sum()
    assert emb.kl_divergence_ == pytest.approx(kl, rel=1e-9)
    assert emb.kl_divergence_ >= 0.0


@each_elastic
def test_unnormalized_models_have_no_kl_divergence(model):
    assert not hasattr(make(model).fit(X), "kl_divergence_")


@each
def test_attributes_exist_only_after_fit(model):
    emb = make(model)
    for name in ("embedding_", "objective_", "kl_divergence_", "history_", "path_"):
        assert not hasattr(emb, name)
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        emb.transform(X)


@each
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_affinities_are_symmetric_and_without_diagonal(model, n_neighbors):
    """A CSR matrix, as documented, also where every pair has an affinity."""
    W = make(model, n_neighbors=n_neighbors).fit(X).affinities_
    assert sparse.issparse(W)
    assert (W != W.T).nnz == 0
    assert (W.diagonal() == 0.0).all()
    found = EntropicAffinities(5.0, n_neighbors=n_neighbors).fit_transform(X)
    expected = array(symmetrize(found))
    if model in (ck.TSNE, ck.SymmetricSNE):
        expected = expected / expected.sum()
    np.testing.assert_allclose(W.toarray(), expected, rtol=1e-9, atol=1e-15)


@each_nonlinear
@pytest.mark.parametrize("direction", ["auto", "gradient", "spectral-minus"])
def test_number_of_iterations_is_that_of_the_history(model, direction):
    """Without stages, n_iter_ + 1 points are recorded."""
    stages = {"exaggeration": ()} if model is ck.TSNE else {}
    emb = make(model, direction=direction, **stages).fit(X)
    assert len(emb.history_) == emb.n_iter_ + 1
    assert (np.diff(emb.history_.objective) <= 0.0).all()


def test_eigenmaps_solve_their_constrained_problem():
    """min tr XᵀLX with XᵀDX = I, XᵀD1 = 0: the next eigenvectors of L u = μ D u."""
    from scipy.linalg import eigh

    emb = make(ck.LaplacianEigenmaps, n_components=3, perplexity=20.0, n_neighbors=None).fit(X)
    W, Y = array(emb.affinities_), emb.embedding_
    D = np.diag(W.sum(axis=1))
    np.testing.assert_allclose(Y.T @ D @ Y, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(Y.T @ D @ np.ones(60), 0.0, atol=1e-9)
    values = eigh(D - W, D, eigvals_only=True)[1:4]
    np.testing.assert_allclose(np.diag(Y.T @ (D - W) @ Y), values, rtol=1e-7)


def test_large_eigenmaps_are_those_of_the_dense_solver():
    """Above 500 points a sparse eigensolver takes over; same subspace."""
    from scipy.linalg import eigh

    Z = np.random.default_rng(3).random((620, 2)) * [3.0, 1.0]
    emb = make(ck.LaplacianEigenmaps, perplexity=10.0).fit(Z)
    W, Y = emb.affinities_.toarray(), emb.embedding_
    D = np.diag(W.sum(axis=1))
    values = eigh(D - W, D, eigvals_only=True, subset_by_index=[0, 2])[1:]
    np.testing.assert_allclose(np.diag(Y.T @ (D - W) @ Y), values, rtol=1e-3)
    np.testing.assert_allclose(Y.T @ D @ Y, np.eye(2), atol=1e-6)


# Inputs


@each
def test_lists_frames_and_float32_give_the_same(model):
    single = X.astype(np.float32)
    expected = make(model).fit_transform(single.astype(np.float64))
    frame = pd.DataFrame(single.astype(np.float64), columns=list("abcd"))
    np.testing.assert_array_equal(make(model).fit_transform(frame), expected)
    np.testing.assert_array_equal(
        make(model).fit_transform(single.astype(np.float64).tolist()), expected
    )
    assert np.isfinite(make(model).fit_transform(single)).all()
    assert list(make(model).fit(frame).feature_names_in_) == list("abcd")


@each
def test_sparse_data(model):
    options = {} if model is ck.LaplacianEigenmaps else {"max_iter": 5}
    S = sparse.random(60, 20, density=0.4, random_state=0, format="csr")
    got = make(model, **options).fit(S)
    assert got.embedding_.shape == (60, 2)
    assert np.isfinite(got.embedding_).all()
    dense = make(model, **options).fit(S.toarray())
    np.testing.assert_allclose(
        got.affinities_.toarray(), dense.affinities_.toarray(), rtol=1e-9, atol=1e-14
    )
    for other in (S.tocsc(), sparse.csr_array(S)):
        np.testing.assert_array_equal(make(model, **options).fit_transform(other), got.embedding_)


@each
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_precomputed_distances(model, n_neighbors):
    """Distances in place of data: the same affinities, and eigenmaps as the start."""
    D = pairwise_distances(X)
    start = {} if model is ck.LaplacianEigenmaps else {"init": "eigenmaps"}
    given = make(model, metric="precomputed", n_neighbors=n_neighbors).fit(D)
    found = make(model, n_neighbors=n_neighbors, **start).fit(X)
    np.testing.assert_allclose(
        array(given.affinities_), array(found.affinities_), rtol=1e-6, atol=1e-14
    )
    assert np.isfinite(given.embedding_).all()
    np.testing.assert_array_equal(given.transform(D), given.embedding_)
    assert np.isfinite(given.transform(pairwise_distances(X_NEW, X))).all()


@each
def test_precomputed_neighbour_graph(model):
    """The format of scikit-learn's KNeighborsTransformer, also in a pipeline."""
    graph = KNeighborsTransformer(mode="distance", n_neighbors=15).fit_transform(X)
    emb = make(model, metric="precomputed").fit(graph)
    found = make(model).fit(X)
    np.testing.assert_allclose(
        emb.affinities_.toarray(), found.affinities_.toarray(), rtol=1e-6, atol=1e-14
    )
    pipeline = make_pipeline(
        KNeighborsTransformer(mode="distance", n_neighbors=15),
        make(model, metric="precomputed"),
    )
    np.testing.assert_array_equal(pipeline.fit_transform(X), emb.embedding_)
    placed = pipeline.transform(X_NEW)
    assert placed.shape == (9, 2)
    assert np.isfinite(placed).all()


@each
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, pd.DataFrame, np.ndarray.tolist])
def test_precomputed_affinities(model, form):
    """affinity="precomputed" embeds the matrix it is given and does not touch it."""
    P = EntropicAffinities(5.0).fit_transform(X)
    W = symmetrize(P).toarray()
    given = form(P.toarray() if model is ck.SNE else W)
    before = given.copy()
    start = {} if model is ck.LaplacianEigenmaps else {"init": "eigenmaps"}
    emb = make(model, affinity="precomputed").fit(given)
    expected = make(model, **start).fit(X)
    np.testing.assert_allclose(
        array(emb.affinities_), array(expected.affinities_), rtol=1e-12, atol=1e-18
    )
    np.testing.assert_allclose(emb.embedding_, expected.embedding_, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(array(given), array(before))
    Q = EntropicAffinities(5.0).fit(X).transform(X_NEW)
    placed = emb.transform(form(Q.toarray()))
    np.testing.assert_allclose(placed, expected.transform(X_NEW), rtol=1e-4, atol=1e-4)


@each
@pytest.mark.parametrize(
    "affinity",
    [
        FixedAffinities(),
        FixedAffinities(sigma=1.0, n_neighbors=None),
        EntropicAffinities(7.0, order="density", method="newton"),
    ],
    ids=repr,
)
def test_affinity_transformers(model, affinity):
    """Any transformer; it is cloned, not fitted."""
    emb = make(model, affinity=affinity).fit(X)
    assert not hasattr(affinity, "affinities_")
    assert emb.affinity is affinity
    expected = symmetrize(array(clone(affinity).fit_transform(X)))
    if model in (ck.TSNE, ck.SymmetricSNE):
        expected = expected / expected.sum()
    np.testing.assert_allclose(array(emb.affinities_), expected, rtol=1e-9, atol=1e-15)
    assert np.isfinite(emb.transform(X_NEW)).all()


class Cosines(TransformerMixin, BaseEstimator):
    """An affinity of somebody else's, with nothing but scikit-learn's methods."""

    def fit(self, X, y=None):
        self.points_ = np.asarray(X)
        return self

    def transform(self, X):
        points = self.points_
        norms = np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(points, axis=1)
        return np.exp(5.0 * np.asarray(X) @ points.T / norms)


@each
def test_somebody_else_s_affinity_transformer(model):
    emb = make(model, affinity=Cosines()).fit(X)
    assert np.isfinite(emb.embedding_).all()
    placed = emb.transform(X_NEW)
    assert placed.shape == (9, 2)
    assert np.isfinite(placed).all()


@each
def test_inputs_stay_as_they_are(model):
    Z, D = X.copy(), pairwise_distances(X)
    S = sparse.csr_matrix(X)
    G = KNeighborsTransformer(n_neighbors=15).fit_transform(X)
    W = sparse.csr_matrix(symmetrize(EntropicAffinities(5.0).fit_transform(X)))
    for given, options in (
        (Z, {}),
        (S, {}),
        (D, {"metric": "precomputed"}),
        (G, {"metric": "precomputed"}),
        (W, {"affinity": "precomputed"}),
    ):
        before = given.copy()
        emb = make(model, **options).fit(given)
        emb.transform(given)
        np.testing.assert_array_equal(array(given), array(before))
        if sparse.issparse(given):
            np.testing.assert_array_equal(given.data, before.data)
            np.testing.assert_array_equal(given.indices, before.indices)


@each_nonlinear
def test_repulsion_may_be_an_object(model):
    expected = make(model).fit_transform(X)
    for repulsion in ("exact", ExactRepulsion(1)):
        np.testing.assert_array_equal(make(model, repulsion=repulsion).fit_transform(X), expected)


# Starts


@each_nonlinear
@pytest.mark.parametrize("init", ["pca", "eigenmaps", "random"])
def test_starts(model, init):
    """With max_iter=0 the embedding is the start, small along every component."""
    start = make(model, init=init, max_iter=0).fit(X)
    assert np.abs(start.embedding_).max() < 1e-2
    assert np.abs(start.embedding_).min(axis=0).max() < 1e-3
    assert start.n_iter_ == 0
    assert np.isfinite(start.objective_)
    end = make(model, init=init).fit(X)
    assert np.isfinite(end.embedding_).all()
    assert end.embedding_.std() > 1e-2


def test_pca_start_is_the_scaled_pca():
    from sklearn.decomposition import PCA

    expected = PCA(2).fit_transform(X)
    got = make(ck.SymmetricSNE, init="pca", max_iter=0).fit_transform(X)
    np.testing.assert_allclose(got * (expected[0, 0] / got[0, 0]), expected, rtol=1e-9, atol=1e-12)
    assert got[:, 0].std() == pytest.approx(1e-4)


@each_nonlinear
def test_given_start(model):
    """An array is where the minimiser begins; it is copied, whatever its type."""
    init = np.random.default_rng(5).normal(size=(60, 2))
    before = init.copy()
    emb = make(model, init=init).fit(X)
    np.testing.assert_array_equal(init, before)
    assert not np.shares_memory(emb.embedding_, init)
    np.testing.assert_array_equal(make(model, init=init.tolist()).fit_transform(X), emb.embedding_)
    if model not in ELASTIC:  # lam="auto" minimises another model first
        stay = make(model, init=init, max_iter=0).fit(X)
        np.testing.assert_array_equal(stay.embedding_, init)


@each_nonlinear
def test_better_than_the_start(model):
    stages = {"exaggeration": ()} if model is ck.TSNE else {"lam": 1.0}
    emb = make(model, init="random", max_iter=60, **stages).fit(X)
    assert emb.history_.objective[-1] < emb.history_.objective[0]


# Promises


@each
def test_same_seed_same_bits(model):
    options = {} if model is ck.LaplacianEigenmaps else {"init": "random"}
    one, two, again = (make(model, n_jobs=j, **options).fit(X) for j in (1, 2, 1))
    for other in (two, again):
        assert one.embedding_.tobytes() == other.embedding_.tobytes()
        assert one.transform(X_NEW).tobytes() == other.transform(X_NEW).tobytes()


@each_nonlinear
def test_another_seed_is_another_start(model):
    one, two = (make(model, init="random", random_state=s).fit_transform(X) for s in (0, 1))
    assert not np.array_equal(one, two)


@each
def test_fit_twice_is_fit_once(model):
    emb = make(model)
    first = emb.fit_transform(X).copy()
    emb.fit(X[:30] * 2.0)
    np.testing.assert_array_equal(emb.fit_transform(X), first)


@each
def test_clone_and_pickle(model):
    emb = make(model, n_components=3).fit(X)
    copy = clone(emb)
    assert not hasattr(copy, "embedding_")
    np.testing.assert_array_equal(copy.fit_transform(X), emb.embedding_)
    back = pickle.loads(pickle.dumps(emb))
    np.testing.assert_array_equal(back.embedding_, emb.embedding_)
    np.testing.assert_array_equal(back.transform(X_NEW), emb.transform(X_NEW))
    if model in NORMALIZED:
        assert back.kl_divergence_ == emb.kl_divergence_


@each
def test_pandas_output_and_names(model):
    emb = make(model).set_output(transform="pandas")
    frame = emb.fit_transform(pd.DataFrame(X, columns=list("abcd")))
    names = [model.__name__.lower() + str(i) for i in range(2)]
    assert list(frame.columns) == names
    assert list(emb.get_feature_names_out()) == names
    assert isinstance(emb.embedding_, np.ndarray)
    placed = emb.transform(pd.DataFrame(X_NEW, columns=list("abcd"), index=range(9, 18)))
    assert list(placed.columns) == names
    assert list(placed.index) == list(range(9, 18))


@each
def test_in_a_pipeline(model):
    pipeline = make_pipeline(StandardScaler(), make(model))
    assert pipeline.fit_transform(X).shape == (60, 2)
    assert pipeline.transform(X_NEW).shape == (9, 2)
    assert pipeline.get_feature_names_out()[0].endswith("0")


@each_nonlinear
def test_scikit_learn_s_progress_bar(model):
    """`sklearn.callback` where the installed scikit-learn has it (issue 3)."""
    callback = pytest.importorskip("sklearn.callback")
    emb = make(model)
    assert isinstance(emb, callback.CallbackSupportMixin)
    emb.set_callbacks(callback.ProgressBar()).fit(X)
    np.testing.assert_array_equal(emb.embedding_, make(model).fit_transform(X))


@ties
@pytest.mark.filterwarnings("error::RuntimeWarning")
@each_nonlinear
@pytest.mark.parametrize(
    ("data", "options"),
    [
        (X, {"direction": "gradient"}),
        (np.ones((30, 4)), {}),
        (np.repeat(X[::20], 12, axis=0), {"direction": "cg"}),
    ],
    ids=["gradient", "identical", "repeated"],
)
def test_no_noise_from_numpy(model, data, options):
    """What a line search tries and rejects is nobody's business: no division by zero."""
    make(model, **options).fit(data)


@each
def test_verbose_speaks_on_stderr_only(model, capsys):
    make(model, verbose=True).fit(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert err != ""
    make(model).fit(X)
    assert capsys.readouterr() == ("", "")


# Directions, callbacks, limits


@each_nonlinear
@pytest.mark.parametrize("direction", [name for name, cls in DIRECTIONS.items() if cls.monotone])
def test_every_direction_decreases_the_objective(model, direction):
    stages = {"exaggeration": ()} if model is ck.TSNE else {}
    lam = {} if model in NORMALIZED else {"lam": 1.0}
    start = 0.3 * np.random.default_rng(2).normal(size=(60, 2))
    emb = make(model, direction=direction, init=start, **stages, **lam).fit(X)
    objective = emb.history_.objective
    assert len(objective) > 2
    assert (np.diff(objective) <= 0.0).all()
    assert objective[-1] < objective[0] - 1e-3 * abs(objective[0])
    assert emb.objective_ == objective[-1]


@each_nonlinear
def test_directions_may_be_objects(model):
    for name, direction in (("spectral", SpectralDirection()), ("lbfgs", LBFGS())):
        np.testing.assert_array_equal(
            make(model, direction=direction).fit_transform(X),
            make(model, direction=name).fit_transform(X),
        )
    emb = make(model, direction=SpectralDirection(n_neighbors=7)).fit(X)
    assert np.isfinite(emb.embedding_).all()


@each_nonlinear
def test_callback_is_told_and_may_stop(model):
    """One call that returns True is enough, whatever stages the model goes through."""
    calls = []

    def stop(state):
        calls.append(state.value)
        return len(calls) == 3

    emb = make(model, callback=stop, max_iter=50).fit(X)
    assert len(calls) == 3
    assert emb.stopped_because_ == "callback"
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.objective_)
    assert np.isfinite(emb.transform(X_NEW)).all()


@each_nonlinear
def test_time_limit(model):
    emb = make(model, time_limit=0.0).fit(X)
    assert emb.stopped_because_ == "time_limit"
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(X_NEW)).all()


@each_nonlinear
def test_max_iter_and_tol(model):
    few = make(model, max_iter=2, tol=0.0).fit(X)
    assert few.n_iter_ == 2 * stages(few)
    assert few.stopped_because_ == "max_iter"
    assert make(model, max_iter=500, tol=1e-2).fit(X).stopped_because_ == "tol"
    few = make(model, max_iter=np.int64(2)).fit(X)
    assert few.n_iter_ <= 2 * stages(few)


# Homotopy


@each_nonlinear
def test_homotopy_follows_a_list_of_lambdas(model):
    """path_ holds a result for each λ; the last is the model's."""
    lams = [0.01, 0.1, 1.0]
    emb = make(model, lam=lams).fit(X)
    np.testing.assert_array_equal(emb.path_.lams, lams)
    assert len(emb.path_.results) == 3
    assert emb.path_.stopped_because == "end of path"
    assert emb.lam_ == 1.0
    np.testing.assert_array_equal(emb.embedding_, emb.path_.X)
    assert emb.objective_ == emb.path_.results[-1].value
    assert len(emb.history_) == sum(len(result.history) for result in emb.path_.results)
    same = make(model, lam=np.array(lams)).fit(X)
    np.testing.assert_array_equal(same.embedding_, emb.embedding_)


@each_nonlinear
def test_homotopy_with_numpy_s_integers(model):
    """max_iter may come out of an array, as anywhere in scikit-learn."""
    emb = make(model, lam=[0.1, 1.0], max_iter=np.int64(3)).fit(X)
    assert emb.n_iter_ <= 3 * stages(emb)


@each_nonlinear
@pytest.mark.parametrize(
    "lams", [[1.0, 0.1], [0.1, 0.1], [0.0, 1.0], [-1.0, 1.0], [], [0.1, np.nan]]
)
def test_lambdas_that_do_not_increase(model, lams):
    with pytest.raises(ValueError, match=r"lams? must be .*increasing"):
        make(model, lam=lams).fit(X)


# λ of the elastic embedding


@each_elastic
def test_lam_auto_balances_attraction_and_repulsion(model):
    """λ Σ K = Σ w⁺ at the solution, as for s-SNE and t-SNE."""
    emb = make(model, max_iter=500, tol=1e-8).fit(X)
    t = np.square(pairwise_distances(emb.embedding_))
    K = 1 / (1 + t) if model is ck.TElasticEmbedding else np.exp(-t)
    np.fill_diagonal(K, 0.0)
    assert emb.lam_ * K.sum() == pytest.approx(emb.affinities_.sum(), rel=0.02)


@each_elastic
def test_lam_auto_is_a_minimum_of_the_normalized_model(model):
    """EE at its λ and s-SNE (t-EE and t-SNE) agree: the gradients are proportional."""
    emb = make(model, max_iter=1000, tol=1e-10).fit(X)
    twin = objectives.TSNE if model is ck.TElasticEmbedding else objectives.SymmetricSNE
    objective = twin(emb.affinities_)
    _, gradient = objective.value_and_gradient(emb.embedding_, 1.0)
    _, attraction = objective.value_and_gradient(emb.embedding_, 0.0)
    assert np.linalg.norm(gradient) < 1e-3 * np.linalg.norm(attraction)


@each_elastic
@pytest.mark.parametrize("n", [200, 1000])
def test_lam_auto_is_good_at_any_number_of_points(model, n, digits, knn_accuracy):
    """Digits are as far apart with n = 200 as with n = 1000."""
    Z, y = digits(n)
    emb = model(perplexity=15.0, random_state=0, max_iter=60).fit(Z)
    baseline = knn_accuracy(Z, y)
    assert knn_accuracy(emb.embedding_, y) > baseline - 0.12


@each_elastic
def test_lam_numbers_are_the_paper_s(model):
    emb = make(model, lam=100.0).fit(X)
    assert emb.lam_ == 100.0
    assert emb.path_ is None


@each_elastic
def test_repulsive_weights(model):
    """Ones, squared distances (the first EE paper) or given."""
    ones = make(model, lam=10.0, repulsive_weights=np.ones((60, 60))).fit_transform(X)
    plain = make(model, lam=10.0).fit_transform(X)
    np.testing.assert_allclose(ones, plain, rtol=1e-4, atol=1e-5)
    squared = np.square(pairwise_distances(X))
    by_name = make(model, lam=1.0, repulsive_weights="distances", max_iter=2).fit(X)
    given = make(model, lam=1.0, repulsive_weights=squared, max_iter=2).fit(X)
    assert by_name.objective_ == pytest.approx(given.objective_, rel=1e-9)
    auto = make(model, repulsive_weights="distances").fit(X)
    assert np.isfinite(auto.embedding_).all()
    assert np.isfinite(auto.transform(X_NEW)).all()


@each_elastic
def test_the_diagonal_of_repulsive_weights_means_nothing(model):
    """Neither for the fit nor for new points."""
    ones = make(model, lam=10.0, repulsive_weights=np.ones((60, 60))).fit(X)
    none = make(model, lam=10.0, repulsive_weights=np.ones((60, 60)) - np.eye(60)).fit(X)
    np.testing.assert_array_equal(none.embedding_, ones.embedding_)
    np.testing.assert_allclose(none.transform(X_NEW), ones.transform(X_NEW), rtol=1e-10)


@each_elastic
def test_repulsive_distances_of_sparse_data(model):
    dense = make(model, lam=1.0, repulsive_weights="distances", init="eigenmaps").fit(X)
    S = sparse.csr_matrix(X)
    thin = make(model, lam=1.0, repulsive_weights="distances", init="eigenmaps").fit(S)
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-4)


# t-SNE's stages


def test_exaggeration_is_a_homotopy_in_lambda():
    """λ divided by the factors, then λ."""
    emb = make(ck.TSNE, exaggeration=((12.0, 5), (4.0, 3)), tol=0.0).fit(X)
    np.testing.assert_allclose(emb.path_.lams, [1 / 12, 1 / 4, 1.0])
    assert [result.n_iter for result in emb.path_.results][:2] == [5, 3]
    assert emb.lam_ == 1.0
    assert make(ck.TSNE, exaggeration=()).fit(X).path_ is None


@pytest.mark.parametrize("exaggeration", [((0.0, 5),), ((12.0, -1),), ((12.0,),), ((12.0, 5, 1),)])
def test_exaggeration_that_makes_no_sense(exaggeration):
    with pytest.raises(ValueError, match="exaggeration="):
        make(ck.TSNE, exaggeration=exaggeration).fit(X)


@pytest.mark.parametrize("exaggeration", [((2.0, 5), (12.0, 5)), ((1.0, 5),), ((0.5, 5),)])
def test_exaggeration_that_does_not_decrease_to_one(exaggeration):
    """The message names the parameter that is wrong."""
    with pytest.raises(ValueError, match="exaggeration"):
        make(ck.TSNE, exaggeration=exaggeration).fit(X)


# Bad input: one clear sentence each


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
    refuses(r"affinity must be a name or a transformer", model, affinity=3)
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


@each_nonlinear
def test_bad_starts(model):
    refuses(r"init has shape \(59, 2\)", model, init=np.zeros((59, 2)))
    refuses(r"init has shape \(60, 3\)", model, init=np.zeros((60, 3)))
    refuses(r"init contains NaN", model, init=np.full((60, 2), np.nan))
    refuses(r"init='pca' needs data", model, init="pca", n_components=5)
    D = pairwise_distances(X)
    refuses(r"init='pca' needs data", model, D, init="pca", metric="precomputed")


@pytest.mark.parametrize("model", [ck.SymmetricSNE, ck.SNE])
def test_a_start_too_far_apart(model):
    """exp(−t) of all pairs is 0, so there is no Q."""
    init = 100.0 * np.arange(120.0).reshape(60, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        refuses("not finite at X0.*start from other positions", model, init=init)


@each_elastic
def test_bad_repulsive_weights(model):
    refuses(r"repulsive_weights='ones' must be", model, repulsive_weights="ones")
    refuses(r"repulsive_weights have shape", model, repulsive_weights=np.ones((3, 3)))
    refuses(r"repulsive_weights must be finite", model, repulsive_weights=-np.ones((60, 60)))


@each
def test_new_points_with_other_features(model):
    emb = make(model).fit(X)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* expecting 4"):
        emb.transform(X_NEW[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        emb.transform(np.full((1, 4), np.nan))


# Hard input: finite, and no hang


@ties
@each
@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_identical_points(model, n_neighbors):
    emb = make(model, n_neighbors=n_neighbors).fit(np.ones((30, 4)))
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(np.ones((2, 4)))).all()
    assert np.isfinite(emb.transform(np.zeros((2, 4)))).all()


@ties
@each_nonlinear
@pytest.mark.parametrize("init", ["eigenmaps", "random"])
def test_identical_points_from_other_starts(model, init):
    emb = make(model, init=init, max_iter=100).fit(np.ones((30, 4)))
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.objective_)


@ties
@each
def test_many_duplicates(model):
    Z = np.vstack([X[:30], np.repeat(X[:3], 12, axis=0)])
    emb = make(model, max_iter=60) if model is not ck.LaplacianEigenmaps else make(model)
    emb.fit(Z)
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(X_NEW)).all()


def islands(count=4, size=12, gap=1e4):
    rng = np.random.default_rng(8)
    return np.vstack([rng.normal(size=(size, 3)) + gap * i for i in range(count)])


@each
def test_disconnected_graphs(model):
    """Clusters without an edge between them: all points placed, clusters apart."""
    Z = islands()
    emb = make(model, perplexity=3.0, n_neighbors=6).fit(Z)
    from scipy.sparse.csgraph import connected_components

    assert connected_components(emb.affinities_)[0] >= 4
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(Z + 0.1)).all()


@each_nonlinear
@pytest.mark.parametrize("direction", list(DIRECTIONS))
def test_disconnected_graphs_in_every_direction(model, direction):
    emb = make(model, perplexity=3.0, n_neighbors=6, direction=direction).fit(islands())
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.objective_)


def test_eigenmaps_lay_components_side_by_side():
    """Components are embedded one by one and do not overlap."""
    emb = make(ck.LaplacianEigenmaps, perplexity=3.0, n_neighbors=11).fit(islands())
    label = np.repeat(np.arange(4), 12)
    Y = emb.embedding_
    low = np.stack([Y[label == i].min(axis=0) for i in range(4)])
    high = np.stack([Y[label == i].max(axis=0) for i in range(4)])
    for i in range(4):
        for j in range(i):
            assert ((low[i] > high[j]) | (low[j] > high[i])).any()


@each
@pytest.mark.parametrize("n_isolated", [1, 5])
def test_isolated_points(model, n_isolated):
    """Points without a single affinity."""
    W = np.zeros((30 + n_isolated, 30 + n_isolated))
    W[:30, :30] = array(symmetrize(EntropicAffinities(5.0).fit_transform(X[:30])))
    emb = make(model, affinity="precomputed")
    if model is not ck.LaplacianEigenmaps:
        emb.set_params(max_iter=100)
    emb.fit(W)
    assert np.isfinite(emb.embedding_).all()
    if model is not ck.LaplacianEigenmaps:
        assert np.isfinite(emb.objective_)


@each
def test_two_and_three_points(model):
    for n in (2, 3):
        W = 1.0 - np.eye(n)
        emb = make(model, n_components=1, affinity="precomputed").fit(W)
        assert emb.embedding_.shape == (n, 1)
        assert np.isfinite(emb.embedding_).all()


@each
@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_data_of_any_scale(model, scale):
    emb = make(model).fit(scale * X)
    plain = make(model).fit(X)
    np.testing.assert_allclose(
        array(emb.affinities_), array(plain.affinities_), rtol=1e-6, atol=1e-12
    )
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.transform(scale * X_NEW)).all()


@each
def test_constant_features_and_one_outlier(model):
    Z = np.hstack([X, np.ones((60, 2))])
    Z[0] += 1e8
    emb = make(model).fit(Z)
    assert np.isfinite(emb.embedding_).all()
