"""The same bits for any number of threads, of BLAS's threads and in any batches.

Kernels with and without AVX2 round differently; how far apart they may be is stated here.
"""

import warnings

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import closeknit as ck
from closeknit import _core, graphs, linalg, neighbors, quality
from closeknit.exceptions import CloseknitWarning
from closeknit.kernels import GAUSSIAN, STUDENT
from closeknit.repulsion import ExactRepulsion, GridRepulsion

warned = pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")


def draw(rng, n=None):
    """Data of some shape, and the parameters that go with it."""
    n = n or int(10 ** rng.uniform(1.8, 2.8))
    X = rng.normal(size=(n, int(10 ** rng.uniform(0, 2)))) * 10 ** rng.uniform(-3, 3)
    X[rng.integers(n, size=n // 10)] = X[0]
    perplexity = float(rng.uniform(3.0, 15.0))
    return X, {"perplexity": perplexity, "n_neighbors": int(3 * perplexity) + 3}


def graph_of(X, few):
    return graphs.symmetrize(ck.EntropicAffinities(**few).fit_transform(X))


def fitted(model):
    def run(X, few, n_jobs):
        estimator = model(max_iter=12, random_state=0, n_jobs=n_jobs, **few).fit(X)
        return estimator.embedding_, estimator.transform(X[:20] * 1.01)

    return run


def searched(index):
    def run(X, few, n_jobs):
        found = index(n_jobs=n_jobs).fit(X)
        near, new = found.self_neighbors(9), found.query(X[:20] * 1.01, 9)
        return near.indices, near.sq_distances, new.indices, new.sq_distances

    return run


def solved(X, few, n_jobs):
    estimator = ck.EntropicAffinities(n_jobs=n_jobs, **few).fit(X)
    P = estimator.affinities_
    return P.data, P.indices, estimator.betas_, estimator.transform(X[:20] * 1.01).data


def repelled(repulsion):
    def run(X, few, n_jobs):
        Y = np.tile(X[:, :1], 2) + np.arange(2.0)
        sums = [repulsion(n_jobs=n_jobs).sums(Y, kernel) for kernel in (STUDENT, GAUSSIAN)]
        return [array for s in sums for array in (s.value, s.force)]

    return run


def sparsified(X, few, n_jobs):
    W = graph_of(X, few)
    options = {"input": "affinities", "random_state": 0, "n_jobs": n_jobs}
    kept = [
        graphs.ResistanceSparsifier(2 * len(X), **options).fit_transform(W),
        graphs.ViewerSparsifier(20, votes=2, **options).fit_transform(W),
        graphs.KNNSparsifier(3, input="affinities", n_jobs=n_jobs).fit_transform(W),
    ]
    return [part for graph in kept for part in (graph.data, graph.indices)]


def spectral(X, few, n_jobs):
    W = graph_of(X, few)
    clusters = ck.SpectralClustering(3, random_state=0, n_jobs=n_jobs, **few).fit(X)
    maps = ck.LaplacianEigenmaps(random_state=0, n_jobs=n_jobs, **few).fit(X)
    vectors = linalg.graph_eigenvectors(W, 4, n_jobs=n_jobs).vectors
    return clusters.embedding_, clusters.labels_, maps.embedding_, vectors


def labelled(X, few, n_jobs):
    y = np.full(len(X), -1)
    y[:10] = np.arange(10) % 2
    models = [ck.LabelPropagation, ck.LabelSpreading]
    return [model(n_jobs=n_jobs, **few).fit(X, y).label_distributions_ for model in models]


def shifted(X, few, n_jobs):
    model = ck.MeanShift(n_jobs=n_jobs, **few).fit(X)
    return model.labels_, model.cluster_centers_


def judged(X, few, n_jobs):
    Y = X[:, :1] + np.zeros((1, 2))
    return [
        np.array(measure(X, Y, 7, n_jobs=n_jobs))
        for measure in (quality.neighbor_recall, quality.trustworthiness)
    ]


TASKS = {
    "exact search": searched(neighbors.ExactIndex),
    "approximate search": searched(neighbors.ApproximateIndex),
    "affinities": solved,
    "exact sums": repelled(ExactRepulsion),
    "grid": repelled(GridRepulsion),
    "t-SNE": fitted(ck.TSNE),
    "s-SNE": fitted(ck.SymmetricSNE),
    "SNE": fitted(ck.SNE),
    "elastic embedding": fitted(ck.ElasticEmbedding),
    "t-EE": fitted(ck.TElasticEmbedding),
    "sparsifiers": sparsified,
    "eigenvectors": spectral,
    "labels": labelled,
    "mean shift": shifted,
    "quality": judged,
}


def bits(arrays):
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


@warned
@pytest.mark.parametrize("task", TASKS)
def test_threads_change_no_bit(task, rounds):
    rng = np.random.default_rng(len(task))
    for _ in range(max(1, rounds // 20)):
        X, few = draw(rng)
        kept = X.copy()
        expected = bits(TASKS[task](X, few, 1))
        for n_jobs in (2, 3, 8):
            assert bits(TASKS[task](X, few, n_jobs)) == expected, (n_jobs, X.shape, few)
        for blas in (1, 3):
            with threadpool_limits(limits=blas, user_api="blas"):
                assert bits(TASKS[task](X, few, 2)) == expected, (blas, X.shape, few)
        assert X.tobytes() == kept.tobytes()


def batched(rng, n):
    """Cut n rows into batches of random sizes, in another order."""
    order = rng.permutation(n)
    return np.split(order, np.sort(rng.integers(0, n + 1, size=3)))


@warned
def test_batches_change_no_bit(rounds):
    rng = np.random.default_rng(0)
    for _ in range(max(1, rounds // 10)):
        X, few = draw(rng)
        new = X[:60] + rng.normal(size=(60, X.shape[1])) * np.abs(X).mean() * 0.1
        affinities, index = ck.EntropicAffinities(**few).fit(X), neighbors.ExactIndex().fit(X)
        embedding = ck.TSNE(max_iter=5, random_state=0, **few).fit(X)
        calls = [
            lambda Q, found=affinities: found.transform(Q).toarray(),
            lambda Q, found=index: found.query(Q, 5).sq_distances,
            embedding.transform,
        ]
        parts = [part for part in batched(rng, len(new)) if len(part)]
        for call in calls:
            whole = call(new)
            for part in parts:
                assert call(new[part]).tobytes() == whole[part].tobytes()


@pytest.mark.skipif(_core.simd() != "avx2", reason="this machine has one set of kernels")
@pytest.mark.parametrize(
    ("task", "bound"),
    [("exact search", 1e-12), ("affinities", 1e-12), ("exact sums", 1e-12), ("grid", 1e-5)],
)
def test_baseline_and_avx2_agree(task, bound, rounds, monkeypatch):
    """To the index, to 1e-10 of each β, and to `bound` of the largest entry otherwise.

    (The grid works in single precision where the accuracy allows it: 1e-5 is 170 roundings.)
    """
    rng = np.random.default_rng(len(task))
    for _ in range(max(1, rounds // 4)):
        X, few = draw(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CloseknitWarning)
            fast = TASKS[task](X, few, 2)
            monkeypatch.setenv("CLOSEKNIT_SIMD", "baseline")
            assert _core.simd() == "baseline"
            plain = TASKS[task](X, few, 2)
            monkeypatch.delenv("CLOSEKNIT_SIMD")
        for place, (a, b) in enumerate(zip(fast, plain, strict=True)):
            if np.issubdtype(a.dtype, np.integer):
                np.testing.assert_array_equal(a, b)
            elif (task, place) == ("affinities", 2):
                np.testing.assert_allclose(a, b, rtol=1e-10)
            else:
                np.testing.assert_allclose(a, b, rtol=0, atol=bound * np.abs(a).max())
