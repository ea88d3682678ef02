"""Bandwidths against values obtained independently: mpmath, SciPy, scikit-learn."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp, softmax
from sklearn.datasets import load_digits, load_iris
from sklearn.manifold._utils import _binary_search_perplexity
from sklearn.neighbors import NearestNeighbors

import closeknit as ck

DIGITS = 50
METHODS = ("auto", "newton", "halley", "euler", "bisection", "brent", "ridders")


def neighbour_rows(X, k):
    return np.square(NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0])


def sample_rows():
    """(name, row, perplexity), easy and hard."""
    rng = np.random.default_rng(0)
    digits = neighbour_rows(load_digits().data, 90)
    gauss = {dim: neighbour_rows(rng.normal(size=(200, dim)), 90) for dim in (2, 10, 100, 1000)}
    cases = [(f"digits-{i}", digits[i], 30.0) for i in (0, 700, 1500)]
    cases += [(f"digits-K{K}", digits[5], K) for K in (1.01, 1.5, 5.0, 60.0, 89.0, 89.9)]
    cases += [(f"gauss{dim}", rows[7], 30.0) for dim, rows in gauss.items()]
    cases += [
        ("cauchy", np.sort(rng.standard_cauchy(90) ** 2), 20.0),
        ("lognormal", np.sort(rng.lognormal(sigma=5.0, size=50)), 10.0),
        ("two levels", np.r_[np.zeros(3), np.ones(20)], 3.5),
        ("near m", np.r_[np.zeros(3), np.linspace(1.0, 5.0, 20)], 3.0 + 1e-6),
        ("near 1", np.linspace(1.0, 5.0, 20), 1.0 + 1e-6),
        ("ties", np.repeat(np.arange(8.0), 5), 12.0),
        ("offset", 1e6 + np.sort(rng.random(40)), 12.0),
        ("tiny", 1e-300 * np.sort(rng.random(40)), 12.0),
        ("huge", 1e300 * np.sort(rng.random(40)), 12.0),
        ("negative", np.sort(rng.random(40)) - 1e-3, 12.0),
        ("one near, many far", np.r_[0.0, 100.0 + np.sort(rng.random(60))], 12.0),
        ("two neighbours", np.array([1.0, 2.0]), 1.5),
        ("three neighbours", np.array([0.0, 1e-8, 1.0]), 1.9),
    ]
    return cases


CASES = sample_rows()
ids = [name for name, _, _ in CASES]


def exact_solution(row, perplexity):
    """log β, p and |dH / d log β| at the root, in 50 digits: Newton's method, kept in a bracket."""
    with mpmath.workdps(DIGITS):
        least = mpmath.mpf(float(min(row)))
        gaps = [mpmath.mpf(float(x)) - least for x in row]
        unit = max(gaps)
        gaps = [gap / unit for gap in gaps]
        target = mpmath.log(mpmath.mpf(float(perplexity)))
        low, high = mpmath.mpf(-30), mpmath.mpf(100)
        b = mpmath.mpf(0)
        for _ in range(400):
            beta = mpmath.exp(b)
            w = [mpmath.exp(-beta * gap) for gap in gaps]
            z = mpmath.fsum(w)
            p = [x / z for x in w]
            mean = mpmath.fsum(x * gap for x, gap in zip(p, gaps, strict=True))
            variance = mpmath.fsum(x * (gap - mean) ** 2 for x, gap in zip(p, gaps, strict=True))
            excess = mpmath.log(z) + beta * mean - target
            low, high = (b, high) if excess > 0 else (low, b)
            slope = beta**2 * variance
            following = b + excess / slope
            following = following if low < following < high else (low + high) / 2
            if abs(following - b) < mpmath.mpf("1e-40"):
                return b - mpmath.log(unit), p, float(slope)
            b = following
    raise AssertionError("the reference did not converge")


@pytest.mark.parametrize(("name", "row", "perplexity"), CASES, ids=ids)
def test_roots_against_mpmath(name, row, perplexity):
    """log β to 1e-11 at tol=1e-13, to 1e-10 at the default, for every method.

    Where H is flat its rounding by 1e-15 (1 + log K) moves the root by that over the slope.
    """
    expected, p, slope = exact_solution(row, perplexity)
    p = np.array([float(x) for x in p])
    rounding = 1.5e-15 * (1.0 + np.log(perplexity)) / slope
    for method in METHODS:
        for tol, limit in ((1e-13, 1e-11), (1e-10, 1.001e-10)):
            got = ck.solve_bandwidths(row[None], perplexity, method=method, tol=tol)
            assert got.converged.all()
            log_beta = -np.log(2.0) - 2.0 * mpmath.log(mpmath.mpf(float(got.sigmas[0])))
            assert abs(float(log_beta - expected)) <= limit + rounding, (method, tol)
            if tol == 1e-13:
                seen = p > 1e-250
                np.testing.assert_allclose(got.affinities[0], p, rtol=0, atol=1e-12)
                # Far neighbours: p = exp(-β d) carries the error of log β times β d.
                exponent = 1.0 - np.log(p[seen])
                relative = np.abs(got.affinities[0][seen] / p[seen] - 1.0)
                assert (relative <= (1e-12 + rounding) * exponent).all(), method


def test_fast_path_against_mpmath():
    """The order-free solver on whole data sets, sampled: the same to 1e-10 in log β."""
    for X, k, perplexity in (
        (load_digits().data, 90, 30.0),
        (np.random.default_rng(1).normal(size=(300, 3)), 30, 10.0),
    ):
        d = neighbour_rows(X, k)
        solution = ck.solve_bandwidths(d, perplexity)
        assert solution.start.ranks
        for i in np.linspace(0, len(d) - 1, 5).astype(int):
            expected, p, _ = exact_solution(d[i], perplexity)
            assert abs(np.log(solution.betas[i]) - float(expected)) <= 1.001e-10
            p = np.array([float(x) for x in p])
            np.testing.assert_allclose(solution.affinities[i], p, rtol=1e-9, atol=1e-300)


def test_exponentials_against_mpmath():
    """p_j at the returned β: our exp2 is right to a few units in the last place."""
    d = neighbour_rows(load_digits().data, 90)[::300]
    for method in ("halley", "auto"):
        solution = ck.solve_bandwidths(d, 5.0, method=method, tol=1e-13)
        for row, beta, p in zip(d, solution.betas, solution.affinities, strict=True):
            with mpmath.workdps(DIGITS):
                gaps = [mpmath.mpf(float(x)) - mpmath.mpf(float(row[0])) for x in row]
                w = [mpmath.exp(-mpmath.mpf(float(beta)) * gap) for gap in gaps]
                z = mpmath.fsum(w)
                exact = np.array([float(x / z) for x in w])
            # t = -β log2(e) d is rounded: relative error |t| ε in the power.
            units = 2.3e-16 * (8.0 + 2.0 * np.abs(np.log2(exact)))
            assert (np.abs(p / exact - 1.0) <= units).all()


@pytest.mark.parametrize("perplexity", [5.0, 30.0])
def test_against_scipy_brentq(perplexity):
    """SciPy's root of an independently written entropy, to its tolerance."""
    d = neighbour_rows(load_digits().data, 90)[::50]
    solution = ck.solve_bandwidths(d, perplexity)
    for row, beta, p in zip(d, solution.betas, solution.affinities, strict=True):

        def excess(b, row=row):
            t = -np.exp(b) * row
            return logsumexp(t) - softmax(t) @ t - np.log(perplexity)

        root = brentq(excess, -40.0, 10.0, xtol=1e-13, rtol=1e-14)
        assert abs(np.log(beta) - root) <= 1e-9
        np.testing.assert_allclose(p, softmax(-np.exp(root) * row), rtol=0, atol=1e-9)


@pytest.mark.parametrize("perplexity", [5.0, 30.0])
@pytest.mark.parametrize("load", [load_digits, load_iris])
def test_against_scikit_learn(load, perplexity):
    """scikit-learn's bisection stops at 1e-5 in entropy: its affinities differ by no more."""
    X = load().data[:500]
    X = np.unique(X, axis=0)
    d = neighbour_rows(X, 91)
    single = d.astype(np.float32)
    theirs = _binary_search_perplexity(single, perplexity, 0)
    ours = ck.solve_bandwidths(single, perplexity)
    entropy = -(theirs * np.log(np.maximum(theirs, 1e-300))).sum(axis=1)
    # 1e-5 is its tolerance, to which it adds the rounding of float32 distances and sums.
    theirs_ok = np.abs(entropy - np.log(perplexity)) <= 3e-5
    assert theirs_ok.mean() > 0.99
    np.testing.assert_allclose(
        ours.affinities[theirs_ok], theirs[theirs_ok], rtol=0, atol=1e-4 / perplexity
    )
    ours_entropy = -(ours.affinities * np.log(np.maximum(ours.affinities, 1e-300))).sum(axis=1)
    assert np.abs(ours_entropy - np.log(perplexity)).max() <= 1e-10


def test_closed_form_of_two_levels():
    """m points at 0 and N − m at 1 with p and q each: β = log(p / q), in closed form."""
    for n, m, p in ((10, 1, 0.5), (10, 3, 0.3), (100, 1, 0.2), (100, 30, 0.02)):
        q = (1.0 - m * p) / (n - m)
        perplexity = np.exp(-m * p * np.log(p) - (n - m) * q * np.log(q))
        d = np.r_[np.zeros(m), np.ones(n - m)][None]
        solution = ck.solve_bandwidths(d, perplexity, tol=1e-13)
        np.testing.assert_allclose(solution.betas, np.log(p / q), rtol=1e-11)
        np.testing.assert_allclose(solution.affinities[0, [0, -1]], [p, q], rtol=1e-11)
