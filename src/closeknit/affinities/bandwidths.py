"""The core on given distances: one bandwidth per row (section 2 of the paper)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.affinities.orders import ORDERS, RandomOrder, Regression
from closeknit.affinities.root_finders import ROOT_FINDERS, Halley, RootFinder
from closeknit.affinities.traversal import Order, RowProblem, Traversal
from closeknit.affinities.validation import check_perplexity, check_sq_distances, invalid_row
from closeknit.exceptions import NoBandwidthWarning

__all__ = [
    "Bandwidths",
    "Status",
    "perplexity_of_rows",
    "resolve_method",
    "resolve_order",
    "solve",
    "solve_bandwidths",
    "to_csr",
    "warn_of_rows",
]


class Status(IntEnum):
    """What became of a row; the numbers are those of the compiled core."""

    CONVERGED = 0
    TIES = 1
    CONSTANT = 2
    TOO_FEW = 3
    INVALID = 4
    STALLED = 5
    MISSING = 6


_WHY = {
    Status.TIES: "{n} with as many neighbours tied at the smallest distance as the perplexity, or "
    "more (uniform over the ties, sigma = 0)",
    Status.CONSTANT: "{n} whose distances are all equal (uniform, sigma = inf)",
    Status.TOO_FEW: "{n} with no more neighbours than the perplexity (uniform, sigma = inf)",
    Status.STALLED: "{n} for which tol was not reached",
}


@dataclass(frozen=True)
class Bandwidths:
    """Solution of H(β) = log K for every row.

    Attributes
    ----------
    betas : ndarray of shape (n_samples,)
        Precisions β = 1/(2σ²).
    sigmas : ndarray of shape (n_samples,)
        Bandwidths σ.
    affinities : ndarray of shape (n_samples, n_neighbors)
        ``p_j ∝ exp(-β d_j)``; rows sum to 1.
    evaluations : ndarray of shape (n_samples,)
        Passes over the row's distances, in single or double precision.
    status : ndarray of shape (n_samples,)
        What became of each row: a :class:`Status`.
    start : Regression or None
        The fitted start of the order-free solver, to be passed as ``order`` for further rows.
    """

    betas: NDArray[np.float64]
    sigmas: NDArray[np.float64]
    affinities: NDArray[np.float64]
    evaluations: NDArray[np.int32]
    status: NDArray[np.uint8]
    slopes: NDArray[np.float64] | None = None
    start: Regression | None = None

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether each row has the wanted perplexity."""
        return self.status == Status.CONVERGED

    @cached_property
    def perplexities(self) -> NDArray[np.float64]:
        """Exp of each row's entropy, recomputed from the affinities."""
        return perplexity_of_rows(self.affinities)


def perplexity_of_rows(affinities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return exp(−Σ p log p) of every row, in chunks that stay in cache."""
    from scipy.special import entr

    out = np.empty(len(affinities))
    step = max(1, 2**18 // max(1, affinities.shape[1]))
    for i in range(0, len(affinities), step):
        out[i : i + step] = np.exp(entr(affinities[i : i + step]).sum(axis=1))
    return out


def solve_bandwidths(
    sq_distances: ArrayLike,
    perplexity: float | ArrayLike,
    *,
    method: str | RootFinder = "auto",
    order: str | Order = "auto",
    tol: float = 1e-10,
    indices: ArrayLike | None = None,
    allow_missing: bool = False,
    n_jobs: int | None = -1,
    random_state: Any = None,
) -> Bandwidths:
    """Find for each row of squared distances the bandwidth that gives it the perplexity K.

    Parameters
    ----------
    sq_distances : array-like of shape (n_samples, n_neighbors)
        Squared distances of each point to its neighbours, without the point itself unless it shall
        count. Rows sorted in increasing order are fastest; other rows are solved as exactly.
    perplexity : float or array-like of shape (n_samples,)
        The effective number of neighbours K, one or per row, from 1 to less than n_neighbors.
    method : {"auto", "newton", "halley", "euler", "bisection", "brent", "ridders"} or RootFinder
        ``"auto"`` takes about two passes over the distances (Halley's method if an `order` is
        given). The derivative-based methods run inside the paper's Algorithm 1.
    order : {"auto", "bounds", "density", "gap", "neighbor", "mst", "random", "given", "oracle"} \
            or Order
        Where each row starts. ``"auto"`` guesses the root by a regression and needs no order; see
        :mod:`closeknit.affinities.orders` for the others.
    tol : float, default=1e-10
        Largest |H − log K|, in nats; where H is flat also the largest error of log β.
    indices : array-like of shape (n_samples, n_neighbors), optional
        Which points the distances belong to; only ``order="mst"`` needs them.
    allow_missing : bool, default=False
        Whether ``inf`` may stand for a neighbour that is missing. It gets affinity 0.
    n_jobs : int or None, default=-1
        Number of threads; the result is the same to the bit for any.
    random_state : int, RandomState or None, default=None
        For ``order="random"``.

    Returns
    -------
    Bandwidths

    Warns
    -----
    NoBandwidthWarning
        If some rows have no root. As β grows the entropy falls to log m, where m neighbours tie at
        the smallest distance, not to 0, so a root exists for m < K < n_neighbors only. Rows with
        m ≥ K get the limit, the uniform distribution over the ties (β = inf, σ = 0); rows of equal
        distances, and rows with no more than K neighbours present, the uniform distribution
        (β = 0, σ = inf). Their `converged` is False.

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
    if not 0.0 < tol < 1.0:
        raise ValueError(f"tol={tol} must lie between 0 and 1")
    if indices is not None:
        indices = np.asarray(indices)
        if indices.shape != d.shape:
            raise ValueError(
                f"indices have shape {indices.shape}, sq_distances have {d.shape}; "
                "they must be the same"
            )
    problem = RowProblem(d, k, indices, effective_n_jobs(n_jobs))
    solution = solve(
        problem,
        method=method,
        order=order,
        tol=tol,
        random_state=random_state,
        allow_missing=allow_missing,
    )
    warn_of_rows(solution.status, stacklevel=3)
    return solution


def solve(
    problem: RowProblem,
    *,
    method: str | RootFinder,
    order: str | Order,
    tol: float,
    random_state: Any = None,
    allow_missing: bool = False,
    affinities: NDArray[np.float64] | None = None,
) -> Bandwidths:
    """Solve a problem that has been checked, without warning of rows that have no root.

    The affinities are written to `affinities` if that is given.
    """
    d, k = problem.sq_distances, problem.perplexity
    n = len(d)
    finder, strategy = resolve_method(method), resolve_order(order, random_state)
    out = (
        np.empty(d.shape) if affinities is None else affinities,
        *np.empty((3, n)),
        np.empty(n, np.int32),
        np.empty(n, np.uint8),
    )
    core_problem = _core.EntropicProblem(d, k, tol, allow_missing, *out)
    start = strategy.fit(problem) if isinstance(strategy, Regression) else None
    if finder is None and start is not None and start.ranks:
        model = (list(start.ranks), list(start.weights), start.intercept)
        _core.solve_from_model(core_problem, model, problem.n_jobs)
    else:
        finder = finder or Halley()
        plan = (start or strategy).plan(problem)
        if not isinstance(plan, Traversal):
            raise TypeError(f"the order made {plan!r}; it must be a closeknit.affinities.Traversal")
        steps = getattr(finder, "max_inner", 1)
        row_order = _core.RowOrder(plan.sequence, plan.parent, plan.runs, plan.waves, plan.starts)
        _core.solve_in_order(core_problem, finder.code, steps, row_order, problem.n_jobs)
    affinities, betas, sigmas, slopes, evaluations, status = out
    return Bandwidths(betas, sigmas, affinities, evaluations, status, slopes, start)


def to_csr(indices: NDArray[Any], affinities: NDArray[np.float64], n_columns: int) -> Any:
    """Rows of affinities as a CSR matrix that owns its arrays; missing neighbours are left out."""
    n, k = indices.shape
    missing = indices < 0
    if missing.any():
        present = ~missing
        pointers = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
        return csr_matrix((affinities[present], indices[present], pointers), shape=(n, n_columns))
    pointers = np.arange(0, n * k + 1, k)
    return csr_matrix((affinities.reshape(-1), indices.flatten(), pointers), shape=(n, n_columns))


def resolve_method(method: str | RootFinder) -> RootFinder | None:
    """Turn a name into a root finder; ``"auto"`` gives None."""
    if isinstance(method, RootFinder):
        return method
    if method == "auto":
        return None
    if method in ROOT_FINDERS:
        return ROOT_FINDERS[method]()
    raise ValueError(
        f"unknown method {method!r}; use 'auto', {', '.join(map(repr, ROOT_FINDERS))} "
        "or an object such as closeknit.affinities.Halley()"
    )


def resolve_order(order: str | Order, random_state: Any = None) -> Order:
    """Turn a name into an order."""
    if isinstance(order, Order) and not isinstance(order, str):
        return order
    if order == "raster":
        raise ValueError(
            "order='raster' needs the image's shape; "
            "use closeknit.affinities.Raster((height, width))"
        )
    if order == "random":
        return RandomOrder(random_state)
    if order in ORDERS:
        return ORDERS[order]()
    raise ValueError(
        f"unknown order {order!r}; use {', '.join(map(repr, ORDERS))} "
        "or an object such as closeknit.affinities.Raster((height, width))"
    )


def warn_of_rows(status: NDArray[np.uint8], stacklevel: int) -> None:
    """Raise for rows that cannot be, warn once about those without a root.

    A row of several scales counts once, as the scale that fared worst.
    """
    if not status.any():
        return
    if status.ndim == 2:
        status = status.max(axis=1)
    count = np.bincount(status, minlength=len(Status))
    if count[Status.INVALID]:
        raise invalid_row(int(np.argmax(status == Status.INVALID)))
    if count[Status.MISSING]:
        row = int(np.argmax(status == Status.MISSING))
        raise ValueError(
            f"row {row} of the squared distances contains inf; rescale the data if distances "
            "overflow, or pass allow_missing=True if inf marks a missing neighbour"
        )
    reasons = [why.format(n=count[code]) for code, why in _WHY.items() if count[code]]
    if reasons:
        warnings.warn(
            f"{len(status) - count[Status.CONVERGED]} of {len(status)} points have no bandwidth of "
            f"the wanted perplexity: {'; '.join(reasons)}",
            NoBandwidthWarning,
            stacklevel=stacklevel,
        )
