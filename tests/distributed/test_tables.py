"""Tables in blocks: read from folders, with labels that come out beside the map."""

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
pl = pytest.importorskip("polars")

import closeknit as ck  # noqa: E402
import closeknit.distributed as ckd  # noqa: E402
from closeknit.exceptions import CloseknitError, DataError  # noqa: E402

QUIET = pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")
SHORT = {"perplexity": 5, "exaggeration": ((12, 5),), "max_iter": 5, "tol": 0.0, "random_state": 0}


def frame_of(X, first=0):
    numbers = np.arange(first, first + len(X))
    columns = {"id": [f"row {i}" for i in numbers], "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    return pl.DataFrame({**columns, "kind": [f"kind {i % 3}" for i in numbers], "cluster": numbers})


@pytest.fixture
def parquet(tmp_path, points):
    """A folder of three Parquet files, each of several row groups."""
    folder = tmp_path / "parquet"
    folder.mkdir()
    for part, rows in enumerate(np.array_split(np.arange(300), 3)):
        frame_of(points[rows], rows[0]).write_parquet(folder / f"{part}.parquet", row_group_size=40)
    return folder


def test_a_folder_of_parquet_is_one_table(parquet, points):
    table = ckd.read(parquet, labels=["cluster"])
    assert table.feature_names == ("a", "b", "c")
    np.testing.assert_array_equal(table.X.compute(), points[:300, :3])
    np.testing.assert_array_equal(table.labels["cluster"].compute(), np.arange(300))
    assert table.labels["kind"].compute()[7] == "kind 1"
    assert table.ids.compute()[299] == "row 299"
    assert table.id_name == "id"


def test_blocks_are_row_groups_that_fit(parquet, monkeypatch):
    from closeknit.distributed import blocks

    monkeypatch.setattr(blocks, "_ROWS", 90)
    assert ckd.read(parquet).X.chunks[0] == (80, 20, 80, 20, 80, 20)


def test_a_folder_of_arrays_is_one_table(tmp_path, points, monkeypatch):
    from closeknit.distributed import blocks

    monkeypatch.setattr(blocks, "_ROWS", 90)
    for part, rows in enumerate(np.array_split(points[:300].astype(np.float32), 2)):
        np.save(tmp_path / f"{part}.npy", rows)
    table = ckd.read(tmp_path)
    assert table.X.dtype == np.float32
    assert table.X.chunks[0] == (90, 60, 90, 60)
    np.testing.assert_array_equal(table.X.compute(), points[:300].astype(np.float32))


@QUIET
def test_labels_and_names_come_out_beside_the_map(inside, parquet, points, tmp_path):
    table = ckd.read(parquet, labels="cluster")
    model = ckd.TSNE(**SHORT).fit(table)
    ckd.write_map(tmp_path / "map.parquet", model.embedding_, table, ["x", "y"])
    written = pl.read_parquet(tmp_path / "map.parquet")
    assert written.columns == ["id", "x", "y", "kind", "cluster"]
    assert written["cluster"].to_list() == list(range(300))
    np.testing.assert_array_equal(written[["x", "y"]].to_numpy(), model.embedding_.compute())
    ckd.write_map(tmp_path / "map.csv", model.embedding_, table)
    assert ck.io.read_table(tmp_path / "map.csv").labels["kind"][4] == "kind 1"


def test_other_columns_in_a_later_file_are_told(inside, parquet):
    frame_of(np.ones((5, 3))).drop("b").write_parquet(parquet / "3.parquet")
    with pytest.raises(CloseknitError, match=r"3\.parquet: there is no column 'b'"):
        ckd.find_neighbors(ckd.read(parquet), 3)


def test_missing_numbers_in_a_later_file_are_told(inside, parquet):
    X = np.ones((5, 3))
    X[2, 1] = np.nan
    frame_of(X).write_parquet(parquet / "3.parquet")
    with pytest.raises(
        CloseknitError, match=r"3\.parquet: .* 1 of 5 rows, first in row 2, column 'b'"
    ):
        ckd.find_neighbors(ckd.read(parquet), 3)


def test_arrays_of_other_widths_are_told(tmp_path):
    np.save(tmp_path / "0.npy", np.eye(3))
    np.save(tmp_path / "1.npy", np.eye(4))
    with pytest.raises(DataError, match=r"1\.npy has shape \(4, 4\), but the first file has 3"):
        ckd.read(tmp_path)


def test_what_is_no_folder_of_blocks_is_refused(tmp_path):
    with pytest.raises(DataError, match="holds no files"):
        ckd.read(tmp_path)
    (tmp_path / "a.csv").write_text("1,2\n")
    np.save(tmp_path / "b.npy", np.eye(3))
    with pytest.raises(DataError, match=r"holds \.csv, \.npy; give a folder of \.parquet"):
        ckd.read(tmp_path)
    with pytest.raises(DataError, match="there is no such file"):
        ckd.read(tmp_path / "nothing")
    with pytest.raises(ValueError, match="which NPY files do not have"):
        ckd.read(tmp_path / "b.npy", labels=["a"])
