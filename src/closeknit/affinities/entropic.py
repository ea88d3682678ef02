"""Entropic affinities: every point has the same effective number of neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from closeknit._arrays import Array
from closeknit._checks import check_number
from closeknit._threads import effective_n_jobs
from closeknit.affinities.any_kernel import distance_derivatives
from closeknit.affinities.bandwidths import resolve, solve, to_csr
from closeknit.affinities.base import BaseAffinities
from closeknit.affinities.orders import Bounds, Regression
from closeknit.affinities.root_finders import RootFinder
from closeknit.affinities.solution import Bandwidths, LocalBandwidths, average, warn_of_rows
from closeknit.affinities.traversal import Order, RowProblem
from closeknit.affinities.validation import check_kernel, check_perplexity, scales_of
from closeknit.kernels import Kernel
from closeknit.neighbors import Neighbors, check_data

_USUAL = 30.0


@dataclass(repr=False, eq=False)
class EntropicAffinities(BaseAffinities):
    """Gaussian affinities whose bandwidths give every point the perplexity K.

    For each point x the bandwidth σ solves ``H(p(x; σ)) = log K``, where
    ``p_j ∝ exp(-‖x − x_j‖² / 2σ²)`` over its neighbours, almost to machine precision and in about
    two passes over the distances.

    Parameters
    ----------
    perplexity : float, list or tuple of floats, or "auto", default=30.0
        The effective number of neighbours K of each point; any real number from 1. Several mean
        that many scales: each is solved as if it were alone, and their affinities are averaged.
        ``"auto"`` is 30, or a third of the neighbours where there are fewer than 90 per point; see
        `perplexity_`.
    n_neighbors : "auto", int or None, default="auto"
        Neighbours each point is compared with; ``"auto"`` means ⌈3K⌉, of the largest K. None means
        all other points and gives a dense matrix.
    metric : str, default="euclidean"
        Any metric of scikit-learn, ``"inner_product"``, or ``"precomputed"``.
    metric_params : dict or None, default=None
        Further arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    neighbors : {"auto", "exact", "approximate"} or object, default="auto"
        How neighbours are found: see :func:`closeknit.neighbors.find_neighbors`. May also be a
        :class:`~closeknit.neighbors.Neighbors` or a pair (indices, distances) for the points of X.
    kernel : str or Kernel, default="gaussian"
        What the affinities are of a distance: ``"gaussian"``, ``"student"``, ``"exponential"``,
        ``"epanechnikov"`` or another one; see :func:`closeknit.solve_bandwidths`.
    method : str or RootFinder, default="auto"
        Root finder: see :func:`closeknit.solve_bandwidths`.
    order : str or Order, default="auto"
        Order of processing: see :func:`closeknit.solve_bandwidths`.
    include_self : bool, default=False
        Whether a point counts among its own neighbours, at distance 0.
    tol : float, default=1e-10
        Largest ``|H − log K|`` of a row.
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
    perplexity_ : float, or list of floats
        The perplexity that was used, a number whatever `perplexity` is.
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

    saved_state: ClassVar[tuple[str, ...]] = (*BaseAffinities.saved_state, "starts_", "perplexity_")

    perplexity: float | Sequence[float] | str = 30.0
    _: KW_ONLY
    kernel: str | Kernel = "gaussian"
    method: str | RootFinder = "auto"
    order: str | Order = "auto"
    tol: float = 1e-10

    def _solve(
        self, sq_distances: Any, indices: Any, *, fitting: bool, out: Array | None = None
    ) -> Bandwidths:
        scales, several = scales_of(self.perplexity_), isinstance(self.perplexity_, list)
        finder, order, kernel = resolve(self.method, self.order, self.kernel, self.random_state)
        if fitting:
            self.starts_: list[Regression | None] = [None] * len(scales)
        parts: list[Bandwidths] = []
        for scale, perplexity in enumerate(scales):
            if indices is None:
                order = Bounds()  # the regression needs sorted rows
            elif not fitting:
                order = self.starts_[scale] or Bounds()  # independent of the rest of the batch
            target = np.array([float(perplexity)])
            solution = solve(
                RowProblem(sq_distances, target, indices, effective_n_jobs(self.n_jobs)),
                finder,
                order,
                kernel,
                tol=self.tol,
                allow_missing=True,
                affinities=None if several else out,
            )
            if fitting and solution.start is not None and solution.start.ranks:
                self.starts_[scale] = solution.start
            if several:
                # The scales' own perplexities are lost once their affinities are added up.
                own, total = solution.perplexities, solution.affinities
                total = np.add(total, parts[-1].affinities, out=total) if parts else total
                solution = replace(solution, affinities=total, scale_perplexities=own)
            parts.append(solution)
        return average(parts, out) if several else parts[0]

    def bandwidths_at(self, X: Any) -> LocalBandwidths:
        """Bandwidths as a function of the place, β(x, K), with its derivatives (section 1).

        Unlike at the fitted points nothing is left out, as in ``transform`` of new points: the
        function is continuous everywhere, and with ``n_neighbors=None`` so is its gradient.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        LocalBandwidths

        Examples
        --------
        >>> import closeknit as ck
        >>> from sklearn.datasets import load_iris
        >>> X = load_iris().data
        >>> local = ck.EntropicAffinities(20, n_neighbors=None).fit(X).bandwidths_at(X[:3])
        >>> local.sigmas.shape, local.gradients.shape
        ((3,), (3, 4))
        >>> bool((local.perplexity_derivatives < 0.0).all())  # more neighbours, smaller β
        True
        """
        check_is_fitted(self)
        points = getattr(self.index_, "points_", getattr(self.index_, "X", None))
        several = isinstance(self.perplexity_, list)
        if several or self.metric != "euclidean" or not isinstance(points, np.ndarray):
            raise ValueError(
                "bandwidths_at needs one perplexity, metric='euclidean', and dense points that "
                "this estimator searched by itself"
            )
        X = check_data(X, estimator=self, reset=False, accept_sparse=False)
        kernel, center = check_kernel(self.kernel), points.mean(axis=0, dtype=np.float64)
        parts = []
        for rows, indices, sq_distances, _ in self._new_rows(X, as_new=True):
            solved = self._solve(sq_distances, indices, fitting=False)
            assert solved.slopes is not None
            W = distance_derivatives(kernel, sq_distances, solved.betas, solved.slopes)
            if indices is not None:
                W = to_csr(indices, W, len(points))
            # ∂β/∂x = Σ ∂β/∂d_j 2 (x − x_j); digits that all points share would cancel.
            sums = np.asarray(W.sum(axis=1)).reshape(-1, 1)
            gradients = 2.0 * (sums * (X[rows] - center) - W @ (points - center))
            found = (solved.betas, solved.sigmas, solved.perplexity_derivatives, gradients)
            parts.append(found)
            warn_of_rows(solved.status, stacklevel=3)
        return LocalBandwidths(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _needs_sorted_rows(self) -> bool:
        return not (self.order in ("auto", "bounds") or isinstance(self.order, Bounds))

    def _check_parameters(self, n_samples: int) -> int:
        auto = isinstance(self.perplexity, str) and self.perplexity == "auto"
        scales = [
            float(check_perplexity(scale, 1, np.iinfo(np.int64).max)[0])
            for scale in scales_of(_USUAL if auto else self.perplexity)
        ]
        check_number("tol", self.tol, share=True)
        resolve(self.method, self.order, self.kernel)
        k = self._count_neighbors(n_samples, math.ceil(3.0 * max(scales)))
        if auto:
            scales = [_suitable(k)]
        others = n_samples - 1 + bool(self.include_self)
        if max(scales) >= others > 1:
            raise ValueError(
                f"perplexity={max(scales):g} must be less than the number of other points, "
                f"{others}; lower it, or use perplexity='auto', which is {_suitable(others):.2g}"
            )
        check_perplexity(max(scales), 1, k + bool(self.include_self))
        several = isinstance(self.perplexity, list | tuple)
        self.perplexity_: float | list[float] = scales if several else scales[0]
        return k

    def _check_neighbors(self, found: Neighbors) -> None:
        k = int(np.median(np.isfinite(found.sq_distances).sum(axis=1)))
        if isinstance(self.perplexity, str):
            self.perplexity_ = _suitable(k)
            return
        largest = max(scales_of(self.perplexity_))
        if k + bool(self.include_self) <= largest:
            raise ValueError(
                f"perplexity={largest:g} needs more than {largest:g} neighbours per point, but the "
                f"given graph holds {k}; give one of {math.ceil(3.0 * largest)}, lower perplexity, "
                f"or use perplexity='auto', which is {_suitable(k):.3g} here"
            )


def _suitable(k: int) -> float:
    """The usual perplexity, or what this many neighbours can carry."""
    return max(1.0, min(_USUAL, k / 3.0))


def entropic_affinities(
    X: ArrayLike,
    perplexity: float | Sequence[float] | str = 30.0,
    n_neighbors: int | str | None = "auto",
    **options: Any,
) -> tuple[Any, Array]:
    """Entropic affinities of `X`: the papers' ``[W, s] = ea(X, K, k)``.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    perplexity : float, list or tuple of floats, or "auto", default=30.0
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
