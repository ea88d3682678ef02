"""Momentum, fixed steps, and what the loop does where the objective may rise."""

from __future__ import annotations

import numpy as np
import pytest

from closeknit.minimize import FixedStep, Momentum, Springs, minimize
from closeknit.minimize.descent import Direction
from closeknit.objectives import TSNE
from closeknit.repulsion import ExactRepulsion, GridRepulsion


class Twin:
    """The rule of the paper with gains per point, and with the longest move of a point."""

    def __init__(self, rule, rate, shape):
        self.rule, self.rate, self.iteration = rule, rate, 0
        self.velocity, self.gains = np.zeros(shape), np.ones((shape[0], 1))

    def step(self, gradient):
        rule = self.rule
        keep = rule.early_momentum if self.iteration < rule.early else rule.momentum
        self.iteration += 1
        if rule.gains:
            growth, largest = rule.gain
            onwards = (gradient * self.velocity).sum(axis=1, keepdims=True) <= 0.0
            grown = np.minimum(self.gains + growth, largest)
            self.gains = np.where(onwards, grown, np.maximum(0.8 * self.gains, 0.01))
        self.velocity = keep * self.velocity - self.rate * self.gains * gradient
        length = np.linalg.norm(self.velocity, axis=1, keepdims=True)
        self.velocity = self.velocity * (rule.max_step / np.maximum(length, rule.max_step))
        return self.velocity


class Scripted:
    """A problem that answers given gradients, one after the other."""

    def __init__(self, gradients, weights):
        self.gradients, self.weights, self.calls = gradients, weights, 0

    def value_and_gradient(self, X):
        self.calls += 1
        return 1.0 / self.calls, self.gradients[self.calls - 1]

    def attractive_weights(self, X, entries=None):
        return self.weights


@pytest.mark.parametrize("gains", [True, False])
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_the_rule_is_that_of_the_twin(springs, gains, d):
    """Velocity, gains, early momentum and the longest move, over gradients of all signs."""
    rng = np.random.default_rng(d)
    gradients = 30.0 * rng.normal(size=(13, 30, d)) * (rng.random((13, 30, d)) < 0.8)
    rule = Momentum(0.7, momentum=0.9, early_momentum=0.3, early=4, gains=gains, max_step=2.0)
    positions = [np.zeros((30, d))]
    result = minimize(
        Scripted(gradients, springs.weights),
        positions[0],
        rule,
        max_iter=12,
        tol=0,
        callback=lambda state: positions.append(state.X.copy()),
    )
    twin = Twin(rule, 0.7 / (springs.weights.sum() / 30), (30, d))
    steps = [twin.step(gradient) for gradient in gradients[:12]]
    np.testing.assert_allclose(np.diff(positions, axis=0), steps, rtol=1e-12, atol=1e-14)
    lengths = np.linalg.norm(np.diff(positions, axis=0), axis=2)
    assert lengths.max() == pytest.approx(2.0, rel=1e-12)  # some were cut
    assert (result.history.step[1:] == 1.0).all()


@pytest.mark.parametrize("gains", [True, False])
def test_convex_quadratic(springs, start, gains):
    direction = Momentum(rate=0.05, gains=gains)
    result = minimize(springs, start, direction, tol=0.0, gradient_tol=1e-5, max_iter=5000)
    assert result.stopped_because == "gradient_tol"
    np.testing.assert_allclose(result.X, springs.solution(), atol=1e-5)


@pytest.mark.parametrize("repulsion", [ExactRepulsion(1), GridRepulsion(0.02, n_jobs=1)])
def test_small_tsne_ends_as_low_as_with_a_line_search(problems, repulsion):
    """By name, with its defaults; exactly and on the grid."""
    model = TSNE(problems.embedding("tsne").P, repulsion=repulsion, n_jobs=1).at(1.0)
    X0 = 0.1 * np.random.default_rng(0).normal(size=(40, 2))
    result = minimize(model, X0, "momentum", tol=1e-6)
    other = minimize(model, X0, "lbfgs", tol=1e-6)
    assert result.stopped_because == "tol"
    assert result.value < other.value + 0.05 * abs(other.value)


def test_scale_of_the_weights_does_not_matter(springs, start):
    """The rate is over the mean degree, so that a problem times a number takes the same steps."""
    thousand = Springs(1000 * springs.weights, springs.targets, 1000 * springs.stiffness)
    a, b = (minimize(p, start, Momentum(0.1), max_iter=30) for p in (springs, thousand))
    np.testing.assert_allclose(a.X, b.X, rtol=1e-9)


def test_no_attraction_at_all():
    springs = Springs(np.zeros((3, 3)), [[0.0], [1.0], [2.0]])
    result = minimize(springs, np.zeros((3, 1)), Momentum(rate=0.1, momentum=0.5, early=0))
    np.testing.assert_allclose(result.X, springs.targets, atol=1e-3)


def test_same_bits_for_any_number_of_threads():
    """Also with more rows than one task has."""
    rng = np.random.default_rng(0)
    X0, weights = rng.normal(size=(40_000, 2)), Springs(np.zeros((1, 1)), [[0.0]]).weights
    gradients = rng.normal(size=(4, 40_000, 2))
    a, b = (
        minimize(Scripted(gradients, weights), X0, Momentum(n_jobs=n_jobs), max_iter=3).X
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(a, b)


# Uphill


class Swinging:
    """1 + ½ x², whose value a heavy ball raises again and again on its way down."""

    def value_and_gradient(self, X):
        return float(1.0 + 0.5 * (X**2).sum()), X.copy()

    def attractive_weights(self, X, entries=None):
        return np.ones((1, 1))


BALL = Momentum(rate=0.1, momentum=0.95, early=0, gains=False)


def test_the_last_positions_count():
    """Not the lowest ones, which the ball passed at full speed."""
    result = minimize(Swinging(), [[1.0]], BALL, max_iter=12, tol=0)
    objective = result.history.objective
    assert objective.min() < objective[-1] == result.value
    assert result.value == 1.0 + 0.5 * result.X.item() ** 2
    assert result.gradient_norm == abs(result.X.item())


def test_patience_outlasts_a_turning_point():
    """A change is small where the ball turns; twenty iterations together are not."""
    result = minimize(Swinging(), [[1.0]], BALL, tol=1e-4, max_iter=5000, gradient_tol=0)
    assert result.stopped_because == "tol"
    patience = Momentum.patience
    last = np.lib.stride_tricks.sliding_window_view(result.history.objective, patience + 1)
    low, high = last.min(axis=1), last.max(axis=1)
    small = high - low <= patience * 1e-4 * high
    assert small[-1]
    assert not small[:-1].any()
    assert patience > Direction.patience


def test_interrupt_returns_the_last_positions(problems):
    problem = problems.embedding("ssne")
    X0 = np.random.default_rng(0).normal(size=(40, 2))
    before = X0.copy()

    class Interrupting:
        calls = 0

        def value_and_gradient(self, X):
            self.calls += 1
            if self.calls == 7:
                raise KeyboardInterrupt
            return problem.value_and_gradient(X)

        attractive_weights = staticmethod(problem.attractive_weights)

    result = minimize(Interrupting(), X0, "momentum")
    assert (result.stopped_because, result.n_iter) == ("interrupted", 5)
    assert result.value == result.history.objective[-1] == problem.value(result.X)
    np.testing.assert_array_equal(X0, before)


# Where the objective is not finite


class Cliff:
    """½ x² down to x = 0.5, and no value below."""

    def __init__(self, edge=0.5, what=np.nan):
        self.edge, self.what, self.refused = edge, what, 0

    def value_and_gradient(self, X):
        if X.min() < self.edge:
            self.refused += 1
            return self.what, np.full(X.shape, self.what)
        return float(0.5 * (X**2).sum()), X.copy()

    def attractive_weights(self, X, entries=None):
        return np.ones((1, 1))


@pytest.mark.parametrize("what", [np.nan, np.inf, -np.inf])
def test_a_step_off_the_cliff_is_taken_back_and_made_smaller(what):
    """The ball stops, and goes on from where it was at half the rate."""
    cliff = Cliff(what=what)
    xs = [2.0]
    result = minimize(
        cliff, [[2.0]], BALL, tol=0, max_iter=300, callback=lambda s: xs.append(s.X.item())
    )
    assert cliff.refused > 0
    assert np.isfinite(result.history.objective).all()
    assert min(xs) >= 0.5
    assert 0.5 <= result.X.item() < 0.6
    assert result.stopped_because == "no further decrease"


def test_a_start_with_nowhere_to_go():
    result = minimize(Cliff(edge=0.99), [[1.0]], Momentum(rate=0.5, gains=False))
    assert result.stopped_because == "no further decrease"
    assert result.X.item() == 1.0


# Parameters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "rate=0.0 must be positive and finite"),
        ({"rate": -1.0}, "rate=-1.0 must be positive"),
        ({"rate": np.inf}, "rate=inf must be positive and finite"),
        ({"rate": np.nan}, "rate=nan must be positive"),
        ({"momentum": 1.0}, "momentum=1.0 must be at least 0 and below 1"),
        ({"momentum": -0.1}, "momentum=-0.1 must be at least 0"),
        ({"early_momentum": np.nan}, "early_momentum=nan must be at least 0"),
        ({"early": -1}, "early=-1 must not be negative"),
        ({"max_step": 0.0}, "max_step=0.0 must be positive"),
        ({"max_step": "auto"}, "max_step='auto' must be positive"),
        ({"max_step": np.nan}, "max_step=nan must be positive"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        Momentum(**options)


@pytest.mark.parametrize("step", [0.0, -1.0, np.nan, np.inf])
def test_bad_fixed_step(step):
    with pytest.raises(ValueError, match=r"step=.* must be positive and finite"):
        FixedStep(step)


def test_fixed_steps_by_name_and_by_number(springs, start):
    """Gradient descent with a constant step, as it is written down."""
    result = minimize(springs, start, "gradient", FixedStep(0.01), max_iter=3, tol=0)
    X = start
    for _ in range(3):
        X = X - 0.01 * springs.value_and_gradient(X)[1]
    np.testing.assert_allclose(result.X, X, rtol=1e-13)
    assert result.n_evaluations == 4
    named, full = (
        minimize(springs, start, "spectral", s, max_iter=2) for s in ("fixed", FixedStep())
    )
    np.testing.assert_array_equal(named.X, full.X)


def test_a_fixed_step_may_go_uphill_but_the_best_is_kept(springs, start):
    """Gradient descent is monotone by intent: too long a step must not spoil what it returns."""
    result = minimize(springs, start, "gradient", FixedStep(10.0), max_iter=3, tol=0)
    assert result.history.objective[-1] > result.history.objective[0]
    np.testing.assert_array_equal(result.X, start)


def test_rate_falls_when_the_objective_rises():
    """A window of rising values slows the descent, once per window and not right after a new λ."""
    springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    rule = Momentum(rate=0.5)
    descent = rule.start(springs, np.array([[5.0], [5.0]]))
    rate, window = descent.rate, rule.patience

    def observe(values):
        for value in values:
            descent.observe(float(value))

    observe(range(window))  # the first window may rise
    assert descent.rate == rate
    observe(range(0, -window, -1))
    assert descent.rate == rate
    observe(range(window))
    assert descent.rate == 0.7 * rate
    descent.follow(springs)
    observe(range(window))
    assert descent.rate == 0.7 * rate
