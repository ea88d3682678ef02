"""Results of a minimisation: its state, its history, how and why it ended."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from closeknit._arrays import Array, Integers


class StopReason(StrEnum):
    """Why a minimisation stopped; equal to the string that names it.

    Attributes
    ----------
    text : str
        The same for people.

    Examples
    --------
    >>> from closeknit.minimize import StopReason
    >>> StopReason.TOL == "tol", StopReason.TOL.text
    (True, 'converged: the objective hardly changes (tol)')
    """

    text: str

    TOL = "tol", "converged: the objective hardly changes (tol)"
    GRADIENT_TOL = "gradient_tol", "converged: the gradient is nearly zero (gradient_tol)"
    NO_DECREASE = "no further decrease", "converged: no step decreases the objective any further"
    MAX_ITER = "max_iter", "reached the largest number of iterations (max_iter)"
    TIME_LIMIT = "time_limit", "reached the time limit (time_limit)"
    CALLBACK = "callback", "stopped by the callback"
    INTERRUPTED = "interrupted", "interrupted by Ctrl-C"
    END_OF_PATH = "end of path", "went through all stages"

    def __new__(cls, value: str, text: str = "") -> Self:  # noqa: D102
        member = str.__new__(cls, value)
        member._value_ = value
        member.text = text
        return member

    __repr__ = str.__repr__


@dataclass(frozen=True)
class State:
    """The state of a minimisation, as callbacks and stopping rules see it.

    Attributes
    ----------
    iteration, evaluations : int
        Counted over all stages.
    seconds : float
        Since the start of the first stage.
    X : ndarray of shape (n_samples, n_components)
        The current positions, read-only; copy them to keep them.
    value, gradient_norm, step : float
        The step is NaN at the start of a stage.
    lam : float or None
        λ of the stage, if it has one.
    stage : int
        Number of the stage, from 0.
    parts : tuple of float
        E⁺ and E⁻, if the problem gives them, else NaN.

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], callback=lambda state: state.value < 5).stopped_because
    'callback'
    """

    iteration: int
    evaluations: int
    seconds: float
    X: Array
    value: float
    gradient_norm: float
    step: float
    lam: float | None = None
    stage: int = 0
    parts: tuple[float, float] = (np.nan, np.nan)

    def __repr__(self) -> str:
        return f"State({self})"

    def __str__(self) -> str:
        parts = [
            f"iteration {self.iteration}",
            f"objective {self.value:.6g}",
            f"|gradient| {self.gradient_norm:.2e}",
        ]
        if np.isfinite(self.step):
            parts.append(f"step {self.step:.2g}")
        if self.lam is not None:
            parts.append(f"λ {self.lam:.3g}")
        return ", ".join([*parts, f"{self.seconds:.1f} s"])


@dataclass(frozen=True)
class History:
    """One entry for the start of each stage and one for every iteration.

    Attributes
    ----------
    iteration : ndarray of int
        Over all stages; the start of a later stage has the number of the iteration before it.
    stage : ndarray of int
        Number of the stage, from 0.
    lam : ndarray
        λ of the stage; NaN where the problem has none.
    evaluations : ndarray of int
        Evaluations of objective and gradient so far, line searches included.
    seconds : ndarray
        Since the start, factorisations included.
    objective : ndarray
        At the λ of its stage, which makes stages differ; see :meth:`objective_at`.
    attractive, repulsive : ndarray
        E⁺ and E⁻ of the objective E⁺ + λE⁻; NaN for a problem that does not give them.
    gradient_norm : ndarray
        Frobenius norm.
    step : ndarray
        Accepted step length; NaN at the start of a stage.

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> history = minimize(springs, [[5.0], [5.0]], direction="lbfgs").history
    >>> bool((history.objective[1:] < history.objective[:-1]).all())
    True
    >>> list(history.to_frame().columns)[:6]
    ['iteration', 'stage', 'lam', 'evaluations', 'seconds', 'objective']
    """

    iteration: Integers
    stage: Integers
    lam: Array
    evaluations: Integers
    seconds: Array
    objective: Array
    attractive: Array
    repulsive: Array
    gradient_norm: Array
    step: Array

    def __len__(self) -> int:
        return len(self.iteration)

    def __repr__(self) -> str:
        if not len(self):
            return "History(empty)"
        last = f"objective {self.objective[-1]:.6g}, {self.seconds[-1]:.1f} s"
        return f"History({self.iteration[-1]} iterations, {self.stage[-1] + 1} stages, {last})"

    @classmethod
    def from_records(cls, records: Sequence[tuple[float, ...]]) -> History:
        """Make the columns from a list of rows."""
        table = np.array(records, dtype=np.float64).reshape(len(records), len(_COLUMNS)).T
        columns: dict[str, NDArray[Any]] = dict(zip(_COLUMNS, table, strict=True))
        for name in ("iteration", "stage", "evaluations"):
            columns[name] = columns[name].astype(np.int64)
        return cls(**columns)

    def objective_at(self, lam: float) -> Array:
        """Return E⁺ + λE⁻ at one λ for all stages; NaN where the parts are not known.

        Examples
        --------
        >>> import closeknit as ck
        >>> from sklearn.datasets import load_iris
        >>> tsne = ck.TSNE(random_state=0).fit(load_iris().data)
        >>> divergence = tsne.history_.objective_at(1.0)
        >>> bool(divergence[-1] == tsne.objective_)
        True
        """
        return self.attractive + lam * self.repulsive

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one column per array."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError("History.to_frame needs pandas: pip install pandas") from error
        return pd.DataFrame({name: getattr(self, name) for name in _COLUMNS})

    @classmethod
    def joined(cls, parts: Iterable[History]) -> History:
        """One history after the other."""
        columns = zip(*map(attrgetter(*_COLUMNS), parts), strict=True)
        return cls(*map(np.concatenate, columns))

    def __getitem__(self, rows: slice) -> History:
        return History(*(getattr(self, name)[rows] for name in _COLUMNS))


_COLUMNS = tuple(History.__dataclass_fields__)


@dataclass(frozen=True)
class Result:
    """The outcome of a minimisation, or of one stage.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_components)
        The best positions found; with momentum the last.
    value, gradient_norm : float
        The objective there, and the Frobenius norm of its gradient.
    n_iter, n_evaluations : int
    seconds : float
    stopped_because : StopReason
    history : History

    Examples
    --------
    >>> from closeknit.minimize import Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> result = minimize(springs, [[5.0], [5.0]], max_iter=2)
    >>> result.stopped_because, result.n_iter
    ('max_iter', 2)
    """

    X: Array
    value: float
    gradient_norm: float
    n_iter: int
    n_evaluations: int
    seconds: float
    stopped_because: StopReason
    history: History

    def __repr__(self) -> str:
        summary = f"objective {self.value:.6g} after {self.n_iter} iterations"
        return f"Result({summary}: {self.stopped_because.text})"

    def joined(self, later: Result) -> Result:
        """The outcome of this stage and of its continuation."""
        sums = {
            name: getattr(self, name) + getattr(later, name)
            for name in ("n_iter", "n_evaluations", "seconds")
        }
        # The continuation begins with what this stage has ended with.
        return replace(later, **sums, history=History.joined([self.history, later.history[1:]]))


@dataclass(frozen=True)
class Path:
    """The results of all stages of a schedule, as far as it came.

    Attributes
    ----------
    lams : ndarray of shape (n_stages,)
        The λ of each stage that has a result.
    results : tuple of Result
        One for each; after an early stop the last may be unfinished.
    stopped_because : StopReason
        ``"end of path"``, ``"time_limit"``, ``"callback"`` or ``"interrupted"``.

    Examples
    --------
    >>> from closeknit.minimize import Springs, homotopy
    >>> weights, targets = [[0, 1], [1, 0]], [[0.0], [3.0]]
    >>> path = homotopy(lambda lam: Springs(weights, targets, lam), [1, 10], [[0.0], [0.0]])
    >>> path.Xs.shape, len(path.results), len(path.history) > 2
    ((2, 2, 1), 2, True)
    """

    lams: Array
    results: tuple[Result, ...]
    stopped_because: StopReason

    @property
    def X(self) -> Array:
        """The positions after the last stage, of shape (n_samples, n_components)."""
        return self.results[-1].X

    @property
    def Xs(self) -> Array:
        """The positions after every stage, of shape (n_stages, n_samples, n_components)."""
        return np.stack([result.X for result in self.results])

    @cached_property
    def history(self) -> History:
        """The histories of all stages in one."""
        return History.joined(result.history for result in self.results)

    def __repr__(self) -> str:
        return f"Path({len(self.results)} stages, up to λ {self.lams[-1]:.3g})"

    def joined(self, later: Path) -> Path:
        """The stages of this path and of its continuation, which begins with the last stage."""
        whole = self.results[-1].joined(later.results[0])
        results = (*self.results[:-1], whole, *later.results[1:])
        return Path(np.append(self.lams[:-1], later.lams), results, later.stopped_because)
