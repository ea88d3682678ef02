"""Columns that look like something else than they were taken for are named, and no others."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from closeknit.io import Table, find_suspicious, from_frame, read_table

RNG = np.random.default_rng(0)
N = 60


def with_column(name, values):
    frame = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
    return from_frame(frame.assign(**{name: values}))


@pytest.mark.parametrize(
    ("name", "values", "saying"),
    [
        ("nr", np.arange(1, N + 1), "pass ids='nr' or labels=['nr']"),
        ("seconds", 1_700_000_000 + 60.0 * np.arange(N), "grows by the same number"),
        ("class", np.arange(N) % 3, "pass labels=['class']"),
        ("leiden_cluster", np.arange(N) % 3, "3 different whole numbers"),
        ("c2", np.where(np.arange(N) == 7, -999.0, RNG.normal(size=N)), "-999 in 1 of 60 rows"),
        ("income", 1e6 * RNG.normal(size=N), "distances are almost its differences alone"),
        ("share", [f"{i}.5%" for i in range(N)], "it holds '0.5%'"),
        ("price", [f"$ {i},000.50" for i in range(N)], "write plain numbers"),
        ("sum", [f"{i}.000,50 €" for i in range(N)], "write plain numbers"),
        ("note", [None] * N, "column 'note' is empty"),
        ("date", 20240101 + np.arange(N) % 28, "pass labels=['date']"),
        ("Time", RNG.random(N), "only says when a row was measured"),
        ("user", 2**53 + 1 + 7 * RNG.permutation(N), "pass ids='user'"),
        ("region", [f"r{i}" for i in range(N - 1)] + ["Total"], "'Total', is a point like"),
    ],
)
def test_what_looks_wrong_is_named(name, values, saying):
    (doubt,) = find_suspicious(with_column(name, values))
    assert repr(name) in doubt
    assert saying in doubt


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("weight", RNG.permutation(N)),
        ("type", RNG.normal(size=N)),
        ("class", RNG.permutation(N)),
        ("depth", np.linspace(-999.0, 0.0, N) ** 3),
        ("is_red", np.arange(N) % 2),
        ("cluster", [f"{i % 3}b" for i in range(N)]),
        ("zip", [f"{i:05}" for i in range(N)]),
        ("born", [f"2024-01-{i % 28 + 1:02}" for i in range(N)]),
        ("last", ["mean"] + ["a", "mean"] * (N // 2 - 1) + ["mean"]),
        ("timing", RNG.normal(size=N)),
        ("smoker", [bool(i % 3) for i in range(N)]),
        ("constant", np.full(N, 7.0)),
    ],
)
def test_what_may_be_right_is_not(name, values):
    assert find_suspicious(with_column(name, values), scaled=True) == []


@pytest.mark.parametrize("load", [load_iris, load_diabetes, load_breast_cancer, load_wine])
def test_well_known_data_are_not_doubted_once_scaled(load):
    data = load()
    table = Table(data.data, tuple(map(str, data.feature_names)))
    assert find_suspicious(table, scaled=True) == []


def test_columns_of_different_scales_are_doubted_until_they_are_scaled():
    wine = load_wine()
    table = Table(wine.data, tuple(wine.feature_names))
    (doubt,) = find_suspicious(table)
    assert doubt.startswith("column 'proline' has 99.7% of the variance of all 13 features")


def read(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return read_table(path)


@pytest.mark.parametrize("name", ["id", "cell_id", "PassengerId", "sampleID", "Barcode", "row id"])
def test_identifiers_are_told_by_their_name_wherever_they_stand(tmp_path, name):
    table = read(tmp_path, f"a,b,{name}\n1,2,7\n3,4,9\n")
    assert table.feature_names == ("a", "b")
    assert (table.id_name, table.ids.tolist()) == (name, [7, 9])


def test_identifiers_that_repeat_are_labels(tmp_path):
    table = read(tmp_path, "patient_id,sample_id,a\n1,7,0.5\n1,8,1.5\n")
    assert (table.id_name, list(table.labels), table.feature_names) == (
        "sample_id",
        ["patient_id"],
        ("a",),
    )


@pytest.mark.parametrize("name", ["glycemic_index", "humid", "paid", "covid"])
def test_other_names_are_features(tmp_path, name):
    assert read(tmp_path, f"a,{name}\n1,2\n3,4\n").feature_names == ("a", name)


def test_identifiers_are_features_if_asked_for(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("cell_id,a\n1,2\n2,4\n")
    assert read_table(path, features=["cell_id", "a"]).feature_names == ("cell_id", "a")


@pytest.mark.parametrize(
    "text", ["a,b,\n1,2,\n3,4,\n", "a,b,,\n1,2,,\n3,4,,\n", "a,b\n1,2,\n3,4,\n"]
)
def test_separators_at_the_ends_of_lines_make_no_columns(tmp_path, text):
    table = read(tmp_path, text)
    assert (table.feature_names, list(table.labels), table.ids) == (("a", "b"), [], None)


def test_an_empty_column_is_an_empty_label(tmp_path):
    table = read(tmp_path, "a,note\n1,\n3,\n")
    assert table.feature_names == ("a",)
    assert table.labels["note"].tolist() == ["", ""]


def test_data_without_a_name_get_one(tmp_path):
    assert read(tmp_path, "a,,b\n1,2,3\n4,5,7\n").feature_names == ("a", "unnamed: 1", "b")


def test_excel_says_which_separator_it_wrote(tmp_path):
    table = read(tmp_path, "\ufeffsep=;\r\na;b\r\n1,5;2\r\n3;4,5\r\n")
    assert table.X.tolist() == [[1.5, 2.0], [3.0, 4.5]]


def test_r_writes_no_name_above_the_names_of_rows(tmp_path):
    table = read(tmp_path, '"a" "b"\n"r1" 1.5 2\n"r2" 3 4.5\n', "data.txt")
    assert table.X.tolist() == [[1.5, 2.0], [3.0, 4.5]]
    assert table.ids.tolist() == ["r1", "r2"]


@pytest.mark.parametrize("word", ["NA", "-", "?", "#N/A", "..", "n.a.", "<NA>"])
def test_words_for_missing_numbers(tmp_path, word):
    path = tmp_path / "data.csv"
    path.write_text(f"a,b\n1,2\n3,{word}\n4,5\n")
    table = read_table(path, missing="drop")
    assert (table.n_dropped, table.X.tolist()) == (1, [[1.0, 2.0], [4.0, 5.0]])


def test_few_rows_of_many_features_may_be_columns(tmp_path):
    names = ",".join(f"s{i}" for i in range(40))
    row = ",".join(f"{x:.3f}" for x in RNG.normal(size=40))
    table = read(tmp_path, f"gene,{names}\n" + "".join(f"g{i},{row}\n" for i in range(3)))
    (doubt,) = find_suspicious(table)
    assert "3 rows and 40 features" in doubt
    assert "transpose" in doubt


def test_a_summary_among_the_names_of_rows(tmp_path):
    table = read(tmp_path, "sample_id,a,b\n1,2,3\n4,5,6\nMean:,3.5,4.5\n")
    (doubt,) = find_suspicious(table)
    assert "whose 'sample_id' is 'Mean:'" in doubt


@pytest.mark.filterwarnings("error")
def test_numbers_near_the_end_of_the_range_are_looked_at_without_warnings():
    X = np.random.default_rng(0).choice([1e308, -1e308, 1.0], size=(40, 5))
    find_suspicious(Table(X, tuple("abcde")))
