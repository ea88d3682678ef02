"""Neighbours across cells: as many true ones as were asked for, known by an exact scan."""

import numpy as np
import pytest

da = pytest.importorskip("dask.array")

import closeknit as ck  # noqa: E402
import closeknit.distributed as ckd  # noqa: E402


def true_sq_distances(X, k):
    gaps = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    return np.sort(gaps, axis=1)[:, :k]


@pytest.mark.parametrize("cell_size", [200, 10_000])
def test_full_recall_is_exact_search(inside, points, cell_size):
    X = da.from_array(points, chunks=(400, -1))
    found = ckd.find_neighbors(X, 12, target_recall=1.0, cell_size=cell_size)
    one = ck.neighbors.find_neighbors(points, 12, neighbors="exact")
    np.testing.assert_array_equal(found.gather().indices, one.indices)
    np.testing.assert_array_equal(found.gather().sq_distances, one.sq_distances)
    assert found.recall == 1.0


def test_the_recall_that_is_claimed_is_the_recall(inside, points):
    found = ckd.find_neighbors(points, 12, target_recall=0.9, cell_size=100)
    assert len(found.cells.centers) > 5
    farthest = true_sq_distances(points, 12)[:, -1:]
    real = (found.gather().sq_distances <= farthest * (1 + 1e-12)).mean()
    assert found.recall >= 0.9
    assert abs(real - found.recall) < 0.01


def test_rows_of_tiny_cells_have_all_their_neighbours(inside):
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(size=(300, 3)), 50.0 + rng.normal(size=(4, 3))])
    found = ckd.find_neighbors(X, 15, cell_size=64).gather()
    assert (found.indices >= 0).all()


def test_cosines_are_those_of_one_machine(inside, points):
    found = ckd.find_neighbors(points, 8, metric="cosine", target_recall=1.0, cell_size=300)
    one = ck.neighbors.find_neighbors(points, 8, metric="cosine", neighbors="exact")
    np.testing.assert_allclose(found.gather().sq_distances, one.sq_distances, rtol=1e-9, atol=1e-14)


def test_blocks_change_nothing_that_matters(inside, points):
    """Neither how the data are cut, nor whether they come as a Dask array."""
    one = ckd.find_neighbors(points, 9, target_recall=1.0).gather()
    for chunks in (111, 1500):
        X = da.from_array(points, chunks=(chunks, 3))
        other = ckd.find_neighbors(X, 9, target_recall=1.0).gather()
        np.testing.assert_array_equal(one.indices, other.indices)


@pytest.mark.parametrize("recall", [0.0, 1.5])
def test_recalls_that_make_no_sense_are_refused(inside, recall):
    with pytest.raises(ValueError, match="target_recall="):
        ckd.find_neighbors(np.eye(5), 2, target_recall=recall)
