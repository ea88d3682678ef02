"""The attractive part of the Hessian, 4L⁺ + μI: built, sparsified, factorised, solved.

The one matrix behind the fixed point, the spectral direction, SD− and spectral L-BFGS.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError
from scipy.sparse import csr_matrix, diags

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.linalg import (
    ApproximateCholesky,
    Array,
    Factor,
    canonical,
    choose_solver,
    factorize,
    same_pattern,
    same_weights,
    strongest_entries,
    take_entries,
    with_data,
)
from closeknit.minimize.problem import AttractiveProblem

__all__ = [
    "AttractiveHessian",
    "AttractiveSolver",
    "check_n_neighbors",
]

#: μ over the smallest degree, as in the paper (section 2); also the share of a point's degree below
#: which we call a weight nothing.
_NEGLIGIBLE = 1e-10


def check_n_neighbors(n_neighbors: int | None, refresh: int | None) -> None:
    """Refuse a negative κ and a period that is not at least one iteration."""
    if n_neighbors is not None and n_neighbors < 0:
        raise ValueError(f"n_neighbors={n_neighbors!r} must be None (all) or at least 0")
    if refresh is not None and refresh < 1:
        raise ValueError(f"refresh={refresh!r} must be None (never) or at least 1 iteration")


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
    like : AttractiveHessian or None, default=None
        The same for earlier weights. If they were stored at the same places, the edges it kept are
        kept again; :meth:`factorize` then reuses its order of elimination.
    n_jobs : int or None, default=None
    """

    def __init__(
        self,
        weights: csr_matrix,
        n_neighbors: int | None = None,
        like: AttractiveHessian | None = None,
        n_jobs: int | None = None,
    ) -> None:
        weights = canonical(weights, dtype=None)
        degrees = np.empty(weights.shape[0])
        threads = effective_n_jobs(n_jobs)
        _core.sum_rows(_core.Graph(weights), degrees, threads)
        alone = ~(degrees > 0.0)
        typical = float(degrees[~alone].mean()) if not alone.all() else 1.0
        smallest = float(degrees[~alone].min()) if not alone.all() else 1.0
        # The second term only matters where degrees differ by a factor of more than 1e4; Cholesky
        # would fail without it.
        self.mu = max(_NEGLIGIBLE * smallest, 1e-14 * float(degrees.max(initial=0.0)))
        self.weights = weights
        self._n_jobs = n_jobs
        self._kept_at: NDArray[np.intp] | None
        self._approximate: ApproximateCholesky | None = None  # the last one made, here or earlier
        if like is not None and same_pattern(weights, like.weights):
            self._kept_at = like._kept_at
            self._approximate = like._approximate
        else:
            self._kept_at = strongest_entries(weights, n_neighbors, n_jobs)
        self.kept = take_entries(weights, self._kept_at)
        self.degrees = np.where(alone, typical, degrees)

        label, floats = _floating_components(self.kept, degrees)
        floats[label[alone]] = False  # they have a curvature of their own
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

    def factorize(self, solver: str = "auto", random_state: int = 0) -> Factor:
        """Factorise the matrix, with more of μ should rounding make it indefinite."""
        if solver == "auto" and self.kept.nnz > 0:
            n = len(self.degrees)
            solver = choose_solver(n, self.kept.nnz + n)
        if solver == "approximate":
            return self._factorize_approximately(random_state)
        matrix = self.matrix
        extra = self.mu
        for _ in range(6):
            try:
                return factorize(matrix, solver)
            except LinAlgError:
                extra *= 100.0
                matrix = matrix + diags(np.full(matrix.shape[0], extra))
        return factorize(matrix, solver)

    def _factorize_approximately(self, random_state: int) -> ApproximateCholesky:
        weights = with_data(self.kept, 4.0 * self.kept.data)
        cut = self.degrees - np.asarray(self.kept.sum(axis=1)).ravel()
        excess = 4.0 * np.maximum(cut, 0.0) + self.mu
        earlier = self._approximate
        if earlier is None:
            self._approximate = ApproximateCholesky.of_graph(
                weights, excess, random_state, n_jobs=self._n_jobs
            )
        else:
            self._approximate = earlier.refreshed(weights, excess)
        return self._approximate

    def __matmul__(self, V: Array) -> Array:
        """Return B·V, rigid motions included."""
        means = self._members @ V / self._sizes
        return self.matrix @ V + self._members.T @ ((self._curvature - self.mu) * means)

    def solve(self, factor: Factor, G: Array) -> Array:
        """Return B⁻¹G by a factor of the matrix, and rigid motions apart."""
        members, sizes = self._members, self._sizes
        rigid = members @ G / sizes
        P = factor.solve(G - members.T @ rigid)
        # Remove what rounding added of the rigid motions.
        P = P - members.T @ (members @ P / sizes)
        return P + members.T @ (rigid / self._curvature)


def _floating_components(
    kept: csr_matrix, degrees: Array
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return each point's component, and which components no cut weight holds in place."""
    label = np.empty(kept.shape[0], dtype=np.int32)
    _core.label_components(_core.Graph(kept), degrees, _NEGLIGIBLE, label)
    cut = degrees - np.asarray(kept.sum(axis=1)).ravel()
    return label, np.bincount(label, cut) <= _NEGLIGIBLE * np.bincount(label, degrees)


class AttractiveSolver:
    """B⁻¹ with a cached factor, rebuilt every `refresh` calls where the weights depend on X.

    Which edges count as the κ strongest is decided once, at the first X.
    """

    def __init__(
        self,
        problem: AttractiveProblem,
        X: Array,
        n_neighbors: int | None,
        solver: str = "auto",
        refresh: int | None = None,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self._n_jobs = n_jobs
        self._n_neighbors = n_neighbors
        self._solver = solver
        self._refresh = refresh
        self._random_state = random_state
        self._build(problem.attractive_weights(X), None)

    def _build(self, weights: csr_matrix, like: AttractiveHessian | None) -> None:
        self._age = 0
        self._hessian = AttractiveHessian(weights, self._n_neighbors, like, self._n_jobs)
        self._factor = self._hessian.factorize(self._solver, self._random_state)

    def update(self, problem: AttractiveProblem, X: Array) -> None:
        """Count an iteration, and refactorise if it is time and the weights have changed."""
        if self._refresh is not None and self._age >= self._refresh:
            weights = problem.attractive_weights(X)
            if same_weights(weights, self._hessian.weights):
                self._age = 0
            else:
                self._build(weights, like=self._hessian)
        self._age += 1

    def solve(self, G: Array) -> Array:
        """Return B⁻¹G."""
        return self._hessian.solve(self._factor, G)
