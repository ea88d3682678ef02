"""t-SNE."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any

from closeknit import objectives
from closeknit.embeddings._aliases import ALIASES, accepts
from closeknit.embeddings.nonlinear import MAX_POINTS_EXACT, NormalizedEmbedding
from closeknit.kernels import student
from closeknit.minimize import Direction, Schedule, SpectralMomentum
from closeknit.objectives import Objective

#: Share of each point's edges that attract while attraction is exaggerated. With fewer edges an
#: iteration costs less, and maps of MNIST, 20 newsgroups and flow cytometry keep as many neighbours
#: or more.
_EARLY_EDGES = 0.25
#: Iterations in which the time to number the points by their place is not made up for.
_FEW_ITERATIONS = 10


@accepts(ALIASES)
@dataclass(repr=False, eq=False, kw_only=True)
class TSNE(NormalizedEmbedding):
    """t-distributed stochastic neighbour embedding (t-SNE).

    Minimises Σ p log(1 + t) + λ log Σ 1/(1 + t) with t = ‖x_n − x_m‖².

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
    dof : float, default=1.0
        Degrees of freedom of Student's t. Fewer give heavier tails: clusters fall apart into finer
        ones.
    exaggeration : "auto", float, None or sequence of (float, int), default="auto"
        Short stages before the minimisation proper, each a factor by which attraction is
        exaggerated, that is λ divided, and its iterations: early exaggeration is a homotopy in λ.
        ``"auto"`` is ``((12, 20), (6, 50), (3, 25), (1.5, 25), (1.1, 50))`` with spectral momentum,
        ``((12, 30), (3, 30))`` with momentum, else ``((12, 50), (6, 30), (3, 30), (1.5, 30))``. A
        number takes the place of the 12, and is followed by those below it: 4 is ``((4, 20),
        (3, 25), (1.5, 25), (1.1, 50))``. None, or 1, has no such stages. For an exaggeration of 4
        to the end, use ``lam=1/4``. Not used if `lam` is a list.
    max_iter : int, default=1000
        Most iterations of each stage, that is per λ. With ``tol="auto"``, a limit that stops a map
        whose neighbours are still coming together warns of it; so does `time_limit`.
    tol : "auto" or float, default="auto"
        When a stage has converged. A number is the relative decrease of the objective per iteration
        below which it has; ``"auto"`` is 1e-6 where there is a line search. With momentum, plain or
        spectral, ``"auto"`` asks for a finished map: over 40 iterations the share of neighbours
        that it keeps has grown by no more than 0.4 % of itself, and over the last 20 the divergence
        has changed by no more than 8e-4 (momentum) or 2e-3 (spectral momentum) of itself per
        iteration, or 0.09 of that where all pairs are summed; see
        :class:`~closeknit.embeddings.MapSettled`. Spectral momentum ends with 20 iterations of less
        momentum, in which what swings comes to rest.
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

    Notes
    -----
    Training is by :class:`~closeknit.minimize.SpectralMomentum` at any number of points: first
    every point follows its neighbours, later whole clusters move at once. Such maps keep more
    neighbours than those of plain :class:`~closeknit.minimize.Momentum`. Points move by at most 3
    units per iteration, or 2 % of the map's radius. Beyond 5,000 points, only the strongest quarter
    of each point's edges attracts while attraction is exaggerated; the objective of those
    iterations is that of these edges. Nothing depends on the axes: a start that is turned gives the
    map turned, up to the noise of the grid.

    The classical training, for comparison with other programs, whose learning rate n / exaggeration
    is a rate of 0.25 here::

        classical = Momentum(rate=0.25, momentum=0.8, early_momentum=0.5, early=250)
        TSNE(direction=classical, exaggeration=((12, 250),), max_iter=500, tol=0)

    Names of other programs are accepted where they mean the same: ``early_exaggeration`` is
    `exaggeration`, ``n_iter`` is `max_iter`, ``initialization`` is `init`, and ``method="exact"``
    is ``repulsion="exact"``. Others are answered by what takes their place.

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

    _accuracy = (0.1, 0.2)

    dof: float = 1.0
    exaggeration: Any = "auto"

    def _make_objective(self, P: Any, X: Any, **options: Any) -> Objective:
        return objectives.TSNE(P, dof=self.dof, **options)

    def _suitable_direction(self, n_samples: int, exact: bool) -> Direction[Any]:
        # Line searches would find the lowest divergences, with clusters that have hardly a weight
        # in common millions of units apart. With many points the time of the factor counts.
        n_neighbors = 10 if n_samples <= MAX_POINTS_EXACT else 4
        return SpectralMomentum(n_neighbors=n_neighbors, n_jobs=self.n_jobs)

    def _make_schedule(self, objective: Objective, direction: Direction[Any]) -> Schedule:
        if not isinstance(self.lam, Real) or self.lam == 0.0:
            return super()._make_schedule(objective, direction)
        stages = _stages(self.exaggeration, direction.exaggeration)
        early = partial(objective.renumber, edges=1.0 if direction.monotone else _EARLY_EDGES)
        last = objective.renumber if stages or self.max_iter > _FEW_ITERATIONS else None
        return Schedule.exaggerated(stages, float(self.lam), self.max_iter, last, early)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        student(self.dof)
        Schedule.exaggerated(_stages(self.exaggeration, ()))


def _stages(exaggeration: Any, usual: Any) -> Any:
    """Return factors and iterations; `usual` are those of the direction."""
    if isinstance(exaggeration, str) and exaggeration == "auto":
        return usual
    if type(exaggeration) is bool or not isinstance(exaggeration, Real):
        return exaggeration
    if exaggeration == 1:
        return ()
    first, *later = usual or ((0.0, 0),)
    return ((exaggeration, first[1]), *(stage for stage in later if stage[0] < exaggeration))
