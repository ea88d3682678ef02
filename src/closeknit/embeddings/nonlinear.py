"""What the nonlinear embeddings share: data → affinities → objective → minimiser → embedding."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

from scipy.sparse import csr_matrix
from sklearn.utils.validation import check_is_fitted

from closeknit._arrays import Array
from closeknit._checks import check_number
from closeknit.embeddings._callbacks import CallbackSupportMixin, each_iteration, with_callbacks
from closeknit.embeddings.base import BaseEmbedding
from closeknit.embeddings.initialize import initial_embedding
from closeknit.embeddings.out_of_sample import place
from closeknit.embeddings.settled import MapSettled
from closeknit.minimize import (
    Convergence,
    Direction,
    Path,
    Result,
    Schedule,
    SpectralLBFGS,
    Stop,
    StopReason,
    resolve_direction,
    run_schedule,
)
from closeknit.objectives import Objective
from closeknit.progress import report, shown
from closeknit.repulsion import ExactRepulsion, GridRepulsion, Repulsion

#: Points up to which ``repulsion="auto"`` sums all pairs; about there the grid becomes as fast.
MAX_POINTS_EXACT = 5000
#: Points beyond which maps are so wide that the grid takes most of the time and memory.
_MANY_POINTS = 200_000
#: What a finished map may still lose per iteration, over the direction's own tolerance: of its
#: divergence, or of an objective without a floor; with sums on a grid, or exact ones, where points
#: are few, take little time, and have small divergences.
_DIVERGENCE, _OBJECTIVE = (20.0, 1.8), (1.0, 0.15)
#: Standard deviation below which the grid could not resolve a start.
_MIN_SPREAD = 0.01


@dataclass(frozen=True, eq=False)
class Training:
    """What is minimised on a graph, and how; see :meth:`closeknit.TSNE.training`.

    Attributes
    ----------
    objective : Objective
    direction : Direction
    schedule : Schedule
        The stages; the last is the model's own.
    stop : Stop or None
        When a stage has converged; None is the direction's own rule.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> tsne = ck.TSNE()
    >>> W, _ = ck.graphs.affinity_graph(load_iris().data, tsne)
    >>> [round(stage.lam, 2) for stage in tsne.training(W).schedule.stages]
    [0.08, 0.17, 0.33, 0.67, 0.91, 1.0]
    """

    objective: Objective
    direction: Direction[Any]
    schedule: Schedule
    stop: Stop | None

    def run(
        self,
        start: Array,
        *,
        time_limit: float | None = None,
        callback: Any = None,
        after: Path | None = None,
    ) -> Path:
        """Minimise from `start`, as :func:`closeknit.minimize.run_schedule` does.

        Parameters
        ----------
        start : ndarray of shape (n_samples, n_components)
        time_limit : float or None, default=None
        callback : callable or None, default=None
        after : Path or None, default=None
            What went before, if this goes on with it.

        Returns
        -------
        Path
        """
        objective = self.objective
        if not objective.repulsion.is_exact and objective.kernel.constant_attraction:
            # The grid's forces, which nearly cancel in a narrow start, must point outwards: a
            # Gaussian kernel's attraction holds points together with all its strength. (Of a
            # Student kernel any noise makes a map.)
            spread = float(start.std(axis=0).max())
            start = start * (max(1.0, _MIN_SPREAD / spread) if spread > 0.0 else 1.0)
        return run_schedule(
            self.schedule,
            objective.at,
            start,
            self.direction,
            stop=self.stop,
            time_limit=time_limit,
            callback=callback,
            after=after,
        )


@dataclass(repr=False, eq=False)
class NonlinearEmbedding(CallbackSupportMixin, BaseEmbedding):
    """An embedding that minimises E⁺ + λE⁻; subclasses choose the objective.

    Examples
    --------
    >>> import closeknit as ck
    >>> from closeknit.embeddings import NonlinearEmbedding
    >>> isinstance(ck.TSNE(), NonlinearEmbedding)
    True
    """

    #: Whether the affinities are symmetrised before the objective sees them.
    _symmetric = True
    #: Words that `lam` may be.
    _lam_names: ClassVar[tuple[str, ...]] = ()
    #: Accuracy of the grid's forces, for few and for many points. Line searches want more of it
    #: than momentum does.
    _accuracy = (0.02, 0.02)

    saved_state: ClassVar[tuple[str, ...]] = (
        *BaseEmbedding.saved_state,
        "objective_",
        "n_iter_",
        "stopped_because_",
        "history_",
        "path_",
        "lam_",
        "kernel_",
        "repulsion_",
        "new_point_repulsion_",
    )

    n_components: int = 2
    _: KW_ONLY
    perplexity: float | Sequence[float] | str = 30.0
    affinity: Any = "entropic"
    metric: str = "euclidean"
    metric_params: dict[str, Any] | None = None
    n_neighbors: int | str | None = "auto"
    neighbors: Any = "auto"
    init: Any = "auto"
    direction: Any = "auto"
    repulsion: Any = "auto"
    lam: Any = 1.0
    max_iter: int = 1000
    tol: Any = "auto"
    time_limit: float | None = None
    callback: Any = None
    dtype: Any = "float64"
    n_jobs: int | None = -1
    random_state: Any = None
    verbose: bool = False

    @abstractmethod
    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        """Return the model on the given affinities; `options` are what all models share."""

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
        with shown(self.verbose):
            X = self._validate(X)
            self._choose_repulsion(X.shape[0])  # raises errors before the search
            W, self.affinity_estimator_ = self._graph(X, self._symmetric)
            training = self.training(W, X)
            objective = training.objective
            self.affinities_ = objective.weights
            report("start")
            start = self._start(X, objective)
            self._run(training, start)
        return self

    def _start(self, X: Any, objective: Objective) -> Array:
        metric = "precomputed" if self.affinity == "precomputed" else self.metric
        options = (self.n_components, self.random_state, metric, self.n_jobs)
        return initial_embedding(self.init, X, objective.weights, *options)

    def optimize(self, n_iter: int = 250) -> Self:
        """Go on with the minimisation from where it stands.

        After a regular fit that is more of its last stage. After one that was cut short, by Ctrl-C,
        a time limit or a callback, the stages that are left come first. The map is as good as that
        of one longer fit. `history_`, `path_` and `n_iter_` go on, too.

        Parameters
        ----------
        n_iter : int, default=250
            Further iterations of the last stage at most; fewer where `tol` says that it has
            converged.

        Returns
        -------
        self

        Examples
        --------
        >>> import closeknit as ck
        >>> from sklearn.datasets import load_iris
        >>> tsne = ck.TSNE(max_iter=30, random_state=0).fit(load_iris().data)
        >>> short = tsne.kl_divergence_
        >>> tsne.optimize(300).kl_divergence_ < short
        True
        """
        check_is_fitted(self)
        check_number("n_iter", n_iter, integer=True, least=1)
        self._check_parameters()
        with shown(self.verbose):
            training = self.training(self._kept_affinities())
            left = training.schedule.after(self.path_, n_iter)
            self._run(replace(training, schedule=left), self._map(), after=self.path_)
        return self

    def training(self, W: csr_matrix, X: Any = None) -> Training:
        """Make what a fit to a graph minimises, without minimising it.

        Parameters
        ----------
        W : csr_matrix of shape (n_samples, n_samples)
            As :func:`closeknit.graphs.affinity_graph` makes it.
        X : array or sparse matrix of shape (n_samples, n_features), optional
            The data, for models whose repulsion depends on them.

        Returns
        -------
        Training

        Examples
        --------
        >>> import closeknit as ck
        >>> from sklearn.datasets import load_iris
        >>> X, tsne = load_iris().data, ck.TSNE(random_state=0)
        >>> W, _ = ck.graphs.affinity_graph(X, tsne)
        >>> path = tsne.training(W).run(1e-4 * X[:, :2], callback=lambda state: state.iteration > 9)
        >>> len(path.history.objective)
        11
        """
        n = W.shape[0]
        self.repulsion_ = self._choose_repulsion(n)
        objective = self._make_objective(
            W, X, repulsion=self.repulsion_, n_jobs=self.n_jobs, check=False
        )
        direction = self.direction
        if isinstance(direction, str) and direction == "auto":
            direction = self._suitable_direction(n, objective.repulsion.is_exact)
        direction = resolve_direction(direction, self.n_jobs)
        stop: Stop | None = None  # what the direction stands for
        if not isinstance(self.tol, str):
            stop = Convergence(self.tol, patience=direction.patience)
        elif not direction.monotone:
            floor = getattr(objective, "entropy", 0.0)
            loss = (_DIVERGENCE if floor else _OBJECTIVE)[objective.repulsion.is_exact]
            stop = MapSettled(objective.weights, loss * direction.default_tol, floor=floor)
        return Training(objective, direction, self._make_schedule(objective, direction), stop)

    def _kept_affinities(self) -> Any:
        """Return what the objective was made of."""
        return self.affinities_

    def _run(self, training: Training, start: Array, after: Path | None = None) -> None:
        callback = self.callback
        if getattr(self, "_skl_callbacks", None):
            callback = each_iteration(self, callback)
        path = training.run(start, time_limit=self.time_limit, callback=callback, after=after)
        self._keep(training.objective, path)
        if isinstance(training.stop, MapSettled):
            training.stop.warn_if_unfinished(self.stopped_because_, stacklevel=4)

    def _keep(self, objective: Objective, path: Path) -> None:
        """Set the fitted attributes."""
        last, reason = path.results[-1], path.stopped_because
        self.path_ = path
        self.history_ = path.history
        self.n_iter_ = int(self.history_.iteration.max(initial=0))
        self.stopped_because_ = last.stopped_because if reason == "end of path" else reason
        self.embedding_ = last.X
        self.objective_ = last.value
        self.lam_ = float(path.lams[-1])
        self.kernel_ = objective.kernel
        self.new_point_repulsion_ = objective.new_point_repulsion(last.X, self.lam_)

    def _make_schedule(self, objective: Objective, direction: Direction[Any]) -> Schedule:
        return Schedule.of(self.lam, self.max_iter)

    def _suitable_direction(self, n_samples: int, exact: bool) -> Direction[Any]:
        """Return what ``direction="auto"`` stands for, where sums are exact or on a grid."""
        if exact:
            return SpectralLBFGS(n_jobs=self.n_jobs)
        # The strongest five weights of a point make as good a start for L-BFGS as all, and a factor
        # that fits in memory.
        return SpectralLBFGS(n_neighbors=5, memory=5, n_jobs=self.n_jobs)

    def _choose_repulsion(self, n_samples: int) -> Repulsion:
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
        small = n_samples <= MAX_POINTS_EXACT or self.n_components > 3
        if self.repulsion == "exact" or (self.repulsion == "auto" and small):
            return ExactRepulsion(self.n_jobs)
        accuracy = self._accuracy[n_samples > _MANY_POINTS]
        return GridRepulsion(accuracy, verify=False, n_jobs=self.n_jobs)

    def _place(self, Q: Any) -> Array:
        positions = self._map()
        return place(
            Q,
            positions,
            self.kernel_,
            self.new_point_repulsion_,
            self.repulsion_.potential(positions, self.kernel_),
            n_jobs=self.n_jobs,
        )

    def restore_state(self) -> None:
        """Make what was loaded from a file complete: the file holds reasons as strings."""
        self.stopped_because_ = StopReason(self.stopped_because_)
        parts: tuple[Path | Result, ...] = (self.path_, *self.path_.results)
        for part in parts:
            object.__setattr__(part, "stopped_because", StopReason(part.stopped_because))

    def _check_parameters(self) -> None:
        check_number("n_components", self.n_components, integer=True, least=1)
        check_number("max_iter", self.max_iter, integer=True)
        check_number("tol", self.tol, "auto")
        check_number("time_limit", self.time_limit, None)
        if not isinstance(self.lam, str):
            Schedule.of(self.lam)  # says what is wrong with it
        elif self.lam not in self._lam_names:
            names = "".join(f"{name!r}, " for name in self._lam_names)
            raise ValueError(
                f"lam={self.lam!r} must be {names}a finite number of at least 0 or an increasing "
                "list of numbers"
            )
        if self.callback is not None and not callable(self.callback):
            raise TypeError(
                f"callback={self.callback!r} must be None or a function of the state, which may "
                "return True to stop"
            )


class NormalizedEmbedding(NonlinearEmbedding):
    """Models whose objective is a Kullback–Leibler divergence up to a constant."""

    saved_state: ClassVar[tuple[str, ...]] = (*NonlinearEmbedding.saved_state, "kl_divergence_")

    def _keep(self, objective: Any, path: Path) -> None:
        super()._keep(objective, path)
        value = self.objective_ if self.lam_ == 1.0 else objective.value(self.embedding_, 1.0)
        self.kl_divergence_ = float(value - objective.entropy)
