"""Directions: each descends, each converges, and each is the B that it says it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.sparse import csr_matrix

from closeknit.linalg import strongest_entries, take_entries
from closeknit.minimize import (
    LBFGS,
    DiagonalHessian,
    FixedPoint,
    SpectralDiagonal,
    SpectralDirection,
    SpectralGradient,
    SpectralLBFGS,
    SpectralMinus,
    Springs,
    minimize,
    resolve_direction,
)
from closeknit.minimize.directions import DIRECTIONS
from closeknit.minimize.spectral import AttractiveHessian

#: Those of momentum may go uphill, and have tests of their own.
NAMES = [name for name, cls in DIRECTIONS.items() if cls.monotone]


def direction_at(direction, problem, X):
    _, gradient = problem.value_and_gradient(X)
    return direction.start(problem, X).step_towards(X, gradient), gradient


@pytest.mark.parametrize("name", NAMES)
def test_convex_quadratic(name, springs, start):
    result = minimize(springs, start, name, tol=0.0, gradient_tol=1e-7, max_iter=5000)
    np.testing.assert_allclose(result.X, springs.solution(), atol=1e-6)
    assert (np.diff(result.history.objective) < 0).all()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", ["ee", "ssne", "tsne"])
def test_descends_everywhere(name, model, problems):
    problem = problems.embedding(model)
    descent = None
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(40, 2))
        _, gradient = problem.value_and_gradient(X)
        descent = descent or resolve_direction(name).start(problem, X)
        assert np.vdot(descent.step_towards(X, gradient), gradient) < 0


@pytest.fixture(scope="module", params=["ee", "ssne"])
def minimum(request, problems):
    """A problem, a minimum of it, and a start near enough to lead every method there."""
    problem = problems.embedding(request.param, lam=0.1 if request.param == "ee" else 1.0)
    rng = np.random.default_rng(0)
    rough = minimize(problem, 0.1 * rng.normal(size=(40, 2)), "lbfgs", tol=0, gradient_tol=1e-6)
    best = minimize(problem, rough.X, "spectral-lbfgs", tol=0, gradient_tol=1e-9)
    return problem, best, best.X + 1e-3 * rng.normal(size=best.X.shape)


@pytest.mark.parametrize("name", NAMES)
def test_same_minimum(name, minimum):
    problem, best, near = minimum
    result = minimize(problem, near, name, tol=0, gradient_tol=1e-8, max_iter=20_000)
    assert result.value == pytest.approx(best.value, rel=1e-12)
    # Same up to the shifts and rotations that E does not see.
    X, Y = result.X - result.X.mean(axis=0), best.X - best.X.mean(axis=0)
    u, _, v = np.linalg.svd(X.T @ Y)
    np.testing.assert_allclose(X @ u @ v, Y, atol=1e-5)


@pytest.mark.parametrize("model", ["ee", "tsne"])
def test_no_neighbours_is_the_fixed_point(model, problems):
    problem = problems.embedding(model)
    X = np.random.default_rng(0).normal(size=(40, 2))
    spectral, gradient = direction_at(SpectralDirection(n_neighbors=0), problem, X)
    fixed, _ = direction_at(FixedPoint(), problem, X)
    np.testing.assert_array_equal(spectral, fixed)
    degrees = np.asarray(problem.attractive_weights(X).sum(axis=1))
    np.testing.assert_allclose(fixed, -gradient / (4 * degrees), rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "dense", "sparse"])
@pytest.mark.parametrize("n_neighbors", [None, 40])
def test_all_neighbours_is_the_attractive_hessian(solver, n_neighbors, problems):
    problem = problems.embedding("ee")
    X = np.random.default_rng(0).normal(size=(40, 2))
    P, gradient = direction_at(SpectralDirection(n_neighbors, solver), problem, X)
    L = problems.laplacian(problem.P)
    mu = 1e-10 * np.diag(L).min()
    expected = np.linalg.solve(4 * L + mu * np.eye(40), -gradient)
    shift = (P - expected).mean(axis=0)  # rounding over μ; E does not see it
    np.testing.assert_allclose(P - shift, expected, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(4 * L @ P, -gradient, atol=1e-8)


@pytest.mark.parametrize("n_neighbors", [1, 3, 10])
def test_some_neighbours(n_neighbors, problems):
    """B = 4(D⁺ − W_κ): the degrees are those of the full graph."""
    problem = problems.embedding("ssne")
    X = np.random.default_rng(0).normal(size=(40, 2))
    W = csr_matrix(problem.P)
    kept = take_entries(W, strongest_entries(W, n_neighbors)).toarray()
    B = 4 * (np.diag(problem.P.sum(axis=1)) - kept)
    P, gradient = direction_at(SpectralDirection(n_neighbors), problem, X)
    np.testing.assert_allclose(B @ P, -gradient, atol=1e-7 * np.abs(gradient).max())


@pytest.mark.parametrize("model", ["ee", "ssne"])
def test_the_diagonal_that_the_spectral_direction_misses(model, problems):
    """B = 4L⁺ + max(0, diag H − 4D⁺), solved to high accuracy; shifts have the mean degree, too."""
    problem = problems.embedding(model)
    X = np.random.default_rng(0).normal(size=(40, 2))
    rule = SpectralDiagonal(tol=1e-12, max_inner=5000)
    P, gradient = direction_at(rule, problem, X)
    W = csr_matrix(problem.attractive_weights(X)).toarray()
    degrees = W.sum(axis=1)
    missing = np.maximum(problem.hessian_diagonal(X) - 4 * degrees[:, None], 0.0)
    assert (missing > 0).any()
    image = 4 * (np.diag(degrees) - W) @ P + missing * P + 4 * degrees.mean() * P.mean(axis=0)
    np.testing.assert_allclose(image, -gradient, atol=1e-7 * np.abs(gradient).max())


def test_spectral_gradient_multiplies_by_the_laplacian(problems):
    problem = problems.embedding("ssne")
    X = np.random.default_rng(0).normal(size=(40, 2))
    P, gradient = direction_at(SpectralGradient(), problem, X)
    degrees = problem.P.sum(axis=1)
    inverse = np.diag(degrees + 0.01 * degrees.mean()) - problem.P
    np.testing.assert_allclose(P, -inverse @ gradient, atol=1e-12)


def test_spectral_direction_solves_the_attraction_at_once(problems):
    """With a ridge too weak to matter the partial Hessian is the whole one."""
    problem = problems.random_springs(stiffness=1e-9)
    X = np.random.default_rng(1).normal(size=(30, 2))
    X -= X.mean(axis=0)
    result = minimize(problem, X, "spectral", gradient_tol=1e-6)
    assert result.n_iter <= 2
    np.testing.assert_allclose(result.X, problem.solution(), atol=1e-6)


def test_diagonal_hessian_on_a_diagonal_problem():
    springs = Springs(np.zeros((5, 5)), np.arange(10.0).reshape(5, 2))
    result = minimize(springs, np.zeros((5, 2)), DiagonalHessian())
    assert result.n_iter == 1
    np.testing.assert_allclose(result.X, springs.targets)


@pytest.mark.parametrize("name", ["lbfgs", "cg", "gradient"])
def test_rosenbrock(name, problems):
    X0 = np.full((4, 1), -0.5)
    result = minimize(
        problems.Rosenbrock(),
        X0,
        name,
        tol=0,
        gradient_tol=1e-3 if name == "gradient" else 1e-8,
        max_iter=50000,
    )
    np.testing.assert_allclose(result.X, 1.0, atol=1e-2 if name == "gradient" else 1e-6)


def test_lbfgs_against_scipy(problems):
    problem = problems.Rosenbrock()
    X0 = np.tile([[-1.2, 1.0]], (5, 1))
    ours = minimize(problem, X0, LBFGS(memory=10), tol=0, gradient_tol=1e-7)
    theirs = scipy_minimize(
        lambda x: problem.value(x.reshape(5, 2)),
        X0.ravel(),
        jac=lambda x: problem.value_and_gradient(x.reshape(5, 2))[1].ravel(),
        method="L-BFGS-B",
        options={"gtol": 1e-8, "ftol": 0.0, "maxcor": 10},
    )
    np.testing.assert_allclose(ours.X.ravel(), theirs.x, atol=1e-5)
    assert ours.n_evaluations < 2 * theirs.nfev


@pytest.mark.parametrize("tol", [0.1, 1e-4])
def test_spectral_minus_solves_to_its_tolerance(tol, problems):
    problem = problems.embedding("ssne")
    X = np.random.default_rng(0).normal(size=(40, 2))
    P, gradient = direction_at(SpectralMinus(tol, max_inner=500), problem, X)
    image = 4 * problems.laplacian(problem.P) @ P + problem.repulsive_curvature(X)(P)
    assert np.linalg.norm(image + gradient) <= tol * np.linalg.norm(gradient) * (1 + 1e-6)


def test_spectral_lbfgs_needs_fewest_evaluations(problems):
    problem = problems.embedding("ssne", n=60)
    X0 = 1e-2 * np.random.default_rng(0).normal(size=(60, 2))
    count = {name: minimize(problem, X0, name).n_evaluations for name in NAMES}
    assert min(count, key=count.__getitem__) == "spectral-lbfgs"


class Counting(Springs):
    """Counts how often the weights are asked for, and changes them each time."""

    asked = 0

    def attractive_weights(self, X, entries=None):
        self.asked += 1
        return self.weights * (1.0 + 0.01 * self.asked)


@pytest.mark.parametrize("kind", [SpectralDirection, SpectralLBFGS])
def test_refresh(kind, problems):
    base = problems.random_springs()
    for refresh, expected in [(None, 1), (1, 6), (2, 3)]:
        problem = Counting(base.weights, base.targets)
        descent = kind(refresh=refresh).start(problem, base.targets)
        for i in range(6):
            X = base.targets + i
            descent.step_towards(X, problem.value_and_gradient(X)[1])
        assert problem.asked == expected


# Graphs that break a plain factorisation -----------------------------------------------------


def two_cliques_and_a_hermit():
    W = np.zeros((9, 9))
    W[:4, :4] = W[4:8, 4:8] = 1.0
    np.fill_diagonal(W, 0.0)
    return W


# All but the one that hardly moves whole components.
@pytest.mark.parametrize("name", [name for name in NAMES if name != "spectral-gradient"])
@pytest.mark.parametrize("model", ["ee", "ssne"])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")  # far-off trials
def test_disconnected_and_isolated(name, model, problems):
    W = two_cliques_and_a_hermit()
    problem = problems.DenseEmbedding(model, W / W.sum(), 1.0)
    X0 = 1e-2 * np.random.default_rng(0).normal(size=(9, 2))
    result = minimize(problem, X0, name, max_iter=30)
    assert np.isfinite(result.X).all()
    assert result.value < 0.99 * result.history.objective[0]
    assert result.n_evaluations < 150


@pytest.mark.parametrize("solver", ["dense", "sparse"])
def test_components_move_rigidly_at_the_scale_of_their_degrees(solver):
    W = two_cliques_and_a_hermit()
    problem = Springs(W, np.zeros((9, 1)))
    G = np.r_[np.ones(4), 2 * np.ones(4), 3.0][:, None]
    P = SpectralDirection(solver=solver).start(problem, G).step_towards(G, G)
    np.testing.assert_allclose(P, -G / (4 * 3.0), rtol=1e-8)  # every degree is 3


@pytest.mark.parametrize(
    "weights", [np.zeros((5, 5)), 1e-300 * (1 - np.eye(5)), 1e200 * (1 - np.eye(5))]
)
def test_extreme_weights_give_a_finite_positive_definite_solve(weights):
    G = np.random.default_rng(0).normal(size=(5, 2))
    P = SpectralDirection().start(Springs(weights, G), G).step_towards(G, G)
    assert np.isfinite(P).all()
    assert np.vdot(P, G) < 0


def test_degrees_of_very_different_size():
    rng = np.random.default_rng(0)
    scale = 10.0 ** rng.uniform(-8, 8, size=40)
    W = rng.random((40, 40)) * np.sqrt(np.outer(scale, scale))
    W = np.triu(W, 1)
    for solver in ("dense", "sparse"):
        problem = Springs(W + W.T, np.zeros((40, 2)))
        G = rng.normal(size=(40, 2))
        G -= G.mean(axis=0)
        P = SpectralDirection(solver=solver).start(problem, G).step_towards(G, G)
        assert np.isfinite(P).all()
        assert np.vdot(P, G) < 0


def test_matmul_is_the_inverse_of_the_solve():
    W = csr_matrix(two_cliques_and_a_hermit())
    hessian = AttractiveHessian(W)
    G = np.random.default_rng(0).normal(size=(9, 2))
    P = hessian.solve(G)
    np.testing.assert_allclose(hessian @ P, G, atol=1e-8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("model", ["ee", "ssne", "tsne"])
def test_identical_points(name, model, problems):
    """All at one place the gradient vanishes: a saddle, and nothing divides by it."""
    result = minimize(problems.embedding(model), np.ones((40, 2)), name)
    assert result.stopped_because == "gradient_tol"
    assert np.isfinite(result.X).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: resolve_direction("newton"), "unknown direction 'newton'; use 'gradient'"),
        (lambda: SpectralDirection(n_neighbors=-1), "n_neighbors=-1 must be None"),
        (lambda: SpectralDirection(refresh=0), "refresh=0 must be None"),
        (lambda: SpectralDirection(solver="qr"), "unknown solver 'qr'; use 'auto', 'dense'"),
        (lambda: SpectralLBFGS(memory=0), "memory=0 must be at least 1"),
        (lambda: LBFGS(memory=0), "memory=0 must be at least 1"),
        (lambda: SpectralMinus(tol=2.0), "tol=2.0 must lie between 0 and 1"),
        (lambda: SpectralMinus(max_inner=0), "max_inner=0 must be at least 1"),
        (lambda: DiagonalHessian(floor=0.0), "floor=0.0 must be above 0"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()
