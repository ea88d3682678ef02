"""Momentum along the gradient, or along the spectral direction: no line search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from closeknit import _core
from closeknit._arrays import Array, Integers
from closeknit._threads import beside, effective_n_jobs
from closeknit.linalg import (
    ApproximateCholesky,
    divide,
    map_order,
    row_sums,
    sample_entries,
    with_data,
)
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import AttractiveProblem
from closeknit.minimize.steps import FixedStep, Step
from closeknit.progress import log

_SLOWER = 0.7
#: Points from which on factors are made beside the iterations, and how many iterations later they
#: are used, made by then or not.
_MANY_POINTS, _LATER = 20_000, 5
#: Points of a part of the graph that is factorised on its own, and most parts.
_PART, _MOST_PARTS = 16_384, 64
#: Of the points between parts, the share that is few enough, the one that is too many for parts to
#: pay, and what is fewer than before.
_FEW_BETWEEN, _TOO_MANY_BETWEEN, _FEWER = 0.1, 0.15, 0.97
#: Steps that no map is too small for, the share of a map's radius that they may be, and after how
#: many iterations its radius is measured.
_SHORT, _SHARE, _EVERY = 3.0, 0.02, 10


class MomentumRule(Direction[AttractiveProblem]):
    """What momentum along any direction has in common."""

    rate: float
    momentum: float
    max_step: float | str

    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient", "attractive_weights")
    preferred_step: ClassVar[Step] = FixedStep()
    monotone: ClassVar[bool] = False
    patience: ClassVar[int] = 20
    #: Share of the velocity that is kept after convergence, and for how many iterations.
    rest: ClassVar[tuple[float, int]] = (0.0, 0)
    follows_map: ClassVar[bool] = False  # whether max_step may be "auto"

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < np.inf:
            raise ValueError(f"rate={self.rate!r} must be positive and finite")
        if not 0.0 <= self.momentum < 1.0:
            raise ValueError(f"momentum={self.momentum!r} must be at least 0 and below 1")
        step = _SHORT if self.follows_map and self.max_step == "auto" else self.max_step
        if isinstance(step, str) or not step > 0.0:
            auto = " or 'auto'" if self.follows_map else ""
            raise ValueError(f"max_step={self.max_step!r} must be positive{auto}")


class MomentumDescent(Descent[AttractiveProblem]):
    """Momentum at work; derived classes may bend the gradient first."""

    def __post_init__(self, X: Array) -> None:
        self.rate, step = self.rule.rate, self.rule.max_step
        self.max_step = _SHORT if isinstance(step, str) else step
        self.iteration = 0
        self._resting = False
        self._velocity = np.zeros(X.shape)
        self._gains = np.ones(len(X)) if self.rule.gains else None
        self._values: list[float] = []  # at the current λ

    def propose(self, X: Array, gradient: Array) -> Array:
        """Update the velocity, which need not go downhill."""
        rule = self.rule
        keep = rule.early_momentum if self.iteration < rule.early else rule.momentum
        if self._resting:
            keep = min(keep, rule.rest[0])
        self.iteration += 1
        _core.momentum_step(
            (self.rate, keep, self.max_step),
            rule.gain,
            np.ascontiguousarray(gradient),
            self._velocity,
            self._gains,
            effective_n_jobs(rule.n_jobs),
        )
        return self._velocity

    def observe(self, value: float) -> None:
        """Go on slower if the objective has risen over the last `patience` iterations.

        Long after a map looks finished, the repulsion's own curvature can exceed what the rate
        allows for, and the points start to swing: on covertype after 1,500 iterations.
        """
        values, window = self._values, self.rule.patience
        values.append(value)
        # The first iterations at a new λ may go uphill on the velocity from the one before.
        if len(values) % window == 0 and len(values) > window and value > values[-window]:
            self.rate *= _SLOWER
            log("the objective has risen; the rate falls to %.2g", self.rate)

    def reset(self) -> bool:
        """Come to rest and go on slower, after a step to where the objective is not finite."""
        moved = bool(self._velocity.any())
        self.rate *= 0.5
        self._velocity[:] = 0.0
        if self._gains is not None:
            self._gains[:] = 1.0
        return moved

    def come_to_rest(self) -> int:
        """Go on with less momentum, so that what swings comes to rest where it belongs."""
        self._resting = True
        return self.rule.rest[1]

    def follow(self, problem: AttractiveProblem) -> None:
        """Keep the velocity from λ to λ."""
        self.problem, self._resting = problem, False
        self._values.clear()


@dataclass(frozen=True)
class Momentum(MomentumRule, name="momentum"):
    """Let velocity build up along the gradient, with a rate per point that adapts.

    The classical way to train t-SNE: a step costs one evaluation, and unlike a line search it may
    go uphill for a while. Nothing in it depends on the axes: a start that is turned gives the map
    turned.

    Parameters
    ----------
    rate : float, default=1.0
        Learning rate over the inverse mean degree of the attractive graph, which makes it
        independent of the number of points and of the scale of the weights. 0.25 is the usual
        n / exaggeration of t-SNE. Where attraction is quadratic (Gaussian kernels) it does not
        weaken with distance, and 0.1 is as much as keeps the points from swinging.
    momentum : float, default=0.95
        Share of the velocity that is kept.
    early_momentum : float, default=0.8
        The same for the first `early` iterations, in which much of it would scatter the points.
    early : int, default=60
    gains : bool, default=True
        Whether each point raises its rate while its gradient points against its velocity.
    max_step : float, default=3.0
        Longest move of a point in one iteration. Longer ones fling points out of the map, from
        where they take long to return.
    n_jobs : int or None, default=-1

    Examples
    --------
    >>> from closeknit.minimize import Momentum, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> direction = Momentum(rate=0.1, momentum=0.5, early=0)
    >>> minimize(springs, [[5.0], [5.0]], direction=direction).X.round(2)
    array([[1.2],
           [1.8]])

    References
    ----------
    Van der Maaten and Hinton (2008), Visualizing data using t-SNE, section 3.4; Belkina et al.
    (2019), Automated optimized parameters for t-SNE, for the rate.
    """

    rate: float = 1.0
    momentum: float = 0.95
    early_momentum: float = 0.8
    early: int = 60
    gains: bool = True
    max_step: float = 3.0
    n_jobs: int | None = -1

    #: What a gain grows by, and how far.
    gain: ClassVar[tuple[float, float]] = (0.2, np.inf)
    default_tol: ClassVar[float] = 4e-5
    exaggeration: ClassVar[tuple[tuple[float, int], ...]] = ((12.0, 30), (3.0, 30))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (0.0 <= self.early_momentum < 1.0 and self.early >= 0):
            raise ValueError(
                f"early_momentum={self.early_momentum!r} must be at least 0 and below 1, and "
                f"early={self.early!r} must not be negative"
            )

    def after(self, n_iter: int) -> Momentum:
        """Return the same with fewer of its early iterations."""
        return replace(self, early=max(0, self.early - n_iter))

    def start(self, problem: AttractiveProblem, X: Array) -> Descent[AttractiveProblem]:
        """Begin at rest."""
        descent = MomentumDescent(problem, self, X)
        # Of points in one place, so that the rate is the same wherever a run begins, or goes on.
        degree = float(problem.attractive_weights(np.zeros_like(X)).sum()) / len(X)
        descent.rate /= degree if degree > 0.0 else 1.0
        return descent


@dataclass(frozen=True)
class _Factor:
    """A factor of 4L⁺ + 4εD⁺, and what it was made of."""

    cholesky: ApproximateCholesky
    data: NDArray[Any]
    epsilon: float


class _SpectralMomentumDescent(MomentumDescent):
    _factor: _Factor | None = None
    _next: Callable[[], _Factor] | None = None  # makes the next factor, or waits for it
    _sample: tuple[Integers, NDArray[Any]] | None
    _refresh_at: float = 0
    _use_at: int
    _between: float = 1.0  # the share of points that were between the parts

    def propose(self, X: Array, gradient: Array) -> Array:
        """Update the velocity along the spectral direction, whose factor follows the weights."""
        if self.rule.max_step == "auto" and self.iteration % _EVERY == 0:
            self.max_step = max(_SHORT, _SHARE * float(np.sqrt(X.var(axis=0).sum())))
        if self._factor is None or self.iteration >= self._refresh_at:
            rule, epsilon = self.rule, self.rule.stiffness_at(self.iteration)
            later = _LATER if self._factor is not None and len(X) >= _MANY_POINTS else 0
            make = partial(self._make, self.problem, X, self._factor, epsilon)
            self._next = beside(rule.n_jobs, make) if later else make
            self._use_at = self.iteration + later
            settled = epsilon == rule.final_stiffness
            wait = max(rule.refresh or np.inf, self.iteration // 4 if settled else 0)
            self._refresh_at = self.iteration + max(wait, later + 1)
        if self._next is not None and self.iteration >= self._use_at:
            self._factor, self._next = self._next(), None
        assert self._factor is not None
        direction = self._factor.cholesky.solve(gradient)
        direction *= 1.0 + self._factor.epsilon
        return super().propose(X, direction)

    def _make(
        self, problem: AttractiveProblem, X: Array, last: _Factor | None, epsilon: float
    ) -> _Factor:
        """Factorise 4L⁺ + 4εD⁺ of the sampled weights at X, unless that is the last factor's."""
        rule = self.rule
        if last is None:
            weights = problem.attractive_weights(X)
            self._sample = sample_entries(weights, rule.n_neighbors, rule.random_state, rule.n_jobs)
        positions, factors = self._sample or (None, 1.0)
        kept = problem.attractive_weights(X, positions)
        data = factors * kept.data
        if last is not None and epsilon == last.epsilon and np.array_equal(data, last.data):
            return last
        degrees = row_sums(with_data(kept, data))
        degrees[degrees <= 0.0] = degrees.mean() or 1.0  # points without attraction move, too
        laplacian = with_data(kept, 4.0 * data.astype(np.float64))
        parts = self._divide(laplacian, X)
        cholesky = ApproximateCholesky(
            laplacian,
            4.0 * epsilon * degrees,
            rule.random_state,
            n_jobs=rule.n_jobs,
            like=None if last is None or parts is not None else last.cholesky,
            parts=parts,
            check=False,
        )
        return _Factor(cholesky, data, epsilon)

    def _divide(self, weights: csr_matrix, X: Array) -> Integers | None:
        """Cut the graph along the map, until hardly fewer points are between the parts."""
        n_parts = min(len(X) // _PART, _MOST_PARTS)
        before = self._between
        if n_parts < 2 or before <= _FEW_BETWEEN:
            return None
        parts, n_between = divide(weights, map_order(X[:, :3]), n_parts, self.rule.n_jobs)
        now = n_between / len(X)
        self._between = now if now < _FEWER * before else 0.0  # and that is as few as it gets
        return parts if now < min(before, _TOO_MANY_BETWEEN) else None


@dataclass(frozen=True)
class SpectralMomentum(MomentumRule, name="spectral-momentum"):
    """Momentum along the spectral direction, with a factor that follows the map.

    The direction solves (4L⁺ + 4εD⁺) P = −G. With a large ε that is the fixed point iteration, in
    which every point follows its neighbours; with a small one it is the spectral direction, in
    which whole clusters move at once. Beginning with the first and lowering ε while the repulsion
    grows lets points find their neighbours before clusters find their places: maps keep more
    neighbours, large and small, than those of either alone or of plain :class:`Momentum`. There is
    no line search: on t-SNE's objective it would take steps that fling points far out. A point
    whose velocity turns against its direction takes shorter steps, so that nothing swings. Nothing
    depends on the axes.

    Parameters
    ----------
    rate : float, default=0.5
        Share of the direction that is added to the velocity.
    momentum : float, default=0.9
        Share of the velocity that is kept.
    max_step : "auto" or float, default="auto"
        Longest move of a point in one iteration. ``"auto"`` is 3, or 2 % of the radius of the map
        (root mean square) where that is more.
    stiffness : float, default=1.0
        ε at the start.
    final_stiffness : float, default=0.01
        The least ε.
    hold : int, default=20
        Iterations before ε begins to fall.
    half_life : float, default=30.0
        Iterations in which ε falls by half.
    n_neighbors : int or None, default=4
        Weights that each point gives to the factor, the largest and some drawn at random in the
        place of all others (:func:`closeknit.linalg.sample_entries`); None takes all. Which these
        are is decided at the start.
    refresh : int or None, default=20
        Iterations after which the factor is made anew while ε falls. Later, when maps change less
        and less, a quarter of those that have passed, if that is more. None never does, and keeps
        the first ε. From 20,000 points on, a factor is made beside the iterations and used five
        iterations later, on any number of threads.
    random_state : int, default=0
        Draws weights, and the approximate factor; the same number gives the same steps.
    n_jobs : int or None, default=-1

    Notes
    -----
    From 33,000 points on, the graph is cut along the map into parts once few points are between
    them, and threads share the factor and its solves (:func:`closeknit.linalg.divide`).

    The values were chosen on 20 newsgroups, digits, PBMC, parts of covertype and of flow cytometry;
    ``benchmarks/finished.py`` judges them on other sets too. t-SNE takes ten neighbours up to
    5,000 points, which iris showed to be better.

    Examples
    --------
    >>> from closeknit.minimize import SpectralMomentum, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> direction = SpectralMomentum(rate=0.1, momentum=0.5)
    >>> minimize(springs, [[5.0], [5.0]], direction=direction).X.round(2)
    array([[1.2],
           [1.8]])
    """

    rate: float = 0.5
    momentum: float = 0.9
    max_step: float | str = "auto"
    stiffness: float = 1.0
    final_stiffness: float = 0.01
    hold: int = 20
    half_life: float = 30.0
    n_neighbors: int | None = 4
    refresh: int | None = 20
    random_state: int = 0
    n_jobs: int | None = -1

    early_momentum: ClassVar[float] = 0.0
    early: ClassVar[int] = 0
    gains: ClassVar[bool] = True
    follows_map: ClassVar[bool] = True
    #: What a gain grows by, and how far: points that swing are slowed, others hardly sped up.
    gain: ClassVar[tuple[float, float]] = (0.05, 1.5)
    rest: ClassVar[tuple[float, int]] = (0.5, 20)
    descent: ClassVar[type[_SpectralMomentumDescent]] = _SpectralMomentumDescent
    default_tol: ClassVar[float] = 1e-4
    exaggeration: ClassVar[tuple[tuple[float, int], ...]] = (
        (12.0, 20),
        (6.0, 50),
        (3.0, 25),
        (1.5, 25),
        (1.1, 50),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_neighbors", "refresh"):
            number = getattr(self, name)
            if number is not None and number < 1:
                raise ValueError(f"{name}={number!r} must be None or at least 1")
        if not 0.0 < self.final_stiffness <= self.stiffness < np.inf:
            raise ValueError(
                f"final_stiffness={self.final_stiffness!r} must be positive and at most "
                f"stiffness={self.stiffness!r}, which must be finite"
            )
        if self.hold < 0 or not self.half_life > 0.0:
            raise ValueError(
                f"hold={self.hold!r} must not be negative, and half_life={self.half_life!r} must "
                "be positive"
            )

    def after(self, n_iter: int) -> SpectralMomentum:
        """Return the same with the stiffness that it has after this many iterations."""
        stiffness, hold = self.stiffness_at(n_iter), max(0, self.hold - n_iter)
        return replace(self, stiffness=stiffness, hold=hold)

    def stiffness_at(self, iteration: int) -> float:
        """Return ε after this many iterations.

        Examples
        --------
        >>> from closeknit.minimize import SpectralMomentum
        >>> [SpectralMomentum().stiffness_at(n) for n in (0, 20, 50, 1000)]
        [1.0, 1.0, 0.5, 0.01]
        """
        halvings = max(0, iteration - self.hold) / self.half_life
        return max(self.final_stiffness, self.stiffness * 0.5**halvings)
