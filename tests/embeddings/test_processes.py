"""Fits in forked children, in workers of joblib, in threads side by side, and as Python ends."""

import os
import subprocess
import sys
import textwrap
import threading

import joblib
import numpy as np
import pytest

import closeknit as ck

X = np.random.default_rng(0).normal(size=(300, 9))
MODELS = [ck.TSNE, ck.ElasticEmbedding, ck.LaplacianEigenmaps]


def estimator_of(model, n_jobs):
    options = {} if model is ck.LaplacianEigenmaps else {"max_iter": 15}
    return model(perplexity=8, random_state=0, n_jobs=n_jobs, **options)


def fit(model, n_jobs=2):
    """The bits of a map: neighbours by sketches, affinities, start and some iterations."""
    return estimator_of(model, n_jobs).fit_transform(X).tobytes()


pytestmark = pytest.mark.filterwarnings("ignore::closeknit.exceptions.NotConvergedWarning")


@pytest.mark.forks
@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("model", MODELS)
def test_a_forked_child_can_fit(model):
    expected = fit(model)  # threads have been there
    child = os.fork()
    if child == 0:
        os._exit(0 if fit(model) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_workers_of_joblib_give_the_same_bits():
    expected = [fit(model) for model in MODELS]
    estimators = [estimator_of(model, None) for model in MODELS]
    with joblib.parallel_config(backend="loky", n_jobs=2):
        calls = (joblib.delayed(estimator.fit_transform)(X) for estimator in estimators)
        found = [embedding.tobytes() for embedding in joblib.Parallel()(calls)]
    assert found == expected


def test_threads_side_by_side_give_the_same_bits():
    expected = {model: [fit(model)] * 3 for model in MODELS}
    found = {}

    def work(model):
        found[model] = [fit(model) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(model,)) for model in MODELS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


@pytest.mark.parametrize("delay", [0.0, 0.3])
@pytest.mark.parametrize("repulsion", ["exact", "grid"])
def test_python_may_end_while_a_daemon_thread_fits(repulsion, delay):
    code = f"""
    import threading, time, warnings
    import numpy as np
    import closeknit as ck

    warnings.simplefilter("ignore")
    X = np.random.default_rng(0).normal(size=(2000, 9))
    started = threading.Event()

    def work():
        while True:
            callback = lambda state: started.set()
            ck.TSNE(repulsion={repulsion!r}, callback=callback, n_jobs=2).fit(X)

    threading.Thread(target=work, daemon=True).start()
    started.wait()
    time.sleep({delay})
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
