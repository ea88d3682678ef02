"""The smoothest vectors on a graph, and the thinned graph that preconditions their search."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh, subspace_angles

import closeknit as ck
from closeknit.exceptions import NotConvergedWarning
from closeknit.graphs import laplacian, symmetrize
from closeknit.linalg import subspace
from closeknit.linalg.eigenvectors import DENSE, graph_eigenvectors
from closeknit.progress import listening


def neighbour_graph(n: int, seed: int = 0, spread: float = 1.0) -> sparse.csr_matrix:
    X = np.random.default_rng(seed).random((n, 2)) * [spread, 1.0]
    return symmetrize(ck.EntropicAffinities(10.0).fit_transform(X))


def path(n: int) -> sparse.csr_matrix:
    return sparse.csr_matrix(sparse.diags([np.ones(n - 1)] * 2, [-1, 1]))


def pieces(*parts: sparse.csr_matrix) -> sparse.csr_matrix:
    return sparse.csr_matrix(sparse.block_diag(parts))


def dense_values(W: sparse.csr_matrix) -> np.ndarray:
    D = np.diag(np.asarray(W.sum(axis=1)).ravel())
    return eigh(D - W.toarray(), D, eigvals_only=True)


@pytest.mark.parametrize("n", [120, DENSE + 300])
def test_values_and_vectors_are_those_of_lapack(n):
    W = neighbour_graph(n)
    found = graph_eigenvectors(W, 6, tol=1e-7, random_state=0)
    D = np.asarray(W.sum(axis=1)).ravel()
    values, vectors = eigh(laplacian(W).toarray(), np.diag(D), subset_by_index=[0, 5])
    np.testing.assert_allclose(found.values, values, atol=1e-12, rtol=1e-9)
    assert subspace_angles(found.vectors, np.sqrt(D)[:, None] * vectors).max() < 1e-5
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-9)
    assert (found.n_iter == 0) == (n <= DENSE)


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
@pytest.mark.parametrize("spread", [1.0, 8.0])
def test_errors_keep_the_tolerance(tol, spread):
    """In the norm of the Laplacian, and for eigenvalues its square."""
    W = neighbour_graph(1500, seed=1, spread=spread)
    found = graph_eigenvectors(W, 5, tol=tol, random_state=0)
    D = np.asarray(W.sum(axis=1)).ravel()
    L = laplacian(W)
    values, vectors = eigh(L.toarray(), np.diag(D), subset_by_index=[0, 4])
    assert (found.values[1:] <= (1.0 + tol**2) * values[1:]).all()
    error = found.vectors / found.roots[:, None]
    error -= vectors * (vectors.T @ (D[:, None] * error)).diagonal()
    energies = np.einsum("ij,ij->j", error, L @ error)[1:]
    # Of the error the estimate sees what lies outside the block; the rest is of its size.
    assert (energies <= 4.0 * tol**2 * values[1:]).all()
    assert found.converged


def test_path_has_its_closed_form():
    """The normalised Laplacian of a path of n points has the eigenvalues 1 − cos(πk / (n − 1))."""
    n = 900
    found = graph_eigenvectors(path(n), 4, tol=1e-8, random_state=0)
    np.testing.assert_allclose(
        found.values, 1.0 - np.cos(np.pi * np.arange(4) / (n - 1)), atol=1e-13, rtol=1e-6
    )


@pytest.mark.parametrize("sizes", [(40, 60), (400, 350, 1)])
def test_components_have_one_vector_each(sizes):
    """The kernel is exact, its vectors live on one component each, the others are found too."""
    parts = [neighbour_graph(n, seed=n) if n > 1 else sparse.csr_matrix((1, 1)) for n in sizes]
    W = pieces(*parts)
    found = graph_eigenvectors(W, len(sizes) + 3, tol=1e-6, random_state=0)
    assert (found.values[: len(sizes)] == 0.0).all()
    label = np.repeat(np.arange(len(sizes)), sizes)
    for column in found.vectors.T[: len(sizes)]:
        assert len(np.unique(label[column != 0.0])) == 1
    expected = np.sort(np.concatenate([dense_values(V)[1:] for V in parts if V.shape[0] > 1]))
    np.testing.assert_allclose(found.values[len(sizes) :], expected[:3], rtol=1e-6)


def test_fewer_vectors_than_components():
    found = graph_eigenvectors(pieces(path(3), path(5), path(4)), 2)
    np.testing.assert_array_equal(np.flatnonzero(found.vectors[:, 0]), np.arange(3, 8))
    np.testing.assert_array_equal(np.flatnonzero(found.vectors[:, 1]), np.arange(8, 12))


def test_graph_without_edges():
    found = graph_eigenvectors(sparse.csr_matrix((4, 4)), 4)
    np.testing.assert_array_equal(found.values, np.zeros(4))
    np.testing.assert_array_equal(found.vectors, np.eye(4))


def test_repeated_eigenvalues():
    """A ring has every eigenvalue twice; the block finds the planes."""
    n = 800
    ring = path(n).tolil()
    ring[0, n - 1] = ring[n - 1, 0] = 1.0
    found = graph_eigenvectors(sparse.csr_matrix(ring), 5, tol=1e-7, random_state=0)
    np.testing.assert_allclose(
        found.values,
        1.0 - np.cos(2.0 * np.pi * np.array([0, 1, 1, 2, 2]) / n),
        rtol=1e-6,
        atol=1e-12,
    )


def test_components_joined_by_a_thread():
    """An eigenvalue far below the others is as good as zero, and its vector splits the graph."""
    W = pieces(neighbour_graph(400, seed=1), neighbour_graph(350, seed=2)).tolil()
    W[0, 749] = W[749, 0] = 1e-11
    found = graph_eigenvectors(sparse.csr_matrix(W), 4, tol=1e-4, random_state=0)
    assert found.converged
    assert 0.0 <= found.values[1] < 1e-12
    signs = np.sign(found.vectors[:, 1])
    assert (signs[:400] == signs[0]).all()
    assert (signs[400:] == -signs[0]).all()


def test_nearly_all_vectors():
    W = neighbour_graph(30)
    np.testing.assert_allclose(graph_eigenvectors(W, 30).values, dense_values(W), atol=1e-10)


def test_seed_gives_the_same_bits_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(subspace, "_FEW", 0)
    W = neighbour_graph(2500)
    a, b = (graph_eigenvectors(W, 4, random_state=3, n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(a.vectors, b.vectors)


def test_progress_is_told():
    """It never goes back, and ends at the tolerance."""
    W, told = neighbour_graph(1500), []
    with listening(lambda event: told.append((event.stage, event.done, event.total))):
        graph_eigenvectors(W, 6, random_state=0)
    assert {stage for stage, _, _ in told} == {"eigenvectors"}
    done = [count for _, count, _ in told]
    assert done == sorted(done)
    assert done[0] == 0
    assert len(set(done)) > 3
    assert told[-1][1:] == (100, 100)


def test_too_few_iterations_warn_and_give_the_best():
    with pytest.warns(NotConvergedWarning, match="max_iter=1"):
        found = graph_eigenvectors(neighbour_graph(700), 4, tol=1e-9, max_iter=1, random_state=0)
    assert not found.converged
    assert found.n_iter == 1
    assert found.vectors.shape == (700, 4)


@pytest.mark.parametrize("n_vectors", [0, 4])
def test_wrong_number_of_vectors(n_vectors):
    with pytest.raises(ValueError, match=f"n_vectors={n_vectors} must be from 1"):
        graph_eigenvectors(path(3), n_vectors)
