"""`read_table`: what each kind of file gives, and one line for each thing that can be wrong."""

from __future__ import annotations

import gzip
import io
import pickle
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from scipy import sparse
from scipy.io import mmwrite
from sklearn.datasets import load_iris

import closeknit as ck
from closeknit.exceptions import CloseknitError, DataError, MissingDependencyError
from closeknit.io import Table, arrays, kind_of, read_image, read_table
from closeknit.io.arrays import map_array

IRIS = load_iris(as_frame=True).frame.assign(kind=lambda f: np.array(list("abc"))[f.target])
FEATURES = tuple(IRIS.columns[:4])


@pytest.fixture
def write(tmp_path):
    """Write text to a file and return its path."""

    def to(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return to


def test_a_frame_is_no_file():
    with pytest.raises(
        TypeError, match=r"reads files, .*; for a frame use closeknit\.io\.from_fra"
    ):
        read_table(IRIS)


def fails(saying, path, **options):
    """One line, with the path and what to do."""
    with pytest.raises(DataError, match=saying) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"cannot read {path}: ")
    assert message.count("cannot read") == 1
    return message


# ---- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["iris.csv", "iris.tsv", "iris.CSV", "iris.csv.gz", "iris.tsv.gz"])
def test_text_by_pandas_is_read_to_the_bit(tmp_path, name):
    path = tmp_path / name
    IRIS.to_csv(path, sep="\t" if "tsv" in name else ",", index=False)
    table = read_table(path, labels=["target"])
    assert table.kind == "text"
    assert table.feature_names == FEATURES
    assert table.ids is None
    np.testing.assert_array_equal(table.X, IRIS[list(FEATURES)].to_numpy())
    np.testing.assert_array_equal(table.labels["kind"], IRIS.kind)
    np.testing.assert_array_equal(table.labels["target"], IRIS.target)
    assert table.labels["target"].dtype.kind == "i"
    assert list(table.labels) == ["target", "kind"]


def test_an_index_written_by_pandas_is_not_a_feature(tmp_path):
    path = tmp_path / "iris.csv"
    IRIS.to_csv(path)
    table = read_table(path)
    np.testing.assert_array_equal(table.ids, np.arange(150))
    assert table.feature_names == (*FEATURES, "target")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", "   "])
@pytest.mark.parametrize("suffix", ["csv", "txt"])
def test_the_separator_is_guessed(write, delimiter, suffix):
    text = "a,b,c\n1,2,x\n3,4,y\n".replace(",", delimiter)
    table = read_table(write(f"t.{suffix}", text))
    np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
    assert list(table.labels["c"]) == ["x", "y"]


def test_a_given_separator_is_used(write):
    table = read_table(write("t.csv", "a:b\n1:2\n"), sep=":")
    np.testing.assert_array_equal(table.X, [[1, 2]])


def test_headers_are_found(write):
    """Names; no names; the numbers that pandas gives the columns of an array."""
    assert read_table(write("a.csv", "1,2\n3,4\n")).feature_names == ("x0", "x1")
    assert read_table(write("a.csv", "1,2\n3,4\n")).X.shape == (2, 2)
    counted = read_table(write("b.csv", "0,1,2\n5,6,7\n"))
    assert counted.feature_names == ("0", "1", "2")
    assert counted.n_samples == 1
    assert read_table(write("b.csv", "0,1,2\n5,6,7\n"), header=False).n_samples == 2
    assert read_table(write("a.csv", "1,2\n3,4\n"), header=True).feature_names == ("1", "2")


def test_quotes_bom_blank_lines_and_windows_line_ends(write):
    text = '\ufeff\r\n"a, or b",c\r\n"1.5",x\r\n\r\n2.5,"y\r\nz"\r\n'
    table = read_table(write("t.csv", text))
    assert table.feature_names == ("a, or b",)
    np.testing.assert_array_equal(table.X, [[1.5], [2.5]])
    assert list(table.labels["c"]) == ["x", "y\r\nz"]


def test_columns_may_be_chosen(write):
    path = write("t.csv", "name,a,b,c\nu,1,2,3\nv,4,5,6\n")
    table = read_table(path, features=["c", "a"], ids="name")
    assert table.feature_names == ("c", "a")
    np.testing.assert_array_equal(table.X, [[3, 1], [6, 4]])
    np.testing.assert_array_equal(table.column("b"), [2, 5])
    np.testing.assert_array_equal(table.column("a"), [1, 4])
    assert list(table.ids) == ["u", "v"]
    assert read_table(path, labels="c").feature_names == ("a", "b")


def test_identifiers(write):
    """Text stays text (007), whole numbers whole; what repeats is a label, not an identifier."""
    assert list(read_table(write("t.csv", "id,a\n007,1\n008,2\n")).ids) == ["007", "008"]
    assert read_table(write("t.csv", "ID,a\n7,1\n8,2\n")).ids.tolist() == [7, 8]
    repeated = read_table(write("t.csv", "id,a\n7,1\n7,2\n"))
    assert repeated.ids is None
    assert list(repeated.labels) == ["id"]
    assert read_table(write("t.csv", "id,a\n7,1\n"), features=["id"]).feature_names == ("id",)


def test_missing_values(write):
    path = write("t.csv", "a,b,kind\n1,2,x\n3,NA,\n\n5,,z\n7,8,w\ninf,1,v\n")
    message = fails("values are missing or infinite in 3 of 5 rows", path)
    assert "line 3, column 'b'" in message
    table = read_table(path, missing="drop")
    np.testing.assert_array_equal(table.X, [[1, 2], [7, 8]])
    assert list(table.labels["kind"]) == ["x", "w"]
    fails("every row", write("t.csv", "a\nNA\nNA\n"), missing="drop")


def test_a_typing_error_does_not_make_a_label(write):
    """A column that is mostly numbers is an error, early or late; asked for, a label."""
    early = write("t.csv", "a,b\n1,1\n2,oops\n3,3\n")
    message = fails("'oops' is not a number", early)
    assert "line 3, column 'b'" in message
    assert "labels=['b']" in message
    assert list(read_table(early, labels=["b"]).labels["b"]) == ["1", "oops", "3"]
    late = write("t.csv", "a,b\n" + "1,1\n" * 5000 + "1,oops\n")
    assert "line 5002, column 'b'" in fails("'oops' is not a number", late)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8),
        ),
        min_size=1,
        max_size=20,
    )
)
def test_whatever_is_written_is_read(tmp_path_factory, rows):
    """Any numbers to the bit, any text, also with quotes, separators and line ends in it."""
    path = tmp_path_factory.mktemp("text") / "t.csv"
    numbers, words = zip(*rows, strict=True)
    words = ["w" + word for word in words]  # so that none of it is all numbers
    ck.io.write_table(path, np.array(numbers)[:, None], labels={"word": words})
    table = read_table(path)
    np.testing.assert_array_equal(table.X[:, 0], numbers)
    assert table.labels["word"].tolist() == words


@pytest.mark.parametrize(
    ("text", "saying"),
    [
        ("", "it is empty"),
        ("\n\n  \n", "it is empty"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n1,2,3\n", "line 3 has 3 cells, but there are 2 columns"),
        ("a,b\nx,y\nz,w\n", "no numeric column"),
        ("a,a\n1,2\n", "two columns are called 'a'"),
        ('a,b\n"1,2\n', "check the quotes|cells"),
        (b"a,b\n1,\xff\n", "not UTF-8 text .* save it as UTF-8, or pass its encoding"),
    ],
)
def test_bad_text(write, text, saying):
    fails(saying, write("t.csv", text))


def test_unknown_columns_are_named(write):
    path = write("t.csv", "a,b,c\n1,2,x\n")
    assert "'a', 'b', 'c'" in fails("there is no column 'd'", path, labels=["d"])
    fails("column 'c' is not numeric", path, features=["c"])
    with pytest.raises(DataError, match="there is no column 'd'; choose from 'c', 'a', 'b'"):
        read_table(path).column("d")
    with pytest.raises(ValueError, match="missing='fill' must be 'error' or 'drop'"):
        read_table(path, missing="fill")


# ---- NumPy, Matrix Market, Parquet ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i2", "u1", "?"])
def test_npy(tmp_path, dtype):
    X = np.asfortranarray(np.arange(6).reshape(2, 3) % 2, dtype=dtype)
    np.save(tmp_path / "a.npy", X)
    table = read_table(tmp_path / "a.npy")
    assert table.X.dtype == (np.float32 if dtype == "f4" else np.float64)
    assert table.X.flags.c_contiguous
    np.testing.assert_array_equal(table.X, X)


def test_npz_labels_in_a_column_and_names_that_do_not_fit(tmp_path):
    """Labels of shape (n, 1), as image sets have them, are labels like others."""
    path = tmp_path / "a.npz"
    np.savez(path, X=np.eye(3), y=[[1], [2], [1]])
    assert read_table(path).labels["y"].tolist() == [1, 2, 1]
    np.savez(path, X=np.eye(3), feature_names=["a", "b"])
    with pytest.raises(DataError, match=r"'feature_names' has shape \(2,\), but 'X' has 3 columns"):
        read_table(path)
    np.savez(path, X=np.eye(3), Z=np.eye(3, 2), feature_names=["a", "b", "c"])
    assert read_table(path, key="Z").feature_names == ("x0", "x1")


def test_npz(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.eye(3), y=[1, 2, 1], other=np.eye(4), word=["a", "b", "c"], single=3)
    table = read_table(path)
    np.testing.assert_array_equal(table.X, np.eye(3))
    assert set(table.labels) == {"y", "word"}
    np.testing.assert_array_equal(read_table(path, key="other").X, np.eye(4))
    assert "'X', 'y', 'other', 'word', 'single'" in fails("no array 'Z'", path, key="Z")
    np.savez(path, data=np.eye(3), y=[1, 2, 1])
    np.testing.assert_array_equal(read_table(path).X, np.eye(3))
    np.savez(path, one=np.eye(3), two=np.eye(3))
    assert "'one', 'two'" in fails("choose one of its keys with key=", path)
    fails("its array 'y' has shape", _npz(path, X=np.eye(3), y=[1, 2]), key="y")


def _npz(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
def test_sparse_npz(tmp_path, make):
    X = sparse.random(20, 8, 0.3, random_state=0)
    sparse.save_npz(tmp_path / "a.npz", make(X))
    table = read_table(tmp_path / "a.npz")
    assert isinstance(table.X, sparse.csr_matrix)
    np.testing.assert_array_equal(table.X.toarray(), X.toarray())
    np.testing.assert_array_equal(table.column("x3"), X.toarray()[:, 3])
    some = read_table(tmp_path / "a.npz", features=["x5"], labels=["x3"])
    assert some.X.shape == (20, 1)
    np.testing.assert_array_equal(some.labels["x3"], X.toarray()[:, 3])


@pytest.mark.parametrize("missing", ["error", "drop"])
def test_missing_values_of_a_sparse_matrix(tmp_path, missing):
    X = sparse.csr_matrix([[0.0, 1.0], [np.nan, 0.0], [0.0, 0.0]])
    sparse.save_npz(tmp_path / "a.npz", X)
    if missing == "error":
        fails("first in row 1, column 'x0'", tmp_path / "a.npz")
    else:
        table = read_table(tmp_path / "a.npz", missing="drop")
        np.testing.assert_array_equal(table.X.toarray(), [[0, 1], [0, 0]])


def test_a_sparse_matrix_whose_indices_lie_outside_is_refused(tmp_path):
    """Compiled code would read memory that is not the matrix's."""
    X = sparse.csr_matrix(np.eye(3))
    path = tmp_path / "a.npz"
    indices = X.indices.copy()
    indices[0] = 7
    np.savez(path, format=b"csr", shape=X.shape, data=X.data, indices=indices, indptr=X.indptr)
    fails("damaged", path)


def test_matrix_market(tmp_path):
    X = sparse.random(20, 8, 0.3, random_state=0)
    mmwrite(tmp_path / "a.mtx", X, precision=17)
    np.testing.assert_array_equal(read_table(tmp_path / "a.mtx").X.toarray(), X.toarray())
    (tmp_path / "b.mtx.gz").write_bytes(gzip.compress((tmp_path / "a.mtx").read_bytes()))
    np.testing.assert_array_equal(read_table(tmp_path / "b.mtx.gz").X.toarray(), X.toarray())
    mmwrite(tmp_path / "c.mtx", np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(read_table(tmp_path / "c.mtx").X, np.arange(6.0).reshape(2, 3))
    mmwrite(tmp_path / "d.mtx", 1j * np.eye(2))
    fails("complex", tmp_path / "d.mtx")


def test_parquet(tmp_path):
    path = tmp_path / "iris.parquet"
    IRIS.to_parquet(path)
    table = read_table(path, labels=["target"])
    assert table.kind == "parquet"
    assert table.feature_names == FEATURES
    np.testing.assert_array_equal(table.X, IRIS[list(FEATURES)])
    np.testing.assert_array_equal(table.labels["kind"], IRIS.kind)
    IRIS.iloc[:0].to_parquet(path)
    fails("no rows", path)


@pytest.mark.parametrize(
    ("array", "saying"),
    [
        (np.arange(5.0), "reshape"),
        (np.zeros((2, 3, 4)), "reshape"),
        (np.zeros((0, 3)), "no numbers"),
        (np.array([["a", "b"]]), "real numbers"),
        (np.eye(2) * 1j, "real numbers"),
        (np.zeros((2, 2), dtype=[("a", "f8")]), "real numbers"),
    ],
)
def test_arrays_that_are_not_tables(tmp_path, array, saying):
    np.save(tmp_path / "a.npy", array)
    fails(saying, tmp_path / "a.npy")


class Bomb:
    """Shows whether it was unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("code from the file was run",))


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_nothing_is_unpickled(tmp_path, name):
    bomb = np.array([[Bomb()]], dtype=object)
    save = np.save if name == "a.npy" else lambda path, X: np.savez(path, X=X)
    save(tmp_path / name, bomb)
    fails("may run code", tmp_path / name)


def test_a_bare_pickle_is_not_unpickled(write):
    for name in ("a.npy", "a.npz"):
        fails("damaged", write(name, pickle.dumps(Bomb())))


# ---- pictures ------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp"])
def test_pictures(tmp_path, suffix):
    rgb = np.random.default_rng(0).integers(0, 256, (4, 5, 3), dtype=np.uint8)
    path = tmp_path / f"a.{suffix}"
    Image.fromarray(rgb).save(path)
    np.testing.assert_array_equal(read_image(path), rgb / 255.0)
    table = read_table(path)
    assert (table.kind, table.feature_names) == ("image", ("row", "column", "red", "green", "blue"))
    np.testing.assert_array_equal(table.X[:, :2], [(i, j) for i in range(4) for j in range(5)])
    np.testing.assert_allclose(table.X[:, 2:], rgb.reshape(-1, 3), rtol=1e-15)
    assert read_table(path, features=["red"]).X.shape == (20, 1)


def test_grey_deep_and_transparent_pictures(tmp_path):
    path = tmp_path / "a.png"
    grey = np.array([[0, 255], [51, 102]], dtype=np.uint8)
    Image.fromarray(grey).save(path)
    np.testing.assert_array_equal(read_image(path), grey / 255.0)
    assert read_table(path).feature_names == ("row", "column", "grey")
    deep = np.array([[0, 65535], [1, 2]], dtype=np.uint16)
    Image.fromarray(deep).save(path)
    np.testing.assert_array_equal(read_image(path), deep / 65535.0)
    Image.new("RGBA", (2, 2), (255, 0, 0, 0)).save(path)
    np.testing.assert_array_equal(read_image(path), np.ones((2, 2, 3)))
    Image.new("P", (2, 2), 0).save(path)
    assert read_image(path).shape == (2, 2, 3)


# ---- files that are not what they seem -----------------------------------------------------------

SAMPLES = ["a.csv.gz", "a.parquet", "a.npy", "a.npz", "a.mtx.gz", "a.h5ad", "a.png"]


def _sample(path):
    X = np.random.default_rng(0).normal(size=(40, 6))
    if path.suffix == ".h5ad":
        import anndata

        anndata.AnnData(X).write_h5ad(path)
    elif path.suffix == ".png":
        noise = np.random.default_rng(0).integers(0, 256, (100, 100), dtype=np.uint8)
        Image.fromarray(noise).save(path)
    elif path.name == "a.mtx.gz":
        packed = io.BytesIO()
        mmwrite(packed, X)
        path.write_bytes(gzip.compress(packed.getvalue()))
    else:
        ck.io.write_table(path, X)
    return path


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.7, 0.97])
def test_truncated_files(tmp_path, name, share):
    path = _sample(tmp_path / name)
    assert read_table(path).n_samples in (40, 10_000)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    fails("write or download it again", path)


@pytest.mark.parametrize("name", [*SAMPLES, "a.mtx"])
def test_files_of_something_else(write, name):
    fails("write or download it again", write(name, b"this is not what the ending says\n" * 9))


@pytest.mark.parametrize("kind", ["csv", "npy", "npz", "parquet", "mtx", "h5ad", "png", "", "docx"])
def test_missing_files_and_folders(tmp_path, kind):
    fails("there is no such file", tmp_path / f"missing.{kind}")
    folder = tmp_path / f"folder.{kind}"
    folder.mkdir()
    fails("it is a folder", folder)


def test_unknown_endings(write):
    for name in ("a.docx", "a", "a.npy.gz"):
        assert ".parquet" in fails("the ending .* is unknown", write(name, b"x"))
    with pytest.raises(ValueError, match=r"key='X' has a meaning for \.npz and \.h5ad"):
        read_table(write("a.csv", "a\n1\n"), key="X")
    with pytest.raises(ValueError, match="header= has a meaning for text files"):
        read_table(write("a.npy", b""), header=True)
    assert kind_of("A.JPG") == "image"


def test_an_archive_of_something_else(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    fails("choose one of its keys", tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [
        ("a.parquet", "pyarrow", "frames"),
        ("a.h5ad", "anndata", "anndata"),
        ("a.png", "PIL", "plot"),
    ],
)
def test_missing_packages_are_named(monkeypatch, write, name, module, extra):
    import sys

    for loaded in [m for m in sys.modules if m == module or m.startswith(module + ".")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf'pip install "closeknit\[{extra}\]"'):
        read_table(write(name, b"x"))


def test_errors_have_one_base():
    assert issubclass(MissingDependencyError, CloseknitError)
    assert issubclass(MissingDependencyError, ImportError)


def test_a_table_goes_straight_into_an_estimator(tmp_path):
    IRIS.to_csv(tmp_path / "iris.csv", index=False)
    table = read_table(tmp_path / "iris.csv", labels=["target"])
    assert isinstance(table, Table)
    assert ck.LaplacianEigenmaps(perplexity=10).fit_transform(table.X).shape == (150, 2)
    assert pd.unique(table.labels["kind"]).tolist() == ["a", "b", "c"]


# ---- threads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [lambda path: read_table(path).X, map_array])
def test_a_header_is_read_again_if_the_parser_fails_in_threads(tmp_path, monkeypatch, read):
    """Python 3.11.7's parser fails now and then while another thread parses."""
    path, calls = tmp_path / "data.npy", []
    np.save(path, np.arange(6.0).reshape(3, 2))

    def fails_once(file, read_header=np.lib.format.read_array_header_1_0):
        calls.append(file.tell())
        found = read_header(file)
        if len(calls) == 1:
            raise SystemError("AST constructor recursion depth mismatch (before=54, after=51)")
        return found

    monkeypatch.setitem(arrays._HEADERS, (1, 0), fails_once)
    np.testing.assert_array_equal(read(path), np.arange(6.0).reshape(3, 2))
    assert calls == [calls[0]] * 2
