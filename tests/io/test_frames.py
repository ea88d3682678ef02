"""Frames of pandas, Polars and Arrow work alike and come back alike."""

from __future__ import annotations

import datetime
import decimal
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


def test_columns_may_have_any_names():
    """Those of a frame made of an array are numbers, and pandas has columns of several levels."""
    assert from_frame(pd.DataFrame(X)).feature_names == ("0", "1", "2", "3")
    levels = pd.MultiIndex.from_product([["a", "b"], ["x", "y"]])
    assert from_frame(pd.DataFrame(X, columns=levels)).feature_names[0] == "('a', 'x')"


@pytest.mark.parametrize("make", [pd.DataFrame, pa.Table.from_arrays], ids=["pandas", "arrow"])
def test_a_name_that_two_columns_have_is_refused(make):
    data, key = (
        (X[:, :2], "columns") if make is pd.DataFrame else ([*map(pa.array, X.T[:2])], "names")
    )
    with pytest.raises(DataError, match="two columns are called 'a'; rename"):
        from_frame(make(data, **{key: ["a", "a"]}))


def test_numbers_are_features_whatever_holds_them():
    """As objects, as decimals, or without their zeros: a label would be left out."""
    values = [1.5, 0.0, None, 2.0]
    objects = pd.Series(values, dtype=object)
    kinds = {
        "objects": objects,
        "decimals": objects.map(lambda v: None if v is None else decimal.Decimal(v)),
        "sparse": pd.Series([1.5, 0.0, np.nan, 2.0], dtype="Sparse[float]"),
    }
    for name, column in kinds.items():
        table = from_frame(pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], name: column}), missing="drop")
        assert table.feature_names == ("a", name)
        np.testing.assert_array_equal(table.X[:, 1], [1.5, 0.0, 2.0])


@pytest.mark.skipif(not hasattr(pl, "Int128"), reason="the first versions of Polars have 64 bits")
def test_numbers_of_128_bits_are_features():
    wide = pl.DataFrame({"a": pl.Series([1, 2**70], dtype=pl.Int128)})
    assert from_frame(wide).X.tolist() == [[1.0], [2.0**70]]


def test_objects_that_are_no_numbers_are_labels_or_refused():
    """Text is a label; among numbers it is a mistake, and so are vectors: nothing is left out."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    cells = pd.Series([1, "two", 3], dtype=object)
    with pytest.raises(DataError, match=r"row 1, column 'b': 'two' of type str .*labels=\['b'\]"):
        from_frame(frame.assign(b=cells))
    kept = from_frame(frame.assign(b=cells), labels=["b"])
    assert kept.labels["b"].tolist() == ["1", "two", "3"]
    texts = from_frame(frame.assign(b=pd.Series(["x", "y", 3], dtype=object)))
    assert texts.labels["b"].tolist() == ["x", "y", "3"]
    with pytest.raises(DataError, match="column 'b' holds values of type ndarray"):
        from_frame(frame.assign(b=[*X[:3]]))
    with pytest.raises(DataError, match="column 'b' holds values of type complex"):
        from_frame(frame.assign(b=[1j, 2j, 3j]))


def test_identifiers_stay_identifiers_if_rows_have_names_already():
    """A frame of some of the rows has an index that is no count: the same columns are features."""
    frame = pd.DataFrame({"id": [7, 5, 9, 1], "cell_id": list("abcd"), "a": [1.0, 2.0, 3.0, 4.0]})
    assert from_frame(frame).feature_names == ("a",)
    some = from_frame(frame[frame.a != 2.0])
    assert some.feature_names == ("a",)
    assert some.ids.tolist() == [0, 2, 3]
    assert some.labels["id"].tolist() == [7, 9, 1]
    assert from_frame(frame, ids="cell_id").feature_names == ("a",)


def test_an_index_of_several_levels_names_the_rows():
    index = pd.MultiIndex.from_tuples([("x", 1), ("y", 2)])
    assert from_frame(pd.DataFrame({"a": [1.0, 2.0]}, index=index)).ids.tolist() == ["x, 1", "y, 2"]


def test_what_pandas_stored_as_index_or_categories_is_no_feature(tmp_path):
    """Parquet and Feather hold an index as one more column of numbers, and codes of classes, too:
    the same columns are features as of the frame.
    """
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "k": pd.Categorical([3, 1, 3, 1])})
    frames = {"": frame[frame.a != 2.0], "patient": frame.set_index(pd.Index([7, 5, 7, 6]))}
    for name, given in frames.items():
        given.rename_axis(index=name or None).to_parquet(tmp_path / "data.parquet")
        table = ck.io.read_table(tmp_path / "data.parquet")
        assert table.feature_names == ("a",) == from_frame(given).feature_names
        assert table.ids.tolist() == given.index.tolist()
        assert [*map(str, table.labels["k"])] == [*map(str, given.k)]
    levels = frame.set_index([pd.Index([1, 1, 2, 2], name="u"), pd.Index([1, 2, 1, 2], name="v")])
    table = from_frame(pa.Table.from_pandas(levels))
    assert (table.feature_names, [*table.labels], table.ids) == (("a",), ["k", "u", "v"], None)
    wanted = from_frame(pa.Table.from_pandas(levels), features=["a", "u"])
    assert wanted.feature_names == ("a", "u")
