"""What was read is said, and names and labels of rows come out as they went in."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from closeknit.io import read_table

IRIS = load_iris()
FAST = ("--max-iter", 2)


@pytest.fixture
def cells(tmp_path):
    """Iris with whole numbers for names and batches."""

    def write(name, rows, first):
        lines = ["cell_id,a,b,c,d,batch"]
        for i, row in enumerate(IRIS.data[rows]):
            lines.append(f"{first + i},{','.join(map(str, row))},{i % 3}")
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    write("new.csv", slice(0, 4), 2000)
    return write("cells.csv", slice(0, 150), 1000)


def rows_of(path):
    names, *rows = [line.split(",") for line in path.read_text().splitlines()]
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_names_and_labels_come_out_as_they_went_in(in_process, cells, tmp_path):
    options = ("--id", "cell_id", "--label", "batch", "--transform", "new.csv", *FAST)
    in_process("embed", cells, *options, "--save-model", "m.closeknit", "-q").succeeds()
    in_process("embed", "new.csv", "--model", "m.closeknit", "--id", "cell_id", "-q").succeeds()
    in_process("cluster", cells, *options[:4], "-k", 3, "-q").succeeds()
    for name, first, n in (
        ("cells-tsne.csv", 1000, 150),
        ("new-tsne.csv", 2000, 4),
        ("new-placed.csv", 2000, 4),
        ("cells-clusters.csv", 1000, 150),
    ):
        rows = rows_of(tmp_path / name)
        assert [row["cell_id"] for row in rows] == [str(first + i) for i in range(n)]
        assert [row["batch"] for row in rows] == [str(i % 3) for i in range(n)]


@pytest.mark.parametrize("suffix", ["parquet", "npz", "tsv"])
def test_names_of_rows_in_other_files(in_process, cells, tmp_path, suffix):
    options = ("--id", "cell_id", "--label", "batch", "-o", f"Y.{suffix}", *FAST)
    in_process("embed", cells, *options, "-q").succeeds()
    table = read_table(tmp_path / f"Y.{suffix}", ids="cell_id", labels=["batch"])
    assert table.ids.tolist() == list(range(1000, 1150))
    assert table.labels["batch"].dtype.kind == "i"


def test_the_summary_says_what_was_used(in_process, cells, flowers):
    options = ("--id", "cell_id", "--label", "batch", *FAST)
    summary = in_process("embed", cells, *options, "--json").summary
    assert summary["features"] == ["a", "b", "c", "d"]
    assert (summary["labels"], summary["id"]) == (["batch"], "cell_id")
    assert (summary["n_dropped"], summary["neighbor_search"]) == (0, "exact")
    assert summary["text"] == {"sep": ",", "decimal": ".", "encoding": "utf-8", "header": True}
    table = in_process("embed", cells, *options).succeeds().stdout
    for words in ("4 (a, b, c, d)", "batch", "cell_id", "separator ','", "exact", "euclidean"):
        assert words in table


@pytest.mark.parametrize("command", ["affinities", "sparsify", "cluster"])
def test_every_command_says_what_was_read(in_process, cells, command):
    count = ("-k", 3) if command == "cluster" else ()
    options = ("--id", "cell_id", "--label", "batch", *count, "--json")
    summary = in_process(command, cells, *options).summary
    assert summary["features"] == ["a", "b", "c", "d"]
    assert (summary["labels"], summary["id"], summary["n_dropped"]) == (["batch"], "cell_id", 0)


def test_approximate_search_is_said(in_process, cells):
    options = ("--neighbors", "approximate", *FAST, "--json")
    summary = in_process("embed", cells, *options).summary
    assert summary["neighbor_search"] == "approximate, for a recall of 0.99, measured 1.000"


def test_dropped_rows_are_counted(in_process, tmp_path):
    lines = ["a,b", *(f"{x},{y}" for x, y in IRIS.data[:, :2]), ",1", "1,NA"]
    (tmp_path / "gaps.csv").write_text("\n".join(lines))
    outcome = in_process("embed", "gaps.csv", "--missing", "drop", *FAST)
    assert "rows dropped" in outcome.succeeds().stdout
    options = ("--missing", "drop", *FAST, "--json")
    summary = in_process("embed", "gaps.csv", *options).summary
    assert (summary["n_dropped"], summary["n_samples"]) == (2, 150)


def test_the_representation_of_an_h5ad_file_is_said(in_process, tmp_path):
    anndata = pytest.importorskip("anndata")
    adata = anndata.AnnData(IRIS.data)
    adata.obsm["X_pca"] = IRIS.data[:, :2]
    adata.write_h5ad(tmp_path / "cells.h5ad")
    assert in_process("embed", "cells.h5ad", *FAST, "--json").summary["key"] == "X_pca"
    outcome = in_process("embed", "cells.h5ad", "--key", "X", *FAST).succeeds()
    assert "representation" in outcome.stdout


# ---- text files ----------------------------------------------------------------------------------


def test_decimal_commas(in_process, tmp_path):
    rows = [";".join(f"{x:.1f}".replace(".", ",") for x in row) for row in IRIS.data]
    (tmp_path / "de.csv").write_text("\n".join(["a;b;c;d", *rows]))
    summary = in_process("affinities", "de.csv", "--json").summary
    assert summary["n_features"] == 4
    assert summary["text"]["decimal"] == ","


def test_options_for_text(in_process, tmp_path):
    rows = ["\t".join(f"{x:.3f}".replace(".", ",") for x in row) + "\tä" for row in IRIS.data + 1]
    (tmp_path / "old.txt").write_text("\n".join(rows), encoding="latin-1")
    outcome = in_process("affinities", "old.txt")
    outcome.fails(1, saying="--encoding latin-1")
    outcome = in_process("affinities", "old.txt", "--encoding", "latin-1")
    outcome.fails(1, saying="pass --decimal ',' or --decimal .")
    options = ("--encoding", "latin-1", "--decimal", ",", "--sep", "tab", "--no-header", "--json")
    summary = in_process("affinities", "old.txt", *options).summary
    assert (summary["n_samples"], summary["n_features"], summary["labels"]) == (150, 4, ["x4"])
    assert summary["text"] == {
        "sep": "\t",
        "decimal": ",",
        "encoding": "latin-1",
        "header": False,
    }


@pytest.mark.parametrize(
    ("text", "arguments", "saying"),
    [
        ("n,a,b\n1,x,y\n2,z,w\n", [], "pass another --sep or --decimal, or --label a --label b if"),
        ("a,b\n1,1\n2,oops\n3,3\n", [], "keep the column as a label with --label b"),
        ("a,b\n1,1\n", ["--sep", "ab"], "--sep ab must be one character"),
        ("a,b\n1,1\n2,2,2\n", [], "correct that line, or pass another --sep"),
        ("a,b\n1,1\n", ["--label", "c"], "there is no column 'c'"),
    ],
)
def test_complaints_name_options(in_process, tmp_path, text, arguments, saying):
    (tmp_path / "t.csv").write_text(text)
    in_process("embed", "t.csv", *arguments).fails(1, saying=saying)


def test_a_first_row_that_may_be_names_is_questioned(closeknit, tmp_path):
    lines = ["gene,2019,2020", *(f"g{i},{x},{y}" for i, (x, y) in enumerate(IRIS.data[:, :2]))]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    outcome = closeknit("embed", "t.csv", *FAST).succeeds()
    assert "warning: its first row (gene, 2019, 2020) is taken for data" in outcome.stderr
    assert "pass --header if these are names" in outcome.stderr
    outcome = closeknit("embed", "t.csv", "--header", "--json", *FAST)
    assert outcome.summary["features"] == ["2019", "2020"]


# ---- several perplexities ------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("-p", "5,20"), ("-p", 5, "--perplexity", 20)])
def test_several_perplexities(in_process, flowers, tmp_path, words):
    import closeknit as ck

    options = (*words, "-o", "Y.npy", "--json")
    summary = in_process("embed", flowers, *options).summary
    assert summary["perplexity"] == [5, 20]
    assert summary["n_neighbors"] == 60
    expected = ck.TSNE(perplexity=[5, 20], random_state=0).fit_transform(read_table(flowers).X)
    np.testing.assert_array_equal(np.load(tmp_path / "Y.npy"), expected)


def test_bandwidths_of_several_perplexities(in_process, flowers, tmp_path):
    options = ("-p", "5,20", "--sigmas", "s.csv", "--json")
    summary = in_process("affinities", flowers, *options).summary
    assert summary["largest_perplexity_error"] < 1e-8
    columns = read_table(tmp_path / "s.csv").feature_names
    assert columns == ("sigma_5", "sigma_20", "perplexity_5", "perplexity_20")


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (["embed", "flowers.csv", "-p", "many"], "--perplexity many is not a number"),
        (["cluster", "flowers.csv", "-m", "meanshift", "-p", "5,20"], "mean shift has one"),
        (["demo", "-p", "5", "-p", "20"], "the demo has one perplexity, not 5, 20"),
    ],
)
def test_perplexities_that_mean_nothing(in_process, flowers, arguments, saying):
    in_process(*arguments).fails(2, saying=saying)
