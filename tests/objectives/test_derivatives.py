"""Every model's value, gradient and Hessian parts: dense formulas and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.kernels import EPANECHNIKOV, GAUSSIAN, KERNELS, STUDENT

NAMES = ["ee", "ee-weighted", "tee", "tee-weighted", "ssne", "tsne", "sne"]
NORMALIZED = ["ssne", "tsne", "sne"]
each_model = pytest.mark.parametrize("model", NAMES)
each_smooth = pytest.mark.parametrize("model", NAMES)

sizes = st.integers(2, 20)
dimensions = st.integers(1, 4)
lambdas = st.floats(0.0, 10.0)
seeds = st.integers(0, 2**16)
settled = settings(max_examples=25, deadline=None)


def relative_error(got, expected):
    """Largest error over the largest entry."""
    return np.abs(got - expected).max() / max(np.abs(expected).max(), 1e-300)


def assert_close(got, expected, scale=0.0, rtol=1e-6):
    """Relative error below `rtol`; `scale` is the size of terms that may cancel."""
    error = np.abs(np.asarray(got) - expected).max()
    assert error <= rtol * max(np.abs(expected).max(), 1e-3 * scale), (error, scale)


def differences(function, X, h=1e-3):
    """Sixth-order central differences of `function` by every entry of X, stacked in front."""
    out = []
    for index in np.ndindex(X.shape):
        E = np.zeros_like(X)
        E[index] = h
        out.append(
            (
                45.0 * (function(X + E) - function(X - E))
                - 9.0 * (function(X + 2 * E) - function(X - 2 * E))
                + (function(X + 3 * E) - function(X - 3 * E))
            )
            / (60.0 * h)
        )
    return np.array(out)


# The kernels


@pytest.mark.parametrize("kernel", list(KERNELS.values()), ids=list(KERNELS))
def test_kernels_against_mpmath(kernel):
    """K1 = (log K)', K2 = K''/K and K21 = (log K)'' of K itself, by mpmath's differentiation."""
    mpmath = pytest.importorskip("mpmath")
    K = {
        "gaussian": lambda t: mpmath.exp(-t),
        "student": lambda t: 1 / (1 + t),
        "epanechnikov": lambda t: 1 - t,
    }[kernel.name]
    t = np.array([0.01, 0.3, 0.77, 0.98])
    if kernel is not EPANECHNIKOV:
        t = np.append(t, [1.5, 7.0, 40.0])
    with mpmath.workdps(40):

        def exact(function):
            return [float(function(mpmath.mpf(x))) for x in t.tolist()]

        def log_K(x):
            return mpmath.log(K(x))

        np.testing.assert_allclose(kernel.K(t), exact(K), rtol=1e-14)
        np.testing.assert_allclose(kernel.K1(t), exact(lambda x: mpmath.diff(log_K, x)), rtol=1e-12)
        np.testing.assert_allclose(
            kernel.K2(t), exact(lambda x: mpmath.diff(K, x, 2) / K(x)), rtol=1e-12, atol=1e-13
        )
        np.testing.assert_allclose(
            kernel.K21(t), exact(lambda x: mpmath.diff(log_K, x, 2)), rtol=1e-12, atol=1e-13
        )


@pytest.mark.parametrize("kernel", list(KERNELS.values()), ids=list(KERNELS))
def test_kernels_against_finite_differences(kernel):
    t, h = np.linspace(0.05, 0.9, 12), 1e-4

    def log_K(t):
        return np.log(kernel.K(t))

    np.testing.assert_allclose(kernel.K1(t), (log_K(t + h) - log_K(t - h)) / (2 * h), rtol=1e-5)
    np.testing.assert_allclose(
        kernel.K21(t), (kernel.K1(t + h) - kernel.K1(t - h)) / (2 * h), rtol=1e-5, atol=1e-10
    )
    np.testing.assert_allclose(kernel.K21(t), kernel.K2(t) - kernel.K1(t) ** 2, atol=1e-12)


def test_kernels_as_the_paper_lists_them():
    """Gaussian: K1 = −1, K2 = 1, K21 = 0; Student: K1 = −K, K2 = 2K², K21 = K² (section 2)."""
    t = np.linspace(0.0, 30.0, 7)
    np.testing.assert_array_equal(GAUSSIAN.K1(t), -1.0)
    np.testing.assert_array_equal(GAUSSIAN.K2(t), 1.0)
    np.testing.assert_array_equal(GAUSSIAN.K21(t), 0.0)
    K = 1 / (1 + t)
    np.testing.assert_allclose(STUDENT.K1(t), -K)
    np.testing.assert_allclose(STUDENT.K2(t), 2 * K**2)
    np.testing.assert_allclose(STUDENT.K21(t), K**2)
    np.testing.assert_array_equal(EPANECHNIKOV.K2(t), 0.0)


@pytest.mark.parametrize("kernel", list(KERNELS.values()), ids=list(KERNELS))
def test_kernels_take_numbers_and_any_shape(kernel):
    for t in (0.5, [0.5], np.full((2, 3), 0.5)):
        for function in (kernel.K, kernel.K1, kernel.K2, kernel.K21):
            assert np.shape(function(t)) == np.shape(t)
            assert np.isfinite(function(t)).all()


def test_epanechnikov_is_flat_beyond_one():
    t = np.array([1.0, 1.5, 100.0])
    for function in (EPANECHNIKOV.K, EPANECHNIKOV.K1, EPANECHNIKOV.K2):
        np.testing.assert_array_equal(function(t), 0.0)


# Value


@each_model
@settled
@given(n=sizes, d=dimensions, lam=lambdas, seed=seeds)
def test_value_is_the_table_s(problem, model, n, d, lam, seed):
    """E⁺ + λE⁻ as MATH.md's table has it, summed over all ordered pairs n ≠ m."""
    p = problem(model, n, d, seed)
    expected = p.dense.value(p.X, lam)
    scale = max(abs(expected), abs(p.dense.value(p.X, 0.0)) + lam)
    # Sums 1 + t are rounded before their logarithm is taken, however small t is.
    allowed = 1e-12 * scale + np.finfo(float).eps * p.P.sum()
    assert abs(p.objective.value(p.X, lam) - expected) <= allowed
    assert abs(p.objective.value_and_gradient(p.X, lam)[0] - expected) <= allowed
    assert p.objective.at(lam).value(p.X) == p.objective.value(p.X, lam)


@each_model
def test_value_counts_ordered_pairs(problem, model):
    """Two points at distance 1: every unordered pair is counted twice."""
    p = problem(model, 2, 1)
    X = np.array([[0.0], [1.0]])
    plus = np.log(2.0) if model in ("tee", "tee-weighted", "tsne") else 1.0
    expected = p.P.sum() * plus
    assert p.objective.value(X, 0.0) == pytest.approx(expected, rel=1e-14)


@each_model
@settled
@given(n=sizes, d=dimensions, lam=lambdas, seed=seeds)
def test_value_knows_distances_only(problem, model, n, d, lam, seed):
    """E is invariant to shifts and rotations."""
    p = problem(model, n, d, seed)
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(d, d)))
    shift = rng.normal(size=d)
    value, gradient = p.objective.value_and_gradient(p.X, lam)
    moved, turned = p.objective.value_and_gradient(p.X @ rotation + shift, lam)
    scale = abs(p.dense.value(p.X, 0.0)) + 10 * lam
    assert abs(moved - value) <= 1e-12 * max(scale, abs(value))
    np.testing.assert_allclose(turned, gradient @ rotation, atol=1e-10 * scale)


@pytest.mark.parametrize("model", NORMALIZED)
@settled
@given(n=sizes, d=dimensions, seed=seeds)
def test_kl_divergence_is_the_value_less_the_entropy(problem, model, n, d, seed):
    """KL(P‖Q) = E − H(P) ≥ 0 at λ = 1; for SNE the sum of the rows' divergences."""
    p = problem(model, n, d, seed)
    t = np.square(p.X[:, None] - p.X[None]).sum(axis=2)
    K = p.dense.kernel.K(t)
    np.fill_diagonal(K, 0.0)
    Q = K / K.sum(axis=1, keepdims=True) if model == "sne" else K / K.sum()
    some = p.P > 0.0
    kl = (p.P[some] * np.log(p.P[some] / Q[some])).sum()
    got = p.objective.value(p.X, 1.0) - p.objective.entropy
    assert got == pytest.approx(kl, rel=1e-9, abs=1e-12 * n)
    assert got >= -1e-12 * n


@pytest.mark.parametrize("model", NORMALIZED)
def test_kl_divergence_is_zero_where_q_is_p(models, model):
    """Affinities that are the embedding's own Q: nothing is lost, and the gradient is zero."""
    X = np.random.default_rng(0).normal(size=(15, 2))
    t = np.square(X[:, None] - X[None]).sum(axis=2)
    K = 1 / (1 + t) if model == "tsne" else np.exp(-t)
    np.fill_diagonal(K, 0.0)
    objective = models[model](K)
    value, gradient = objective.value_and_gradient(X, 1.0)
    assert value - objective.entropy == pytest.approx(0.0, abs=1e-13)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-14)


@pytest.mark.parametrize("model", ["ssne", "tsne"])
def test_entropy_survives_the_smallest_affinities(models, model):
    """Dense entropic affinities reach down to subnormal numbers; p log p of those is 0, not NaN."""
    P = np.full((3, 3), 2.0)
    P[0, 2] = P[2, 0] = 5e-324
    np.fill_diagonal(P, 0.0)
    objective = models[model](P)
    assert objective.entropy == pytest.approx(np.log(4.0), rel=1e-12)
    assert np.isfinite(objective.value(np.random.default_rng(0).normal(size=(3, 2)), 1.0))


# Gradient


@each_model
@settled
@given(n=sizes, d=dimensions, lam=lambdas, seed=seeds)
def test_gradient_is_4LX(problem, model, n, d, lam, seed):
    """Eqs. (2) and (3): ∇E = 4 L X with the weights w = −K1 (p − λq)."""
    p = problem(model, n, d, seed)
    expected = p.dense.gradient(p.X, lam)
    got = p.objective.value_and_gradient(p.X, lam)[1]
    assert_close(got, expected, np.abs(p.dense.gradient(p.X, 0.0)).max(), rtol=1e-10)


@each_smooth
@settled
@given(n=st.integers(2, 10), d=dimensions, lam=lambdas, seed=seeds)
def test_gradient_against_finite_differences(problem, model, n, d, lam, seed):
    p = problem(model, n, d, seed)
    got = p.objective.value_and_gradient(p.X, lam)[1]
    slopes = differences(lambda X: p.objective.value(X, lam), p.X).reshape(p.X.shape)
    assert_close(got, slopes, np.abs(p.dense.gradient(p.X, 0.0)).max())


@each_model
def test_gradient_of_each_component_sums_to_zero(problem, model):
    """A shift changes nothing, so forces balance."""
    p = problem(model, 20, 3)
    gradient = p.objective.value_and_gradient(p.X, 2.0)[1]
    np.testing.assert_allclose(gradient.sum(axis=0), 0.0, atol=1e-12 * np.abs(gradient).sum())


# Hessian


@each_model
@settled
@given(n=sizes, d=dimensions, lam=lambdas, seed=seeds)
def test_hessian_diagonal_is_the_dense_formula_s(problem, model, n, d, lam, seed):
    """4 L⊗I + 8 L^xx − 16λ vec(L^q X) vec(L^q X)ᵀ, its diagonal."""
    p = problem(model, n, d, seed)
    H = p.dense.hessian(p.X, lam)
    size = n * d
    expected = H.reshape(size, size).diagonal().reshape(n, d)
    got = p.objective.at(lam).hessian_diagonal(p.X)
    assert got.shape == (n, d)
    attractive = p.dense.hessian(p.X, 0.0).reshape(size, size).diagonal()
    assert_close(got, expected, np.abs(attractive).max(), rtol=1e-10)


@each_smooth
@settled
@given(n=st.integers(2, 10), d=dimensions, lam=lambdas, seed=seeds)
def test_hessian_diagonal_against_finite_differences_of_the_gradient(
    problem, model, n, d, lam, seed
):
    p = problem(model, n, d, seed)
    H = differences(lambda X: p.objective.value_and_gradient(X, lam)[1], p.X)
    diagonal = H.reshape(n * d, n * d).diagonal().reshape(n, d)
    attractive = p.dense.hessian(p.X, 0.0).reshape(n * d, n * d).diagonal()
    got = p.objective.at(lam).hessian_diagonal(p.X)
    assert_close(got, diagonal, np.abs(attractive).max())


@each_smooth
@settled
@given(n=st.integers(3, 8), d=st.integers(1, 3), lam=lambdas, seed=seeds)
def test_dense_hessian_against_finite_differences_of_the_gradient(problem, model, n, d, lam, seed):
    """The twin's whole Hessian, so that its parts below are those of the model.

    Of two points, P and Q are one and the same: normalised models have no curvature at λ = 1, and
    differences would show nothing but rounding.
    """
    p = problem(model, n, d, seed)
    H = differences(lambda X: p.objective.value_and_gradient(X, lam)[1], p.X)
    expected = p.dense.hessian(p.X, lam).reshape(n * d, n * d)
    scale = np.abs(p.dense.hessian(p.X, 0.0)).max()
    assert_close(H.reshape(n * d, n * d), expected, scale)


@each_model
@settled
@given(n=sizes, d=dimensions, lam=lambdas, seed=seeds)
def test_blocks_are_8_lambda_Lxx(problem, model, n, d, lam, seed):
    """V → 8λ L^xx_{i·,i·} V with the repulsive weights K2 q (x_in − x_im)²."""
    p = problem(model, n, d, seed)
    V = np.random.default_rng(seed).normal(size=(n, d))
    got = p.objective.at(lam).repulsive_curvature(p.X)(V)
    expected = p.dense.blocks(p.X, lam, V)
    scale = np.abs(p.dense.blocks(p.X, lam, np.eye(n)[:, :1].repeat(d, axis=1))).max()
    assert got.shape == (n, d)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12 * max(scale, 1e-300))


@each_model
@settled
@given(n=st.integers(2, 12), d=dimensions, lam=st.floats(0.01, 10.0), seed=seeds)
def test_blocks_are_symmetric_and_positive_semidefinite(problem, model, n, d, lam, seed):
    """Each component's n × n block, built column by column; other components are not mixed in."""
    p = problem(model, n, d, seed)
    product = p.objective.at(lam).repulsive_curvature(p.X)
    for i in range(d):
        B = np.empty((n, n))
        for m in range(n):
            V = np.zeros((n, d))
            V[m, i] = 1.0
            out = product(V)
            B[:, m] = out[:, i]
            assert (np.delete(out, i, axis=1) == 0.0).all()
        size = np.abs(B).max()
        np.testing.assert_allclose(B, B.T, atol=1e-12 * size)
        assert np.linalg.eigvalsh((B + B.T) / 2).min() >= -1e-12 * size
        np.testing.assert_allclose(B.sum(axis=1), 0.0, atol=1e-11 * size)


@each_model
def test_blocks_forget_nothing_between_products(problem, model):
    """One call to repulsive_curvature serves many products, in any order."""
    p = problem(model, 12, 2)
    V = np.random.default_rng(1).normal(size=(3, 12, 2))
    product = p.objective.at(2.0).repulsive_curvature(p.X)
    first = [product(v) for v in V]
    for v, expected in zip(V[::-1], first[::-1], strict=True):
        np.testing.assert_array_equal(product(v), expected)


@each_model
@settled
@given(n=sizes, d=dimensions, seed=seeds)
def test_attractive_weights_are_minus_K1_p(problem, model, n, d, seed):
    """L⁺ has the weights −K1 p: constant for the Gaussian kernel, p K for Student's."""
    p = problem(model, n, d, seed)
    t = np.square(p.X[:, None] - p.X[None]).sum(axis=2)
    P = (p.P + p.P.T) / 2
    expected = P / (1 + t) if p.dense.kernel is STUDENT else P
    W = p.objective.at(1.0).attractive_weights(p.X)
    np.testing.assert_allclose(W.toarray(), expected, rtol=1e-12)
    if p.dense.kernel is not STUDENT:
        assert p.objective.at(1.0).attractive_weights(p.X + 1.0) is W


@pytest.mark.parametrize("model", [name for name in NAMES if not name.startswith("t")])
def test_without_repulsion_the_hessian_of_gaussian_models_is_constant(problem, model):
    """λ = 0: ∇²E = 4 L⁺ ⊗ I, the spectral method's."""
    p = problem(model, 15, 2)
    P = (p.P + p.P.T) / 2
    expected = np.repeat(4.0 * P.sum(axis=1)[:, None], 2, axis=1)
    np.testing.assert_allclose(p.objective.at(0.0).hessian_diagonal(p.X), expected, rtol=1e-12)
    product = p.objective.at(0.0).repulsive_curvature(p.X)
    np.testing.assert_array_equal(product(p.X), 0.0)


# Hard places


@each_model
def test_coinciding_points_are_finite(problem, model):
    p = problem(model, 12, 2)
    X = np.zeros((12, 2))
    at = p.objective.at(1.0)
    value, gradient = at.value_and_gradient(X)
    assert np.isfinite(value)
    np.testing.assert_array_equal(gradient, 0.0)
    assert np.isfinite(at.hessian_diagonal(X)).all()
    np.testing.assert_array_equal(at.repulsive_curvature(X)(np.ones((12, 2))), 0.0)


@each_model
@pytest.mark.parametrize("scale", [1e-8, 1.0, 5.0])
def test_same_bits_for_any_number_of_threads(problem, models, model, scale):
    p = problem(model, 20, 2)
    rng = np.random.default_rng(0)
    n = 1500
    rows = rng.integers(0, n, (2, 6000))
    A = np.zeros((n, n))
    A[rows[0], rows[1]] = rng.random(6000)
    A = A + A.T
    np.fill_diagonal(A, 0.0)
    X = scale * rng.normal(size=(n, 2))
    options = {}
    if p.W is not None:
        W = rng.random((n, n))
        options["repulsive_weights"] = W + W.T
    values, gradients = zip(
        *(models[model](A, n_jobs=j, **options).value_and_gradient(X, 1.0) for j in (1, 2)),
        strict=True,
    )
    assert values[0] == values[1]
    assert gradients[0].tobytes() == gradients[1].tobytes()


@each_model
def test_positions_stay_as_they_are(problem, model):
    p = problem(model, 12, 2)
    X = p.X.copy()
    X.setflags(write=False)
    at = p.objective.at(1.5)
    at.value(X)
    at.value_and_gradient(X)
    at.hessian_diagonal(X)
    at.repulsive_curvature(X)(X)
    at.attractive_weights(X)
    np.testing.assert_array_equal(X, p.X)


@each_model
def test_layout_and_dtype_of_positions_do_not_matter(problem, model):
    p = problem(model, 12, 3)
    X = p.X.astype(np.float32)
    at = p.objective.at(1.5)
    exact = X.astype(np.float64)
    value, gradient = at.value_and_gradient(exact)
    for other in (X, np.asfortranarray(exact)):
        assert at.value(other) == value
        np.testing.assert_array_equal(at.value_and_gradient(other)[1], gradient)
        np.testing.assert_array_equal(at.hessian_diagonal(other), at.hessian_diagonal(exact))
        np.testing.assert_array_equal(
            at.attractive_weights(other).toarray(), at.attractive_weights(exact).toarray()
        )
