"""Spectral clustering against dense references, closed forms and scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from sklearn import cluster as sklearn_cluster
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import closeknit as ck
from closeknit.affinities import FixedAffinities
from closeknit.exceptions import DisconnectedWarning, NotConvergedWarning
from closeknit.progress import listening

VARIANTS = ["ncut", "njw"]
each_variant = pytest.mark.parametrize("variant", VARIANTS)


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")
@parametrize_with_checks([ck.SpectralClustering(3, perplexity=2, random_state=0)])
def test_scikit_learn_checks(estimator, check):
    """(The checks fit integer data with ties, and tiny data in several components.)"""
    check(estimator)


@each_variant
def test_two_cliques_and_a_bridge(cliques, variant):
    W = cliques(6, 9, bridge=0.1)
    model = ck.SpectralClustering(2, affinity="precomputed", variant=variant, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(W), [1] * 6 + [0] * 9)


def test_coordinates_are_those_of_the_papers(digits_graph):
    """Shi–Malik: L u = λ D u. Ng–Jordan–Weiss: rows of D^(1/2) u, scaled to length one."""
    W = digits_graph
    degrees = np.asarray(W.sum(axis=1)).ravel()
    values, U = eigh(np.diag(degrees) - W.toarray(), np.diag(degrees), subset_by_index=[0, 9])
    options = {"affinity": "precomputed", "tol": 1e-6, "random_state": 0}
    ncut = ck.SpectralClustering(10, variant="ncut", **options).fit(W)
    np.testing.assert_allclose(ncut.eigenvalues_, values, atol=1e-10)
    assert subspace_angles(ncut.embedding_, U).max() < 1e-3
    njw = ck.SpectralClustering(10, variant="njw", **options).fit(W)
    V = np.sqrt(degrees)[:, None] * U
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    # Rows are fixed up to a common rotation: their inner products are.
    np.testing.assert_allclose(njw.embedding_ @ njw.embedding_.T, V @ V.T, atol=1e-4)
    assert ncut.n_iter_ > 1


def test_njw_clusters_like_scikit_learn(digits, digits_graph):
    """On the same graph both find nearly the same; scikit-learn's does not scale the rows."""
    theirs = sklearn_cluster.SpectralClustering(
        10, affinity="precomputed", random_state=0
    ).fit_predict(digits_graph.toarray())
    ours = ck.SpectralClustering(10, affinity="precomputed", random_state=0)
    labels = ours.fit_predict(digits_graph)
    assert adjusted_rand_score(theirs, labels) > 0.9
    truth = digits[1]
    assert adjusted_rand_score(truth, labels) > adjusted_rand_score(truth, theirs) - 0.02


@each_variant
def test_shapes_that_k_means_cannot_find(moons, variant):
    X, y = moons
    model = ck.SpectralClustering(2, perplexity=10, variant=variant, random_state=0)
    assert adjusted_rand_score(y, model.fit_predict(X)) == 1.0
    Z, z = make_circles(500, noise=0.04, factor=0.5, random_state=0)
    assert adjusted_rand_score(z, model.fit_predict(Z)) == 1.0


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.DisconnectedWarning")
def test_clusters_of_different_density():
    """One σ that resolves the dense clusters tears the rare one apart, whatever it is."""
    X, y = make_blobs(
        [150, 150, 150],
        centers=[[0, 0], [1.2, 0], [14, 0]],
        cluster_std=[0.1, 0.1, 3.0],
        random_state=0,
    )
    entropic = ck.SpectralClustering(3, perplexity=20, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, entropic) > 0.99
    for sigma in (0.1, 0.3, 1.0, 3.0):
        fixed = FixedAffinities(sigma, n_neighbors=None)
        labels = ck.SpectralClustering(3, affinity=fixed, random_state=0).fit_predict(X)
        assert adjusted_rand_score(y, labels) < 0.7


@pytest.mark.parametrize("n_neighbors", [20, None])
def test_sparse_rows_lists_and_distances_give_the_same(moons, n_neighbors):
    X, _ = moons
    options = {"perplexity": 10, "n_neighbors": n_neighbors, "random_state": 0}
    labels = ck.SpectralClustering(2, **options).fit_predict(X)
    for same in (X.tolist(), sparse.csr_matrix(X)):
        np.testing.assert_array_equal(ck.SpectralClustering(2, **options).fit_predict(same), labels)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    model = ck.SpectralClustering(2, metric="precomputed", **options)
    np.testing.assert_array_equal(model.fit_predict(distances), labels)


def test_graph_of_distances(moons):
    graph = KNeighborsTransformer(n_neighbors=30).fit_transform(moons[0])
    model = ck.SpectralClustering(2, perplexity=10, metric="precomputed", random_state=0)
    assert adjusted_rand_score(moons[1], model.fit_predict(graph)) == 1.0


# Graphs that fall into pieces


@each_variant
def test_components_are_the_clusters(cliques, variant):
    W = cliques(5, 8, 3)
    model = ck.SpectralClustering(3, affinity="precomputed", variant=variant, random_state=0)
    np.testing.assert_array_equal(model.fit_predict(W), [1] * 5 + [0] * 8 + [2] * 3)
    np.testing.assert_array_equal(model.eigenvalues_, np.zeros(3))


@each_variant
def test_more_clusters_than_components(cliques, variant):
    """The component with a bridge is cut there."""
    W = np.zeros((25, 25))
    W[:17, :17] = cliques(8, 9, bridge=0.05)
    W[17:, 17:] = cliques(8)
    model = ck.SpectralClustering(3, affinity="precomputed", variant=variant, random_state=0)
    truth = np.repeat([0, 1, 2], [8, 9, 8])
    assert adjusted_rand_score(truth, model.fit_predict(W)) == 1.0


def test_more_components_than_clusters(cliques):
    model = ck.SpectralClustering(2, affinity="precomputed")
    with pytest.warns(DisconnectedWarning, match="4 components, more than n_clusters=2.* 5 points"):
        labels = model.fit_predict(cliques(4, 8, 3, 2))
    np.testing.assert_array_equal(labels, [1] * 4 + [0] * 8 + [-1] * 5)


def test_isolated_points_among_many(moons):
    X, _ = moons
    W = sparse.block_diag([ck.graphs.symmetrize(ck.entropic_affinities(X, 10)[0]), [[0.0]]])
    model = ck.SpectralClustering(3, affinity="precomputed", random_state=0).fit(W)
    assert np.sum(model.labels_ == model.labels_[-1]) == 1


def test_one_cluster(moons):
    assert not ck.SpectralClustering(1).fit_predict(moons[0]).any()


# Interrupts


def interrupting(stage, at):
    """A listener that interrupts at the given report of a stage."""
    reports = []

    def listen(event):
        if event.stage == stage:
            reports.append(event)
            if len(reports) == at:
                raise KeyboardInterrupt

    return listening(listen)


def fitted_state(model):
    return {name: getattr(model, name) for name in model.saved_state}


def test_interrupt_while_vectors_are_computed_keeps_the_best(digits, digits_graph):
    """The clusters are those of the vectors so far, and nearly those of the whole fit."""
    whole = ck.SpectralClustering(10, affinity="precomputed", random_state=0).fit(digits_graph)
    assert whole.stopped_because_ == "converged"
    model = ck.SpectralClustering(10, affinity="precomputed", random_state=0)
    # The first report comes before the iterations, the second before the first of them.
    with (
        interrupting("eigenvectors", 7),
        pytest.warns(NotConvergedWarning, match="interrupted: 9 eigenvectors .* in 5 iterations"),
    ):
        model.fit(digits_graph)
    assert model.stopped_because_ == "interrupted"
    assert model.n_iter_ == 5 < whole.n_iter_
    assert model.embedding_.shape == (len(digits[1]), 10)
    assert (model.eigenvalues_ >= whole.eigenvalues_ - 1e-9).all()
    truth = digits[1]
    assert adjusted_rand_score(truth, model.labels_) > 0.6


def test_interrupt_of_k_means_leaves_it_one_start(digits_graph, monkeypatch):
    starts = []
    fit = sklearn_cluster.KMeans.fit

    def interrupted(self, *args, **options):
        starts.append(self.n_init)
        if len(starts) == 1:
            raise KeyboardInterrupt
        return fit(self, *args, **options)

    monkeypatch.setattr(sklearn_cluster.KMeans, "fit", interrupted)
    model = ck.SpectralClustering(10, affinity="precomputed", random_state=0)
    with pytest.warns(NotConvergedWarning, match="one start instead of n_init=10"):
        model.fit(digits_graph)
    assert starts == [10, 1]
    assert model.stopped_because_ == "interrupted"
    assert len(np.unique(model.labels_)) == 10


@pytest.mark.parametrize("stage", ["neighbours", "affinities", "eigenvectors"])
def test_interrupt_before_there_are_vectors_leaves_an_earlier_fit(digits, moons, stage):
    model = ck.SpectralClustering(2, perplexity=10, random_state=0).fit(moons[0])
    before = fitted_state(model)
    del before["n_features_in_"]  # scikit-learn sets it when it looks at the data
    with interrupting(stage, 1), pytest.raises(KeyboardInterrupt):
        model.fit(digits[0])
    for name, value in before.items():
        assert getattr(model, name) is value, name


# Promises


def test_saved_state_names_every_fitted_attribute(moons):
    model = ck.SpectralClustering(2, perplexity=10, random_state=0).fit(moons[0])
    assert vars(model).keys() == {*model.get_params(), *model.saved_state}


def test_neighbours_may_be_given(moons):
    X, _ = moons
    found = ck.neighbors.find_neighbors(X, 30)
    options = {"perplexity": 10, "random_state": 0}
    given = ck.SpectralClustering(2, neighbors=found, **options).fit(X)
    searched = ck.SpectralClustering(2, **options).fit(X)
    assert (given.affinities_ != searched.affinities_).nnz == 0


def test_verbose_shows_progress(digits, capsys):
    ck.SpectralClustering(3, perplexity=10, random_state=0, verbose=True).fit(digits[0][:600])
    shown = capsys.readouterr().err
    for stage in ("neighbours", "affinities", "eigenvectors", "clusters"):
        assert f"[closeknit] {stage}" in shown


@pytest.mark.parametrize("n_jobs", [1, 3, None])
def test_same_bits_for_any_number_of_threads(digits, n_jobs):
    X = digits[0][:900]
    one, other = (
        ck.SpectralClustering(10, perplexity=10, n_jobs=jobs, random_state=5).fit(X)
        for jobs in (2, n_jobs)
    )
    np.testing.assert_array_equal(one.embedding_, other.embedding_)
    np.testing.assert_array_equal(one.labels_, other.labels_)


def test_labels_are_numbered_by_size(digits):
    labels = ck.SpectralClustering(10, perplexity=10, random_state=0).fit_predict(digits[0])
    counts = np.bincount(labels)
    assert len(counts) == 10
    assert (np.diff(counts) <= 0).all()
    assert labels.dtype == np.int32


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 must be an integer of at least 1"),
        ({"n_clusters": 2.0}, "n_clusters=2.0 must be an integer"),
        ({"n_clusters": 401}, "n_clusters=401 needs at least as many points, got n_samples = 400"),
        ({"n_init": 0}, "n_init=0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": 0.0}, "tol=0.0 must lie between"),
        ({"variant": "rcut"}, "unknown variant 'rcut'; use 'ncut' or 'njw'"),
        ({"affinity": "rbf"}, "unknown affinity 'rbf'"),
        ({"perplexity": 500}, "perplexity"),
    ],
)
def test_wrong_parameters(moons, parameters, message):
    with pytest.raises(ValueError, match=message):
        ck.SpectralClustering(**{"n_clusters": 2, **parameters}).fit(moons[0])


@pytest.mark.parametrize(
    ("W", "message"),
    [
        ([[0.0, 1.0], [0.5, 0.0]], "must be symmetric"),
        ([[0.0, -1.0], [-1.0, 0.0]], "must not be negative"),
        ([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0]], "square"),
    ],
)
def test_wrong_affinities(W, message):
    with pytest.raises(ValueError, match=message):
        ck.SpectralClustering(2, affinity="precomputed").fit(W)
