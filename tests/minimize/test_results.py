"""What a minimisation tells: histories as arrays and frames, states as lines, reasons as text."""

from __future__ import annotations

import builtins
import pickle

import numpy as np
import pytest

from closeknit.minimize import History, State, StopReason, homotopy, minimize


def test_history_frame(springs, start):
    history = minimize(springs, start, "cg").history
    frame = history.to_frame()
    assert len(frame) == len(history)
    np.testing.assert_array_equal(frame["iteration"], np.arange(len(history)))
    assert (np.diff(frame["seconds"]) >= 0).all()
    assert np.isnan(frame["step"][0])


def test_history_without_pandas(monkeypatch):
    real = builtins.__import__

    def no_pandas(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_pandas)
    with pytest.raises(ImportError, match="needs pandas: pip install pandas"):
        History.from_records([]).to_frame()


def test_histories_know_stage_and_lambda(problems):
    path = homotopy(
        lambda lam: problems.embedding("ee", lam=lam), [0.1, 1.0], np.eye(40, 2), max_iter=3
    )
    history = path.history
    np.testing.assert_array_equal(np.unique(history.stage), [0, 1])
    np.testing.assert_array_equal(history.lam, np.array([0.1, 1.0])[history.stage])
    assert np.isnan(history.attractive).all()  # this problem does not tell its parts
    np.testing.assert_array_equal(np.isnan(history.step), np.diff(history.stage, prepend=-1) > 0)


def test_a_problem_without_lambda_has_none(springs, start):
    states = []
    history = minimize(springs, start, max_iter=2, callback=states.append).history
    assert np.isnan(history.lam).all()
    assert {state.lam for state in states} == {None}


def test_states_are_one_readable_line():
    X = np.zeros((1, 1))
    first = State(0, 1, 0.04, X, 1.5, 0.25, np.nan)
    later = State(7, 9, 12.34, X, 1.5, 0.25, 0.5, lam=0.25, stage=1)
    assert str(first) == "iteration 0, objective 1.5, |gradient| 2.50e-01, 0.0 s"
    assert str(later) == (
        "iteration 7, objective 1.5, |gradient| 2.50e-01, step 0.5, λ 0.25, 12.3 s"
    )


@pytest.mark.parametrize("reason", list(StopReason))
def test_reasons_are_strings_with_a_text(reason):
    assert reason == str(reason) == StopReason(str(reason))
    assert reason.text
    assert pickle.loads(pickle.dumps(reason)) is reason
