"""Ctrl-C, time limits and callbacks: the best embedding so far, and nothing broken."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import closeknit as ck
from closeknit.graphs import symmetrize

X = np.random.default_rng(0).normal(size=(80, 4))
NONLINEAR = [ck.TSNE, ck.SymmetricSNE, ck.SNE, ck.ElasticEmbedding, ck.TElasticEmbedding]
each_nonlinear = pytest.mark.parametrize("model", NONLINEAR)

SCRIPT = textwrap.dedent(
    """
    import numpy as np
    import closeknit as ck
    from closeknit.graphs import symmetrize

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 5))
    W = symmetrize(ck.EntropicAffinities(10.0, n_jobs=1).fit_transform(X))
    before = W.copy()

    def running(state):
        print("running", flush=True)

    options = {"max_iter": 100_000, "tol": 0.0, "callback": running, "n_jobs": 1}
    emb = ck.MODEL(affinity="precomputed", init="random", random_state=0, OPTIONS, **options)
    emb.fit(W)
    assert np.isfinite(emb.embedding_).all()
    assert emb.embedding_.shape == (2000, 2)
    assert np.isfinite(emb.objective_)
    assert (W != before).nnz == 0
    assert W.data.tobytes() == before.data.tobytes()
    if ck.MODEL is ck.TSNE:
        np.testing.assert_allclose(emb.affinities_.toarray(), (before / before.sum()).toarray())
    else:
        assert (emb.affinities_ != before).nnz == 0
    assert len(emb.history_) >= 1
    emb.transform(W[:3])
    print("stopped because", emb.stopped_because_, flush=True)
    """
)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("TSNE", "exaggeration=((12.0, 50),)"),
        ("ElasticEmbedding", "lam=10.0"),
        ("ElasticEmbedding", "lam='auto'"),
    ],
)
def test_ctrl_c_keeps_the_best_embedding(model, options):
    """A real SIGINT in mid-minimisation; the script catches nothing and ends by itself."""
    script = SCRIPT.replace("MODEL", model).replace("OPTIONS", options)
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that ignores SIGINT in background jobs would hand that down to Python.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        for _ in range(3):
            line = process.stdout.readline()
            assert line == "running\n", process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"Ctrl-C did not end the fit: {out[-300:]} {err[-300:]}")
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert out.splitlines()[-1] == "stopped because interrupted"


@each_nonlinear
@pytest.mark.parametrize("after", [1, 4])
def test_an_interrupt_ends_all_stages(model, after):
    """One Ctrl-C is enough, also in the first of the stages of t-SNE and of lam="auto"."""
    calls = []

    def interrupt(state):
        calls.append(state.iteration)
        if len(calls) == after:
            raise KeyboardInterrupt

    before = X.copy()
    emb = model(perplexity=5.0, callback=interrupt, random_state=0, init="random")
    emb.fit(X)
    assert len(calls) == after
    assert emb.stopped_because_ == "interrupted"
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.objective_)
    assert np.isfinite(emb.lam_)
    np.testing.assert_array_equal(X, before)
    assert np.isfinite(emb.transform(X[:3] + 0.1)).all()
    # The estimator is as good as new.
    emb.set_params(callback=None, max_iter=5).fit(X)
    assert emb.stopped_because_ in ("max_iter", "tol")


@each_nonlinear
def test_an_interrupted_homotopy_knows_where_it_is(model):
    """path_ holds the λ that have results, and lam_ is the last of them.

    (Below λ ≈ 0.2 the minimum of normalised models is X = 0, where no iteration may be needed.)
    """
    calls = []

    def interrupt(state):
        calls.append(state.lam)
        if state.lam == 0.5:
            raise KeyboardInterrupt

    emb = model(perplexity=5.0, lam=[0.1, 0.5, 1.0], callback=interrupt, init="random")
    emb.fit(X)
    assert emb.lam_ == 0.5
    assert len(emb.path_.results) == 2
    assert emb.path_.stopped_because == emb.stopped_because_ == "interrupted"


@each_nonlinear
def test_the_best_embedding_is_kept(model):
    """objective_ is the least of the history, at the λ that was reached."""
    calls = []

    def stop(state):
        calls.append(state)
        return len(calls) == 5

    options = {"exaggeration": ()} if model is ck.TSNE else {}
    if model in (ck.ElasticEmbedding, ck.TElasticEmbedding):
        options = {"lam": 1.0}
    emb = model(perplexity=5.0, callback=stop, init="random", random_state=0, **options).fit(X)
    assert emb.stopped_because_ == "callback"
    assert emb.n_iter_ == 5
    assert emb.objective_ == emb.history_.objective.min()
    assert emb.objective_ == min(state.value for state in calls)


@each_nonlinear
def test_time_limit_in_mid_minimisation(model):
    """Ends with a time_limit long before max_iter; nothing is asserted about how long it took."""
    W = symmetrize(ck.EntropicAffinities(5.0).fit_transform(X))
    before = W.copy()

    def wait(state):
        time.sleep(0.02)

    emb = model(
        affinity="precomputed",
        time_limit=0.2,
        callback=wait,
        max_iter=10**9,
        tol=0.0,
        init="random",
        random_state=0,
    ).fit(W)
    assert emb.stopped_because_ == "time_limit"
    assert np.isfinite(emb.embedding_).all()
    assert np.isfinite(emb.objective_)
    assert W.data.tobytes() == before.data.tobytes()


@each_nonlinear
def test_errors_in_a_callback_are_not_swallowed(model):
    def fail(state):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        model(perplexity=5.0, callback=fail).fit(X)


@each_nonlinear
def test_a_callback_cannot_spoil_the_run(model):
    """The positions it sees are read-only."""

    def scribble(state):
        with pytest.raises(ValueError, match="read-only"):
            state.X[0] = np.nan

    emb = model(perplexity=5.0, callback=scribble, max_iter=3).fit(X)
    assert np.isfinite(emb.embedding_).all()
