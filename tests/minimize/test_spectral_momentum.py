"""Momentum along the spectral direction."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import closeknit as ck
from closeknit.minimize import SpectralMomentum, Springs, minimize


def springs(n=60, seed=0, target=1.0):
    """A ring with some chords, each point also tied to a place of its own."""
    rng = np.random.default_rng(seed)
    W = np.roll(np.eye(n), 1, axis=1)
    W[rng.integers(n, size=20), rng.integers(n, size=20)] = 0.5
    W = np.maximum(W, W.T) * (1 - np.eye(n))
    return Springs(W, rng.normal(size=(n, 2)), target)


class Changing:
    """A problem whose attractive weights are asked for and differ each time."""

    def __init__(self, problem, change=True):
        self.problem, self.change, self.asked = problem, change, 0
        self.weights = csr_matrix(problem.attractive_weights(None))

    def value(self, X):
        return self.problem.value(X)

    def value_and_gradient(self, X):
        return self.problem.value_and_gradient(X)

    def attractive_weights(self, X):
        self.asked += 1
        return self.weights * (1.0 + self.asked) if self.change else self.weights


def test_it_arrives_where_springs_rest():
    problem = springs(target=0.01)
    direction = SpectralMomentum(rate=0.02, momentum=0.6, n_neighbors=None)
    result = minimize(problem, np.zeros((60, 2)), direction, max_iter=2000, tol=1e-10)
    np.testing.assert_allclose(result.X, problem.solution(), atol=1e-2)


def test_the_first_step_is_the_spectral_one():
    """All weights kept: −rate (4L + excess)⁻¹ G, on a tree without approximation."""
    n = 12
    path = np.diag(np.arange(1.0, n), 1)
    path += path.T
    problem = Springs(path, np.random.default_rng(0).normal(size=(n, 2)))
    X0 = np.random.default_rng(1).normal(size=(n, 2))
    direction = SpectralMomentum(rate=0.3, n_neighbors=None, max_step=1e9)
    result = minimize(problem, X0, direction, max_iter=1, tol=0.0)
    degrees = path.sum(axis=1)
    B = 4.0 * (np.diag(degrees) - path) + 4e-3 * np.diag(degrees)
    G = problem.value_and_gradient(X0)[1]
    np.testing.assert_allclose(result.X, X0 - 0.3 * np.linalg.solve(B, G), rtol=1e-8, atol=1e-8)


def test_weights_left_out_are_made_up_for():
    """κ = 1 on a ring of equal weights keeps half of them, twice as heavy."""
    problem = springs()
    kept = SpectralMomentum(n_neighbors=1).start(problem, np.zeros((60, 2)))._system()[0]
    whole = SpectralMomentum(n_neighbors=None).start(problem, np.zeros((60, 2)))._system()[0]
    assert kept.nnz < whole.nnz
    assert kept.sum() == pytest.approx(whole.sum())


@pytest.mark.parametrize(("refresh", "asked"), [(None, 1), (5, 4), (100, 1)])
def test_the_factor_is_made_anew_when_it_is_time(refresh, asked):
    """Once at the start, then before iterations 6, 11 and 16 if refresh is 5."""
    problem = Changing(springs())
    direction = SpectralMomentum(rate=1e-3, refresh=refresh)
    minimize(problem, np.ones((60, 2)), direction, max_iter=20, tol=0.0)
    assert problem.asked == asked


def test_weights_that_stay_leave_the_factor():
    problem = Changing(springs(), change=False)
    descent = SpectralMomentum(refresh=1).start(problem, np.zeros((60, 2)))
    factor = descent._factor
    for _ in range(3):
        descent.propose(np.zeros((60, 2)), np.ones((60, 2)))
    assert descent._factor is factor
    assert problem.asked == 3


def test_no_point_moves_farther_than_allowed():
    result = minimize(
        springs(),
        np.full((60, 2), 1e3),
        SpectralMomentum(rate=1e3, max_step=0.5),
        max_iter=1,
        tol=0.0,
    )
    moved = np.linalg.norm(result.X - 1e3, axis=1)
    assert moved.max() == pytest.approx(0.5)


def test_points_without_any_attraction_move():
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 0] = 1.0
    descent = SpectralMomentum().start(Springs(W, np.ones((5, 2))), np.zeros((5, 2)))
    step = descent.propose(np.zeros((5, 2)), np.ones((5, 2)))
    assert np.isfinite(step).all()
    assert (step < 0.0).all()


def test_same_bits_for_any_number_of_threads():
    results = [
        minimize(springs(), np.ones((60, 2)), SpectralMomentum(0.01, n_jobs=n), max_iter=30).X
        for n in (1, 2)
    ]
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0.0}, "rate=0.0 must be positive"),
        ({"momentum": 1.0}, "momentum=1.0 must be at least 0 and below 1"),
        ({"max_step": -1.0}, "max_step=-1.0 must be positive"),
        ({"n_neighbors": -1}, "n_neighbors=-1 must be None"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be None or at least 1"),
        ({"refresh": 0}, "refresh=0 must be None"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        SpectralMomentum(**options)


def test_tsne_ends_at_least_as_low_as_by_momentum():
    from sklearn.datasets import load_digits

    X = load_digits().data
    models = {
        direction: ck.TSNE(direction=direction, repulsion="grid", n_jobs=1, random_state=0).fit(X)
        for direction in ("momentum", "spectral-momentum")
    }
    plain, spectral = models["momentum"], models["spectral-momentum"]
    assert spectral.n_iter_ < plain.n_iter_
    assert spectral.kl_divergence_ < plain.kl_divergence_ + 0.02
    assert np.abs(spectral.embedding_).max() < 500.0
