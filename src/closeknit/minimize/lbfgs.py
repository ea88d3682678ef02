"""Limited-memory BFGS, from any initial inverse Hessian."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from closeknit.linalg import inner, norm
from closeknit.minimize.descent import Descent, Direction
from closeknit.minimize.problem import Array, Problem
from closeknit.minimize.steps import Step, StrongWolfe

__all__ = ["LBFGS", "CurvaturePairs"]


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
class LBFGS(Direction):
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

    def start(self, problem: Problem, X: Array) -> Descent:
        """Begin without any pair."""
        return QuasiNewton(problem, self.memory)


def check_memory(memory: int) -> None:
    """Refuse a memory that holds nothing."""
    if memory < 1:
        raise ValueError(f"memory={memory!r} must be at least 1")


class QuasiNewton(Descent):
    """L-BFGS at work; derived classes may bring a better H₀ than the identity."""

    def __init__(self, problem: Problem, memory: int) -> None:
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
