"""What the embedding estimators share: data → affinities → objective → minimiser → embedding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from closeknit.embeddings._callbacks import (
    CallbackSupportMixin,
    each_iteration,
    with_callbacks,
)
from closeknit.embeddings._validation import (
    check_integer,
    check_lam,
    check_n_components,
    check_number,
)
from closeknit.embeddings.affinity import fit_affinities
from closeknit.embeddings.initialize import initial_embedding
from closeknit.embeddings.mixin import EmbeddingMixin
from closeknit.embeddings.out_of_sample import place
from closeknit.graphs import symmetrize
from closeknit.minimize import (
    Direction,
    History,
    Momentum,
    SpectralLBFGS,
    SpectralMomentum,
    homotopy,
    minimize,
    resolve_direction,
)
from closeknit.objectives import Objective
from closeknit.progress import report
from closeknit.repulsion import ExactRepulsion, GridRepulsion, Repulsion

__all__ = ["BaseEmbedding"]

Array = NDArray[np.float64]


#: Points up to which all pairs are summed one by one; about there the grid becomes as fast.
LARGEST_EXACT = 5000
#: Points beyond which maps are so wide that the grid takes most of the time and memory.
MANY = 200_000
#: Standard deviation of a start below which the grid would not tell it from a point.
NARROWEST = 0.01


class BaseEmbedding(CallbackSupportMixin, EmbeddingMixin, BaseEstimator):
    """A nonlinear embedding; subclasses choose the objective."""

    saved_state = (
        *EmbeddingMixin.saved_state,
        "objective_",
        "n_iter_",
        "stopped_because_",
        "history_",
        "path_",
        "lam_",
        "_kernel",
        "_grid",
        "_new_repulsion",
    )

    #: Whether the affinities are symmetrised before the objective sees them.
    _symmetric = True
    #: Words that `lam` may be.
    _lam_names: tuple[str, ...] = ()
    #: Accuracy of the grid's forces, up to MANY points and beyond. Line searches want more than
    #: momentum does.
    _accuracy = (0.02, 0.02)

    embedding_: Array
    history_: History

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float | Sequence[float] = 30.0,
        affinity: Any = "entropic",
        metric: str = "euclidean",
        n_neighbors: int | str | None = "auto",
        init: Any = "auto",
        direction: Any = "auto",
        repulsion: Any = "auto",
        lam: Any = 1.0,
        max_iter: int = 1000,
        tol: Any = "auto",
        time_limit: float | None = None,
        callback: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        self.n_components = n_components
        self.perplexity = perplexity
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.init = init
        self.direction = direction
        self.repulsion = repulsion
        self.lam = lam
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.callback = callback
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        """Return the model on the given affinities; `options` are what all models share."""

    @abstractmethod
    def _repulsion_of_new(self, objective: Objective) -> float:
        """Weight of Σ_m K for a new point whose attractive weights sum to 1."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the points of `X`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Data; distances or a neighbour graph if ``metric="precomputed"``; affinities if
            ``affinity="precomputed"``.
        y : None
            Ignored.

        Returns
        -------
        self
            Ctrl-C and `time_limit` keep the best embedding so far; see `stopped_because_`.
        """
        self._check_parameters()
        # In C order, because a start by PCA sums in the order of memory: a frame of columns must
        # give the bits of the same array of rows.
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            order="C",
            ensure_min_samples=2,
        )
        check_n_components(self.n_components, X.shape[0])
        P, self.affinity_estimator_ = fit_affinities(self, X)
        if self._symmetric and self.affinity_estimator_ is not None:
            P = symmetrize(P)
        objective = self._make_objective(
            P,
            X,
            repulsion=self._resolve_repulsion(X.shape[0]),
            n_jobs=self.n_jobs,
            # Sparse entropic affinities are what they should be by construction.
            check=self.affinity != "entropic" or not sparse.issparse(P),
        )
        metric = "precomputed" if self.affinity == "precomputed" else self.metric
        report("start")
        start = initial_embedding(
            self.init, X, objective.weights, self.n_components, self.random_state, metric
        )
        self.affinities_ = objective.weights
        self._minimize(objective, _widened(start, objective))
        self._n_features_out = self.n_components
        return self

    def _place(self, Q: Any) -> Array:
        potential = None
        if self._grid is not None:
            potential = self._grid.potential(self.embedding_, self._kernel)
        weight = self._new_repulsion
        return place(Q, self.embedding_, self._kernel, weight, potential, n_jobs=self.n_jobs)

    def _minimize(self, objective: Objective, start: Array) -> None:
        direction = resolve_direction(self._resolve_direction(objective))
        options: dict[str, Any] = {
            "direction": direction,
            "max_iter": self.max_iter,
            "tol": _tolerance(direction) if self.tol == "auto" else self.tol,
            "time_limit": self.time_limit,
            "callback": each_iteration(self, self.callback),
            "verbose": self.verbose,
        }
        lam, start, stopped = self._choose_lam(objective, start, options)
        if stopped:
            options["max_iter"] = 0
        if np.ndim(lam) == 0:
            result = minimize(objective.at(float(lam)), start, **options)
            self.path_ = None
        else:
            self.path_ = homotopy(objective.at, lam, start, **options)
            result = self.path_.results[-1]
            lam = self.path_.lams[len(self.path_.results) - 1]
        self.embedding_ = result.X
        self.objective_ = result.value
        results = (result,) if self.path_ is None else self.path_.results
        self.n_iter_ = sum(part.n_iter for part in results)
        self.stopped_because_ = stopped or result.stopped_because
        self.history_ = result.history if self.path_ is None else self.path_.history
        self.lam_ = float(lam)
        self._kernel = objective.kernel
        grid = objective.repulsion
        self._grid = grid if isinstance(grid, GridRepulsion) else None
        self._new_repulsion = self._repulsion_of_new(objective)

    def _choose_lam(
        self, objective: Objective, start: Array, options: dict[str, Any]
    ) -> tuple[Any, Array, str | None]:
        """λ, or a list of them, where to start, and why there is no time to do so, if so."""
        return self.lam, start, None

    def _resolve_direction(self, objective: Objective) -> Any:
        if not isinstance(self.direction, str) or self.direction != "auto":
            return self.direction
        # The strongest five weights of a point make as good a start for L-BFGS as all, and a factor
        # that fits in memory.
        few = isinstance(objective.repulsion, ExactRepulsion)
        if few:
            return SpectralLBFGS(n_jobs=self.n_jobs)
        return SpectralLBFGS(n_neighbors=5, memory=5, n_jobs=self.n_jobs)

    def _resolve_repulsion(self, n_samples: int) -> Repulsion:
        if hasattr(self.repulsion, "sums"):
            return self.repulsion
        if self.repulsion not in ("auto", "exact", "grid"):
            raise ValueError(
                f"unknown repulsion {self.repulsion!r}; use 'auto', 'exact', 'grid' or an object "
                "such as closeknit.repulsion.GridRepulsion(accuracy=0.01)"
            )
        if self.repulsion == "grid" and self.n_components > 3:
            raise ValueError(
                f"repulsion='grid' serves up to 3 components, not {self.n_components}; use 'exact'"
            )
        small = n_samples <= LARGEST_EXACT or self.n_components > 3
        if self.repulsion == "exact" or (self.repulsion == "auto" and small):
            return ExactRepulsion(self.n_jobs)
        return GridRepulsion(self._accuracy[n_samples > MANY], n_jobs=self.n_jobs)

    def _check_parameters(self) -> None:
        check_n_components(self.n_components)
        check_lam(self.lam, self._lam_names)
        check_integer("max_iter", self.max_iter, 0)
        check_number("tol", self.tol, "auto")
        check_number("time_limit", self.time_limit, None)
        if self.callback is not None and not callable(self.callback):
            raise TypeError(
                f"callback={self.callback!r} must be None or a function of the state, which may "
                "return True to stop"
            )


def _widened(start: Array, objective: Objective) -> Array:
    """Spread a start so far that the grid's forces, which nearly cancel there, point outwards.

    Where the kernel is Gaussian, attraction holds points together with all its strength from the
    start, and wrong forces would leave them there. (Of a Student kernel any noise makes a map.)
    """
    spread = float(start.std(axis=0).max())
    gaussian = objective.kernel.constant_attraction
    if gaussian and isinstance(objective.repulsion, GridRepulsion) and 0.0 < spread < NARROWEST:
        return start * (NARROWEST / spread)
    return start


def _tolerance(direction: Direction) -> float:
    """Return the decrease below which going on is not worth its time."""
    if isinstance(direction, Momentum):
        return 4e-5
    return 1e-4 if isinstance(direction, SpectralMomentum) else 1e-6
