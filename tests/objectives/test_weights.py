"""What objectives accept as affinities and repulsive weights, and what they say otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from closeknit import objectives
from closeknit.linalg.csr import check_symmetric
from closeknit.repulsion import ExactRepulsion, GridRepulsion

SYMMETRIC = [
    objectives.ElasticEmbedding,
    objectives.TElasticEmbedding,
    objectives.SymmetricSNE,
    objectives.TSNE,
]
UNNORMALIZED = SYMMETRIC[:2]
MODELS = [*SYMMETRIC, objectives.SNE]
each_model = pytest.mark.parametrize("model", MODELS)
each_symmetric = pytest.mark.parametrize("model", SYMMETRIC)
each_unnormalized = pytest.mark.parametrize("model", UNNORMALIZED)
FORMATS = {
    "list": lambda W: W.tolist(),
    "float32": lambda W: W.astype(np.float32),
    "fortran": np.asfortranarray,
    "csr": sparse.csr_matrix,
    "csc": sparse.csc_matrix,
    "coo": sparse.coo_matrix,
    "csr_array": sparse.csr_array,
}


def affinities(n=10, seed=0):
    """Symmetric, with entries that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    W = np.round(256 * rng.random((n, n))) / 256 * (rng.random((n, n)) < 0.5)
    W[np.arange(n), (np.arange(n) + 1) % n] += 0.25
    W = W + W.T
    np.fill_diagonal(W, 0.0)
    return W


def sentence(error):
    """The message, once it is sure to be one short sentence for people."""
    message = str(error.value)
    assert 10 < len(message) < 250
    assert "\n" not in message
    return message


X = np.random.default_rng(7).normal(size=(10, 2))


# What is accepted


@each_model
@pytest.mark.parametrize("make", list(FORMATS.values()), ids=list(FORMATS))
def test_dense_and_sparse_affinities_give_the_same(model, make):
    W = affinities()
    expected = model(W).value_and_gradient(X, 1.5)
    got = model(make(W)).value_and_gradient(X, 1.5)
    assert got[0] == pytest.approx(expected[0], rel=1e-14)
    np.testing.assert_allclose(got[1], expected[1], rtol=1e-12, atol=1e-14)


@each_model
def test_unsorted_and_doubled_entries_give_the_same(model):
    """A CSR matrix that is not canonical stands for the sum of its entries."""
    W = sparse.coo_matrix(affinities())
    order = np.random.default_rng(0).permutation(2 * W.nnz)
    rows, columns = np.tile(W.row, 2)[order], np.tile(W.col, 2)[order]
    halves = np.tile(W.data / 2, 2)[order]
    messy = sparse.csr_matrix((10, 10))
    by_row = np.argsort(rows, kind="stable")
    messy.data, messy.indices = halves[by_row], columns[by_row].astype(np.int32)
    messy.indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=10))]).astype(
        np.int32
    )
    messy.has_canonical_format = messy.has_sorted_indices = False
    value, gradient = model(messy).value_and_gradient(X, 1.5)
    expected = model(affinities()).value_and_gradient(X, 1.5)
    assert value == pytest.approx(expected[0], rel=1e-14)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-14)
    if hasattr(model, "entropy"):
        assert model(messy).entropy == pytest.approx(model(affinities()).entropy, rel=1e-12)


@each_model
def test_stored_zeros_do_not_matter(model):
    W = sparse.csr_matrix(affinities())
    W.data[:4] = 0.0
    W = W.multiply(W.T > 0).tocsr()
    full = sparse.csr_matrix(np.ones((10, 10)))
    full.data[:] = W.toarray().ravel()
    assert model(full).value(X, 1.0) == pytest.approx(model(W.toarray()).value(X, 1.0), rel=1e-14)
    assert model(full).weights.nnz == (W.toarray() > 0).sum()


@each_model
def test_the_diagonal_is_ignored(model):
    """A point does not attract itself, whatever it is told; distributions are without it."""
    W = affinities()
    loops = W + np.diag(np.arange(1.0, 11.0))
    plain, looped = model(W), model(loops)
    assert looped.value(X, 1.5) == pytest.approx(plain.value(X, 1.5), rel=1e-13)
    if hasattr(plain, "entropy"):
        assert looped.entropy == pytest.approx(plain.entropy, rel=1e-13)


@each_model
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_affinities_stay_as_they_are(model, make):
    """Nothing is scaled in place."""
    W = make(affinities() + np.eye(10))
    before = W.copy()
    objective = model(W)
    objective.weights.data[:] = 0.0
    if sparse.issparse(W):
        np.testing.assert_array_equal(W.data, before.data)
    else:
        np.testing.assert_array_equal(W, before)


@pytest.mark.parametrize("model", [objectives.SymmetricSNE, objectives.TSNE, objectives.SNE])
@pytest.mark.parametrize("factor", [1e-200, 0.1, 1e200])
def test_normalized_models_divide_by_the_sum(model, factor):
    """P is a distribution, whatever the scale of the affinities."""
    plain, scaled = model(affinities()), model(factor * affinities())
    assert scaled.value(X, 1.0) == pytest.approx(plain.value(X, 1.0), rel=1e-12)
    assert scaled.entropy == pytest.approx(plain.entropy, rel=1e-12)
    total = 10.0 if model is objectives.SNE else 1.0
    assert scaled.weights.sum() == pytest.approx(total, rel=1e-12)


@each_unnormalized
def test_unnormalized_models_keep_the_scale(model):
    """λ means what it means in the paper only if w⁺ are as given."""
    np.testing.assert_array_equal(model(3.0 * affinities()).weights.toarray(), 3.0 * affinities())


def test_sne_takes_distributions_that_are_not_symmetric():
    """Rows are divided by their sums; E⁺ sees (P + Pᵀ)/2."""
    P = np.triu(affinities(), 1)
    P[-1, 0] = 2.0
    sne = objectives.SNE(P)
    rows = P / P.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(sne.conditional.toarray(), rows, rtol=1e-14)
    np.testing.assert_allclose(sne.weights.toarray(), (rows + rows.T) / 2, rtol=1e-14)


# What is refused


@each_symmetric
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_asymmetric_affinities(model, make):
    W = affinities()
    W[0, 1] += 0.01
    with pytest.raises(ValueError, match=r"symmetric; use closeknit\.graphs\.symmetrize") as e:
        model(make(W))
    sentence(e)


@each_model
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_negative_affinities(model, make):
    W = affinities()
    W[0, 1] = W[1, 0] = -0.01
    with pytest.raises(ValueError, match="must not be negative") as e:
        model(make(W))
    sentence(e)


def test_sne_rows_of_negative_affinities():
    """A row whose sum is negative is refused, not taken for a point without neighbours."""
    W = affinities()
    W[0] = -W[0]
    with pytest.raises(ValueError, match="must not be negative"):
        objectives.SNE(W)


@each_model
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_affinities_that_are_not_finite(model, value, make):
    W = affinities()
    W[0, 1] = W[1, 0] = value
    with pytest.raises(ValueError, match="NaN or infinite") as e:
        model(make(W))
    sentence(e)


@each_model
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_affinities_that_are_not_square(model, make):
    with pytest.raises(ValueError, match=r"must be square, got shape \(10, 9\)") as e:
        model(make(affinities()[:, :9]))
    sentence(e)


@pytest.mark.parametrize("model", [objectives.SymmetricSNE, objectives.TSNE, objectives.SNE])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_affinities_that_are_all_zero(model, make):
    """There is no distribution to divide by."""
    with pytest.raises(ValueError, match="all zero") as e:
        model(make(np.zeros((5, 5))))
    sentence(e)


@each_unnormalized
def test_no_attraction_is_a_model_too(model):
    """Unnormalised models without a single edge are pure repulsion."""
    value, gradient = model(np.zeros((10, 10))).value_and_gradient(X, 2.0)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


# Repulsive weights


@each_unnormalized
def test_ones_are_the_default(model):
    W = affinities()
    ones = model(W, repulsive_weights=np.ones((10, 10)))
    plain = model(W)
    assert ones.value(X, 2.0) == pytest.approx(plain.value(X, 2.0), rel=1e-14)
    np.testing.assert_allclose(
        ones.value_and_gradient(X, 2.0)[1], plain.value_and_gradient(X, 2.0)[1], rtol=1e-12
    )


@each_unnormalized
@pytest.mark.parametrize("repulsive", [None, affinities(seed=1)])
def test_unit_scaling_is_what_dividing_by_the_sums_gives(model, repulsive):
    """Σ w⁺ = Σ w⁻ = 1, as in the authors' demonstration of the elastic embedding."""
    W = affinities()
    w = 1.0 - np.eye(10) if repulsive is None else repulsive
    unit = model(W, repulsive_weights=repulsive, scaling="unit").at(100.0)
    by_hand = model(W / W.sum(), repulsive_weights=w / w.sum()).at(100.0)
    value, gradient = unit.value_and_gradient(X)
    assert value == pytest.approx(by_hand.value(X), rel=1e-12)
    assert value.parts == pytest.approx(by_hand.value_and_gradient(X)[0].parts, rel=1e-12)
    np.testing.assert_allclose(gradient, by_hand.value_and_gradient(X)[1], rtol=1e-10)
    np.testing.assert_allclose(unit.hessian_diagonal(X), by_hand.hessian_diagonal(X), rtol=1e-10)
    V = X[::-1]
    np.testing.assert_allclose(
        unit.repulsive_curvature(X)(V), by_hand.repulsive_curvature(X)(V), rtol=1e-9, atol=1e-12
    )


@each_unnormalized
def test_a_lambda_of_one_scaling_in_the_other(model):
    """E of "unit" at λ, times Σ w⁺, is E of "given" at λ Σ w⁺ / Σ w⁻; new points agree as well."""
    W, w = affinities(), affinities(seed=1)
    W *= 10 / W.sum()  # as entropic affinities do
    unit, given = (model(W, repulsive_weights=w, scaling=s) for s in ("unit", "given"))
    lam = 100.0 * W.sum() / w.sum()
    assert W.sum() * unit.value(X, 100.0) == pytest.approx(given.value(X, lam), rel=1e-12)
    assert unit.new_point_repulsion(X, 100.0) == pytest.approx(given.new_point_repulsion(X, lam))


def test_an_unknown_scaling():
    with pytest.raises(ValueError, match="scaling='sum' must be 'given' or 'unit'"):
        objectives.ElasticEmbedding(affinities(), scaling="sum")


@each_unnormalized
def test_the_diagonal_of_repulsive_weights_is_ignored(model):
    w = affinities(seed=1)
    plain = model(affinities(), repulsive_weights=w)
    loops = model(affinities(), repulsive_weights=w + 5 * np.eye(10))
    assert loops.value(X, 2.0) == plain.value(X, 2.0)


@each_unnormalized
@pytest.mark.parametrize("name", ["list", "float32", "fortran"])
def test_repulsive_weights_in_any_format(model, name):
    w = affinities(seed=1)
    expected = model(affinities(), repulsive_weights=w).value(X, 2.0)
    got = model(affinities(), repulsive_weights=FORMATS[name](w)).value(X, 2.0)
    assert got == pytest.approx(expected, rel=1e-14)


@each_unnormalized
def test_sparse_repulsive_weights(model):
    """They work as dense ones do, or the error names them."""
    w = affinities(seed=1)
    try:
        got = model(affinities(), repulsive_weights=sparse.csr_matrix(w)).value(X, 2.0)
    except (TypeError, ValueError) as error:
        message = str(error)
    else:
        message = "repulsive_weights"
        assert got == pytest.approx(model(affinities(), repulsive_weights=w).value(X, 2.0))
    assert "repulsive_weights" in message


@each_unnormalized
def test_repulsive_weights_stay_as_they_are(model):
    w = affinities(seed=1)
    before = w.copy()
    objective = model(affinities(), repulsive_weights=w)
    w[:] = 0.0
    assert objective.value(X, 1.0) == model(affinities(), repulsive_weights=before).value(X, 1.0)


@each_unnormalized
def test_repulsive_weights_of_another_shape(model):
    with pytest.raises(ValueError, match=r"shape \(10, 10\), got \(9, 9\)") as e:
        model(affinities(), repulsive_weights=np.ones((9, 9)))
    sentence(e)


@each_unnormalized
def test_affinities_and_repulsive_weights_that_are_not_square(model):
    with pytest.raises(ValueError, match="square") as e:
        model(affinities()[:, :9], repulsive_weights=np.ones((10, 9)))
    sentence(e)


@each_unnormalized
@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
def test_repulsive_weights_that_are_not_finite_or_negative(model, value):
    w = affinities(seed=1)
    w[0, 1] = w[1, 0] = value
    with pytest.raises(ValueError, match="finite and not negative") as e:
        model(affinities(), repulsive_weights=w)
    sentence(e)


@each_unnormalized
def test_asymmetric_repulsive_weights(model):
    w = affinities(seed=1)
    w[0, 1] += 0.1
    with pytest.raises(ValueError, match="repulsive_weights must be symmetric") as e:
        model(affinities(), repulsive_weights=w)
    sentence(e)


@each_unnormalized
def test_repulsive_weights_and_a_repulsion(model):
    with pytest.raises(ValueError, match="leave repulsion out") as e:
        model(affinities(), repulsive_weights=affinities(), repulsion=ExactRepulsion())
    sentence(e)


@each_model
def test_positions_of_another_number(model):
    """A graph of ten points and nine positions do not match."""
    with pytest.raises(ValueError, match=r"do not match|positions"):
        model(affinities()).value_and_gradient(X[:9], 1.0)


# Sharing, trust and precision


@each_model
def test_arrays_in_order_are_shared_and_never_changed(model):
    """A million edges need not be copied to be checked."""
    W = sparse.csr_matrix(affinities())
    before = W.data.copy()
    checked = check_symmetric(W)
    assert np.shares_memory(checked.data, W.data)
    assert np.shares_memory(checked.indices, W.indices)
    objective = model(W)
    X = np.random.default_rng(0).normal(size=(10, 2))
    objective.value_and_gradient(X, 1.0)
    objective.at(1.0).attractive_weights(X)
    np.testing.assert_array_equal(W.data, before)
    if model in UNNORMALIZED:
        assert np.shares_memory(objective.weights.data, W.data)


@each_model
@pytest.mark.parametrize("spoil", ["diagonal", "zero", "unsorted"])
def test_arrays_out_of_order_are_copied(model, spoil):
    W = sparse.csr_matrix(affinities())
    if spoil == "diagonal":
        W = sparse.csr_matrix(affinities() + np.eye(10))
    elif spoil == "zero":
        W.data[0] = 0.0
        W[W.indices[0], 0] = 0.0
    else:
        W.indices[:2], W.data[:2] = W.indices[:2][::-1].copy(), W.data[:2][::-1].copy()
        W.has_sorted_indices = W.has_canonical_format = False
    before = W.data.copy(), W.indices.copy(), W.indptr.copy()
    model(W)
    for array, old in zip((W.data, W.indices, W.indptr), before, strict=True):
        np.testing.assert_array_equal(array, old)


@each_model
def test_unchecked_affinities_give_the_same_bits(model):
    W = sparse.csr_matrix(affinities())
    X = np.random.default_rng(0).normal(size=(10, 2))
    checked, trusted = model(W), model(W, check=False)
    a, b = (objective.value_and_gradient(X, 0.7) for objective in (checked, trusted))
    assert a[0] == b[0]
    np.testing.assert_array_equal(a[1], b[1])


@each_model
def test_weights_have_the_precision_of_the_grid(model):
    """float32 for loose grids, float64 for others; value and gradient follow."""
    W = sparse.csr_matrix(affinities())
    before = W.data.copy()
    X = np.random.default_rng(0).normal(size=(10, 2))
    value, gradient = model(W).value_and_gradient(X, 1.0)
    for accuracy, dtype in ((1e-3, np.float32), (1e-6, np.float64)):
        objective = model(W, repulsion=GridRepulsion(accuracy))
        assert objective.weights.dtype == dtype
        assert objective.at(1.0).attractive_weights(X).dtype == dtype
        got, slope = objective.value_and_gradient(X, 1.0)
        assert got == pytest.approx(value, rel=accuracy)
        assert objective.value(X, 1.0) == pytest.approx(got, rel=1e-6)
        assert np.linalg.norm(slope - gradient) <= 5 * accuracy * np.linalg.norm(gradient)
    np.testing.assert_array_equal(W.data, before)


@pytest.mark.parametrize("model", [objectives.SymmetricSNE, objectives.TSNE, objectives.SNE])
def test_entropy_in_single_precision(model):
    W = sparse.csr_matrix(affinities())
    single = model(W, repulsion=GridRepulsion(0.02)).entropy
    assert single == pytest.approx(model(W).entropy, rel=1e-6)
