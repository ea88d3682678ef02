"""How fast a direction converges near a minimum: the rate r of the paper's theory (section 2)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator, eigs

from closeknit._arrays import Array
from closeknit.linalg import norm
from closeknit.minimize.descent import Direction, resolve_direction
from closeknit.minimize.problem import Problem

#: Unknowns up to which all eigenvalues are computed.
_FEW = 200


def convergence_rate(
    problem: Problem, X: ArrayLike, direction: str | Direction[Any] = "spectral"
) -> float:
    """Measure r = ‖B⁻¹H − I‖ at a minimum: errors shrink by r per iteration with unit steps.

    The norm is the one in which B measures lengths, so that r is the largest ``|λ − 1|`` over the
    eigenvalues λ of B⁻¹H. With r of 1 and more, unit steps do not converge. Motions that leave the
    objective as it is (shifts and turns of a map) do not count.

    Parameters
    ----------
    problem : Problem
        Its Hessian H is taken by differences of its gradient.
    X : array-like of shape (n_samples, n_components)
        A minimum.
    direction : str or Direction, default="spectral"
        One whose B does not depend on earlier iterations: gradient, fixed point, diagonal Hessian,
        spectral, spectral gradient.

    Returns
    -------
    float

    Examples
    --------
    On a quadratic, where a Newton step arrives at once and half of one leaves half of the error:

    >>> from closeknit.minimize import Direction, Springs, convergence_rate
    >>> springs = Springs([[0, 0], [0, 0]], targets=[[0.0], [3.0]], stiffness=0.5)
    >>> class HalfStep(Direction):
    ...     def propose(self, problem, X, gradient):
    ...         return -0.5 * gradient
    >>> round(convergence_rate(springs, springs.solution(), HalfStep()), 6)
    0.5
    """
    X = np.array(X, dtype=np.float64)
    rule = resolve_direction(direction)
    rule.check(problem)
    descent = rule.start(problem, X)
    scale = norm(X - X.mean(axis=0)) or 1.0

    def apply(v: Array) -> Array:
        """(B⁻¹H − I) v."""
        V = v.reshape(X.shape)
        step = 1e-5 * scale / (norm(V) or 1.0)
        ahead, behind = (problem.value_and_gradient(X + s * V)[1] for s in (step, -step))
        return np.ravel(-descent.propose(X, (ahead - behind) / (2.0 * step)) - V)

    # Motions that change nothing have an eigenvalue of exactly -1.
    n_free = sum(norm(apply(v) + v) < 1e-3 * norm(v) for v in _rigid_motions(X))
    if X.size <= _FEW:
        values = np.linalg.eigvals(np.stack([apply(e) for e in np.eye(X.size)], axis=1))
    else:
        operator = LinearOperator((X.size, X.size), matvec=apply, dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(X.size)
        values = eigs(operator, n_free + 2, v0=start, tol=1e-4, return_eigenvectors=False)
    others = np.argsort(np.abs(values + 1.0))[n_free:]
    return float(np.abs(values[others]).max())


def _rigid_motions(X: Array) -> list[Array]:
    """Shifts along the axes, and turns in their planes."""
    motions = []
    for axis in range(X.shape[1]):
        motions.append(np.zeros(X.shape))
        motions[-1][:, axis] = 1.0
    for one, other in combinations(range(X.shape[1]), 2):
        motions.append(np.zeros(X.shape))
        motions[-1][:, one] = X[:, other] - X[:, other].mean()
        motions[-1][:, other] = X[:, one].mean() - X[:, one]
    return [motion.ravel() for motion in motions]
