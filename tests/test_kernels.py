"""Kernels: K, K1, K2, K21 against mpmath, and the compiled sums for any shape against NumPy."""

from __future__ import annotations

import pickle

import mpmath
import numpy as np
import pytest

from closeknit.kernels import EPANECHNIKOV, EXPONENTIAL, GAUSSIAN, KERNELS, STUDENT, student
from closeknit.repulsion import ExactRepulsion

# What each kernel is, for mpmath.
FORMULAS = {
    "gaussian": (GAUSSIAN, lambda t: mpmath.exp(-t)),
    "gaussian squared": (GAUSSIAN.squared(), lambda t: mpmath.exp(-2 * t)),
    "student": (STUDENT, lambda t: 1 / (1 + t)),
    "student squared": (STUDENT.squared(), lambda t: 1 / (1 + t) ** 2),
    "student(0.5)": (student(0.5), lambda t: (1 + 2 * t) ** mpmath.mpf("-0.75")),
    "student(3)": (student(3.0), lambda t: (1 + t / 3) ** -2),
    "student(3) squared": (student(3.0).squared(), lambda t: (1 + t / 3) ** -4),
    "student(1e3)": (student(1e3), lambda t: (1 + t / 1000) ** mpmath.mpf("-500.5")),
}
each_formula = pytest.mark.parametrize(("kernel", "formula"), FORMULAS.values(), ids=FORMULAS)
TIMES = np.array([0.0, 1e-6, 0.3, 1.0, 7.0, 40.0])


@each_formula
def test_values_and_logarithmic_derivatives(kernel, formula):
    """K1 = (log K)', K2 = K''/K and K21 = (log K)'', by mpmath's derivatives."""
    with mpmath.workdps(40):
        at = [mpmath.mpf(t) for t in TIMES.tolist()]
        K = [formula(t) for t in at]
        K1 = [mpmath.diff(lambda t: mpmath.log(formula(t)), t) for t in at]
        K2 = [mpmath.diff(formula, t, 2) / formula(t) for t in at]
        K21 = [mpmath.diff(lambda t: mpmath.log(formula(t)), t, 2) for t in at]
    expected = {"K": K, "K1": K1, "K2": K2, "K21": K21}
    for name, values in expected.items():
        values = np.array([float(v) for v in values])
        got = getattr(kernel, name)(TIMES)
        scale = 1e-12 * max(1.0, np.abs(kernel.K1(TIMES) ** 2).max()) if name == "K21" else 1e-18
        np.testing.assert_allclose(got, values, rtol=1e-11, atol=scale, err_msg=name)


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [
        *FORMULAS.values(),
        (EPANECHNIKOV, lambda t: 1 - t),
        (EXPONENTIAL, lambda t: mpmath.exp(-mpmath.sqrt(t))),
    ],
    ids=[*FORMULAS, "epanechnikov", "exponential"],
)
def test_logarithm_and_elasticity(kernel, formula):
    """log K and d log K / d log t = t K'/K, which falls with t, by mpmath's derivatives."""
    times = np.array([1e-6, 0.3, 0.9, *([] if kernel == EPANECHNIKOV else [7.0, 40.0])])
    with mpmath.workdps(40):
        at = [mpmath.mpf(t) for t in times.tolist()]
        log = [float(mpmath.log(formula(t))) for t in at]
        elasticity = [float(t * mpmath.diff(formula, t) / formula(t)) for t in at]
        K2 = [float(mpmath.diff(formula, t, 2) / formula(t)) for t in at]
    np.testing.assert_allclose(kernel.log(times), log, rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(kernel.elasticity(times), elasticity, rtol=1e-12)
    np.testing.assert_allclose(kernel.K2(times), K2, rtol=1e-10, atol=1e-30)
    np.testing.assert_allclose(kernel.K(times), np.exp(log), rtol=1e-12)
    assert (np.diff(kernel.elasticity(np.geomspace(1e-9, 0.999, 50))) < 0.0).all()
    assert kernel.log(0.0) == 0.0
    assert kernel.elasticity(0.0) == 0.0


def test_outside_the_support_the_logarithm_is_minus_infinity():
    np.testing.assert_array_equal(EPANECHNIKOV.log([1.0, 2.0]), -np.inf)
    np.testing.assert_array_equal(EPANECHNIKOV.elasticity([1.0, 2.0]), 0.0)


@each_formula
def test_width(kernel, formula):
    """K ≈ 1 − (distance / width)² near 0."""
    r = 1e-3 * kernel.width
    np.testing.assert_allclose(1.0 - kernel.K(r**2), 1e-6, rtol=1e-5)


@each_formula
def test_nothing_is_beyond_its_reach(kernel, formula):
    if np.isfinite(kernel.reach):
        assert kernel.K(kernel.reach**2) < 3e-16
    else:
        assert not kernel.constant_attraction


@each_formula
def test_squared(kernel, formula):
    np.testing.assert_allclose(kernel.squared().K(TIMES), kernel.K(TIMES) ** 2, rtol=1e-13)
    assert kernel.squared() != kernel
    assert type(kernel.squared()) is type(kernel)


def test_many_degrees_of_freedom_are_a_gaussian():
    np.testing.assert_allclose(student(1e7).K(TIMES), np.exp(-TIMES / 2), rtol=1e-3)


def test_names():
    assert {name: kernel.name for name, kernel in KERNELS.items()} == {
        name: name for name in KERNELS
    }
    assert student(1.0) == STUDENT
    assert student(1) == STUDENT
    assert hash(student(1.0)) == hash(STUDENT)
    assert student(2.0) != STUDENT
    for kernel in (*KERNELS.values(), student(0.5), STUDENT.squared()):
        assert pickle.loads(pickle.dumps(kernel)) == kernel


@pytest.mark.parametrize("dof", [0.0, -1.0, np.inf, np.nan])
def test_bad_degrees_of_freedom(dof):
    with pytest.raises(ValueError, match=r"dof=.* must be positive and finite"):
        student(dof)


def test_epanechnikov_is_not_squared():
    with pytest.raises(TypeError, match="not offered squared"):
        EPANECHNIKOV.squared()


# Compiled sums for any scale and power


@each_formula
@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_exact_sums_of_any_kernel(kernel, formula, d):
    """Values, slopes, forces, curvatures and their product, over m ≠ n, with point weights."""
    rng = np.random.default_rng(d)
    n = 37
    X, V, w = rng.normal(size=(n, d)), rng.normal(size=(n, d)), rng.random(n)
    gap = X[:, None, :] - X[None, :, :]
    t = (gap**2).sum(axis=2)
    K = kernel.K(t) * w * (1.0 - np.eye(n))
    slope, bend = (K * kernel.K1(t))[:, :, None], (K * kernel.K2(t))[:, :, None]
    sums = ExactRepulsion(1).curvatures(X, kernel, w)
    pairs = {
        "value": (sums.value, K.sum(axis=1)),
        "slope": (sums.slope, slope.sum(axis=1)[:, 0]),
        "force": (sums.force, (slope * gap).sum(axis=1)),
        "curvature": (sums.curvature, (bend * gap**2).sum(axis=1)),
        "product": (
            ExactRepulsion(1).curvature_product(X, kernel, V, w),
            (bend * gap**2 * V[None]).sum(axis=1),
        ),
    }
    for name, (got, expected) in pairs.items():
        atol = 1e-12 * np.abs(expected).max()
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=atol, err_msg=name)
    first = ExactRepulsion(1).sums(X, kernel, w)
    np.testing.assert_allclose(first.force, sums.force, rtol=1e-12, atol=1e-13 * np.abs(K).max())
