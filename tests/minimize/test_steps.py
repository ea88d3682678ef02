"""Steps: the conditions that they promise, on every accepted step."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from closeknit.minimize import (
    Backtracking,
    FixedStep,
    Line,
    Sample,
    Step,
    StrongWolfe,
    minimize,
    resolve_step,
)


class Watched(Step):
    """Another step rule, with every line and its accepted sample written down."""

    def __init__(self, rule):
        self.rule, self.accepted = rule, []

    def start(self, natural):
        search, accepted = self.rule.start(natural), self.accepted

        def watch(line):
            sample = search(line)
            if sample is not None:
                accepted.append((line.origin, sample))
            return sample

        return watch


NAMES = ["ee", "tsne", "rosenbrock"]


@pytest.fixture
def accepted_by(problems):
    """Run a rule with a direction on a problem; return each line's start and accepted sample."""

    def run(rule, direction, name):
        if name == "rosenbrock":
            problem, X0 = problems.Rosenbrock(), np.full((4, 1), -0.5)
        else:
            problem = problems.embedding(name)
            X0 = 0.1 * np.random.default_rng(0).normal(size=(40, 2))
        watched = Watched(rule)
        result = minimize(problem, X0, direction, watched, max_iter=60)
        assert len(watched.accepted) == result.n_iter > 0
        assert [s.step for _, s in watched.accepted] == list(result.history.step[1:])
        return watched.accepted

    return run


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("direction", ["gradient", "lbfgs"])
@pytest.mark.parametrize("grow", [1.0, 1.3, 2.0])
def test_armijo_holds_on_every_step(accepted_by, name, direction, grow):
    for start, end in accepted_by(Backtracking(grow=grow), direction, name):
        assert end.value <= start.value + 0.1 * end.step * start.slope
        assert end.value < start.value


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("direction", ["cg", "lbfgs", "gradient"])
@pytest.mark.parametrize("c2", [0.1, 0.9])
def test_strong_wolfe_holds_on_every_step(accepted_by, name, direction, c2):
    for start, end in accepted_by(StrongWolfe(c2=c2), direction, name)[:40]:
        assert end.value <= start.value + 1e-4 * end.step * start.slope
        assert abs(end.slope) <= c2 * abs(start.slope)


def test_only_shrinks_as_in_the_paper(accepted_by):
    steps = [s.step for _, s in accepted_by(Backtracking(grow=1.0), "spectral", "ee")]
    assert (np.diff(steps) <= 0).all()


def test_grows_again(accepted_by):
    steps = [s.step for _, s in accepted_by(Backtracking(), "spectral", "ee")]
    assert (np.diff(steps) > 0).any()
    assert max(b / a for a, b in pairwise(steps)) <= 2.0


def line(function, slope, x=0.0, towards=1.0):
    """A line of a function of one variable."""

    def evaluate(X):
        return function(X[0, 0]), np.array([[slope(X[0, 0])]])

    start = np.array([[x]])
    origin = Sample(0.0, start, *evaluate(start), towards * slope(x))
    return Line(evaluate, origin, np.array([[towards]]))


RULES = [Backtracking(), Backtracking(grow=1.0), StrongWolfe(), StrongWolfe(c2=0.1)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("natural", [True, False])
class TestHardLines:
    def test_far_too_long(self, rule, natural):
        sample = rule.start(natural)(line(lambda x: (x - 1e-6) ** 2, lambda x: 2 * (x - 1e-6)))
        assert 0 < sample.step < 2e-6

    def test_nan_and_inf_are_never_accepted(self, rule, natural):
        for bad in (np.nan, np.inf, -np.inf):
            wall = line(lambda x, bad=bad: bad if x > 0.01 else -x, lambda x: -1.0)
            sample = rule.start(natural)(wall)
            assert sample.finite
            assert 0 < sample.step <= 0.01

    def test_nan_gradient_is_never_accepted(self, rule, natural):
        wall = line(lambda x: -x, lambda x: np.nan if x > 0.01 else -1.0)
        assert rule.start(natural)(wall).step <= 0.01

    def test_terminates_when_nothing_falls(self, rule, natural):
        assert rule.start(natural)(line(lambda x: 1.0 + abs(x), lambda x: -1.0)) is None

    def test_terminates_when_it_falls_forever(self, rule, natural):
        assert rule.start(natural)(line(lambda x: -x, lambda x: -1.0)).step > 0

    def test_noise_is_accepted_only_where_it_is_lower(self, rule, natural):
        """Values that promise nothing: an end within a few trials, and never uphill."""
        rng = np.random.default_rng(0)
        trials = []

        def noise(x):
            trials.append(x)
            return 1.0 + 1e-3 * rng.random()

        noisy = line(noise, lambda x: -1e-3)
        sample = rule.start(natural)(noisy)
        assert sample is None or sample.value < noisy.origin.value
        assert len(trials) < 200


def test_wolfe_extrapolates():
    """A first trial far too short is not what the line search settles for."""
    search = StrongWolfe(c2=0.1).start(True)
    sample = search(line(lambda x: (x - 1e4) ** 2, lambda x: 2 * (x - 1e4)))
    assert sample.step == pytest.approx(1e4, rel=0.1)


def test_names():
    preferred = StrongWolfe(c2=0.1)
    assert resolve_step("auto", preferred) is preferred
    assert resolve_step("backtracking", preferred) == Backtracking()
    assert resolve_step("wolfe", preferred) == StrongWolfe()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: resolve_step("armijo", Backtracking()), "unknown step 'armijo'; use 'auto'"),
        (lambda: Backtracking(sufficient=0.0), "sufficient=0.0 must lie between 0 and 1"),
        (lambda: Backtracking(shrink=1.0), "shrink=1.0 must lie between 0 and 1"),
        (lambda: Backtracking(grow=0.5), "grow=0.5 must be at least 1"),
        (lambda: StrongWolfe(c1=0.5, c2=0.1), "c1=0.5 and c2=0.1 must satisfy 0 < c1 < c2 < 1"),
        (lambda: StrongWolfe(max_trials=0), "max_trials=0 must be at least 1"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_fixed_step_asks_for_no_slope(problems):
    """Which costs a pass over the positions, and nobody reads."""
    problem, X = problems.Rosenbrock(), np.full((4, 1), -0.5)
    value, gradient = problem.value_and_gradient(X)
    line = Line(problem.value_and_gradient, Sample(0.0, X, value, gradient, np.nan), -gradient)
    without = FixedStep().start(natural=True)(line)
    with_slope = line.at(1.0)
    assert np.isnan(without.slope)
    assert with_slope.slope == -np.vdot(gradient, with_slope.gradient)
    np.testing.assert_array_equal(without.X, with_slope.X)
