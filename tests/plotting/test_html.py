"""Maps as pages: what they hold, and what labels cannot do to them."""

import base64
import json
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris

import closeknit as ck
from closeknit.plotting import embedding_html

Y = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


def content(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


def positions(data):
    return np.frombuffer(base64.b64decode(data["positions"]), np.float32).reshape(-1, 2)


@pytest.mark.parametrize("scale", [1e-280, 1e-12, 1.0, 1e39, 1e140])
@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_positions_come_back_between_minus_one_and_one(scale, offset):
    """Single precision has no room for 1e39, and none for small differences of large numbers."""
    data = content(embedding_html((Y + offset) * scale, n_over=1))
    np.testing.assert_allclose(positions(data), 0.5 * Y - [1.0, 1.5], atol=1e-6)
    assert data["over"] == 2
    assert data["color"] == -1


def test_points_in_one_place():
    assert not positions(content(embedding_html(np.full((3, 2), 7.0)))).any()


def test_whole_and_large_numbers_come_back_exactly():
    """Six digits of an identifier name another row."""
    n = 300
    columns = {"id": 123456789 + np.arange(n), "large": np.linspace(0.5, 1e300, n)}
    for one, values in zip(
        content(embedding_html(np.eye(n)[:, :2], columns))["columns"], columns.values(), strict=True
    ):
        found = np.frombuffer(base64.b64decode(one["numbers"]), np.float64)
        np.testing.assert_array_equal(found, values)
        assert (one["wide"], one["whole"]) == (True, one["name"] == "id")


def test_masked_entries_are_missing():
    columns = {
        "whole": np.ma.masked_equal([1, 2, 3], 2),
        "fractions": np.ma.masked_equal([0.5, 2.5, 3.5], 2.5),
        "text": np.ma.masked_equal(["a", "b", "c"], "b"),
    }
    whole, fractions, text = content(embedding_html(Y, columns))["columns"]
    assert whole["names"] == ["1", "3"]
    numbers = np.frombuffer(base64.b64decode(fractions["numbers"]), np.float32)
    assert np.isnan(numbers).tolist() == [False, True, False]
    assert text["names"] == ["a", "c"]


def test_half_a_character_can_be_written():
    assert embedding_html(Y, {"\ud800": ["\udfff", "b", "c"]}, title="\ud800").encode()


def test_kinds_of_columns():
    columns = {"kind": ["b", "a", None], "depth": [0.5, np.nan, 2.5], "n": [1.0, 2.0, -1.0]}
    data = content(embedding_html(Y, columns, color="depth"))
    kind, depth, n = data["columns"]
    assert kind["names"] == ["a", "b"]
    assert np.frombuffer(base64.b64decode(kind["codes"]), np.int32).tolist() == [1, 0, -1]
    assert (depth["kind"], depth["low"], depth["high"]) == ("values", 0.5, 2.5)
    assert n["kind"] == "labels"
    assert data["color"] == 1


def test_many_names_are_only_shown():
    names = [f"cell {i}" for i in range(300)]
    data = content(embedding_html(np.zeros((300, 2)), {"id": names, "n": np.arange(300)}))
    assert [one["kind"] for one in data["columns"]] == ["text", "values"]
    assert data["columns"][0]["items"] == names


@pytest.mark.parametrize(
    "text", ["</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>"]
)
def test_labels_are_text(text):
    page = embedding_html(Y, {text: [text, "b", "c"]}, title=text)
    assert text not in page
    assert page.count("<script") == 2
    data = content(page)
    assert data["columns"][0]["names"][0] in (text, "b")
    assert text in data["columns"][0]["names"]


def test_nothing_is_fetched_and_no_other_script_runs():
    page = embedding_html(Y)
    assert not re.search(r"https?:|src=|href=|@import|url\(", page)
    policy = re.search('Content-Security-Policy" content="(.*?)"', page)[1]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    assert "innerHTML" not in script


def test_a_model_will_do():
    model = ck.LaplacianEigenmaps().fit(load_iris().data)
    assert "150 points" in embedding_html(model)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"columns": {"a": [1, 2]}}, "column 'a' has shape"),
        ({"color": "a"}, "choose from none"),
        ({"n_over": 4}, "n_over=4"),
    ],
)
def test_what_makes_no_sense(options, words):
    with pytest.raises(ValueError, match=words):
        embedding_html(Y, **options)
    with pytest.raises(ValueError, match="embedding must have shape"):
        embedding_html(np.zeros((3, 3)))
