"""The spectral direction: the gradient bent by the attractive curvature (section 2).

And 4L⁺ + μI, the one matrix behind it, the fixed point, SD− and spectral L-BFGS: built, sparsified,
factorised, solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.linalg import LinAlgError
from scipy.sparse import csr_matrix, diags

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import effective_n_jobs
from closeknit.linalg import (
    SOLVERS,
    ApproximateCholesky,
    Factor,
    canonical,
    choose_solver,
    core_graph,
    factorize,
    row_sums,
    same_pattern,
    same_weights,
    strongest_entries,
    take_entries,
    with_data,
)
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import AttractiveProblem

#: μ over the smallest degree, as in the paper (section 2); also the share of a point's degree below
#: which we call a weight nothing.
_NEGLIGIBLE = 1e-10


class AttractiveHessian:
    """B = 4(D⁺ − W_κ) + μI, positive definite whatever the graph.

    D⁺ holds the degrees of the full graph, so that κ = 0 leaves the fixed point's 4D⁺. Where κ cuts
    nothing off a connected component, B is singular but for μ along the component's indicator: the
    attraction does not care where the component lies. The repulsion does, and G/μ would be a jump
    of some 1e10. There B gets the component's mean degree as its curvature, so that components move
    rigidly as single points do under the fixed point; that leaves everything else as it is. (With
    one component the gradient has no such part, except for rounding.) Points without any attraction
    get the mean degree of all others.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
    n_neighbors : int or None
        κ; None for all.
    solver : {"auto", "dense", "sparse", "approximate"}, default="auto"
        How it is factorised, once it has to be.
    random_state : int, default=0
        For the approximate factorisation.
    n_jobs : int or None, default=None
    like : AttractiveHessian or None, default=None
        The same for earlier weights. If they were stored at the same places, the edges it kept are
        kept again, and an approximate factor has the same order of elimination.
    """

    def __init__(
        self,
        weights: csr_matrix,
        n_neighbors: int | None = None,
        *,
        solver: str = "auto",
        random_state: int = 0,
        n_jobs: int | None = None,
        like: AttractiveHessian | None = None,
    ) -> None:
        self.weights = weights = canonical(weights, dtype=None)
        self._solver, self._random_state, self._n_jobs = solver, random_state, n_jobs
        degrees = np.empty(weights.shape[0])
        _core.sum_rows(core_graph(weights), degrees, effective_n_jobs(n_jobs))
        alone = ~(degrees > 0.0)
        others = degrees[~alone] if not alone.all() else np.ones(1)
        # The second term only matters where degrees differ by a factor of more than 1e4; Cholesky
        # would fail without it.
        self.mu = max(_NEGLIGIBLE * float(others.min()), 1e-14 * float(degrees.max(initial=0.0)))
        self.degrees = np.where(alone, others.mean(), degrees)
        self._like = like if like is not None and same_pattern(weights, like.weights) else None
        self._kept_at: Integers | None = None  # all
        if self._like is not None:
            self._kept_at = self._like._kept_at
        elif n_neighbors is not None:
            self._kept_at = strongest_entries(weights, n_neighbors, n_jobs)
        self.kept = weights.astype(np.float64, copy=False)
        if self._kept_at is not None:
            self.kept = take_entries(weights, self._kept_at)

        # Components that no weight which was cut off holds in place; points alone have a curvature
        # of their own.
        label = np.empty(len(degrees), dtype=np.int32)
        _core.label_components(core_graph(self.kept), degrees, _NEGLIGIBLE, label)
        cut = degrees - row_sums(self.kept)
        floats = np.bincount(label, cut) <= _NEGLIGIBLE * np.bincount(label, degrees)
        floats[label[alone]] = False
        sizes = np.bincount(label)
        self._members = csr_matrix(
            (np.ones(len(label)), (label, np.arange(len(label)))), shape=(len(sizes), len(label))
        )[floats]
        self._sizes = sizes[floats][:, None]
        self._curvature = 4.0 * (self._members @ degrees[:, None]) / self._sizes + self.mu

    @cached_property
    def matrix(self) -> csr_matrix:
        """4(D⁺ − W_κ) + μI; the rigid motions are treated apart."""
        return (diags(4.0 * self.degrees + self.mu) - 4.0 * self.kept).tocsr()

    @cached_property
    def factor(self) -> Factor:
        """A factor of the matrix, with more of μ should rounding make it indefinite."""
        like, self._like = self._like, None  # no longer than needed: it has one of its own
        n, solver = len(self.degrees), self._solver
        if solver == "auto":
            solver = choose_solver(n, self.kept.nnz + n) if self.kept.nnz else "dense"
        if solver == "approximate":
            weights = with_data(self.kept, 4.0 * self.kept.data)
            excess = 4.0 * np.maximum(self.degrees - row_sums(self.kept), 0.0) + self.mu
            known = like.factor if like is not None else None
            return ApproximateCholesky(
                weights,
                excess,
                self._random_state,
                n_jobs=self._n_jobs,
                like=known if isinstance(known, ApproximateCholesky) else None,
            )
        matrix, extra = self.matrix, self.mu
        for _ in range(6):
            try:
                return factorize(matrix, solver)
            except LinAlgError:
                extra *= 100.0
                matrix = matrix + diags(np.full(n, extra))
        return factorize(matrix, solver)

    def __matmul__(self, V: Array) -> Array:
        """Return B·V, rigid motions included."""
        means = self._members @ V / self._sizes
        return self.matrix @ V + self._members.T @ ((self._curvature - self.mu) * means)

    def solve(self, G: Array) -> Array:
        """Return B⁻¹G by a factor of the matrix, and rigid motions apart."""
        members, sizes = self._members, self._sizes
        rigid = members @ G / sizes
        P = self.factor.solve(G - members.T @ rigid)
        # Remove what rounding added of the rigid motions.
        P = P - members.T @ (members @ P / sizes)
        return P + members.T @ (rigid / self._curvature)


class SpectralDescent(Descent[AttractiveProblem]):
    """The spectral direction at work; its factor outlives a change of λ.

    Which edges count as the κ strongest is decided once, at the first X.
    """

    def __post_init__(self, X: Array) -> None:
        self._age = 0
        self._options = {name: getattr(self.rule, name) for name in _OPTIONS}
        self._hessian = AttractiveHessian(self.problem.attractive_weights(X), **self._options)

    def propose(self, X: Array, gradient: Array) -> Array:
        """Two triangular solves."""
        return -self.hessian_at(X).solve(gradient)

    def hessian_at(self, X: Array) -> AttractiveHessian:
        """Count an iteration, and refactorise if it is time and the weights have changed."""
        if self.rule.refresh is not None and self._age >= self.rule.refresh:
            weights = self.problem.attractive_weights(X)
            if not same_weights(weights, self._hessian.weights):
                self._hessian = AttractiveHessian(weights, like=self._hessian, **self._options)
            self._age = 0
        self._age += 1
        return self._hessian


#: Parameters of the direction that are the Hessian's.
_OPTIONS = ("n_neighbors", "solver", "random_state", "n_jobs")


@dataclass(frozen=True)
class SpectralDirection(Direction[AttractiveProblem], name="spectral"):
    """Solve (4L⁺ + μI) P = −G with a factorisation that is computed once.

    Parameters
    ----------
    n_neighbors : int or None, default=None
        κ: off the diagonal only weights among the κ largest of either end are kept. None keeps all;
        0 is :class:`FixedPoint`. Larger is a better direction, smaller a cheaper factor.
    solver : {"auto", "dense", "sparse", "approximate"}, default="auto"
        How to factorise; see :func:`closeknit.linalg.factorize`.
    refresh : int or None, default=None
        Iterations after which the factor is rebuilt if L⁺ has changed, as it does for Student
        kernels; which weights are the κ strongest is decided at the start. None keeps the factor of
        the start, as the paper does.
    random_state : int, default=0
        For the approximate factorisation; the same number gives the same steps.
    n_jobs : int or None, default=-1
        Threads that look for the strongest weights.

    Examples
    --------
    >>> from closeknit.minimize import SpectralDirection, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=SpectralDirection()).X.round(2)
    array([[1.2],
           [1.8]])

    References
    ----------
    M. Vladymyrov and M. Á. Carreira-Perpiñán, "Partial-Hessian strategies for fast learning of
    nonlinear embeddings", ICML 2012, section 2.
    """

    n_neighbors: int | None = None
    solver: str = "auto"
    refresh: int | None = None
    random_state: int = 0
    n_jobs: int | None = -1

    descent: ClassVar[type[SpectralDescent]] = SpectralDescent
    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")

    def __post_init__(self) -> None:
        if self.n_neighbors is not None and self.n_neighbors < 0:
            raise ValueError(f"n_neighbors={self.n_neighbors!r} must be None (all) or at least 0")
        if self.refresh is not None and self.refresh < 1:
            raise ValueError(
                f"refresh={self.refresh!r} must be None (never) or at least 1 iteration"
            )
        if self.solver not in SOLVERS:
            raise ValueError(f"unknown solver {self.solver!r}; use {', '.join(map(repr, SOLVERS))}")


@dataclass(frozen=True)
class FixedPoint(Direction[AttractiveProblem], name="fixed-point"):
    """Divide each point's gradient by its attractive degree: the spectral direction at κ = 0.

    The iteration X ← (D⁺)⁻¹(D⁺ − L)X of the first elastic embedding paper (2010), as a direction.
    The degrees are asked for at every X.

    Parameters
    ----------
    n_jobs : int or None, default=-1
        Threads that add up the degrees.

    Examples
    --------
    >>> from closeknit.minimize import FixedPoint, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=FixedPoint()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    n_jobs: int | None = -1

    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")

    def start(self, problem: AttractiveProblem, X: Array) -> Descent[AttractiveProblem]:
        """Take the degrees at X."""
        rule = SpectralDirection(n_neighbors=0, refresh=1, n_jobs=self.n_jobs)
        return rule.start(problem, X)
