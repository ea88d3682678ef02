"""Approximate Cholesky factorisation of Laplacians, in time nearly linear in their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.linalg.csr import Array, canonical, entry_rows, row_sums, with_data

__all__ = ["ApproximateCholesky"]


class ApproximateCholesky:
    """An approximate factor F D Fᵀ of a Laplacian, or of a Laplacian with more on its diagonal.

    The matrix must be symmetric, with no positive entry off the diagonal and no negative row sum:
    the Laplacian of a graph whose weights are the negative off-diagonal entries, plus a diagonal,
    the excess. Points are eliminated one by one, those with the fewest neighbours first.
    Exact elimination would join all neighbours of a point to each other; here each is joined to one
    heavier neighbour drawn at random, so that the factor has few entries (two to three times the
    matrix's on neighbour graphs) and the product of the factors has the matrix as its mean. On a
    tree the factorisation is exact.

    F D Fᵀ is symmetric and positive definite whatever was drawn. It serves as a matrix in its own
    right, as in the spectral direction, or as a preconditioner: on neighbour graphs the
    preconditioned matrix has a condition number below 10 where Jacobi's is in the hundreds
    (``benchmarks/results/factors.md``).

    Parameters
    ----------
    matrix : csr_matrix of shape (n_samples, n_samples)
        Not changed.
    random_state : int, RandomState or None, default=0
        The same number gives the same factor, on any number of threads.
    n_jobs : int or None, default=-1
        Threads that share many right-hand sides.

    Notes
    -----
    Row sums below their rounding error are taken for zero. A connected component whose rows all sum
    to zero is singular along its constants; like the pseudo-inverse, :meth:`solve` ignores the mean
    of the right-hand side there and returns a solution whose mean is zero. Ctrl-C interrupts the
    factorisation.

    References
    ----------
    R. Kyng and S. Sachdeva, "Approximate Gaussian elimination for Laplacians – fast, sparse, and
    simple", FOCS 2016.

    Y. Gao, R. Kyng and D. A. Spielman, "Robust and practical solution of Laplacian equations by
    approximate elimination", arXiv:2303.00709, 2023.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.linalg import ApproximateCholesky
    >>> path = csr_matrix([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
    >>> factor = ApproximateCholesky(path)
    >>> factor.solve(np.array([1.0, 0.0, 0.0]))
    array([0.75, 0.5 , 0.25])
    >>> factor.nnz
    5

    As a preconditioner:

    >>> from scipy.sparse.linalg import LinearOperator, cg
    >>> x, info = cg(path, np.ones(3), M=LinearOperator((3, 3), matvec=factor.solve))
    >>> x.round(6)
    array([1.5, 2. , 1.5])
    """

    def __init__(
        self, matrix: csr_matrix, random_state: Any = 0, *, n_jobs: int | None = -1
    ) -> None:
        self._factorize(*_split(matrix), random_state, n_jobs)

    @classmethod
    def of_graph(
        cls,
        weights: csr_matrix,
        excess: ArrayLike,
        random_state: Any = 0,
        *,
        n_jobs: int | None = -1,
    ) -> ApproximateCholesky:
        """Factorise diag(excess) + the Laplacian of `weights`, without rounding the row sums.

        Parameters
        ----------
        weights : csr_matrix of shape (n_samples, n_samples)
            Symmetric (which is not checked) and not negative; the diagonal is ignored.
        excess : array-like of shape (n_samples,)
            Not negative.
        random_state : int, RandomState or None, default=0
        n_jobs : int or None, default=-1

        Returns
        -------
        ApproximateCholesky

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.sparse import csr_matrix
        >>> from closeknit.linalg import ApproximateCholesky
        >>> edge = csr_matrix([[0.0, 1.0], [1.0, 0.0]])
        >>> ApproximateCholesky.of_graph(edge, [1.0, 0.0]).solve(np.array([0.0, 1.0]))
        array([1., 2.])
        """
        factor = cls.__new__(cls)
        factor._factorize(*_checked(weights, excess), random_state, n_jobs)
        return factor

    def refreshed(self, weights: csr_matrix, excess: ArrayLike) -> ApproximateCholesky:
        """Factorise another matrix in the same order of elimination, which takes less time.

        Meant for weights that change while the pattern stays; another pattern of the same size is
        factorised too, only in an order that does not suit it.

        Parameters
        ----------
        weights, excess
            As in :meth:`of_graph`.

        Returns
        -------
        ApproximateCholesky
            A new factor; this one stays as it is.

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.sparse import csr_matrix
        >>> from closeknit.linalg import ApproximateCholesky
        >>> edge = csr_matrix([[0.0, 1.0], [1.0, 0.0]])
        >>> factor = ApproximateCholesky.of_graph(edge, [1.0, 0.0])
        >>> factor.refreshed(2 * edge, [1.0, 0.0]).solve(np.array([0.0, 1.0]))
        array([1. , 1.5])
        """
        factor = type(self).__new__(type(self))
        factor._factorize(*_checked(weights, excess), self._seed, self._n_jobs, self._core)
        return factor

    def _factorize(
        self,
        weights: csr_matrix,
        excess: Array,
        random_state: Any,
        n_jobs: int | None,
        like: _core.ApproximateCholesky | None = None,
    ) -> None:
        if not isinstance(random_state, int | np.integer):
            from sklearn.utils import check_random_state

            random_state = check_random_state(random_state).randint(2**63, dtype=np.uint64)
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state={random_state!r} must be from 0 to 2**64 - 1")
        self._n, self._n_jobs, self._seed = len(excess), n_jobs, int(random_state)
        self._core = _core.approximate_cholesky(_core.Graph(weights), excess, self._seed, like)

    @property
    def nnz(self) -> int:
        """Entries of F, its diagonal included."""
        return self._core.nnz

    @property
    def order(self) -> NDArray[np.int32]:
        """The points in the order of their elimination."""
        return self._core.order

    def solve(self, rhs: Array) -> Array:
        """Return (F D Fᵀ)⁻¹·rhs for one right-hand side or all columns of an array.

        Parameters
        ----------
        rhs : ndarray of shape (n_samples,) or (n_samples, n_columns)

        Returns
        -------
        ndarray of rhs's shape

        Examples
        --------
        >>> import numpy as np
        >>> from scipy.sparse import csr_matrix
        >>> from closeknit.linalg import ApproximateCholesky
        >>> edge = csr_matrix([[1.0, -1.0], [-1.0, 1.0]])
        >>> ApproximateCholesky(edge).solve(np.array([1.0, -1.0]))  # singular: a mean of zero
        array([ 0.5, -0.5])
        """
        columns = np.ascontiguousarray(rhs, dtype=np.float64)
        shape = columns.shape
        if len(shape) not in (1, 2) or shape[0] != self._n:
            raise ValueError(f"rhs has shape {shape}, but there are {self._n} points")
        columns = columns.reshape(self._n, 1 if len(shape) == 1 else shape[1])
        out = np.empty_like(columns)
        self._core.solve(columns, out, effective_n_jobs(self._n_jobs))
        return out.reshape(shape)


def _split(matrix: csr_matrix) -> tuple[csr_matrix, Array]:
    """Return the weights and the row sums of a matrix, or say why it cannot be factorised."""
    matrix = canonical(matrix, name="a matrix to factorise")
    n = matrix.shape[0]
    excess = row_sums(matrix)
    _refuse(~np.isfinite(excess), "holds a value that is not finite")
    rows = entry_rows(matrix)
    wrong = rows[(matrix.data > 0.0) & (matrix.indices != rows)]
    _refuse(np.bincount(wrong, minlength=n) > 0, "has a positive entry off the diagonal")
    # Summing k terms loses up to k roundings of their absolute sum.
    rounding = np.finfo(np.float64).eps * (np.diff(matrix.indptr) + 2) * row_sums(abs(matrix))
    probe = np.random.default_rng(0).uniform(0.5, 1.0, n)
    _refuse(abs(matrix @ probe - matrix.T @ probe) > 2 * rounding, "is not that of its column")
    _refuse(excess < -rounding, "sums to less than zero")
    excess[excess <= rounding] = 0.0
    return with_data(matrix, -matrix.data), excess


def _checked(weights: csr_matrix, excess: ArrayLike) -> tuple[csr_matrix, Array]:
    weights = canonical(weights, name="a matrix to factorise")
    n = weights.shape[0]
    values = np.ascontiguousarray(excess, dtype=np.float64)
    if values.shape != (n,):
        raise ValueError(f"excess has shape {values.shape}, but there are {n} points")
    _refuse(~((values >= 0.0) & np.isfinite(values)), "has an excess that is negative or infinite")
    with np.errstate(over="ignore"):
        total = weights.data.sum()
    if not (weights.data.min(initial=0.0) >= 0.0 and np.isfinite(total)):
        raise ValueError("weights must be finite and not negative, and their sum finite")
    return weights, values


def _refuse(wrong: NDArray[np.bool_], problem: str) -> None:
    if wrong.any():
        raise ValueError(
            f"row {int(np.argmax(wrong))} {problem}; the approximate factorisation is for "
            "symmetric matrices with off-diagonal entries and row sums of Laplacians (≤ 0 and "
            "≥ 0): use solver='sparse' for others"
        )
