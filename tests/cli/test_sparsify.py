import numpy as np
import pytest
from scipy import sparse

import closeknit as ck


@pytest.fixture
def points(moons):
    return np.load(moons)["X"]


@pytest.mark.parametrize(
    ("method", "make"),
    [
        ("entropic", lambda **options: ck.graphs.EntropicSparsifier(**options)),
        ("knn", lambda perplexity, **options: ck.graphs.KNNSparsifier(**options)),
        ("viewers", lambda **options: ck.graphs.ViewerSparsifier(random_state=0, **options)),
        ("resistance", lambda **options: ck.graphs.ResistanceSparsifier(random_state=0, **options)),
    ],
)
def test_methods_are_the_sparsifiers(in_process, moons, points, tmp_path, method, make):
    options = ("--method", method, "--sparsity", 0.95, "--perplexity", 10, "-o", "W.npz")
    summary = in_process("sparsify", moons, *options, "--json").summary
    expected = make(sparsity=0.95, perplexity=10).fit(points)
    found = sparse.load_npz(tmp_path / "W.npz")
    assert (found != expected.graph_).nnz == 0
    assert summary["sparsity"] == expected.sparsity_ == pytest.approx(0.95, abs=0.01)
    assert summary["n_edges"] == found.nnz
    assert summary["input_is"] == "data"


def test_a_graph_from_a_file(closeknit, moons, tmp_path):
    closeknit("affinities", moons, "-o", "W.npz", "--symmetric", "-q").succeeds()
    outcome = closeknit("sparsify", "W.npz", "--sparsity", 0.9).succeeds()
    assert "affinities" in outcome.stdout
    W = sparse.load_npz(tmp_path / "W.npz")
    expected = ck.graphs.EntropicSparsifier(sparsity=0.9, input="affinities").fit_transform(W)
    assert (sparse.load_npz(tmp_path / "W-sparse.npz") != expected).nnz == 0


def test_distances_from_a_file(in_process, points, tmp_path):
    from scipy.spatial.distance import cdist

    np.save(tmp_path / "D.npy", cdist(points, points))
    options = ("--metric", "precomputed", "--json", "--sparsity", 0.9, "-p", 5)
    assert in_process("sparsify", "D.npy", *options).summary["input_is"] == "distances"


def test_quiet(closeknit, moons):
    outcome = closeknit("sparsify", moons, "-q", "-o", "W.mtx").succeeds()
    assert (outcome.stdout, outcome.stderr) == ("", "")
    assert closeknit.files() == ["W.mtx", "moons.npz"]


@pytest.mark.parametrize(
    ("arguments", "code", "saying"),
    [
        (["-o", "moons.npz"], 2, "would overwrite the input"),
        (["-o", "W.csv"], 1, "its ending is unknown"),
        (["--input", "affinities"], 1, "square"),
        (["-m", "knn", "--sparsity", "0.9", "--n-neighbors", "5"], 1, "give one"),
    ],
)
def test_refusals(closeknit, in_process, moons, arguments, code, saying):
    in_process("sparsify", moons, *arguments).fails(code, saying=saying)
    assert closeknit.files() == ["moons.npz"]


def test_unknown_method(in_process, moons):
    outcome = in_process("sparsify", moons, "-m", "best")
    assert (outcome.code, outcome.stdout) == (2, "")
    assert "resistance" in outcome.stderr


def test_ctrl_c_and_a_full_disk(closeknit, moons, full_disk):
    before = """
from closeknit.graphs import EntropicSparsifier
def fit(self, X):
    signal.raise_signal(signal.SIGINT)
EntropicSparsifier.fit = fit
"""
    closeknit("sparsify", moons, before=before).fails(130, saying="interrupted")
    assert closeknit.files() == ["moons.npz"]
    outcome = closeknit("sparsify", moons, "-o", full_disk("W.npz"))
    outcome.fails(1, saying="No space left on device")
