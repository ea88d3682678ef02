"""Embeddings without normalisation: the elastic embedding and its relative with Student's t."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closeknit import objectives
from closeknit.embeddings._document import document
from closeknit.embeddings.base import BaseEmbedding
from closeknit.minimize import SpectralMomentum, minimize
from closeknit.objectives import Objective

__all__ = ["ElasticEmbedding", "TElasticEmbedding"]

Array = NDArray[np.float64]

#: Points for which an n × n array of float64 is still reasonable (about 7 GiB).
LARGEST_DENSE = 30_000

_LAM_AUTO = """"auto", float or list of float, default="auto"
        ``"auto"`` finds the λ at which λ Σ w⁻ K = Σ w⁺ at the minimum of the normalised model with
        the same kernel: attraction and repulsion then balance at any number of points. Numbers are
        the paper's λ; 100 suits about a thousand points."""


class _Elastic(BaseEmbedding):
    """Unnormalised models: λ must fit the number of points, and can be found."""

    _model: type[objectives.ElasticEmbedding] | type[objectives.TElasticEmbedding]
    #: The normalised model with the same kernel.
    _twin: type[objectives.SymmetricSNE] | type[objectives.TSNE]
    _lam_names = ("auto",)

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
        lam: Any = "auto",
        repulsive_weights: str | ArrayLike | None = None,
        max_iter: int = 1000,
        tol: Any = "auto",
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

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        weights = self._weights_of_pairs(X)
        if weights is not None:
            options["repulsion"] = None
        return self._model(P, repulsive_weights=weights, **options)

    def _weights_of_pairs(self, X: Any) -> Any:
        if not isinstance(self.repulsive_weights, str):
            return self.repulsive_weights
        if self.repulsive_weights != "distances":
            raise ValueError(
                f"repulsive_weights={self.repulsive_weights!r} must be None (ones), 'distances' "
                "or a matrix"
            )
        from closeknit.neighbors import dense_sq_distances

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
        twin = self._twin(
            objective.weights, repulsion=objective.repulsion, n_jobs=self.n_jobs, check=False
        )
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
    _model = objectives.ElasticEmbedding


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
    _model = objectives.TElasticEmbedding

    def _resolve_direction(self, objective: Objective) -> Any:
        if not isinstance(self.direction, str) or self.direction != "auto":
            return self.direction
        # Line searches would throw clusters out as far as they would t-SNE's.
        return SpectralMomentum(n_jobs=self.n_jobs)


for _cls in (ElasticEmbedding, TElasticEmbedding):
    document(_cls, _LAM_AUTO)
