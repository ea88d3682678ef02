"""Homotopy: order, warm starts, one factor, and what an early stop leaves."""

from __future__ import annotations

import numpy as np
import pytest

from closeknit.minimize import homotopy, log_spaced, minimize
from closeknit.minimize import spectral as spectral_module

LAMS = [0.01, 0.1, 1.0]
X0 = 1e-2 * np.random.default_rng(0).normal(size=(40, 2))


@pytest.fixture
def problem_at(problems):
    return lambda lam: problems.embedding("ee", lam=lam)


@pytest.mark.parametrize("direction", ["spectral", "spectral-lbfgs", "spectral-minus", "cg"])
def test_path(problem_at, direction):
    start = X0.copy()
    path = homotopy(problem_at, LAMS, start, direction)
    assert path.stopped_because == "end of path"
    np.testing.assert_array_equal(path.lams, LAMS)
    np.testing.assert_array_equal(start, X0)
    assert path.Xs.shape == (3, 40, 2)
    np.testing.assert_array_equal(path.X, path.Xs[-1])
    for lam, before, result in zip(LAMS[1:], path.results, path.results[1:], strict=False):
        assert result.history.objective[0] == problem_at(lam).value(before.X)  # warm start


def test_history_goes_on(problem_at):
    path = homotopy(problem_at, LAMS, X0)
    history = path.history
    assert len(history) == sum(len(r.history) for r in path.results)
    for column in (history.iteration, history.evaluations, history.seconds):
        assert (np.diff(column) >= 0).all()
    assert history.iteration[-1] == sum(r.n_iter for r in path.results)
    assert history.evaluations[0] == 1


def test_one_factorisation_for_the_whole_path(problem_at, monkeypatch):
    built = []
    real = spectral_module.factorize
    monkeypatch.setattr(spectral_module, "factorize", lambda *args: built.append(1) or real(*args))
    homotopy(problem_at, LAMS, X0, "spectral-lbfgs")
    assert len(built) == 1


def test_a_single_value_is_a_plain_minimisation(problem_at):
    path = homotopy(problem_at, [0.5], X0, tol=1e-8, max_iter=50)
    np.testing.assert_array_equal(path.X, minimize(problem_at(0.5), X0, max_iter=50).X)


def test_time_limit_keeps_what_is_there(problem_at):
    path = homotopy(problem_at, LAMS, X0, time_limit=0)
    assert path.stopped_because == "time_limit"
    assert len(path.lams) == len(path.results) == 1


def test_callback_stops_the_path_and_sees_lambda(problem_at):
    seen = []
    path = homotopy(problem_at, LAMS, X0, callback=lambda s: seen.append(s.lam) or s.lam == 0.1)
    assert path.stopped_because == "callback"
    np.testing.assert_array_equal(path.lams, LAMS[:2])
    assert set(seen) == {0.01, 0.1}


def test_interrupt_keeps_what_is_there(problem_at):
    class Interrupting:
        def __init__(self, lam):
            self.problem, self.left = problem_at(lam), 3 if lam == 0.1 else np.inf

        def value_and_gradient(self, X):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return self.problem.value_and_gradient(X)

        def __getattr__(self, name):
            return getattr(self.problem, name)

    path = homotopy(Interrupting, LAMS, X0)
    assert path.stopped_because == "interrupted"
    assert [r.stopped_because for r in path.results][-1] == "interrupted"
    np.testing.assert_array_equal(path.lams, LAMS[:2])


def test_interrupt_between_two_values(problem_at):
    def at(lam):
        if lam == 1.0:
            raise KeyboardInterrupt
        return problem_at(lam)

    path = homotopy(at, LAMS, X0)
    assert path.stopped_because == "interrupted"
    np.testing.assert_array_equal(path.lams, LAMS[:2])
    assert path.results[-1].stopped_because != "interrupted"


def test_log_spaced_is_the_papers():
    lams = log_spaced()
    assert len(lams) == 50
    assert lams[0] == pytest.approx(1e-4)
    assert lams[-1] == pytest.approx(1e2)
    np.testing.assert_allclose(np.diff(np.log(lams)), np.log(1e6) / 49)


@pytest.mark.parametrize(
    "lams", [[], [0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [-1.0], [1.0, np.nan], [1.0, np.inf], 1.0]
)
def test_bad_lams(problem_at, lams):
    with pytest.raises(ValueError, match="lam must hold positive, strictly increasing numbers"):
        homotopy(problem_at, lams, X0)


def test_bad_log_spaced():
    with pytest.raises(ValueError, match="log_spaced needs 0 < first < last"):
        log_spaced(1.0, 0.5)
