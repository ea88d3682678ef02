"""AnnData: scanpy's places and names, read and written."""

from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import closeknit as ck
from closeknit.exceptions import DataError
from closeknit.graphs import symmetrize
from closeknit.io import from_anndata, neighbors_from_anndata, read_table
from closeknit.io.anndata import METHODS
from closeknit.neighbors import find_neighbors

DIGITS, DIGIT = load_digits(return_X_y=True)
DIGITS, DIGIT = DIGITS[:150].astype(np.float32), DIGIT[:150]


def scanpy_neighbors(adata, n_neighbors=46, key_added=None):
    """What ``sc.pp.neighbors`` writes: of n_neighbors, which count the point, all but the point."""
    found = find_neighbors(adata.obsm["X_pca"], n_neighbors - 1)
    prefix = "" if key_added is None else f"{key_added}_"
    adata.obsp[f"{prefix}distances"] = found.to_graph()
    adata.obsp[f"{prefix}connectivities"] = found.to_graph("connectivity")
    adata.uns[key_added or "neighbors"] = {
        "connectivities_key": f"{prefix}connectivities",
        "distances_key": f"{prefix}distances",
        "params": {
            "n_neighbors": n_neighbors,
            "method": "umap",
            "random_state": 0,
            "metric": "cosine" if key_added else "euclidean",
        },
    }


@pytest.fixture
def adata():
    obs = pd.DataFrame(
        {"digit": pd.Categorical(DIGIT.astype(str)), "n_counts": DIGITS.sum(axis=1)},
        index=[f"cell-{i}" for i in range(150)],
    )
    made = anndata.AnnData(DIGITS.copy(), obs=obs)
    made.obsm["X_pca"] = PCA(20, random_state=0).fit_transform(DIGITS)
    made.layers["counts"] = sparse.csr_matrix(DIGITS)
    scanpy_neighbors(made)
    return made


# ---- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("on_disk", [False, True])
def test_tables(adata, tmp_path, on_disk):
    def table(key=None):
        if not on_disk:
            return from_anndata(adata, key)
        adata.write_h5ad(tmp_path / "a.h5ad")
        return read_table(tmp_path / "a.h5ad", key=key)

    pca = table()
    assert pca.kind == ("h5ad" if on_disk else "anndata")
    np.testing.assert_array_equal(pca.X, adata.obsm["X_pca"])
    assert pca.ids[0] == "cell-0"
    assert pca.labels["digit"].tolist() == DIGIT.astype(str).tolist()
    np.testing.assert_array_equal(pca.labels["n_counts"], adata.obs["n_counts"])
    whole = table("X")
    np.testing.assert_array_equal(whole.X, DIGITS)
    assert whole.feature_names == tuple(adata.var_names)
    np.testing.assert_array_equal(table("counts").X.toarray(), DIGITS)
    with pytest.raises(DataError, match="'X_umap'; choose from 'X', 'X_pca', 'counts'"):
        table("X_umap")


def test_names_that_are_not_unique(adata):
    """AnnData allows them; then genes are numbered, and cells keep their names."""
    adata.var_names = ["gene"] * 64
    adata.obs_names = ["cell"] * 150
    table = from_anndata(adata, "X")
    assert table.feature_names[:2] == ("x0", "x1")
    assert table.ids.tolist() == ["cell"] * 150


def test_missing_values(adata):
    adata.X[3, 2] = np.nan
    with pytest.raises(DataError, match="row 3, column '2'"):
        from_anndata(adata, "X")
    assert from_anndata(adata, "X", missing="drop").n_samples == 149


def test_backed_data(adata, tmp_path):
    adata.X = sparse.csr_matrix(adata.X)
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    np.testing.assert_array_equal(from_anndata(backed, "X").X.toarray(), DIGITS)


def test_without_x(adata):
    bare = anndata.AnnData(obs=adata.obs)
    with pytest.raises(DataError, match="choose a representation such as 'X_pca'"):
        from_anndata(bare)


@pytest.mark.parametrize("key", [None, "neighbors", "mine"])
def test_neighbours(adata, key):
    """scanpy's n_neighbors counts the point itself, which is not stored: one fewer."""
    scanpy_neighbors(adata, 15, "mine")
    found = neighbors_from_anndata(adata, key)
    k = 14 if key == "mine" else 45
    expected = find_neighbors(adata.obsm["X_pca"], k)
    assert found.n_neighbors == k
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.sq_distances, expected.sq_distances, rtol=1e-14)


def test_neighbours_that_are_not_there(adata):
    with pytest.raises(DataError, match="no 'umap_distances', only 'distances', 'connectiv"):
        neighbors_from_anndata(adata, "umap")


# ---- affinities ----------------------------------------------------------------------------------


def test_affinities_in_scanpy_s_form(adata):
    assert ck.io.anndata.affinities(adata, perplexity=15, n_pcs=10) is None
    expected = ck.EntropicAffinities(15).fit(adata.obsm["X_pca"][:, :10])
    stored = adata.uns["entropic"]
    W = adata.obsp[stored["connectivities_key"]]
    assert abs(W - symmetrize(expected.affinities_)).max() == 0.0
    np.testing.assert_array_equal(adata.obs["entropic_sigma"], expected.sigmas_)
    assert stored["params"] == {
        "n_neighbors": 46,
        "method": "entropic",
        "perplexity": 15.0,
        "use_rep": "X_pca",
        "n_pcs": 10,
        "metric": "euclidean",
    }
    distances = adata.obsp[stored["distances_key"]]
    assert set(np.diff(distances.indptr)) == {45}
    back = neighbors_from_anndata(adata, "entropic")
    np.testing.assert_array_equal(back.indices, expected.neighbors_.indices)


def test_maps_are_arrays_where_frames_are_asked_of_scikit_learn_everywhere(adata):
    """A frame without the names of the cells is none of theirs."""
    with config_context(transform_output="pandas"):
        ck.io.anndata.tsne(adata, perplexity=10, max_iter=5, random_state=0)
    assert type(adata.obsm["X_tsne"]) is np.ndarray


def test_affinities_of_several_perplexities(adata, tmp_path):
    """One column of bandwidths each, so that the result can be written."""
    ck.io.anndata.affinities(adata, perplexity=[5, 15])
    expected = ck.EntropicAffinities([5, 15]).fit(adata.obsm["X_pca"])
    for i, name in enumerate(["entropic_sigma_5", "entropic_sigma_15"]):
        np.testing.assert_array_equal(adata.obs[name], expected.sigmas_[:, i])
    adata.write_h5ad(tmp_path / "cells.h5ad")


def test_affinities_of_scanpy_s_neighbours(adata):
    """The same as of the data, if the neighbours are."""
    ck.io.anndata.affinities(adata, perplexity=15, key_added="data")
    ck.io.anndata.affinities(adata, perplexity=15, neighbors_key="neighbors", key_added="graph")
    data, graph = (adata.obsp[f"{key}_connectivities"] for key in ("data", "graph"))
    np.testing.assert_allclose(graph.toarray(), data.toarray(), rtol=1e-6, atol=1e-12)
    assert adata.uns["graph"]["params"]["neighbors_key"] == "neighbors"
    assert adata.uns["graph"]["params"]["n_neighbors"] == 46


def test_perplexity_must_fit_scanpy_s_neighbours(adata):
    scanpy_neighbors(adata, 15, "few")
    with pytest.raises(ValueError, match=r"perplexity=30 needs .*'few' holds 14 .*n_neighbors=91"):
        ck.io.anndata.affinities(adata, perplexity=30, neighbors_key="few")
    with pytest.raises(ValueError, match="'few' holds 14"):
        ck.io.anndata.tsne(adata, neighbors_key="few")
    ck.io.anndata.affinities(adata, perplexity="auto", neighbors_key="few")
    params = adata.uns["entropic"]["params"]
    assert params["perplexity"] == pytest.approx(14 / 3)
    assert params["metric"] == "cosine"  # of the neighbours
    ck.io.anndata.tsne(adata, perplexity="auto", neighbors_key="few", max_iter=2)
    assert adata.uns["tsne"]["params"]["perplexity"] == pytest.approx(14 / 3)
    with pytest.raises(ValueError, match="use_rep and n_pcs have no meaning with neighbors_key"):
        ck.io.anndata.affinities(adata, neighbors_key="few", use_rep="X")


def test_dense_affinities(adata):
    ck.io.anndata.affinities(adata, perplexity=15, n_neighbors=None)
    assert adata.obsp["entropic_connectivities"].shape == (150, 150)
    assert "entropic_distances" not in adata.obsp
    # scanpy takes the key for granted, and looks whether there is anything under it.
    assert adata.uns["entropic"]["distances_key"] == "entropic_distances"


def test_in_the_place_of_scanpy_s_own_graph(adata):
    """Where scanpy looks for "neighbors", whatever the keys in ``uns`` say."""
    ck.io.anndata.affinities(adata, perplexity=10)
    ck.io.anndata.affinities(adata, perplexity=10, key_added="neighbors")
    for name in ("connectivities", "distances"):
        assert adata.uns["neighbors"][f"{name}_key"] == name
        assert abs(adata.obsp[name] - adata.obsp[f"entropic_{name}"]).max() == 0.0


def test_parameters_have_scanpy_s_names(adata):
    """What sc.pp.neighbors and sc.tl.tsne write, where it means something here."""
    ck.io.anndata.affinities(adata, perplexity=10, n_pcs=5, random_state=0)
    ck.io.anndata.tsne(adata, max_iter=2)
    assert adata.uns["entropic"].keys() == {"connectivities_key", "distances_key", "params"}
    neighbors = {"n_neighbors", "method", "random_state", "metric", "use_rep", "n_pcs"}
    assert adata.uns["entropic"]["params"].keys() == {*neighbors, "perplexity"}
    assert adata.uns["tsne"].keys() == {"params"}
    assert {"perplexity", "metric", "use_rep", "n_components"} < adata.uns["tsne"]["params"].keys()


# ---- embeddings ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_embeddings(adata, method):
    options = {} if method == "eigenmaps" else {"max_iter": 10}
    ck.io.anndata.embed(adata, method, perplexity=10, random_state=0, **options)
    estimator = getattr(ck, METHODS[method])
    expected = estimator(perplexity=10, random_state=0, **options)
    expected = expected.fit_transform(adata.obsm["X_pca"])
    np.testing.assert_array_equal(adata.obsm[f"X_{method}"], expected)
    assert adata.uns[method]["params"] == {
        "perplexity": 10,
        "metric": "euclidean",
        "n_components": 2,
        "use_rep": "X_pca",
        "random_state": 0,
        **options,
    }


def test_tsne_of_scanpy_s_neighbours(adata):
    ck.io.anndata.tsne(adata, neighbors_key="neighbors", perplexity=15, max_iter=10)
    expected = ck.TSNE(perplexity=15, metric="precomputed", max_iter=10)
    expected = expected.fit_transform(adata.obsp["distances"])
    np.testing.assert_array_equal(adata.obsm["X_tsne"], expected)
    assert adata.uns["tsne"]["params"]["neighbors_key"] == "neighbors"


def test_other_keys_and_copies(adata):
    before = adata.copy()
    made = ck.io.anndata.tsne(adata, use_rep="X", key_added="X_mine", copy=True, max_iter=3)
    assert made.obsm["X_mine"].shape == (150, 2)
    assert made.uns["X_mine"]["params"]["use_rep"] == "X"
    assert "X_tsne" not in made.obsm
    assert set(adata.obsm) == set(before.obsm)
    assert set(adata.uns) == set(before.uns)
    np.testing.assert_array_equal(adata.X, before.X)
    made = ck.io.anndata.affinities(adata, copy=True)
    assert "entropic" in made.uns
    assert "entropic" not in adata.uns


def test_everything_can_be_written_to_a_file(adata, tmp_path):
    """Whatever parameters were given."""
    from closeknit.minimize import SpectralDirection

    ck.io.anndata.tsne(
        adata,
        max_iter=2,
        direction=SpectralDirection(n_neighbors=7),
        lam=[0.5, 1.0],
        time_limit=None,
        callback=lambda state: False,
        random_state=np.random.RandomState(0),
    )
    ck.io.anndata.affinities(adata, neighbors_key="neighbors", perplexity=10)
    adata.write_h5ad(tmp_path / "a.h5ad")
    back = anndata.read_h5ad(tmp_path / "a.h5ad")
    assert "SpectralDirection" in back.uns["tsne"]["params"]["direction"]
    assert back.uns["entropic"]["connectivities_key"] == "entropic_connectivities"
    np.testing.assert_array_equal(back.obsm["X_tsne"], adata.obsm["X_tsne"])


def test_bad_arguments(adata):
    with pytest.raises(ValueError, match="unknown method 'umap'; use one of 'tsne'"):
        ck.io.anndata.embed(adata, "umap")
    with pytest.raises(TypeError, match="expected an AnnData, got ndarray"):
        ck.io.anndata.tsne(DIGITS)
    with pytest.raises(ValueError, match="n_pcs=50, but 'X_pca' has 20 columns"):
        ck.io.anndata.tsne(adata, n_pcs=50)
