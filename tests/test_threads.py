"""`effective_n_jobs` follows scikit-learn's meaning of ``n_jobs``, counted in threads."""

import joblib
import pytest

from closeknit import _threads
from closeknit._threads import effective_n_jobs


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(_threads, "_available_cores", lambda: 4)


@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(1, 1), (3, 3), (64, 64), (-1, 4), (-2, 3), (-4, 1), (-5, 1), (-99, 1)]
)
@pytest.mark.usefixtures("four_cores")
def test_number_of_threads(n_jobs, threads):
    assert effective_n_jobs(n_jobs) == threads


def test_none_means_one_thread_unless_joblib_says_otherwise():
    assert effective_n_jobs(None) == 1
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert effective_n_jobs(None) == 3


def test_joblib_context_does_not_override_a_number():
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert effective_n_jobs(2) == 2


def test_zero_is_refused_with_advice():
    with pytest.raises(ValueError, match="n_jobs=0 has no meaning; use -1"):
        effective_n_jobs(0)


def test_there_is_at_least_one_core():
    assert _threads._available_cores() >= 1
