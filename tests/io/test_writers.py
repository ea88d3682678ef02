"""`write_table` and `write_graph`: all of it, to the bit, or nothing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.io import mmread

import closeknit as ck
from closeknit.exceptions import OutputError
from closeknit.io import read_table, write_graph, write_table

Y = np.random.default_rng(0).normal(size=(30, 2)) * [1e-300, 1e300]
IDS = np.array([f"row {i}" for i in range(30)], dtype=object)
LABELS = {"kind": np.array(list("abc") * 10, dtype=object), "n": np.arange(30)}
ENDINGS = [".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".npz"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(tmp_path, ending):
    path = tmp_path / f"Y{ending}"
    write_table(path, Y, columns=["left", "up"], ids=IDS, labels=LABELS)
    table = read_table(path, labels=["n"])
    np.testing.assert_array_equal(table.X, Y)
    assert table.feature_names == ("left", "up")
    np.testing.assert_array_equal(table.ids, IDS)
    for name, values in LABELS.items():
        np.testing.assert_array_equal(table.labels[name], values)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("ending", [*ENDINGS, ".npy"])
def test_float32_and_plain_matrices(tmp_path, ending):
    path = tmp_path / f"Y{ending}"
    single = np.random.default_rng(1).normal(size=(9, 1)).astype(np.float32)
    write_table(path, single)
    table = read_table(path)
    np.testing.assert_array_equal(table.X, single)
    assert table.feature_names == ("x0",)


@pytest.mark.parametrize("ending", [".csv.gz", ".npz", ".parquet"])
def test_same_data_same_bytes(tmp_path, ending):
    for name in ("one", "two"):
        write_table(tmp_path / f"{name}{ending}", Y, ids=IDS, labels=LABELS)
    one, two = sorted(path.read_bytes() for path in tmp_path.iterdir())
    assert one == two


def test_others_read_what_is_written(tmp_path):
    write_table(tmp_path / "Y.csv", Y, ids=IDS, labels=LABELS)
    frame = pl.read_csv(tmp_path / "Y.csv")
    assert frame.columns == ["id", "x0", "x1", "kind", "n"]
    np.testing.assert_array_equal(frame.select("x0", "x1").to_numpy(), Y)
    write_table(tmp_path / "Y.parquet", Y, ids=IDS, labels=LABELS)
    assert pl.read_parquet(tmp_path / "Y.parquet").equals(frame)


@pytest.mark.parametrize("ending", [".npz", ".mtx"])
def test_graphs(tmp_path, ending):
    W = ck.EntropicAffinities(5).fit_transform(np.random.default_rng(0).normal(size=(40, 3)))
    path = tmp_path / f"W{ending}"
    write_graph(path, W)
    back = sparse.load_npz(path) if ending == ".npz" else mmread(path).tocsr()
    assert (back != W).nnz == 0
    assert (read_table(path).X != W).nnz == 0
    write_graph(path, np.eye(3))
    assert read_table(path).X.nnz == 3


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        ({"columns": ["a"]}, "1 column names for 2 columns"),
        ({"ids": [1, 2]}, r"'id' has shape \(2,\), but there are 30 rows"),
        ({"labels": {"x0": LABELS["n"]}}, "two columns would be called 'x0'"),
        ({"labels": {"id": LABELS["n"]}, "ids": IDS}, "two columns would be called 'id'"),
    ],
)
def test_bad_arguments(tmp_path, options, saying):
    with pytest.raises(ValueError, match=saying):
        write_table(tmp_path / "Y.csv", Y, **options)
    for X in (Y[0], Y.astype(str)):
        with pytest.raises(ValueError, match="X must be a matrix of numbers"):
            write_table(tmp_path / "Y.csv", X)
    for name in ("X", "file", "ids"):
        with pytest.raises(ValueError, match=f"another use for the name '{name}'"):
            write_table(tmp_path / "Y.npz", Y, labels={name: LABELS["n"]})
    assert list(tmp_path.iterdir()) == []


def test_unknown_endings(tmp_path):
    with pytest.raises(OutputError, match=r"use one of \.csv, .*\.parquet"):
        write_table(tmp_path / "Y.xlsx", Y)
    with pytest.raises(OutputError, match=r"use one of \.npz, \.mtx"):
        write_graph(tmp_path / "W.csv", np.eye(2))


class Full(Exception):
    """Stands for anything that may happen while a file is written."""


@pytest.mark.parametrize("ending", [*ENDINGS, ".npy"])
@pytest.mark.parametrize("error", [Full(), KeyboardInterrupt(), OSError(28, "No space left")])
def test_nothing_is_half_written(tmp_path, monkeypatch, ending, error):
    """The disk fills, or the user loses patience, when the file is flushed to disk."""
    path = tmp_path / f"Y{ending}"
    path.write_text("old")

    def fail(*_):
        raise error

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OutputError if isinstance(error, OSError) else type(error)):
        write_table(path, Y)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(path.name, "old")]
