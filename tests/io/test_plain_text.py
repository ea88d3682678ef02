"""Arrow reads long files as the rows in blocks would: the same tables, the same complaints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from closeknit.exceptions import DataError
from closeknit.io import plain_text, read_table, text

pytest.importorskip("pyarrow")

NUMBERS = ["1.5", "-2", "0.1", "1e-320", "3.141592653589793", "123456789012345678", "1e22"]
ODD = ["", " 7 ", "+1", "nan", "NaN", "NA", "nUlL", "inf", "1e999", "1_0", "0x1", "١", "1,5", '"3"']
WORDS = [
    "a",
    "b b",
    "ä",
    "007",
    '"c,d"',
    '"e ""f"""',
    'g"h',
    '"i"j',
    '"open',
    ' "k"',
    "\ufeff",
    "?",
]
ENDS = ["\n", "\r\n", "\n\n", "\r", "\n \n"]


def outcome(path, **options):
    try:
        return read_table(path, **options)
    except DataError as error:
        return str(error)


def assert_same(one, other):
    assert type(one) is type(other), (one, other)
    if isinstance(one, str):
        assert one == other
        return
    assert (one.feature_names, list(one.labels)) == (other.feature_names, list(other.labels))
    assert one.X.tobytes() == other.X.tobytes()
    for name, column in one.labels.items():
        assert column.dtype == other.labels[name].dtype
        assert column.tolist() == other.labels[name].tolist()
    assert (one.ids is None) == (other.ids is None)
    if one.ids is not None:
        assert one.ids.tolist() == other.ids.tolist()


def rows(cells, n_columns):
    return st.lists(st.tuples(*[cells] * n_columns), min_size=3, max_size=8)


@settings(max_examples=150, deadline=None)
@example(table=[("1", "a")] * 3 + [("", "b")], end="\n", odd=("", 0), missing="drop")
@example(table=[("1", '"a\nb"')] * 4, end="\n", odd=("", 0), missing="error")
@given(
    table=rows(st.sampled_from(NUMBERS), 2) | rows(st.sampled_from(NUMBERS + WORDS), 2),
    end=st.sampled_from(ENDS),
    odd=st.tuples(st.sampled_from(ODD + WORDS), st.integers(0, 30)),
    missing=st.sampled_from(["error", "drop"]),
)
def test_the_same_as_in_blocks(tmp_path_factory, table, end, odd, missing):
    """Whatever stands in one of the cells, behind the first block or in it."""
    cells = [list(row) for row in table]
    if odd[1] < 2 * len(cells):
        cells[odd[1] // 2][odd[1] % 2] = odd[0]
    content = end.join(["x,y", *map(",".join, cells)]) + end
    path = tmp_path_factory.mktemp("table") / "table.csv"
    path.write_bytes(content.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK", 2)
        fast = outcome(path, missing=missing)
        patch.setattr(plain_text, "read_plain", lambda *arguments, **options: None)
        assert_same(fast, outcome(path, missing=missing))


def test_long_files_are_read_by_arrow(tmp_path, monkeypatch):
    """In order, to the bit, with text beside the numbers and a blank line before them."""
    X = np.random.default_rng(0).normal(size=(3000, 3))
    lines = [f"{a!r};{b!r};{c!r};k{i % 3}" for i, (a, b, c) in enumerate(X.tolist())]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["", "a;b;c;kind", *lines]))
    asked = []
    original = plain_text.read_plain

    def read_plain(*arguments, **options):
        asked.append(original(*arguments, **options))
        return asked[-1]

    monkeypatch.setattr(plain_text, "read_plain", read_plain)
    table = read_table(path)
    assert asked[0] is not None
    np.testing.assert_array_equal(table.X, X)
    assert table.labels["kind"].tolist() == [f"k{i % 3}" for i in range(3000)]


@pytest.mark.parametrize(
    ("cell", "saying"),
    [
        ("x", r"line 2003, column 'b': 'x' is not a number"),
        ("", r"1 of 3000 rows have missing or infinite values, the first is line 2003, column 'b'"),
        ("1,2", r"line 2003 has 3 cells, but there are 2 columns"),
        ('"1', r"line 3001: unexpected end of data"),
    ],
)
def test_complaints_name_the_line(tmp_path, cell, saying):
    lines = ["1.5,2.5"] * 3000
    lines[2001] = f"1.5,{cell}"
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,b", *lines]) + "\n")
    with pytest.raises(DataError, match=saying):
        read_table(path)


def test_without_arrow_rows_are_read_in_blocks(tmp_path, monkeypatch):
    import sys

    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1.5,2.5\n" * 3000)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert (
        plain_text.read_plain(
            path, delimiter=",", n_before=1, n_columns=2, numeric=[0, 1], missing=frozenset()
        )
        is None
    )
    assert read_table(path).X.shape == (3000, 2)
