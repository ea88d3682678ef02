"""Embeddings on the grid and with momentum: as good as the exact engine, and as well behaved."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit import objectives
from closeknit.graphs import symmetrize
from closeknit.minimize import Momentum, SpectralDirection, SpectralLBFGS
from closeknit.repulsion import ExactRepulsion, GridRepulsion

NONLINEAR = [ck.TSNE, ck.SymmetricSNE, ck.SNE, ck.ElasticEmbedding, ck.TElasticEmbedding]
each_nonlinear = pytest.mark.parametrize("model", NONLINEAR)
SMALL = np.random.default_rng(0).normal(size=(90, 4)) + np.repeat(np.eye(3, 4) * 2.0, 30, axis=0)
SMALL.setflags(write=False)
ties = pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")


def small(model, **options):
    options = {
        "perplexity": 20.0,
        "random_state": 0,
        "repulsion": "grid",
        "max_iter": 30,
        **options,
    }
    return model(**options)


@pytest.fixture(scope="module")
def by_grid(digits):
    """t-SNE of 700 digits, and its objective, exactly."""
    X, _ = digits(700)
    emb = ck.TSNE(repulsion="grid", random_state=0, n_jobs=1).fit(X)
    return emb, objectives.TSNE(emb.affinities_, check=False)


def test_the_grid_is_used(by_grid):
    emb, _ = by_grid
    assert isinstance(emb.repulsion_, GridRepulsion)
    assert emb.affinities_.dtype == np.float32
    assert emb.stopped_because_ == "tol"
    np.testing.assert_allclose(emb.affinities_.sum(), 1.0, rtol=1e-5)


def test_the_divergence_is_the_true_one(by_grid):
    """Values are a thousand times more accurate than the forces' 0.1 that is asked of the grid."""
    emb, exact = by_grid
    value = exact.value(emb.embedding_, 1.0)
    assert emb.objective_ == pytest.approx(value, rel=1e-4)
    assert emb.kl_divergence_ == pytest.approx(emb.objective_ - exact.entropy, rel=1e-6)


def test_the_map_is_as_good_as_the_exact_one(by_grid, digits, knn_accuracy):
    """Minima differ, and forces are off by a tenth: the divergences agree to 5 %."""
    X, y = digits(700)
    emb, _ = by_grid
    exact = ck.TSNE(repulsion="exact", direction="momentum", random_state=0).fit(X)
    assert emb.kl_divergence_ < 1.05 * exact.kl_divergence_
    assert knn_accuracy(emb.embedding_, y) > knn_accuracy(exact.embedding_, y) - 0.02


def test_same_bits_for_any_number_of_threads(by_grid, digits):
    """The whole fit, and new points."""
    X, _ = digits(700)
    emb, _ = by_grid
    two = ck.TSNE(repulsion="grid", random_state=0, n_jobs=2).fit(X)
    np.testing.assert_array_equal(two.embedding_, emb.embedding_)
    np.testing.assert_array_equal(two.history_.objective, emb.history_.objective)
    assert two.kl_divergence_ == emb.kl_divergence_
    new = X[:40] + 0.5
    np.testing.assert_array_equal(two.transform(new), emb.transform(new))


def test_new_points_on_the_grid(by_grid, digits):
    """Each on its own, and close to where exact sums put it."""
    X, _ = digits(700)
    emb, _ = by_grid
    new = np.random.default_rng(0).normal(scale=2.0, size=(30, 64)) + X[100:130]
    placed = emb.transform(new)
    np.testing.assert_array_equal(emb.transform(new[::-1])[::-1], placed)
    np.testing.assert_array_equal(emb.transform(new[7:8]), placed[7:8])
    grid = emb.repulsion_
    try:
        emb.repulsion_ = ExactRepulsion()
        exact = emb.transform(new)
    finally:
        emb.repulsion_ = grid
    apart = np.linalg.norm(placed - exact, axis=1) / emb.embedding_.std()
    assert np.median(apart) < 0.01
    assert np.mean(apart < 0.05) >= 0.9  # the rest may roll into another valley
    np.testing.assert_array_equal(emb.transform(X[:5]), emb.embedding_[:5])


@each_nonlinear
def test_every_model_on_the_grid(model):
    """Near the exact objective where it ends, and near the minimum that exact sums find."""
    emb = small(model, max_iter=300).fit(SMALL)
    assert isinstance(emb.repulsion_, GridRepulsion)
    P = emb.affinity_estimator_.affinities_
    model_of = getattr(objectives, model.__name__)
    true = model_of(P if model is ck.SNE else symmetrize(P))
    assert emb.objective_ == pytest.approx(true.value(emb.embedding_, emb.lam_), rel=2e-3)
    if emb.lam == "auto":  # the balance of both terms on the map of the first stage
        pushed = true.repulsion.values(emb.path_.results[0].X, true.kernel)
        balance = true.total_weight / true.repulsive_value(pushed)
        assert emb.lam_ == pytest.approx(balance, rel=2e-3)
    exact = small(model, repulsion="exact", max_iter=600, lam=emb.lam_).fit(SMALL)
    assert emb.objective_ < exact.objective_ + 0.05 * abs(exact.objective_)
    assert np.isfinite(emb.transform(SMALL[:4] + 0.1)).all()


@each_nonlinear
def test_same_bits_for_one_and_two_threads(model):
    one, two = (small(model, n_jobs=n_jobs).fit(SMALL) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    assert one.objective_ == two.objective_


@each_nonlinear
@pytest.mark.parametrize(
    "direction",
    [
        SpectralDirection(n_neighbors=10, solver="approximate"),
        SpectralDirection(n_neighbors=10, refresh=5, solver="approximate"),
        SpectralLBFGS(n_neighbors=10, solver="approximate"),
        SpectralLBFGS(n_neighbors=3, solver="sparse"),
        "spectral-minus",
        "fixed-point",
        "diagonal-hessian",
        Momentum(rate=0.1, early=0),
    ],
    ids=lambda d: d if isinstance(d, str) else type(d).__name__,
)
def test_directions_take_weights_in_single_precision(model, direction):
    """The attractive graph of a grid is float32; every factorisation must do with it."""
    start = 0.3 * np.random.default_rng(2).normal(size=(90, 2))
    options = {"exaggeration": ()} if model is ck.TSNE else {}
    if model in (ck.ElasticEmbedding, ck.TElasticEmbedding):
        options["lam"] = 1.0
    emb = small(model, direction=direction, init=start, max_iter=25, **options).fit(SMALL)
    assert emb.affinities_.dtype == np.float32
    assert np.isfinite(emb.embedding_).all()
    assert emb.objective_ < emb.history_.objective[0]


# Momentum


@each_nonlinear
def test_momentum_ends_as_low_as_a_line_search(model):
    """By name for t-SNE, whose defaults are made for it; the others want a lower rate."""
    options = {"lam": 1.0, "repulsion": "exact", "max_iter": 1500}
    direction = "momentum" if model is ck.TSNE else Momentum(rate=0.1)
    emb = small(model, direction=direction, **options).fit(SMALL)
    other = small(model, **options).fit(SMALL)
    assert emb.objective_ < other.objective_ + 0.1 * abs(other.objective_)
    assert emb.objective_ == emb.history_.objective[-1]


def test_classical_training():
    """What the docstring says for comparison with other programs, shortened."""
    classical = Momentum(rate=0.25, momentum=0.8, early_momentum=0.5, early=25)
    emb = small(
        ck.TSNE,
        direction=classical,
        exaggeration=((12, 25),),
        max_iter=50,
        tol=0,
        repulsion="exact",
    ).fit(SMALL)
    assert [result.n_iter for result in emb.path_.results] == [25, 50]
    assert emb.stopped_because_ == "max_iter"
    assert emb.lam_ == 1.0


@pytest.mark.parametrize("repulsion", ["exact", "grid"])
@pytest.mark.parametrize(("after", "lam"), [(1, 1 / 12), (31, 1 / 3), (61, 1.0)])
def test_an_interrupt_ends_all_stages(repulsion, after, lam):
    """In the early stages and after them; the last positions are kept."""
    calls = []

    def interrupt(state):
        calls.append(state)
        if len(calls) == after:
            raise KeyboardInterrupt

    emb = small(
        ck.TSNE, repulsion=repulsion, direction="momentum", callback=interrupt, max_iter=500
    ).fit(SMALL)
    assert len(calls) == after
    assert emb.stopped_because_ == "interrupted"
    np.testing.assert_array_equal(emb.embedding_, calls[-1].X)
    assert emb.objective_ == calls[-1].value
    assert emb.lam_ == pytest.approx(lam)
    assert np.isfinite(emb.transform(SMALL[:3] + 0.1)).all()
    emb.set_params(callback=None, max_iter=5).fit(SMALL)
    assert emb.stopped_because_ == "max_iter"


@pytest.mark.parametrize("repulsion", ["exact", "grid"])
def test_no_time_at_all(repulsion):
    emb = small(ck.TSNE, repulsion=repulsion, direction="momentum", time_limit=0.0).fit(SMALL)
    assert emb.stopped_because_ == "time_limit"
    assert emb.n_iter_ == 0
    assert np.isfinite(emb.embedding_).all()


# Degrees of freedom, stages, tolerances


@pytest.mark.parametrize("repulsion", ["exact", "grid"])
@pytest.mark.parametrize("dof", [0.5, 1.0, 3.0])
def test_degrees_of_freedom(repulsion, dof):
    """The divergence that is reported is that of Student's t with so many degrees."""
    engine = GridRepulsion(1e-3) if repulsion == "grid" else repulsion
    emb = small(ck.TSNE, dof=dof, repulsion=engine, max_iter=59).fit(SMALL)
    Y, P = emb.embedding_, emb.affinities_.toarray().astype(float)
    t = ((Y[:, None] - Y[None]) ** 2).sum(axis=2)
    K = (1 + t / dof) ** (-(dof + 1) / 2)
    np.fill_diagonal(K, 0.0)
    Q = K / K.sum()
    kl = (P[P > 0] * np.log(P[P > 0] / Q[P > 0])).sum()
    assert emb.kl_divergence_ == pytest.approx(kl, rel=1e-3 if repulsion == "grid" else 1e-9)
    assert np.isfinite(emb.transform(SMALL[:3] + 0.1)).all()


@pytest.mark.parametrize("dof", [0.0, -1.0, np.inf, np.nan])
def test_bad_degrees_of_freedom(dof):
    with pytest.raises(ValueError, match=r"dof=.* must be positive and finite"):
        ck.TSNE(dof=dof).fit(SMALL)


def test_stages_by_themselves():
    """Two with momentum, else four, none with a homotopy of one's own."""
    spectral = small(ck.TSNE, max_iter=5).fit(SMALL)
    np.testing.assert_allclose(spectral.path_.lams, [1 / 12, 1 / 6, 1 / 3, 1 / 1.5, 1 / 1.1, 1.0])
    momentum = small(ck.TSNE, direction="momentum", max_iter=5).fit(SMALL)
    np.testing.assert_allclose(momentum.path_.lams, [1 / 12, 1 / 3, 1.0])
    search = small(ck.TSNE, direction="spectral", max_iter=5).fit(SMALL)
    np.testing.assert_allclose(search.path_.lams, [1 / 12, 1 / 6, 1 / 3, 1 / 1.5, 1.0])
    own = small(ck.TSNE, lam=[0.5, 1.0], max_iter=5).fit(SMALL)
    np.testing.assert_allclose(own.path_.lams, [0.5, 1.0])
    none = small(ck.TSNE, exaggeration=(), max_iter=5).fit(SMALL)
    np.testing.assert_array_equal(none.path_.lams, [1.0])


@pytest.mark.parametrize(
    "exaggeration",
    [
        "early",
        [12.0],
        [(0.0, 10)],
        [(12.0, -1)],
        [(6.0, 10), (12.0, 10)],
        [(0.5, 10)],
        [(12, 1, 1)],
    ],
)
def test_bad_exaggeration(exaggeration):
    with pytest.raises(ValueError, match="exaggeration="):
        ck.TSNE(exaggeration=exaggeration).fit(SMALL)


@pytest.mark.parametrize(("tol", "message"), [("none", "tol='none'"), (-1.0, "tol=-1.0")])
def test_bad_tolerance(tol, message):
    with pytest.raises(ValueError, match=message):
        ck.TSNE(tol=tol).fit(SMALL)


# The choice of an engine


def test_unknown_repulsion():
    with pytest.raises(
        ValueError, match="unknown repulsion 'nonsense'; use 'auto', 'exact', 'grid'"
    ):
        ck.TSNE(repulsion="nonsense").fit(SMALL)


@pytest.mark.parametrize("repulsion", ["auto", "exact", "grid"])
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_up_to_three_components(n_components, repulsion):
    emb = small(ck.TSNE, n_components=n_components, repulsion=repulsion, max_iter=5).fit(SMALL)
    assert emb.embedding_.shape == (90, n_components)
    assert emb.repulsion_.is_exact == (repulsion != "grid")


def test_four_components():
    with pytest.raises(ValueError, match="repulsion='grid' serves up to 3 components, not 4"):
        small(ck.TSNE, n_components=4).fit(SMALL)
    emb = small(ck.TSNE, n_components=4, repulsion="auto", max_iter=5).fit(SMALL)
    assert emb.repulsion_.is_exact


def test_many_points_get_a_grid_by_themselves(monkeypatch):
    monkeypatch.setattr("closeknit.embeddings.nonlinear.MAX_POINTS_EXACT", 50)
    emb = small(ck.TSNE, repulsion="auto", max_iter=3).fit(SMALL)
    assert emb.repulsion_ == GridRepulsion(0.1, verify=False)
    four = small(ck.TSNE, repulsion="auto", n_components=4, max_iter=3).fit(SMALL)
    assert four.repulsion_.is_exact


@pytest.mark.parametrize("repulsion", [GridRepulsion(0.05), ExactRepulsion(1)])
def test_repulsion_as_an_object(repulsion):
    emb = small(ck.TSNE, repulsion=repulsion, max_iter=3).fit(SMALL)
    assert emb.repulsion_ is repulsion


# Hard data


@each_nonlinear
def test_a_graph_in_pieces(model):
    """Two components that nothing holds together: they part, but not without limit."""
    rng = np.random.default_rng(0)
    blocks = [sparse.csr_matrix(np.triu(rng.random((20, 20)), 1)) for _ in range(2)]
    W = sparse.block_diag([block + block.T for block in blocks], format="csr")
    emb = small(model, affinity="precomputed", init="random", max_iter=1000).fit(W)
    assert np.isfinite(emb.embedding_).all()
    assert np.ptp(emb.embedding_) < 1e3


@ties
@each_nonlinear
@pytest.mark.parametrize("n_places", [1, 3])
def test_many_duplicates(model, n_places):
    """Ninety points in three places, or all in one."""
    X = np.repeat(np.random.default_rng(0).normal(size=(n_places, 4)), 90 // n_places, axis=0)
    emb = small(model, max_iter=50).fit(X)
    assert np.isfinite(emb.embedding_).all()
    assert np.ptp(emb.embedding_) < 1e4


def test_repulsive_weights_that_are_given_need_exact_sums():
    """They are per pair; asking for a grid as well does no harm."""
    weights = np.ones((len(SMALL), len(SMALL)))
    emb = small(ck.ElasticEmbedding, repulsive_weights=weights, lam=1.0, max_iter=5).fit(SMALL)
    assert emb.repulsion_.is_exact


@pytest.mark.parametrize("model", [ck.SymmetricSNE, ck.ElasticEmbedding])
def test_narrow_starts_are_widened_where_the_grid_could_not_tell_them_from_a_point(model, digits):
    """Else points that attract each other from all sides would stay together for good."""
    X, _ = digits(700)
    start = np.random.default_rng(0).normal(size=(700, 2))
    lam = {} if model is ck.SymmetricSNE else {"lam": 1e-4}
    narrow, wide = (
        model(init=scale * start, repulsion="grid", n_jobs=1, **lam).fit(X)
        for scale in (1e-6, 0.01 / start.std(axis=0).max())
    )
    assert narrow.objective_ == pytest.approx(wide.objective_, rel=1e-6)
    assert narrow.embedding_.std() > 0.1
