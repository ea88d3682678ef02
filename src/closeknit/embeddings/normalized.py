"""Embeddings whose objective is a Kullback–Leibler divergence: s-SNE, t-SNE and SNE."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closeknit import objectives
from closeknit.embeddings._document import document
from closeknit.embeddings.base import BaseEmbedding
from closeknit.objectives import Objective
from closeknit.repulsion import Repulsion

__all__ = ["SNE", "TSNE", "SymmetricSNE"]

Array = NDArray[np.float64]


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
        perplexity: float | Sequence[float] = 30.0,
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


for _cls in (SymmetricSNE, TSNE, SNE):
    document(_cls)
