"""Text files: how they are written is found out, said, and can be said otherwise."""

from __future__ import annotations

import gzip
import sys
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from closeknit.exceptions import CloseknitWarning, DataError, MissingDependencyError
from closeknit.io import Dialect, delimited, read_table

NUMBERS = ["1.5", "-2", "0.1", "1e-320", "3.141592653589793", "123456789012345678", "1e22"]
ODD = ["", " 7 ", "+1", "nan", "NaN", "NA", "nUlL", "inf", "1e999", "1_0", "0x1", "١", "1,5", '"3"']
WORDS = ["a", "b b", "ä", "007", '"c,d"', '"e ""f"""', 'g"h', '"open', ' "k"', "\ufeff", "?"]
ENDS = ["\n", "\r\n", "\n\n", "\r", "\n \n"]


@pytest.fixture
def write(tmp_path):
    """Write text to a file and return its path."""

    def to(content, encoding="utf-8"):
        path = tmp_path / "table.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
        return path

    return to


# ---- decimal marks -------------------------------------------------------------------------------


@pytest.mark.parametrize("header", ["a;b;cluster\n", ""])
def test_decimal_commas_are_read(write, header):
    table = read_table(write(header + "1,5;2,5;1\n-0,25;1,25e1;2\n"))
    np.testing.assert_array_equal(table.X, [[1.5, 2.5, 1], [-0.25, 12.5, 2]])
    assert table.dialect == Dialect(";", ",", "utf-8", bool(header))


@pytest.mark.parametrize("sep", ["\t", "|", " "])
def test_decimal_commas_with_other_separators(write, sep):
    text = "a;b;kind\n1,5;2,5;x\n0,125;3;y\n".replace(";", sep)
    table = read_table(write(text))
    np.testing.assert_array_equal(table.X, [[1.5, 2.5], [0.125, 3]])
    assert table.labels["kind"].tolist() == ["x", "y"]


def test_decimal_commas_in_quotes(write):
    table = read_table(write('a,b\n"1,5","2,5"\n"0,5",3\n'))
    np.testing.assert_array_equal(table.X, [[1.5, 2.5], [0.5, 3]])


def test_thousands_that_come_late_are_questioned(write):
    """1.234 between semicolons, when all of the first 256 KiB are whole numbers."""
    start = "a;b\n" + "123456;7\n" * 30_000
    path = write(start + "1.234;7\n")
    with pytest.raises(DataError, match=r"'1\.234', which may mean a thousand or about one"):
        read_table(path)
    assert read_table(path, decimal=".").X[-1].tolist() == [1.234, 7.0]
    assert read_table(write(start + "1.234;0.5\n")).X[-1].tolist() == [1.234, 0.5]


def test_decimal_commas_of_labels_are_numbers(write):
    table = read_table(write("a;b;weight\n1,5;2,5;0,5\n3,5;4,5;1,5\n"), labels=["weight"])
    assert table.labels["weight"].tolist() == [0.5, 1.5]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ('a,b\n"1,234",2\n"5,678",3\n', "may mean a thousand or about one"),
        ("a\tb\n1,234\t2\n", "may mean a thousand or about one"),
        ("a;b\n1,5;2.5\n", "beside '2.5'"),
        ("a;b\n1.234;5\n12.345;6\n999;7\n", "'1.234', which may mean a thousand or about one"),
        ("1,500 200,300\n400 500,600\n", "may mean a thousand or about one"),
    ],
)
def test_commas_that_may_mean_two_things(write, text, meant):
    path = write(text)
    with pytest.raises(DataError, match=rf"{meant}; pass decimal=',' or decimal='\.'"):
        read_table(path)


def test_a_given_decimal_mark_is_used(write):
    path = write("a\tb\n1,234\t2\n5,678\t3\n")
    np.testing.assert_array_equal(read_table(path, decimal=",").X[:, 0], [1.234, 5.678])
    assert list(read_table(path, decimal=".").labels) == ["a"]


@pytest.mark.parametrize("text", ["1,5 2,5\n0,25 NA\n", " -1,5   2,5 1e3\n  7,5 3 4,5\n"])
def test_decimal_commas_between_blanks_separate_no_cells(write, text):
    table = read_table(write(text), missing="drop")
    assert table.dialect == Dialect(" ", ",", header=False)
    first = text.replace(",", ".").splitlines()[0]
    np.testing.assert_array_equal(table.X[0], list(map(float, first.split())))


@pytest.mark.parametrize("text", ["1, 2,3\n4, 5,6\n", "1 ,2 ,3\n4 ,5 ,6\n"])
def test_blanks_beside_commas_separate_no_cells(write, text):
    assert read_table(write(text)).X.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("n", [1, 9])
def test_a_word_does_not_hide_decimal_commas(write, n):
    path = write("a;b\n" + "1,5;7\n" * n + "Total;7\n")
    with pytest.raises(DataError, match=rf"line {n + 2}, column 'a': 'Total' is not a number"):
        read_table(path)


@pytest.mark.parametrize("text", ["a\n1,5\n1,7\n0,5\n", "a,b\n1,5,3\n1,7,4\n0,5,3\n"])
def test_decimal_commas_do_not_make_names_of_rows(write, text):
    path = write(text)
    with pytest.raises(DataError, match=r"'1', do not name the rows, as they repeat"):
        read_table(path)


@pytest.mark.parametrize("cell", ["' 2'", ' "2"', "'2'"])
def test_numbers_in_other_quotes_are_no_text(write, cell):
    path = write(f"a,b,c\n1.5,{cell},3\n2.5,{cell},4\n")
    with pytest.raises(DataError, match=r"column 'b' holds numbers in quotes .*labels=\['b'\]"):
        read_table(path)
    assert read_table(path, labels=["b"]).feature_names == ("a", "c")


def test_mostly_text_is_questioned(write):
    path = write("a;b;c;n\n1.234,5;2.345,5;9.876,5;1\n")
    with pytest.raises(DataError) as caught:
        read_table(path)
    message = str(caught.value)
    assert "3 of its 4 columns are text ('a', 'b', 'c'; 'a' holds '1.234,5')" in message
    assert "sep=';' and decimal='.'" in message
    assert "labels=['a', 'b', 'c']" in message
    table = read_table(path, labels=["a", "b", "c"])
    assert table.feature_names == ("n",)
    assert read_table(path, features=["n"]).feature_names == ("n",)


# ---- headers -------------------------------------------------------------------------------------


def test_without_a_header_no_row_is_lost(write):
    table = read_table(write("5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n"))
    assert table.feature_names == ("x0", "x1")
    assert table.labels["x2"].tolist() == ["setosa", "setosa", "virginica"]
    assert table.X.shape == (3, 2)


@pytest.mark.parametrize(
    "text",
    [
        "year,2019,2020\n7,1,2\n8,3,4\n",  # a name above numbers
        ",2019,2020\nA,1,2\nB,3,4\n",  # an index
        ",0,1\n0,1.5,2\n1,3,4\n",
        "a,b\n1,2\n3,4\n",
    ],
)
def test_names_are_found(write, text):
    table = read_table(write(text))
    assert table.dialect.header
    assert table.n_samples == 2


def test_names_that_look_like_data_are_questioned(write):
    path = write("gene,2019,2020\nA,1,2\nB,3,4\n")
    with pytest.warns(CloseknitWarning, match=r"\(gene, 2019, 2020\) is taken for data"):
        assert read_table(path).n_samples == 3
    assert read_table(path, header=True).feature_names == ("2019", "2020")
    assert read_table(path, header=False).n_samples == 3


def test_whole_numbers_above_fractions_are_questioned(write):
    path = write("400,410,420\n0.5,1.5,2.5\n0.25,1.25,3.5\n")
    with pytest.warns(CloseknitWarning, match=r"first row \(400, 410, 420\) is taken for data"):
        assert read_table(path).n_samples == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(path, header=True).feature_names == ("400", "410", "420")
        assert read_table(write("4,5\n0.5,7\n")).n_samples == 2


def test_whole_numbers_that_count_above_data_are_questioned(write):
    """Years above columns of whole numbers."""
    path = write("2001,2002,2003\n5,0,2\n7,1,9\n")
    with pytest.warns(CloseknitWarning, match=r"\(2001, 2002, 2003\) is taken for data"):
        assert read_table(path).n_samples == 3
    assert read_table(path, header=True).feature_names == ("2001", "2002", "2003")


@pytest.mark.parametrize("title", ["Results of 2024", "Results of 2024\nroom 3, day 2", "a;b"])
@pytest.mark.parametrize("blank", ["", "\n"])
def test_text_above_a_table_is_not_a_row(write, title, blank):
    body = "a,b,c\n" + "1.5,2.5,x\n" * 6
    with pytest.raises(DataError, match=r"table of 3 columns seems to begin below line .*delete"):
        read_table(write(f"{title}\n{blank}{body}"))


def test_decimal_commas_between_blanks_are_no_columns(write):
    table = read_table(write("a b\n" + "1,5 2,5\n" * 6), decimal=",")
    assert table.X.tolist() == [[1.5, 2.5]] * 6


@pytest.mark.parametrize(
    "cells",
    [
        ["9223372036854775808", "9223372036854775815", "18446744073709551617"],
        ["1.1", "1.10", "1.2"],
        ["12345678901234567", "x", "y"],
    ],
)
def test_identifiers_come_out_as_they_went_in(write, cells):
    path = write("a,cell_id\n" + "".join(f"{i}.5,{cell}\n" for i, cell in enumerate(cells)))
    assert read_table(path).ids.tolist() == cells


def test_long_numbers_as_labels_keep_their_digits(write):
    path = write("a,code\n1.5,12345678901234567890\n2.5,2.5\n3.5,7\n")
    assert read_table(path, labels=["code"]).labels["code"][0] == "12345678901234567890"


def test_a_typographic_minus_is_a_minus(write):
    path = write("a,b\n\N{MINUS SIGN}1.5,2\n3,\N{MINUS SIGN}4\n")
    assert read_table(path).X.tolist() == [[-1.5, 2.0], [3.0, -4.0]]


def test_numbers_that_are_none_are_shown(write):
    with pytest.raises(DataError, match=r"'a' holds '1 999'.*plain numbers such as 1234\.5"):
        read_table(write("a;b\n1 999;2 000 361\n20 640;3 000\n"))


@pytest.mark.parametrize("comment", ["# made by hand\n", "\n#one,two, three\n# four\n", "#\n"])
def test_leading_comments_are_left_out(write, comment):
    table = read_table(write(comment + "a,b\n1,2\n"))
    assert table.feature_names == ("a", "b")
    np.testing.assert_array_equal(table.X, [[1, 2]])


def test_names_behind_a_hash(write):
    """As numpy.savetxt writes them."""
    assert read_table(write("# a b c\n1 2 3\n4 5 6\n")).feature_names == ("a", "b", "c")
    assert read_table(write("#id,a\nu,1\nv,2\n")).ids.tolist() == ["u", "v"]


# ---- encodings, sizes ----------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_encodings_with_a_mark_are_found(write, encoding):
    table = read_table(write("größe,kind\n1.5,ä\n2.5,ß\n", encoding))
    assert table.feature_names == ("größe",)
    assert table.labels["kind"].tolist() == ["ä", "ß"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "shift_jis"])
def test_a_given_encoding_is_used(write, encoding):
    word = "山" if encoding == "shift_jis" else "ä"
    path = write(f"a,kind\n1.5,{word}\n2.5,b\n", encoding)
    with pytest.raises(DataError, match="encoding="):
        read_table(path)
    assert read_table(path, encoding=encoding).labels["kind"].tolist() == [word, "b"]


def test_letters_behind_the_first_lines_are_read_in_the_same_encoding(write):
    path = write(b"a,kind\n" + b"1,x\n" * 100_000 + b"1,\xe4\n")
    with pytest.raises(DataError, match="not UTF-8 text"):
        read_table(path)
    assert read_table(path, encoding="latin-1").labels["kind"][-1] == "ä"


@pytest.mark.parametrize("encoding", ["klingon", "rot13", "base64"])
def test_an_unknown_encoding(write, encoding):
    with pytest.raises(DataError, match=f"encoding='{encoding}' is unknown"):
        read_table(write("a\n1\n"), encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "UTF-8", "utf_8", "utf8"])
@pytest.mark.parametrize("text", ["größe\n1.5\n2.5\n", "\ufeff1.5\n2.5\n", "\ufeff+1.5\n2.5\n"])
def test_a_mark_of_utf_8_is_no_letter(write, text, encoding):
    table = read_table(write(text), encoding=encoding)
    assert table.X.tolist() == [[1.5], [2.5]]
    assert table.dialect.encoding == "utf-8"


def test_bad_options(write):
    for sep in ("::", "§", '"', "\n"):
        with pytest.raises(ValueError, match=r"sep=.* must be one character"):
            read_table(write("a\n1\n"), sep=sep)
    with pytest.raises(ValueError, match="decimal=';' must be"):
        read_table(write("a\n1\n"), decimal=";")


def test_thousands_of_columns(write):
    X = np.random.default_rng(0).normal(size=(3, 50_000))
    names = ",".join(f"gene{i}" for i in range(50_000))
    rows = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    table = read_table(write(f"{names}\n{rows}\n"))
    np.testing.assert_array_equal(table.X, X)


def test_long_cells(write):
    long = "x" * 100_000
    assert read_table(write(f"a,b\n1,{long}\n")).labels["b"].tolist() == [long]


def test_cells_that_are_too_long(write):
    with pytest.raises(DataError, match=r"field larger than field limit .* shorten such cells"):
        read_table(write(f"a,b\n1,{'x' * 200_000}\n"))


@pytest.mark.parametrize("sep", [",", ";"])
def test_cells_of_many_lines_where_the_first_part_ends(write, sep):
    long = '"' + f"line{sep}\n" * 2000 + '"'
    rows = "".join(f"{i},{long.replace(',', sep)},7\n".replace(",", sep) for i in range(60))
    table = read_table(write(f"a{sep}text{sep}b\n{rows}"))
    np.testing.assert_array_equal(table.X, [[i, 7] for i in range(60)])


def test_a_late_word_makes_a_column_that_was_empty_text(write):
    path = write("a,b\n" + "1,\n" * 200_000 + "1,word\n" * 3)
    assert read_table(path).labels["b"][-1] == "word"


@pytest.mark.parametrize("cell", ["word", "1,5"])
def test_late_words_make_no_column_of_numbers_text(write, cell):
    path = write("a;b\n" + "1;2\n" * 70_000 + f"1;{cell}\n" * 70_001)
    with pytest.raises(DataError, match=f"line 70002, column 'b': '{cell}' is not a number, as th"):
        read_table(path)
    assert read_table(path, labels=["b"]).feature_names == ("a",)


# ---- Arrow, and cell by cell ---------------------------------------------------------------------


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


def rows(cells, n_columns):
    return st.lists(st.tuples(*[cells] * n_columns), min_size=3, max_size=8)


@settings(max_examples=150, deadline=None)
@example(table=[("1", "a")] * 3 + [("", "b")], end="\n", odd=("", 0), missing="drop")
@example(table=[("1", '"a\nb"')] * 4, end="\n", odd=("", 0), missing="error")
@example(
    table=[("1.5", "1.5"), ("1.5", 'g"h'), ("1.5", '"open')],
    end="\n",
    odd=("", 0),
    missing="drop",
)
@example(
    table=[("1.5", "a"), ("1.5", '"open'), ("1.5", 'g"h')],
    end="\n",
    odd=("", 1),
    missing="error",
)
@given(
    table=rows(st.sampled_from(NUMBERS), 2) | rows(st.sampled_from(NUMBERS + WORDS), 2),
    end=st.sampled_from(ENDS),
    odd=st.tuples(st.sampled_from(ODD + WORDS), st.integers(0, 30)),
    missing=st.sampled_from(["error", "drop"]),
)
@pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")
def test_arrow_reads_numbers_as_python_does(tmp_path_factory, table, end, odd, missing):
    """Whatever stands in one of the cells: the same table, or the same complaint."""
    cells = [list(row) for row in table]
    if odd[1] < 2 * len(cells):
        cells[odd[1] // 2][odd[1] % 2] = odd[0]
    content = end.join(["x,y", *map(",".join, cells)]) + end
    path = tmp_path_factory.mktemp("table") / "table.csv"
    path.write_bytes(content.encode())
    fast = outcome(path, missing=missing)
    read = delimited._File._read_arrow
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            delimited._File,
            "_read_arrow",
            lambda self, numeric, quoted: None if numeric else read(self, numeric, quoted),
        )
        assert_same(fast, outcome(path, missing=missing))


def test_long_files_in_order_and_to_the_bit(write):
    X = np.random.default_rng(0).normal(size=(30_000, 3))
    lines = [f"{a!r};{b!r};{c!r};k{i % 3}" for i, (a, b, c) in enumerate(X.tolist())]
    table = read_table(write("\n".join(["", "a;b;c;kind", *lines])))
    np.testing.assert_array_equal(table.X, X)
    assert table.labels["kind"].tolist() == [f"k{i % 3}" for i in range(30_000)]


@pytest.mark.parametrize(
    ("cell", "saying"),
    [
        ("x", r"line 70003, column 'b': 'x' is not a number"),
        ("", r"missing or infinite in 1 of 100000 rows, first in line 70003, column"),
        ("1,2", r"line 70003 has 3 cells, but there are 2 columns"),
        ('"1', r"line 70003: .*; check the quotes there"),
    ],
)
def test_complaints_name_the_line(write, cell, saying):
    lines = ["1.5,2.5"] * 100_000
    lines[70_001] = f"1.5,{cell}"
    path = write("\n".join(["a,b", *lines]) + "\n")
    with pytest.raises(DataError, match=saying):
        read_table(path)


@pytest.mark.parametrize("text", ['a,b\n1,"x', 'a,b\n1,"x\n2,y\n'])
def test_open_quotes_swallow_nothing(write, text):
    path = write(text)
    with pytest.raises(DataError, match="check the quotes"):
        read_table(path)


def test_without_arrow_the_extra_is_named(write, monkeypatch):
    path = write("a,b\n1.5,2.5\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pyarrow.csv", raising=False)
    with pytest.raises(MissingDependencyError, match=r'needs pyarrow.*"closeknit\[cli\]"'):
        read_table(path)


@pytest.mark.parametrize(
    ("content", "saying"),
    [
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "it is compressed; name it data.csv.gz"),
        (b"PK\x03\x04 a workbook", "export it as CSV"),
    ],
)
def test_what_is_no_text_is_told_by_its_first_bytes(tmp_path, content, saying):
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=saying):
        read_table(path)


def test_workbooks_are_to_be_exported(tmp_path):
    path = tmp_path / "data.xlsx"
    path.write_bytes(b"PK")
    with pytest.raises(DataError, match="export the sheet as CSV"):
        read_table(path)
