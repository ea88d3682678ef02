"""Errors say what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

from closeknit.neighbors import (
    ExactIndex,
    Neighbors,
    PrecomputedIndex,
    check_data,
    find_neighbors,
    make_index,
    search,
)


@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_too_few_points(method):
    with pytest.raises(ValueError, match="n_neighbors=50 needs at least 51 points, got 20"):
        find_neighbors(np.random.default_rng(0).normal(size=(20, 3)), 50, neighbors=method)


@pytest.mark.parametrize(("k", "error"), [(0, ValueError), (2.5, TypeError), (True, TypeError)])
def test_strange_number_of_neighbors(k, error):
    with pytest.raises(error, match="n_neighbors"):
        find_neighbors([[0.0], [1.0]], k)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_not_finite(value):
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        find_neighbors([[0.0], [value]], 1)


def test_unknown_metric():
    with pytest.raises(ValueError, match=r"metric='euclidian' is unknown.*euclidean"):
        find_neighbors([[0.0], [1.0]], 1, metric="euclidian")


def test_unknown_search():
    with pytest.raises(ValueError, match=r"neighbors='fast' is unknown.*'approximate'"):
        find_neighbors([[0.0], [1.0]], 1, neighbors="fast")


def test_search_of_the_wrong_kind():
    with pytest.raises(TypeError, match="estimator with fit and transform"):
        make_index(neighbors=3)


def test_approximate_without_geometry():
    with pytest.raises(ValueError, match=r"manhattan.*no approximate search"):
        find_neighbors([[0.0], [1.0]], 1, metric="manhattan", neighbors="approximate")


def test_overflow():
    X = np.ones((5, 2))
    X[3] = 1e200
    with pytest.raises(ValueError, match=r"row 3 .*overflow; divide"):
        find_neighbors(X, 1)


@pytest.mark.parametrize("metric", ["euclidean", "inner_product", "manhattan"])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_underflow(metric, container):
    """Alike at both ends: values whose squares are no longer numbers are refused."""
    X = np.random.default_rng(0).normal(size=(30, 9)) * 1e-165
    with pytest.raises(ValueError, match="underflow; multiply the data by a constant"):
        find_neighbors(container(X), 3, metric=metric)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_cosines_have_no_scale(scale):
    X = np.random.default_rng(0).normal(size=(30, 9))
    expected = find_neighbors(X, 3, metric="cosine").indices
    np.testing.assert_array_equal(find_neighbors(X * scale, 3, metric="cosine").indices, expected)


def test_zero_rows_have_no_cosine():
    for container in (np.asarray, sp.csr_matrix):
        with pytest.raises(ValueError, match="undefined for row 1"):
            find_neighbors(container([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), 1, metric="cosine")


def test_query_of_another_width():
    with pytest.raises(ValueError, match="3 features, but the fitted data have 2"):
        ExactIndex().fit([[0.0, 1.0], [1.0, 0.0]]).query([[1.0, 2.0, 3.0]], 1)


def test_query_of_another_kind():
    with pytest.raises(TypeError, match="fitted data are dense, but X is sparse"):
        ExactIndex().fit([[0.0, 1.0], [1.0, 0.0]]).query(sp.csr_matrix([[1.0, 2.0]]), 1)


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_bad_distances_name_their_row(bad):
    distances = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, bad, 0.0]])
    for give in (
        lambda: Neighbors.from_distances(distances),
        lambda: Neighbors.from_graph(sp.csr_matrix(distances)),
        lambda: Neighbors.from_arrays([[1, 2], [0, 2], [0, 1]], [[1, 2], [1, 1], [2, bad]]),
    ):
        with pytest.raises(ValueError, match=r"row 2 has the distance"):
            give()


def test_indices_out_of_range():
    with pytest.raises(ValueError, match="row 1 names point 2, but there are only 2 points"):
        Neighbors.from_arrays([[1], [2]], [[1.0], [1.0]])


def test_indices_named_twice():
    with pytest.raises(ValueError, match="row 0 names point 1 more than once"):
        Neighbors.from_arrays([[1, 1], [0, 2], [0, 1]], np.ones((3, 2)))


def test_precomputed_must_be_square():
    with pytest.raises(ValueError, match=r"square matrix of distances, got shape \(2, 3\)"):
        find_neighbors(np.ones((2, 3)), 1, metric="precomputed")
    with pytest.raises(ValueError, match="expected distances to the 2 fitted points"):
        PrecomputedIndex().fit(np.ones((2, 2))).query(np.ones((1, 3)), 1)


def test_dense_is_no_graph():
    with pytest.raises(TypeError, match="from_distances"):
        Neighbors.from_graph(np.ones((2, 2)))


def test_empty_graph():
    with pytest.raises(ValueError, match="stores no neighbours"):
        Neighbors.from_graph(sp.csr_matrix((3, 3)))


def test_verbose_shows_what_is_done(capsys):
    find_neighbors(np.random.default_rng(0).normal(size=(50, 20)), 3, verbose=True)
    err = capsys.readouterr().err
    assert "neighbors='auto' means 'exact'" in err
    assert "coordinates" in err


@pytest.mark.parametrize(
    ("shape", "method"),
    [
        ((20_000, 50), "exact"),
        ((20_001, 13), "approximate"),
        ((100_000, 12), "exact"),
        ((100_001, 5), "approximate"),
        ((1_000_000, 4), "exact"),
    ],
)
def test_which_search_is_chosen(monkeypatch, shape, method):
    chosen = []

    class Index:
        def fit(self, X):
            return self

    monkeypatch.setattr(search, "make_index", lambda *how, **_: chosen.append(how) or Index())
    search.fit_index(np.broadcast_to(0.0, shape))
    assert chosen == [("euclidean", method)]


def test_columns_of_frames_are_named_where_they_cannot_be_used():
    """scikit-learn says that there is text or NaN, but not where."""
    frame = pd.DataFrame({"width": [1.0, 2.0, np.nan], "kind": ["a", "b", "c"]})
    with pytest.raises(ValueError, match=r"column 'kind' holds text such as 'a': leave it out"):
        check_data(frame)
    with pytest.raises(ValueError, match=r"NaN, first in row 2, column 'width'; fill"):
        check_data(frame[["width"]])
    with pytest.raises(ValueError, match=r"all data must be numbers"):
        check_data([["a", "b"]])


def test_dates_and_times_are_refused():
    """NumPy counts them in units of their own: nanoseconds, days, whatever the frame holds."""
    days = pd.date_range("2024-01-01", periods=3)
    frames = [
        pd.DataFrame({"a": [1.0, 2.0, 3.0], "when": days}),
        pd.DataFrame({"when": days}),
        pd.DataFrame({"when": days.tz_localize("UTC")}),
        pd.DataFrame({"when": days - days[0]}),
        pl.DataFrame({"when": days.to_numpy()}),
    ]
    for frame in frames:
        with pytest.raises(ValueError, match=r"column 'when' holds dates or times .*leave it out"):
            check_data(frame)
    with pytest.raises(ValueError, match=r"X holds dates or times .*make numbers of them"):
        check_data(days.to_numpy()[:, None])


def test_missing_values_of_pandas_are_named():
    """Its NA is no number to NumPy, which failed while the message was made."""
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": pd.array([1, None], dtype="Int64")})
    with pytest.raises(ValueError, match="X contains NaN, first in row 1, column 'b'"):
        check_data(frame)
    table = pa.table({"a": [1.0, 2.0], "b": [1.0, None]})
    with pytest.raises(ValueError, match="X contains NaN, first in row 1, column 'b'"):
        check_data(table)
    with pytest.raises(ValueError, match="X lacks values; fill them in"):
        check_data(np.array([[pd.NA, 1.0]], dtype=object))


def test_vectors_in_a_column_make_a_matrix():
    frame = pd.DataFrame({"embedding": [np.ones(3), np.zeros(3)]})
    with pytest.raises(ValueError, match=r"pass the matrix np.vstack\(X\['embedding'\]\)"):
        check_data(frame)
    with pytest.raises(ValueError, match=r"one number per column: .*np.vstack"):
        check_data([[1.0, 2.0], [3.0]])
