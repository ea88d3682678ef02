"""The sparsifiers: what each promises of its graph, as scikit-learn estimators, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import TransformerMixin, clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_iris, make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

import closeknit as ck
from closeknit.exceptions import NoBandwidthWarning, NoViewerWarning
from closeknit.graphs import (
    EntropicSparsifier,
    KNNSparsifier,
    ResistanceSparsifier,
    ViewerSparsifier,
    laplacian,
    resistances,
    sparsity,
    symmetrize,
)
from closeknit.graphs.resistance_sparsifier import _draw_exactly, _probabilities

X = make_circles(150, factor=0.4, noise=0.05, random_state=0)[0]
W = symmetrize(ck.EntropicAffinities(20.0, n_neighbors=None).fit_transform(X))
ALL = [
    EntropicSparsifier(perplexity=15),
    KNNSparsifier(),
    KNNSparsifier(mutual=True),
    ViewerSparsifier(15, perplexity=10, random_state=0),
    ResistanceSparsifier(perplexity=15, random_state=0),
]
each = pytest.mark.parametrize("sparsifier", ALL, ids=repr)
each_target = pytest.mark.parametrize("target", [0.8, 0.9, 0.95, 0.98])


def with_(sparsifier, **parameters):
    return clone(sparsifier).set_params(**parameters)


# scikit-learn


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")
@parametrize_with_checks(
    [
        EntropicSparsifier(perplexity=2),
        KNNSparsifier(n_neighbors=2),
        ViewerSparsifier(5, perplexity=2, random_state=0),
        ResistanceSparsifier(perplexity=2, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")  # it is the blobs, apart
@pytest.mark.parametrize("sparsifier", ALL[:4], ids=repr)
def test_graph_in_front_of_spectral_clustering(sparsifier):
    points, labels = make_blobs(90, centers=3, cluster_std=0.5, random_state=3)
    graph = with_(sparsifier).fit_transform(points)
    found = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(graph)
    assert adjusted_rand_score(labels, found) == 1.0


@each
def test_no_transform_of_other_points(sparsifier):
    """There is one graph, of the fitted points, and it is what `fit_transform` returns."""
    sparsifier = with_(sparsifier)
    graph = sparsifier.fit_transform(X)
    assert graph is sparsifier.graph_
    assert not hasattr(sparsifier, "transform")
    assert not isinstance(sparsifier, TransformerMixin)


@each
def test_saved_state_names_every_fitted_attribute(sparsifier):
    fitted = with_(sparsifier).fit(X)
    assert vars(fitted).keys() == {*fitted.get_params(), *fitted.saved_state}


# Promises of every sparsifier


@each
@pytest.mark.parametrize("given", ["data", "distances", "affinities"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_sparse_symmetric_graph_without_loops(sparsifier, given, form):
    """Whatever is given, out comes a CSR graph; the input is not changed."""
    matrix = {"data": X, "distances": pairwise_distances(X), "affinities": W}[given]
    if form == "sparse":
        matrix = sparse.csr_matrix(matrix)
    before = matrix.copy()
    estimator = with_(sparsifier, input=given)
    graph = estimator.fit_transform(matrix)
    assert abs(matrix - before).max() == 0.0
    assert isinstance(graph, sparse.csr_matrix)
    assert graph.shape == (150, 150)
    assert graph.dtype == np.float64
    assert graph.has_canonical_format
    assert (graph.data > 0.0).all()
    assert not graph.diagonal().any()
    assert abs(graph - graph.T).max() == 0.0
    assert estimator.sparsity_ == sparsity(graph)
    assert 0.0 < estimator.sparsity_ < 1.0


@each
def test_points_and_their_distances_give_the_same_graph(sparsifier):
    graph = with_(sparsifier).fit_transform(X)
    other = with_(sparsifier, input="distances").fit_transform(pairwise_distances(X))
    np.testing.assert_array_equal((graph > 0).toarray(), (other > 0).toarray())
    np.testing.assert_allclose(graph.toarray(), other.toarray(), rtol=1e-6)


@each
@each_target
def test_sparsity_is_met_as_closely_as_ties_permit(sparsifier, target):
    """Within one pair; for neighbours, no other k comes closer."""
    estimator = with_(sparsifier, sparsity=target).fit(X)
    pairs = 150 * 149
    if not isinstance(sparsifier, KNNSparsifier):
        assert abs(estimator.sparsity_ - target) <= 1.5 / pairs
        return
    others = [
        with_(sparsifier, n_neighbors=k).fit(X).sparsity_
        for k in range(max(1, estimator.n_neighbors_ - 3), estimator.n_neighbors_ + 4)
    ]
    assert abs(estimator.sparsity_ - target) == min(abs(s - target) for s in others)
    same = with_(sparsifier, n_neighbors=estimator.n_neighbors_).fit_transform(X)
    assert (same != estimator.graph_).nnz == 0


@each
@each_target
def test_sparsity_of_given_affinities(sparsifier, target):
    estimator = with_(sparsifier, input="affinities", sparsity=target).fit(W)
    tolerance = 0.02 if isinstance(sparsifier, KNNSparsifier) else 1e-3
    assert abs(estimator.sparsity_ - target) < tolerance


@each
def test_same_seed_same_bits(sparsifier):
    first, second = with_(sparsifier, n_jobs=1), with_(sparsifier, n_jobs=2)
    a, b = first.fit_transform(X), second.fit_transform(X)
    np.testing.assert_array_equal(a.toarray(), b.toarray())


# Each on its own


def test_entropic_threshold_against_a_dense_twin():
    P = ck.EntropicAffinities(12.0, n_neighbors=None).fit_transform(X)
    dense = 0.5 * (P + P.T)
    for threshold in (0.0, 0.001, 0.01, 0.05):
        sparsifier = EntropicSparsifier(12.0, threshold=threshold, n_neighbors=None)
        graph = sparsifier.fit_transform(X)
        expected = np.where(dense >= threshold, dense, 0.0)
        np.testing.assert_array_equal(graph.toarray(), expected)
        assert sparsifier.threshold_ == expected[expected > 0.0].min()
    default = EntropicSparsifier(12.0, n_neighbors=None).fit_transform(X)
    np.testing.assert_array_equal(default.toarray(), np.where(dense >= 0.001, dense, 0.0))


def test_entropic_sparsity_keeps_the_largest():
    graph = EntropicSparsifier(sparsity=0.9, input="affinities").fit_transform(W)
    left = W[graph.toarray() == 0.0]
    assert graph.data.min() > left.max()


def test_entropic_takes_several_scales():
    graph = EntropicSparsifier([5.0, 20.0], threshold=0.0).fit_transform(X)
    expected = symmetrize(ck.EntropicAffinities([5.0, 20.0]).fit_transform(X))
    assert abs(graph - expected).max() == 0.0


@pytest.mark.parametrize("mutual", [False, True])
@pytest.mark.parametrize("mode", ["connectivity", "distance"])
@pytest.mark.parametrize("k", [1, 4, 10, 149])
def test_neighbours_against_scikit_learn(mutual, mode, k):
    A = kneighbors_graph(X, k, mode=mode).toarray()
    expected = np.minimum(A, A.T) if mutual else np.maximum(A, A.T)
    graph = KNNSparsifier(k, mutual=mutual, mode=mode).fit_transform(X)
    np.testing.assert_allclose(graph.toarray(), expected, rtol=1e-12)


def test_neighbours_that_are_given():
    found = ck.neighbors.find_neighbors(X, 12)
    for given in (found, (found.indices, np.sqrt(found.sq_distances))):
        graph = KNNSparsifier(6, neighbors=given).fit_transform(X)
        assert (graph != KNNSparsifier(6).fit_transform(X)).nnz == 0
        target = KNNSparsifier(sparsity=0.95, neighbors=given).fit(X)
        assert abs(target.sparsity_ - 0.95) < 0.01
        with pytest.raises(ValueError, match="but neighbors= holds only 12 per point"):
            KNNSparsifier(13, neighbors=given).fit(X)
    with pytest.raises(ValueError, match="describes 150 points among 150, X has 90"):
        KNNSparsifier(3, neighbors=found).fit(X[:90])


def test_neighbours_in_affinities_are_the_largest():
    graph = KNNSparsifier(5, input="affinities").fit_transform(W)
    top = np.argsort(-W, axis=1)[:, :5]
    directed = np.zeros(W.shape, bool)
    np.put_along_axis(directed, top, True, axis=1)
    np.testing.assert_array_equal(graph.toarray(), np.where(directed | directed.T, W, 0.0))


def test_neighbours_keep_edges_of_length_zero():
    """Duplicates are neighbours at distance 0, stored as such."""
    points = np.array([[0.0], [0.0], [5.0], [5.0]])
    graph = KNNSparsifier(1, mode="distance").fit_transform(points)
    assert graph.nnz == 4
    assert (graph.data == 0.0).all()
    assert sparsity(graph) == pytest.approx(8 / 12)


def test_neighbours_tie_together_in_affinities():
    """All of the weights that tie for the last place stay."""
    star = np.array([[0, 2, 1, 1], [2, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], dtype=float)
    near = KNNSparsifier(2, mutual=True, input="affinities").fit_transform(star)
    np.testing.assert_array_equal(near.toarray(), star)


def test_asymmetric_affinities_stay_a_subgraph():
    P = ck.EntropicAffinities(10.0).fit_transform(X)
    for sparsifier in ALL[:4]:
        graph = with_(sparsifier, input="affinities", sparsity=0.9).fit_transform(P)
        stored = graph > 0
        assert abs(graph - P.multiply(stored)).max() == 0.0
    with pytest.raises(ValueError, match=r"must be symmetric; use closeknit.graphs.symmetrize"):
        ResistanceSparsifier(input="affinities").fit(P)


def test_mutual_sparsity_that_one_sided_edges_cannot_meet():
    """A chain of nearest neighbours has hardly any mutual ones, but all pairs are at k = n − 1."""
    chain = np.cumsum(np.arange(40.0))[:, None]
    estimator = KNNSparsifier(mutual=True, sparsity=0.5).fit(chain)
    assert abs(estimator.sparsity_ - 0.5) < 0.03


# Resistances


def spectrum_ratio(L, L_s):
    """Smallest and largest xᵀL_s x / xᵀLx."""
    values, vectors = np.linalg.eigh(L)
    keep = values > 1e-9 * values[-1]
    T = vectors[:, keep] / np.sqrt(values[keep])
    return np.linalg.eigvalsh(T.T @ L_s @ T)[[0, -1]]


def test_resistances_against_the_pseudo_inverse():
    """R = (e_u − e_v)ᵀ L⁺ (e_u − e_v), to the √(2/m) that m projections promise."""
    exact = np.linalg.pinv(laplacian(W).toarray())
    R = ck.graphs.effective_resistances(sparse.csr_matrix(W), n_projections=800, random_state=0)
    expected = exact[R.row, R.row] + exact[R.col, R.col] - 2.0 * exact[R.row, R.col]
    errors = R.data / expected - 1.0
    assert np.sqrt(np.mean(errors**2)) < 1.3 * np.sqrt(2.0 / 800)
    assert R.nnz == 150 * 149 // 2


def test_resistances_of_a_tree_are_exact():
    """Where there is no detour, R = 1/w, in every component."""
    tree = np.zeros((7, 7))
    for a, b, w in [(0, 1, 2.0), (1, 2, 0.5), (1, 3, 8.0), (4, 5, 3.0)]:
        tree[a, b] = tree[b, a] = w
    R = ck.graphs.effective_resistances(sparse.csr_matrix(tree), n_projections=3, random_state=0)
    np.testing.assert_allclose(R.data, [0.5, 2.0, 0.125, 1.0 / 3.0], rtol=1e-2)


def test_systems_beyond_all_digits_are_given_up(monkeypatch):
    """Their residuals cannot fall to the tolerance; what was reached is finite."""
    counted = []
    multiply = resistances.multiply
    monkeypatch.setattr(
        resistances, "multiply", lambda *given: counted.append(None) or multiply(*given)
    )
    rng = np.random.default_rng(0)
    upper = np.triu(10.0 ** rng.uniform(-60.0, 0.0, (40, 40)), k=1)
    graph = sparse.csr_matrix(upper + upper.T)
    R = ck.graphs.effective_resistances(graph, n_projections=8, random_state=0)
    assert np.isfinite(R.data).all()
    assert 0 < len(counted) < resistances._MAX_ITER // 4


def test_exactly_so_many_edges_each_with_its_probability():
    """Frequencies over many draws are the probabilities, which add up to the number drawn."""
    rng = np.random.RandomState(0)
    leverages = rng.random_sample(60) ** 3
    probabilities = _probabilities(leverages, 25)
    assert probabilities.sum() == pytest.approx(25.0)
    assert (probabilities == 1.0).any()
    free = probabilities < 1.0
    assert np.ptp(probabilities[free] / leverages[free]) < 1e-12
    drawn = np.zeros(60)
    for _ in range(4000):
        kept = _draw_exactly(probabilities, 25, rng)
        assert len(np.unique(kept)) == 25
        drawn[kept] += 1
    errors = drawn / 4000 - probabilities
    assert (np.abs(errors) <= 5.0 * np.sqrt(probabilities * (1.0 - probabilities) / 4000)).all()


def test_resistance_sampling_is_unbiased():
    """An edge that is kept has its weight over its probability, so the mean is its weight."""
    sampler = ResistanceSparsifier(800, input="affinities", random_state=0)
    graph = sampler.fit_transform(W)
    assert graph.nnz == 1600
    p = sampler.probabilities_.toarray()
    kept = graph.toarray() > 0.0
    np.testing.assert_allclose(graph.toarray()[kept], W[kept] / p[kept])
    assert np.triu(p).sum() == pytest.approx(800.0)


def test_epsilon_bounds_the_spectrum():
    """|xᵀL_s x − xᵀLx| ≤ ε·xᵀLx on a dense graph with edges to spare, which are really dropped."""
    rng = np.random.default_rng(0)
    dense = np.triu(rng.random((400, 400)), 1)
    dense += dense.T
    sampler = ResistanceSparsifier(epsilon=0.8, input="affinities", random_state=0)
    graph = sampler.fit_transform(dense)
    assert sampler.sparsity_ > 0.7
    low, high = spectrum_ratio(laplacian(dense).toarray(), laplacian(graph).toarray())
    assert 0.2 <= low <= high <= 1.8


def test_resistance_beats_uniform_sampling_on_a_barbell():
    """A bridge between two cliques is always kept, however few edges are."""
    clique = np.ones((20, 20)) - np.eye(20)
    barbell = sparse.block_diag([clique, clique]).toarray()
    barbell[0, 20] = barbell[20, 0] = 1e-3
    for seed in range(5):
        sampler = ResistanceSparsifier(80, input="affinities", random_state=seed)
        assert sampler.fit_transform(barbell)[0, 20] == pytest.approx(1e-3)


# Bad input

WRONG = [
    ({"input": "graph"}, "input='graph' is unknown; choose one of"),
    ({"sparsity": 1.0}, "sparsity=1.0 must be at least 0 and less than 1"),
    ({"sparsity": -0.1}, "sparsity=-0.1 must be at least 0 and less than 1"),
    ({"sparsity": "high"}, "sparsity='high' must be at least 0"),
    ({"sparsity": float("nan")}, "sparsity=nan must be at least 0"),
    ({"n_jobs": 0}, "n_jobs=0 has no meaning"),
]


@each
@pytest.mark.parametrize(("options", "message"), WRONG, ids=str)
def test_bad_parameters(sparsifier, options, message):
    with pytest.raises(ValueError, match=message):
        with_(sparsifier, **options).fit(X)


@pytest.mark.parametrize(
    ("sparsifier", "message"),
    [
        (EntropicSparsifier(threshold=-1.0), "threshold=-1.0 must be a number of at least 0"),
        (
            EntropicSparsifier(threshold=0.1, sparsity=0.9),
            "each say how many edges",
        ),
        (
            EntropicSparsifier(perplexity=200),
            "perplexity=200 must be less than the number of other points",
        ),
        (KNNSparsifier(0), "n_neighbors=0 must be an integer of at least 1"),
        (KNNSparsifier(2.5), "n_neighbors=2.5 must be an integer"),
        (KNNSparsifier(150), "n_neighbors=150 needs at least 151 points, got n_samples = 150"),
        (KNNSparsifier(5, sparsity=0.9), "each say how many edges"),
        (KNNSparsifier(mode="weights"), "mode='weights' is unknown"),
        (ViewerSparsifier(0), "n_viewers=0 must be an integer of at least 1"),
        (ViewerSparsifier(votes=0), "votes=0 must be at least 1"),
        (ViewerSparsifier(votes=2, sparsity=0.9), "each say how many edges"),
        (ViewerSparsifier(bandwidth=0.0), "bandwidth=0.0 must be a positive number or one of"),
        (ViewerSparsifier(bandwidth="scott"), "bandwidth='scott' must be a positive number"),
        (ViewerSparsifier(modes="peaks"), "modes='peaks' is unknown"),
        (ViewerSparsifier(tails="fat"), "tails='fat' is unknown"),
        (ViewerSparsifier(view_perplexity=0.5), "perplexity=0.5 must be at least 1"),
        (ViewerSparsifier(viewer_selection="best"), "viewer_selection='best' is unknown"),
        (ViewerSparsifier(viewer_selection=[0, 150]), "names point 150, but there are 150"),
        (ViewerSparsifier(viewer_selection=[0.5]), "or indices of points"),
        (ResistanceSparsifier(0), "n_edges=0 must be an integer of at least 1"),
        (ResistanceSparsifier(10**6), "n_edges=1000000 is more than the"),
        (ResistanceSparsifier(epsilon=1.5), "epsilon=1.5 must lie between 0 and 1"),
        (ResistanceSparsifier(5, epsilon=0.5), "n_edges=5 and epsilon=0.5 each say"),
        (ResistanceSparsifier(n_projections=0), "n_projections=0 must be at least 1"),
    ],
    ids=str,
)
def test_bad_parameters_of_one(sparsifier, message):
    with pytest.raises(ValueError, match=message):
        sparsifier.fit(X)


@each
@pytest.mark.parametrize("given", ["affinities", "distances"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
def test_bad_matrices(sparsifier, given, form):
    estimator = with_(sparsifier, input=given)
    with pytest.raises(ValueError, match=r"square matrix, got shape \(150, 140\)"):
        estimator.fit(form(W[:, :140]))
    negative = W.copy()
    negative[3, 7] = negative[7, 3] = -0.5
    with pytest.raises(ValueError, match=r"-0\.5"):
        estimator.fit(form(negative))
    missing = W.copy()
    missing[3, 7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        estimator.fit(form(missing))


@each
def test_single_point(sparsifier):
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        with_(sparsifier).fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        with_(sparsifier, input="affinities").fit([[0.0]])


@each
def test_impossible_sparsity_of_a_graph(sparsifier):
    """A graph cannot be made denser than it is; the message says what can be had."""
    thin = sparse.csr_matrix(kneighbors_graph(X, 3).maximum(kneighbors_graph(X, 3).T))
    with pytest.raises(ValueError, match=r"sparsity=0.5 asks for 11175 edges, but the graph has"):
        with_(sparsifier, input="affinities", sparsity=0.5).fit(thin)


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoViewerWarning")
@each
def test_graph_without_edges(sparsifier):
    graph = with_(sparsifier, input="affinities").fit_transform(np.zeros((5, 5)))
    assert graph.nnz == 0
    assert sparsity(graph) == 1.0


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoViewerWarning")
@each
def test_disconnected_graph(sparsifier):
    """Parts without a connection stay apart and are made sparse each on its own."""
    parts = sparse.block_diag([W[:50, :50], W[50:100, 50:100]]).tocsr()
    graph = with_(sparsifier, input="affinities", sparsity=0.9).fit_transform(parts)
    assert graph[:50, 50:].nnz == 0
    assert graph[:50, :50].nnz > 0
    assert graph[50:, 50:].nnz > 0


@each
def test_identical_points(sparsifier):
    """No bandwidth and no mode tells them apart: a warning, and a graph nevertheless."""
    points = np.ones((40, 3))
    estimator = with_(sparsifier)
    if isinstance(sparsifier, KNNSparsifier):
        assert estimator.fit_transform(points).nnz > 0
        return
    kinds = (NoBandwidthWarning, NoViewerWarning)
    with pytest.warns(kinds):
        graph = estimator.fit_transform(points)
    assert np.isfinite(graph.data).all()
    assert graph.nnz > 0


def test_public_names():
    for name in ck.graphs.__all__:
        assert getattr(ck.graphs, name).__doc__
    iris = load_iris().data
    assert ck.graphs.KNNSparsifier(3).fit_transform(iris).shape == (150, 150)
