"""Neighbors in and out of other formats."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsTransformer

from closeknit.neighbors import Neighbors, PrecomputedIndex, find_neighbors


@pytest.fixture
def X(rng):
    X = rng.normal(size=(100, 4))
    X[40:45] = X[0]  # five copies of one point
    return X


@pytest.mark.parametrize("mode", ["distance", "connectivity"])
def test_transformer_round_trip(twin, X, mode):
    graph = KNeighborsTransformer(n_neighbors=8, mode="distance").fit_transform(X)
    ours = find_neighbors(X, 8)
    theirs = Neighbors.from_graph(graph, 8)
    np.testing.assert_allclose(theirs.sq_distances, ours.sq_distances, atol=1e-15)
    again = Neighbors.from_graph(ours.to_graph())
    np.testing.assert_array_equal(again.indices, ours.indices)
    np.testing.assert_allclose(again.sq_distances, ours.sq_distances, rtol=1e-15)


def test_graph_format(X):
    graph = find_neighbors(X, 6).to_graph()
    assert graph.format == "csr"
    assert graph.indices.dtype == graph.indptr.dtype == np.int32
    assert graph.nnz == 600
    assert (graph.diagonal() == 0).all()
    assert (np.diff(graph.data.reshape(100, 6), axis=1) >= 0).all()
    assert set(find_neighbors(X, 6).to_graph("connectivity").data) == {1.0}


def test_scikit_learn_takes_our_graph(X):
    embedding = Isomap(n_neighbors=7, metric="precomputed").fit_transform(
        find_neighbors(X, 8).to_graph()
    )
    assert np.isfinite(embedding).all()


def test_ragged_unsorted_graph():
    rows = [0, 0, 0, 1, 3, 3]
    columns = [3, 0, 1, 1, 0, 2]
    data = [2.0, 0.0, 1.0, 0.0, 2.0, 0.5]
    graph = sp.csr_matrix((data, (rows, columns)), shape=(4, 4))
    neighbors = Neighbors.from_graph(graph)
    np.testing.assert_array_equal(neighbors.indices, [[1, 3], [-1, -1], [-1, -1], [2, 0]])
    np.testing.assert_array_equal(neighbors.sq_distances[0], [1.0, 4.0])
    assert np.isinf(neighbors.sq_distances[1]).all()
    np.testing.assert_array_equal(neighbors.counts, [2, 0, 0, 2])
    assert neighbors.to_graph().nnz == 4


def test_truncate(twin, X):
    whole = find_neighbors(X, 9)
    part = whole.truncate(4)
    twin.assert_same_bits(part, find_neighbors(X, 4))
    assert np.shares_memory(part.indices, whole.indices)
    with pytest.raises(ValueError, match="choose a number from 1 to 9"):
        whole.truncate(10)


def test_from_arrays_drops_self_by_identity():
    indices = [[1, 0, 2], [0, 2, 1], [0, 1, 2]]
    distances = [[0.0, 0.0, 3.0], [0.0, 3.0, 0.0], [3.0, 3.0, 0.0]]
    neighbors = Neighbors.from_arrays(indices, distances)
    np.testing.assert_array_equal(neighbors.indices, [[1, 2], [0, 2], [0, 1]])
    np.testing.assert_array_equal(neighbors.sq_distances, [[0, 9], [0, 9], [9, 9]])


def test_from_arrays_of_other_points():
    neighbors = Neighbors.from_arrays([[0, 7]], [[2.0, 1.0]], n_targets=8)
    np.testing.assert_array_equal(neighbors.indices, [[7, 0]])
    assert neighbors.n_targets == 8


@pytest.mark.parametrize("sparse", [False, True])
def test_precomputed(twin, X, sparse):
    distances = np.sqrt(twin.sq_euclidean(X, X))
    given_distances = sp.csr_matrix(np.ones_like(distances)) if sparse else distances
    if sparse:
        given_distances.data[:] = distances.ravel()  # explicit zeros are kept
    found = find_neighbors(given_distances, 7, metric="precomputed")
    twin.assert_nearest(found, distances**2, 7)
    query = PrecomputedIndex().fit(given_distances).query(given_distances, 7)
    twin.assert_nearest(query, distances**2, 7, exclude_self=False)


def test_infinite_distances_are_no_neighbors():
    neighbors = Neighbors.from_distances([[0, 1, np.inf], [1, 0, 2], [np.inf, 2, 0]])
    np.testing.assert_array_equal(neighbors.indices, [[1, -1], [0, 2], [1, -1]])


def test_estimator_as_method(X):
    ours = find_neighbors(X, 6)
    theirs = find_neighbors(X, 6, neighbors=KNeighborsTransformer(n_neighbors=50))
    np.testing.assert_allclose(theirs.sq_distances, ours.sq_distances, atol=1e-15)


def test_estimator_without_parameters(twin, X):
    class Plain:
        def fit(self, X):
            self.X = X
            return self

        def transform(self, X):
            return KNeighborsTransformer(n_neighbors=9).fit(self.X).transform(X)

    found = find_neighbors(X, 6, neighbors=Plain())
    np.testing.assert_allclose(found.sq_distances, find_neighbors(X, 6).sq_distances, atol=1e-15)
