"""`effective_n_jobs` follows scikit-learn's ``n_jobs``; BLAS is limited and restored."""

import os
import subprocess
import sys
import threading
import warnings

import joblib
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from closeknit import _threads
from closeknit._threads import beside, effective_n_jobs, run_chunks, single_threaded_blas
from closeknit.exceptions import CloseknitWarning
from closeknit.linalg import graph_eigenvectors
from closeknit.progress import listening


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(4), raising=False)


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
    assert effective_n_jobs(-1) >= 1


@pytest.mark.usefixtures("four_cores")
def test_too_many_threads_are_capped_with_one_warning():
    with pytest.warns(CloseknitWarning, match="n_jobs=999 .* 64 threads") as caught:
        assert {effective_n_jobs(999) for _ in range(5)} == {64}
    assert len(caught) == 1


def test_threads_that_could_not_be_started_are_reported_once():
    """In a process of its own, because it is said once in each."""
    program = """
import warnings
import numpy as np
from scipy.sparse import eye
from closeknit import _core
from closeknit.linalg import multiply

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    graph, X = eye(100_000, format="csr"), np.ones((100_000, 1))
    expected = multiply(graph, X, n_jobs=8)
    print(len(caught))
    _core.limit_new_threads(0)
    for _ in range(3):
        assert (multiply(graph, X, n_jobs=8) == expected).all()
for warning in caught:
    print(warning.category.__name__, warning.message)
"""
    run = [sys.executable, "-c", program]
    output = subprocess.run(run, capture_output=True, check=True, text=True).stdout
    before, *caught = output.splitlines()
    assert before == "0"
    assert len(caught) == 1
    assert caught[0].startswith("CloseknitWarning not all threads that were asked for")


def test_many_cores_may_all_be_used(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(200), raising=False)
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


# BLAS


def blas_threads():
    libraries = ThreadpoolController().select(user_api="blas").info()
    return [library["num_threads"] for library in libraries]


@pytest.fixture
def three_blas_threads():
    with ThreadpoolController().limit(limits=3, user_api="blas"):
        assert set(blas_threads()) == {3}
        yield


@pytest.mark.usefixtures("three_blas_threads")
def test_blas_is_limited_and_restored():
    with single_threaded_blas():
        assert set(blas_threads()) == {1}
        with single_threaded_blas():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {3}
    with pytest.raises(KeyError), single_threaded_blas():
        raise KeyError
    assert set(blas_threads()) == {3}


@pytest.mark.usefixtures("three_blas_threads")
def test_blas_is_restored_when_the_last_of_several_threads_leaves():
    """The first to enter is the first to leave: what it found must not be restored too early."""
    entered, may_leave = threading.Event(), threading.Event()
    seen = []

    def first():
        with single_threaded_blas():
            entered.set()
            may_leave.wait(10)
        seen.append(blas_threads())

    thread = threading.Thread(target=first)
    thread.start()
    assert entered.wait(10)
    with single_threaded_blas():
        may_leave.set()
        thread.join(10)
        assert set(blas_threads()) == {1}
    assert set(seen[0]) == {1}
    assert set(blas_threads()) == {3}


@pytest.mark.usefixtures("three_blas_threads")
def test_searches_side_by_side_restore_blas():
    rng = np.random.default_rng(0)
    graphs = [np.triu(rng.random((60, 60)), 1) for _ in range(8)]
    threads = [threading.Thread(target=lambda W=W: graph_eigenvectors(W + W.T, 4)) for W in graphs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert set(blas_threads()) == {3}


def test_bits_do_not_depend_on_the_number_of_blas_threads():
    """In processes of their own, because OpenBLAS reads the number when it is loaded."""
    code = """
import hashlib, numpy as np, closeknit as ck
from scipy.sparse import csr_matrix
from closeknit.linalg import factorize, graph_eigenvectors
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 30))
W = ck.graphs.symmetrize(ck.EntropicAffinities(30.0, n_neighbors=None).fit_transform(X))
L = ck.graphs.laplacian(W)
results = [
    graph_eigenvectors(W, 5).vectors,
    factorize(csr_matrix(L + 0.1 * np.eye(400)), "dense").solve(X),
    factorize(csr_matrix(L + 0.1 * np.eye(400)), "sparse").solve(X),
    np.array([ck.graphs.spectrum_distance(W, W), ck.graphs.laplacian_distance(W, 0.9 * W)]),
    ck.SpectralClustering(4, random_state=0).fit(X).embedding_,
]
for array in results:
    print(hashlib.sha1(np.ascontiguousarray(array).tobytes()).hexdigest())
"""
    hashes = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "OPENBLAS_NUM_THREADS": number},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for number in ("1", "4")
    ]
    assert len(hashes[0]) == 5
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize(("n_jobs", "elsewhere"), [(1, False), (None, False), (2, True)])
def test_work_beside_the_caller(n_jobs, elsewhere):
    wait = beside(n_jobs, threading.get_ident)
    assert (wait() != threading.get_ident()) == elsewhere
    assert wait() == wait()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_beside_the_caller_are_raised(n_jobs):
    with pytest.raises(ZeroDivisionError):
        beside(n_jobs, lambda: 1 // 0)()


def test_work_is_done_here_where_no_thread_is_to_be_had(monkeypatch):
    def refuse(function):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_threads._others.pool, "submit", refuse)
    assert beside(2, threading.get_ident)() == threading.get_ident()


def test_work_that_was_refused_but_is_queued_is_done_once(monkeypatch):
    """Else it might write its results again, over what has been made of them."""
    submit, queued, called = _threads._others.pool.submit, [], []

    def refuse(function):
        queued.append(submit(function))
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_threads._others.pool, "submit", refuse)
    for number in range(200):
        assert beside(2, lambda number=number: called.append(number) or number)() == number
    for future in queued:
        future.result()
    assert called == list(range(200))


@pytest.mark.forks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_has_threads_and_locks_of_its_own():
    """Those of its parent do not run in it, and nobody would release what they hold."""
    assert beside(2, lambda: 3)() == 3
    with _threads._blas.lock:
        child = os.fork()
        if child == 0:
            with single_threaded_blas():
                os._exit(beside(2, lambda: 3)())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
