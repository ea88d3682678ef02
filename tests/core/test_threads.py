"""The pool of threads: without threads to be had, within signal handlers, and at the end."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest
from scipy import sparse

from closeknit import _core
from closeknit._threads import effective_n_jobs

STUDENT = (1, 1.0, 1.0)


def sums(n_jobs, n=4000):
    """Sums over all pairs: many small tasks."""
    X = np.random.default_rng(0).random((n, 2))
    value, slope, force = np.empty(n), np.empty(n), np.empty((n, 2))
    pairs = _core.Pairs(X, None, None, None, None)
    _core.sum_all_pairs(pairs, STUDENT, value, slope, force, None, n_jobs)
    return b"".join(array.tobytes() for array in (value, slope, force))


def run(code, **options):
    """Run some lines in another process, which must succeed and print nothing."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        **options,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def limit():
    """Allow a few new threads only."""
    yield _core.limit_new_threads
    _core.limit_new_threads(-1)
    with warnings.catch_warnings():  # of this test's threads, before another test hears of them
        warnings.simplefilter("ignore")
        effective_n_jobs(1)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_goes_on_with_the_threads_there_are(limit, n):
    expected, before = sums(1), _core.refused_threads()
    limit(n)
    assert sums(8) == expected
    assert _core.refused_threads() == before + 1
    limit(-1)
    assert sums(8) == expected
    assert _core.refused_threads() == before + 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
def test_goes_on_when_the_system_has_no_room_for_threads():
    """Each thread wants a stack of some megabytes, of which few are left."""
    out = run(
        """
        import resource
        import numpy as np
        from closeknit import _core

        X = np.random.default_rng(0).random((1000, 2))
        pairs = _core.Pairs(X, None, None, None, None)

        def sums(n_jobs):
            value = np.empty(1000)
            _core.sum_all_pairs(pairs, (1, 1.0, 1.0), value, None, None, None, n_jobs)
            return value.tobytes()

        expected = sums(1)
        with open("/proc/self/statm") as sizes:
            used = int(sizes.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_STACK, (2**26, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_AS, (used + 2**24, used + 2**24))
        print(sums(16) == expected, _core.refused_threads() > 0)
        """
    )
    assert out == "True True\n"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
def test_absurd_numbers_of_threads_are_capped():
    before, most, stop = len(os.listdir("/proc/self/task")), 0, threading.Event()

    def count():
        nonlocal most
        while not stop.is_set():
            most = max(most, len(os.listdir("/proc/self/task")))
            time.sleep(0.001)

    watcher = threading.Thread(target=count)
    watcher.start()
    try:
        assert sums(2**31 - 1, 20_000) == sums(1, 20_000)
    finally:
        stop.set()
        watcher.join()
    assert 0 < most - before <= max(16, 4 * (os.cpu_count() or 1)) + 1


COUNT = """
    import os, threading, time
    import numpy as np
    from closeknit import _core

    first = threading.Thread(target=int)  # with which sanitizers start one of their own
    first.start()
    first.join()
    X = np.random.default_rng(0).random((4000, 2))
    pairs = _core.Pairs(X, None, None, None, None)

    def sums(n_jobs):
        value = np.empty(len(X))
        _core.sum_all_pairs(pairs, (1, 1.0, 1.0), value, None, None, None, n_jobs)
        return value.tobytes()

    def n_threads():
        return len(os.listdir("/proc/self/task"))

    def until_back():
        # Threads that have ended stay in /proc for a moment.
        last = time.monotonic() + 60.0
        while n_threads() > before and time.monotonic() < last:
            time.sleep(0.01)
        return n_threads() - before

    before = n_threads()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
def test_threads_serve_one_call_after_the_other_and_end_when_nobody_needs_them():
    out = run(
        COUNT
        + """
    found = {sums(3) for _ in range(50)}
    print(len(found), n_threads() - before)
    print(until_back(), sums(3) in found)
    """
    )
    assert out == "1 2\n0 True\n"


@pytest.mark.forks
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are counted in /proc")
def test_no_idle_thread_is_left_when_the_process_forks():
    """Python 3.12 and later warn of forks beside threads, which a child does not have."""
    out = run(
        COUNT
        + """
    expected = sums(3)
    for _ in range(20):
        child = os.fork()
        if child == 0:
            os._exit(0 if sums(3) == expected else 1)
        print(until_back(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), end=" ")
        sums(3)
    """,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # which ends its own threads, too
    )
    assert out == "0 0 " * 20


def test_python_threads_side_by_side():
    expected, found = sums(1), {}
    workers = [
        threading.Thread(target=lambda i=i: found.update({i: [sums(2) for _ in range(20)]}))
        for i in range(3)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == {i: [expected] * 20 for i in range(3)}


def test_the_first_error_of_a_task_is_raised_and_the_next_call_works():
    n = 50_000
    indices = np.zeros(n, dtype=np.int32)
    matrix = sparse.csr_matrix((np.ones(n), indices, np.arange(n + 1, dtype=np.int32)), (n, n))
    X, out = np.ones((n, 1)), np.empty((n, 1))
    for row in (0, n // 2, n - 1):
        indices[:] = 0
        indices[row] = n
        broken = sparse.csr_matrix((n, n))
        broken.data, broken.indices, broken.indptr = matrix.data, indices, matrix.indptr
        with pytest.raises(ValueError, match="out of range"):
            _core.multiply(_core.Graph(broken), X, out, 4)
        indices[:] = 0
        _core.multiply(_core.Graph(broken), X, out, 4)
        assert (out == 1.0).all()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no interval timers")
def test_a_signal_handler_may_use_the_pool_again():
    expected, inner = sums(1), []

    def handle(*_):
        inner.append(sums(2))
        signal.setitimer(signal.ITIMER_REAL, 0.02)  # not before, however long that took

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        outer = sums(2, 20_000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert outer == sums(1, 20_000)
    assert inner
    assert set(inner) == {expected}


@pytest.mark.forks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_works_in_a_forked_child():
    expected = sums(2)
    child = os.fork()
    if child == 0:
        os._exit(0 if sums(2) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_interpreter_may_end_while_a_daemon_thread_computes(n_jobs):
    for delay in (0.05, 0.1, 0.15):
        run(
            f"""
            import threading, time
            import numpy as np
            from closeknit import _core

            X = np.random.default_rng(0).random((3000, 2))
            began = threading.Event()

            def work():
                value = np.empty(len(X))
                while True:
                    pairs = _core.Pairs(X, None, None, None, None)
                    _core.sum_all_pairs(
                        pairs, (1, 1.0, 1.0), value, None, None, None, {n_jobs}
                    )
                    began.set()

            threading.Thread(target=work, daemon=True).start()
            began.wait()
            time.sleep({delay})
            """
        )


def test_the_interpreter_may_end_while_a_daemon_thread_is_asked_whether_to_go_on():
    """A thread that is ended in Python must not be unwound through C++, which would abort."""
    run(
        """
        import threading, time
        import numpy as np
        from closeknit import _core
        from closeknit.progress import interruptible

        began = threading.Event()

        def wait():  # gives the interpreter away, and asks for it again
            began.set()
            for _ in range(1000):
                time.sleep(0.001)

        def work():
            X = np.random.default_rng(0).random((10_000, 2))
            pairs, value = _core.Pairs(X, None, None, None, None), np.empty(len(X))
            with interruptible(wait):
                _core.sum_all_pairs(pairs, (1, 1.0, 1.0), value, None, None, None, 2)

        threading.Thread(target=work, daemon=True).start()
        began.wait()
        """
    )
