"""What a search direction is: a frozen configuration, and its memory during one run."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from functools import partial
from itertools import filterfalse
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from closeknit._arrays import Array
from closeknit.linalg import inner, norm
from closeknit.minimize.problem import Problem
from closeknit.minimize.steps import Backtracking, Step

#: What a direction needs of a problem, as a protocol.
P = TypeVar("P", bound=Problem)


#: What a problem may offer: the methods of the protocols in problem.py.
_CAPABILITIES = (
    "value_and_gradient",
    "attractive_weights",
    "hessian_diagonal",
    "repulsive_curvature",
)


#: Directions by name; classes derived from one may register a name, too.
DIRECTIONS: dict[str, type[Direction[Any]]] = {}


@dataclass(eq=False)
class Descent(Generic[P]):
    """A direction at work on one problem, B P = −G with a positive definite B.

    What it proposes is what the direction proposes; derived classes have a memory. This class
    guarantees a descent direction.

    Parameters
    ----------
    problem : Problem
    rule : Direction
    X : ndarray of shape (n_samples, n_components)
        Where the run begins.

    Examples
    --------
    >>> import numpy as np
    >>> from closeknit.minimize import SpectralDirection, Springs
    >>> springs, X = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]]), np.full((2, 1), 5.0)
    >>> descent = SpectralDirection().start(springs, X)
    >>> gradient = springs.value_and_gradient(X)[1]
    >>> bool((descent.step_towards(X, gradient) * gradient).sum() < 0.0)
    True
    """

    problem: P
    rule: Any
    X: InitVar[Array]

    def __post_init__(self, X: Array) -> None:
        """Prepare for a run from X."""

    def propose(self, X: Array, gradient: Array) -> Array:
        """Return the direction at X; called once for every accepted X, or again after a reset."""
        return self.rule.propose(self.problem, X, gradient)

    def reset(self) -> bool:
        """Clear the memory of earlier iterations; return whether there was any."""
        return False

    def observe(self, value: float) -> None:
        """Take the objective after a step that was chosen without it."""

    def come_to_rest(self) -> int:
        """Prepare for the end of a stage that has converged; return its iterations."""
        return 0

    def follow(self, problem: P) -> None:
        """Go on with the same problem at another λ: what depends on E⁺ only is kept."""
        self.problem = problem
        self.reset()

    def step_towards(self, X: Array, gradient: Array) -> Array:
        """Return a descent direction at X, where E has this gradient."""
        for _ in range(2):
            direction = self.propose(X, gradient)
            slope = inner(direction, gradient)  # which no NaN or inf leaves negative and finite
            if np.isfinite(slope) and slope < 0.0 and np.isfinite(direction).all():
                return direction
            if not self.reset():
                break
        length = norm(gradient)
        return -gradient / length if length > 0.0 else -gradient


class Direction(Generic[P]):
    """A way to choose search directions; use one of the classes derived from it.

    Each carries its own defaults, as attributes of its class, and may give itself a name.

    Attributes
    ----------
    descent : type of Descent
        What works by it during a run: its memory.
    needs : tuple of str
        Methods that a problem must have.
    natural_step : bool
        Whether the direction carries its own scale, so that α = 1 is a good first trial.
    preferred_step : Step
        What ``step="auto"`` means for it.
    monotone : bool
        Whether the objective always falls. If not, the last positions count and not the lowest
        ones: momentum may increase the objective on purpose.
    patience : int
        Iterations over which the decrease is judged; see :class:`Convergence`.
    default_tol : float
        Relative decrease per iteration below which going on is not worth its time.
    exaggeration : tuple of (float, int)
        Stages of early exaggeration that suit t-SNE in this direction: factors and iterations.

    Examples
    --------
    A custom direction, the gradient over a guess of the curvature:

    >>> from closeknit.minimize import Direction, Springs, minimize
    >>> class Damped(Direction):
    ...     def propose(self, problem, X, gradient):
    ...         return -gradient / 10
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=Damped()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    descent: ClassVar[type[Descent[Any]]] = Descent
    needs: ClassVar[tuple[str, ...]] = ("value_and_gradient",)
    natural_step: ClassVar[bool] = True
    preferred_step: ClassVar[Step] = Backtracking()
    monotone: ClassVar[bool] = True
    patience: ClassVar[int] = 3
    default_tol: ClassVar[float] = 1e-6
    # Lowering the factor in steps ends in better minima than dropping it at once.
    exaggeration: ClassVar[tuple[tuple[float, int], ...]] = (
        (12.0, 50),
        (6.0, 30),
        (3.0, 30),
        (1.5, 30),
    )

    def __init_subclass__(cls, name: str | None = None) -> None:
        super().__init_subclass__()
        if name is not None:
            DIRECTIONS[name] = cls

    def check(self, problem: object) -> None:
        """Explain in one sentence what a problem lacks for this direction, if anything.

        Examples
        --------
        >>> from closeknit.minimize import LBFGS
        >>> LBFGS().check(object())
        Traceback (most recent call last):
            ...
        TypeError: LBFGS needs value and gradient; this problem offers nothing; give it a method
        value_and_gradient(X)
        """
        missing = list(filterfalse(partial(hasattr, problem), self.needs))
        if not missing:
            return
        offers = list(filter(partial(hasattr, problem), _CAPABILITIES))
        advice = "give it a method value_and_gradient(X)"
        if "value_and_gradient" in offers:
            advice = "use 'spectral-lbfgs'" if "attractive_weights" in offers else "use 'lbfgs'"
        words = [", ".join(names).replace("_", " ") or "nothing" for names in (missing, offers)]
        raise TypeError(
            f"{type(self).__name__} needs {words[0]}; this problem offers {words[1]}; {advice}"
        )

    def after(self, n_iter: int) -> Direction[P]:
        """Return what goes on like this one after this many iterations; most do not change."""
        return self

    def start(self, problem: P, X: Array) -> Descent[P]:
        """Prepare for a run from X: factorise, allocate."""
        return self.descent(problem, self, X)

    def propose(self, problem: P, X: Array, gradient: Array) -> Array:
        """Return the direction at X, where nothing has to be remembered."""
        raise NotImplementedError(f"{type(self).__name__} proposes nothing")


def resolve_direction(direction: str | Direction[Any], n_jobs: int | None = -1) -> Direction[Any]:
    """Turn a name into a direction.

    Parameters
    ----------
    direction : str or Direction
    n_jobs : int or None, default=-1
        Threads of a direction that is given by its name.

    Returns
    -------
    Direction

    Examples
    --------
    >>> from closeknit.minimize import resolve_direction
    >>> resolve_direction("spectral")
    SpectralDirection(n_neighbors=None, solver='auto', refresh=None, random_state=0, n_jobs=-1)
    """
    if isinstance(direction, Direction):
        return direction
    if direction in DIRECTIONS:
        named = DIRECTIONS[direction]
        threads: dict[str, Any] = {"n_jobs": n_jobs} if hasattr(named, "n_jobs") else {}
        return named(**threads)
    raise ValueError(
        f"unknown direction {direction!r}; use {', '.join(map(repr, DIRECTIONS))} "
        "or an object such as closeknit.minimize.SpectralDirection(n_neighbors=7)"
    )
