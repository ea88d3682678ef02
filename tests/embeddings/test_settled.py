"""When a map is finished: neighbours kept, the stopping rule, and the warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import closeknit as ck
from closeknit.embeddings import MapSettled
from closeknit.exceptions import NotConvergedWarning
from closeknit.minimize import (
    Momentum,
    Schedule,
    Springs,
    Stage,
    State,
    StopReason,
    minimize,
    run_schedule,
)


def random_weights(n, seed=0, density=0.3):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return csr_matrix(W + W.T)


def plain_share(W, X, k=15):
    """By a loop over points and their neighbours; all that weigh as much as the k-th count."""
    kept = total = 0
    for i, row in enumerate(W.toarray()):
        wanted = min(k, np.count_nonzero(row))
        least = np.sort(row)[::-1][wanted - 1] if wanted else np.inf
        strongest = np.flatnonzero(row >= least)
        distances = np.linalg.norm(X - X[i], axis=1)
        near = [j for j in np.argsort(distances, kind="stable") if j != i][:k]
        kept += sum(j in near for j in strongest)
        total += wanted
    return kept / total


def state(iteration, value, X, gradient_norm=1.0):
    return State(iteration, iteration, 0.0, X, value, gradient_norm, 1.0, 1.0, 0)


# Neighbours kept


@pytest.mark.parametrize("n", [2, 5, 16, 17, 60, 300])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_neighbours_kept_against_a_plain_loop(n, d):
    W = random_weights(n, density=1.0 if n < 20 else 0.3)
    X = np.random.default_rng(1).normal(size=(n, d))
    assert MapSettled(W).neighbors_kept(X) == pytest.approx(plain_share(W, X), abs=1e-12)


def test_of_equal_weights_any_may_be_near():
    """20 copies of each of two points: whichever 15 of its copies are near a point, all is kept."""
    W = csr_matrix(np.kron(np.eye(2), np.ones((20, 20))) - np.eye(40))
    X = np.random.default_rng(0).normal(size=(40, 2))
    assert MapSettled(W).neighbors_kept(X) == pytest.approx(plain_share(W, X), abs=1e-12)
    X[20:] += 100.0
    assert MapSettled(W).neighbors_kept(X) == 1.0


def test_many_points_are_sampled(monkeypatch):
    W = random_weights(60)
    X = np.random.default_rng(1).normal(size=(60, 2))
    monkeypatch.setattr("closeknit.embeddings.settled._SAMPLE", 20)
    sampled = np.zeros((60, 60))
    sampled[::3] = W.toarray()[::3]
    expected = plain_share(csr_matrix(sampled), X)
    assert MapSettled(W).neighbors_kept(X) == pytest.approx(expected, abs=1e-12)


def test_points_that_no_weight_reaches_do_not_count():
    W = random_weights(50).toarray()
    X = np.random.default_rng(1).normal(size=(50, 2))
    W[40:] = W[:, 40:] = 0.0
    share = MapSettled(csr_matrix(W)).neighbors_kept(X)
    assert share == pytest.approx(plain_share(csr_matrix(W), X), abs=1e-12)
    assert MapSettled(csr_matrix((50, 50))).neighbors_kept(X) == 0.0


def test_more_points_on_one_place_than_neighbours_are_looked_up():
    """A point may not be found among the nearest to itself; it never counts as its neighbour."""
    n, k = 60, 15
    X = np.repeat([[0.0, 0.0], [1.0, 0.0]], n // 2, axis=0)
    same = np.kron(np.eye(2), np.ones((n // 2, n // 2))) - np.eye(n)
    share = MapSettled(csr_matrix(same)).neighbors_kept(X)
    assert 0.0 < share <= 1.0
    other = 1.0 - same - np.eye(n)
    assert MapSettled(csr_matrix(other)).neighbors_kept(X) == 0.0
    few = X[: k + 1]  # all of these are found
    weights = csr_matrix(np.ones((k + 1, k + 1)) - np.eye(k + 1))
    assert MapSettled(weights).neighbors_kept(few) == 1.0


def test_one_point():
    assert MapSettled(csr_matrix((1, 1))).neighbors_kept(np.zeros((1, 2))) == 0.0


# The rule


class Improving:
    """Maps of a ring, of which a growing part is in order."""

    def __init__(self, n=200):
        angle = 2 * np.pi * np.arange(n) / n
        self.ring = np.c_[np.cos(angle), np.sin(angle)]
        apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
        apart = np.minimum(apart, n - apart)
        self.weights = csr_matrix(np.where((apart > 0) & (apart < 9), 1.0 / (1 + apart), 0.0))
        self.disorder = np.random.default_rng(0).uniform(-1.0, 1.0, size=(n, 2))

    def at(self, share):
        placed = np.arange(len(self.ring)) < share * len(self.ring)
        return np.where(placed[:, None], self.ring, self.disorder)


def stops_at(rule, shares, values, maps):
    reached = rule.start()
    for iteration, (share, value) in enumerate(zip(shares, values, strict=True)):
        reason = reached(state(iteration, value, maps.at(share)))
        if reason is not None:
            return iteration, reason
    return None


def test_it_stops_when_both_have_settled_and_not_before():
    """The share rises for 100 iterations, the objective falls for 170."""
    maps, iterations = Improving(), np.arange(400)
    rising = np.minimum(iterations / 100, 1.0)
    constant = np.full(400, 5.0)
    falling = 10.0 - 0.01 * np.minimum(iterations, 170)
    rule = MapSettled(maps.weights, every=25)
    # Measured at 25, 50, …; equal at 100, 125 and 150.
    assert stops_at(rule, rising, constant, maps) == (150, StopReason.TOL)
    # The interval from 150 to 175 still has a fall of 0.2, more than 25 · 1e-4 · 8.5.
    assert stops_at(rule, rising, falling, maps) == (200, StopReason.TOL)
    assert stops_at(rule, 0.8 * iterations / 400, constant, maps) is None
    # Three measurements are needed, whatever they are.
    assert stops_at(rule, np.ones(400), constant, maps) == (75, StopReason.TOL)


def test_an_objective_that_hardly_rises_does_not_keep_it_from_stopping():
    """Momentum goes uphill at times; what counts is that nothing is gained any more."""
    maps = Improving()
    values = 5.0 + 0.0004 * np.arange(400)
    assert stops_at(MapSettled(maps.weights, every=25), np.ones(400), values, maps) == (
        75,
        StopReason.TOL,
    )


def test_a_map_that_swings_has_not_settled():
    maps, iterations = Improving(), np.arange(400)
    values = 5.0 + 0.01 * np.minimum(iterations, 110)
    assert stops_at(MapSettled(maps.weights, every=25), np.ones(400), values, maps) == (
        150,
        StopReason.TOL,
    )


def test_the_parameters_count():
    maps, iterations = Improving(), np.arange(400)
    rising = np.minimum(iterations / 100, 1.0)
    constant, falling = np.full(400, 5.0), 10.0 - 0.01 * np.minimum(iterations, 170)
    every = MapSettled(maps.weights, every=10)
    assert stops_at(every, rising, constant, maps) == (120, StopReason.TOL)
    loose = MapSettled(maps.weights, every=25, tol=1e-2)
    assert stops_at(loose, rising, falling, maps) == (150, StopReason.TOL)
    # Of what is above 8.25, the fall from 125 to 150 is half.
    floored = MapSettled(maps.weights, every=25, tol=1e-2, floor=8.25)
    assert stops_at(floored, rising, falling, maps) == (200, StopReason.TOL)
    patient = MapSettled(maps.weights, every=25, growth=100.0)
    assert stops_at(patient, rising, constant, maps) == (75, StopReason.TOL)


def test_a_gradient_of_zero_stops_at_once():
    reached = MapSettled(random_weights(20)).start()
    assert reached(state(0, 1.0, np.zeros((20, 2)), 0.0)) is StopReason.GRADIENT_TOL


def test_each_stage_begins_anew():
    maps = Improving()
    rule = MapSettled(maps.weights, every=25)
    for _ in range(2):
        stopped = stops_at(rule, np.ones(100), np.ones(100), maps)
        assert stopped == (75, StopReason.TOL)


def test_nothing_is_measured_before_it_may_decide(monkeypatch):
    """Neither in stages of fewer than 75 iterations nor while the objective falls."""
    maps, measured = Improving(), []
    rule = MapSettled(maps.weights, every=25)
    real = MapSettled.neighbors_kept
    monkeypatch.setattr(
        MapSettled, "neighbors_kept", lambda self, X: measured.append(1) or real(self, X)
    )
    assert stops_at(rule, np.ones(74), np.ones(74), maps) is None
    assert stops_at(rule, np.ones(200), np.linspace(9.0, 1.0, 200), maps) is None
    assert not measured
    assert stops_at(rule, np.ones(100), np.ones(100), maps) == (75, StopReason.TOL)
    assert len(measured) == 3


def test_it_serves_any_minimisation():
    springs = Springs(random_weights(40), np.random.default_rng(0).normal(size=(40, 2)))
    rule = MapSettled(springs.weights)
    path = run_schedule(
        Schedule((Stage(None),)), lambda lam: springs, springs.targets, Momentum(0.05), stop=rule
    )
    reference = minimize(springs, springs.targets, tol=0.0)
    assert path.results[0].stopped_because == "tol"
    assert path.results[0].value == pytest.approx(reference.value, rel=0.01)


# The warning


def measured(maps, shares, reason):
    rule = MapSettled(maps.weights, every=25)
    stops_at(rule, shares, np.linspace(9.0, 1.0, len(shares)), maps)
    rule.warn_if_unfinished(reason, stacklevel=1)


@pytest.mark.parametrize("reason", [StopReason.MAX_ITER, StopReason.TIME_LIMIT])
def test_a_limit_that_stops_a_rising_map_warns(reason):
    maps = Improving()
    shares = 0.8 * np.arange(101) / 100
    low, high = (MapSettled(maps.weights).neighbors_kept(maps.at(shares[i])) for i in (50, 100))
    said = (
        f"{reason.value} stopped a map that is not finished: the share of neighbours kept still "
        f"rose from {low:.3f} to {high:.3f} between iterations 50 and 100; raise {reason.value}, "
        "or go on with optimize()"
    )
    with pytest.warns(NotConvergedWarning) as caught:
        measured(maps, shares, reason)
    assert [str(warning.message) for warning in caught] == [said]


@pytest.mark.parametrize(
    ("shares", "reason"),
    [
        (np.ones(101), StopReason.MAX_ITER),
        (np.ones(101), StopReason.TIME_LIMIT),
        (np.arange(101) / 101, StopReason.TOL),
        (np.arange(101) / 101, StopReason.CALLBACK),
        (np.arange(101) / 101, StopReason.INTERRUPTED),
        (np.arange(60) / 60, StopReason.MAX_ITER),  # too early to say
    ],
)
def test_nothing_else_warns(shares, reason):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        measured(Improving(), shares, reason)


def test_the_estimator_warns_where_fit_is_called(digits):
    X, _ = digits(700)
    with pytest.warns(NotConvergedWarning, match="max_iter stopped a map that is not fin") as found:
        ck.TSNE(random_state=0, init="random", direction=Momentum(rate=0.03), max_iter=60).fit(X)
    assert found[0].filename == __file__


def test_the_default_map_is_finished(digits):
    """By its own rule, without a warning; longer training hardly adds neighbours."""
    X, _ = digits(700)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        emb = ck.TSNE(random_state=0).fit(X)
    assert emb.stopped_because_ == "tol"
    longer = ck.TSNE(random_state=0, tol=0.0, max_iter=1000).fit(X)
    rule = MapSettled(emb.affinities_)
    kept, reference = (rule.neighbors_kept(e.embedding_) for e in (emb, longer))
    assert kept > 0.98 * reference


def test_a_tolerance_of_ones_own_is_the_objective_s(digits):
    """Then neighbours are not looked at, and no limit warns."""
    X, _ = digits(200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        emb = ck.TSNE(perplexity=10, random_state=0, tol=0.0, max_iter=80).fit(X)
    assert emb.stopped_because_ == "max_iter"
