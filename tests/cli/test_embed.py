import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.io import read_table

PNG = b"\x89PNG\r\n\x1a\n"


def data_of(flowers):
    return read_table(flowers).X


def test_a_map_beside_names_and_labels(closeknit, flowers, tmp_path):
    outcome = closeknit("embed", flowers).succeeds()
    assert "flowers-tsne.csv" in outcome.stdout
    assert outcome.stderr == ""
    table = read_table(tmp_path / "flowers-tsne.csv")
    assert table.feature_names == ("tsne0", "tsne1")
    assert table.ids[0] == "f0"
    assert set(table.labels["kind"]) == {"setosa", "versicolor", "virginica"}
    expected = ck.TSNE(random_state=0).fit_transform(data_of(flowers))
    np.testing.assert_array_equal(table.X, expected)


@pytest.mark.parametrize(
    ("method", "cls"),
    [
        ("ee", ck.ElasticEmbedding),
        ("ssne", ck.SymmetricSNE),
        ("sne", ck.SNE),
        ("tee", ck.TElasticEmbedding),
        ("eigenmaps", ck.LaplacianEigenmaps),
    ],
)
def test_methods_are_the_estimators(in_process, flowers, tmp_path, method, cls):
    options = ("--method", method, "--perplexity", 10, "--dims", 1, "--metric", "cosine")
    summary = in_process("embed", flowers, "-o", "Y.npy", "--json", *options).summary
    expected = cls(1, perplexity=10, metric="cosine", random_state=0).fit(data_of(flowers))
    np.testing.assert_array_equal(np.load(tmp_path / "Y.npy"), expected.embedding_)
    assert summary["method"] == method
    assert summary["n_neighbors"] == 30
    assert summary["n_components"] == 1
    assert 0 < summary["neighbor_recall"] <= 1


def test_a_list_of_lambdas_a_seed_and_threads(in_process, flowers, tmp_path):
    options = ("-m", "ee", "--lam", "1,10", "--seed", 7, "--threads", 1, "--neighbors", "exact")
    summary = in_process("embed", flowers, "-o", "Y.npz", "--json", *options).summary
    assert summary["lam"] == 10
    expected = ck.ElasticEmbedding(lam=[1, 10], random_state=7).fit(data_of(flowers))
    np.testing.assert_array_equal(read_table(tmp_path / "Y.npz").X, expected.embedding_)


def test_limits(in_process, flowers):
    options = ("--json", "--max-iter", 3)
    summary = in_process("embed", flowers, *options).summary
    assert summary["stopped_because"] == "max_iter"
    summary = in_process("embed", flowers, "--json", "--time-limit", 0).summary
    assert summary["stopped_because"] == "time_limit"


def test_quiet(closeknit, flowers):
    outcome = closeknit("embed", flowers, "--quiet").succeeds()
    assert (outcome.stdout, outcome.stderr) == ("", "")


def test_new_points_at_once_or_later_by_names_of_columns(closeknit, in_process, flowers, tmp_path):
    # The same flower as the first, its columns in another order.
    (tmp_path / "new.csv").write_text(
        "d,c,b,a,seen\n0.2,1.4,3.5,5.1,today\n1.5,4.5,3.0,6.0,today\n"
    )
    options = ("--save-model", "m.closeknit", "--transform", "new.csv", "--json")
    summary = closeknit("embed", flowers, *options).summary
    assert summary["transformed"] == ["new-tsne.csv"]
    at_once = read_table(tmp_path / "new-tsne.csv")
    fitted = read_table(tmp_path / "flowers-tsne.csv")
    np.testing.assert_array_equal(at_once.X[0], fitted.X[0])
    assert list(at_once.labels["seen"]) == ["today", "today"]

    options = (
        "--model",
        "m.closeknit",
        "-o",
        "later.csv",
        "--plot",
        "later.png",
        "--color",
        "seen",
    )
    summary = closeknit("embed", "new.csv", *options, "--json").summary
    assert (summary["n_samples"], summary["n_fitted"]) == (2, 150)
    assert (tmp_path / "later.csv").read_text() == (tmp_path / "new-tsne.csv").read_text()
    assert (tmp_path / "later.png").read_bytes().startswith(PNG)

    lacking = tmp_path / "lacking.csv"
    lacking.write_text("a,b,c\n1,2,3\n")
    outcome = in_process("embed", lacking, "--model", "m.closeknit")
    outcome.fails(1, saying="there is no column 'd'")

    outcome = in_process("embed", "new.csv", "--model", "m.closeknit", "--lam", 2)
    outcome.fails(2, saying="--lam has no use here")


def test_a_model_that_has_no_map(in_process, flowers, tmp_path):
    model = ck.EntropicAffinities(10).fit(data_of(flowers))
    ck.io.save(model, tmp_path / "W.closeknit")
    outcome = in_process("embed", flowers, "--model", "W.closeknit")
    outcome.fails(1, saying="holds EntropicAffinities, which has no map")


@pytest.mark.parametrize(("dims", "suffix"), [(2, "png"), (3, "svg")])
def test_pictures(in_process, flowers, tmp_path, dims, suffix):
    options = ("--plot", f"map.{suffix}", "--color", "kind", "--dims", dims, "--max-iter", 20)
    in_process("embed", flowers, "-q", *options).succeeds()
    start = (tmp_path / f"map.{suffix}").read_bytes()[:60]
    assert start.startswith(PNG) if suffix == "png" else b"<?xml" in start


def test_colouring_by_what_is_embedded_is_questioned(in_process, flowers):
    options = ("--plot", "map.png", "--color", "a", "--max-iter", 5)
    assert "keep it out with --label a" in in_process("embed", flowers, *options).stderr
    outcome = in_process("embed", flowers, *options, "--label", "a", "--json")
    assert outcome.summary["n_features"] == 3
    assert outcome.stderr == ""


def test_an_unknown_column_is_found_before_the_work(closeknit, flowers):
    outcome = closeknit("embed", flowers, "--plot", "map.png", "--color", "size")
    outcome.fails(1, saying="there is no column 'size'; choose from 'kind'")
    assert closeknit.files() == ["flowers.csv"]


def test_affinities_in_and_out(in_process, flowers, tmp_path):
    in_process("affinities", flowers, "-o", "W.npz", "-q").succeeds()
    summary = in_process("embed", "W.npz", "-m", "ssne", "-o", "Y.npy", "--json").summary
    assert summary["perplexity"] is None
    W = ck.graphs.symmetrize(sparse.load_npz(tmp_path / "W.npz"))
    expected = ck.SymmetricSNE(affinity="precomputed", random_state=0).fit_transform(W)
    np.testing.assert_array_equal(np.load(tmp_path / "Y.npy"), expected)


@pytest.mark.parametrize(
    ("arguments", "code", "saying"),
    [
        (["-o", "flowers.csv"], 2, "would overwrite the input"),
        (["-o", "./x/../flowers.csv"], 2, "would overwrite the input"),
        (["-o", "map.png", "--plot", "map.png"], 1, "ending is unknown"),
        (["--plot", "flowers-tsne.csv"], 2, "would overwrite another output"),
        (["--plot", "map.docx"], 2, "cannot draw map.docx"),
        (["--plot", "map.png", "--dims", "4"], 2, "--plot cannot show --dims 4"),
        (["-o", "map.xlsx"], 1, "its ending is unknown"),
        (["-o", "missing/map.csv"], 1, "create the folder first"),
        (["--perplexity", "500"], 1, "--perplexity 500 must be less than the number of"),
        (["--lam", "much"], 2, "--lam much is not a number"),
        (["--lam", "-1"], 1, "--lam -1.0 must be a finite number of at least 0"),
        (["--metric", "euclidian"], 1, "--metric euclidian is unknown"),
        (["-m", "eigenmaps", "--lam", "1"], 2, "--lam has no use here"),
        (["--transform", "absent.csv"], 1, "there is no such file"),
        (["--model", "absent.closeknit"], 1, "there is no such file"),
    ],
)
def test_refusals(closeknit, in_process, flowers, tmp_path, arguments, code, saying):
    (tmp_path / "x").mkdir()
    in_process("embed", flowers, *arguments).fails(code, saying=saying)
    assert closeknit.files() == ["flowers.csv", "x"]


@pytest.mark.parametrize(
    ("name", "content", "saying"),
    [
        ("absent.csv", None, "there is no such file"),
        ("empty.csv", "", "empty"),
        ("gap.csv", "a,b\n1,2\n3,\n4,5\n", "drop the rows with --missing drop"),
        ("words.csv", "a,b\nx,y\nu,v\n", "numeric"),
        ("slip.csv", "a,b\n1,2\n3,oops\n", "oops"),
        ("data.xyz", "1 2", "the ending .xyz is unknown"),
        ("broken.npy", "no array", "damaged or incomplete"),
        ("one.csv", "a,b\n1,2\n", "has one row"),
    ],
)
def test_bad_data(closeknit, in_process, tmp_path, name, content, saying):
    if content is not None:
        (tmp_path / name).write_text(content)
    in_process("embed", name).fails(1, saying=saying)
    assert closeknit.files() == ([] if content is None else [name])


def test_rows_with_gaps_can_be_dropped(in_process, flowers, tmp_path):
    with flowers.open("a") as file:
        file.write("last,1,,3,4,setosa\n")
    options = ("--missing", "drop", "--json", "--max-iter", 2)
    assert in_process("embed", flowers, *options).summary["n_samples"] == 150


def test_a_full_disk(closeknit, flowers, full_disk):
    outcome = closeknit("embed", flowers, "--max-iter", 5, "-o", full_disk("full.csv"))
    outcome.fails(1, saying="No space left on device; free some space, or choose another file")


def test_a_disk_that_is_read_only(closeknit, flowers):
    before = """
import errno, pathlib
def open_file(self, *args, _open=pathlib.Path.open, **options):
    if self.name.endswith(".part"):
        raise OSError(errno.EROFS, "Read-only file system")
    return _open(self, *args, **options)
pathlib.Path.open = open_file
"""
    outcome = closeknit("embed", flowers, before=before)
    outcome.fails(1, saying="the disk is read-only, or choose another file")
    assert closeknit.files() == ["flowers.csv"]


def test_warnings_are_lines(closeknit, tmp_path):
    # Of a hundred points sixty coincide: their perplexity cannot be as low as 5.
    X = np.vstack([np.zeros((60, 2)), np.random.default_rng(0).normal(size=(40, 2))])
    np.save(tmp_path / "X.npy", X)
    options = ("-p", 5, "--max-iter", 2)
    outcome = closeknit("embed", "X.npy", *options).succeeds()
    lines = [line for line in outcome.stderr.splitlines() if line]
    assert lines
    assert all(line.startswith("closeknit: warning: ") for line in lines)
    assert closeknit("embed", "X.npy", *options, "--quiet").succeeds().stderr == ""


def test_why_it_stopped_in_words(closeknit, flowers):
    assert "converged" in closeknit("embed", flowers).succeeds().stdout
    assert "--max-iter reached" in closeknit("embed", flowers, "--max-iter", 2).succeeds().stdout


@pytest.mark.parametrize(
    ("arguments", "saying"),
    [
        (["--perplexity", "nan"], "--perplexity nan must be at least 1"),
        (["--perplexity", "inf"], "--perplexity inf must be a number of neighbours; lower it"),
        (["--metric", "nonsense"], "--metric nonsense is unknown; choose one of braycurtis"),
    ],
)
def test_values_that_mean_nothing(in_process, flowers, arguments, saying):
    in_process("embed", flowers, *arguments).fails(1, saying=saying)


def test_one_row_is_too_few_to_fit_but_not_to_place(in_process, flowers, tmp_path):
    (tmp_path / "one.csv").write_text("a,b,c,d\n5.0,3.0,1.5,0.2\n")
    in_process("embed", "one.csv").fails(1, saying="one.csv has one row")
    options = ("--max-iter", 5, "--transform", "one.csv", "-q")
    in_process("embed", flowers, *options).succeeds()
    assert (tmp_path / "one-tsne.csv").exists()
