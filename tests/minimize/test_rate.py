"""The rate of convergence: closed forms, and what iterations with unit steps show."""

from __future__ import annotations

import numpy as np
import pytest

from closeknit.minimize import (
    FixedPoint,
    FixedStep,
    SpectralDirection,
    convergence_rate,
    minimize,
)


def rate_of(B, H, n_free=0):
    """The largest |λ − 1| over the eigenvalues of B⁻¹H, but for those of free motions."""
    values = np.linalg.eigvals(np.linalg.solve(B, H)).real
    return np.abs(np.delete(values, np.argsort(np.abs(values))[:n_free]) - 1.0).max()


def hessian_of_springs(springs):
    degrees = np.asarray(springs.weights.sum(axis=1)).ravel()
    L = np.diag(degrees) - springs.weights.toarray()
    return 4.0 * L + 2.0 * springs.stiffness * np.eye(len(L)), L, degrees


@pytest.mark.parametrize("n", [30, 200])  # all eigenvalues, and the largest
def test_a_quadratic_in_closed_form(problems, n):
    springs = problems.random_springs(n, 2, stiffness=0.5)
    H, L, degrees = hessian_of_springs(springs)
    X = springs.solution()
    assert convergence_rate(springs, X, "gradient") == pytest.approx(
        rate_of(np.eye(n), H), rel=1e-3
    )
    assert convergence_rate(springs, X, "fixed-point") == pytest.approx(
        rate_of(4.0 * np.diag(degrees), H), rel=1e-3
    )
    # Shifts have the mean degree as their curvature.
    B = 4.0 * L + 4.0 * degrees.mean() / n * np.ones((n, n))
    assert convergence_rate(springs, X, "spectral") == pytest.approx(rate_of(B, H), rel=1e-3)


@pytest.mark.parametrize(
    ("model", "direction", "distance", "n_iter"),
    [("ee", FixedPoint(), 1e-2, 150), ("ee", SpectralDirection(), 1e-7, 15)],
    ids=["shrinks", "grows"],
)
def test_unit_steps_change_the_error_at_that_rate(problems, model, direction, distance, n_iter):
    """Around a minimum of an embedding, whose shifts and turns are free."""
    problem = problems.embedding(model, lam=0.1)
    start = 0.1 * np.random.default_rng(0).normal(size=(40, 2))
    rough = minimize(problem, start, "lbfgs", tol=0, gradient_tol=1e-6)
    best = minimize(problem, rough.X, "spectral-lbfgs", tol=0, gradient_tol=1e-11)
    rate = convergence_rate(problem, best.X, direction)
    near = best.X + distance * np.random.default_rng(1).normal(size=best.X.shape)
    rules = {"tol": 0.0, "gradient_tol": 0.0, "max_iter": n_iter}
    norms = minimize(problem, near, direction, FixedStep(1.0), **rules).history.gradient_norm
    assert len(norms) == n_iter + 1
    ratios = norms[-5:] / norms[-6:-1]
    np.testing.assert_allclose(ratios, rate, rtol=0.02)


def test_a_direction_that_the_problem_cannot_serve(problems):
    with pytest.raises(TypeError, match="SpectralDirection needs attractive weights"):
        convergence_rate(problems.Rosenbrock(), np.ones((4, 1)), "spectral")
