"""Embeddings whose objective is a Kullback–Leibler divergence: s-SNE and SNE."""

from __future__ import annotations

from typing import Any

from closeknit import objectives
from closeknit.embeddings.nonlinear import NormalizedEmbedding
from closeknit.linalg import check_weights
from closeknit.objectives import Objective


class SymmetricSNE(NormalizedEmbedding):
    """Symmetric stochastic neighbour embedding (s-SNE).

    Minimises Σ p ‖x_n − x_m‖² + λ log Σ exp(−‖x_n − x_m‖²).

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
    lam : float or list of float, default=1.0
        Weight λ of the repulsion. An increasing list follows the minimum from one λ to the next
        (homotopy); the last is the model's.
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
    kl_divergence_ : float
        KL(P‖Q) at λ = 1.

    References
    ----------
    Cook et al. (2007), Visualizing similarity data with a mixture of maps; Vladymyrov and
    Carreira-Perpiñán (2012), Partial-Hessian strategies for fast learning of nonlinear embeddings.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> ck.SymmetricSNE().fit_transform(load_iris().data).shape
    (150, 2)
    """

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return objectives.SymmetricSNE(P, **options)


class SNE(NormalizedEmbedding):
    """Stochastic neighbour embedding, the original, with a distribution per point.

    Minimises Σ p_{m|n} t + λ Σ_n log Σ_m exp(−t) with t = ‖x_n − x_m‖².

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
    lam : float or list of float, default=1.0
        Weight λ of the repulsion. An increasing list follows the minimum from one λ to the next
        (homotopy); the last is the model's.
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
    kl_divergence_ : float
        Σ_n KL(P_n‖Q_n) at λ = 1.

    References
    ----------
    Hinton and Roweis (2003), Stochastic neighbor embedding.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> ck.SNE().fit_transform(load_iris().data).shape
    (150, 2)
    """

    _symmetric = False

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return objectives.SNE(P, **options)

    def _kept_affinities(self) -> Any:
        P = getattr(self.affinity_estimator_, "affinities_", None)
        if P is None:
            raise ValueError(
                "optimize needs the distribution of each point, but of given affinities only the "
                "symmetric part is kept; fit with a larger max_iter instead"
            )
        return check_weights(P)
