"""The loop: every reason to stop, what it returns then, and what it must not touch."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from closeknit.minimize import Springs, StopReason, minimize, resolve_direction
from closeknit.minimize.directions import DIRECTIONS
from closeknit.progress import listening

#: Those with a line search; momentum goes uphill at times and returns the last X.
FALLING = [name for name in DIRECTIONS if resolve_direction(name).monotone]


class Interrupting:
    """A problem that raises an error at its n-th evaluation."""

    def __init__(self, problem, at, error=KeyboardInterrupt):
        self.problem, self.left, self.error = problem, at, error

    def value_and_gradient(self, X):
        self.left -= 1
        if self.left == 0:
            raise self.error
        return self.problem.value_and_gradient(X)

    def __getattr__(self, name):
        return getattr(self.problem, name)


def test_max_iter(springs, start):
    result = minimize(springs, start, "gradient", max_iter=3)
    assert (result.stopped_because, result.n_iter, len(result.history)) == ("max_iter", 3, 4)


def test_no_iteration_at_all(springs, start):
    result = minimize(springs, start, max_iter=0)
    assert result.stopped_because == "max_iter"
    assert result.n_evaluations == 1
    np.testing.assert_array_equal(result.X, start)


def test_tol(springs, start):
    result = minimize(springs, start, "gradient", tol=1e-3)
    before, last = result.history.objective[-2:]
    assert result.stopped_because == "tol"
    assert before - last <= 1e-3 * before
    earlier = result.history.objective[:-1]
    assert (earlier[:-3] - earlier[3:] > 3e-3 * earlier[:-3]).all()


def test_gradient_tol(springs, start):
    result = minimize(springs, start, "lbfgs", tol=0, gradient_tol=1e-3)
    assert result.stopped_because == "gradient_tol"
    assert result.gradient_norm <= 1e-3 < result.history.gradient_norm[-2]


def test_start_at_the_minimum(springs):
    result = minimize(springs, springs.solution(), gradient_tol=1e-6)
    assert (result.stopped_because, result.n_iter) == ("gradient_tol", 0)


def test_time_limit(springs, start):
    result = minimize(springs, start, time_limit=0)
    assert (result.stopped_because, result.n_iter) == ("time_limit", 0)


def test_callback_stops_and_sees_the_state(springs, start):
    states = []

    def callback(state):
        states.append(state)
        return state.iteration == 4

    result = minimize(springs, start, "gradient", callback=callback)
    assert result.stopped_because == "callback"
    assert [s.iteration for s in states] == [1, 2, 3, 4]
    assert [s.value for s in states] == list(result.history.objective[1:])
    assert [s.evaluations for s in states] == list(result.history.evaluations[1:])
    with pytest.raises(ValueError, match="read-only"):
        states[0].X[0] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        states[0].value = 0.0


@pytest.mark.parametrize("name", FALLING)
def test_no_further_decrease(name, problems):
    """Asked for the impossible, every line search ends at rounding and says so."""
    result = minimize(
        problems.embedding("ssne"),
        np.random.default_rng(0).normal(size=(40, 2)),
        name,
        tol=0,
        gradient_tol=0,
        max_iter=20000,
    )
    assert result.stopped_because in ("no further decrease", "max_iter")
    assert result.gradient_norm < 1e-5


@pytest.mark.parametrize("name", FALLING)
@pytest.mark.parametrize("at", [2, 7])
def test_interrupt_returns_the_best_so_far(name, at, problems):
    problem = problems.embedding("ssne")
    X0 = np.random.default_rng(0).normal(size=(40, 2))
    before, P = X0.copy(), problem.P.copy()
    result = minimize(Interrupting(problem, at), X0, name)
    assert result.stopped_because == "interrupted"
    assert result.n_evaluations == at
    assert result.value == result.history.objective.min() == problem.value(result.X)
    np.testing.assert_array_equal(X0, before)
    np.testing.assert_array_equal(problem.P, P)
    again = minimize(problem, result.X, name)  # everything is still usable
    assert again.value < result.value


def test_interrupt_before_the_first_value(springs, start):
    result = minimize(Interrupting(springs, 1), start)
    assert result.stopped_because == "interrupted"
    assert np.isnan(result.value)
    assert len(result.history) == 0
    np.testing.assert_array_equal(result.X, start)


def test_interrupt_while_factorising(springs, start):
    class Slow(Springs):
        def attractive_weights(self, X, entries=None):
            raise KeyboardInterrupt

    result = minimize(Slow(springs.weights, springs.targets), start)
    assert (result.stopped_because, result.n_iter) == ("interrupted", 0)
    np.testing.assert_array_equal(result.X, start)


def test_interrupt_in_the_callback(springs, start):
    def callback(state):
        raise KeyboardInterrupt

    result = minimize(springs, start, "gradient", callback=callback)
    assert (result.stopped_because, result.n_iter) == ("interrupted", 1)


def test_other_errors_pass(springs, start):
    with pytest.raises(ZeroDivisionError):
        minimize(Interrupting(springs, 3, ZeroDivisionError), start)


def test_result_is_ours(springs):
    X0 = np.zeros((30, 2))
    X0.flags.writeable = False
    result = minimize(springs, X0, max_iter=0)
    result.X[:] = 1.0
    assert (X0 == 0.0).all()
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.value = 0.0


def test_deterministic(problems):
    X0 = np.random.default_rng(0).normal(size=(40, 2))
    for name in DIRECTIONS:
        a, b = (minimize(problems.embedding("tsne"), X0, name, max_iter=20) for _ in range(2))
        np.testing.assert_array_equal(a.X, b.X)


def test_any_number_of_components(problems):
    for d in (1, 3, 5):
        X0 = np.random.default_rng(0).normal(size=(40, d))
        for name in FALLING:
            result = minimize(problems.embedding("ssne"), X0, name, max_iter=20)
            assert result.value < result.history.objective[0]


def test_evaluations_are_counted(problems):
    problem = problems.embedding("ee")
    result = minimize(problem, np.random.default_rng(0).normal(size=(40, 2)), max_iter=20)
    assert result.n_evaluations == problem.calls
    assert result.history.evaluations[-1] == problem.calls


def test_verbose_goes_to_stderr(springs, start, capsys):
    minimize(springs, start, "gradient", max_iter=5, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "iteration 5, objective" in err
    assert StopReason.MAX_ITER.text in err


def test_quiet(springs, start, capsys):
    minimize(springs, start, max_iter=5)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("X0", "options", "message"),
    [
        (np.zeros(30), {}, r"X0 must have shape \(n_samples, n_components\), got \(30,\)"),
        (np.zeros((0, 2)), {}, "X0 must have shape"),
        (np.full((30, 2), np.nan), {}, "X0 contains NaN or infinity"),
        (np.full((30, 2), 1e200), {}, "the objective is not finite at X0"),
        (np.zeros((30, 2)), {"max_iter": -1}, "max_iter must be at least 0"),
        (np.zeros((30, 2)), {"tol": -1.0}, "tol=-1.0 must be at least 0"),
        (np.zeros((30, 2)), {"tol": np.nan}, "tol=nan must be at least 0"),
        (np.zeros((30, 2)), {"gradient_tol": -1.0}, "gradient_tol=-1.0 must be at least 0"),
        (np.zeros((30, 2)), {"time_limit": -1.0}, "time_limit=-1.0 must be at least 0"),
        (np.zeros((30, 2)), {"direction": "adam"}, "unknown direction 'adam'"),
        (np.zeros((30, 2)), {"step": "exact"}, "unknown step 'exact'"),
    ],
)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_bad_input(springs, X0, options, message):
    with pytest.raises(ValueError, match=message):
        minimize(springs, X0, **options)


def test_progress_is_reported_at_every_iterate(springs, start):
    events = []
    with listening(events.append):
        minimize(springs, start, "gradient", max_iter=4, tol=0)
    assert [(e.stage, e.done, e.total) for e in events] == [
        ("optimisation", done, 4) for done in range(5)
    ]
    assert str(events[-1].state).startswith("iteration 4, objective ")


class GradientOnly:
    """The least that a problem may offer."""

    def value_and_gradient(self, X):
        raise AssertionError("no work before the mismatch is explained")


@pytest.mark.parametrize(
    ("direction", "need"),
    [
        ("spectral", "SpectralDirection needs attractive weights"),
        ("spectral-lbfgs", "SpectralLBFGS needs attractive weights"),
        ("fixed-point", "FixedPoint needs attractive weights"),
        ("momentum", "Momentum needs attractive weights"),
        ("spectral-momentum", "SpectralMomentum needs attractive weights"),
        ("spectral-minus", "SpectralMinus needs attractive weights, repulsive curvature"),
        ("diagonal-hessian", "DiagonalHessian needs hessian diagonal"),
    ],
)
def test_a_direction_says_what_it_needs(start, direction, need):
    with pytest.raises(TypeError, match=need) as error:
        minimize(GradientOnly(), start, direction)
    assert str(error.value) == need + "; this problem offers value and gradient; use 'lbfgs'"


def test_what_is_no_problem_is_told_the_least_it_needs(start):
    with pytest.raises(
        TypeError, match=r"offers nothing; give it a method value_and_gradient\(X\)"
    ):
        minimize(lambda X: 0.0, start)


def test_a_problem_with_attraction_is_sent_to_spectral_lbfgs(springs, start):
    class Attracted(GradientOnly):
        def attractive_weights(self, X, entries=None):
            return springs.weights

    with pytest.raises(TypeError, match="offers value and gradient, attractive weights; use 'spec"):
        minimize(Attracted(), start, "diagonal-hessian")


def test_a_gradient_is_enough_for_some(problems):
    for direction in ("gradient", "cg", "lbfgs"):
        assert minimize(problems.Rosenbrock(), np.zeros((4, 1)), direction).value < 3.0
