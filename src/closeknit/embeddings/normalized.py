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
from closeknit.kernels import student
from closeknit.minimize import Direction, Momentum, SpectralMomentum
from closeknit.objectives import Objective
from closeknit.repulsion import ExactRepulsion

__all__ = ["SNE", "TSNE", "SymmetricSNE"]

Array = NDArray[np.float64]

#: Stages of early exaggeration. Lowering it in steps ends in better minima than dropping it at
#: once.
_WITH_LINE_SEARCH = ((12.0, 50), (6.0, 30), (3.0, 30), (1.5, 30))
_WITH_MOMENTUM = ((12.0, 30), (3.0, 30))
_WITH_SPECTRAL_MOMENTUM = ((12.0, 15), (4.0, 8), (2.0, 8))


class _Normalized(BaseEmbedding):
    """Models whose objective is a Kullback–Leibler divergence up to a constant."""

    saved_state = (*BaseEmbedding.saved_state, "_kl_divergence")

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

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return objectives.SymmetricSNE(P, **options)


class TSNE(_Normalized):
    """t-distributed stochastic neighbour embedding (t-SNE).

    Minimises Σ p log(1 + t) + λ log Σ 1/(1 + t) with t = ‖x_n − x_m‖².

    Parameters
    ----------
    <parameters>
    dof : float, default=1.0
        Degrees of freedom of Student's t. Fewer give heavier tails: clusters fall apart into finer
        ones.
    exaggeration : "auto" or sequence of (float, int), default="auto"
        Short stages before the minimisation proper, each a factor by which attraction is
        exaggerated, that is λ divided, and its iterations: early exaggeration is a homotopy in λ.
        ``"auto"`` is ``((12, 30), (3, 30))`` with momentum, ``((12, 15), (4, 8), (2, 8))`` with
        spectral momentum, else ``((12, 50), (6, 30), (3, 30), (1.5, 30))``. Not used if `lam` is a
        list.

    Attributes
    ----------
    <attributes>
    kl_divergence_ : float
        KL(P‖Q) at λ = 1.

    Notes
    -----
    Up to 5,000 points training is by spectral momentum, beyond by momentum. Spectral momentum takes
    half the iterations and ends at lower divergences on wider maps; those of many points keep a
    little fewer neighbours.

    The classical training, for comparison with other programs, whose learning rate n / exaggeration
    is a rate of 0.25 here::

        classical = Momentum(rate=0.25, momentum=0.8, early_momentum=0.5, early=250)
        TSNE(direction=classical, exaggeration=((12, 250),), max_iter=500, tol=0)

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
        dof: float = 1.0,
        exaggeration: Any = "auto",
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
        self.dof = dof
        self.exaggeration = exaggeration

    _accuracy = (0.1, 0.2)

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return objectives.TSNE(P, dof=self.dof, **options)

    def _resolve_direction(self, objective: Objective) -> Any:
        if not isinstance(self.direction, str) or self.direction != "auto":
            return self.direction
        # Line searches would find the lowest divergences, with clusters that have hardly a weight
        # in common millions of units apart.
        if isinstance(objective.repulsion, ExactRepulsion):
            return SpectralMomentum(n_jobs=self.n_jobs)
        # Maps of more points are wider, and steps of the same length would take longer.
        width = max(1.0, float(np.sqrt(objective.n_samples / 70_000)))
        return Momentum(max_step=3.0 * width, n_jobs=self.n_jobs)

    def _choose_lam(
        self, objective: Objective, start: Array, options: dict[str, Any]
    ) -> tuple[Any, Array, str | None]:
        stages = self.exaggeration
        if isinstance(stages, str):
            stages = _stages(options["direction"])
        if np.ndim(self.lam) > 0 or self.lam == 0.0 or len(stages) == 0:
            return self.lam, start, None
        early = [(self.lam / factor, min(n, self.max_iter)) for factor, n in stages]
        lams, iterations = zip(*early, (self.lam, self.max_iter), strict=True)
        options["max_iter"] = iterations
        return lams, start, None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        student(self.dof)
        if isinstance(self.exaggeration, str) and self.exaggeration == "auto":
            return
        if not _are_stages(self.exaggeration):
            raise ValueError(
                f"exaggeration={self.exaggeration!r} must be 'auto' or list pairs of a positive "
                "factor and a number of iterations, such as ((12.0, 50),); () is none"
            )
        factors = [*[stage[0] for stage in self.exaggeration], 1.0]
        if not all(a > b for a, b in pairwise(factors)):
            raise ValueError(
                f"exaggeration={self.exaggeration!r} must fall from factor to factor, and end "
                "above 1"
            )


def _stages(direction: Direction) -> Any:
    """Return the stages of exaggeration that suit a direction."""
    if isinstance(direction, Momentum):
        return _WITH_MOMENTUM
    return _WITH_SPECTRAL_MOMENTUM if isinstance(direction, SpectralMomentum) else _WITH_LINE_SEARCH


def _are_stages(stages: Any) -> bool:
    """Whether these are pairs of a positive factor and a whole number of iterations."""
    try:
        return all(factor > 0.0 and n >= 0 and n == int(n) for factor, n in stages)
    except (TypeError, ValueError):
        return False


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

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return objectives.SNE(P, **options)

    def _repulsion_of_new(self, objective: Objective) -> float:
        sums = objective.repulsion.values(self.embedding_, objective.kernel)
        return float(self.lam_ * (1.0 / sums).mean())


for _cls in (SymmetricSNE, TSNE, SNE):
    document(_cls)
