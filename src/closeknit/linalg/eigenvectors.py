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
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from closeknit._arrays import Array, Flags, Integers
from closeknit._checks import check_finite
from closeknit._threads import single_threaded_blas
from closeknit.exceptions import NotConvergedWarning
from closeknit.linalg.approximate_cholesky import ApproximateCholesky
from closeknit.linalg.csr import canonical, multiply, row_sums
from closeknit.linalg.strongest import thin
from closeknit.linalg.subspace import Subspace
from closeknit.progress import report

#: Below this many points a dense eigensolver is as fast and cannot fail to converge.
DENSE = 500
#: Of the graph whose factor preconditions. With 10 it takes less time to factor, but up to twice
#: the iterations; with 40 all is a fifth faster on graphs of some 250,000 points and slower on
#: those of 70,000 and fewer (benchmarks/eigenvectors.py).
N_NEIGHBORS = 20
#: Residuals of this size are as good as zero: the matrix has a norm of at most 2.
ROUNDING = 1e-12
TINY = np.finfo(np.float64).tiny

#: Eigenvalues, eigenvectors, iterations, and why these ended.
_Found: TypeAlias = tuple[Array, Array, int, str]


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
    components : ndarray of int of shape (n_samples,)
        The connected component of each point, numbered by size: 0 is the largest and, of equally
        large ones, the one that comes first.
    n_iter : int
        Block iterations; 0 if the solution is direct.
    stopped_because : {"converged", "max_iter", "interrupted"}

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import graph_eigenvectors
    >>> edge = csr_matrix([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> found = graph_eigenvectors(edge, 2)
    >>> found.components, found.converged
    (array([1, 0, 0]), True)
    """

    values: Array
    vectors: Array
    roots: Array
    components: Integers
    n_iter: int
    stopped_because: str

    @property
    def converged(self) -> bool:
        """Whether all eigenvectors were found to the tolerance."""
        return self.stopped_because == "converged"


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
        If `max_iter` came first, or Ctrl-C after the first iteration: the best vectors so far are
        returned. (Before, there are none, and the interrupt is passed on.)

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import graph_eigenvectors
    >>> path = csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> graph_eigenvectors(path, 3).values.round(6)
    array([0., 1., 2.])
    """
    from sklearn.utils import check_random_state

    W = canonical(W, name="the graph")
    check_finite(W.data, "the graph")
    n = W.shape[0]
    if not 1 <= n_vectors <= n:
        raise ValueError(f"n_vectors={n_vectors} must be from 1 to the number of points, {n}")
    degrees = row_sums(W)
    roots = np.sqrt(np.where(degrees > 0.0, degrees, 1.0))
    components, kernel = _kernel(W, roots)
    n_zero = min(n_vectors, kernel.shape[1])
    wanted = n_vectors - n_zero
    found: _Found = np.empty(0), np.empty((n, 0)), 0, "converged"
    if wanted:
        scale = sparse.diags(1.0 / roots)
        A = csr_matrix(scale @ W @ scale)
        with single_threaded_blas():  # for bits that do not depend on the number of its threads
            if n <= max(DENSE, 5 * n_vectors):
                found = _direct(A, kernel, wanted)
            else:
                rng = check_random_state(random_state)
                found = _iterate(W, A, roots[:, None], kernel, wanted, tol, max_iter, rng, n_jobs)
    more, vectors, n_iter, stopped_because = found
    if stopped_because != "converged":
        interrupted = stopped_because == "interrupted"
        limit = f"{n_iter} iterations" if interrupted else f"max_iter={max_iter} iterations"
        warnings.warn(
            f"{'interrupted: ' * interrupted}{wanted} eigenvectors of a graph of {n} points were "
            f"not found to a tolerance of {tol:g} in {limit}; the best so far are used",
            NotConvergedWarning,
            stacklevel=2,
        )
    values = np.concatenate([np.zeros(n_zero), more])
    vectors = np.hstack([kernel[:, :n_zero].toarray(), vectors])
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(n_vectors)]
    vectors *= np.where(largest < 0.0, -1.0, 1.0)
    return Eigenvectors(values, vectors, roots, components, n_iter, stopped_because)


def _kernel(W: csr_matrix, roots: Array) -> tuple[Integers, csr_matrix]:
    """The component of each point by size, and D^(1/2) times their indicators, of length one."""
    count, label = connected_components(W, directed=False)
    by_size = np.empty(count, dtype=np.int64)
    by_size[np.argsort(-np.bincount(label), kind="stable")] = np.arange(count)
    component = by_size[label]
    lengths = np.sqrt(np.bincount(component, roots**2))
    entries, n = roots / lengths[component], len(roots)
    return component, csr_matrix((entries, component, np.arange(n + 1)), shape=(n, count))


def _direct(A: csr_matrix, kernel: csr_matrix, wanted: int) -> _Found:
    matrix = -A.toarray()
    matrix[np.diag_indices_from(matrix)] += 1.0
    # Eigenvalues lie in [0, 2]: those of the kernel, which is known, are moved beyond.
    matrix += 4.0 * (kernel @ kernel.T).toarray()
    values, vectors = np.linalg.eigh(matrix)
    return values[:wanted], vectors[:, :wanted], 0, "converged"


def _iterate(
    W: csr_matrix,
    A: csr_matrix,
    root: Array,
    kernel: csr_matrix,
    wanted: int,
    tol: float,
    max_iter: int,
    rng: Any,
    n_jobs: int | None,
) -> _Found:
    """Locally optimal block preconditioned iterations, orthogonal to the kernel."""
    n, n_zero = kernel.shape
    kernel_t = kernel.T.tocsr()
    report("eigenvectors", 0, 100)
    thinned = thin(W, N_NEIGHBORS, n_jobs=n_jobs)
    factor = ApproximateCholesky(thinned, np.zeros(n), n_jobs=n_jobs)
    # More vectors than are wanted: convergence depends on the gap behind the last of all.
    size = min(wanted + max(4, wanted // 2), n - n_zero)
    X = rng.standard_normal((n, size))
    X -= kernel @ (kernel_t @ X)
    space = Subspace(X, X - multiply(A, X, n_jobs), n_jobs)
    first = done = 0.0
    best: _Found = space.values, X, 0, "max_iter"
    try:
        for n_iter in range(max_iter + 1):
            # A copy, as a later interrupt may leave the space half changed.
            best = space.values[:wanted], space.vectors[:, :wanted], n_iter, "max_iter"
            R, squares = space.residuals()
            nonzero = squares > ROUNDING**2
            R = _columns(R, nonzero)
            R *= root
            H = factor.solve(R)
            # An eigenvalue is too large by about the energy of its vector's error, rᵀTr.
            energies = np.einsum("ij,ij->j", R, H)
            errors = np.zeros(size)
            errors[nonzero] = np.sqrt(energies / np.maximum(space.values[nonzero], TINY))
            active = errors > tol
            # How far the largest error has come down towards the tolerance, in decades.
            decades = math.log10(max(float(errors[:wanted].max()), tol) / tol)
            first = max(first, decades)
            done = max(done, 1.0 - decades / first) if first > 0.0 else done
            report("eigenvectors", round(100.0 * done), 100)
            if not active[:wanted].any():
                return *best[:3], "converged"
            if n_iter < max_iter:
                H *= root
                H -= kernel @ (kernel_t @ H)
                H = _columns(H, active[nonzero])
                space.orthogonalize(H)
                space.improve(H, H - multiply(A, H, n_jobs), active)
    except KeyboardInterrupt:
        if best[2] == 0:  # the start is as good as nothing
            raise
        return *best[:3], "interrupted"
    return best


def _columns(A: Array, wanted: Flags) -> Array:
    """Some columns, or the array itself if they are all."""
    return A if wanted.all() else np.ascontiguousarray(A[:, wanted])
