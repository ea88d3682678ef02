"""Frames of pandas, Polars and Arrow work alike and come back alike."""

from __future__ import annotations

import datetime
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_iris

import closeknit as ck
from closeknit.exceptions import DataError, MissingDependencyError
from closeknit.io import from_frame, to_frame_like

X = load_iris().data[::3] + 1e-3 * np.random.default_rng(0).normal(size=(50, 4))
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
MODELS = [
    ck.TSNE(perplexity=5, max_iter=5),
    ck.SymmetricSNE(perplexity=5, max_iter=5),
    ck.SNE(perplexity=5, max_iter=5),
    ck.ElasticEmbedding(perplexity=5, max_iter=5),
    ck.TElasticEmbedding(perplexity=5, max_iter=5),
    ck.LaplacianEigenmaps(perplexity=5),
]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def columns(Z, names="abcd"):
    return {name: Z[:, i].copy() for i, name in enumerate(names)}


@each_kind
def test_numbers_and_labels(make):
    frame = make(
        {
            "a": [1, 2, 3],
            "word": ["x", None, "z"],
            "b": [0.5, 1.5, 2.5],
            "yes": [True, False, True],
            "day": [datetime.date(2024, 1, i) for i in (1, 2, 3)],
        }
    )
    table = from_frame(frame)
    assert table.kind == "frame"
    assert table.feature_names == ("a", "b")
    np.testing.assert_array_equal(table.X, [[1, 0.5], [2, 1.5], [3, 2.5]])
    assert table.X.dtype == np.float64
    assert table.labels["word"].tolist() == ["x", "", "z"]
    assert table.labels["yes"].tolist() == [True, False, True]
    assert table.labels["day"].tolist() == ["2024-01-01", "2024-01-02", "2024-01-03"]
    chosen = from_frame(frame, features=["b"], labels=["a"], ids="word")
    assert (chosen.feature_names, chosen.ids.tolist()) == (("b",), ["x", "", "z"])
    assert chosen.labels["a"].tolist() == [1, 2, 3]


@each_kind
def test_single_precision_stays(make):
    assert from_frame(make(columns(X.astype(np.float32)))).X.dtype == np.float32


@each_kind
@pytest.mark.parametrize("values", [[1, None, 3], [1.0, None, 3.0]])
def test_missing_values(make, values):
    frame = make({"a": values, "b": [1.0, 2.0, 3.0]})
    with pytest.raises(DataError, match=r"1 of 3 rows, first in row 1, column 'a'; fill them in"):
        from_frame(frame)
    np.testing.assert_array_equal(from_frame(frame, missing="drop").X, [[1, 1], [3, 3]])
    assert np.isnan(from_frame(frame, labels=["a"]).labels["a"][1])


def test_pandas_extension_types():
    frame = pd.DataFrame(
        {
            "a": pd.array([1, 2, None], dtype="Int64"),
            "c": pd.Categorical(["x", "y", None]),
            "s": pd.array(["u", None, "v"], dtype="string"),
        }
    )
    table = from_frame(frame, missing="drop")
    np.testing.assert_array_equal(table.X, [[1], [2]])
    assert table.labels["c"].tolist() == ["x", "y"]
    assert table.labels["s"].tolist() == ["u", ""]


def test_a_pandas_index_is_what_rows_are_called():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["first", "second"])
    assert from_frame(frame).ids.tolist() == ["first", "second"]
    assert from_frame(frame.set_axis(["same", "same"])).ids.tolist() == ["same", "same"]
    assert from_frame(frame.reset_index(drop=True)).ids is None
    assert from_frame(frame.assign(name=["u", "v"]), ids="name").ids.tolist() == ["u", "v"]


@each_kind
def test_frames_that_do_not_work(make):
    with pytest.raises(DataError, match="no rows"):
        from_frame(make({"a": []}))
    with pytest.raises(DataError, match="no numeric column"):
        from_frame(make({"a": ["x"]}))


def test_things_that_are_no_frames():
    with pytest.raises(TypeError, match="got LazyFrame: call collect"):
        from_frame(pl.LazyFrame({"a": [1]}))
    with pytest.raises(TypeError, match="got ndarray"):
        from_frame(np.eye(2))
    with pytest.raises(DataError, match="column 'l' holds List"):
        from_frame(pl.DataFrame({"a": [1], "l": [[1, 2]]}))


@each_kind
def test_frames_come_back_alike(make):
    frame = make(columns(X))
    back = to_frame_like(frame, X[:, :2], ["left", "up"])
    assert type(back) is type(frame)
    table = from_frame(back)
    assert table.feature_names == ("left", "up")
    np.testing.assert_array_equal(table.X, X[:, :2])
    assert from_frame(to_frame_like(frame, X[:, :1])).feature_names == ("x0",)
    with pytest.raises(ValueError, match=r"shape \(7, 4\), but the frame has 50 rows"):
        to_frame_like(frame, X[:7])
    with pytest.raises(ValueError, match="1 column names for 4 components"):
        to_frame_like(frame, X, ["a"])


def test_a_pandas_index_comes_back():
    frame = pd.DataFrame(columns(X), index=[f"r{i}" for i in range(50)])
    assert to_frame_like(frame, X).index.equals(frame.index)


def test_narwhals_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "closeknit\[frames\]"'):
        from_frame(pd.DataFrame({"a": [1]}))


# ---- estimators ----------------------------------------------------------------------------------


@each_model
@each_kind
def test_estimators_take_frames_for_arrays(model, make):
    """The same bits as for the array, and the names of the columns."""
    from sklearn.base import clone

    fitted = clone(model).fit(make(columns(X)))
    expected = clone(model).fit(X)
    np.testing.assert_array_equal(fitted.embedding_, expected.embedding_)
    assert list(fitted.feature_names_in_) == list("abcd")
    new = X[:5] + 0.05
    np.testing.assert_array_equal(fitted.transform(make(columns(new))), expected.transform(new))
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(make(columns(new, "dcba")))


@pytest.mark.parametrize("n_neighbors", ["auto", None])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_affinities_do_not_depend_on_the_order_of_memory(n_neighbors, metric):
    """A frame is stored column by column, an array row by row."""
    options = {"n_neighbors": n_neighbors, "metric": metric}
    rows = ck.EntropicAffinities(10, **options).fit(X)
    cols = ck.EntropicAffinities(10, **options).fit(np.asfortranarray(X))
    np.testing.assert_array_equal(rows.sigmas_, cols.sigmas_)
    new = X[:5] + 0.05
    assert (rows.transform(new) != cols.transform(np.asfortranarray(new))).sum() == 0


@each_model
@pytest.mark.parametrize(("name", "kind"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
def test_estimators_give_frames_if_asked(model, name, kind):
    from sklearn.base import clone

    asked = clone(model).set_output(transform=name)
    got = asked.fit_transform(pl.DataFrame(columns(X)))
    assert isinstance(got, kind)
    prefix = type(model).__name__.lower()
    assert list(got.columns) == [f"{prefix}0", f"{prefix}1"]
    np.testing.assert_array_equal(got.to_numpy(), clone(model).fit_transform(X))
    assert isinstance(asked.transform(pl.DataFrame(columns(X[:3]))), kind)
