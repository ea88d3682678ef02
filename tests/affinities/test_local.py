"""β(x, K) as a function of the place and the perplexity: continuous, with the right derivatives."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy import sparse

import closeknit as ck
from closeknit.affinities import (
    Continuation,
    EntropicAffinities,
    entropy_derivatives,
    solve_perplexities,
)
from closeknit.exceptions import NoBandwidthWarning
from closeknit.kernels import AFFINITY_KERNELS

X = np.random.default_rng(0).normal(size=(150, 3))
METHODS = ("auto", "newton", "halley", "euler", "bisection", "brent", "ridders")
KERNELS = ("gaussian", "exponential", "epanechnikov", "student")


def array(P):
    return P.toarray() if sparse.issparse(P) else P


# In the perplexity


@pytest.mark.parametrize("method", METHODS)
def test_slopes_are_those_of_the_entropy(method, rows):
    """dH / d log β at the root, as `entropy_derivatives` has it."""
    d, _ = rows("gauss10", 400, 60)
    solution = ck.solve_bandwidths(d, 15.0, method=method)
    exact = entropy_derivatives(d, np.log(solution.betas))
    np.testing.assert_allclose(solution.slopes, exact[:, 1], rtol=1e-8)


def test_derivative_in_the_perplexity_by_mpmath():
    """∂β/∂K, by mpmath's derivative of the root itself."""
    d = np.sort(np.random.default_rng(0).random((3, 8)), axis=1)
    solution = ck.solve_bandwidths(d, 4.5)
    for row, beta, derivative in zip(
        d, solution.betas, solution.perplexity_derivatives, strict=True
    ):
        with mp.workdps(30):

            def entropy(b, row=row):
                w = [mp.exp(-b * mp.mpf(float(x))) for x in row]
                return -sum(x / sum(w) * mp.log(x / sum(w)) for x in w)

            def root(perplexity, beta=beta, entropy=entropy):
                return mp.findroot(lambda b: entropy(b) - mp.log(perplexity), mp.mpf(float(beta)))

            assert derivative == pytest.approx(float(mp.diff(root, 4.5)), rel=1e-8)


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
def test_no_derivative_without_a_root():
    """Rows that have a limit instead of a root have no derivative, and are no start."""
    d = np.vstack([np.arange(10.0), np.ones(10), np.r_[np.zeros(6), np.arange(1.0, 5.0)]])
    solution = ck.solve_bandwidths(d, 5.0)
    assert np.isnan(solution.perplexity_derivatives).tolist() == [False, True, True]
    again = ck.solve_bandwidths(d, 7.0, order=Continuation(solution))
    assert again.converged.tolist() == [True, False, True]
    np.testing.assert_allclose(again.betas, ck.solve_bandwidths(d, 7.0).betas, rtol=1e-9)


@pytest.mark.parametrize("method", ["newton", "halley", "euler"])
def test_continuation_saves_passes(method, rows):
    """Fewer passes than from the middle of the bounds, and for near perplexities than any order."""
    d, _ = rows("gauss10", 2000, 90)
    path = solve_perplexities(d, [25.0, 26.0, 30.0], method=method, order="bounds")
    for perplexity, solution in zip((25.0, 26.0, 30.0), path, strict=True):
        assert np.abs(np.log(solution.perplexities / perplexity)).max() < 1.1e-10
    near, far = path[1].evaluations.mean(), path[2].evaluations.mean()
    assert far < path[0].evaluations.mean() - 1.0
    for order in ("auto", "density", "gap", "given"):
        alone = ck.solve_bandwidths(d, 26.0, method=method, order=order)
        assert near < alone.evaluations.mean()


def test_a_path_of_no_perplexities():
    with pytest.raises(ValueError, match=r"perplexity=.* is empty"):
        solve_perplexities([[0.0, 1.0, 2.0]], [])


def test_continuation_needs_a_solution_of_the_same_rows():
    d = np.sort(np.random.default_rng(0).random((20, 10)), axis=1)
    previous = ck.solve_bandwidths(d, 3.0)
    with pytest.raises(ValueError, match="the same 19 rows"):
        ck.solve_bandwidths(d[1:], 4.0, order=Continuation(previous))


# In the place


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient_by_mpmath(kernel):
    """∂β/∂x, by mpmath's derivative of the root in each coordinate."""
    formula = {
        "gaussian": lambda t: mp.exp(-t),
        "exponential": lambda t: mp.exp(-mp.sqrt(t)),
        "epanechnikov": lambda t: max(mp.mpf(0), 1 - t),
        "student": lambda t: 1 / (1 + t),
    }[kernel]
    points = np.random.default_rng(1).normal(size=(9, 2)) + 1000.0
    place = np.array([[1000.1, 999.7]])
    ea = EntropicAffinities(7.0, n_neighbors=None, kernel=kernel, tol=1e-13).fit(points)
    local = ea.bandwidths_at(place)
    with mp.workdps(30):

        def root(x, y):
            d = [(x - mp.mpf(a)) ** 2 + (y - mp.mpf(b)) ** 2 for a, b in points.tolist()]

            def excess(beta):
                w = [formula(beta * v) for v in d]
                return -sum(v / sum(w) * mp.log(v / sum(w)) for v in w if v > 0) - mp.log(7)

            return mp.findroot(excess, mp.mpf(float(local.betas[0])))

        x, y = (mp.mpf(v) for v in place[0].tolist())
        expected = [mp.diff(lambda v: root(v, y), x), mp.diff(lambda v: root(x, v), y)]
        assert local.betas[0] == pytest.approx(float(root(x, y)), rel=1e-9)
    np.testing.assert_allclose(local.gradients[0], [float(v) for v in expected], rtol=1e-7)


@pytest.mark.parametrize("kernel", ["gaussian", "exponential"])
@pytest.mark.parametrize("n_neighbors", [40, None])
@pytest.mark.parametrize("include_self", [False, True])
def test_derivatives_by_differences(kernel, n_neighbors, include_self):
    """Central differences of β(x, K) in every coordinate and in K."""
    options = {"n_neighbors": n_neighbors, "kernel": kernel, "include_self": include_self}
    options["tol"] = 1e-13
    ea = EntropicAffinities(12.0, **options).fit(X)
    places = np.random.default_rng(1).normal(size=(20, 3))
    local = ea.bandwidths_at(places)
    np.testing.assert_allclose(local.sigmas, np.sqrt(0.5 / local.betas), rtol=1e-13)
    h = 1e-6
    for axis, step in enumerate(h * np.eye(3)):
        after, before = (ea.bandwidths_at(places + s).betas for s in (step, -step))
        difference = (after - before) / (2 * h)
        scale = np.abs(local.gradients).max()
        np.testing.assert_allclose(local.gradients[:, axis], difference, atol=1e-6 * scale)
    after, before = (
        EntropicAffinities(12.0 + s, **options).fit(X).bandwidths_at(places).betas for s in (h, -h)
    )
    np.testing.assert_allclose(
        local.perplexity_derivatives, (after - before) / (2 * h), rtol=1e-5, atol=1e-8
    )


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@pytest.mark.parametrize("kernel", list(AFFINITY_KERNELS))
def test_everything_is_finite_where_a_fitted_point_is(kernel):
    ea = EntropicAffinities(60.0, n_neighbors=None, kernel=kernel).fit(X[:, :1])
    assert np.isfinite(ea.bandwidths_at(X[:, :1]).gradients).all()


def test_places_without_a_bandwidth():
    """Ten fitted points in one place: there, no bandwidth has a perplexity of 5."""
    points = np.vstack([np.zeros((10, 2)), X[:, :2] + 20.0])
    with pytest.warns(NoBandwidthWarning):
        ea = EntropicAffinities(5.0, n_neighbors=None).fit(points)
    with pytest.warns(NoBandwidthWarning, match="tied at the smallest distance"):
        local = ea.bandwidths_at([[0.0, 0.0], [20.0, 20.0]])
    assert np.isnan(local.perplexity_derivatives).tolist() == [True, False]
    assert np.isfinite(local.gradients[1]).all()


@pytest.mark.parametrize(
    ("options", "fitted"),
    [
        ({"perplexity": [5.0, 9.0]}, X),
        ({"perplexity": 5.0, "metric": "manhattan"}, X),
        ({"perplexity": 5.0}, sparse.csr_matrix(X)),
    ],
    ids=["scales", "metric", "sparse"],
)
def test_what_bandwidths_at_needs(options, fitted):
    ea = EntropicAffinities(**options).fit(fitted)
    with pytest.raises(ValueError, match="bandwidths_at needs one perplexity, metric='euclidean'"):
        ea.bandwidths_at(X)
