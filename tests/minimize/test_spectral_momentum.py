"""Momentum along the spectral direction."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import closeknit as ck
from closeknit import _core
from closeknit.linalg import ApproximateCholesky, take_entries
from closeknit.minimize import (
    Momentum,
    Schedule,
    SpectralMomentum,
    Springs,
    Stage,
    Stop,
    StopReason,
    minimize,
    run_schedule,
)


def springs(n=60, seed=0, target=1.0):
    """A ring with some chords, each point also tied to a place of its own."""
    rng = np.random.default_rng(seed)
    W = np.roll(np.eye(n), 1, axis=1)
    W[rng.integers(n, size=20), rng.integers(n, size=20)] = 0.5
    W = np.maximum(W, W.T) * (1 - np.eye(n))
    return Springs(W, rng.normal(size=(n, 2)), target)


class Changing:
    """A problem whose attractive weights are asked for and differ each time."""

    def __init__(self, problem, change=True):
        self.problem, self.change, self.asked = problem, change, 0
        self.weights = csr_matrix(problem.attractive_weights(None))

    def value(self, X):
        return self.problem.value(X)

    def value_and_gradient(self, X):
        return self.problem.value_and_gradient(X)

    def attractive_weights(self, X, entries=None):
        self.asked += 1
        weights = self.weights * (1.0 + self.asked) if self.change else self.weights
        return take_entries(weights, entries)


def test_it_arrives_where_springs_rest():
    problem = springs(target=0.01)
    direction = SpectralMomentum(rate=0.02, momentum=0.6, n_neighbors=None)
    result = minimize(problem, np.zeros((60, 2)), direction, max_iter=2000, tol=1e-10)
    np.testing.assert_allclose(result.X, problem.solution(), atol=1e-2)


@pytest.mark.parametrize("stiffness", [1e-3, 1.0])
def test_the_first_step_is_the_spectral_one(stiffness):
    """All weights kept: −rate (1 + ε) (4L + 4εD)⁻¹ G, on a tree without approximation.

    The gain has grown once when the first step is taken.
    """
    n = 12
    path = np.diag(np.arange(1.0, n), 1)
    path += path.T
    problem = Springs(path, np.random.default_rng(0).normal(size=(n, 2)))
    X0 = np.random.default_rng(1).normal(size=(n, 2))
    direction = SpectralMomentum(
        rate=0.3, n_neighbors=None, max_step=1e9, stiffness=stiffness, final_stiffness=1e-3
    )
    result = minimize(problem, X0, direction, max_iter=1, tol=0.0)
    degrees = path.sum(axis=1)
    B = 4.0 * (np.diag(degrees) - path) + 4.0 * stiffness * np.diag(degrees)
    rate = 0.3 * (1.0 + SpectralMomentum.gain[0]) * (1.0 + stiffness)
    G = problem.value_and_gradient(X0)[1]
    np.testing.assert_allclose(result.X, X0 - rate * np.linalg.solve(B, G), rtol=1e-8, atol=1e-8)


def test_weights_left_out_are_made_up_for():
    """A sample of the weights is as heavy as all of them."""

    def weights(n_neighbors):
        descent = SpectralMomentum(n_neighbors=n_neighbors).start(springs(), np.zeros((60, 2)))
        descent.propose(np.zeros((60, 2)), np.ones((60, 2)))
        return descent._factor.data

    kept, whole = weights(1), weights(None)
    assert len(kept) < len(whole)
    assert kept.sum() == pytest.approx(whole.sum())


@pytest.mark.parametrize(("refresh", "refreshed"), [(None, 0), (5, 3), (100, 0)])
@pytest.mark.parametrize("n_neighbors", [None, 1])
def test_the_factor_is_made_anew_when_it_is_time(monkeypatch, refresh, refreshed, n_neighbors):
    """Before iterations 6, 11 and 16 if refresh is 5.

    All weights are asked for once at the start; then, each time, the kept ones.
    """
    made = []
    real = _core.approximate_cholesky
    monkeypatch.setattr(
        _core,
        "approximate_cholesky",
        lambda *given: real(*given) if given[3] is None else made.append(1) or real(*given),
    )
    problem = Changing(springs())
    direction = SpectralMomentum(rate=1e-3, refresh=refresh, n_neighbors=n_neighbors)
    minimize(problem, np.ones((60, 2)), direction, max_iter=20, tol=0.0)
    assert len(made) == refreshed
    assert problem.asked == 2 + refreshed


def test_settled_factors_are_made_anew_ever_more_seldom():
    """Every five iterations while ε falls (up to the 12th), then after a quarter of all."""
    problem = Changing(springs())
    direction = SpectralMomentum(refresh=5, stiffness=0.02, hold=0, half_life=12.0)
    descent = direction.start(problem, np.zeros((60, 2)))
    made = []
    for iteration in range(60):
        before = problem.asked
        descent.propose(np.full((60, 2), float(iteration)), np.ones((60, 2)))
        if problem.asked > before:
            made.append(iteration)
    assert made == [0, 5, 10, 15, 20, 25, 31, 38, 47, 58]


def velocities(n_jobs, n_iter=30):
    """Velocities of a run, and the iterations at which another factor was used."""
    problem = Changing(springs())
    descent = SpectralMomentum(refresh=10, n_jobs=n_jobs).start(problem, np.zeros((60, 2)))
    found, changed, factor = [], [], None
    for iteration in range(n_iter):
        gradient = np.random.default_rng(iteration).normal(size=(60, 2))
        found.append(descent.propose(np.full((60, 2), float(iteration)), gradient).copy())
        if descent._factor is not factor:
            factor = descent._factor
            changed.append(iteration)
    return np.array(found), changed


def test_factors_of_many_points_are_used_later_on_any_number_of_threads(monkeypatch):
    few, changed = velocities(2)
    assert changed == [0, 10, 20]
    monkeypatch.setattr("closeknit.minimize.momentum._MANY_POINTS", 60)
    many, changed = velocities(1)
    assert changed == [0, 15, 25]  # begun ten iterations after each other all the same
    np.testing.assert_array_equal(many[:10], few[:10])
    assert not np.array_equal(many, few)
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(velocities(n_jobs)[0], many)


def test_a_factor_is_made_here_where_no_thread_is_to_be_had(monkeypatch):
    monkeypatch.setattr("closeknit.minimize.momentum._MANY_POINTS", 60)
    expected = velocities(2)[0]

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor.submit", refuse)
    np.testing.assert_array_equal(velocities(2)[0], expected)


def test_what_fails_beside_the_iterations_is_raised_in_them(monkeypatch):
    monkeypatch.setattr("closeknit.minimize.momentum._MANY_POINTS", 60)
    real = ApproximateCholesky.__init__

    def second_fails(self, *arguments, like=None, **options):
        if like is not None:
            raise MemoryError("no memory for a factor")
        real(self, *arguments, like=like, **options)

    monkeypatch.setattr(ApproximateCholesky, "__init__", second_fails)
    with pytest.raises(MemoryError, match="no memory for a factor"):
        velocities(2)


def test_maps_are_cut_into_parts_once_few_of_their_edges_cross(monkeypatch):
    """Along a map of the ring, that is; the cuts of one that is in no order are not used.

    Nor is the map cut again once few points are between the parts. The bits are those of any
    number of threads.
    """
    monkeypatch.setattr("closeknit.minimize.momentum._PART", 20)
    made = []
    real = ApproximateCholesky.__init__

    def init(self, *arguments, like=None, parts=None, **options):
        made.append("like" if like is not None else "whole" if parts is None else "parts")
        real(self, *arguments, like=like, parts=parts, **options)

    monkeypatch.setattr(ApproximateCholesky, "__init__", init)
    angle = 2 * np.pi * np.arange(60) / 60
    ring = np.c_[np.cos(angle), np.sin(angle)]
    maps = [ring[np.random.default_rng(0).permutation(60)], ring, ring]
    W = np.roll(np.eye(60), 1, axis=1)

    def run(n_jobs):
        made.clear()
        problem = Changing(Springs(W + W.T, np.zeros((60, 2)), 1.0))
        descent = SpectralMomentum(refresh=1, n_jobs=n_jobs).start(problem, ring)
        return np.array([descent.propose(X, ring).copy() for X in maps])

    found = run(1)
    assert made == ["whole", "parts", "like"]
    for n_jobs in (2, 3):
        np.testing.assert_array_equal(run(n_jobs), found)


def test_weights_and_stiffness_that_stay_leave_the_factor():
    problem = Changing(springs(), change=False)
    descent = SpectralMomentum(refresh=1, hold=3).start(problem, np.zeros((60, 2)))
    descent.propose(np.zeros((60, 2)), np.ones((60, 2)))
    factor = descent._factor
    for _ in range(3):
        descent.propose(np.zeros((60, 2)), np.ones((60, 2)))
    assert descent._factor is factor
    descent.propose(np.zeros((60, 2)), np.ones((60, 2)))  # ε has begun to fall
    assert descent._factor is not factor


@pytest.mark.parametrize(
    ("iterations", "stiffness"),
    [(0, 2.0), (7, 2.0), (10, 1.0), (13, 0.5), (16, 0.25), (19, 0.2), (10**6, 0.2)],
)
def test_stiffness_falls_by_half_after_the_hold(iterations, stiffness):
    direction = SpectralMomentum(stiffness=2.0, final_stiffness=0.2, hold=7, half_life=3.0)
    assert direction.stiffness_at(iterations) == pytest.approx(stiffness, rel=1e-15)


def test_points_that_swing_slow_down():
    """Gains grow by little, to 1.5 at most, and shrink where a gradient turns."""
    descent = SpectralMomentum(n_neighbors=None).start(springs(), np.zeros((60, 2)))
    for _ in range(20):
        descent.propose(np.zeros((60, 2)), np.ones((60, 2)))
    np.testing.assert_array_equal(descent._gains, 1.5)
    descent.propose(np.zeros((60, 2)), -np.ones((60, 2)))
    np.testing.assert_allclose(descent._gains, 1.2)


def test_no_point_moves_farther_than_allowed():
    result = minimize(
        springs(),
        np.full((60, 2), 1e3),
        SpectralMomentum(rate=1e3, max_step=0.5),
        max_iter=1,
        tol=0.0,
    )
    moved = np.linalg.norm(result.X - 1e3, axis=1)
    assert moved.max() == pytest.approx(0.5)


@pytest.mark.parametrize(("radius", "longest"), [(1.0, 3.0), (1000.0, 20.0)])
def test_steps_grow_with_the_map(radius, longest):
    """At most 3 units, or 2 % of the map's root mean square radius."""
    angle = 2 * np.pi * np.arange(60) / 60
    X0 = 1e4 + radius * np.c_[np.cos(angle), np.sin(angle)]
    result = minimize(springs(), X0, SpectralMomentum(rate=1e6), max_iter=1, tol=0.0)
    assert np.linalg.norm(result.X - X0, axis=1).max() == pytest.approx(longest)


def test_groups_of_copies_hold_each_other():
    """20 copies of each of 300 points, with few edges between the groups that they form.

    The strongest edges alone join copies only, so that nothing told the factor how firmly groups
    hold each other: they swung, and the map ended at a divergence of 0.109.
    """
    X = np.repeat(np.random.default_rng(0).normal(size=(300, 3)), 20, axis=0)
    tsne = ck.TSNE(perplexity=30, random_state=0, n_jobs=2).fit(X)
    assert tsne.stopped_because_ == "tol"
    assert tsne.kl_divergence_ < 0.1
    value = tsne.history_.objective[tsne.history_.lam == 1.0]
    assert np.diff(value[::10]).max() < 0.0


def test_points_without_any_attraction_move():
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 0] = 1.0
    descent = SpectralMomentum().start(Springs(W, np.ones((5, 2))), np.zeros((5, 2)))
    step = descent.propose(np.zeros((5, 2)), np.ones((5, 2)))
    assert np.isfinite(step).all()
    assert (step < 0.0).all()


def test_same_bits_for_any_number_of_threads():
    results = [
        minimize(springs(), np.ones((60, 2)), SpectralMomentum(0.01, n_jobs=n), max_iter=30).X
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "rate=0.0 must be positive"),
        ({"momentum": 1.0}, "momentum=1.0 must be at least 0 and below 1"),
        ({"max_step": -1.0}, "max_step=-1.0 must be positive or 'auto'"),
        ({"max_step": "long"}, "max_step='long' must be positive or 'auto'"),
        ({"n_neighbors": -1}, "n_neighbors=-1 must be None"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be None or at least 1"),
        ({"refresh": 0}, "refresh=0 must be None"),
        ({"stiffness": np.inf}, "stiffness=inf, which must be finite"),
        ({"stiffness": np.nan}, "final_stiffness=0.01 must be positive and at most stiffness=nan"),
        ({"stiffness": 0.001}, "final_stiffness=0.01 must be positive and at most stiffness=0.001"),
        ({"final_stiffness": 0.0}, "final_stiffness=0.0 must be positive"),
        ({"final_stiffness": np.nan}, "final_stiffness=nan must be positive"),
        ({"hold": -1}, "hold=-1 must not be negative"),
        ({"half_life": 0.0}, "half_life=0.0 must be positive"),
        ({"half_life": np.nan}, "half_life=nan must be positive"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SpectralMomentum(**options)


def test_tsne_ends_at_least_as_low_as_by_momentum_and_keeps_more_neighbours():
    """On average over two starts; the maps of either differ by as much from start to start."""
    from sklearn.datasets import load_digits

    X, kept, divergence = load_digits().data, {}, {}
    for direction in ("momentum", "spectral-momentum"):
        options = {"direction": direction, "repulsion": "grid", "n_jobs": 1, "random_state": 1}
        maps = [ck.TSNE(init=init, **options).fit(X) for init in ("pca", "random")]
        settled = ck.embeddings.MapSettled(maps[0].affinities_)
        kept[direction] = np.mean([settled.neighbors_kept(m.embedding_) for m in maps])
        divergence[direction] = np.mean([m.kl_divergence_ for m in maps])
        assert max(np.abs(m.embedding_).max() for m in maps) < 500.0
    assert kept["spectral-momentum"] > kept["momentum"]
    assert divergence["spectral-momentum"] < divergence["momentum"] + 0.02


# The end of a stage


class After(Stop):
    """Stop after some iterations, for one reason or another."""

    def __init__(self, n_iter, reason=StopReason.TOL):
        self.n_iter, self.reason = n_iter, reason

    def start(self):
        seen = []
        return lambda state: self.reason if len(seen) == self.n_iter else seen.append(1)


def run(direction, stop, max_iter=1000, lams=(1.0,)):
    problem = springs()
    stages = tuple(Stage(lam, max_iter) for lam in lams)
    return run_schedule(
        Schedule(stages), lambda lam: problem, np.zeros((60, 2)), direction, stop=stop
    )


@pytest.mark.parametrize(
    ("direction", "reason", "max_iter", "ended"),
    [
        (SpectralMomentum(), StopReason.TOL, 1000, (50, StopReason.TOL)),
        (SpectralMomentum(), StopReason.TOL, 40, (40, StopReason.TOL)),  # it had converged
        (SpectralMomentum(), StopReason.TOL, 20, (20, StopReason.MAX_ITER)),
        (SpectralMomentum(), StopReason.GRADIENT_TOL, 1000, (30, StopReason.GRADIENT_TOL)),
        (Momentum(rate=0.05), StopReason.TOL, 1000, (30, StopReason.TOL)),
    ],
)
def test_twenty_iterations_after_convergence(direction, reason, max_iter, ended):
    result = run(direction, After(30, reason), max_iter).results[0]
    assert (result.n_iter, result.stopped_because) == ended


def test_every_stage_begins_with_all_its_momentum(monkeypatch):
    kept = []
    real = _core.momentum_step
    monkeypatch.setattr(
        _core, "momentum_step", lambda rule, *given: kept.append(rule[1]) or real(rule, *given)
    )
    run(SpectralMomentum(), After(30), lams=(0.5, 1.0))
    assert kept == 2 * (30 * [0.9] + 20 * [0.5])


def test_what_swings_comes_to_rest():
    """Stiff springs at a rate that is too high for all the momentum, but not for half of it."""
    problem = springs(target=30.0)
    direction = SpectralMomentum(rate=0.03, n_neighbors=None, max_step=1e9)

    def distance(n_iter, stop):
        path = run_schedule(
            Schedule((Stage(None, n_iter),)),
            lambda lam: problem,
            np.zeros((60, 2)),
            direction,
            stop=stop,
        )
        return np.linalg.norm(path.results[0].X - problem.solution())

    assert distance(50, After(30)) < 0.5 * distance(50, After(1000))
