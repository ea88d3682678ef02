"""The attractive term E⁺ = Σ w⁺ (−log K)(‖x_n − x_m‖²), over the edges of a graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._threads import effective_n_jobs
from closeknit.kernels import Kernel
from closeknit.linalg import with_data

__all__ = ["Attraction"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Attraction:
    """Springs along the edges of a symmetric graph.

    Parameters
    ----------
    weights : csr_matrix of shape (n_samples, n_samples)
        Symmetric, non-negative, zero diagonal. Sums are taken in its precision.
    kernel : Kernel
        Student's t gives Σ w log(1 + t), every other kernel Σ w t.
    n_jobs : int or None, default=-1
    """

    weights: csr_matrix
    kernel: Kernel
    n_jobs: int | None = -1

    def value(self, X: Array) -> float:
        """E⁺."""
        return self._sum(X, None)

    def value_and_force(self, X: Array) -> tuple[float, Array]:
        """E⁺ and Σ_m w (−log K)' (x_n − x_m); the gradient is four times that."""
        force = np.empty(X.shape)
        return self._sum(X, force), force

    def laplacian_weights(self, X: Array) -> csr_matrix:
        """w⁺ (−log K)' = −K₁ w⁺ at `X`: the weights of L⁺."""
        if self.kernel.constant_attraction and self.kernel.width == 1.0:
            return self.weights
        W = self.weights
        graph = W.indptr, W.indices, W.data
        positions = X.astype(W.data.dtype, copy=False)
        data = np.empty_like(W.data)
        threads = effective_n_jobs(self.n_jobs)
        _core.edge_weights(*graph, positions, self.kernel.code, data, threads)
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

    def _sum(self, X: Array, force: Array | None) -> float:
        graph = self.weights.indptr, self.weights.indices, self.weights.data
        threads = effective_n_jobs(self.n_jobs)
        positions = X.astype(self.weights.data.dtype, copy=False)
        return _core.sum_edges(*graph, positions, self.kernel.code, True, force, threads)
