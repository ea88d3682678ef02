"""Promises that hold in every mode: threads, batches, inputs, symmetry."""

from __future__ import annotations

import sys
import threading
from subprocess import run

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from closeknit.neighbors import (
    ApproximateIndex,
    ExactIndex,
    PairwiseIndex,
    find_neighbors,
    make_index,
)
from closeknit.progress import listening

INDICES = {
    "tree": lambda **kw: ExactIndex(algorithm="tree", **kw),
    "sketch": lambda **kw: ExactIndex(algorithm="sketch", **kw),
    "cosine": lambda **kw: ExactIndex("cosine", **kw),
    "approximate": lambda **kw: ApproximateIndex(**kw),
    "approximate cosine": lambda **kw: ApproximateIndex("cosine", **kw),
    "manhattan": lambda **kw: PairwiseIndex("manhattan", **kw),
}


@pytest.mark.parametrize("name", INDICES)
def test_same_bits_for_any_number_of_threads(twin, clusters, name):
    X = clusters[:2600, : 6 if name == "tree" else 40]
    one, two, three = (
        (index.self_neighbors(12), index.query(X[:100] + 0.01, 12))
        for index in (INDICES[name](n_jobs=n).fit(X) for n in (1, 2, 3))
    )
    for mine, other in ((one, two), (one, three)):
        twin.assert_same_bits(mine[0], other[0])
        twin.assert_same_bits(mine[1], other[1])


@pytest.mark.parametrize("name", INDICES)
def test_answers_do_not_depend_on_the_batch(twin, clusters, name):
    index = INDICES[name]().fit(clusters[:2500])
    queries = clusters[2500:2620]
    together = index.query(queries, 9)
    for rows in ([5], [7, 3], list(range(40, 101))):
        alone = index.query(queries[rows], 9)
        np.testing.assert_array_equal(alone.indices, together.indices[rows])
        np.testing.assert_array_equal(alone.sq_distances, together.sq_distances[rows])


@pytest.mark.parametrize("name", INDICES)
def test_query_leaves_nothing_out(clusters, name):
    found = INDICES[name]().fit(clusters[:2500]).query(clusters[:50], 3)
    np.testing.assert_array_equal(found.indices[:, 0], np.arange(50))


def test_sparse_answers_do_not_depend_on_the_batch(rng):
    X = sp.random(400, 60, 0.1, format="csr", random_state=1)
    index = ExactIndex().fit(X)
    together = index.query(X, 5)
    alone = index.query(X[17], 5)
    np.testing.assert_array_equal(alone.sq_distances[0], together.sq_distances[17])


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize(
    "kind", ["list", "integers", "float16", "fortran", "read-only", "memmap", "frame", "strided"]
)
def test_kinds_of_input(twin, rng, tmp_path, method, kind):
    X = rng.integers(0, 200, size=(120, 14)).astype(np.float64)
    expected = find_neighbors(X, 4, neighbors=method)
    given_X = X
    if kind == "list":
        given_X = X.tolist()
    elif kind == "integers":
        given_X = X.astype(np.uint8)
    elif kind == "float16":
        given_X = X.astype(np.float16)
    elif kind == "fortran":
        given_X = np.asfortranarray(X)
    elif kind == "read-only":
        given_X = X.copy()
        given_X.flags.writeable = False
    elif kind == "memmap":
        np.save(tmp_path / "X.npy", X)
        given_X = np.load(tmp_path / "X.npy", mmap_mode="r")
    elif kind == "frame":
        given_X = pytest.importorskip("pandas").DataFrame(X)
    elif kind == "strided":
        given_X = np.repeat(X, 2, axis=0)[::2]
    twin.assert_same_bits(find_neighbors(given_X, 4, neighbors=method), expected)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product", "manhattan"])
@pytest.mark.parametrize("sparse", [False, True])
def test_inputs_are_not_modified(rng, metric, sparse):
    X = rng.random(size=(90, 20)) * (rng.random((90, 20)) < 0.5)
    X[:, 0] = 1.0
    given_X = sp.csr_matrix(X) if sparse else X.copy()
    find_neighbors(given_X, 5, metric=metric)
    np.testing.assert_array_equal(given_X.toarray() if sparse else given_X, X)


def test_results_are_read_only(rng):
    neighbors = find_neighbors(rng.normal(size=(20, 2)), 3)
    with pytest.raises(ValueError, match="read-only"):
        neighbors.indices[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        neighbors.sq_distances[0, 0] = 1


@pytest.mark.parametrize("name", ["tree", "sketch", "approximate", "sparse"])
def test_double_queries_of_single_points_are_not_rounded(twin, rng, name):
    """Gaps that single precision cannot see, beside fitted points that it holds."""
    X = rng.integers(1, 50, size=(300, 5)).astype(np.float32)
    queries = X[:20].astype(np.float64) + 1e-12 * rng.normal(size=(20, 5))
    container = sp.csr_matrix if name == "sparse" else np.asarray
    index = (ExactIndex if name == "sparse" else INDICES[name])().fit(container(X))
    before = index.query(container(X[:5]), 3)
    found = index.query(container(queries), 4)
    twin.assert_nearest(found, twin.sq_euclidean(queries, X), 4, exclude_self=False, rtol=1e-9)
    assert (found.sq_distances[:, 0] > 0).all()
    twin.assert_same_bits(index.query(container(X[:5]), 3), before)


@pytest.mark.parametrize("name", ["tree", "sketch", "approximate"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_queries_far_from_all_points(twin, rng, name, dtype):
    """Up to where squares overflow, and beside queries that are near."""
    X = rng.normal(size=(400, 30 if name != "tree" else 5)).astype(dtype)
    queries = np.concatenate([X[:3], 1e60 * X[3:6].astype(np.float64), X[6:8]])
    found = INDICES[name]().fit(X).query(queries, 6)
    expected = twin.sq_euclidean(queries, X)
    np.testing.assert_array_equal(found.indices[[0, 1, 2, 6, 7], 0], [0, 1, 2, 6, 7])
    np.testing.assert_allclose(found.sq_distances, np.sort(expected, axis=1)[:, :6], rtol=1e-12)


def test_a_tiny_query_is_no_error(rng):
    X = rng.normal(size=(50, 20))
    found = find_neighbors(np.vstack([X, np.full(20, 1e-200)]), 3)
    assert (found.sq_distances > 0).all()
    assert (ExactIndex().fit(X).query(np.full((1, 20), 1e-200), 3).sq_distances > 0).all()


def test_trees_are_searched_on_threads_of_our_own(rng, monkeypatch):
    """SciPy's own workers go on writing into freed memory after an interrupt."""
    from scipy.spatial import cKDTree

    workers = []

    class Tree(cKDTree):
        def query(self, x, k=1, **options):
            workers.append(options.get("workers", 1))
            return super().query(x, k, **options)

    monkeypatch.setattr("scipy.spatial.cKDTree", Tree)
    X = rng.normal(size=(5000, 3))
    ExactIndex(n_jobs=3).fit(X).self_neighbors(10)
    assert set(workers) == {1}
    assert len(workers) > 3


@pytest.mark.parametrize("name", ["tree", "manhattan"])
def test_an_interrupted_search_ends_and_the_next_one_works(twin, rng, name):
    X = rng.normal(size=(3000, 4))
    index = INDICES[name](n_jobs=2).fit(X)

    def interrupt(event):
        if event.done == 1:
            raise KeyboardInterrupt

    before = threading.active_count()
    with listening(interrupt), pytest.raises(KeyboardInterrupt):
        index.self_neighbors(20)
    assert threading.active_count() == before
    fresh = INDICES[name](n_jobs=1).fit(X)
    twin.assert_same_bits(index.self_neighbors(20), fresh.self_neighbors(20))


def test_import_is_light():
    code = (
        "import sys, closeknit.neighbors; "
        "assert not {'faiss', 'pandas', 'sklearn.neighbors', 'sklearn.metrics'} & set(sys.modules)"
    )
    run([sys.executable, "-c", code], check=True)


points = hnp.arrays(
    np.float64,
    st.tuples(st.integers(3, 40), st.integers(1, 5)),
    elements=st.floats(-100, 100, width=32) | st.integers(-2, 2).map(float),
)


@settings(max_examples=60, deadline=None)
@given(points, st.sampled_from(["tree", "sketch"]), st.randoms(use_true_random=False))
def test_properties(X, algorithm, random):
    n_samples = len(X)
    k = min(5, n_samples - 1)
    neighbors = ExactIndex(algorithm=algorithm, n_jobs=1).fit(X).self_neighbors(k)
    # Rows are sorted by (distance, index).
    steps = np.diff(neighbors.sq_distances, axis=1)
    assert (steps >= 0).all()
    assert (np.diff(neighbors.indices, axis=1)[steps == 0] > 0).all()
    # Distances are symmetric: whoever lists each other says the same.
    graph = {
        (i, j): d
        for i in range(n_samples)
        for j, d in zip(neighbors.indices[i], neighbors.sq_distances[i], strict=True)
    }
    assert all(graph.get((j, i), d) == d for (i, j), d in graph.items())
    # Permuting the points permutes the distances, and the indices where there are no ties.
    order = np.array(random.sample(range(n_samples), n_samples))
    permuted = ExactIndex(algorithm=algorithm, n_jobs=1).fit(X[order]).self_neighbors(k)
    np.testing.assert_array_equal(permuted.sq_distances, neighbors.sq_distances[order])


@settings(max_examples=40, deadline=None)
@given(points)
def test_tree_and_sketches_agree(X):
    k = min(6, len(X) - 1)
    tree = ExactIndex(algorithm="tree", n_jobs=1).fit(X).self_neighbors(k)
    sketch = ExactIndex(algorithm="sketch", n_jobs=1).fit(X).self_neighbors(k)
    np.testing.assert_array_equal(tree.indices, sketch.indices)
    np.testing.assert_array_equal(tree.sq_distances, sketch.sq_distances)


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_strict_settings_of_numpy_change_nothing(method, scale):
    """Whoever asks NumPy to raise at underflow is no worse off: what rounds to 0 is looked at."""
    X = scale * np.random.default_rng(0).normal(size=(60, 5))
    with np.errstate(all="raise"):
        index = make_index("euclidean", method).fit(X)
        found = index.query(X + 0.1 * scale, 5)
    expected = make_index("euclidean", method).fit(X).query(X + 0.1 * scale, 5)
    np.testing.assert_array_equal(found.indices, expected.indices)
