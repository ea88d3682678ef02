"""E⁺, the attraction along the edges of a graph, which all models share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._arrays import Array
from closeknit._threads import effective_n_jobs
from closeknit.kernels import Kernel
from closeknit.linalg import core_graph, with_data


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
