"""`effective_n_jobs` follows scikit-learn's ``n_jobs``; BLAS is limited and restored."""

import os
import subprocess
import sys
import threading

import joblib
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from closeknit import _threads
from closeknit._threads import effective_n_jobs, single_threaded_blas
from closeknit.linalg import graph_eigenvectors


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
