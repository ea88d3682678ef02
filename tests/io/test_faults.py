"""A disk that is full at any write, and folders that go away: one line, and old files intact."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.cli.outputs import new_figure, save_figure
from closeknit.exceptions import OutputError
from closeknit.io.anndata import write_h5ad
from closeknit.io.files import replacing

X = np.random.default_rng(0).normal(size=(300, 5))
WORDS = [f"word {i}" for i in range(300)]
GRAPH = sparse.random(300, 300, 0.05, random_state=0, format="csr")
REMEDY = "raise the limit on the size of files"
TABLES = ["csv", "csv.gz", "tsv", "tsv.gz", "parquet", "feather", "npy", "npz"]
PICTURES = ["png", "pdf", "svg"]
KINDS = [*TABLES, "h5ad", "graph.npz", "graph.mtx", "model", *PICTURES]


@contextmanager
def room_for(n_bytes):
    """Let no file grow beyond so many bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture(scope="module")
def model():
    return ck.EntropicAffinities(5).fit(X[:60])


def writer(kind, model):
    if kind == "model":
        return lambda path: ck.io.save(model, path)
    if kind.startswith("graph"):
        return lambda path: ck.io.write_graph(path, GRAPH)
    if kind == "npy":
        return lambda path: ck.io.write_table(path, X)
    if kind == "h5ad":
        pytest.importorskip("anndata")
        table = ck.io.Table(X, tuple("abcde"), {"word": np.array(WORDS, dtype=object)})
        return lambda path: write_h5ad(path, X[:, :2], ["tsne0", "tsne1"], table)
    if kind in PICTURES:
        figure = new_figure((3, 3))
        figure.subplots().plot(X)
        return lambda path: save_figure(figure, path)
    return lambda path: ck.io.write_table(path, X, labels={"word": WORDS})


@pytest.mark.parametrize("kind", KINDS)
def test_a_disk_that_is_full_at_any_write(tmp_path, kind, model, capfd):
    write, path = writer(kind, model), tmp_path / f"a.{kind}"
    write(path)
    size = path.stat().st_size
    path.write_bytes(b"old")
    # Pictures hold times and names of their own, so that their sizes differ a little.
    near = () if kind in PICTURES else (size - 100, size - 1)
    for room in sorted({0, 1, 64, 1000, size // 2, *near}):
        with pytest.raises(OutputError) as caught, room_for(room):
            write(path)
        message = str(caught.value)
        assert message.startswith(f"cannot write {path}: "), message
        assert message.endswith(f"; {REMEDY}, or choose another file"), message
        assert "\n" not in message
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]
    assert capfd.readouterr().err == ""
    with room_for(size if near else 2 * size):
        write(path)
    assert path.stat().st_size == size or kind in PICTURES


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_that_goes_away_in_the_middle(tmp_path, kind, model, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    opened = Path.open

    def vanishing(path, *arguments, **options):
        file = opened(path, *arguments, **options)
        if path.name.endswith(".part"):
            shutil.rmtree(folder)
        return file

    monkeypatch.setattr(Path, "open", vanishing)
    with pytest.raises(OutputError, match="create the folder first"):
        writer(kind, model)(folder / f"a.{kind}")


def test_a_folder_that_becomes_a_file(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()

    def write():
        with replacing(folder / "a.csv") as file:
            file.write(b"new")
            shutil.rmtree(folder)
            folder.write_text("")

    with pytest.raises(OutputError, match="part of the path is a file"):
        write()


def test_links_are_followed_also_to_another_device(tmp_path):
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no other device here")
    target = elsewhere / f"closeknit-{tmp_path.name}.csv"
    link = tmp_path / "a.csv"
    link.symlink_to(target)
    try:
        ck.io.write_table(link, X)
        assert link.is_symlink()
        np.testing.assert_array_equal(ck.io.read_table(target).X, X)
        with pytest.raises(OutputError, match=REMEDY), room_for(100):
            ck.io.write_table(link, X)
        np.testing.assert_array_equal(ck.io.read_table(link).X, X)
    finally:
        target.unlink()
