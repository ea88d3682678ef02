import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import closeknit as ck
from closeknit.io import read_table


def test_two_moons(closeknit, moons, tmp_path):
    summary = closeknit("cluster", moons, "-k", 2, "-p", 10, "--json").summary
    assert (summary["n_clusters"], summary["sizes"]) == (2, [100, 100])
    assert summary["n_without"] == 0
    table = read_table(tmp_path / "moons-clusters.csv", labels=["y", "cluster"], features=[])
    assert adjusted_rand_score(table.labels["y"], table.labels["cluster"]) == 1.0


def test_mean_shift_finds_the_number(in_process, moons, tmp_path):
    options = ("-m", "meanshift", "-p", 10, "-o", "C.npy", "--json")
    summary = in_process("cluster", moons, *options).summary
    expected = ck.apps.MeanShift(perplexity=10, random_state=0).fit_predict(np.load(moons)["X"])
    np.testing.assert_array_equal(np.load(tmp_path / "C.npy").ravel(), expected)
    assert summary["n_clusters"] == expected.max() + 1


@pytest.mark.parametrize("method", ["meanshift", "spectral"])
def test_saved_models(in_process, moons, tmp_path, method):
    count = ("-k", 2) if method == "spectral" else ()
    options = ("-m", method, *count, "-p", 10, "-o", "C.npy", "--save-model", "m.closeknit")
    summary = in_process("cluster", moons, *options, "--json").summary
    assert summary["model"] == "m.closeknit"
    model = ck.io.load(tmp_path / "m.closeknit")
    labels = np.load(tmp_path / "C.npy").ravel()
    np.testing.assert_array_equal(model.labels_, labels)
    if method == "meanshift":
        X = np.load(moons)["X"]
        expected = ck.apps.MeanShift(perplexity=10, random_state=0).fit(X).predict(X[:9] + 0.01)
        np.testing.assert_array_equal(model.predict(X[:9] + 0.01), expected)


def test_models_know_the_names_of_columns(in_process, flowers, tmp_path):
    in_process("cluster", flowers, "-k", 3, "--save-model", "m.closeknit", "-q").succeeds()
    model = ck.io.load(tmp_path / "m.closeknit")
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "d"]


def test_a_graph_from_a_file(in_process, moons, tmp_path):
    in_process_affinities = ("affinities", moons, "-o", "W.npz", "-p", 10, "-q")
    in_process(*in_process_affinities).succeeds()
    in_process("cluster", "W.npz", "-k", 2, "-o", "C.npy", "-q").succeeds()
    y = np.load(moons)["y"]
    assert adjusted_rand_score(y, np.load(tmp_path / "C.npy").ravel()) == 1.0


def test_the_table_and_quiet(closeknit, flowers):
    outcome = closeknit("cluster", flowers, "-k", 3).succeeds()
    assert "clusters" in outcome.stdout
    outcome = closeknit("cluster", flowers, "-k", 3, "--quiet").succeeds()
    assert (outcome.stdout, outcome.stderr) == ("", "")


@pytest.mark.parametrize(
    ("arguments", "code", "saying"),
    [
        ([], 2, "pass --clusters 5"),
        (["-m", "meanshift", "-k", "3"], 2, "--clusters has no use with --method meanshift"),
        (["-m", "meanshift", "--metric", "cosine"], 2, "needs points and Euclidean distances"),
        (["-k", "2", "-o", "moons.npz"], 2, "would overwrite the input"),
        (["-k", "500"], 1, "--clusters 500"),
        (["-k", "2", "--save-model", "moons-clusters.csv"], 2, "would overwrite another output"),
        (["-k", "2", "--save-model", "no/m"], 1, "create the folder first"),
    ],
)
def test_refusals(closeknit, in_process, moons, arguments, code, saying):
    in_process("cluster", moons, *arguments).fails(code, saying=saying)
    assert closeknit.files() == ["moons.npz"]


def test_ctrl_c_and_a_full_disk(closeknit, moons, full_disk):
    before = """
from closeknit.apps import SpectralClustering
def fit(self, X):
    signal.raise_signal(signal.SIGINT)
SpectralClustering.fit = fit
"""
    closeknit("cluster", moons, "-k", 2, before=before).fails(130, saying="interrupted")
    assert closeknit.files() == ["moons.npz"]
    outcome = closeknit("cluster", moons, "-k", 2, "-p", 10, "-o", full_disk("C.csv"))
    outcome.fails(1, saying="No space left on device")


def test_spectral_clustering_is_the_estimator(in_process, flowers, tmp_path):
    options = ("-k", 3, "--seed", 3, "--neighbors", "exact", "-o", "C.npy", "-q")
    in_process("cluster", flowers, *options).succeeds()
    expected = ck.SpectralClustering(3, random_state=3).fit_predict(read_table(flowers).X)
    np.testing.assert_array_equal(np.load(tmp_path / "C.npy").ravel(), expected)


def test_ctrl_c_keeps_the_clusters_found(closeknit, moons, tmp_path, interrupted_climb):
    outcome = closeknit(
        "cluster", moons, "-o", "found.csv", "-m", "meanshift", before=interrupted_climb
    )
    assert outcome.code == 130
    assert outcome.stderr.endswith("interrupted; the clusters found so far are in found.csv\n")
    table = read_table(tmp_path / "found.csv", labels=["y", "cluster"], features=[])
    assert 0 < (table.labels["cluster"] == -1).sum() < 200
