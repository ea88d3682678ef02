"""Entropic affinities for any kernel of equation (1): against mpmath, and against the Gaussian."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import closeknit as ck
from closeknit.affinities import (
    Continuation,
    EntropicAffinities,
    Status,
    bandwidth_bounds,
    solve_perplexities,
)
from closeknit.affinities.any_kernel import solve_for_kernel
from closeknit.affinities.traversal import RowProblem
from closeknit.exceptions import NoBandwidthWarning
from closeknit.kernels import AFFINITY_KERNELS, GAUSSIAN, Kernel, student

FORMULAS = {
    "gaussian": lambda t: mp.exp(-t),
    "student": lambda t: 1 / (1 + t),
    "exponential": lambda t: mp.exp(-mp.sqrt(t)),
    "epanechnikov": lambda t: max(mp.mpf(0), 1 - t),
    "student(9)": lambda t: (1 + t / 9) ** -5,
}
KERNELS = {**AFFINITY_KERNELS, "student(9)": student(9.0)}
OTHERS = [name for name in KERNELS if name != "gaussian"]
every_kernel = pytest.mark.parametrize("name", OTHERS)


def squared_distances(n=40, k=25, seed=0):
    """They differ so much that even heavy tails have low perplexities."""
    return np.sort(np.exp(np.random.default_rng(seed).uniform(-20.0, 1.0, (n, k))), axis=1)


def entropy(name, row, beta):
    """H of p ∝ K(β d), in mpmath's precision."""
    w = [FORMULAS[name](beta * mp.mpf(float(x))) for x in row if np.isfinite(x)]
    total = sum(w)
    return -sum(x / total * mp.log(x / total) for x in w if x > 0)


@every_kernel
@pytest.mark.parametrize("perplexity", [10.0, 17.5])
def test_root_by_mpmath(name, perplexity):
    """The root lies within 2e-10 of β, and p is the kernel there, in 40 digits."""
    d = squared_distances(n=6)
    solution = ck.solve_bandwidths(d, perplexity, kernel=KERNELS[name])
    assert solution.converged.all()
    with mp.workdps(40):
        for row, beta, p in zip(d, solution.betas, solution.affinities, strict=True):
            low, high = (mp.mpf(float(beta)) * (1 + mp.mpf(e)) for e in ("-2e-10", "2e-10"))
            assert entropy(name, row, low) > mp.log(perplexity) > entropy(name, row, high)
            w = [FORMULAS[name](mp.mpf(float(beta)) * mp.mpf(float(x))) for x in row]
            np.testing.assert_allclose(p, [float(x / sum(w)) for x in w], rtol=0, atol=1e-14)
    np.testing.assert_allclose(solution.sigmas, np.sqrt(0.5 / solution.betas), rtol=1e-14)


@every_kernel
def test_slope_by_mpmath(name):
    """dH/d log β and ∂β/∂K = 1/(K ∂H/∂β) at the root."""
    d = squared_distances(n=4)
    solution = ck.solve_bandwidths(d, 12.0, kernel=KERNELS[name], tol=1e-13)
    for i, row in enumerate(d):
        with mp.workdps(40):
            at = mp.mpf(float(solution.betas[i]))
            slope = float(mp.diff(lambda beta, row=row: entropy(name, row, beta), at))
        assert solution.slopes[i] == pytest.approx(slope * solution.betas[i], rel=1e-9)
        assert solution.perplexity_derivatives[i] == pytest.approx(1 / (12.0 * slope), rel=1e-9)


def test_the_gaussian_by_this_way():
    """The solver for any kernel agrees with the compiled one for the Gaussian."""
    d = squared_distances(n=200)
    expected = ck.solve_bandwidths(d, 8.0)
    out = (
        np.empty(d.shape),
        expected.betas * np.random.default_rng(0).uniform(0.1, 10.0, len(d)),
        *np.empty((2, len(d))),
        np.zeros(len(d), np.int32),
        np.zeros(len(d), np.uint8),
    )
    solve_for_kernel(RowProblem(d, np.array([8.0])), GAUSSIAN, out[1].copy(), 1e-10, out)
    np.testing.assert_allclose(out[1], expected.betas, rtol=2e-10)
    np.testing.assert_allclose(out[3], expected.slopes, rtol=1e-7)
    np.testing.assert_allclose(out[0], expected.affinities, atol=1e-10)


@every_kernel
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_any_order_and_type(name, dtype):
    """Unsorted rows and single precision are as good; missing neighbours get nothing."""
    d = squared_distances().astype(dtype)
    rng = np.random.default_rng(1)
    shuffle = rng.permuted(np.tile(np.arange(25), (len(d), 1)), axis=1)
    expected = ck.solve_bandwidths(d, 12.0, kernel=KERNELS[name])
    assert expected.converged.all()
    unsorted = np.take_along_axis(d, shuffle, axis=1)
    got = ck.solve_bandwidths(unsorted, 12.0, kernel=KERNELS[name])
    np.testing.assert_allclose(got.betas, expected.betas, rtol=1e-9)
    longer = np.hstack([unsorted, np.full((len(d), 2), np.inf, dtype=dtype)])
    got = ck.solve_bandwidths(longer, 12.0, kernel=KERNELS[name], allow_missing=True)
    np.testing.assert_allclose(got.betas, expected.betas, rtol=1e-9)
    assert (got.affinities[:, -2:] == 0.0).all()


@every_kernel
def test_any_number_of_threads_and_companions(name):
    """Same bits for any n_jobs, and a perplexity per row."""
    d = squared_distances(n=6000)
    perplexity = np.random.default_rng(0).uniform(9.0, 20.0, len(d))
    one, two = (
        ck.solve_bandwidths(d, perplexity, kernel=KERNELS[name], n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    for field in ("betas", "affinities", "evaluations", "slopes"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))
    np.testing.assert_allclose(one.perplexities[one.converged], perplexity[one.converged], 1e-9)
    assert one.converged.mean() > 0.9


@every_kernel
@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_scaled_distances_scale_the_bandwidth(name, scale):
    d = squared_distances()
    base = ck.solve_bandwidths(d, 12.0, kernel=KERNELS[name])
    scaled = ck.solve_bandwidths(d * scale, 12.0, kernel=KERNELS[name])
    np.testing.assert_allclose(scaled.betas * scale, base.betas, rtol=1e-9)


def hard_rows():
    rng = np.random.default_rng(0)
    d = squared_distances(n=8)
    d[0] = 1.0  # constant
    d[1, :13] = d[1, 0]  # ties
    d[2, 12:] = np.inf  # too few
    d[3, 0] = 0.0
    d[4, :5] = 0.0
    d[5] = 10.0 ** np.sort(rng.uniform(-250, 250, 25))
    d[6] = 1e3 + np.sort(rng.random(25))
    return np.sort(d, axis=1)


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@every_kernel
def test_hard_rows(name):
    """Rows without a root are those of the Gaussian, or have too heavy a tail; others are exact."""
    d = hard_rows()
    solution = ck.solve_bandwidths(d, 12.5, kernel=KERNELS[name], allow_missing=True)
    gaussian = ck.solve_bandwidths(d, 12.5, allow_missing=True)
    limited = np.isin(gaussian.status, [Status.TIES, Status.CONSTANT, Status.TOO_FEW])
    assert limited.sum() == 3
    np.testing.assert_array_equal(solution.status[limited], gaussian.status[limited])
    np.testing.assert_array_equal(solution.affinities[limited], gaussian.affinities[limited])
    with mp.workdps(40):
        for i in np.flatnonzero(~limited):
            if solution.converged[i]:
                error = entropy(name, d[i], mp.mpf(float(solution.betas[i]))) - mp.log(12.5)
                assert abs(error) < 1e-9
            else:
                assert "student" in name
                assert solution.status[i] == Status.HEAVY_TAIL
                assert entropy(name, d[i], 1 / mp.mpf(float(d[i, 0])) * 10**30) > mp.log(12.5)
    np.testing.assert_allclose(solution.affinities.sum(axis=1), 1.0, atol=1e-12)


def test_a_heavy_tail_has_a_least_perplexity():
    """Student's limit for σ → 0 is p ∝ 1/d, as broad as the distances let it be."""
    d = np.arange(1.0, 41.0)[None]
    p = 1 / d[0] / (1 / d[0]).sum()
    least = np.exp(-(p * np.log(p)).sum())
    assert ck.solve_bandwidths(d, least * (1 + 1e-6), kernel="student").converged.all()
    with pytest.warns(NoBandwidthWarning, match="the kernel falls too slowly"):
        solution = ck.solve_bandwidths(d, least * (1 - 1e-6), kernel="student")
    assert solution.status[0] == Status.HEAVY_TAIL
    assert (solution.betas[0], solution.sigmas[0]) == (np.inf, 0.0)
    np.testing.assert_allclose(solution.affinities[0], p, rtol=1e-12)
    assert np.isnan(solution.perplexity_derivatives[0])


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@every_kernel
@pytest.mark.parametrize("perplexity", [5.5, 12.0, 23.0])
def test_bounds_bracket_the_root(name, perplexity):
    d = squared_distances(n=300)
    lower, upper = bandwidth_bounds(d, perplexity, kernel=KERNELS[name])
    solution = ck.solve_bandwidths(d, perplexity, kernel=KERNELS[name])
    rooted = solution.converged
    assert rooted.any()
    assert (lower[rooted] <= solution.betas[rooted] * (1 + 1e-9)).all()
    assert (solution.betas[rooted] <= upper[rooted] * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("name", "beta_at"),
    [
        ("gaussian", lambda near, far, c: c / (far - near)),
        ("exponential", lambda near, far, c: (c / (np.sqrt(far) - np.sqrt(near))) ** 2),
        ("epanechnikov", lambda near, far, c: np.expm1(c) / (np.exp(c) * far - near)),
        (
            "student",
            lambda near, far, c: np.where(
                far > np.exp(c) * near, np.expm1(c) / (far - np.exp(c) * near), np.inf
            ),
        ),
    ],
)
def test_bounds_in_closed_form(name, beta_at):
    """K(β d_1) / K(β d) = exp(c), solved by hand for each kernel."""
    d = squared_distances(n=50)
    lower, upper = bandwidth_bounds(d, 12.0)
    low = beta_at(d[:, 0], d[:, -1], lower * (d[:, -1] - d[:, 0]))
    high = beta_at(d[:, 0], d[:, 1], upper * (d[:, 1] - d[:, 0]))
    got_low, got_high = bandwidth_bounds(d, 12.0, kernel=name)
    np.testing.assert_allclose(got_low, low, rtol=1e-7)
    np.testing.assert_allclose(got_high, high, rtol=1e-7)


@every_kernel
def test_continuation_saves_passes(name):
    """β(K) is smooth: starts from the last perplexity need fewer passes, to the same root."""
    d, perplexities = squared_distances(n=300, k=200), [120.0, 122.0, 124.0]
    path = solve_perplexities(d, perplexities, kernel=KERNELS[name])
    for perplexity, solution in zip(perplexities, path, strict=True):
        alone = ck.solve_bandwidths(d, perplexity, kernel=KERNELS[name])
        np.testing.assert_array_equal(solution.status, alone.status)
        np.testing.assert_allclose(solution.betas, alone.betas, rtol=1e-9)
    assert path[1].evaluations.mean() < path[0].evaluations.mean()
    with pytest.raises(ValueError, match="the same 3 rows"):
        ck.solve_bandwidths(d[:3], 12.0, kernel=KERNELS[name], order=Continuation(path[0]))


@every_kernel
@pytest.mark.parametrize("n_neighbors", [60, None])
def test_estimator(name, n_neighbors):
    """Rows of the matrix are K(‖x − x_j‖² / 2σ²), of the wanted perplexity, for new points too."""
    X = np.random.default_rng(0).normal(size=(80, 1))
    ea = EntropicAffinities(40.0, n_neighbors=n_neighbors, kernel=KERNELS[name])
    P = ea.fit_transform(X)
    P = P.toarray() if n_neighbors else P
    assert ea.converged_.all()
    np.testing.assert_allclose(ea.perplexities_, 40.0, rtol=1e-8)
    w = KERNELS[name].K(
        np.square(X[:, None] - X[None]).sum(axis=2) / (2 * ea.sigmas_[:, None] ** 2)
    )
    w = np.where(P > 0.0, w, 0.0)
    np.testing.assert_allclose(P, w / w.sum(axis=1, keepdims=True), atol=1e-10)
    Q = ea.transform(X[:5] + 0.1)
    Q = Q.toarray() if n_neighbors else Q
    np.testing.assert_allclose(np.exp(-(Q * np.log(np.where(Q > 0, Q, 1))).sum(axis=1)), 40.0)


def test_a_kernel_of_ones_own():
    """Any kernel whose elasticity falls will do: here exp(−t²)."""

    class Quartic(Kernel):
        def K(self, t):
            return np.exp(-np.square(t))

        def K1(self, t):
            return -2.0 * np.asarray(t)

        def K2(self, t):
            return 4.0 * np.square(t) - 2.0

    d = squared_distances()
    solution = ck.solve_bandwidths(d, 8.0, kernel=Quartic("quartic", -1))
    w = np.exp(-((d * solution.betas[:, None]) ** 2))
    p = w / w.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(-(p * np.log(p + 1e-300)).sum(axis=1)), 8.0, rtol=1e-9)


def test_messages():
    d = squared_distances()
    with pytest.raises(ValueError, match=r"unknown kernel 'cauchy'.*'exponential'"):
        ck.solve_bandwidths(d, 8.0, kernel="cauchy")
    with pytest.raises(ValueError, match="unknown kernel"):
        EntropicAffinities(kernel="cauchy").fit(np.eye(50))
    with pytest.raises(ValueError, match=r"the exponential kernel needs .* at least 0"):
        ck.solve_bandwidths(d - 1e3, 8.0, kernel="exponential")
    with pytest.raises(ValueError, match="kind='paper' is for the Gaussian"):
        bandwidth_bounds(d, 8.0, kind="paper", kernel="student")
