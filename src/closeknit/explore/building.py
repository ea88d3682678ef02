"""From parameters to what is minimised: bandwidths, graph, objective."""

from __future__ import annotations

import contextlib
import math
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from closeknit.affinities import Bandwidths, solve_bandwidths, to_csr
from closeknit.embeddings import MapSettled, Training, initial_embedding
from closeknit.exceptions import CloseknitWarning
from closeknit.explore.parameters import Parameters
from closeknit.graphs import MutualNeighbors, symmetrize
from closeknit.neighbors import Neighbors, find_neighbors
from closeknit.objectives import SymmetricSNE

__all__ = ["Builder", "Model", "OutdatedError", "neighbors_for"]

#: Points beyond which pairs of neighbours are found while the first map moves, and beyond which
#: they would take more memory than their speed is worth.
_MANY, _MOST_PAIRED = 20_000, 200_000
#: Factors by which a map may be scaled for another model.
_SCALES = 2.0 ** np.arange(-7.0, 4.0)


class OutdatedError(Exception):
    """Ends the making of a graph that nobody waits for any more."""


def neighbors_for(perplexity: float, available: int) -> int:
    """Neighbours per point that a perplexity needs, of those that are there.

    Examples
    --------
    >>> neighbors_for(30.0, 1000), neighbors_for(30.0, 50)
    (90, 50)
    """
    return min(math.ceil(3.0 * perplexity), available)


@dataclass(frozen=True, eq=False)
class Model:
    """What is minimised with one setting of the parameters.

    Attributes
    ----------
    parameters : Parameters
    graph : csr_matrix of shape (n_points, n_points)
        Symmetric.
    affinities : ndarray of shape (n_points, n_neighbors)
        Of each point for its neighbours, nearest first.
    sigmas : ndarray of shape (n_points,)
    training : Training
    """

    parameters: Parameters
    graph: csr_matrix
    affinities: NDArray[np.float64]
    sigmas: NDArray[np.float64]
    training: Training

    @cached_property
    def measure(self) -> MapSettled:
        """Measures the neighbours kept; the rule for stopping, if it does so too."""
        stop = self.training.stop
        return stop if isinstance(stop, MapSettled) else MapSettled(self.graph)

    @cached_property
    def entropy(self) -> float:
        """H(P), NaN for models that have none."""
        # It takes a pass over the graph, which the rule for stopping has made already.
        known = self.measure.floor
        return float(known or getattr(self.training.objective, "entropy", np.nan))

    def fitting_scale(self, positions: NDArray[np.float64], n_jobs: int | None) -> float:
        """Factor at which a map of another model suits this one best: they differ in width."""
        objective: Any = self.training.objective
        if self.parameters.model == "ee":  # its λ is yet to be found, by the same kernel
            options: dict[str, Any] = {"repulsion": objective.repulsion, "n_jobs": n_jobs}
            objective = SymmetricSNE(self.graph, check=False, **options)
        values = [objective.value(scale * positions, 1.0) for scale in _SCALES]
        return float(_SCALES[int(np.nanargmin(values))])


class Builder:
    """Makes a model of each setting, on neighbours that are searched once.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_points, n_features)
    n_neighbors : int
        The most that any setting needs.
    neighbors : Neighbors or None
        If they are known already.
    metric : str, default="euclidean"
    n_jobs : int or None, default=-1
    random_state : int, default=0

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> builder = Builder(load_iris().data, 120)
    >>> builder.search()
    >>> model = builder.build(Parameters(perplexity=10.0))
    >>> model.graph.shape, bool((builder.sigmas_at(10.0) == model.sigmas).all())
    ((150, 150), True)
    """

    def __init__(
        self,
        X: Any,
        n_neighbors: int,
        neighbors: Neighbors | None = None,
        *,
        metric: str = "euclidean",
        n_jobs: int | None = -1,
        random_state: int = 0,
    ) -> None:
        self.X, self.n_neighbors, self.neighbors = X, n_neighbors, neighbors
        self.metric, self.n_jobs, self.random_state = metric, n_jobs, random_state
        self._start: NDArray[np.float64] | None = None
        self._pairs: MutualNeighbors | None = None
        self._paired = False

    def search(self) -> None:
        """Find the neighbours."""
        self.neighbors = find_neighbors(
            self.X,
            self.n_neighbors,
            metric=self.metric,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    def _pair(self) -> None:
        """Find out who is whose neighbour, so that the next graphs are made in one pass."""
        assert self.neighbors is not None
        self._paired, n = True, self.neighbors.n_samples
        if n > _MOST_PAIRED:
            return
        thread = threading.Thread(target=self._find_pairs, name="closeknit-pairs", daemon=True)
        thread.start()
        if n <= _MANY:
            thread.join()

    def _find_pairs(self) -> None:
        assert self.neighbors is not None
        with contextlib.suppress(MemoryError):  # graphs are made without them, then
            self._pairs = MutualNeighbors.of(self.neighbors, self.n_jobs)

    def sigmas_at(self, perplexity: float) -> NDArray[np.float64]:
        """The bandwidths of a perplexity."""
        return self._solve(perplexity).sigmas

    def _solve(self, perplexity: float) -> Bandwidths:
        """Bandwidths and affinities, as `EntropicAffinities` has them.

        Each solution begins afresh: from the bandwidths of a near perplexity it would take three
        passes over the distances instead of two, as the start by regression is nearer.
        """
        if self.neighbors is None:
            raise ValueError("neighbours are still being searched; wait a little")
        k = neighbors_for(perplexity, self.neighbors.n_neighbors)
        rows = np.ascontiguousarray(self.neighbors.sq_distances[:, :k])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CloseknitWarning)
            return solve_bandwidths(rows, perplexity, allow_missing=True, n_jobs=self.n_jobs)

    def build(
        self,
        parameters: Parameters,
        last: Model | None = None,
        outdated: Callable[[], bool] = lambda: False,
    ) -> Model:
        """Make the model of some parameters.

        Parameters
        ----------
        parameters : Parameters
        last : Model or None, default=None
            The one before, whose graph is kept if the perplexity is the same.
        outdated : callable
            Asked between the steps; once it says True, `OutdatedError` is raised.

        Returns
        -------
        Model
        """
        assert self.neighbors is not None
        estimator = parameters.estimator(
            neighbors=self.neighbors,
            n_neighbors=neighbors_for(parameters.perplexity, self.neighbors.n_neighbors),
            metric=self.metric,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        if last is not None and last.parameters.perplexity == parameters.perplexity:
            made = last.graph, last.affinities, last.sigmas
        else:
            made = self._graph(parameters.perplexity, outdated)
        if outdated():
            raise OutdatedError
        model = Model(parameters, *made, estimator.training(made[0], self.X))
        if not self._paired:
            self._pair()
        return model

    def _graph(
        self, perplexity: float, outdated: Callable[[], bool]
    ) -> tuple[csr_matrix, NDArray[np.float64], NDArray[np.float64]]:
        """The symmetric graph, the affinities and the bandwidths, as an estimator has them."""
        assert self.neighbors is not None
        solved = self._solve(perplexity)
        if outdated():
            raise OutdatedError
        n, k = solved.affinities.shape
        if self._pairs is None:
            graph = symmetrize(to_csr(self.neighbors.indices[:, :k], solved.affinities, n))
        else:
            graph = self._pairs.symmetrize(solved.affinities, self.n_jobs)
        if not graph.data.all():  # affinities so small that they are zero
            graph.eliminate_zeros()
        return graph, solved.affinities, solved.sigmas

    def start(self, graph: csr_matrix) -> NDArray[np.float64]:
        """Where embeddings start, computed once."""
        if self._start is None:
            options = (2, self.random_state, self.metric)
            self._start = initial_embedding("auto", self.X, graph, *options)
        return self._start
