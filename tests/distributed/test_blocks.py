"""Blocks of data: what is wrong with one is said in a sentence that names it."""

import errno

import numpy as np
import pytest

da = pytest.importorskip("dask.array")

from dask import delayed  # noqa: E402

import closeknit.distributed as ckd  # noqa: E402
from closeknit.exceptions import CloseknitError, ClusterError, OutputError  # noqa: E402


def blocks_of(*parts, n_features=4):
    return da.concatenate(
        [da.from_delayed(delayed(part), (len(part), n_features), float) for part in parts]
    )


def many(bad, number=17):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(8, 4)) for _ in range(20)]
    parts[number] = bad(parts[number])
    return blocks_of(*parts)


def with_nan(block):
    block[3, 1] = np.nan
    return block


BAD = {
    "NaN": (with_nan, "block 17 contains NaN in row 3"),
    "infinity": (lambda block: block * np.inf, "block 17 contains infinity in row 0"),
    "width": (lambda block: block[:, :3], "block 17 has 3 features, but the data have 4"),
    "dimensions": (lambda block: block[0], "block 17 has 1 dimensions"),
    "masks": (lambda block: np.ma.masked_greater(block, 1.0), "block 17 has masked entries"),
    "complex": (lambda block: block + 1j, "block 17 holds complex numbers"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_block_is_named(inside, case):
    bad, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        ckd.find_neighbors(many(bad), 3)


def test_blocks_of_words_are_named(inside):
    X = many(lambda block: np.full((8, 4), "a", dtype=object))
    with pytest.raises(CloseknitError, match="block 17 does not hold numbers"):
        ckd.find_neighbors(X, 3)


def test_an_unreadable_block_is_named(inside):
    def fail(number):
        if number == 2:
            raise OSError("no such disk")
        return np.zeros((5, 3))

    X = da.concatenate([da.from_delayed(delayed(fail)(i), (5, 3), float) for i in range(4)])
    with pytest.raises(ClusterError, match="block 2: no such disk"):
        ckd.find_neighbors(X, 3)


def test_empty_blocks_are_skipped(inside):
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 4)) for n in (0, 30, 0, 25, 0)]
    found = ckd.find_neighbors(blocks_of(*parts), 3).gather()
    assert found.n_samples == 55
    one = ckd.find_neighbors(np.concatenate(parts), 3).gather()
    np.testing.assert_array_equal(found.indices, one.indices)


def test_no_rows_are_refused(inside):
    with pytest.raises(ValueError, match="no rows"):
        ckd.find_neighbors(blocks_of(np.empty((0, 4))), 3)


def test_unknown_chunk_sizes_are_refused(inside):
    X = da.from_array(np.zeros((20, 3)), chunks=(5, 3))
    with pytest.raises(ValueError, match=r"block 0 has an unknown number.*compute_chunk_sizes"):
        ckd.find_neighbors(X[X[:, 0] == 0.0], 3)


def test_sparse_data_are_refused(inside):
    from scipy.sparse import eye

    with pytest.raises(TypeError, match=r"X is sparse.*dense"):
        ckd.find_neighbors(eye(20, format="csr"), 3)


def test_a_full_disk_is_told(inside, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    X = da.from_array(np.random.default_rng(0).normal(size=(40, 3)), chunks=(10, 3))
    monkeypatch.setattr(np.lib.format, "write_array_header_1_0", full)
    with pytest.raises(
        CloseknitError, match=r"block \d: cannot write .*No space left.*free some space"
    ):
        ckd.find_neighbors(X, 3)


def test_a_folder_in_use_is_refused(inside, tmp_path):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(ValueError, match=r"not empty.*resume=True"):
        ckd.find_neighbors(np.eye(5), 2, folder=tmp_path)


def test_other_metrics_are_refused(inside):
    with pytest.raises(ValueError, match="metric='manhattan' is not distributed; use one of"):
        ckd.find_neighbors(np.eye(5), 2, metric="manhattan")


def test_without_a_cluster_there_is_a_clear_line(monkeypatch):
    import distributed

    def none(allow_global=True):
        raise ValueError

    monkeypatch.setattr(distributed.Client, "current", none)
    with pytest.raises(ClusterError, match=r"there is no Dask cluster; connect to one first"):
        ckd.find_neighbors(np.eye(5), 2)


def test_data_are_not_changed(inside):
    X = np.random.default_rng(0).normal(size=(50, 3))
    before = X.copy()
    ckd.find_neighbors(X, 3, metric="cosine")
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("inner", ["", "inside"])
def test_a_folder_that_cannot_be_made(inside, tmp_path, inner):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot make folder=.*choose another"):
        ckd.find_neighbors(np.eye(9), 3, folder=tmp_path / "file" / inner)
