"""Entropic affinities: every point has the same effective number of neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closeknit._threads import effective_n_jobs
from closeknit.affinities.bandwidths import Bandwidths, resolve_method, resolve_order, solve
from closeknit.affinities.base import BaseAffinities
from closeknit.affinities.orders import Bounds, Regression
from closeknit.affinities.root_finders import RootFinder
from closeknit.affinities.scales import Mixture, average
from closeknit.affinities.traversal import Order, RowProblem
from closeknit.affinities.validation import check_perplexity, scales_of

__all__ = ["EntropicAffinities", "entropic_affinities"]


class EntropicAffinities(BaseAffinities):
    """Gaussian affinities whose bandwidths give every point the perplexity K.

    For each point x the bandwidth σ solves ``H(p(x; σ)) = log K``, where
    ``p_j ∝ exp(-‖x − x_j‖² / 2σ²)`` over its neighbours, almost to machine precision and in about
    two passes over the distances.

    Parameters
    ----------
    perplexity : float, or list or tuple of floats, default=30.0
        The effective number of neighbours K of each point; any real number from 1. Several mean
        that many scales: each is solved as if it were alone, and their affinities are averaged.
    n_neighbors : "auto", int or None, default="auto"
        Neighbours each point is compared with; ``"auto"`` means ⌈3K⌉, of the largest K. None means
        all other points and gives a dense matrix.
    metric : str, default="euclidean"
        Any metric of scikit-learn, ``"inner_product"``, or ``"precomputed"``.
    neighbors : {"auto", "exact", "approximate"} or object, default="auto"
        How neighbours are found: see :func:`closeknit.neighbors.find_neighbors`. May also be a
        :class:`~closeknit.neighbors.Neighbors` or a pair (indices, distances) for the points of X.
    method : str or RootFinder, default="auto"
        Root finder: see :func:`closeknit.solve_bandwidths`.
    order : str or Order, default="auto"
        Order of processing: see :func:`closeknit.solve_bandwidths`.
    include_self : bool, default=False
        Whether a point counts among its own neighbours, at distance 0.
    tol : float, default=1e-10
        Largest |H − log K| of a row.
    n_jobs : int or None, default=-1
        Number of threads; results are the same to the bit for any.
    random_state : int, RandomState or None, default=None
        Seeds the approximate neighbour search and ``order="random"``.
    verbose : bool, default=False
        Whether to report each stage on standard error.

    Attributes
    ----------
    affinities_ : csr_matrix or ndarray of shape (n_samples, n_samples)
        Row i is the distribution of point i; rows sum to 1.
    sigmas_, betas_ : ndarray of shape (n_samples,)
        Bandwidths σ and precisions β = 1/(2σ²).
    perplexities_ : ndarray of shape (n_samples,)
        Perplexity of each row, recomputed from the affinities.
    evaluations_ : ndarray of shape (n_samples,)
        Passes over each point's distances.
    converged_ : ndarray of bool of shape (n_samples,)
        False where no bandwidth has the wanted perplexity; see :func:`closeknit.solve_bandwidths`.
    neighbors_ : Neighbors or None
        The neighbours used; None if all points are.
    index_ : NeighborIndex, AllPoints or None
        What `transform` searches; None if the neighbours were given.
    starts_ : list of Regression or None
        Where the rows of new points start, for each scale.

    Notes
    -----
    With a list of perplexities, `sigmas_`, `betas_`, `perplexities_`, `evaluations_` and
    `converged_` have shape (n_samples, n_scales), a column per scale. `perplexities_` are then
    those of the single scales; the perplexity of their average lies above the smallest.

    References
    ----------
    Hinton and Roweis (2003), Stochastic neighbor embedding; Vladymyrov and Carreira-Perpiñán
    (2013), Entropic affinities: properties and efficient numerical computation.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> ea = ck.EntropicAffinities(perplexity=30.0)
    >>> P = ea.fit_transform(X[:1000])
    >>> P.shape
    (1000, 1000)
    >>> bool(abs(ea.perplexities_ - 30.0).max() < 1e-8)
    True
    >>> ea.transform(X[1000:]).shape
    (797, 1000)

    Two scales, each solved exactly:

    >>> ck.EntropicAffinities(perplexity=[30, 200]).fit(X).perplexities_[0].round(8)
    array([ 30., 200.])
    """

    saved_state: ClassVar[tuple[str, ...]] = (*BaseAffinities.saved_state, "starts_")

    def __init__(
        self,
        perplexity: float | Sequence[float] = 30.0,
        *,
        n_neighbors: int | str | None = "auto",
        metric: str = "euclidean",
        neighbors: Any = "auto",
        method: str | RootFinder = "auto",
        order: str | Order = "auto",
        include_self: bool = False,
        tol: float = 1e-10,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.perplexity = perplexity
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.neighbors = neighbors
        self.method = method
        self.order = order
        self.include_self = include_self
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _solve(
        self,
        sq_distances: NDArray[Any],
        indices: NDArray[Any] | None,
        *,
        fitting: bool,
        out: NDArray[np.float64] | None = None,
    ) -> Bandwidths | Mixture:
        scales = scales_of(self.perplexity)
        if fitting:
            self.starts_: list[Regression | None] = [None] * len(scales)
        if not isinstance(self.perplexity, list | tuple):
            return self._solve_scale(sq_distances, indices, 0, scales[0], fitting, out)
        return average(
            (
                self._solve_scale(sq_distances, indices, scale, perplexity, fitting)
                for scale, perplexity in enumerate(scales)
            ),
            out,
        )

    def _solve_scale(
        self,
        sq_distances: NDArray[Any],
        indices: NDArray[Any] | None,
        scale: int,
        perplexity: float,
        fitting: bool,
        out: NDArray[np.float64] | None = None,
    ) -> Bandwidths:
        order: str | Order = self.order
        if indices is None:
            order = Bounds()  # the regression needs sorted rows
        elif not fitting:
            order = self.starts_[scale] or Bounds()  # independent of the other rows of the batch
        target = np.array([float(perplexity)])
        solution = solve(
            RowProblem(sq_distances, target, indices, effective_n_jobs(self.n_jobs)),
            method=self.method,
            order=order,
            tol=self.tol,
            random_state=self.random_state,
            allow_missing=True,
            affinities=out,
        )
        if fitting:
            start = solution.start
            self.starts_[scale] = start if start is not None and start.ranks else None
        return solution

    def _needs_sorted_rows(self) -> bool:
        return not (self.order in ("auto", "bounds") or isinstance(self.order, Bounds))

    def _check_count(self, k: int) -> None:
        for perplexity in scales_of(self.perplexity):
            check_perplexity(perplexity, 1, k + bool(self.include_self))

    def _check_parameters(self) -> int:
        for perplexity in scales_of(self.perplexity):
            check_perplexity(perplexity, 1, np.iinfo(np.int64).max)
        if not 0.0 < self.tol < 1.0:
            raise ValueError(f"tol={self.tol} must lie between 0 and 1")
        resolve_method(self.method)
        resolve_order(self.order)
        return math.ceil(3.0 * max(scales_of(self.perplexity)))


def entropic_affinities(
    X: ArrayLike,
    perplexity: float | Sequence[float] = 30.0,
    n_neighbors: int | str | None = "auto",
    **options: Any,
) -> tuple[Any, NDArray[np.float64]]:
    """Entropic affinities of `X`: the papers' ``[W, s] = ea(X, K, k)``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    perplexity : float, or list or tuple of floats, default=30.0
    n_neighbors : "auto", int or None, default="auto"
    **options
        Further parameters of :class:`EntropicAffinities`.

    Returns
    -------
    W : csr_matrix or ndarray of shape (n_samples, n_samples)
        Affinities; rows sum to 1 and have the given perplexity.
    sigma : ndarray of shape (n_samples,), or (n_samples, n_scales) for several perplexities
        Bandwidths.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> W, sigma = ck.entropic_affinities(load_iris().data, perplexity=20)
    >>> W.shape, sigma.shape
    ((150, 150), (150,))
    """
    estimator = EntropicAffinities(perplexity, n_neighbors=n_neighbors, **options).fit(X)
    return estimator.affinities_, estimator.sigmas_
