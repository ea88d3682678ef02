"""`effective_n_jobs` follows scikit-learn's meaning of ``n_jobs``, counted in threads."""

import threading
import warnings

import joblib
import pytest

from closeknit import _threads
from closeknit._threads import effective_n_jobs, run_chunks
from closeknit.exceptions import CloseknitWarning
from closeknit.progress import listening


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


@pytest.mark.usefixtures("four_cores")
def test_too_many_threads_are_capped_with_one_warning():
    _threads._warn_of_threads.cache_clear()
    with pytest.warns(CloseknitWarning, match="n_jobs=999 .* 64 threads") as caught:
        assert {effective_n_jobs(999) for _ in range(5)} == {64}
    assert len(caught) == 1


def test_many_cores_may_all_be_used(monkeypatch):
    monkeypatch.setattr(_threads, "_available_cores", lambda: 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert effective_n_jobs(800) == 800
        assert effective_n_jobs(-1) == 200


PARTS = [slice(i, i + 1) for i in range(40)]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_chunk_is_run_and_reported(n_threads):
    done, events = [], []
    with listening(events.append):
        run_chunks("work", done.append, PARTS, n_threads)
    assert sorted(part.start for part in done) == list(range(40))
    assert [event.done for event in events] == list(range(41))
    assert {event.total for event in events} == {40}


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_leaves_no_thread_running(error):
    """Chunks that have begun are finished before the call ends; the others are not begun."""
    begun, finished, release = [], [], threading.Event()

    def work(part):
        begun.append(part.start)
        if part.start > 0:
            release.wait(10)
        finished.append(part.start)

    def interrupt(event):
        if event.done == 1:
            threading.Timer(0.05, release.set).start()
            raise error

    before = threading.active_count()
    with listening(interrupt), pytest.raises(error):
        run_chunks("work", work, PARTS, 2)
    assert sorted(begun) == sorted(finished)
    assert len(begun) < len(PARTS)
    release.wait(10)
    assert threading.active_count() <= before + 1  # the timer may be ending
