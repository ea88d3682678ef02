"""Sparsity, D1, D2, components and degrees against dense twins."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.graphs import (
    KNNSparsifier,
    compare,
    connected_components,
    degrees,
    laplacian,
    laplacian_distance,
    sparsity,
    spectrum_distance,
    symmetrize,
)

X = np.random.default_rng(0).normal(size=(300, 3))
W = symmetrize(ck.EntropicAffinities(10.0).fit_transform(X))
THIN = KNNSparsifier(5, input="affinities").fit_transform(W)
forms = pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_matrix, sparse.coo_array], ids=["dense", "csr", "coo_array"]
)


@forms
def test_sparsity(form):
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = A[2, 4] = 3.0
    A[3, 3] = 1.0
    assert sparsity(form(A)) == pytest.approx(17 / 20)
    assert sparsity(form(np.ones((4, 4)))) == 0.0
    assert sparsity(form(np.zeros((4, 4)))) == 1.0
    assert math.isnan(sparsity(form(np.ones((1, 1)))))
    with pytest.raises(ValueError, match=r"must be square, got shape \(2, 3\)"):
        sparsity(form(np.ones((2, 3))))


@pytest.mark.parametrize("matrix", ["adjacency", "laplacian"])
def test_d1_from_its_definition(matrix):
    """1/⟨v|v_s⟩ of the L1-normalised eigenvalues, sorted."""
    spectra = []
    for graph in (W.toarray(), THIN.toarray()):
        M = graph if matrix == "adjacency" else np.diag(graph.sum(axis=1)) - graph
        v = np.sort(np.linalg.eigvalsh(M))[::-1]
        spectra.append(v / np.abs(v).sum())
    expected = 1.0 / (spectra[0] @ spectra[1])
    assert spectrum_distance(W, THIN, matrix=matrix) == pytest.approx(expected, rel=1e-9)
    some = spectrum_distance(W, THIN, matrix=matrix, n_eigenvalues=40)
    v, v_s = spectra[0][:40], spectra[1][:40]
    partial = np.abs(v).sum() * np.abs(v_s).sum() / (v @ v_s)
    assert some == pytest.approx(partial, rel=1e-6)


@pytest.mark.parametrize("count", [1, 10, 200, 1000])
def test_d2_from_its_definition(count):
    """Σ (vᵀLv − vᵀL_s v)², by the sparse and by the dense eigensolver."""
    L, L_s = laplacian(W).toarray(), laplacian(THIN).toarray()
    _, vectors = np.linalg.eigh(L)
    top = vectors[:, ::-1][:, :count]
    d = np.einsum("ij,ij->j", top, (L - L_s) @ top)
    found = laplacian_distance(W, THIN, n_eigenvectors=count)
    assert found == pytest.approx(np.square(d).sum(), rel=1e-6)


def test_equal_graphs():
    v = np.linalg.eigvalsh(W.toarray())
    assert spectrum_distance(W, W) == pytest.approx(np.abs(v).sum() ** 2 / (v @ v))
    assert laplacian_distance(W, W) == 0.0


def test_graphs_without_edges_are_infinitely_far():
    assert spectrum_distance(W, sparse.csr_matrix(W.shape)) == np.inf


def test_components_and_degrees():
    blocks = sparse.block_diag([np.ones((3, 3)), [[0.0]], np.ones((2, 2))])
    assert connected_components(blocks).tolist() == [0, 0, 0, 1, 2, 2]
    found = degrees(blocks)
    assert (found.smallest, found.median, found.largest, found.isolated) == (0, 1.5, 2, 1)
    assert found.mean == pytest.approx(8 / 6)
    assert found.mean_weight == pytest.approx(8 / 6)
    one_way = sparse.csr_matrix(([1.0], ([0], [1])), shape=(2, 2))
    assert connected_components(one_way).tolist() == [0, 0]


def test_compare():
    table = compare({"all": W, "thin": THIN})
    assert [row.name for row in table] == ["all", "thin"]
    thin = table["thin"]
    assert thin.n_edges == THIN.nnz
    assert thin.sparsity == sparsity(THIN)
    assert thin.d1 == spectrum_distance(W, THIN)
    assert thin.d2 == laplacian_distance(W, THIN)
    assert table["all"].d2 == 0.0
    assert table.to_records()[1]["name"] == "thin"
    text = repr(table)
    assert len({len(line) for line in text.splitlines()[:3]}) == 1
    assert "thin" in text
    with pytest.raises(KeyError, match="no graph 'thick'"):
        table["thick"]


def test_compare_with_another_reference():
    named = compare({"thin": THIN, "all": W}, reference="all")
    given = compare([THIN], reference=W)
    assert named["thin"].d2 == given["0"].d2 == laplacian_distance(W, THIN)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spectrum_distance(W, THIN, matrix="modularity"), "matrix='modularity' is unknown"),
        (lambda: spectrum_distance(W, THIN[:9, :9]), "the same points, got 9 and 300"),
        (lambda: spectrum_distance(W, sparse.triu(THIN)), r"must be symmetric; use closeknit\."),
        (lambda: spectrum_distance(W, -THIN), "must not be negative"),
        (lambda: spectrum_distance(W, THIN, n_eigenvalues=0), "n_eigenvalues=0 must be"),
        (lambda: laplacian_distance(W, THIN, n_eigenvectors=0), "n_eigenvectors=0 must be"),
        (lambda: laplacian_distance(W, np.full(W.shape, np.nan)), "NaN or infinite"),
        (lambda: compare([]), "no graphs to compare"),
        (lambda: compare({"a": W}, reference="b"), "reference='b' is none of the graphs"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_all_eigenvalues_of_many_points_are_refused():
    many = sparse.identity(10_001, format="csr")
    with pytest.raises(ValueError, match=r"0\.8 GB; set n_eigenvalues, for example to 100"):
        spectrum_distance(many, many)
