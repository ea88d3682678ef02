"""Close pairs summed one by one, and the tapered kernel that is left for the grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf, taylor

from closeknit import _core
from closeknit.kernels import GAUSSIAN, STUDENT, student
from closeknit.repulsion import ExactRepulsion, GridRepulsion
from closeknit.repulsion._grid_plan import GridPlan, cheapest, plans
from closeknit.repulsion._tapered import TaperedKernel

KERNELS = {
    "student": STUDENT,
    "student(0.5)": student(0.5),
    "student(7)": student(7.0),
    "student squared": STUDENT.squared(),
}
each_kernel = pytest.mark.parametrize("kernel", list(KERNELS.values()), ids=list(KERNELS))
each_dimension = pytest.mark.parametrize("d", [1, 2, 3])


def close_sums(X, kernel, radius, weights=None, *, single=False, n_jobs=1):
    """What the compiled sums add to zeros."""
    tapered = TaperedKernel.of(kernel, radius)
    low, high = X.min(axis=0), X.max(axis=0)
    size = np.maximum(1, np.ceil((high - low) / radius)).astype(np.int64)
    value, gradient = np.zeros(len(X)), np.zeros(X.shape)
    _core.add_close_pairs(
        _core.Cells(low, size, radius),
        (kernel.code, tapered.coefficients),
        X,
        weights,
        single,
        value,
        gradient,
        n_jobs,
    )
    return value, gradient


def all_pairs(X, kernel, radius, weights=None):
    """The same over all pairs, in plain NumPy."""
    tapered = TaperedKernel.of(kernel, radius)
    gaps = X[:, None] - X
    t = (gaps**2).sum(axis=2)
    w = np.ones(len(X)) if weights is None else weights
    inside = (t < radius**2) & ~np.eye(len(X), dtype=bool)
    value = np.where(inside, kernel.K(t) - tapered.K(t), 0.0) @ w
    slopes = np.where(inside, kernel.K(t) * kernel.K1(t) - tapered.K(t) * tapered.K1(t), 0.0)
    return value, 2.0 * ((slopes * w)[:, :, None] * gaps).sum(axis=1)


@each_kernel
def test_tapered_kernels_are_the_taylor_polynomial_and_then_the_kernel(kernel):
    mp.dps = 30
    radius = 3.0
    tapered = TaperedKernel.of(kernel, radius)
    scale, power = mpf(kernel.scale), mpf(kernel.power)

    def K(t):
        return (1 + t / scale) ** -power

    coefficients = taylor(K, mpf(radius) ** 2, 3)
    for t in (0.0, 0.3, 2.0, 8.9):
        expected = sum(c * (mpf(t) - 9) ** j for j, c in enumerate(coefficients))
        assert float(tapered.K(t)) == pytest.approx(float(expected), rel=1e-13)
    beyond = np.array([9.0, 9.1, 50.0, 1e6])
    np.testing.assert_allclose(tapered.K(beyond), kernel.K(beyond), rtol=1e-14)
    np.testing.assert_allclose(tapered.K1(beyond), kernel.K1(beyond), rtol=1e-13)


@each_kernel
def test_slopes_of_tapered_kernels_are_their_derivative(kernel):
    tapered = TaperedKernel.of(kernel, 2.0)
    t, step = np.linspace(0.1, 9.0, 30), 1e-6
    slope = (tapered.K(t + step) - tapered.K(t - step)) / (2.0 * step)
    np.testing.assert_allclose(tapered.K1(t) * tapered.K(t), slope, rtol=1e-6)


def test_tapered_kernels_have_no_second_derivative():
    with pytest.raises(TypeError, match="no second derivative"):
        TaperedKernel.of(STUDENT, 2.0).K2(1.0)


@each_kernel
@each_dimension
@pytest.mark.parametrize("weighted", [False, True])
def test_close_pairs_are_those_of_all_pairs(kernel, d, weighted):
    rng = np.random.default_rng(d)
    X = 6.0 * rng.random((400, d)) ** 2 - 1.0
    X[10:13] = X[9]
    weights = rng.random(400) if weighted else None
    expected_value, expected_gradient = all_pairs(X, kernel, 1.5, weights)
    value, gradient = close_sums(X, kernel, 1.5, weights)
    np.testing.assert_allclose(value, expected_value, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10, atol=1e-11)
    value, gradient = close_sums(X, kernel, 1.5, weights, single=True)
    np.testing.assert_allclose(value, expected_value, rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(gradient, expected_gradient, atol=2e-5 * np.abs(gradient).max())


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 3),
    st.floats(0.1, 20.0),
    st.floats(-1e4, 1e4),
    st.booleans(),
    st.integers(0, 2**16),
)
def test_any_map_and_any_radius(n, d, radius, offset, flat, seed):
    """Cells that hold no point or all, maps without extent along an axis, points on edges."""
    rng = np.random.default_rng(seed)
    X = offset + np.round(10.0 * rng.random((n, d)), 1)
    if flat:
        X[:, -1] = offset
    expected_value, expected_gradient = all_pairs(X, STUDENT, radius)
    value, gradient = close_sums(X, STUDENT, radius)
    np.testing.assert_allclose(value, expected_value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-8)


@each_dimension
@pytest.mark.parametrize("single", [False, True])
def test_same_bits_for_any_number_of_threads(d, single):
    X = np.random.default_rng(0).normal(size=(70_000, d)) * [500.0, 40.0, 10.0][d - 1]
    w = np.random.default_rng(1).random(len(X))
    (v1, g1), (v2, g2) = (
        close_sums(X, STUDENT, 1.0, w, single=single, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert v1.tobytes() == v2.tobytes()
    assert g1.tobytes() == g2.tobytes()


@each_dimension
def test_crowding_counts_who_shares_a_cell(d):
    rng = np.random.default_rng(0)
    X = rng.random((3000, d)) * 8.0
    cells = np.minimum((X - X.min(axis=0)) // 2.0, 3).astype(int)
    counts = np.unique(cells, axis=0, return_counts=True)[1]
    got = _core.crowding(_core.Cells(X.min(axis=0), np.full(d, 4), 2.0), X, 2)
    assert got == pytest.approx((counts**2).sum() / 3000)


@pytest.mark.parametrize("accuracy", [0.1, 0.02, 1e-3])
@each_dimension
@each_kernel
def test_every_plan_is_as_accurate_as_asked(kernel, d, accuracy):
    """Not only the one that is cheapest."""
    rng = np.random.default_rng(0)
    extent = np.array([60.0, 25.0, 6.0][:d] if d < 3 else [12.0, 6.0, 6.0])
    X = np.ascontiguousarray(rng.random((600, d)) * extent)
    exact = ExactRepulsion().sums(X, kernel)
    grid = GridRepulsion(accuracy, n_jobs=1)
    possible = plans(X.min(axis=0), X.max(axis=0), kernel, accuracy)
    assert len(possible) > 4
    for plan in possible:
        value, gradient = grid._make(X, None, plan.kernel, plan.box).at_points(True)
        plan.add_close_pairs(X, None, value, gradient, accuracy, 1)
        force_error = np.linalg.norm(0.5 * gradient - exact.force) / np.linalg.norm(exact.force)
        value_error = np.linalg.norm(value - exact.value) / np.linalg.norm(exact.value)
        assert force_error <= accuracy
        assert value_error <= 0.5 * accuracy


def test_sparse_maps_are_summed_by_pairs_and_crowded_ones_by_the_grid():
    rng = np.random.default_rng(0)

    def chosen(X, kernel=STUDENT):
        return cheapest(plans(X.min(axis=0), X.max(axis=0), kernel, 0.1), X).kernel

    assert isinstance(chosen(rng.random((5000, 2)) * 400.0), TaperedKernel)
    assert chosen(rng.random((5000, 2)) * 5.0) == STUDENT
    assert chosen(rng.random((5000, 2)) * 400.0, GAUSSIAN) == GAUSSIAN
    far, near = (chosen(rng.random((20_000, 2)) * width) for width in (2000.0, 200.0))
    assert far.radius > near.radius


def test_a_map_without_extent():
    X = np.full((50, 2), 3.0)
    possible = plans(X[0], X[0], STUDENT, 0.1)
    assert isinstance(cheapest(possible, X), GridPlan)
