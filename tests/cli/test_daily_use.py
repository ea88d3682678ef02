"""What people do every day: pipes, other formats, prepared features, pictures to look around in."""

import io
import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import closeknit as ck

QUICK = ("--max-iter", "5", "--method", "ssne", "-p", "10")


@pytest.fixture
def flowers(tmp_path):
    iris = load_iris(as_frame=True)
    frame = iris.data.copy()
    frame.columns = ["length", "width", "petal", "depth"]
    frame["kind"] = iris.target_names[iris.target]
    path = tmp_path / "flowers.csv"
    frame.to_csv(path, index=False)
    return path


def piped(monkeypatch, content):
    stream = io.TextIOWrapper(io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", stream)


def positions(path):
    return pd.read_csv(path)[["ssne0", "ssne1"]].to_numpy()


@pytest.mark.parametrize("kind", ["csv", "npy", "feather", "gz"])
def test_stdin_to_stdout(in_process, flowers, tmp_path, monkeypatch, kind):
    frame = pd.read_csv(flowers)
    source = tmp_path / f"copy.{kind}"
    if kind == "npy":
        np.save(source, frame.iloc[:, :4].to_numpy())
    elif kind == "feather":
        frame.to_feather(source)
    else:
        frame.to_csv(source, index=False)
    piped(monkeypatch, source.read_bytes())
    done = in_process("embed", "-", *QUICK).succeeds()
    assert "t-SNE" not in done.stdout
    assert "points" in done.stderr
    table = pd.read_csv(io.StringIO(done.stdout))
    assert len(table) == 150
    assert ("kind" in table) == (kind != "npy")


def test_errors_name_stdin(in_process, monkeypatch):
    piped(monkeypatch, b"a,b\nx,y\n")
    done = in_process("embed", "-")
    assert done.code == 1
    assert "cannot read stdin: " in done.stderr
    assert "/" not in done.stderr.split("stdin")[0]


def test_a_table_on_stdout_and_the_summary_on_stderr(in_process, flowers):
    done = in_process("embed", flowers, "-o", "-", "--json", *QUICK).succeeds()
    assert done.stdout.startswith("ssne0,ssne1,kind\n")
    assert json.loads(done.stderr.splitlines()[-1])["n_samples"] == 150


@pytest.mark.parametrize("ending", [".csv.xz", ".csv.bz2", ".csv.gz", ".csv.zip", ".feather"])
def test_formats_in(in_process, flowers, tmp_path, ending):
    frame, source = pd.read_csv(flowers), tmp_path / f"same{ending}"
    if ending == ".feather":
        frame.to_feather(source)
    else:
        frame.to_csv(source, index=False)
    in_process("embed", source, "-o", tmp_path / "a.csv", *QUICK).succeeds()
    in_process("embed", flowers, "-o", tmp_path / "b.csv", *QUICK).succeeds()
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


@pytest.mark.parametrize("ending", [".csv.xz", ".tsv.bz2", ".feather"])
def test_formats_out(tmp_path, ending):
    path, X = tmp_path / f"map{ending}", np.array([[0.1, 2.0], [1 / 3, -4.0]])
    ck.io.write_table(path, X, labels={"kind": ["a", "b"]})
    table = ck.io.read_table(path)
    np.testing.assert_array_equal(table.X, X)
    assert table.labels["kind"].tolist() == ["a", "b"]


def test_an_archive_of_several_files(tmp_path):
    path = tmp_path / "two.csv.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.csv", "x\n1\n2\n")
        archive.writestr("b.csv", "x\n1\n2\n")
    with pytest.raises(ck.exceptions.DataError, match="it holds 2 files; unpack it"):
        ck.io.read_table(path)


def test_h5ad_out(in_process, flowers, tmp_path):
    anndata = pytest.importorskip("anndata")
    first, second = tmp_path / "map.h5ad", tmp_path / "more.h5ad"
    in_process("embed", flowers, "-o", first, *QUICK).succeeds()
    adata = anndata.read_h5ad(first)
    assert adata.obsm["X_ssne"].shape == (150, 2)
    assert list(adata.obs["kind"].unique()) == ["setosa", "versicolor", "virginica"]
    adata.obsm["X_other"] = np.ones((150, 3))
    adata.write_h5ad(first)
    in_process("cluster", first, "-k", "3", "-p", "10", "-o", second, "--key", "X").succeeds()
    kept = anndata.read_h5ad(second)
    assert {"X_ssne", "X_other"} <= set(kept.obsm)
    assert kept.obs["cluster"].nunique() == 3


def test_features_and_columns_left_out(in_process, flowers, tmp_path):
    out = tmp_path / "m.csv"
    done = in_process("embed", flowers, "-o", out, "--features", "length,petal", "--json", *QUICK)
    assert json.loads(done.succeeds().stdout)["features"] == ["length", "petal"]
    done = in_process(
        "embed", flowers, "-o", out, "--drop", "petal", "--drop", "kind", "--json", *QUICK
    )
    assert json.loads(done.succeeds().stdout)["features"] == ["length", "width", "depth"]
    assert list(pd.read_csv(out)) == ["ssne0", "ssne1"]


@pytest.mark.parametrize("flag", ["--features", "--drop", "--label", "--id", "--color"])
def test_did_you_mean(in_process, flowers, flag):
    in_process("embed", flowers, flag, "lenght").fails(1, saying="did you mean 'length'?")


def test_prepared_features(in_process, flowers, tmp_path):
    X = pd.read_csv(flowers).iloc[:, :4].to_numpy()
    expected = PCA(2, random_state=0).fit_transform(StandardScaler().fit_transform(X))
    np.save(tmp_path / "prepared.npy", expected)
    in_process("embed", tmp_path / "prepared.npy", "-o", tmp_path / "a.csv", *QUICK).succeeds()
    done = in_process(
        "embed", flowers, "--standardize", "--pca", "2", "-o", tmp_path / "b.csv", "--json", *QUICK
    )
    assert "2 principal components of 4" in json.loads(done.succeeds().stdout)["prepared"]
    np.testing.assert_allclose(positions(tmp_path / "a.csv"), positions(tmp_path / "b.csv"))


def test_new_points_are_prepared_alike(in_process, flowers, tmp_path):
    new = tmp_path / "new.csv"
    new.write_text("".join(flowers.read_text().splitlines(keepends=True)[:6]))
    in_process(
        "embed", flowers, "-o", tmp_path / "m.csv", "--standardize", "--transform", new, *QUICK
    ).succeeds()
    fitted, placed = positions(tmp_path / "m.csv"), positions(tmp_path / "new-ssne.csv")
    np.testing.assert_allclose(placed, fitted[:5])  # they coincide with fitted points


def test_what_cannot_be_prepared(in_process, flowers, tmp_path):
    model = tmp_path / "m.closeknit"
    in_process("embed", flowers, "--pca", "2", "--save-model", model).fails(
        2, saying="without --pca"
    )
    in_process("embed", flowers, "--pca", "9").fails(2, saying="--pca 9 needs as many")
    W = tmp_path / "W.npz"
    in_process("affinities", flowers, "-o", W, "-p", "10").succeeds()
    in_process("embed", W, "--standardize").fails(2, saying="need features")


def test_colors_are_those_of_the_label_there_is(flowers):
    from closeknit.cli.picture import Picture

    table = ck.io.read_table(flowers)
    assert Picture.of(table, None, None).color == "kind"
    assert Picture.of(table, None, "petal").color == "petal"
    plain = ck.io.Table(np.eye(3), ("a", "b", "c"), {"name": np.array(["p", "q", "r"])})
    assert Picture.of(plain, None, None).color is None


def test_a_page_to_look_around_in(in_process, flowers, tmp_path):
    page = tmp_path / "map.html"
    new = tmp_path / "new.csv"
    new.write_text("".join(flowers.read_text().splitlines(keepends=True)[:4]))
    in_process(
        "embed", flowers, "-o", tmp_path / "m.csv", "--plot", page, "--transform", new, *QUICK
    ).succeeds()
    text = page.read_text()
    assert '"over": 150' in text
    assert "153 points" in text
    assert "http" not in text.replace("http-equiv", "")
    in_process("embed", flowers, "--plot", page, "--dims", "3").fails(2, saying="two dimensions")


def test_pictures_of_clusters_and_outlines(in_process, flowers, tmp_path):
    picture = tmp_path / "c.png"
    in_process(
        "cluster", flowers, "-k", "3", "-p", "10", "-o", tmp_path / "c.csv", "--plot", picture
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    from PIL import Image

    Image.fromarray(np.repeat(np.uint8([[0, 255]]), 8, axis=1).repeat(16, 0)).save(
        tmp_path / "two.png"
    )
    in_process(
        "segment",
        tmp_path / "two.png",
        "-k",
        "2",
        "-p",
        "10",
        "-o",
        tmp_path / "s.png",
        "--outlines",
        tmp_path / "o.png",
    ).succeeds()
    found = np.asarray(Image.open(tmp_path / "o.png"))
    assert (found[:, 7] == 255).all()
    assert (found[:, :7] == 0).all()


def test_help_has_no_type_for_switches(in_process):
    for command in ([], ["embed"], ["info"]):
        text = in_process(*command, "--help").succeeds().stdout
        assert "-h" in text
        assert "bool" not in text.lower()
    assert "--install-completion" in in_process("--help").stdout


@pytest.mark.parametrize("command", ["demo", "segment", "explore"])
def test_help_offers_several_perplexities_only_where_they_are_taken(in_process, command):
    assert "averaged" not in in_process(command, "--help").succeeds().stdout
    assert "averaged" in in_process("embed", "--help").succeeds().stdout


@pytest.mark.filterwarnings("default::closeknit.exceptions.CloseknitWarning")
def test_columns_of_our_names_stay_and_ours_get_others(in_process, flowers, tmp_path):
    """A label called as what is written is not lost, and the work is not, either."""
    frame = pd.read_csv(flowers).rename(columns={"kind": "cluster"}).assign(ssne1=1.5)
    frame.to_csv(flowers, index=False)
    out = tmp_path / "out.csv"
    done = in_process("cluster", flowers, "-k", "3", "-p", "10", "--drop", "ssne1", "-o", out)
    assert "our 'cluster' is called 'closeknit_cluster'" in done.succeeds().stderr
    written = pd.read_csv(out)
    assert list(written) == ["closeknit_cluster", "cluster"]
    assert written["cluster"].equals(frame["cluster"])
    in_process("embed", flowers, "--label", "ssne1, cluster", "-o", out, *QUICK).succeeds()
    assert list(pd.read_csv(out)) == ["ssne0", "closeknit_ssne1", "cluster", "ssne1"]
