"""Modes of a sample: against mean shift itself, a fine grid, closed forms and bad input."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import iqr

from closeknit.graphs import find_modes, silverman_bandwidth
from closeknit.kernels import STUDENT, student


def slope(t, h, x):
    """h · f′(x) up to a factor, at many x, by summing over all points."""
    u = (t[None] - x[:, None]) / h
    return (u * np.exp(-0.5 * u * u)).sum(axis=1)


def modes_on_a_grid(t, h, n=40_001):
    x = np.linspace(t.min() - h, t.max() + h, n)
    f = slope(t, h, x)
    return x[np.flatnonzero((f[:-1] > 0.0) & (f[1:] <= 0.0))], x[1] - x[0]


def mean_shift(t, h, n_iter=20_000):
    """Equation (6) from every point, and the distinct places where it ends."""
    x = t.copy()
    for _ in range(n_iter):
        w = np.exp(-0.5 * ((t[None] - x[:, None]) / h) ** 2)
        moved = (w @ t) / w.sum(axis=1)
        done = np.abs(moved - x).max() < 1e-13
        x = moved
        if done:
            break
    x = np.sort(x)
    return x[np.diff(x, prepend=-np.inf) > 1e-6 * h]


@pytest.mark.parametrize("seed", range(60))
def test_same_modes_as_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    t = rng.normal(size=rng.integers(2, 60)) * rng.choice([0.5, 1.0, 5.0])
    if seed % 3 == 0:
        t = np.round(t, 1)  # ties
    h = 10.0 ** rng.uniform(-2.0, 0.5)
    found, (expected, step) = find_modes(t, h), modes_on_a_grid(t, h)
    assert len(found) == len(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1.5 * step)


@pytest.mark.parametrize("seed", range(12))
def test_where_mean_shift_ends(seed):
    rng = np.random.default_rng(seed)
    t = np.concatenate([rng.normal(m, 1.0, 30) for m in rng.uniform(0.0, 20.0, 4)])
    h = rng.uniform(0.5, 2.0)
    np.testing.assert_allclose(find_modes(t, h), mean_shift(t, h), rtol=0, atol=1e-9)


def test_digits_against_mpmath():
    """The root of f′ to thirty digits."""
    t, h = [0.0, 0.3, 1.1, 4.0, 4.2, 5.9], 0.7

    def derivative(x):
        return mpmath.fsum((s - x) * mpmath.exp(-((s - x) ** 2) / (2 * h**2)) for s in t)

    with mpmath.workdps(30):
        for mode in find_modes(t, h):
            exact = mpmath.findroot(derivative, mode)
            assert abs(mpmath.mpf(mode) - exact) < 1e-14


@pytest.mark.parametrize("gap", [1.9, 1.999, 2.001, 2.1, 3.0])
def test_two_equal_points_part_at_two_bandwidths(gap):
    """A mixture of two equal Gaussians is bimodal exactly if they are more than 2h apart."""
    modes = find_modes([0.0, gap], 1.0)
    assert len(modes) == (2 if gap > 2.0 else 1)
    if gap <= 2.0:
        assert modes[0] == pytest.approx(0.5 * gap, abs=1e-7)


def test_far_clusters_and_tiny_bandwidths():
    """Gaps of 1e9 bandwidths cost nothing; isolated points are modes."""
    t = np.array([-1e9, 0.0, 0.25, 1e9])
    np.testing.assert_allclose(find_modes(t, 1.0), [-1e9, 0.125, 1e9])
    t = np.random.default_rng(0).random(300)
    np.testing.assert_allclose(find_modes(t, 1e-12), np.sort(t), rtol=0, atol=1e-12)


def test_one_place_is_one_mode():
    assert find_modes([3.0], 1.0).tolist() == [3.0]
    assert find_modes([3.0] * 9, 1.0).tolist() == [3.0]
    assert find_modes([3.0] * 9).tolist() == [3.0]


def test_large_sample_against_exact_sums():
    rng = np.random.default_rng(1)
    t = np.concatenate([rng.normal(m, 1.0, 3000) for m in (0.0, 5.0, 30.0)])
    modes = find_modes(t, 0.3)
    assert len(modes) >= 3
    around = slope(t, 0.3, np.concatenate([modes - 1e-6, modes, modes + 1e-6])).reshape(3, -1)
    assert (around[0] > 0.0).all()
    assert (around[2] < 0.0).all()
    assert (np.abs(around[1]) < 1e-6 * np.abs(around[0])).all()


values = arrays(np.float64, st.integers(1, 25), elements=st.floats(-4.0, 4.0, width=32))


@settings(max_examples=80, deadline=None)
@given(values, st.floats(0.02, 5.0), st.integers(-20, 20), st.randoms())
def test_scale_order_and_range(t, h, power, random):
    """Modes scale with sample and bandwidth, ignore the order, and lie within the sample."""
    modes = find_modes(t, h)
    scale = 2.0**power
    np.testing.assert_array_equal(find_modes(t * scale, h * scale), modes * scale)
    shuffled = list(t)
    random.shuffle(shuffled)
    np.testing.assert_array_equal(find_modes(shuffled, h), modes)
    assert 1 <= len(modes) <= len(np.unique(t))
    assert modes[0] >= t.min() - 1e-12
    assert modes[-1] <= t.max() + 1e-12
    assert (np.diff(modes) > 0.0).all()


@settings(max_examples=40, deadline=None)
@given(values, st.floats(0.05, 1.0))
def test_fewer_modes_under_a_wider_kernel(t, h):
    """The number of modes under a Gaussian kernel does not grow with the bandwidth."""
    assert len(find_modes(t, 2.0 * h)) <= len(find_modes(t, h))


def test_silverman():
    t = np.random.default_rng(0).normal(size=500)
    spread = min(t.std(), iqr(t) / 1.34)
    assert silverman_bandwidth(t) == pytest.approx(0.9 * spread * 500**-0.2)
    assert silverman_bandwidth([0.0] * 8 + [1.0, 2.0]) > 0.0
    assert silverman_bandwidth([1.0, 1.0]) == 0.0


@pytest.mark.parametrize(
    ("sample", "bandwidth", "message"),
    [
        ([], 1.0, "the sample is empty"),
        ([0.0, np.nan], 1.0, "NaN or infinite"),
        ([0.0, np.inf], 1.0, "NaN or infinite"),
        ([0.0, 1.0], 0.0, "bandwidth=0.0 must be a positive number"),
        ([0.0, 1.0], -1.0, "bandwidth=-1.0 must be a positive number"),
        ([0.0, 1.0], np.inf, "bandwidth=inf must be a positive number"),
        ([0.0, 1.0], "scott", "bandwidth='scott' must be a number or 'silverman'"),
    ],
)
def test_bad_input(sample, bandwidth, message):
    with pytest.raises(ValueError, match=message):
        find_modes(sample, bandwidth)


@pytest.mark.parametrize("sample", [[], np.empty((0, 3))])
@pytest.mark.parametrize("function", [silverman_bandwidth, find_modes])
def test_empty_sample(function, sample):
    with pytest.raises(ValueError, match=r"the sample is empty.*; pass at least one number"):
        function(sample)


# Other kernels


@pytest.mark.parametrize("kernel", [STUDENT, student(4.0)], ids=["student", "student(4)"])
@pytest.mark.parametrize("seed", range(4))
def test_modes_of_other_kernels_on_a_fine_grid(kernel, seed):
    """Local maxima of the density on a fine grid, and nothing else."""
    rng = np.random.default_rng(seed)
    t = np.concatenate([rng.normal(c, 1.0, 40) for c in (0.0, 5.0, 12.0)])
    h = 0.1
    x = np.linspace(t.min() - 1.0, t.max() + 1.0, 20_001)
    f = kernel.K(np.square(x[:, None] - t) / (2 * h * h)).sum(axis=1)
    peaks = x[1:-1][(f[1:-1] > f[:-2]) & (f[1:-1] >= f[2:])]
    found = find_modes(rng.permutation(t), h, kernel=kernel)
    assert len(found) == len(peaks) > 3
    np.testing.assert_allclose(found, peaks, atol=x[1] - x[0])


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_flat_mean_shift(offset):
    """Epanechnikov's: the mean of all points within √2 h, again and again, from every point."""
    t = np.random.default_rng(0).normal(size=60)
    h, ends = 0.2, []
    for x in t:
        for _ in range(100):
            x = t[np.abs(t - x) < np.sqrt(2.0) * h].mean()
        ends.append(x)
    found = find_modes(t + offset, h, kernel="epanechnikov")
    expected = np.unique(np.round(ends, 9))
    np.testing.assert_allclose(found - offset, expected, atol=1e-9 if offset == 0.0 else 1e-8)


def test_modes_of_one_place_under_any_kernel():
    for kernel in ("student", "epanechnikov"):
        np.testing.assert_allclose(find_modes([3.0, 3.0], 1.0, kernel=kernel), [3.0])


def test_a_kernel_without_a_derivative_has_no_mean_shift():
    with pytest.raises(ValueError, match="the exponential kernel has no derivative at 0"):
        find_modes([1.0, 2.0], 1.0, kernel="exponential")


def test_one_point_very_far_out():
    """Places are only looked at near points, however far these are from each other."""
    t = np.array([0.0, 0.1, 0.2, 1e9])
    np.testing.assert_allclose(find_modes(t, 1.0, kernel="student"), [0.1, 1e9])
    np.testing.assert_allclose(find_modes(t, 1.0, kernel="epanechnikov"), [0.1, 1e9])
