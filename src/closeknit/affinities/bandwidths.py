"""The core on given distances: one bandwidth per row (section 2 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._arrays import Array
from closeknit._checks import check_number
from closeknit._threads import effective_n_jobs
from closeknit.affinities.any_kernel import solve_for_kernel
from closeknit.affinities.orders import ORDERS, Continuation, RandomOrder, Regression
from closeknit.affinities.root_finders import ROOT_FINDERS, Halley, RootFinder
from closeknit.affinities.solution import Bandwidths, warn_of_rows
from closeknit.affinities.traversal import Order, RowProblem, Traversal
from closeknit.affinities.validation import (
    check_kernel,
    check_perplexity,
    check_sq_distances,
    scales_of,
)
from closeknit.kernels import GAUSSIAN, Kernel


def solve_bandwidths(
    sq_distances: ArrayLike,
    perplexity: float | ArrayLike,
    *,
    kernel: str | Kernel = "gaussian",
    method: str | RootFinder = "auto",
    order: str | Order = "auto",
    tol: float = 1e-10,
    indices: ArrayLike | None = None,
    allow_missing: bool = False,
    n_jobs: int | None = -1,
    random_state: Any = None,
    out: Array | None = None,
) -> Bandwidths:
    """Find for each row of squared distances the bandwidth that gives it the perplexity K.

    Parameters
    ----------
    sq_distances : array-like of shape (n_samples, n_neighbors)
        Squared distances of each point to its neighbours, without the point itself unless it shall
        count. Rows sorted in increasing order are fastest; other rows are solved as exactly.
    perplexity : float or array-like of shape (n_samples,)
        The effective number of neighbours K, one or per row, from 1 to less than n_neighbors.
    kernel : {"gaussian", "student", "exponential", "epanechnikov"} or Kernel, default="gaussian"
        The K of ``p_j ∝ K(β d_j)``, with squared distances d and β = 1/(2σ²): exp(−t), 1/(1 + t),
        exp(−√t), max(0, 1 − t), or another one whose elasticity falls with t, such as
        ``closeknit.kernels.student(3.0)``. Others than the Gaussian take several times as long:
        after the Gaussian's solution, Newton's method from its root, or by `order` from that of a
        :class:`~closeknit.affinities.Continuation`, safeguarded by bisection.
    method : {"auto", "newton", "halley", "euler", "bisection", "brent", "ridders"} or RootFinder
        ``"auto"`` takes about two passes over the distances (Halley's method if an `order` is
        given). The derivative-based methods run inside the paper's Algorithm 1.
    order : {"auto", "bounds", "density", "gap", "neighbor", "mst", "random", "given", "oracle"} \
            or Order
        Where each row starts. ``"auto"`` guesses the root by a regression and needs no order; see
        :mod:`closeknit.affinities` for the others.
    tol : float, default=1e-10
        Largest ``|H − log K|``, in nats; where H is flat also the largest error of log β.
    indices : array-like of shape (n_samples, n_neighbors), optional
        Which points the distances belong to; only ``order="mst"`` needs them.
    allow_missing : bool, default=False
        Whether ``inf`` may stand for a neighbour that is missing. It gets affinity 0.
    n_jobs : int or None, default=-1
        Number of threads; the result is the same to the bit for any.
    random_state : int, RandomState or None, default=None
        For ``order="random"``.
    out : ndarray of float64 of the shape of `sq_distances`, optional
        Where the affinities go; C-contiguous. None makes a new array.

    Returns
    -------
    Bandwidths

    Warns
    -----
    NoBandwidthWarning
        If some rows have no root. As β grows the entropy falls to log m, where m neighbours tie at
        the smallest distance, not to 0, so a root exists for m < K < n_neighbors only. Rows with
        m ≥ K get the limit, the uniform distribution over the ties (β = inf, σ = 0), and so do
        rows whose gaps to the smallest distance are below 1e-300 of the K-th; rows of equal
        distances, and rows with no more than K neighbours present, the uniform distribution
        (β = 0, σ = inf). Under a kernel with heavy tails, such as Student's, the entropy need not
        fall as far: rows on which it stays above log K get the limit (β = inf, σ = 0). The
        `converged` of all these is False.

    References
    ----------
    Vladymyrov and Carreira-Perpiñán (2013), Entropic affinities: properties and efficient numerical
    computation, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> import closeknit as ck
    >>> d = np.sort(np.random.default_rng(0).random((1000, 90)), axis=1)
    >>> solution = ck.solve_bandwidths(d, perplexity=30.0)
    >>> bool(abs(solution.perplexities - 30.0).max() < 1e-8)
    True
    """
    d = check_sq_distances(sq_distances)
    k = check_perplexity(perplexity, *d.shape)
    check_number("tol", tol, share=True)
    if indices is not None:
        indices = np.asarray(indices)
        if indices.shape != d.shape:
            raise ValueError(
                f"indices have shape {indices.shape}, sq_distances have {d.shape}; "
                "they must be the same"
            )
    if out is not None and not (
        isinstance(out, np.ndarray)
        and out.shape == d.shape
        and out.dtype == np.float64
        and out.flags.carray
    ):
        raise ValueError(
            f"out must be a C-contiguous array of float64 of shape {d.shape} that can be written to"
        )
    problem = RowProblem(d, k, indices, effective_n_jobs(n_jobs))
    resolved = resolve(method, order, kernel, random_state)
    solution = solve(problem, *resolved, tol=tol, allow_missing=allow_missing, affinities=out)
    warn_of_rows(solution.status, stacklevel=3)
    return solution


def solve_perplexities(
    sq_distances: ArrayLike, perplexities: Sequence[float], **options: Any
) -> list[Bandwidths]:
    """Find the bandwidths at several perplexities, each from those at the one before.

    Parameters
    ----------
    sq_distances : array-like of shape (n_samples, n_neighbors)
    perplexities : sequence of float
        Best in ascending or descending order: the nearer they are to each other, the better the
        starts.
    **options
        Further parameters of :func:`solve_bandwidths`; its `order` is that of the first perplexity.

    Returns
    -------
    list of Bandwidths

    Examples
    --------
    >>> import numpy as np
    >>> import closeknit as ck
    >>> d = np.sort(np.random.default_rng(0).random((1000, 90)), axis=1)
    >>> path = ck.affinities.solve_perplexities(d, [20, 25, 30], kernel="exponential")
    >>> [float(s.perplexities.mean().round(6)) for s in path]
    [20.0, 25.0, 30.0]
    >>> bool(path[1].evaluations.mean() < path[0].evaluations.mean())
    True
    """
    path: list[Bandwidths] = []
    for perplexity in scales_of(list(perplexities)):
        path.append(solve_bandwidths(sq_distances, perplexity, **options))
        options["order"] = Continuation(path[-1])
    return path


def solve(
    problem: RowProblem,
    finder: RootFinder | None,
    order: Order,
    kernel: Kernel,
    *,
    tol: float,
    allow_missing: bool = False,
    affinities: Array | None = None,
) -> Bandwidths:
    """Solve a problem that has been checked, without warning of rows that have no root.

    The affinities are written to `affinities` if that is given.
    """
    d, k = problem.sq_distances, problem.perplexity
    n = len(d)
    out = (
        np.empty(d.shape) if affinities is None else affinities,
        *np.empty((3, n)),
        np.empty(n, np.int32),
        np.empty(n, np.uint8),
    )
    core_problem = _core.EntropicProblem(d, k, tol, allow_missing, *out)
    continued = kernel != GAUSSIAN and isinstance(order, Continuation)
    gaussian = Regression() if continued else order
    start = gaussian.fit(problem) if isinstance(gaussian, Regression) else None
    if finder is None and start is not None and start.ranks:
        model = (list(start.ranks), list(start.weights), start.intercept)
        _core.solve_from_model(core_problem, model, problem.n_jobs)
    else:
        finder = finder or Halley()
        plan = (start or gaussian).plan(problem)
        if not isinstance(plan, Traversal):
            raise TypeError(f"the order made {plan!r}; it must be a closeknit.affinities.Traversal")
        steps = getattr(finder, "max_inner", 1)
        row_order = _core.RowOrder(plan.sequence, plan.parent, plan.runs, plan.waves, plan.starts)
        _core.solve_in_order(core_problem, finder.code, steps, row_order, problem.n_jobs)
    affinities, betas, sigmas, slopes, evaluations, status = out
    if kernel != GAUSSIAN:
        # Which rows have a root does not depend on the kernel, but for heavy tails.
        starts = order.starts(problem) if isinstance(order, Continuation) else None
        solve_for_kernel(problem, kernel, starts, tol, out)
    return Bandwidths(betas, sigmas, affinities, evaluations, status, slopes, k, start)


def to_csr(indices: NDArray[Any], affinities: Array, n_columns: int) -> Any:
    """Rows of affinities as a CSR matrix that owns its arrays; missing neighbours are left out.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.affinities import to_csr
    >>> to_csr(np.array([[1], [0], [-1]]), np.ones((3, 1)), n_columns=3).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    n, k = indices.shape
    missing = indices < 0
    if missing.any():
        present = ~missing
        pointers = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return csr_matrix((affinities[present], indices[present], pointers), shape=(n, n_columns))
    pointers = np.arange(0, n * k + 1, k)
    return csr_matrix((affinities.reshape(-1), indices.flatten(), pointers), shape=(n, n_columns))


def resolve(
    method: str | RootFinder, order: str | Order, kernel: str | Kernel, random_state: Any = None
) -> tuple[RootFinder | None, Order, Kernel]:
    """Turn names into a root finder (None for ``"auto"``), an order and a kernel."""
    if isinstance(method, RootFinder) or method == "auto":
        finder = None if isinstance(method, str) else method
    elif method in ROOT_FINDERS:
        finder = ROOT_FINDERS[method]()
    else:
        raise ValueError(
            f"unknown method {method!r}; use 'auto', {', '.join(map(repr, ROOT_FINDERS))} "
            "or an object such as closeknit.affinities.Halley()"
        )
    if isinstance(order, Order) and not isinstance(order, str):
        strategy = order
    elif order in ORDERS:
        strategy = RandomOrder(random_state) if order == "random" else ORDERS[order]()
    else:
        raise ValueError(
            f"unknown order {order!r}; use {', '.join(map(repr, ORDERS))} or an object: for the "
            "pixels of an image closeknit.affinities.Raster((height, width))"
        )
    return finder, strategy, GAUSSIAN if kernel == "gaussian" else check_kernel(kernel)
