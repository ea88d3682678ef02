"""Symmetric affinities from pairs that were found once."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit.graphs import MutualNeighbors, symmetrize
from closeknit.neighbors import Neighbors, find_neighbors


def rows_of(neighbors, P):
    n, k = P.shape
    pointers = np.arange(0, n * k + 1, k)
    return csr_matrix((P.ravel(), neighbors.indices[:, :k].ravel(), pointers), shape=(n, n))


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_neighbors_gives_the_bits_of_symmetrize(copies, n_jobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[50:90] = X[0] if copies else X[50:90]
    neighbors = find_neighbors(X, 40)
    mutual = MutualNeighbors.of(neighbors, n_jobs)
    for k in (1, 2, 7, 39, 40):
        P = rng.random((300, k))
        found, expected = mutual.symmetrize(P, n_jobs), symmetrize(rows_of(neighbors, P))
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_pairs_hold_both_ranks():
    neighbors = find_neighbors([[0.0], [1.0], [3.0], [7.0]], n_neighbors=2)
    mutual = MutualNeighbors.of(neighbors)
    rows = np.repeat(mutual.order, np.diff(mutual.indptr))
    for row, column, ranks in zip(rows, mutual.indices, mutual.ranks.tolist(), strict=True):
        for one, other, rank in ((row, column, ranks & 65535), (column, row, ranks >> 16)):
            among = neighbors.indices[one].tolist()
            assert rank == (among.index(other) if other in among else 65535)


def test_missing_neighbors_make_no_pairs():
    neighbors = Neighbors(np.array([[1, -1], [0, 2], [1, 0]]), np.array([[1, np.inf]] * 3), 3)
    P = np.array([[1.0, 0.0], [0.5, 0.5], [0.75, 0.25]])
    found = MutualNeighbors.of(neighbors).symmetrize(P)
    rows = csr_matrix(([1.0, 0.5, 0.5, 0.75, 0.25], [1, 0, 2, 1, 0], [0, 1, 3, 5]))
    np.testing.assert_array_equal(found.toarray(), symmetrize(rows).toarray())


def test_the_order_is_a_walk_from_neighbor_to_neighbor():
    """On a line of points it follows the line, whatever their numbers; then come those left out."""
    rng = np.random.default_rng(0)
    x = rng.permutation(100)
    order = MutualNeighbors.of(find_neighbors(x[:, None].astype(float), 2)).order
    assert sorted(order) == list(range(100))
    steps = np.abs(np.diff(x[order]))
    assert np.count_nonzero(steps > 2) <= 2, "one way, back, and the other way"


@pytest.mark.parametrize("wrong", ["indptr", "indices", "ranks", "order", "affinities", "rows"])
def test_the_core_refuses_what_is_no_pattern(wrong):
    pattern = {
        "indptr": np.array([0, 1, 2], np.int32),
        "indices": np.array([0, 1], np.int32),  # of point 1, and of point 0
        "ranks": np.zeros(2, np.uint32),
        "order": np.array([1, 0]),
    }
    given = {"affinities": np.ones((2, 1)), "rows": np.array([0, 1, 2], np.int32)}
    out = np.empty(2, np.int32), np.empty(2)
    _core.MutualPairs(*pattern.values()).mean(*given.values(), *out, 1)
    np.testing.assert_array_equal(out[0], [1, 0])
    np.testing.assert_array_equal(out[1], [1.0, 1.0])
    bad = {
        "indptr": np.array([0, 3, 2], np.int32),
        "indices": np.array([1, 2], np.int32),
        "ranks": np.zeros(3, np.uint32),
        "order": np.array([1, 1]),
        "affinities": np.ones((3, 1)),
        "rows": np.array([0, 0, 2], np.int32),
    }
    for known in (pattern, given):
        known.update({name: bad[name] for name in known if name == wrong})
    with pytest.raises(ValueError, match=r"not th|one row per point|each point once"):
        _core.MutualPairs(*pattern.values()).mean(*given.values(), *out, 1)


@pytest.mark.parametrize(
    ("affinities", "message"),
    [
        (np.ones((30, 9)), "30 points and at most 8 neighbours"),  # of which one is not known
        (np.ones((29, 8)), "30 points and at most 8 neighbours"),
        (np.ones(30), "30 points and at most 8 neighbours"),
        (np.full((30, 8), np.nan), "NaN or infinite"),
        (np.ones((30, 8), complex), "Complex data not supported"),
        ("affinities", "must hold numbers"),
    ],
)
def test_other_affinities_are_refused(affinities, message):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=message):
        MutualNeighbors.of(find_neighbors(X, 8)).symmetrize(affinities)
