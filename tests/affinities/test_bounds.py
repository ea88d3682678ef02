"""Bounds of β (Theorem 1.1 and the sharp ones), and H with its derivatives in log β."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq

import closeknit as ck
from closeknit.affinities import entropy_derivatives

SHAPES = [
    (5, 1.7),
    (5, 4.5),
    (20, 3.0),
    (20, 12.5),
    (90, 5.0),
    (90, 30.0),
    (250, 30.0),
    (250, 249.0),
]
#: Relative rounding that a bound and a root, each computed in float64, may differ by.
ROUNDING = 1e-9


def random_rows(n, k, seed):
    """Rows of several shapes, each with a unique smallest distance almost surely."""
    rng = np.random.default_rng(seed)
    kinds = [
        rng.random((n, k)),
        rng.exponential(size=(n, k)),
        rng.lognormal(sigma=3.0, size=(n, k)),
        rng.chisquare(100, size=(n, k)),
        rng.random((n, k)) ** 10,
        1.0 + 1e-3 * rng.random((n, k)),
    ]
    return np.sort(np.concatenate(kinds), axis=1)


def two_level_entropy(c, n, m):
    """H of m points at squared distance 0 and n − m at 1."""
    far = (n - m) * np.exp(-c)
    return np.log(m + far) + c * far / (m + far)


def two_level_root(n, perplexity, m):
    """c(N, K, m) by SciPy."""
    target = np.log(perplexity)
    return brentq(
        lambda c: two_level_entropy(c, n, m) - target, 1e-12, 700.0, xtol=1e-14, rtol=1e-14
    )


def theorem_1_1(d, perplexity):
    """Eqs. (7) to (9) as printed; d holds squared distances, so d_N⁴ is d[-1]²."""
    n = d.shape[1]
    ratio = np.log(n / perplexity)
    first, second, last = d[:, 0], d[:, 1], d[:, -1]
    lower = np.maximum(
        n * ratio / ((n - 1) * (last - first)), np.sqrt(ratio / (last**2 - first**2))
    )
    target = np.log(min(np.sqrt(2 * n), perplexity))
    p1 = brentq(
        lambda p: 2 * (1 - p) * np.log(n / (2 * (1 - p))) - target,
        0.75,
        np.nextafter(1.0, 0.0),
        xtol=1e-16,
        rtol=1e-15,
    )
    return lower, np.log(p1 / (1 - p1) * (n - 1)) / (second - first)


@pytest.mark.parametrize(("k", "perplexity"), SHAPES)
def test_paper_bounds_are_theorem_1_1(k, perplexity):
    """Eqs. (7), (8) and (9) against a twin that solves (9) by brentq."""
    d = random_rows(50, k, seed=1)
    lower, upper = ck.bandwidth_bounds(d, perplexity, kind="paper")
    expected_lower, expected_upper = theorem_1_1(d, perplexity)
    # d_N⁴ − d_1⁴ cancels in the twin for rows of nearly equal distances, hence not 1e-15.
    np.testing.assert_allclose(lower, expected_lower, rtol=1e-10)
    np.testing.assert_allclose(upper, expected_upper, rtol=1e-10)


@pytest.mark.parametrize("kind", ["paper", "sharp"])
@pytest.mark.parametrize(("k", "perplexity"), SHAPES)
def test_bounds_contain_the_root_if_the_minimum_is_unique(k, perplexity, kind):
    """Theorem 1.1 and the sharp bounds on thousands of random rows."""
    d = random_rows(400, k, seed=2)
    betas = ck.solve_bandwidths(d, perplexity).betas
    lower, upper = ck.bandwidth_bounds(d, perplexity, kind=kind)
    assert (lower > 0.0).all()
    assert (lower <= betas * (1 + ROUNDING)).all()
    assert (betas <= upper * (1 + ROUNDING)).all()


@pytest.mark.parametrize("ties", [2, 3, 7])
@pytest.mark.parametrize(
    ("k", "excess"), [(10, 0.01), (10, 1.0), (40, 0.01), (40, 5.0), (40, 30.0)]
)
def test_sharp_bounds_contain_the_root_with_ties(ties, k, excess):
    """m neighbours tied at the smallest distance, K > m."""
    d = random_rows(400, k, seed=3)
    d[:, :ties] = d[:, :1]
    betas = ck.solve_bandwidths(d, ties + excess).betas
    lower, upper = ck.bandwidth_bounds(d, ties + excess)
    assert (lower <= betas * (1 + ROUNDING)).all()
    assert (betas <= upper * (1 + ROUNDING)).all()


def test_sharp_bounds_contain_the_root_of_two_level_rows():
    """The rows at which the sharp bounds are attained."""
    for n in (4, 7, 30):
        for m in range(1, n):
            d = np.r_[np.zeros(m), np.ones(n - m)][None]
            for perplexity in m + np.array([1e-3, 0.3, 0.6, 0.99]) * (n - m):
                beta = ck.solve_bandwidths(d, perplexity).betas[0]
                lower, upper = ck.bandwidth_bounds(d, perplexity)
                assert lower[0] <= beta * (1 + ROUNDING)
                assert beta <= upper[0] * (1 + ROUNDING)
                np.testing.assert_allclose(upper[0], beta, rtol=1e-7)


def test_the_papers_remark_on_ties_is_wrong():
    """With ties at d_1 and K close to m the root exceeds eq. (8); the sharp bound holds."""
    broken = 0
    for n in (5, 10, 30):
        for m in range(2, n):
            d = np.r_[np.zeros(m), np.ones(n - m)][None]
            perplexity = m + 1e-3 * (n - m)
            beta = ck.solve_bandwidths(d, perplexity).betas[0]
            broken += beta > 1.01 * ck.bandwidth_bounds(d, perplexity, kind="paper")[1][0]
            assert beta <= ck.bandwidth_bounds(d, perplexity)[1][0] * (1 + ROUNDING)
    assert broken > 0


@pytest.mark.parametrize(("k", "perplexity"), SHAPES)
def test_sharp_bounds_are_never_looser(k, perplexity):
    """Where the minimum is unique, so that both hold, the sharp bracket lies in the paper's."""
    d = random_rows(200, k, seed=4)
    lower, upper = ck.bandwidth_bounds(d, perplexity)
    paper_lower, paper_upper = ck.bandwidth_bounds(d, perplexity, kind="paper")
    assert (lower >= paper_lower * (1 - ROUNDING)).all()
    assert (upper <= paper_upper * (1 + ROUNDING)).all()


@pytest.mark.parametrize("n", [3, 10, 90, 1000])
def test_constants_of_the_sharp_bounds(n):
    """c(N, K, m) and its minimum over m against scipy.optimize."""
    for perplexity in (1.01, 1.5, 2.5, n / 3, n / 2, n - 0.5, n - 0.01):
        if not 1.0 < perplexity < n:
            continue
        counts = range(1, int(np.ceil(perplexity)))
        constants = {m: two_level_root(n, perplexity, m) for m in counts}
        for m in counts[:: max(1, len(counts) // 5)]:
            d = np.r_[np.zeros(m), np.ones(n - m)][None]
            lower, upper = ck.bandwidth_bounds(d, perplexity)
            np.testing.assert_allclose(upper[0], constants[m], rtol=1e-9)
            np.testing.assert_allclose(lower[0], min(constants.values()), rtol=1e-9)


def test_bounds_scale_as_beta():
    """Squared distances × 4 divide all bounds by 4, to the bit."""
    d = random_rows(20, 30, seed=5)
    for kind in ("sharp", "paper"):
        for near, far in zip(
            ck.bandwidth_bounds(d, 9.0, kind=kind),
            ck.bandwidth_bounds(4.0 * d, 9.0, kind=kind),
            strict=True,
        ):
            np.testing.assert_array_equal(near, 4.0 * far)


@pytest.mark.parametrize("kind", ["paper", "sharp"])
def test_bounds_are_nan_without_a_root(kind):
    d = [[1.0, 1.0, 1.0, 2.0, 3.0], [1.0] * 5, [1.0, 2.0, np.inf, np.inf, np.inf], [1, 2, 3, 4, 5]]
    lower, upper = ck.bandwidth_bounds(d, 2.5, kind=kind)
    np.testing.assert_array_equal(np.isnan(lower), [True, True, True, False])
    np.testing.assert_array_equal(np.isnan(upper), [True, True, True, False])


@pytest.mark.parametrize("kind", ["paper", "sharp"])
def test_bounds_of_rows_with_missing_neighbours(kind):
    """inf marks a missing neighbour: the bounds are those of the shorter row."""
    full = random_rows(3, 12, seed=6)
    padded = np.hstack([full, np.full((len(full), 3), np.inf)])
    for a, b in zip(
        ck.bandwidth_bounds(padded, 5.0, kind=kind),
        ck.bandwidth_bounds(full, 5.0, kind=kind),
        strict=True,
    ):
        np.testing.assert_allclose(a, b, rtol=1e-14)


@pytest.mark.parametrize("kind", ["paper", "sharp"])
def test_bounds_take_any_order_perplexities_and_threads(kind):
    """Unsorted rows, one perplexity per row and any n_jobs give the same bounds."""
    d = random_rows(200, 30, seed=7)
    perplexity = np.linspace(1.5, 25.0, len(d))
    expected = ck.bandwidth_bounds(d, perplexity, kind=kind, n_jobs=1)
    shuffled = np.random.default_rng(0).permuted(d, axis=1)
    for other in (
        ck.bandwidth_bounds(shuffled, perplexity, kind=kind),
        ck.bandwidth_bounds(d, perplexity, kind=kind, n_jobs=3),
    ):
        np.testing.assert_array_equal(other[0], expected[0])
        np.testing.assert_array_equal(other[1], expected[1])
    one = ck.bandwidth_bounds(d[50:51], perplexity[50], kind=kind)
    np.testing.assert_allclose(
        [one[0][0], one[1][0]], [expected[0][50], expected[1][50]], rtol=1e-13
    )


def test_unknown_kind_of_bounds():
    with pytest.raises(ValueError, match="unknown kind 'tight'; use 'sharp' or 'paper'"):
        ck.bandwidth_bounds([[0.0, 1.0, 2.0]], 2.0, kind="tight")


# Entropy and its derivatives


def exact_derivatives(d, log_beta):
    """H, H', H'', H''' from central moments in 60 digits."""
    with mpmath.workdps(60):
        beta = mpmath.exp(mpmath.mpf(float(log_beta)))
        d = [mpmath.mpf(float(x)) for x in d if np.isfinite(x)]
        least = min(d)
        w = [mpmath.exp(-beta * (x - least)) for x in d]
        z = mpmath.fsum(w)
        p = [x / z for x in w]
        mean = mpmath.fsum(a * (x - least) for a, x in zip(p, d, strict=True))
        central = [
            mpmath.fsum(a * (x - least - mean) ** i for a, x in zip(p, d, strict=True))
            for i in range(5)
        ]
        k2, k3, k4 = central[2], central[3], central[4] - 3 * central[2] ** 2
        terms = (beta**2 * k2, beta**3 * k3, beta**4 * k4)
        values = (
            mpmath.log(z) + beta * mean,
            -terms[0],
            -2 * terms[0] + terms[1],
            -4 * terms[0] + 5 * terms[1] - terms[2],
        )
        scale = (
            abs(values[0]) + mpmath.mpf("1e-5"),  # log Z near Z = 1 is exact to 1e-16, not more
            terms[0],
            2 * terms[0] + abs(terms[1]),
            4 * terms[0] + 5 * abs(terms[1]) + abs(terms[2]),
        )
        return [float(v) for v in values], [float(s) for s in scale]


@pytest.mark.parametrize("k", [2, 3, 8, 17, 90])
@pytest.mark.parametrize("log_beta", [-6.0, -2.0, 0.0, 1.0, 2.5])
def test_entropy_derivatives_against_mpmath(k, log_beta):
    """H and its derivatives to 1e-10, relative to their largest term (H near 0: to 1e-15)."""
    d = random_rows(2, k, seed=8)
    got = entropy_derivatives(d, log_beta)
    for row, values in zip(d, got, strict=True):
        expected, scale = exact_derivatives(row, log_beta)
        assert np.all(np.abs(values - expected) <= 1e-10 * np.array(scale) + 1e-300)


def test_entropy_derivatives_at_the_root(rows):
    """At the root, where the solver uses them, for data of every kind."""
    for kind in ("gauss2", "gauss1000", "clusters", "grid", "tails"):
        d, _ = rows(kind, 300, 120)
        d = d[::60]
        log_betas = np.log(ck.solve_bandwidths(d, 30.0).betas)
        got = entropy_derivatives(d, log_betas)
        assert np.abs(got[:, 0] - np.log(30.0)).max() <= 1e-10
        for row, b, values in zip(d, log_betas, got, strict=True):
            expected, scale = exact_derivatives(row, b)
            assert np.all(np.abs(values - expected) <= 1e-10 * np.array(scale))


def test_each_derivative_is_that_of_the_one_before():
    """Finite differences in 60 digits confirm the formulas of the docstring themselves."""
    d = [0.3, 0.7, 1.1, 2.0, 3.5, 3.6]

    def entropy(b):
        w = [mpmath.exp(-mpmath.exp(b) * mpmath.mpf(x)) for x in d]
        z = mpmath.fsum(w)
        return -mpmath.fsum(x / z * mpmath.log(x / z) for x in w)

    got = entropy_derivatives([d], 0.25)[0]
    with mpmath.workdps(60):
        expected = [float(mpmath.diff(entropy, mpmath.mpf("0.25"), i)) for i in range(4)]
    np.testing.assert_allclose(got, expected, rtol=1e-10)


def test_entropy_of_extreme_precisions():
    """log k as β → 0, log m as β → inf, and nothing but finite numbers between."""
    d = np.array([[1.0, 1.0, 2.0, 5.0, 9.0]])
    for log_beta, expected in ((-500.0, np.log(5)), (-2000.0, np.log(5)), (20.0, np.log(2))):
        got = entropy_derivatives(d, log_beta)[0]
        np.testing.assert_allclose(got[0], expected, rtol=1e-14)
        np.testing.assert_allclose(got[1:], 0.0, atol=1e-12)
    for log_beta in np.linspace(-2000.0, 700.0, 60):
        assert np.isfinite(entropy_derivatives(d, log_beta)).all()


def test_entropy_of_constant_rows_and_missing_neighbours():
    got = entropy_derivatives([[3.0, 3.0, 3.0, 3.0]], 0.0)[0]
    np.testing.assert_allclose(got, [np.log(4.0), 0.0, 0.0, 0.0], atol=1e-15)
    with_gap = entropy_derivatives([[1.0, np.inf, 2.0, 4.0, np.inf]], 0.3)
    np.testing.assert_allclose(with_gap, entropy_derivatives([[1.0, 2.0, 4.0]], 0.3), rtol=1e-14)


def test_entropy_takes_one_log_beta_or_one_per_row():
    d = random_rows(3, 10, seed=9)
    each = entropy_derivatives(d, np.full(len(d), 0.5), n_jobs=3)
    np.testing.assert_array_equal(each, entropy_derivatives(d, 0.5, n_jobs=1))
    with pytest.raises(ValueError, match="finite"):
        entropy_derivatives(d, np.nan)


MASKED = np.ma.masked_array(np.ones((2, 4)), mask=[[0, 0, 0, 0], [0, 1, 0, 0]])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1.0, np.nan, 3.0, 4.0], "row 1 .* contains NaN or -inf"),
        ([1.0, -np.inf, 3.0, 4.0], "row 1 .* contains NaN or -inf"),
        (None, "masked entries"),
    ],
)
def test_rows_that_hold_no_distances(row, message):
    """NaN is no missing neighbour, whose mark is inf, and neither is a masked entry."""
    d = MASKED if row is None else np.array([[1.0, 2.0, 3.0, 4.0], row])
    for call in (
        lambda: entropy_derivatives(d, 0.0),
        lambda: ck.bandwidth_bounds(d, 2.0),
        lambda: ck.solve_bandwidths(d, 2.0),
    ):
        with pytest.raises(ValueError, match=message):
            call()
