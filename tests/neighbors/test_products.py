"""Few points of many dimensions: products select in float32, differences decide in float64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.neighbors import ExactIndex, _products, _sketch_engine, find_neighbors
from closeknit.neighbors._products import nearest_by_products

RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(6, 700))


def by_differences(X, k, exclude_self=True):
    """Every distance as Σ(x − y)² in float64, sorted by (distance, index)."""
    X = X.astype(np.float64)
    D = np.array([((X - x) ** 2).sum(axis=1) for x in X])
    if exclude_self:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(D, order, axis=1)


DATA = {
    "noise": RNG.normal(size=(300, 600)),
    "clusters": np.repeat(CENTRES, 60, axis=0) + 1e-3 * RNG.normal(size=(360, 700)),
    "far off": 1e4 + RNG.normal(size=(200, 1500)),
    "an outlier": np.vstack([RNG.normal(size=(150, 600)), np.full((1, 600), 1e3)]),
    "lattice": RNG.integers(0, 2, size=(260, 520)).astype(np.float64),
}


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exclude_self", [True, False])
def test_as_by_differences(name, dtype, exclude_self):
    X = DATA[name].astype(dtype)
    found = nearest_by_products(X, 25, exclude_self=exclude_self, n_threads=2)
    indices, sq_distances = by_differences(X, 25, exclude_self)
    np.testing.assert_allclose(found[1], sq_distances, rtol=1e-12, atol=1e-300)
    # Where distances tie to rounding, either is right.
    exact = ((X.astype(np.float64)[found[0]] - X[:, None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(exact, sq_distances, rtol=1e-12, atol=1e-300)
    assert (found[0] == indices).mean() > 0.99
    one = nearest_by_products(X, 25, exclude_self=exclude_self, n_threads=1)
    assert found[0].tobytes() == one[0].tobytes()
    assert found[1].tobytes() == one[1].tobytes()


def assert_the_bits_of_sketches(X, k):
    ours = find_neighbors(X, k, neighbors="exact")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sketch_engine, "nearest_by_products", lambda *_, **__: None)
        sketches = find_neighbors(X, k, neighbors="exact", n_jobs=1)
    assert ours.indices.tobytes() == sketches.indices.tobytes()
    assert ours.sq_distances.tobytes() == sketches.sq_distances.tobytes()


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_as_by_sketches(name, dtype):
    X = DATA[name].astype(dtype)
    X = np.vstack([X, X[:20]])  # with duplicates
    for k in (1, 90, len(X) - 1):
        assert_the_bits_of_sketches(X, k)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(2, 120),
    offset=st.sampled_from([0.0, 1.0, 1e6, 1e12]),
    gap=st.sampled_from([1.0, 1e-3, 1e-9, 1e-15]),
    exponent=st.integers(-500, 450),
    steps=st.integers(1, 2**20),
    single=st.booleans(),
)
def test_hostile_points(seed, n, offset, gap, exponent, steps, single):
    """Far off, near each other beside the rounding of float32, tied, and of any magnitude."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(n, 513)) + gap * rng.integers(0, steps + 1, size=(n, 513)) / steps
    X = X[rng.integers(n, size=n)] if seed % 2 else X
    X = (offset + X) * 2.0 ** (exponent // 6 if single else exponent)
    for k in {1, n // 2 or 1, n - 1}:
        assert_the_bits_of_sketches(X.astype(np.float32) if single else X, k)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
@pytest.mark.filterwarnings("error")
def test_magnitudes_that_float32_does_not_hold(scale):
    """They are left to sketches, which are scaled; the neighbours are the same."""
    X = DATA["noise"]
    assert nearest_by_products(scale * X, 5, exclude_self=True, n_threads=1) is None
    found = ExactIndex().fit(scale * X).self_neighbors(5)
    np.testing.assert_array_equal(found.indices, by_differences(X, 5)[0])


def test_short_chunks_give_the_same(monkeypatch):
    """So that an interrupt is heeded soon, chunks of very long rows hold fewer of them."""
    X = DATA["far off"]
    expected = nearest_by_products(X, 25, exclude_self=True, n_threads=2)
    monkeypatch.setattr(_products, "_PRODUCTS", 0)
    found = nearest_by_products(X, 25, exclude_self=True, n_threads=2)
    assert [part.tobytes() for part in found] == [part.tobytes() for part in expected]


def test_only_few_points_of_many_dimensions(monkeypatch):
    """All others are left to sketches."""
    asked = []
    monkeypatch.setattr(_sketch_engine, "nearest_by_products", lambda X, *_, **__: asked.append(X))
    X = DATA["noise"]
    ExactIndex().fit(X[:, :500]).self_neighbors(5)
    assert not asked
    ExactIndex().fit(X).self_neighbors(5)
    assert len(asked) == 1
    monkeypatch.setattr(_sketch_engine, "MOST_POINTS", len(X) - 1)
    ExactIndex().fit(X).self_neighbors(5)
    assert len(asked) == 1


def test_all_points_equal():
    X = np.ones((20, 600))
    found = find_neighbors(X, 5, neighbors="exact")
    assert (found.sq_distances == 0.0).all()
