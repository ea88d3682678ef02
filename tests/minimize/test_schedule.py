"""Schedules as values, and the loop that goes through them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from closeknit.minimize import (
    Convergence,
    Schedule,
    Springs,
    Stage,
    State,
    Stop,
    StopReason,
    minimize,
    run_schedule,
)

WEIGHTS, TARGETS = [[0, 1], [1, 0]], [[0.0], [3.0]]
X0 = [[5.0], [5.0]]


def springs_at(lam):
    return Springs(WEIGHTS, TARGETS, lam)


def test_exaggeration_divides_lambda():
    schedule = Schedule.exaggerated(((12.0, 50), (4.0, 10)), lam=2.0, max_iter=20)
    assert [stage.lam for stage in schedule.stages] == [2.0 / 12.0, 0.5, 2.0]
    assert [stage.max_iter for stage in schedule.stages] == [20, 10, 20]
    assert Schedule.exaggerated(()).stages == (Stage(1.0, restart=True),)


@pytest.mark.parametrize(
    "factors",
    [((0.0, 5),), ((12.0, -1),), ((12.0, 1.5),), ((12.0,),), ((2.0, 5), (12.0, 5)), ((1.0, 5),), 3],
)
def test_exaggeration_that_makes_no_sense(factors):
    with pytest.raises(ValueError, match=r"exaggeration=.*list pairs of a factor"):
        Schedule.exaggerated(factors)


def test_numbers_and_lists():
    assert Schedule.of(3) == Schedule((Stage(3.0),))
    assert Schedule.of(np.float32(0.5), 7) == Schedule((Stage(0.5, 7),))
    assert Schedule.of(np.array([1.0, 2.0]), 7) == Schedule.homotopy([1.0, 2.0], [7, 7])


@pytest.mark.parametrize("lam", [-1.0, np.nan, np.inf, True, None, "auto", [[1.0]]])
def test_lambdas_that_make_no_sense(lam):
    with pytest.raises(ValueError, match=r"lam=.* must be a finite number of at least 0"):
        Schedule.of(lam)


def test_one_number_of_iterations_for_each_lambda():
    assert [s.max_iter for s in Schedule.homotopy([1, 2], [3, 4]).stages] == [3, 4]
    with pytest.raises(ValueError, match="max_iter lists 3 numbers for 2 values of lambda"):
        Schedule.homotopy([1, 2], [3, 4, 5])


def test_schedules_are_frozen():
    schedule = Schedule.of(1.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        schedule.stages = ()
    for stages in ((), (Stage(1.0, max_iter=-1),)):
        with pytest.raises(ValueError, match="a schedule needs stages, and max_iter must be"):
            run_schedule(Schedule(stages), springs_at, X0)


def test_lambda_may_follow_from_the_positions_reached():
    seen = []

    def lam_at(X):
        seen.append(X.copy())
        return 2.0

    path = run_schedule(Schedule((Stage(0.5), Stage(lam_at))), springs_at, X0)
    np.testing.assert_array_equal(path.lams, [0.5, 2.0])
    np.testing.assert_array_equal(seen, [path.results[0].X])
    np.testing.assert_allclose(path.X, springs_at(2.0).solution(), atol=1e-3)


def test_a_stage_may_have_a_problem_of_its_own():
    """It counts as every stage does, and the direction begins anew after it."""

    def other(lam):
        return Springs([[0, 5], [5, 0]], TARGETS, lam)

    states = []
    schedule = Schedule((Stage(1.0, problem_at=other), Stage(1.0)))
    path = run_schedule(schedule, springs_at, X0, "spectral", callback=states.append)
    alone = minimize(other(1.0), X0, "spectral", tol=1e-6)
    then = minimize(springs_at(1.0), alone.X, "spectral", tol=1e-6)
    np.testing.assert_array_equal(path.results[0].X, alone.X)
    np.testing.assert_array_equal(path.X, then.X)
    assert [s.iteration for s in states] == list(range(1, alone.n_iter + then.n_iter + 1))
    assert path.history.iteration[-1] == alone.n_iter + then.n_iter
    assert path.history.evaluations[-1] == alone.n_evaluations + then.n_evaluations


@pytest.mark.parametrize("restart", [True, False])
def test_collapsed_points_begin_at_the_start_again(restart):
    """Springs without targets to speak of pull all points into one place."""
    schedule = Schedule((Stage(1e-9), Stage(1.0, max_iter=0, restart=restart)))
    path = run_schedule(schedule, springs_at, [[-1.0], [1.0]])
    assert path.results[0].X.std() < 1e-3
    np.testing.assert_array_equal(path.X, [[-1.0], [1.0]] if restart else path.results[0].X)


def test_one_time_limit_for_all_stages():
    calls = []

    def slow(lam):
        calls.append(lam)
        return springs_at(lam)

    path = run_schedule(Schedule.homotopy([1.0, 2.0]), slow, X0, time_limit=0.0)
    assert path.stopped_because == StopReason.TIME_LIMIT
    assert calls == [1.0]


class Every(Stop):
    """Stops after so many iterations of its stage."""

    def __init__(self, n):
        self.n = n

    def start(self):
        states = []

        def reached(state):
            states.append(state)
            return StopReason.TOL if len(states) > self.n else None

        return reached


def test_stopping_rules_begin_anew_in_each_stage():
    schedule = Schedule((Stage(1.0), Stage(2.0, stop=Every(1)), Stage(3.0, max_iter=2)))
    path = run_schedule(schedule, springs_at, X0, "gradient", stop=Every(4))
    assert [r.n_iter for r in path.results] == [4, 1, 2]
    assert [r.stopped_because for r in path.results] == ["tol", "tol", "max_iter"]


def state(value, gradient_norm=1.0):
    return State(0, 0, 0.0, np.zeros((1, 1)), value, gradient_norm, 1.0)


def test_convergence_judges_the_last_iterations():
    reached = Convergence(tol=1e-3, patience=2).start()
    assert [reached(state(v)) for v in (2.0, 1.0, 1.0, 1.0)] == [None, None, None, "tol"]
    assert Convergence().start()(state(1.0, 0.0)) == "gradient_tol"


def test_convergence_is_not_fooled_by_what_swings():
    reached = Convergence(tol=1e-3, patience=2).start()
    assert {reached(state(v)) for v in (1.0, 2.0, 1.0, 2.0, 1.0)} == {None}


def test_a_stage_that_is_interrupted_before_its_first_value_leaves_no_trace():
    class Interrupted(Springs):
        def value_and_gradient(self, X):
            raise KeyboardInterrupt

    def problem_at(lam):
        return (Springs if lam < 1.0 else Interrupted)(WEIGHTS, TARGETS, lam)

    path = run_schedule(Schedule((Stage(0.1, max_iter=5), Stage(1.0))), problem_at, X0)
    assert path.stopped_because == "interrupted"
    assert path.lams.tolist() == [0.1]
    assert path.history.iteration[-1] == path.results[-1].n_iter
    assert np.isfinite(path.results[-1].value)
