import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.io import read_table


def test_a_graph_and_its_bandwidths(closeknit, flowers, tmp_path):
    options = ("-o", "W.npz", "--sigmas", "sigmas.csv", "--perplexity", 20, "--json")
    summary = closeknit("affinities", flowers, *options).summary
    W, sigma = ck.entropic_affinities(read_table(flowers).X, 20)
    found = sparse.load_npz(tmp_path / "W.npz")
    assert (found != W).nnz == 0
    table = read_table(tmp_path / "sigmas.csv")
    np.testing.assert_array_equal(table.column("sigma"), sigma)
    np.testing.assert_allclose(table.column("perplexity"), 20, rtol=1e-9)
    assert table.ids[0] == "f0"
    assert summary["n_neighbors"] == 60
    assert summary["largest_sigma"] == sigma.max()
    assert summary["rows_without_bandwidth"] == 0


def test_symmetric_by_default_name(in_process, flowers, tmp_path):
    outcome = in_process("affinities", flowers, "--symmetric", "--n-neighbors", 60).succeeds()
    assert "flowers-affinities.npz" in outcome.stdout
    W, _ = ck.entropic_affinities(read_table(flowers).X, 30, 60)
    found = sparse.load_npz(tmp_path / "flowers-affinities.npz")
    assert abs(found - ck.graphs.symmetrize(W)).max() == 0


def test_quiet(closeknit, flowers):
    outcome = closeknit("affinities", flowers, "-q", "-o", "W.mtx").succeeds()
    assert (outcome.stdout, outcome.stderr) == ("", "")
    assert closeknit.files() == ["W.mtx", "flowers.csv"]


@pytest.mark.parametrize(
    ("arguments", "code", "saying"),
    [
        (["-o", "W.csv"], 1, "its ending is unknown; use one of .npz, .mtx"),
        (["--sigmas", "s.png"], 1, "its ending is unknown"),
        (["-o", "a-file/W.npz"], 1, "part of the path is a file"),
        (["-p", "0.5"], 1, "perplexity"),
        (["--n-neighbors", "200"], 1, "--n-neighbors 200 needs at least 201 points"),
    ],
)
def test_refusals(closeknit, in_process, flowers, tmp_path, arguments, code, saying):
    (tmp_path / "a-file").write_text("")
    in_process("affinities", flowers, *arguments).fails(code, saying=saying)
    assert closeknit.files() == ["a-file", "flowers.csv"]


def test_a_full_disk(closeknit, flowers, full_disk):
    outcome = closeknit("affinities", flowers, "-o", full_disk("W.npz"))
    outcome.fails(1, saying="No space left on device")


def test_ctrl_c(closeknit, flowers):
    before = """
from closeknit.affinities import EntropicAffinities
def fit(self, X):
    signal.raise_signal(signal.SIGINT)
EntropicAffinities.fit = fit
"""
    outcome = closeknit("affinities", flowers, before=before)
    outcome.fails(130, saying="interrupted; nothing was written")
    assert closeknit.files() == ["flowers.csv"]


def test_the_pixels_of_a_picture(closeknit, tmp_path):
    from PIL import Image

    noise = np.random.default_rng(0).integers(0, 256, size=(12, 15, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    options = ("-o", "W.npz", "-p", 5, "--sigmas", "sigmas.png", "--json")
    assert closeknit("affinities", "noise.png", *options).summary["n_samples"] == 180
    expected, _ = ck.apps.image_affinities(noise / 255.0, perplexity=5)
    assert (sparse.load_npz(tmp_path / "W.npz") != expected).nnz == 0
    assert (tmp_path / "sigmas.png").stat().st_size > 1000
