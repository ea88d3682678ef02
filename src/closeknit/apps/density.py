"""A kernel density with a bandwidth per point, of which the nearest points count at any place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix

from closeknit._arrays import Array, Integers
from closeknit._threads import chunks, effective_n_jobs
from closeknit.apps.shifting import positive
from closeknit.neighbors import candidate_distances
from closeknit.progress import listening

_BYTES = 64  # working memory per weight, generously, so that weights stay in the processor's cache


@dataclass(eq=False)
class SamplePointDensity:
    """Σ σ_n^(−D) exp(−‖x − x_n‖² / 2σ_n²) over the points that are nearest to x.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    sigmas : ndarray of shape (n_samples,)
        Bandwidths, made :func:`positive`.
    index : NeighborIndex
        Fitted to `X`.
    n_neighbors : int
        How many points count.
    n_jobs : int or None

    References
    ----------
    Comaniciu, Ramesh and Meer (2001), The variable bandwidth mean shift and data-driven scale
    selection, who call it the sample point estimator.
    """

    saved_state: ClassVar[tuple[str, ...]] = ()

    X: Array
    sigmas: Array
    index: Any
    n_neighbors: int
    n_jobs: int | None

    def __post_init__(self) -> None:
        # Compiled code looks up neighbours among the points without checking their numbers.
        if self.X.shape != self.index.points_.shape or self.sigmas.shape != self.X.shape[:1]:
            raise ValueError("the density's points, bandwidths and index do not fit each other")
        self.sigmas = positive(self.sigmas)
        self._rates = -0.5 / self.sigmas**2
        self._heights = -self.X.shape[1] * np.log(self.sigmas)

    def search(self, places: Array) -> Integers:
        """Find the points that count at each place, the nearest first."""
        with listening(None):  # many small searches are not stages of their own
            found: Integers = self.index.query(places, self.n_neighbors).indices
        return found

    def evaluate(self, places: Array, near: Integers) -> tuple[Array, Array]:
        """Compute the density's logarithm at each place, up to a constant, and the weighted mean.

        Parameters
        ----------
        places : ndarray of shape (n_places, n_features)
        near : ndarray of int of shape (n_places, n_neighbors)
            The points that count at each.

        Returns
        -------
        logs : ndarray of shape (n_places,)
        means : ndarray of shape (n_places, n_features)
            Of the points, weighted by σ_n^(−D−2) exp(−‖x − x_n‖² / 2σ_n²).
        """
        logs, means = np.empty(len(places)), np.empty_like(places)
        for rows in chunks(len(places), _BYTES * near.shape[1]):
            logs[rows], means[rows] = self._evaluate(places[rows], near[rows])
        return logs, means

    def _evaluate(self, places: Array, near: Integers) -> tuple[Array, Array]:
        rates = self._rates[near]
        threads = effective_n_jobs(self.n_jobs)
        weights = candidate_distances(places, self.X, near, n_threads=threads)
        weights *= rates
        weights += self._heights[near]
        top = weights.max(axis=1)
        np.exp(weights - top[:, None], out=weights)
        logs = top + np.log(weights.sum(axis=1))
        weights *= rates  # their sign and the factor ½ cancel in the mean
        weights /= weights.sum(axis=1, keepdims=True)
        pointers = np.arange(0, near.size + 1, near.shape[1])
        shape = (len(places), len(self.X))
        # A sparse product adds up each row on its own and in order: batches do not matter.
        return logs, csr_matrix((weights.ravel(), near.ravel(), pointers), shape=shape) @ self.X
