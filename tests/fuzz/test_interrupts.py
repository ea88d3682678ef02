"""Ctrl-C at random moments of long calls: soon heeded, inputs intact, and the next call works.

Moments and delays are measured in the processor time of the whole process, so that a busy machine
changes nothing: a timer of processor time goes off, and its handler raises what Ctrl-C raises.
``pytest tests/fuzz/test_interrupts.py -s --fuzz-rounds 2000`` interrupts each call 100 times and
prints how long it took to end. This file is also the program that runs in a process of its own,
``python tests/fuzz/test_interrupts.py SCALE INTERRUPTS [CALL …]``.
"""

from __future__ import annotations

import copy
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

#: Seconds of processor time from the signal to the end of a call on two threads.
LATENCY = 2.0


def points(n, d):
    import closeknit as ck

    return ck.datasets.make_gaussian_mixture(n, d, n_intrinsic=min(8, d), random_state=0)[0]


def graph(n):
    import closeknit as ck

    X = points(n, 10)
    return ck.graphs.symmetrize(ck.EntropicAffinities(10, n_jobs=2).fit_transform(X))


def search(d, index="ExactIndex", **options):
    def make(scale):
        from closeknit import neighbors

        made = getattr(neighbors, index)(n_jobs=2, **options)
        return points(int(3000 * scale), d), lambda X: made.fit(X).self_neighbors(30).indices

    return make


def search_sparse(scale):
    from scipy.sparse import csr_matrix

    from closeknit.neighbors import ExactIndex

    X = points(int(1500 * scale), 200)
    X = csr_matrix(np.where(np.quantile(X, 0.9) < X, X, 0.0))
    return X, lambda X: ExactIndex(n_jobs=2).fit(X).self_neighbors(30).indices


def other_metric(scale):
    from closeknit.neighbors import find_neighbors

    X = points(int(1500 * scale), 20)
    return X, lambda X: find_neighbors(X, 20, metric="manhattan", n_jobs=2).indices


def solve(**options):
    def make(scale):
        import closeknit as ck

        rng = np.random.default_rng(0)
        d = np.sort(rng.random((int(10_000 * scale), 90)), axis=1)
        return d, lambda d: ck.solve_bandwidths(d, 30.0, n_jobs=2, **options).betas

    return make


def all_affinities(scale):
    import closeknit as ck

    X = points(int(1200 * scale), 20)
    return X, lambda X: ck.EntropicAffinities(n_neighbors=None, n_jobs=2).fit(X).betas_


def embed(name, **options):
    def make(scale):
        import closeknit as ck

        model = getattr(ck, name)(max_iter=60, random_state=0, n_jobs=2, **options)
        return points(int(400 * scale), 10), lambda X: model.fit(X).embedding_

    return make


def transform(scale):
    import closeknit as ck

    X = points(int(800 * scale), 10)
    model = ck.TSNE(max_iter=30, random_state=0, n_jobs=2).fit(X)
    return X + 0.01, model.transform


def go_on(scale):
    import closeknit as ck

    X = points(int(400 * scale), 10)
    model = ck.TSNE(max_iter=10, random_state=0, n_jobs=2).fit(X)
    return X, lambda X: copy.deepcopy(model).optimize(60).embedding_


def spread(scale):
    import closeknit as ck

    X = points(int(1500 * scale), 10)
    y = np.where(np.arange(len(X)) % 50 == 0, np.arange(len(X)) % 3, -1)
    return X, lambda X: ck.LabelSpreading(n_jobs=2).fit(X, y).transduction_


def estimate(name, attribute, **options):
    def make(scale):
        import closeknit as ck

        model = getattr(ck, name)(n_jobs=2, random_state=0, **options)
        return points(int(1000 * scale), 10), lambda X: getattr(model.fit(X), attribute)

    return make


def sparsify(name, **options):
    def make(scale):
        from closeknit import graphs

        model = getattr(graphs, name)(input="affinities", random_state=0, n_jobs=2, **options)
        return graph(int(600 * scale)), lambda W: model.fit(W).graph_.data

    return make


def compare(scale):
    from closeknit import graphs

    def run(W):
        return graphs.spectrum_distance(W, 0.9 * W), graphs.laplacian_distance(W, 0.9 * W)

    return graph(int(700 * scale)), run


def judge(name):
    def make(scale):
        from closeknit import quality

        X = points(int(1200 * scale), 20)
        return X, lambda X: getattr(quality, name)(X, X[:, :2], 15, n_jobs=2)

    return make


def repel(name):
    def make(scale):
        from closeknit import kernels, repulsion

        sums = getattr(repulsion, name)(n_jobs=2)
        Y = 20.0 * points(int(3000 * scale), 2)

        def run(Y):
            return [sums.sums(Y, kernels.STUDENT).force for _ in range(10)]

        return Y, run

    return make


#: What takes long for many points; each makes an input and a call that takes it.
CALLS = {
    "search by a tree": search(3),
    "search by sketches": search(40),
    "approximate search": search(40, "ApproximateIndex"),
    "search in sparse data": search_sparse,
    "search by another metric": other_metric,
    "bandwidths": solve(method="bisection"),
    "bandwidths in an order": solve(method="newton", order="density"),
    "bandwidths of another kernel": solve(kernel="student"),
    "affinities of all points": all_affinities,
    "TSNE": embed("TSNE"),
    "SymmetricSNE": embed("SymmetricSNE"),
    "SNE": embed("SNE"),
    "ElasticEmbedding": embed("ElasticEmbedding"),
    "TElasticEmbedding": embed("TElasticEmbedding"),
    "LaplacianEigenmaps": estimate("LaplacianEigenmaps", "embedding_"),
    "transform": transform,
    "optimize": go_on,
    "SpectralClustering": estimate("SpectralClustering", "labels_", n_clusters=5),
    "MeanShift": estimate("MeanShift", "labels_"),
    "BlurringMeanShift": estimate("BlurringMeanShift", "labels_", max_iter=20),
    "LabelSpreading": spread,
    "ViewerSparsifier": sparsify("ViewerSparsifier", n_viewers=40, votes=2),
    "ResistanceSparsifier": sparsify("ResistanceSparsifier", n_edges=2000),
    "graphs compared": compare,
    "neighbor_recall": judge("neighbor_recall"),
    "trustworthiness": judge("trustworthiness"),
    "ExactRepulsion": repel("ExactRepulsion"),
    "GridRepulsion": repel("GridRepulsion"),
}


def contents(value):
    if isinstance(value, tuple | list):
        return [part for each in value for part in contents(each)]
    if hasattr(value, "indptr"):
        return [part.tobytes() for part in (value.data, value.indices, value.indptr)]
    return [np.asarray(value).tobytes()]


def attack(name, scale, n_interrupts):
    """Interrupt a call; print what became of it and how much processor time that took."""
    X, call = CALLS[name](scale)
    before = contents(X)
    call(X)  # imports what it needs
    began = time.process_time()
    expected = contents(call(X))
    length = time.process_time() - began
    rng = np.random.default_rng(len(name))
    for _ in range(n_interrupts):
        delay = float(rng.uniform(0.001, length))
        began, outcome = time.process_time(), "finished"
        try:
            signal.setitimer(signal.ITIMER_PROF, delay)
            found = contents(call(X))
            ended = time.process_time()
            if signal.setitimer(signal.ITIMER_PROF, 0)[0] == 0.0 and found != expected:
                outcome = "kept"
        except KeyboardInterrupt:
            ended, outcome = time.process_time(), "raised"
        assert contents(X) == before
        print(name, outcome, max(0.0, ended - began - delay), sep=",", flush=True)
    assert contents(call(X)) == expected


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no interval timers")
def test_interrupts(rounds):
    n_interrupts, scale = max(2, rounds // 20), 1.0 if rounds <= 100 else 3.0
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", __file__, str(scale), str(n_interrupts)],
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line.split(",") for line in done.stdout.splitlines()]
    assert done.returncode == 0, (lines[-1:], done.stderr[-3000:])
    for name in CALLS:
        outcomes = [outcome for call, outcome, _ in lines if call == name]
        delays = [float(delay) for call, _, delay in lines if call == name]
        assert len(delays) == n_interrupts
        counts = ", ".join(f"{outcomes.count(what)} {what}" for what in sorted(set(outcomes)))
        print(f"{name}: {counts}; {np.median(delays):.3f} s, at most {max(delays):.3f} s")
        assert max(delays) < LATENCY


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    for call in sys.argv[3:] or CALLS:
        attack(call, float(sys.argv[1]), int(sys.argv[2]))
