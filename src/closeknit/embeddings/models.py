"""The embedding estimators: thin recipes over objectives and the minimiser."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closeknit import objectives
from closeknit.embeddings.base import BaseEmbedding
from closeknit.minimize import minimize
from closeknit.objectives import Objective
from closeknit.repulsion import Repulsion

__all__ = ["SNE", "TSNE", "ElasticEmbedding", "SymmetricSNE", "TElasticEmbedding"]

Array = NDArray[np.float64]

_PARAMETERS = """
    n_components : int, default=2
        Dimensions of the embedding.
    perplexity : float, default=30.0
        Effective number of neighbours of each point.
    affinity : "entropic", "precomputed" or transformer, default="entropic"
        How near points are: entropic affinities, `X` itself, or what a transformer such as
        :class:`~closeknit.affinities.FixedAffinities` gives.
    metric : str, default="euclidean"
        As in :class:`~closeknit.EntropicAffinities`.
    n_neighbors : "auto", int or None, default="auto"
        As in :class:`~closeknit.EntropicAffinities`.
    init : {{"auto", "pca", "eigenmaps", "random"}} or array, default="auto"
        Where to start.
    direction : str or direction, default="auto"
        Search direction: see :mod:`closeknit.minimize`.
    repulsion : "auto", "exact" or Repulsion, default="auto"
        How the kernel is summed over all pairs.
    lam : {lam}
        Weight λ of the repulsion. An increasing list follows the minimum from one λ to the next
        (homotopy); the last is the model's.
    max_iter : int, default=500
        Most iterations, per λ.
    tol : float, default=1e-6
        Relative decrease of the objective below which it has converged.
    time_limit : float or None, default=None
        Seconds after which the best embedding so far is returned.
    callback : callable or None, default=None
        Called after every iteration; returning True stops.
    n_jobs : int or None, default=-1
        Number of threads; the result is the same to the bit for any.
    random_state : int, RandomState or None, default=None
    verbose : bool, default=False
        Whether to report progress on standard error."""

_ATTRIBUTES = """
    embedding_ : ndarray of shape (n_samples, n_components)
    objective_ : float
        E at the end.
    history_ : History
        Objective, gradient norm and step of every iteration.
    n_iter_ : int
        Iterations, over all λ and stages.
    stopped_because_ : str
        Why the minimiser stopped; ``"interrupted"`` after Ctrl-C.
    path_ : Path or None
        Every λ with its minimum, for homotopy and for the stages of t-SNE.
    lam_ : float
        The λ of the embedding.
    affinities_ : csr_matrix of shape (n_samples, n_samples)
        The attractive weights."""


def _document(cls: type, lam: str = "float or list of float, default=1.0") -> type:
    """Fill the parameters and attributes that all estimators share into a class's docstring."""
    assert cls.__doc__ is not None
    cls.__doc__ = cls.__doc__.replace("\n    <parameters>", _PARAMETERS.format(lam=lam)).replace(
        "\n    <attributes>", _ATTRIBUTES
    )
    return cls


class _Normalized(BaseEmbedding):
    """Models whose objective is a Kullback–Leibler divergence up to a constant."""

    @property
    def kl_divergence_(self) -> float:
        """KL(P‖Q) at the end, at λ = 1."""
        return float(self._kl_divergence)

    def _minimize(self, objective: Objective, start: Array) -> None:
        super()._minimize(objective, start)
        value = self.objective_ if self.lam_ == 1.0 else objective.value(self.embedding_, 1.0)
        assert isinstance(objective, objectives.SymmetricSNE | objectives.TSNE | objectives.SNE)
        self._kl_divergence = value - objective.entropy

    def _repulsion_of_new(self, objective: Objective) -> float:
        # A new point's share of E, times n/2: Σ q (−log K) + λ (n / S) Σ K.
        total = objective.repulsion.values(self.embedding_, objective.kernel).sum()
        return float(self.lam_ * objective.n_samples / total)


class SymmetricSNE(_Normalized):
    """Symmetric stochastic neighbour embedding (s-SNE).

    Minimises Σ p ‖x_n − x_m‖² + λ log Σ exp(−‖x_n − x_m‖²).

    Parameters
    ----------
    <parameters>

    Attributes
    ----------
    <attributes>
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

    def _make_objective(self, P: Any, X: Any, repulsion: Repulsion) -> Objective:
        return objectives.SymmetricSNE(P, repulsion=repulsion, n_jobs=self.n_jobs)


class TSNE(_Normalized):
    """t-distributed stochastic neighbour embedding (t-SNE).

    Minimises Σ p log(1 + t) + λ log Σ 1/(1 + t) with t = ‖x_n − x_m‖².

    Parameters
    ----------
    <parameters>
    exaggeration : sequence of (float, int), default=((12.0, 50), (6.0, 30), (3.0, 30), (1.5, 30))
        Short stages before the minimisation proper, each a factor by which attraction is
        exaggerated, that is λ divided, and its iterations. Early exaggeration is a homotopy in λ;
        lowering it in steps ends in better minima than dropping it at once. Not used if `lam` is a
        list.

    Attributes
    ----------
    <attributes>
    kl_divergence_ : float
        KL(P‖Q) at λ = 1.

    References
    ----------
    Van der Maaten and Hinton (2008), Visualizing data using t-SNE; Vladymyrov and
    Carreira-Perpiñán (2012), Partial-Hessian strategies for fast learning of nonlinear embeddings.

    Examples
    --------
    >>> import closeknit as ck
    >>> from sklearn.datasets import load_iris
    >>> tsne = ck.TSNE(random_state=0).fit(load_iris().data)
    >>> tsne.embedding_.shape
    (150, 2)
    >>> tsne.transform([[5.0, 3.4, 1.5, 0.3]]).shape
    (1, 2)
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        affinity: Any = "entropic",
        metric: str = "euclidean",
        n_neighbors: int | str | None = "auto",
        init: Any = "auto",
        direction: Any = "auto",
        repulsion: Any = "auto",
        lam: Any = 1.0,
        exaggeration: Any = ((12.0, 50), (6.0, 30), (3.0, 30), (1.5, 30)),
        max_iter: int = 500,
        tol: float = 1e-6,
        time_limit: float | None = None,
        callback: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        super().__init__(
            n_components,
            perplexity=perplexity,
            affinity=affinity,
            metric=metric,
            n_neighbors=n_neighbors,
            init=init,
            direction=direction,
            repulsion=repulsion,
            lam=lam,
            max_iter=max_iter,
            tol=tol,
            time_limit=time_limit,
            callback=callback,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.exaggeration = exaggeration

    def _make_objective(self, P: Any, X: Any, repulsion: Repulsion) -> Objective:
        return objectives.TSNE(P, repulsion=repulsion, n_jobs=self.n_jobs)

    def _choose_lam(
        self, objective: Objective, start: Array, options: dict[str, Any]
    ) -> tuple[Any, Array, str | None]:
        if np.ndim(self.lam) > 0 or self.lam == 0.0 or len(self.exaggeration) == 0:
            return self.lam, start, None
        early = [(self.lam / factor, min(n, self.max_iter)) for factor, n in self.exaggeration]
        lams, iterations = zip(*early, (self.lam, self.max_iter), strict=True)
        options["max_iter"] = iterations
        return lams, start, None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for stage in self.exaggeration:
            if np.size(stage) != 2 or not (stage[0] > 0.0 and stage[1] >= 0):
                raise ValueError(
                    f"exaggeration={self.exaggeration!r} must list pairs of a positive factor and "
                    "a number of iterations, such as ((12.0, 50),)"
                )
        factors = [*[stage[0] for stage in self.exaggeration], 1.0]
        if not all(a > b for a, b in pairwise(factors)):
            raise ValueError(
                f"exaggeration={self.exaggeration!r} must fall from factor to factor, and end "
                "above 1"
            )


class SNE(_Normalized):
    """Stochastic neighbour embedding, the original, with a distribution per point.

    Minimises Σ p_{m|n} t + λ Σ_n log Σ_m exp(−t) with t = ‖x_n − x_m‖².

    Parameters
    ----------
    <parameters>

    Attributes
    ----------
    <attributes>
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

    def _make_objective(self, P: Any, X: Any, repulsion: Repulsion) -> Objective:
        return objectives.SNE(P, repulsion=repulsion, n_jobs=self.n_jobs)

    def _repulsion_of_new(self, objective: Objective) -> float:
        sums = objective.repulsion.values(self.embedding_, objective.kernel)
        return float(self.lam_ * (1.0 / sums).mean())


class _Elastic(BaseEmbedding):
    """Unnormalised models: λ must fit the number of points, and can be found."""

    #: The normalised model with the same kernel.
    _twin: type[objectives.SymmetricSNE] | type[objectives.TSNE]
    _lam_names = ("auto",)

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        affinity: Any = "entropic",
        metric: str = "euclidean",
        n_neighbors: int | str | None = "auto",
        init: Any = "auto",
        direction: Any = "auto",
        repulsion: Any = "auto",
        lam: Any = "auto",
        repulsive_weights: str | ArrayLike | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        time_limit: float | None = None,
        callback: Any = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        super().__init__(
            n_components,
            perplexity=perplexity,
            affinity=affinity,
            metric=metric,
            n_neighbors=n_neighbors,
            init=init,
            direction=direction,
            repulsion=repulsion,
            lam=lam,
            max_iter=max_iter,
            tol=tol,
            time_limit=time_limit,
            callback=callback,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.repulsive_weights = repulsive_weights

    def _weights_of_pairs(self, X: Any) -> Any:
        if not isinstance(self.repulsive_weights, str):
            return self.repulsive_weights
        if self.repulsive_weights != "distances":
            raise ValueError(
                f"repulsive_weights={self.repulsive_weights!r} must be None (ones), 'distances' "
                "or a matrix"
            )
        from closeknit.affinities.dense import dense_sq_distances

        n = X.shape[0]
        if n > LARGEST_DENSE:
            raise ValueError(
                f"repulsive_weights='distances' needs {8 * n * n / 2**30:.0f} GiB for {n} points; "
                "use None (ones) or fewer points"
            )
        return np.vstack([block for _, block in dense_sq_distances(X, X, self.metric)])

    def _choose_lam(
        self, objective: Objective, start: Array, options: dict[str, Any]
    ) -> tuple[Any, Array, str | None]:
        """λ at which attraction and repulsion balance as in the normalised model.

        A minimum of s-SNE (t-SNE) is one of EE (t-EE) if λ Σ w⁻ K = Σ w⁺ there. So the normalised
        model is minimised first; the unnormalised one starts where that ends.
        """
        if not isinstance(self.lam, str):
            return self.lam, start, None
        begin = time.perf_counter()
        twin = self._twin(objective.weights, repulsion=objective.repulsion, n_jobs=self.n_jobs)
        result = minimize(twin.at(1.0), start, **options)
        if options["time_limit"] is not None:
            spent = time.perf_counter() - begin
            options["time_limit"] = max(0.0, options["time_limit"] - spent)
        sums = objective.repulsion.values(result.X, objective.kernel)
        lam = float(objective.weights.data.sum() / objective.repulsive_value(sums))
        early = result.stopped_because in ("time_limit", "callback", "interrupted")
        return lam, result.X, result.stopped_because if early else None

    def _repulsion_of_new(self, objective: Objective) -> float:
        weights = getattr(objective.repulsion, "pair_weights", None)
        n_pairs = objective.n_samples * (objective.n_samples - 1)
        return self.lam_ * (1.0 if weights is None else float(weights.sum()) / n_pairs)


#: Points for which an n × n array of float64 is still reasonable (about 7 GiB).
LARGEST_DENSE = 30_000

_LAM_AUTO = """"auto", float or list of float, default="auto"
        ``"auto"`` finds the λ at which λ Σ w⁻ K = Σ w⁺ at the minimum of the normalised model with
        the same kernel: attraction and repulsion then balance at any number of points. Numbers are
        the paper's λ; 100 suits about a thousand points."""


class ElasticEmbedding(_Elastic):
    """Elastic embedding (EE).

    Minimises Σ w⁺ t + λ Σ w⁻ exp(−t) with t = ‖x_n − x_m‖².

    Parameters
    ----------
    <parameters>
    repulsive_weights : None, "distances" or array, default=None
        W⁻: ones, squared distances of the data as in the first elastic embedding paper, or a
        symmetric matrix.

    Attributes
    ----------
    <attributes>

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

    def _make_objective(self, P: Any, X: Any, repulsion: Repulsion) -> Objective:
        weights = self._weights_of_pairs(X)
        return objectives.ElasticEmbedding(
            P,
            repulsive_weights=weights,
            repulsion=repulsion if weights is None else None,
            n_jobs=self.n_jobs,
        )


class TElasticEmbedding(_Elastic):
    """Elastic embedding with Student's t (t-EE).

    Minimises Σ w⁺ log(1 + t) + λ Σ w⁻ / (1 + t) with t = ‖x_n − x_m‖².

    Parameters
    ----------
    <parameters>
    repulsive_weights : None, "distances" or array, default=None
        W⁻: ones, squared distances of the data, or a symmetric matrix.

    Attributes
    ----------
    <attributes>

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

    def _make_objective(self, P: Any, X: Any, repulsion: Repulsion) -> Objective:
        weights = self._weights_of_pairs(X)
        return objectives.TElasticEmbedding(
            P,
            repulsive_weights=weights,
            repulsion=repulsion if weights is None else None,
            n_jobs=self.n_jobs,
        )


for _cls in (SymmetricSNE, TSNE, SNE):
    _document(_cls)
for _cls in (ElasticEmbedding, TElasticEmbedding):
    _document(_cls, _LAM_AUTO)
