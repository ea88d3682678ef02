"""Approximate Cholesky factorisation of Laplacians, in time nearly linear in their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import effective_n_jobs
from closeknit.linalg.csr import canonical, core_graph


class ApproximateCholesky:
    """An approximate factor F D Fᵀ of a Laplacian, or of a Laplacian with more on its diagonal.

    The matrix is diag(excess) + the Laplacian of a graph; its row sums, the excess, are never
    rounded. Points are eliminated one by one, those with the fewest neighbours first.
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
    weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric (which is not checked) and not negative; the diagonal is ignored.
    excess : array-like of shape (n_samples,)
        Not negative.
    random_state : int, RandomState or None, default=0
        The same number gives the same factor, on any number of threads.
    n_jobs : int or None, default=-1
        Threads that share the parts, or many right-hand sides.
    like : ApproximateCholesky or None, default=None
        Another factor of as many points, whose order of elimination, and parts, are taken, which
        saves time. Meant for weights that change while the pattern stays; another pattern is
        factorised, too, if no edge joins two parts, only in an order that does not suit it.
    parts : ndarray of int of shape (n_samples,) or None, default=None
        Parts of the graph that no edge joins, numbered from 0, and -1 for the points between them:
        see :func:`divide`. Threads factorise and solve the parts side by side, and those points
        come last. Not with `like`, whose parts are taken.
    check : bool, default=True
        Whether to bring the weights into canonical format. With False they must be a CSR matrix of
        float64 in that format, as those are that have been looked at before.

    Notes
    -----
    A connected component without excess is singular along its constants; like the pseudo-inverse,
    :meth:`solve` ignores the mean of the right-hand side there and returns a solution whose mean is
    zero. Ctrl-C interrupts the factorisation.

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
    >>> path = csr_matrix([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> factor = ApproximateCholesky(path, excess=[1.0, 0.0, 1.0])
    >>> factor.solve(np.array([1.0, 0.0, 0.0]))
    array([0.75, 0.5 , 0.25])
    >>> factor.nnz
    5

    As a preconditioner:

    >>> from scipy.sparse.linalg import LinearOperator, cg
    >>> B = np.array([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]])
    >>> x, info = cg(B, np.ones(3), M=LinearOperator((3, 3), matvec=factor.solve))
    >>> x.round(6)
    array([1.5, 2. , 1.5])
    """

    def __init__(
        self,
        weights: csr_matrix,
        excess: ArrayLike,
        random_state: Any = 0,
        *,
        n_jobs: int | None = -1,
        like: ApproximateCholesky | None = None,
        parts: Integers | None = None,
        check: bool = True,
    ) -> None:
        if check:
            weights = canonical(weights, name="a matrix to factorise")
        n = weights.shape[0]
        values = np.ascontiguousarray(excess, dtype=np.float64)
        if values.shape != (n,):
            raise ValueError(f"excess has shape {values.shape}, but there are {n} points")
        bad = ~((values >= 0.0) & np.isfinite(values))
        if bad.any():
            raise ValueError(f"excess[{bad.argmax()}] is negative or not finite")
        with np.errstate(over="ignore"):
            total = weights.data.sum()
        if not (weights.data.min(initial=0.0) >= 0.0 and np.isfinite(total)):
            raise ValueError("weights must be finite and not negative, and their sum finite")
        if not isinstance(random_state, int | np.integer):
            from sklearn.utils import check_random_state

            random_state = check_random_state(random_state).randint(2**63, dtype=np.uint64)
        if not 0 <= random_state < 2**64:
            raise ValueError(f"random_state={random_state!r} must be from 0 to 2**64 - 1")
        self._n, self._n_jobs, self._seed = n, n_jobs, int(random_state)
        earlier = None if like is None else like._factor
        if earlier is not None and parts is not None:
            raise ValueError("parts= and like= cannot both be given: like= has parts of its own")
        labels = None if parts is None else _check_parts(parts, n)
        self._factor: _core.ApproximateCholesky = _core.approximate_cholesky(
            core_graph(weights), values, self._seed, earlier, labels, effective_n_jobs(n_jobs)
        )

    @property
    def nnz(self) -> int:
        """Entries of F, its diagonal included."""
        return self._factor.nnz

    @property
    def order(self) -> Integers:
        """The points in the order of their elimination."""
        return self._factor.order()

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
        >>> edge = csr_matrix([[0.0, 1.0], [1.0, 0.0]])
        >>> factor = ApproximateCholesky(edge, excess=[0.0, 0.0])
        >>> factor.solve(np.array([1.0, -1.0]))  # singular: a mean of zero
        array([ 0.5, -0.5])
        """
        columns = np.ascontiguousarray(rhs, dtype=np.float64)
        shape = columns.shape
        if len(shape) not in (1, 2) or shape[0] != self._n:
            raise ValueError(f"rhs has shape {shape}, but there are {self._n} points")
        columns = columns.reshape(self._n, 1 if len(shape) == 1 else shape[1])
        out = np.empty_like(columns)
        self._factor.solve(columns, out, effective_n_jobs(self._n_jobs))
        return out.reshape(shape)


def _check_parts(parts: Integers, n: int) -> Integers:
    labels = np.asarray(parts)
    if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"parts must be {n} whole numbers, one for each point")
    if n and not (labels.min() >= -1 and labels.max() < n):
        raise ValueError("parts must be numbered from 0, and the points between them -1")
    return np.ascontiguousarray(labels, dtype=np.int32)
