"""Long calls let Python handle signals while they work, so that Ctrl-C ends them.

Each call below is long, and its work one task or few, so that looking for signals between tasks
would not do.
"""

import signal

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from closeknit import _core

pytestmark = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="Windows has no interval timers"
)
STUDENT = (1, 1.0, 1.0)
CONVERGED, INVALID = 0, 4


def rng():
    return np.random.default_rng(0)


# Each makes a call, and a function that says whether something was left undone.


def place(n_jobs):
    """One task of new points, with a sum over all points at each of their steps."""
    n, n_new = 2_000, 16
    X = rng().random((n, 2)) * 100.0
    i = np.arange(n_new)
    graph = _core.Graph(csr_matrix((np.ones(n_new), (i, 17 * i)), shape=(n_new, n)))
    positions = np.full((n_new, 2), 50.0)

    def run():
        _core.place(graph, X, STUDENT, 1e-3, 10_000, -1.0, None, positions, n_jobs)

    return run, lambda: bool((positions[-1] == 50.0).all())


def search_sparse(n_jobs):
    """One task of queries whose sketches say nothing, so that all distances are taken."""
    n, n_queries = 4000, 60
    X = csr_matrix(np.where(rng().random((n, 300)) < 0.5, rng().random((n, 300)), 0.0))

    def rows(A):
        return _core.Rows(A.data, A.indptr.astype(np.int64), A.indices, A.shape[1])

    places = np.arange(n, dtype=np.int32).reshape(-1, 16)
    flat = np.zeros((len(places), 1, 16), dtype=np.float32)
    norms = np.zeros(places.shape, dtype=np.float32)
    sketch = _core.Sketch(flat, norms, places, np.array([0, len(places)]), False)
    one = np.full((1, 16), -1, dtype=np.int32)
    one[0, 0] = 0
    center = _core.Sketch(flat[:1], norms[:1], one, np.array([0, 1]), False)
    points = _core.SearchPoints(rows(X), None, sketch, center, np.ones(1), np.ones(1))
    queries = _core.SearchQueries(
        rows(X[:n_queries]),
        np.zeros((n_queries, 1), dtype=np.float32),
        np.zeros(n_queries),
        None,
        np.arange(n_queries),
        np.array([0, n_queries]),
    )
    plan = _core.SearchPlan(1, 1, 1.0, 0.0, 1.0, True)
    indices = np.full((n_queries, 5), -7, dtype=np.int32)
    rest = np.empty((n_queries, 5)), np.empty(n_queries, dtype=np.int64)

    def run():
        _core.search_cells(points, queries, plan, (0, 1), indices, *rest, n_jobs)

    return run, lambda: bool((indices == -7).any())


def solve_in_one_run(n_jobs):
    """All rows one after the other, by the slowest method."""
    n, k = 20_000, 50
    status = np.zeros(n, dtype=np.uint8)
    problem = _core.EntropicProblem(
        np.sort(rng().random((n, k)), axis=1),
        np.array([20.0]),
        1e-12,
        False,
        np.empty((n, k)),
        *np.empty((3, n)),
        np.empty(n, dtype=np.int32),
        status,
    )
    one = np.array([0, 1])
    order = _core.RowOrder(np.arange(n), np.arange(-1, n - 1), n * one, one, None)

    def run():
        _core.solve_in_order(problem, 0, 1, order, n_jobs)

    def unfinished():
        solved = int((status == CONVERGED).sum())
        return 0 < solved < n and bool((status[solved:] == INVALID).all())

    return run, unfinished


def sum_all_pairs(n_jobs):
    """Many short tasks."""
    X = rng().random((12_000, 3))
    pairs, value = _core.Pairs(X, None, None, None, None), np.full(len(X), np.nan)

    def run():
        _core.sum_all_pairs(pairs, (1, 2.0, 1.5), value, None, None, None, n_jobs)

    return run, lambda: bool(np.isnan(value).any())


def measure_pairs(n_jobs):
    """One tile of long rows."""
    n, n_features = 256, 65_536
    columns, starts = np.tile(np.arange(n, dtype=np.int32), n), n * np.arange(n + 1)
    rows, out = _core.Rows(rng().random((n, n_features))), np.full(n * n, np.nan)

    def run():
        _core.pair_distances(rows, starts, columns, out, n_jobs)

    return run, lambda: bool(np.isnan(out).any())


CALLS = [measure_pairs, place, search_sparse, solve_in_one_run, sum_all_pairs]


@pytest.fixture
def alarm():
    """Call a handler every few milliseconds."""
    before = signal.getsignal(signal.SIGALRM)

    def start(handler):
        signal.signal(signal.SIGALRM, lambda *_: handler())
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.005)

    yield start
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("call", CALLS)
def test_handlers_run_during_the_call(call, n_jobs, alarm):
    run, unfinished = call(n_jobs)
    handled = []
    alarm(lambda: handled.append(1))
    run()
    assert len(handled) >= 4
    assert not unfinished()


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("call", CALLS)
def test_what_a_handler_raises_ends_the_call(call, n_jobs, alarm):
    """Rows that were not solved must not look as if they had been."""
    run, unfinished = call(n_jobs)

    def stop():
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise KeyboardInterrupt

    alarm(stop)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert unfinished()
