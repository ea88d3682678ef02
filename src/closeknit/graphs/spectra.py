"""How far the spectrum of a sparser graph is from that of the original: D₁ and D₂."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from closeknit._arrays import Array
from closeknit._threads import single_threaded_blas
from closeknit.graphs.laplacian import laplacian
from closeknit.linalg import check_symmetric, inner

#: Up to here all eigenvalues are computed, in an n × n array (10,000 points: 0.8 GB).
_LARGEST_DENSE = 10_000


def spectrum_distance(
    W: Any, W_sparse: Any, *, matrix: str = "adjacency", n_eigenvalues: int | None = None
) -> float:
    """D₁ = 1/⟨v|v_s⟩, where v and v_s are the eigenvalues of both graphs, divided by their L1 norm.

    Parameters
    ----------
    W, W_sparse : sparse matrix or array-like of shape (n_samples, n_samples)
        Symmetric weights of the original and of the sparser graph.
    matrix : {"adjacency", "laplacian"}, default="adjacency"
        The matrix whose eigenvalues are compared: W, as the paper seems to mean, or D − W.
    n_eigenvalues : int or None, default=None
        Compare only that many of the largest, found by a sparse eigensolver; None means all, which
        takes an n × n array and n³ time.

    Returns
    -------
    float
        Not 0 for equal graphs but 1/⟨v|v⟩, and less if the sparser graph's spectrum is more
        concentrated. Infinite if the spectra do not overlap, as of a graph without edges.

    References
    ----------
    Dupré and Lam, Graph sparsification for kernel methods, section 5.

    Examples
    --------
    >>> from closeknit.graphs import spectrum_distance
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> round(spectrum_distance(triangle, triangle), 3)
    2.667
    """
    if matrix not in ("laplacian", "adjacency"):
        raise ValueError(f"matrix={matrix!r} is unknown; choose 'laplacian' or 'adjacency'")
    original, sparser = check_graphs(W, W_sparse)
    return Spectrum(original, matrix, n_eigenvalues).distance(sparser)


def laplacian_distance(W: Any, W_sparse: Any, *, n_eigenvectors: int = 10) -> float:
    """D₂ = Σᵢ (vᵢᵀLvᵢ − vᵢᵀL_s vᵢ)² over the top eigenvectors vᵢ of the original Laplacian L.

    Parameters
    ----------
    W, W_sparse : sparse matrix or array-like of shape (n_samples, n_samples)
        Symmetric weights of the original and of the sparser graph.
    n_eigenvectors : int, default=10
        How many eigenvectors, of the largest eigenvalues. More than there are points means all.

    Returns
    -------
    float
        0 for equal graphs.

    References
    ----------
    Dupré and Lam, Graph sparsification for kernel methods, section 5.

    Examples
    --------
    >>> from closeknit.graphs import laplacian_distance
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> laplacian_distance(triangle, triangle)
    0.0
    """
    original, sparser = check_graphs(W, W_sparse)
    return Energies(original, n_eigenvectors).distance(sparser)


class Spectrum:
    """The eigenvalues of one symmetric graph, to compare those of others with."""

    def __init__(self, W: csr_matrix, matrix: str, n_eigenvalues: int | None) -> None:
        self._matrix, self._count = matrix, n_eigenvalues
        n = W.shape[0]
        if n_eigenvalues is None and n > _LARGEST_DENSE:
            raise ValueError(
                f"all eigenvalues of {n} points would take an array of {8e-9 * n**2:.1f} GB; "
                "set n_eigenvalues, for example to 100"
            )
        self._values = self._eigenvalues(W)

    def _eigenvalues(self, W: csr_matrix) -> Array:
        return _largest_eigenvalues(laplacian(W) if self._matrix == "laplacian" else W, self._count)

    def distance(self, W: csr_matrix) -> float:
        """D₁."""
        v, v_s = self._values, self._eigenvalues(W)
        overlap, norms = inner(v, v_s), np.abs(v).sum() * np.abs(v_s).sum()
        return float(norms / overlap) if overlap > 0.0 else float("inf")


class Energies:
    """vᵀLv of the top eigenvectors of one symmetric graph, to compare those of others with."""

    def __init__(self, W: csr_matrix, n_eigenvectors: int) -> None:
        if n_eigenvectors < 1:
            raise ValueError(f"n_eigenvectors={n_eigenvectors} must be at least 1")
        L = laplacian(W)
        self._vectors = _top_eigenvectors(L, n_eigenvectors)
        self._energies = self._of(L)

    def _of(self, L: csr_matrix) -> Array:
        return np.asarray(np.einsum("ij,ij->j", self._vectors, L @ self._vectors))

    def distance(self, W: csr_matrix) -> float:
        """D₂."""
        return float(np.square(self._energies - self._of(laplacian(W))).sum())


def check_graphs(*graphs: Any) -> list[csr_matrix]:
    """Return graphs of the same points as symmetric weights, or say what is wrong."""
    checked = [check_symmetric(graph, "weights of graphs") for graph in graphs]
    sizes = sorted({W.shape[0] for W in checked})
    if len(sizes) > 1:
        numbers = " and ".join(map(str, sizes))
        raise ValueError(f"the graphs must have the same points, got {numbers} of them")
    return checked


def _largest_eigenvalues(M: Any, count: int | None) -> Array:
    """The largest eigenvalues, in descending order."""
    n = M.shape[0]
    if count is None or count >= n - 1:
        with single_threaded_blas():
            return np.linalg.eigvalsh(M.toarray())[::-1][:count]
    if count < 1:
        raise ValueError(f"n_eigenvalues={count} must be at least 1")
    return np.sort(_lanczos(M, count, vectors=False))[::-1]


def _top_eigenvectors(M: Any, count: int) -> Array:
    n = M.shape[0]
    # Lanczos needs room for more vectors than it returns; for few points nothing is saved.
    if n <= 200 or 4 * count > n:
        with single_threaded_blas():
            return np.linalg.eigh(M.toarray())[1][:, ::-1][:, :count]
    return _lanczos(M, count, vectors=True)[1]


def _lanczos(M: Any, count: int, *, vectors: bool) -> Any:
    from scipy.sparse.linalg import eigsh

    # A fixed start, so that the same graph gives the same bits.
    start = np.random.default_rng(0).standard_normal(M.shape[0])
    with single_threaded_blas():
        return eigsh(M, count, which="LA", v0=start, return_eigenvectors=vectors)
