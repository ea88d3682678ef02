"""The smoothest vectors on a graph: leading eigenvectors of its normalised Laplacian.

They minimise Σ w (u_n − u_m)² under uᵀDu = 1. Small graphs go to LAPACK. Large ones are solved by
preconditioned block iterations (LOBPCG) with an approximate factor of the Laplacian: the wanted
eigenvalues lie close together, at the end of the spectrum where Lanczos iterations are slow, and
the inverse spreads them out.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

from closeknit.exceptions import NotConvergedWarning
from closeknit.linalg.csr import Array
from closeknit.linalg.factors import ApproximateCholesky
from closeknit.linalg.products import multiply
from closeknit.linalg.strongest import thin
from closeknit.linalg.subspace import Subspace
from closeknit.progress import report

__all__ = ["Eigenvectors", "graph_eigenvectors"]

#: Below this many points a dense eigensolver is as fast and cannot fail to converge.
DENSE = 500
#: Of the graph whose factor preconditions. With 10 it takes less time to factor, but up to twice
#: the iterations; with 40 all is a fifth faster on graphs of some 250,000 points and slower on
#: those of 70,000 and fewer (benchmarks/eigenvectors.py).
N_NEIGHBORS = 20
#: Residuals of this size are as good as zero: the matrix has a norm of at most 2.
ROUNDING = 1e-12
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True)
class Eigenvectors:
    """Eigenpairs of I − D^(−1/2) W D^(−1/2), the smallest eigenvalues first.

    Attributes
    ----------
    values : ndarray of shape (n_vectors,)
        From 0 to 2.
    vectors : ndarray of shape (n_samples, n_vectors)
        Orthonormal. Divided by `roots` they solve L u = λ D u.
    roots : ndarray of shape (n_samples,)
        Square roots of the degrees; 1 for isolated points.
    n_iter : int
        Block iterations; 0 if the solution is direct.
    converged : bool
    """

    values: Array
    vectors: Array
    roots: Array
    n_iter: int
    converged: bool


def graph_eigenvectors(
    W: Any,
    n_vectors: int,
    *,
    tol: float = 1e-4,
    max_iter: int = 200,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Eigenvectors:
    """Eigenvectors of the normalised Laplacian with the smallest eigenvalues.

    Parameters
    ----------
    W : csr_matrix of shape (n_samples, n_samples)
        Symmetric, non-negative weights without diagonal. Any number of connected components: the
        eigenvectors of eigenvalue zero, one for each, are exact.
    n_vectors : int
        From 1 to n_samples.
    tol : float, default=1e-4
        An eigenvector is accepted when its relative error in the norm of the Laplacian, estimated
        by the preconditioned residual, is below this, or its residual is near rounding error. Its
        eigenvalue is then good to about ``tol**2``.
    max_iter : int, default=200
    random_state : int, RandomState or None, default=None
        Seeds the start.
    n_jobs : int or None, default=-1
        Threads; the vectors are the same for any.

    Returns
    -------
    Eigenvectors
        The sign of each vector makes its entry of largest magnitude positive.

    Warns
    -----
    NotConvergedWarning
        If `max_iter` came first.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import graph_eigenvectors
    >>> path = csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> graph_eigenvectors(path, 3).values.round(6)
    array([0., 1., 2.])
    """
    W = sparse.csr_matrix(W, dtype=np.float64)
    n = W.shape[0]
    if not 1 <= n_vectors <= n:
        raise ValueError(f"n_vectors={n_vectors} must be from 1 to the number of points, {n}")
    degrees = np.asarray(W.sum(axis=1)).ravel()
    roots = np.sqrt(np.where(degrees > 0.0, degrees, 1.0))
    kernel = _kernel(W, roots)
    n_zero = min(n_vectors, kernel.shape[1])
    wanted = n_vectors - n_zero
    known = kernel[:, :n_zero].toarray()
    if wanted == 0:
        return _signed(np.zeros(n_zero), known, roots, 0, True)
    if n <= max(DENSE, 5 * n_vectors):
        found = _direct(W, roots, kernel, wanted)
    else:
        rng = check_random_state(random_state)
        report("eigenvectors", 0, 100)
        found = _Iteration(W, roots, kernel, rng, n_jobs).run(wanted, tol, max_iter)
    values, vectors, n_iter, converged = found
    if not converged:
        warnings.warn(
            f"{wanted} eigenvectors of a graph of {n} points were not found to a tolerance of "
            f"{tol:g} in max_iter={max_iter} iterations; the best so far are used",
            NotConvergedWarning,
            stacklevel=2,
        )
    return _signed(
        np.concatenate([np.zeros(n_zero), values]),
        np.hstack([known, vectors]),
        roots,
        n_iter,
        converged,
    )


def _signed(values: Array, vectors: Array, roots: Array, n_iter: int, converged: bool) -> Any:
    top = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return Eigenvectors(values, vectors * np.where(top < 0.0, -1.0, 1.0), roots, n_iter, converged)


def _kernel(W: Any, roots: Array) -> Any:
    """D^(1/2) times the indicator of each component, of length one; the largest come first."""
    count, label = connected_components(W, directed=False)
    sizes = np.bincount(label)
    place = np.empty(count, dtype=np.int64)
    place[np.argsort(-sizes, kind="stable")] = np.arange(count)
    column = place[label]
    lengths = np.sqrt(np.bincount(column, roots**2))
    n = len(roots)
    entries = roots / lengths[column]
    return sparse.csr_matrix((entries, column, np.arange(n + 1)), shape=(n, count))


def _normalized(W: Any, roots: Array) -> Any:
    scale = sparse.diags(1.0 / roots)
    return sparse.csr_matrix(scale @ W @ scale)


Found = tuple[Array, Array, int, bool]


def _direct(W: Any, roots: Array, kernel: Any, wanted: int) -> Found:
    matrix = -_normalized(W, roots).toarray()
    matrix[np.diag_indices_from(matrix)] += 1.0
    # Eigenvalues lie in [0, 2]: what is known is lifted out of the way.
    matrix += 4.0 * (kernel @ kernel.T).toarray()
    values, vectors = np.linalg.eigh(matrix)
    return values[:wanted], vectors[:, :wanted], 0, True


class _Iteration:
    """Locally optimal block preconditioned iterations, orthogonal to the kernel."""

    def __init__(self, W: Any, roots: Array, kernel: Any, rng: Any, n_jobs: int | None) -> None:
        self._n_jobs = n_jobs
        self._A = _normalized(W, roots)
        self._root = roots[:, None]
        self._kernel = kernel
        self._kernel_t = kernel.T.tocsr()
        self._factor = ApproximateCholesky.of_graph(
            thin(W, N_NEIGHBORS, n_jobs=n_jobs), np.zeros(len(roots)), n_jobs=n_jobs
        )
        self._rng = rng

    def _apply(self, V: Array) -> Array:
        return V - multiply(self._A, V, self._n_jobs)

    def _precondition(self, R: Array) -> tuple[Array, Array]:
        """T R for T ≈ A⁻¹, and the diagonal of RᵀTR; overwrites `R`."""
        R *= self._root
        H = self._factor.solve(R)
        energies = np.einsum("ij,ij->j", R, H)
        H *= self._root
        return self._project(H), energies

    def _project(self, V: Array) -> Array:
        """Take from `V` what it has of the kernel, in place."""
        V -= self._kernel @ (self._kernel_t @ V)
        return V

    def run(self, wanted: int, tol: float, max_iter: int) -> Found:
        n, n_zero = self._kernel.shape
        # More vectors than are wanted: convergence depends on the gap behind the last of all.
        size = min(wanted + max(4, wanted // 2), n - n_zero)
        X = self._project(self._rng.standard_normal((n, size)))
        space = Subspace(X, self._apply(X), self._n_jobs)
        way = _Way(tol)
        for n_iter in range(max_iter + 1):
            R, squares = space.residuals()
            nonzero = squares > ROUNDING**2
            H, energies = self._precondition(_columns(R, nonzero))
            # An eigenvalue is too large by about the energy of its vector's error, rᵀTr.
            errors = np.zeros(size)
            errors[nonzero] = np.sqrt(energies / np.maximum(space.values[nonzero], TINY))
            active = errors > tol
            way.tell(errors[:wanted])
            if n_iter == max_iter or not active[:wanted].any():
                break
            H = _columns(H, active[nonzero])
            space.orthogonalize(H)
            space.improve(H, self._apply(H), active)
        return space.values[:wanted], space.vectors[:, :wanted], n_iter, not active[:wanted].any()


class _Way:
    """How far the largest error has come down to the tolerance, in decades, for who listens."""

    def __init__(self, tol: float) -> None:
        self._tol = tol
        self._first = self._done = 0.0

    def tell(self, errors: Array) -> None:
        worst = max(float(errors.max(initial=0.0)), self._tol)
        decades = math.log10(worst / self._tol)
        self._first = max(self._first, decades)
        if self._first > 0.0:
            self._done = max(self._done, 1.0 - decades / self._first)
        report("eigenvectors", round(100.0 * self._done), 100)


def _columns(A: Array, wanted: NDArray[np.bool_]) -> Array:
    """Some columns, or the array itself if they are all."""
    return A if wanted.all() else np.ascontiguousarray(A[:, wanted])
