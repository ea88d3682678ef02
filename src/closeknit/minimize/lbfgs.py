"""Limited-memory BFGS, from the identity or from the spectral direction."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from closeknit._arrays import Array
from closeknit.linalg import inner, norm
from closeknit.minimize.descent import Descent, Direction, P
from closeknit.minimize.problem import AttractiveProblem, Problem
from closeknit.minimize.spectral import SpectralDescent, SpectralDirection
from closeknit.minimize.steps import Step, StrongWolfe


class _LBFGSDescent(Descent[P]):
    """L-BFGS at work; derived classes may bring a better H₀ than the identity."""

    def __post_init__(self, X: Array) -> None:
        super().__post_init__(X)
        # s, y, 1/⟨s, y⟩
        self._pairs: deque[tuple[Array, Array, float]] = deque(maxlen=self.rule.memory)
        self._previous: tuple[Array, Array] | None = None  # X, gradient

    def reset(self) -> bool:
        """Clear the pairs."""
        had_memory = len(self._pairs) > 0
        self._pairs.clear()
        self._previous = None
        return had_memory

    def initial(self, X: Array, gradient: Array) -> Array:
        """Apply H₀ at X, up to a scale; before the first pair that is a move of unit length."""
        return gradient if self._pairs else gradient / norm(gradient)

    def propose(self, X: Array, gradient: Array) -> Array:
        """Learn from the last move s = ΔX, y = ΔG, and return −H·G.

        By the two-loop recursion (Nocedal and Wright 2006, algorithm 7.4). H₀ is known up to a
        scale γ, which is chosen here as ⟨s, y⟩ / ⟨y, H₀y⟩ of the last pair: with H₀ = I that is the
        usual L-BFGS scaling.
        """
        if self._previous is not None:
            s, y = X - self._previous[0], gradient - self._previous[1]
            curvature = inner(s, y)
            if curvature > 1e-10 * norm(s) * norm(y):  # clearly positive
                self._pairs.append((s, y, 1.0 / curvature))
        self._previous = (X, gradient)
        q = gradient.copy()
        shares = []
        for s, y, rho in reversed(self._pairs):
            share = rho * inner(s, q)
            q -= share * y
            shares.append(share)
        if self._pairs:
            _, y, rho = self._pairs[-1]
            # Both at once, because a factor is read from memory for each solve.
            r, scaled = np.split(self.initial(X, np.hstack([q, y])), 2, axis=1)
            r = r / (rho * inner(y, scaled))
        else:
            r = self.initial(X, q)
        for (s, y, rho), share in zip(self._pairs, reversed(shares), strict=True):
            r += (share - rho * inner(y, r)) * s
        return -r


@dataclass(frozen=True)
class LBFGS(Direction[Problem], name="lbfgs"):
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

    descent: ClassVar[type[_LBFGSDescent[Any]]] = _LBFGSDescent
    preferred_step: ClassVar[Step] = StrongWolfe(c2=0.9)

    def __post_init__(self) -> None:
        if self.memory < 1:
            raise ValueError(f"memory={self.memory!r} must be at least 1")


class _SpectralLBFGSDescent(_LBFGSDescent[AttractiveProblem], SpectralDescent):
    def initial(self, X: Array, gradient: Array) -> Array:
        return self.hessian_at(X).solve(gradient)


@dataclass(frozen=True)
class SpectralLBFGS(SpectralDirection, name="spectral-lbfgs"):
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

    descent: ClassVar[type[_SpectralLBFGSDescent]] = _SpectralLBFGSDescent
    preferred_step: ClassVar[Step] = StrongWolfe(c2=0.9)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.memory < 1:
            raise ValueError(f"memory={self.memory!r} must be at least 1")
