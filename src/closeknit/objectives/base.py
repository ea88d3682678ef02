"""E(X; λ) = E⁺(X) + λ E⁻(X): what all models share (section 1 of the partial-Hessian paper).

A model is a graph of attractive weights, a kernel and a way to combine the kernel's sums over all
pairs into E⁻. It states its value and gradient, and the parts of its Hessian that the
partial-Hessian strategies use; the minimiser sees it at a fixed λ through :meth:`Objective.at`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import nan
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._memory import trim
from closeknit._threads import beside, effective_n_jobs
from closeknit.kernels import Kernel
from closeknit.linalg import (
    check_symmetric,
    core_graph,
    map_order,
    permuted,
    strongest_entries,
    take_entries,
    with_data,
)
from closeknit.repulsion import ExactRepulsion, PairSums, Repulsion


class Value(float):
    """E = E⁺ + λE⁻, a number that knows its parts.

    Histories keep the parts, so that E can be shown at one λ when λ has changed on the way.

    Attributes
    ----------
    parts : tuple of float
        E⁺ and E⁻.

    Examples
    --------
    >>> from closeknit.objectives import Value
    >>> E = Value(3.0)
    >>> E.parts = 1.0, 4.0
    >>> E + 1, E.parts
    (4.0, (1.0, 4.0))
    """

    parts: tuple[float, float] = (nan, nan)


@dataclass(frozen=True)
class Attraction:
    """E⁺ = Σ w⁺ (−log K)(‖x_n − x_m‖²): springs along the edges of a symmetric graph.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric, non-negative, zero diagonal. Sums are taken in its precision.
    kernel : Kernel
        Student's t gives Σ w log(1 + t), every other kernel Σ w t.
    n_jobs : int or None, default=-1

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from closeknit.kernels import GAUSSIAN
    >>> from closeknit.objectives import Attraction
    >>> Attraction(csr_matrix([[0.0, 1.0], [1.0, 0.0]]), GAUSSIAN).value(np.array([[0.0], [3.0]]))
    18.0
    """

    weights: csr_matrix
    kernel: Kernel
    n_jobs: int | None = -1

    @cached_property
    def _graph(self) -> _core.Graph:
        return core_graph(self.weights)  # checked once, not at every iteration

    def value(self, X: Array, force: Array | None = None) -> float:
        """Return E⁺; Σ_m w (−log K)' (x_n − x_m), a quarter of its gradient, goes to `force`."""
        threads = effective_n_jobs(self.n_jobs)
        positions = X.astype(self.weights.data.dtype, copy=False)
        return _core.sum_edges(self._graph, positions, positions, self.kernel.code, force, threads)

    def value_of_rows(self, X: Array, rows: slice, force: Array) -> float:
        """Return the share of E⁺ of some points; the weights have their rows only."""
        positions = X.astype(self.weights.data.dtype, copy=False)
        some, threads = positions[rows], effective_n_jobs(self.n_jobs)
        return _core.sum_edges(self._graph, some, positions, self.kernel.code, force, threads)

    def laplacian_weights(self, X: Array) -> csr_matrix:
        """w⁺ (−log K)' = −K₁ w⁺ at `X`: the weights of L⁺."""
        if self.kernel.constant_attraction and self.kernel.power == self.kernel.scale:
            return self.weights
        W = self.weights
        if not X.any():  # points in one place, as momentum asks for
            slope = self.kernel.power / self.kernel.scale
            return W if slope == 1.0 else with_data(W, W.data * W.dtype.type(slope))
        positions = X.astype(W.data.dtype, copy=False)
        data = np.empty_like(W.data)
        threads = effective_n_jobs(self.n_jobs)
        _core.edge_weights(self._graph, positions, self.kernel.code, data, threads)
        return with_data(W, data)

    def hessian_diagonal(self, X: Array) -> Array:
        """4 Σ_m (w' + 2 w'' (x_n − x_m)²), coordinate by coordinate."""
        degrees = np.asarray(self.laplacian_weights(X).sum(axis=1))
        if self.kernel.constant_attraction:
            return np.repeat(4.0 * degrees, X.shape[1], axis=1)
        W = self.weights.tocoo()
        gap = X[W.row] - X[W.col]
        t = np.einsum("ij,ij->i", gap, gap)
        terms = -(W.data * self.kernel.K21(t))[:, None] * gap**2
        bend = np.zeros(X.shape)
        np.add.at(bend, W.row, terms)
        return 4.0 * degrees + 8.0 * bend


#: Points from which on memory is far enough away for their numbering to matter.
MANY_POINTS = 5_000


class Objective(ABC):
    """An embedding model.

    Parameters
    ----------
    affinities : sparse matrix or array of shape (n_samples, n_samples)
        Attractive weights: symmetric, non-negative; the diagonal is ignored.
    repulsion : Repulsion or None, default=None
        How the kernel is summed over all pairs; None means every pair, exactly.
    n_jobs : int or None, default=-1
        Number of threads.
    check : bool, default=True
        Whether to look for what is wrong with the affinities. With False they must be a symmetric
        CSR matrix in canonical format without diagonal.

    Notes
    -----
    Weights are kept, and summed, in the precision of the repulsion.

    Examples
    --------
    >>> from closeknit.objectives import TSNE
    >>> objective = TSNE([[0.0, 1.0], [1.0, 0.0]])
    >>> round(objective.value([[0.0], [1.0]], lam=1.0), 3)
    0.693
    """

    kernel: Kernel
    #: Whether the attractive weights are divided by their sum.
    unit_sum: bool = False
    #: What sums over the repulsive weights are multiplied by.
    repulsive_scale: float = 1.0

    def __init__(
        self,
        affinities: Any,
        *,
        repulsion: Repulsion | None = None,
        n_jobs: int | None = -1,
        check: bool = True,
    ):
        W = check_symmetric(affinities, n_jobs=n_jobs) if check else affinities
        self.repulsion: Repulsion = ExactRepulsion(n_jobs) if repulsion is None else repulsion
        if self.unit_sum:
            if not W.nnz:
                raise ValueError("affinities are all zero: no point has a neighbour")
            total = W.data.sum(dtype=np.float64)
            data = np.empty(W.nnz, self.repulsion.dtype)
            np.divide(W.data, total, out=data, casting="same_kind")
        else:
            data = W.data.astype(self.repulsion.dtype, copy=False)
        self.weights: csr_matrix = with_data(W, data)
        self.attraction = Attraction(self.weights, self.kernel, n_jobs)
        # The points' order on the map, each point's place in it, and the attraction among points in
        # that order.
        self._numbered: tuple[Integers, Integers, Attraction] | None = None
        self._kept: tuple[float, csr_matrix] | None = None
        self._parts: list[tuple[Integers, Attraction]] = []

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return int(self.weights.shape[0])

    @property
    def total_weight(self) -> float:
        """Σ w⁺."""
        return float(self.weights.data.sum())

    @abstractmethod
    def repulsive_value(self, sums: Array) -> float:
        """E⁻ from every point's Σ_m K."""

    @abstractmethod
    def repulsive_force(self, X: Array, sums: PairSums) -> Array:
        """A quarter of E⁻'s gradient."""

    @abstractmethod
    def repulsive_diagonal(self, X: Array) -> Array:
        """Diagonal of E⁻'s Hessian."""

    @abstractmethod
    def repulsive_blocks(self, X: Array) -> Callable[[Array], Array]:
        """V → 8 L^xx V, the positive semidefinite diagonal blocks of E⁻'s Hessian."""

    @abstractmethod
    def new_point_repulsion(self, X: Array, lam: float) -> float:
        """Weight of Σ_m K(‖x − x_m‖²) for a new point x whose attractive weights sum to 1."""

    def value(self, X: Array, lam: float) -> float:
        """E(X; λ)."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        sums = self.repulsion.values(X, self.kernel)
        return self.attraction.value(X) + lam * self.repulsive_value(sums)

    def value_and_gradient(self, X: Array, lam: float) -> tuple[Value, Array]:
        """E(X; λ) and its gradient 4 L X."""
        return self.at(lam).value_and_gradient(X)

    def renumber(self, X: Array, edges: float = 1.0) -> None:
        """Number the points by their place on the map, for as long as sums are taken.

        Points that are close on the map are then close in memory, which makes evaluations of many
        points faster. Positions and gradients keep the order in which the points were given.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_components)
            A map; with few points, more than three components, or repulsive weights of pairs,
            nothing is done.
        edges : float, default=1.0
            With a share below 1, only so many of each point's edges attract until the points are
            numbered again: the strongest ones, scaled up to the weight of all.
        """
        if (
            len(X) < MANY_POINTS
            or X.shape[1] > 3
            or self.repulsion.is_weighted
            or not np.isfinite(X.sum())
        ):
            return
        order = map_order(X)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        self._numbered = None  # its edges need not be there twice
        trim()
        self._numbered = order, place, self._in_order(order, place, edges)

    def _in_order(self, order: Integers, place: Integers, edges: float) -> Attraction:
        """Return the attraction among points in another order, along a share of their edges."""
        weights = permuted(self._strongest(edges), order, self.attraction.n_jobs)
        return replace(self.attraction, weights=weights)

    def _strongest(self, share: float) -> csr_matrix:
        """Return the weights, or the largest of each point scaled up to the sum of all."""
        if share >= 1.0:
            self._kept = None
            return self.weights
        if self._kept is None or self._kept[0] != share:
            n_neighbors = int(np.ceil(share * self.weights.nnz / self.n_samples))
            entries = strongest_entries(self.weights, n_neighbors, self.attraction.n_jobs)
            kept = take_entries(self.weights, entries, dtype=self.weights.dtype)
            scale = self.total_weight / (float(kept.data.sum()) or 1.0)
            self._kept = share, with_data(kept, kept.data * kept.dtype.type(scale))
        return self._kept[1]

    def part(self, entries: Integers | None) -> Attraction:
        """Return the attraction along all edges, or along those stored at some positions."""
        if entries is None:
            return self.attraction
        for known, attraction in self._parts:
            if known is entries:
                return attraction
        weights = self.attraction.weights
        weights = take_entries(weights, entries, dtype=weights.dtype)
        attraction = replace(self.attraction, weights=weights)
        self._parts = [*self._parts[-1:], (entries, attraction)]
        return attraction

    def sums(self, X: Array, attraction: Attraction, force: Array) -> tuple[float, PairSums]:
        """Return E⁺, whose quarter gradient goes to `force`, and the sums over all pairs."""
        if len(X) < MANY_POINTS:
            return attraction.value(X, force), self.repulsion.sums(X, self.kernel)
        # Side by side, because parts of the repulsion run on one thread.
        attractive = beside(attraction.n_jobs, partial(attraction.value, X, force))
        sums = self.repulsion.sums(X, self.kernel)
        return attractive(), sums

    def at(self, lam: float) -> AtLambda:
        """Return the model at a fixed λ, as the minimiser wants it."""
        return AtLambda(self, lam)


@dataclass(frozen=True)
class AtLambda:
    """An objective with its λ: a function of X alone.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.minimize import minimize
    >>> from closeknit.objectives import ElasticEmbedding
    >>> at = ElasticEmbedding([[0.0, 1.0], [1.0, 0.0]]).at(lam=np.e)
    >>> round(float(np.ptp(minimize(at, [[0.0], [0.1]]).X)), 3)
    1.0
    """

    objective: Objective
    lam: float

    def value(self, X: Array) -> float:
        """E(X)."""
        return self.objective.value(X, self.lam)

    def value_and_gradient(self, X: Array) -> tuple[Value, Array]:
        """E(X) and its gradient."""
        model, X = self.objective, np.ascontiguousarray(X, dtype=np.float64)
        order, place, attraction = model._numbered or (None, None, model.attraction)
        threads = effective_n_jobs(attraction.n_jobs)
        if order is not None:
            given, X = X, np.empty(X.shape)
            _core.take_rows(given, order, X, threads)
        force, gradient = np.empty(X.shape), np.empty(X.shape)
        attractive, sums = model.sums(X, attraction, force)
        repulsive = model.repulsive_value(sums.value)
        value = Value(attractive + self.lam * repulsive)
        value.parts = attractive, repulsive
        pushed = model.repulsive_force(X, sums)
        _core.join_forces(force, pushed, self.lam, place, gradient, threads)
        return value, gradient

    def attractive_weights(self, X: Array, entries: Integers | None = None) -> csr_matrix:
        """Weights of the attractive Laplacian L⁺ at `X`, all or those stored at some positions."""
        return self.objective.part(entries).laplacian_weights(np.ascontiguousarray(X))

    def hessian_diagonal(self, X: Array) -> Array:
        """Diagonal of the Hessian."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        attractive = self.objective.attraction.hessian_diagonal(X)
        return attractive + self.lam * self.objective.repulsive_diagonal(X)

    def repulsive_curvature(self, X: Array) -> Callable[[Array], Array]:
        """V → 8 λ L^xx V, block by block."""
        product = self.objective.repulsive_blocks(np.ascontiguousarray(X, dtype=np.float64))
        return lambda V: self.lam * product(V)
