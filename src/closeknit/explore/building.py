"""From parameters to a model: bandwidths, graph, objective."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from closeknit._memory import empty
from closeknit.affinities import Bandwidths, solve_bandwidths, to_csr
from closeknit.embeddings import MapSettled, Training, initial_embedding
from closeknit.exceptions import CloseknitWarning
from closeknit.explore.parameters import Parameters
from closeknit.graphs import MutualNeighbors, symmetrize
from closeknit.neighbors import Neighbors, find_neighbors
from closeknit.objectives import SymmetricSNE
from closeknit.progress import poll

__all__ = ["Builder", "Model", "first_look", "neighbors_for"]

#: Rows, about, by which columns are compared.
_LOOKED_AT = 1000

#: Factors by which a map may be scaled for another model.
_SCALES = 2.0 ** np.arange(-7.0, 4.0)


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
    sigmas : ndarray of shape (n_points,)
    training : Training
    """

    parameters: Parameters
    graph: csr_matrix
    sigmas: NDArray[np.float64]
    training: Training

    @property
    def sizes(self) -> list[int]:
        """Bytes of its large arrays."""
        graph, weights = self.graph, self.training.objective.weights
        return [graph.indices.nbytes, graph.data.nbytes, weights.data.nbytes]

    @cached_property
    def entropy(self) -> float:
        """H(P), NaN for models that have none."""
        # It takes a pass over the graph, which the rule for stopping has made already.
        stop = self.training.stop
        known = stop.floor if isinstance(stop, MapSettled) else 0.0
        return float(known or getattr(self.training.objective, "entropy", np.nan))

    def divergence(self, attraction: float, repulsion: float) -> float | None:
        """KL(P‖Q) from E⁺ and E⁻, whatever the λ; None for models that are no divergence."""
        value = attraction + repulsion - self.entropy
        return float(value) if np.isfinite(value) else None

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

    def search(self) -> None:
        """Find the neighbours."""
        self.neighbors = find_neighbors(
            self.X,
            self.n_neighbors,
            metric=self.metric,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )

    @cached_property
    def _pairs(self) -> MutualNeighbors | None:
        """The pairs of neighbours, found once, so that each graph is made in one pass."""
        assert self.neighbors is not None
        return MutualNeighbors.of(self.neighbors, self.n_jobs)

    def sigmas_at(self, perplexity: float) -> NDArray[np.float64]:
        """The bandwidths of a perplexity."""
        return self._solve(perplexity).sigmas

    def affinities_at(self, perplexity: float, index: int) -> NDArray[np.float64]:
        """The affinities of one point for its neighbours, nearest first."""
        return self._solve(perplexity, slice(index, index + 1)).affinities[0]

    def _solve(self, perplexity: float, points: slice = slice(None)) -> Bandwidths:
        """Bandwidths and affinities of some points, as `EntropicAffinities` has them.

        Each solution begins afresh: from the bandwidths of a near perplexity it would take three
        passes over the distances instead of two, as the start by regression is nearer.
        """
        if self.neighbors is None:
            raise ValueError("neighbours are still being searched; wait a little")
        k = neighbors_for(perplexity, self.neighbors.n_neighbors)
        near = self.neighbors.sq_distances[points, :k]
        rows = empty(near.shape, np.float64)
        np.copyto(rows, near)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CloseknitWarning)
            out = empty(rows.shape, np.float64)
            return solve_bandwidths(
                rows, perplexity, allow_missing=True, n_jobs=self.n_jobs, out=out
            )

    def build(self, parameters: Parameters, last: Model | None = None) -> Model:
        """Make the model of some parameters.

        Parameters
        ----------
        parameters : Parameters
        last : Model or None, default=None
            The one before, whose graph is kept if the perplexity is the same.

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
        if last is not None and last.parameters.model == parameters.model:
            estimator.repulsion = last.training.objective.repulsion  # which knows the kernel
        if last is not None and last.parameters.perplexity == parameters.perplexity:
            made = last.graph, last.sigmas
        else:
            made = self._graph(parameters.perplexity)
        poll()
        return Model(parameters, *made, estimator.training(made[0], self.X))

    def _graph(self, perplexity: float) -> tuple[csr_matrix, NDArray[np.float64]]:
        """The symmetric graph and the bandwidths, as an estimator has them."""
        assert self.neighbors is not None
        pairs, solved = self._pairs, self._solve(perplexity)
        poll()
        n, k = solved.affinities.shape
        if pairs is None:
            P = to_csr(self.neighbors.indices[:, :k], solved.affinities, n)
            graph = symmetrize(P, n_jobs=self.n_jobs)
        else:
            graph = pairs.symmetrize(solved.affinities, self.n_jobs)
        # Affinities fall along a row, so that those so small that they are zero show at its end.
        if not solved.affinities[:, -1].all() and not graph.data.all():
            graph.eliminate_zeros()
        return graph, solved.sigmas

    def start(self, graph: csr_matrix) -> NDArray[np.float64]:
        """Where embeddings start, computed once."""
        if self._start is None:
            options = (2, self.random_state, self.metric, self.n_jobs)
            self._start = initial_embedding("auto", self.X, graph, *options)
        return self._start


def first_look(X: Any) -> NDArray[np.float64]:
    """Something to see while neighbours are searched: the two columns that vary most.

    Examples
    --------
    >>> first_look(np.array([[0.0, 1.0, 5.0], [0.0, 3.0, 9.0]]))
    array([[1., 5.],
           [3., 9.]])
    """
    some = X[:: -(-X.shape[0] // _LOOKED_AT)].astype(np.float64)
    squares = some.multiply(some) if hasattr(some, "multiply") else some * some
    means, squares = (np.asarray(part.mean(axis=0)).ravel() for part in (some, squares))
    few = X[:, np.sort(np.argsort(means**2 - squares, kind="stable")[:2])]
    few = np.asarray(few.toarray() if hasattr(few, "toarray") else few, dtype=np.float64)
    return few if few.shape[1] == 2 else np.column_stack([few, np.zeros(len(few))])
