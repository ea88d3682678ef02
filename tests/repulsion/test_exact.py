"""ExactRepulsion against dense NumPy: the sums over all pairs m ≠ n that every objective needs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.kernels import EPANECHNIKOV, GAUSSIAN, KERNELS, STUDENT
from closeknit.repulsion import ExactRepulsion, PairSums

SIZES = [1, 2, 3, 4, 5, 8, 9, 100]  # around the edges of vectors of four and of blocks of eight
DIMENSIONS = [1, 2, 3, 5, 10]
each_kernel = pytest.mark.parametrize("kernel", list(KERNELS.values()), ids=list(KERNELS))

DERIVATIVES = {
    "gaussian": (
        lambda t: np.exp(-t),
        lambda t: -np.exp(-t),
        lambda t: np.exp(-t),
    ),
    "student": (
        lambda t: 1 / (1 + t),
        lambda t: -1 / (1 + t) ** 2,
        lambda t: 2 / (1 + t) ** 3,
    ),
    "epanechnikov": (
        lambda t: np.where(t < 1, 1 - t, 0.0),
        lambda t: np.where(t < 1, -1.0, 0.0),
        lambda t: np.zeros_like(t),
    ),
}


class Twin:
    """Sums of w K, w K', w K' (x_n − x_m) and w K'' (x_n − x_m)², with n × n × d arrays."""

    def __init__(self, X, kernel, *, point_weights=None, pair_weights=None, queries=None):
        same = queries is None
        self.gap = (X if same else queries)[:, None, :] - X[None, :, :]
        t = (self.gap**2).sum(axis=2)
        weights = np.ones_like(t) if pair_weights is None else pair_weights.copy()
        if point_weights is not None:
            weights = weights * point_weights[None, :]
        if same:
            np.fill_diagonal(weights, 0.0)
        self.k, self.k1, self.k2 = (weights * f(t) for f in DERIVATIVES[kernel.name])

    @property
    def value(self):
        return self.k.sum(axis=1)

    @property
    def slope(self):
        return self.k1.sum(axis=1)

    @property
    def force(self):
        return (self.k1[:, :, None] * self.gap).sum(axis=1)

    @property
    def curvature(self):
        return (self.k2[:, :, None] * self.gap**2).sum(axis=1)

    def product(self, V):
        return (self.k2[:, :, None] * self.gap**2 * V[None, :, :]).sum(axis=1)


def points(n, d, seed=0):
    """Points whose squared distances lie on both sides of 1 in any dimension."""
    return np.random.default_rng([seed, n, d]).normal(scale=0.7 / np.sqrt(d), size=(n, d))


def close(got, expected, scale=None):
    """Equal up to rounding in a sum: relative to the largest term if terms cancel."""
    scale = np.abs(expected).max(initial=0.0) if scale is None else scale
    np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14 * scale)


def check_all(repulsion, X, kernel, twin, V, point_weights=None):
    if point_weights is None:
        close(repulsion.values(X, kernel), twin.value)
    sums = repulsion.sums(X, kernel, point_weights)
    close(sums.value, twin.value)
    close(sums.force, twin.force)
    sums = repulsion.curvatures(X, kernel, point_weights)
    close(sums.value, twin.value)
    close(sums.slope, twin.slope)
    close(sums.force, twin.force)
    close(sums.curvature, twin.curvature)
    product = repulsion.curvature_product(X, kernel, V, point_weights)
    close(product, twin.product(V), np.abs(V).max() * np.abs(twin.curvature).max(initial=0.0))


@each_kernel
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("n", SIZES)
def test_sums_are_those_of_the_dense_twin(kernel, n, d):
    """Σ K, Σ K', Σ K'(x_n − x_m), Σ K''(x_n − x_m)² and its product with V, over m ≠ n."""
    X, V = points(n, d), np.random.default_rng(1).normal(size=(n, d))
    check_all(ExactRepulsion(1), X, kernel, Twin(X, kernel), V)


@each_kernel
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("n", SIZES)
def test_point_and_pair_weights_multiply_the_terms(kernel, n, d):
    """w_m of `point_weights`, w_nm of `pair_weights`; a point is no pair with itself."""
    rng = np.random.default_rng(2)
    X, V = points(n, d), rng.normal(size=(n, d))
    w_points, w_pairs = rng.random(n), rng.random((n, n))
    twin = Twin(X, kernel, point_weights=w_points)
    check_all(ExactRepulsion(1), X, kernel, twin, V, w_points)
    twin = Twin(X, kernel, pair_weights=w_pairs)
    check_all(ExactRepulsion(1, w_pairs), X, kernel, twin, V)
    twin = Twin(X, kernel, point_weights=w_points, pair_weights=w_pairs)
    check_all(ExactRepulsion(1, w_pairs), X, kernel, twin, V, w_points)


@each_kernel
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("n", SIZES)
def test_cross_sums_are_over_all_points(kernel, n, d):
    """Queries are not among the points, even when one lies on a point."""
    X = points(n, d)
    queries = np.vstack([points(5, d, seed=3), X[:1]])
    twin = Twin(X, kernel, queries=queries)
    sums = ExactRepulsion(1).cross_sums(queries, X, kernel)
    close(sums.value, twin.value)
    close(sums.force, twin.force)
    assert sums.value[-1] >= 1.0


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 12),
    st.sampled_from(list(KERNELS.values())),
    st.floats(-3, 3),
    st.integers(0, 2**16),
)
def test_any_shape_and_scale(n, d, kernel, exponent, seed):
    """The twin's sums at any n, d and scale of the embedding."""
    rng = np.random.default_rng(seed)
    X, V = 10.0**exponent * rng.normal(size=(n, d)), rng.normal(size=(n, d))
    twin = Twin(X, kernel)
    sums = ExactRepulsion(2).curvatures(X, kernel)
    # exp(−t) of a rounded t is off by t roundings, and underflows to no digits at all.
    # A t within rounding of 1 may fall on either side of Epanechnikov's edge.
    rtol = 1e-12
    tiny = 1e-300 * (1.0 + np.square(X).max())
    for got, expected in (
        (sums.value, twin.value),
        (sums.slope, twin.slope),
        (sums.force, twin.force),
        (sums.curvature, twin.curvature),
        (ExactRepulsion(2).curvature_product(X, kernel, V), twin.product(V)),
    ):
        scale = np.abs(expected).max(initial=0.0)
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e-12 * scale + tiny)


# Accuracy


def test_tiny_gaussian_sums_keep_their_digits():
    """Σ K ≈ 1e-30: the own term, 1, is never added and so leaves no rounding."""
    side = np.sqrt(30 * np.log(10.0))
    X = side * np.stack(np.divmod(np.arange(9), 3), axis=1).astype(float)
    value = ExactRepulsion().values(X, GAUSSIAN)
    assert 1e-30 < value.min() < value.max() < 1e-29
    twin = Twin(X, GAUSSIAN)
    np.testing.assert_allclose(value, twin.value, rtol=1e-12)
    sums = ExactRepulsion().curvatures(X, GAUSSIAN)
    np.testing.assert_allclose(sums.slope, twin.slope, rtol=1e-12)
    np.testing.assert_allclose(sums.curvature, twin.curvature, rtol=1e-12)
    np.testing.assert_allclose(sums.force, twin.force, rtol=1e-12, atol=1e-42)


def test_tiny_gaussian_values_against_mpmath():
    """exp(−t) of the core is good to a rounding of t, down to 2^-1000 (elementary.h)."""
    mpmath = pytest.importorskip("mpmath")
    t = np.array([1e-12, 1e-3, 0.5, 1.0, 30.0, 69.0, 300.0, 690.0])
    X = np.zeros((1, 1))
    value = ExactRepulsion().cross_sums(np.sqrt(t)[:, None], X, GAUSSIAN).value
    exact = [float(mpmath.exp(-(mpmath.mpf(x) ** 2))) for x in np.sqrt(t).tolist()]
    # A relative rounding of t is an absolute one of log K.
    assert (np.abs(value / exact - 1.0) <= 2.0 * np.finfo(float).eps * (1.0 + t)).all()


def test_tiny_student_sums_keep_their_digits():
    """Distances of 1e15: Σ K ≈ 1e-30."""
    X = 1e15 * np.stack(np.divmod(np.arange(9), 3), axis=1).astype(float)
    sums, twin = ExactRepulsion().curvatures(X, STUDENT), Twin(X, STUDENT)
    np.testing.assert_allclose(sums.value, twin.value, rtol=1e-13)
    np.testing.assert_allclose(sums.slope, twin.slope, rtol=1e-13)
    np.testing.assert_allclose(sums.force, twin.force, rtol=1e-13, atol=1e-57)
    np.testing.assert_allclose(sums.curvature, twin.curvature, rtol=1e-13)


@each_kernel
def test_points_beyond_all_reach_are_finite(kernel):
    """Distances whose squares overflow contribute nothing, not NaN."""
    X = np.array([[0.0, 0.0], [1e200, 0.0], [0.0, -1e200], [0.5, 0.0]])
    sums = ExactRepulsion().curvatures(X, kernel)
    for part in (sums.value, sums.slope, sums.force, sums.curvature):
        assert np.isfinite(part).all()
    pair = ExactRepulsion().curvatures(X[[0, 3]], kernel)
    np.testing.assert_allclose(sums.value[[0, 3]], pair.value, rtol=1e-15)
    np.testing.assert_allclose(sums.force[[0, 3]], pair.force, rtol=1e-15)


@each_kernel
def test_coinciding_points_feel_the_full_kernel_and_no_force(kernel):
    X = np.ones((6, 2))
    sums = ExactRepulsion().curvatures(X, kernel)
    np.testing.assert_array_equal(sums.value, 5.0)
    np.testing.assert_array_equal(sums.slope, 5.0 * DERIVATIVES[kernel.name][1](np.zeros(1))[0])
    np.testing.assert_array_equal(sums.force, 0.0)
    np.testing.assert_array_equal(sums.curvature, 0.0)


def test_epanechnikov_reaches_to_one():
    """Beyond ‖x − y‖ = 1 there is no repulsion at all."""
    X = np.array([[0.0], [0.5], [1.6]])
    sums = ExactRepulsion().curvatures(X, EPANECHNIKOV)
    np.testing.assert_allclose(sums.value, [0.75, 0.75, 0.0])
    np.testing.assert_allclose(sums.slope, [-1.0, -1.0, 0.0])
    np.testing.assert_allclose(sums.force, [[0.5], [-0.5], [0.0]])


@each_kernel
def test_forces_balance(kernel):
    """Every action has its reaction: Σ_n Σ_m K'(x_n − x_m) = 0."""
    X = points(100, 3)
    force = ExactRepulsion().sums(X, kernel).force
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-13 * np.abs(force).sum())


# Promises


@each_kernel
@pytest.mark.parametrize("d", [2, 5])
def test_same_bits_for_any_number_of_threads(kernel, d):
    n = 333
    rng = np.random.default_rng(4)
    X, V, w = points(n, d), rng.normal(size=(n, d)), rng.random(n)
    pair = rng.random((n, n))
    results = []
    for n_jobs in (1, 2, 3):
        repulsion = ExactRepulsion(n_jobs)
        sums, cross = repulsion.curvatures(X, kernel, w), repulsion.cross_sums(V, X, kernel)
        weighted = ExactRepulsion(n_jobs, pair).sums(X, kernel)
        parts = [
            repulsion.values(X, kernel),
            *(sums.value, sums.slope, sums.force, sums.curvature),
            *(cross.value, cross.force),
            *(weighted.value, weighted.force),
            repulsion.curvature_product(X, kernel, V),
        ]
        results.append(b"".join(part.tobytes() for part in parts))
    assert results[0] == results[1] == results[2]


@each_kernel
def test_inputs_stay_as_they_are(kernel):
    """Read-only arrays will do, and nothing is written to."""
    n, d = 20, 2
    rng = np.random.default_rng(5)
    inputs = {
        "X": points(n, d),
        "V": rng.normal(size=(n, d)),
        "queries": rng.normal(size=(3, d)),
        "point_weights": rng.random(n),
        "pair_weights": rng.random((n, n)),
    }
    copies = {name: array.copy() for name, array in inputs.items()}
    for array in inputs.values():
        array.setflags(write=False)
    repulsion = ExactRepulsion(2, inputs["pair_weights"])
    repulsion.values(inputs["X"], kernel)
    repulsion.curvatures(inputs["X"], kernel, inputs["point_weights"])
    repulsion.curvature_product(inputs["X"], kernel, inputs["V"], inputs["point_weights"])
    ExactRepulsion(2).cross_sums(inputs["queries"], inputs["X"], kernel)
    for name, array in inputs.items():
        np.testing.assert_array_equal(array, copies[name], err_msg=name)


def test_any_layout_and_dtype():
    """Fortran order, strides, float32, lists and integers give what a plain array gives."""
    X = points(20, 3).astype(np.float32).astype(np.float64)
    expected = ExactRepulsion().sums(X, STUDENT)
    strided = np.zeros((40, 6))
    strided[::2, ::2] = X
    for other in (np.asfortranarray(X), strided[::2, ::2], X.astype(np.float32), X.tolist()):
        got = ExactRepulsion().sums(other, STUDENT)
        np.testing.assert_array_equal(got.value, expected.value)
        np.testing.assert_array_equal(got.force, expected.force)
    V = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    np.testing.assert_array_equal(
        ExactRepulsion().curvature_product(X, STUDENT, V),
        ExactRepulsion().curvature_product(X, STUDENT, V.astype(np.float64)),
    )
    w = np.random.default_rng(0).random((20, 20))
    np.testing.assert_array_equal(
        ExactRepulsion(1, np.asfortranarray(w)).values(X, STUDENT),
        ExactRepulsion(1, w).values(X, STUDENT),
    )


def test_results_are_frozen():
    sums = ExactRepulsion().sums(points(5, 2), GAUSSIAN)
    assert isinstance(sums, PairSums)
    with pytest.raises(AttributeError):
        sums.value = None
    with pytest.raises(AttributeError):
        ExactRepulsion().n_jobs = 3


# Arrays that do not fit together: the core reads plain memory, so these must not get there.


@pytest.mark.parametrize("shape", [(19, 19), (20, 19), (1, 20)])
def test_pair_weights_of_another_size(shape):
    repulsion = ExactRepulsion(1, np.ones(shape))
    with pytest.raises((ValueError, TypeError), match="weights and vectors must match"):
        repulsion.values(points(20, 2), GAUSSIAN)


def test_pair_weights_do_not_fit_queries():
    repulsion = ExactRepulsion(1, np.ones((20, 20)))
    with pytest.raises((ValueError, TypeError), match="weights and vectors must match"):
        repulsion.cross_sums(points(30, 2), points(20, 2), GAUSSIAN)


def test_point_weights_of_another_size():
    with pytest.raises((ValueError, TypeError), match="weights and vectors must match"):
        ExactRepulsion(1).sums(points(20, 2), GAUSSIAN, np.ones(19))


@pytest.mark.parametrize("shape", [(19, 2), (20, 1)])
def test_vectors_of_another_size(shape):
    with pytest.raises((ValueError, TypeError), match="weights and vectors must match"):
        ExactRepulsion(1).curvature_product(points(20, 2), GAUSSIAN, np.ones(shape))


def test_queries_of_another_dimension():
    with pytest.raises((ValueError, TypeError), match=r"queries|components|dimension"):
        ExactRepulsion(1).cross_sums(points(5, 3), points(20, 2), GAUSSIAN)
