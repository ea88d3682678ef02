"""Neighbors in and out of other formats."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.manifold import Isomap
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer

from closeknit.affinities import EntropicAffinities
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


def test_an_estimator_searches(X):
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


# What is no list of neighbours


@pytest.mark.parametrize(
    ("indices", "error", "message"),
    [
        ([[1], [2]], ValueError, "row 1 names point 2, but there are only 2 points"),
        ([[1], [-2]], ValueError, "row 1 names point -2"),
        ([[1], [2**32]], ValueError, f"row 1 names point {2**32}"),
        ([[2**32 + 1], [0]], ValueError, f"row 0 names point {2**32 + 1}"),
        ([[1.0], [0.0]], TypeError, "indices must be integers"),
        ([[True], [False]], TypeError, "indices must be integers"),
        ([1, 0], ValueError, "matrices of one shape"),
    ],
)
def test_indices_that_are_none(indices, error, message):
    """Compiled code would read outside of the points, or take a wrapped or truncated index."""
    with pytest.raises(error, match=message):
        Neighbors(np.array(indices), np.ones(np.shape(indices)), 2)


@pytest.mark.parametrize("row", [[-1.0, 1.0], [np.nan, 1.0], [1.0, np.nan], [2.0, 1.0]])
def test_squared_distances_that_are_none(row):
    with pytest.raises(ValueError, match="row 1 has squared distances that are negative, NaN or"):
        Neighbors(np.array([[1, 2], [0, 2]]), np.array([[1.0, 2.0], row]), 3)


def test_missing_neighbors_may_be_given():
    found = Neighbors(np.array([[1, -1], [0, 2]]), np.array([[1.0, np.inf], [1.0, 2.0]]), 3)
    np.testing.assert_array_equal(found.counts, [1, 2])


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix])
@pytest.mark.parametrize("index", [3, -1, 10**6])
def test_graphs_with_indices_out_of_range(kind, index):
    graph = kind(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]))
    (graph.col if kind is sp.coo_matrix else graph.indices)[0] = index
    for give in (
        lambda: Neighbors.from_graph(graph),
        lambda: find_neighbors(graph, 1, metric="precomputed"),
        lambda: PrecomputedIndex().fit(np.ones((3, 3))).query(graph, 1),
    ):
        with pytest.raises(ValueError, match=rf"damaged: (row|column) indices go .* {index}"):
            give()


@pytest.mark.parametrize("indptr", [[0, 2, 1, 6], [0, 2, 4, 9], [1, 2, 4, 6], [0, 2, 6]])
def test_graphs_with_damaged_pointers(indptr):
    graph = sp.csr_matrix(np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]))
    graph.indptr = np.array(indptr, dtype=np.int32)
    with pytest.raises(ValueError, match="damaged"):
        Neighbors.from_graph(graph)


def test_distances_that_are_stored_twice():
    graph = sp.csr_matrix(
        ([1.0, 2.0, 3.0, 4.0], [1, 0, 2, 0], [0, 1, 4, 4]), shape=(3, 3), dtype=float
    )
    for give in (
        lambda: Neighbors.from_graph(graph),
        lambda: find_neighbors(graph, 1, metric="precomputed"),
    ):
        with pytest.raises(ValueError, match="row 1 stores the distance to point 0 more than once"):
            give()


@pytest.mark.parametrize("make", [sp.coo_matrix, sp.coo_array])
def test_coordinates_that_are_stored_twice(make):
    """SciPy adds them up on the way to CSR: twice the distance, without a word."""
    graph = make(([1.0, 2.0, 3.0, 4.0], ([1, 1, 0, 2], [0, 0, 1, 1])), shape=(3, 3))
    for give in (
        lambda: Neighbors.from_graph(graph),
        lambda: find_neighbors(graph, 1, metric="precomputed"),
        lambda: EntropicAffinities(1.5, metric="precomputed").fit(graph),
    ):
        with pytest.raises(ValueError, match="row 1 stores the distance to point 0 more than once"):
            give()
    once = make(([1.0, 3.0, 4.0, 0.0], ([1, 0, 2, 0], [0, 1, 1, 2])), shape=(3, 3))
    assert Neighbors.from_graph(once).sq_distances.tolist()[0] == [0.0, 9.0]


@pytest.mark.filterwarnings("error")
def test_infinitely_far_is_no_neighbour():
    """However the distances are given: in a graph, in full, or in rows."""
    far = np.inf
    D = np.array([[0.0, 1.0, far, far], [1.0, 0.0, 2.0, 3.0], [far, 2.0, 0.0, 1.0], [far, 3, 1, 0]])
    expected = [[1, -1, -1], [0, 2, 3], [3, 1, -1], [2, 1, -1]]
    graph = sp.csr_matrix(D)
    assert Neighbors.from_distances(D).indices.tolist() == expected
    assert Neighbors.from_graph(graph).indices.tolist() == expected
    rows, columns = np.where(np.eye(4) == 0.0)
    given = columns.reshape(4, 3), D[rows, columns].reshape(4, 3)
    assert Neighbors.from_arrays(*given).indices.tolist() == expected


def test_zeros_that_fill_up_blocks_are_no_distances(X):
    """A BSR matrix stores whole blocks."""
    graph = find_neighbors(X, 8).to_graph().tobsr((2, 2))
    with pytest.raises(ValueError, match=r"zeros beside them.*tocsr\(\) and eliminate_zeros\(\)"):
        Neighbors.from_graph(graph)
    full = sp.bsr_matrix(np.ones((3, 3)))
    assert Neighbors.from_graph(full).indices.tolist() == [[1, 2], [0, 2], [0, 1]]


@pytest.mark.parametrize("n_neighbors", ["auto", None])
def test_similarities_are_not_taken_for_distances(X, n_neighbors):
    """The farthest points would be the nearest. A diagonal that is not zero is no matter else."""
    D = pairwise_distances(X)
    estimator = EntropicAffinities(8.0, n_neighbors=n_neighbors, metric="precomputed")
    for similarities in (np.exp(-D), np.abs(np.corrcoef(X)), 9.0 - np.minimum(D, 8.0)):
        for give in (estimator.fit, Neighbors.from_distances):
            with pytest.raises(ValueError, match="as in a matrix of similarities; pass distances"):
                give(similarities)
    noisy = estimator.fit(D + 1e-3).sigmas_
    np.testing.assert_allclose(noisy, estimator.fit(D + 1e-3 * (1 - np.eye(len(D)))).sigmas_)


def test_masked_arrays_are_refused(X):
    mask = np.zeros(X.shape, dtype=bool)
    mask[3, 1] = True
    distances = np.ma.masked_array(np.ones((3, 3)), mask=np.eye(3))
    indices = np.ma.masked_array([[1], [0]], mask=[[0], [1]])
    for give in (
        lambda: find_neighbors(np.ma.masked_array(X, mask), 3),
        lambda: find_neighbors(distances, 1, metric="precomputed"),
        lambda: Neighbors.from_distances(distances),
        lambda: Neighbors.from_arrays(indices, np.ones((2, 1))),
        lambda: Neighbors.from_arrays([[1], [0]], np.ma.masked_array([[1.0], [2.0]], [[0], [1]])),
    ):
        with pytest.raises(ValueError, match="masked entries"):
            give()
    assert find_neighbors(np.ma.masked_array(X), 3).n_neighbors == 3
