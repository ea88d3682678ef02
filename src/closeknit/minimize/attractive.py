"""The attractive part of the Hessian, 4L⁺ + μI: built, sparsified, factorised, solved.

The one matrix behind the fixed point, the spectral direction, SD− and spectral L-BFGS.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
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
    row_sums,
    same_pattern,
    strongest_entries,
    take_entries,
    with_data,
)

__all__ = ["AttractiveHessian"]

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
        _core.sum_rows(_core.Graph(weights), degrees, effective_n_jobs(n_jobs))
        alone = ~(degrees > 0.0)
        others = degrees[~alone] if not alone.all() else np.ones(1)
        # The second term only matters where degrees differ by a factor of more than 1e4; Cholesky
        # would fail without it.
        self.mu = max(_NEGLIGIBLE * float(others.min()), 1e-14 * float(degrees.max(initial=0.0)))
        self.degrees = np.where(alone, others.mean(), degrees)
        self._like = like if like is not None and same_pattern(weights, like.weights) else None
        if self._like is None:
            self._kept_at = strongest_entries(weights, n_neighbors, n_jobs)
        else:
            self._kept_at = self._like._kept_at
        self.kept = take_entries(weights, self._kept_at)

        # Components that no weight which was cut off holds in place; points alone have a curvature
        # of their own.
        label = np.empty(len(degrees), dtype=np.int32)
        _core.label_components(_core.Graph(self.kept), degrees, _NEGLIGIBLE, label)
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
