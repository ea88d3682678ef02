"""Limited-memory BFGS, from the identity or from the spectral direction."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from closeknit.linalg import inner, norm
from closeknit.minimize.attractive import AttractiveSolver
from closeknit.minimize.descent import Descent, Direction, P
from closeknit.minimize.problem import Array, AttractiveProblem, Problem
from closeknit.minimize.spectral import SpectralDirection
from closeknit.minimize.steps import Step, StrongWolfe

__all__ = ["LBFGS", "CurvaturePairs", "SpectralLBFGS"]


class CurvaturePairs:
    """The last m pairs s = ΔX, y = ΔG, and the inverse Hessian that they imply."""

    def __init__(self, memory: int) -> None:
        self._pairs: deque[tuple[Array, Array, float]] = deque(maxlen=memory)  # s, y, 1/⟨s, y⟩

    def __len__(self) -> int:
        return len(self._pairs)

    def clear(self) -> None:
        """Forget all pairs."""
        self._pairs.clear()

    def add(self, s: Array, y: Array) -> None:
        """Remember a pair, unless its curvature is not clearly positive."""
        curvature = inner(s, y)
        if curvature > 1e-10 * norm(s) * norm(y):
            self._pairs.append((s, y, 1.0 / curvature))

    def apply_inverse(self, G: Array, initial: Callable[[Array], Array]) -> Array:
        """Return H·G by the two-loop recursion (Nocedal and Wright 2006, algorithm 7.4).

        `initial` applies H₀ up to a scale γ, which is chosen here as ⟨s, y⟩ / ⟨y, H₀y⟩ of the last
        pair: with H₀ = I that is the usual L-BFGS scaling.
        """
        q = G.copy()
        shares = []
        for s, y, rho in reversed(self._pairs):
            share = rho * inner(s, q)
            q -= share * y
            shares.append(share)
        if self._pairs:
            _, y, rho = self._pairs[-1]
            # Both at once, because a factor is read from memory for each solve.
            r, scaled = np.split(initial(np.hstack([q, y])), 2, axis=1)
            r = r / (rho * inner(y, scaled))
        else:
            r = initial(q)
        for (s, y, rho), share in zip(self._pairs, reversed(shares), strict=True):
            r += (share - rho * inner(y, r)) * s
        return r


@dataclass(frozen=True)
class LBFGS(Direction[Problem]):
    """Limited-memory BFGS with the last `memory` curvature pairs.

    Parameters
    ----------
    memory : int, default=100
        Pairs kept; the paper found 100 best (section 3). Each takes two arrays of X's size.

    Examples
    --------
    >>> from closeknit.minimize import LBFGS, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=LBFGS(memory=10)).X.round(2)
    array([[1.2],
           [1.8]])
    """

    memory: int = 100

    preferred_step: ClassVar[Step] = StrongWolfe(c2=0.9)

    def __post_init__(self) -> None:
        check_memory(self.memory)

    def start(self, problem: Problem, X: Array) -> Descent[Problem]:
        """Begin without any pair."""
        return LBFGSDescent[Problem](problem, self.memory)


def check_memory(memory: int) -> None:
    """Refuse a memory that holds nothing."""
    if memory < 1:
        raise ValueError(f"memory={memory!r} must be at least 1")


class LBFGSDescent(Descent[P]):
    """L-BFGS at work; derived classes may bring a better H₀ than the identity."""

    def __init__(self, problem: P, memory: int) -> None:
        super().__init__(problem)
        self._pairs = CurvaturePairs(memory)
        self._previous: tuple[Array, Array] | None = None  # X, gradient

    def reset(self) -> bool:
        """Forget the pairs."""
        had_memory = len(self._pairs) > 0
        self._pairs.clear()
        self._previous = None
        return had_memory

    def initial(self, gradient: Array) -> Array:
        """Apply H₀, up to a scale; before the first pair the scale is a move of unit length."""
        return gradient if self._pairs else gradient / norm(gradient)

    def propose(self, X: Array, gradient: Array) -> Array:
        """Learn from the last move and return −H·G."""
        if self._previous is not None:
            X_before, G_before = self._previous
            self._pairs.add(X - X_before, gradient - G_before)
        self._previous = (X, gradient)
        return -self._pairs.apply_inverse(gradient, self.initial)


@dataclass(frozen=True)
class SpectralLBFGS(SpectralDirection):
    """L-BFGS whose initial inverse Hessian is the spectral direction's solve.

    The factor knows the attraction from the first iteration; the pairs learn the repulsion.

    Parameters
    ----------
    n_neighbors, solver, refresh, random_state, n_jobs
        As in :class:`SpectralDirection`.
    memory : int, default=100
        Curvature pairs kept, as in :class:`LBFGS`.

    Examples
    --------
    >>> from closeknit.minimize import SpectralLBFGS, Springs, minimize
    >>> springs = Springs([[0, 1], [1, 0]], targets=[[0.0], [3.0]])
    >>> minimize(springs, [[5.0], [5.0]], direction=SpectralLBFGS()).X.round(2)
    array([[1.2],
           [1.8]])
    """

    memory: int = 100

    preferred_step: ClassVar[Step] = StrongWolfe(c2=0.9)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_memory(self.memory)

    def start(self, problem: AttractiveProblem, X: Array) -> Descent[AttractiveProblem]:
        """Factorise at X, and begin without any pair."""
        return _SpectralLBFGSDescent(problem, self.memory, self.factorize(problem, X))


class _SpectralLBFGSDescent(LBFGSDescent[AttractiveProblem]):
    def __init__(self, problem: AttractiveProblem, memory: int, solver: AttractiveSolver) -> None:
        super().__init__(problem, memory)
        self._solver = solver

    def initial(self, gradient: Array) -> Array:
        return self._solver.solve(gradient)

    def propose(self, X: Array, gradient: Array) -> Array:
        self._solver.update(self.problem, X)
        return super().propose(X, gradient)
