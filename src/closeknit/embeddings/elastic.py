"""Embeddings without normalisation: the elastic embedding and its relative with Student's t."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from numpy.typing import ArrayLike
from scipy import sparse

from closeknit import objectives
from closeknit._arrays import Array
from closeknit.embeddings.nonlinear import MAX_POINTS_EXACT, NonlinearEmbedding
from closeknit.minimize import Direction, Path, Schedule, SpectralMomentum, Stage
from closeknit.objectives import AtLambda, Objective, Value
from closeknit.repulsion import DistanceRepulsion, ExactRepulsion


@dataclass(frozen=True)
class _Twin(AtLambda):
    """The normalised twin of an elastic model, whose histories show the parts of that model.

    Its weights are those of the elastic model over their `total`, and its E⁻ is the logarithm of
    that model's before it is multiplied by `scale`.
    """

    total: float
    scale: float

    def value_and_gradient(self, X: Array) -> tuple[Value, Array]:
        value, gradient = super().value_and_gradient(X)
        attractive, repulsive = value.parts
        value.parts = self.total * attractive, self.scale * math.exp(repulsive)
        return value, gradient


@dataclass(repr=False, eq=False, kw_only=True)
class _Elastic(NonlinearEmbedding):
    """Unnormalised models: λ must fit the number of points, and can be found."""

    lam: Any = "auto"
    repulsive_weights: str | ArrayLike | Callable[[Array], Array] | None = None
    scaling: str = "given"

    _model: ClassVar[type[objectives.ElasticEmbedding] | type[objectives.TElasticEmbedding]]
    #: The normalised model with the same kernel.
    _twin: ClassVar[type[objectives.SymmetricSNE] | type[objectives.TSNE]]
    _lam_names = ("auto",)

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        weights: Any = self.repulsive_weights
        by_name = isinstance(weights, str)
        if by_name and weights != "sqdistances":
            raise ValueError(
                f"repulsive_weights={weights!r} must be None (ones), 'sqdistances', a function of "
                "squared distances or a matrix"
            )
        if X is None and (by_name or callable(weights)):
            raise ValueError(
                "optimize cannot compute repulsive_weights from data that are not kept; pass them "
                "as a matrix, or fit with a larger max_iter"
            )
        on_grid = by_name and self.metric == "euclidean" and not sparse.issparse(X)
        if weights is not None and not on_grid:
            self.repulsion_ = ExactRepulsion(self.n_jobs)
            options["repulsion"] = None
        if by_name or callable(weights):
            options["repulsion"] = DistanceRepulsion(
                self.n_jobs,
                data=X,
                metric=self.metric,
                metric_params=self.metric_params,
                weigh=None if by_name else weights,
                grid=None if self.repulsion_.is_exact else self.repulsion_,
            )
            weights = None
        return self._model(P, repulsive_weights=weights, scaling=self.scaling, **options)

    def _make_schedule(self, objective: Objective, direction: Direction[Any]) -> Schedule:
        """For an automatic λ the normalised model first, and from there the elastic one."""
        if not isinstance(self.lam, str):
            return super()._make_schedule(objective, direction)
        options: dict[str, Any] = {"repulsion": objective.repulsion, "n_jobs": self.n_jobs}
        twin = self._twin(objective.weights, check=False, **options)
        total = objective.total_weight
        finding = Stage(
            1.0,
            self.max_iter,
            problem_at=partial(_Twin, twin, total=total, scale=objective.repulsive_scale),
        )
        return Schedule((finding, Stage(partial(_balance, objective), self.max_iter)))

    def _keep(self, objective: Objective, path: Path) -> None:
        super()._keep(objective, path)
        if isinstance(self.lam, str) and len(path.results) == 1:  # λ was still to be found
            self.lam_ = _balance(objective, path.X)
            self.objective_ = objective.value(path.X, self.lam_)
            self.new_point_repulsion_ = objective.new_point_repulsion(path.X, self.lam_)


def _balance(objective: Objective, X: Array) -> float:
    """Return λ with λ Σ w⁻ K = Σ w⁺ at X: a minimum of s-SNE (t-SNE) then is one of EE (t-EE)."""
    sums = objective.repulsion.values(X, objective.kernel)
    return objective.total_weight / objective.repulsive_value(sums)


class ElasticEmbedding(_Elastic):
    """Elastic embedding (EE).

    Minimises Σ w⁺ t + λ Σ w⁻ exp(−t) with t = ‖x_n − x_m‖².

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding.
    perplexity : float, list or tuple of floats, or "auto", default=30.0
        Effective number of neighbours of each point; several are averaged, a scale each.
        ``"auto"`` is 30, or a third of the neighbours where there are fewer than 90 per point.
    affinity : "entropic", "precomputed" or transformer, default="entropic"
        How near points are: entropic affinities, `X` itself, or what a transformer such as
        :class:`~closeknit.affinities.FixedAffinities` gives.
    metric : str, default="euclidean"
        Any metric of scikit-learn, ``"inner_product"``, or ``"precomputed"``.
    metric_params : dict or None, default=None
        Further arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    n_neighbors : "auto", int or None, default="auto"
        Neighbours each point is compared with; ``"auto"`` is three times the perplexity, None all
        other points.
    neighbors : {"auto", "exact", "approximate"} or object, default="auto"
        How neighbours are found, or the neighbours themselves; as in
        :class:`~closeknit.EntropicAffinities`.
    init : {"auto", "pca", "diffusion", "eigenmaps", "random"} or array, default="auto"
        Where to start: ``"auto"`` is PCA of the data, or noise diffused along the graph where only
        distances or affinities are given. With a Gaussian kernel on the grid, starts narrower than
        0.01 are widened to that.
    direction : str or Direction, default="auto"
        Search direction: see :mod:`closeknit.minimize`.
    repulsion : "auto", "exact", "grid" or Repulsion, default="auto"
        How the kernel is summed over all pairs: ``"auto"`` takes every pair up to 5,000 points and
        a grid beyond, in up to three components; see :mod:`closeknit.repulsion`.
    lam : "auto", float or list of float, default="auto"
        Weight λ of the repulsion. ``"auto"`` finds the λ at which λ Σ w⁻ K = Σ w⁺ at the minimum of
        the normalised model with the same kernel: attraction and repulsion then balance at any
        number of points. That model is minimised in a first stage, which counts as all stages do.
        What a number means depends on `scaling`. An increasing list follows the minimum from one λ
        to the next (homotopy); the last is the model's.
    repulsive_weights : None, "sqdistances", callable, array or sparse matrix, default=None
        W⁻: ones; squared distances of the data, or a function of an array of them; or a symmetric
        matrix. Only ones, and squared Euclidean distances of an array, can be summed on a grid:
        the latter takes a sum for each feature.
    scaling : {"given", "unit"}, default="given"
        What λ multiplies. ``"given"`` takes the weights as they are: those of ``"entropic"``
        affinities sum to n, repulsive ones to n(n − 1), so that λ weighs a point's repulsion by all
        others against attractive weights of 1. ``"unit"`` divides both by their sums. A λ of
        ``"unit"`` is λ Σ w⁺ / Σ w⁻ of ``"given"``, which is λ / (n − 1) by default. The λ = 100 of
        the papers goes with ``"unit"`` and ``"sqdistances"``.
    max_iter : int, default=1000
        Most iterations of each stage, that is per λ.
    tol : "auto" or float, default="auto"
        Relative decrease of the objective per iteration below which a stage has converged.
        ``"auto"`` is 1e-6 where there is a line search, and with momentum the rule of
        :class:`~closeknit.embeddings.MapSettled`.
    time_limit : float or None, default=None
        Seconds of minimisation, over all stages, after which the best embedding so far is returned.
    callback : callable or None, default=None
        Called after every iteration of every stage with a :class:`~closeknit.minimize.State`, whose
        `iteration`, `value`, `lam`, `seconds` and read-only positions `X` say where the
        minimisation stands; returning True stops it.
    dtype : {"float64", "float32"}, default="float64"
        Of what `fit_transform` and `transform` return; `embedding_` always has double precision.
    n_jobs : int or None, default=-1
        Number of threads; the result is the same to the bit for any.
    random_state : int, RandomState or None, default=None
        Seeds the start, the eigensolver and the approximate neighbour search.
    verbose : bool, default=False
        Whether to show progress on standard error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    objective_ : float
        E at the end.
    history_ : History
        Stage, λ, objective, gradient norm and step of every iteration.
    n_iter_ : int
        Iterations, over all stages.
    stopped_because_ : StopReason
        Why the minimiser stopped, equal to a string such as ``"tol"``; ``"interrupted"`` after
        Ctrl-C.
    path_ : Path
        The result of every stage, that is of every λ.
    lam_ : float
        The λ of the embedding.
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The attractive weights.
    affinity_estimator_ : transformer or None
        What gave the affinities; None if they were given.
    kernel_ : Kernel
    repulsion_ : Repulsion
        How the kernel was summed over all pairs.
    new_point_repulsion_ : float
        Weight of the repulsion of a new point.

    References
    ----------
    Carreira-Perpiñán (2010), The elastic embedding algorithm for dimensionality reduction;
    Vladymyrov and Carreira-Perpiñán (2012).

    Examples
    --------
    >>> import numpy as np
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> ee = ck.ElasticEmbedding(lam=np.geomspace(1e-2, 10, 5)).fit(load_iris().data)
    >>> ee.embedding_.shape, len(ee.path_.results)
    ((150, 2), 5)
    """

    _twin = objectives.SymmetricSNE
    _model = objectives.ElasticEmbedding


class TElasticEmbedding(_Elastic):
    """Elastic embedding with Student's t (t-EE).

    Minimises Σ w⁺ log(1 + t) + λ Σ w⁻ / (1 + t) with t = ‖x_n − x_m‖².

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the embedding.
    perplexity : float, list or tuple of floats, or "auto", default=30.0
        Effective number of neighbours of each point; several are averaged, a scale each.
        ``"auto"`` is 30, or a third of the neighbours where there are fewer than 90 per point.
    affinity : "entropic", "precomputed" or transformer, default="entropic"
        How near points are: entropic affinities, `X` itself, or what a transformer such as
        :class:`~closeknit.affinities.FixedAffinities` gives.
    metric : str, default="euclidean"
        Any metric of scikit-learn, ``"inner_product"``, or ``"precomputed"``.
    metric_params : dict or None, default=None
        Further arguments of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    n_neighbors : "auto", int or None, default="auto"
        Neighbours each point is compared with; ``"auto"`` is three times the perplexity, None all
        other points.
    neighbors : {"auto", "exact", "approximate"} or object, default="auto"
        How neighbours are found, or the neighbours themselves; as in
        :class:`~closeknit.EntropicAffinities`.
    init : {"auto", "pca", "diffusion", "eigenmaps", "random"} or array, default="auto"
        Where to start: ``"auto"`` is PCA of the data, or noise diffused along the graph where only
        distances or affinities are given. With a Gaussian kernel on the grid, starts narrower than
        0.01 are widened to that.
    direction : str or Direction, default="auto"
        Search direction: see :mod:`closeknit.minimize`.
    repulsion : "auto", "exact", "grid" or Repulsion, default="auto"
        How the kernel is summed over all pairs: ``"auto"`` takes every pair up to 5,000 points and
        a grid beyond, in up to three components; see :mod:`closeknit.repulsion`.
    lam : "auto", float or list of float, default="auto"
        Weight λ of the repulsion. ``"auto"`` finds the λ at which λ Σ w⁻ K = Σ w⁺ at the minimum of
        the normalised model with the same kernel: attraction and repulsion then balance at any
        number of points. That model is minimised in a first stage, which counts as all stages do.
        What a number means depends on `scaling`. An increasing list follows the minimum from one λ
        to the next (homotopy); the last is the model's.
    repulsive_weights : None, "sqdistances", callable, array or sparse matrix, default=None
        W⁻: ones; squared distances of the data, or a function of an array of them; or a symmetric
        matrix. Only ones, and squared Euclidean distances of an array, can be summed on a grid:
        the latter takes a sum for each feature.
    scaling : {"given", "unit"}, default="given"
        What λ multiplies. ``"given"`` takes the weights as they are: those of ``"entropic"``
        affinities sum to n, repulsive ones to n(n − 1), so that λ weighs a point's repulsion by all
        others against attractive weights of 1. ``"unit"`` divides both by their sums. A λ of
        ``"unit"`` is λ Σ w⁺ / Σ w⁻ of ``"given"``, which is λ / (n − 1) by default. The λ = 100 of
        the papers goes with ``"unit"`` and ``"sqdistances"``.
    max_iter : int, default=1000
        Most iterations of each stage, that is per λ. With ``tol="auto"``, a limit that stops a map
        whose neighbours are still coming together warns of it; so does `time_limit`.
    tol : "auto" or float, default="auto"
        When a stage has converged. A number is the relative decrease of the objective per iteration
        below which it has; ``"auto"`` is 1e-6 where there is a line search. With momentum, plain or
        spectral, ``"auto"`` asks for a finished map: over 40 iterations the share of neighbours
        that it keeps has grown by no more than 0.4 % of itself, and over the last 20 the objective
        has changed by no more than 4e-5 (momentum) or 1e-4 (spectral momentum) of itself per
        iteration; see :class:`~closeknit.embeddings.MapSettled`.
    time_limit : float or None, default=None
        Seconds of minimisation, over all stages, after which the best embedding so far is returned.
    callback : callable or None, default=None
        Called after every iteration of every stage with a :class:`~closeknit.minimize.State`, whose
        `iteration`, `value`, `lam`, `seconds` and read-only positions `X` say where the
        minimisation stands; returning True stops it.
    dtype : {"float64", "float32"}, default="float64"
        Of what `fit_transform` and `transform` return; `embedding_` always has double precision.
    n_jobs : int or None, default=-1
        Number of threads; the result is the same to the bit for any.
    random_state : int, RandomState or None, default=None
        Seeds the start, the eigensolver and the approximate neighbour search.
    verbose : bool, default=False
        Whether to show progress on standard error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    objective_ : float
        E at the end.
    history_ : History
        Stage, λ, objective, gradient norm and step of every iteration.
    n_iter_ : int
        Iterations, over all stages.
    stopped_because_ : StopReason
        Why the minimiser stopped, equal to a string such as ``"tol"``; ``"interrupted"`` after
        Ctrl-C.
    path_ : Path
        The result of every stage, that is of every λ.
    lam_ : float
        The λ of the embedding.
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The attractive weights.
    affinity_estimator_ : transformer or None
        What gave the affinities; None if they were given.
    kernel_ : Kernel
    repulsion_ : Repulsion
        How the kernel was summed over all pairs.
    new_point_repulsion_ : float
        Weight of the repulsion of a new point.

    Notes
    -----
    Training is by :class:`~closeknit.minimize.SpectralMomentum`, as t-SNE's: a line search would
    find lower minima, with clusters far out.

    References
    ----------
    Vladymyrov and Carreira-Perpiñán (2012), section 1.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> ck.TElasticEmbedding().fit_transform(load_iris().data).shape
    (150, 2)
    """

    _twin = objectives.TSNE
    _model = objectives.TElasticEmbedding

    def _suitable_direction(self, n_samples: int, exact: bool) -> Direction[Any]:
        # Line searches would throw clusters out as far as they would t-SNE's.
        few = n_samples <= MAX_POINTS_EXACT
        return SpectralMomentum(n_neighbors=10 if few else 4, n_jobs=self.n_jobs)
