"""Points along Morton's curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from closeknit.linalg import map_order


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 3),
    st.integers(0, 2**32),
    st.sampled_from([1e-320, 1e-300, 1e-10, 1.0, 1e10, 1e307]),
    st.sampled_from([0.0, 1.0, -1e12]),
)
def test_it_is_a_permutation_at_any_extent(n, d, seed, extent, offset):
    X = offset + extent * np.random.default_rng(seed).uniform(-8.0, 8.0, size=(n, d))
    np.testing.assert_array_equal(np.sort(map_order(X)), np.arange(n))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_equal_points_keep_their_order(d):
    np.testing.assert_array_equal(map_order(np.full((50, d), 3.0)), np.arange(50))
    places = np.random.default_rng(0).normal(size=(5, d))
    which = np.random.default_rng(1).integers(5, size=200)
    order = map_order(places[which])
    for place in range(5):
        members = np.flatnonzero(which[order] == place)
        np.testing.assert_array_equal(np.diff(members), 1)  # together
        assert (np.diff(order[members]) > 0).all()


def test_one_component_is_sorted():
    X = np.random.default_rng(0).normal(size=(300, 1))
    np.testing.assert_array_equal(map_order(X), np.argsort(X[:, 0]))


@pytest.mark.parametrize("d", [2, 3])
def test_the_curve_of_a_lattice_is_that_of_interleaved_bits(d):
    """Against strings of bits; the first axis has the lower bit of each pair."""
    lattice = np.stack(np.meshgrid(*[np.arange(8)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    shuffled = lattice[np.random.default_rng(0).permutation(len(lattice))]

    def place(cell):
        digits = [f"{number:03b}" for number in cell[::-1]]
        return int("".join(map("".join, zip(*digits, strict=True))), 2)

    # 8 cells of equal size along each axis: the last lattice plane is at their common border.
    X = np.concatenate([shuffled + 0.5, [[0.0] * d, [8.0] * d]])
    found = [i for i in map_order(X).tolist() if i < len(shuffled)]
    np.testing.assert_array_equal(found, np.argsort([place(cell) for cell in shuffled]))


@pytest.mark.parametrize("d", [2, 3])
def test_neighbours_come_close_together(d):
    """Steps along the curve are far shorter than between points in the order given."""
    X = np.random.default_rng(0).random((5000, d))
    steps = np.linalg.norm(np.diff(X[map_order(X)], axis=0), axis=1)
    assert np.median(steps) < 0.2 * np.median(np.linalg.norm(np.diff(X, axis=0), axis=1))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_scale_does_not_matter(scale):
    X = np.random.default_rng(0).normal(size=(100, 2))
    np.testing.assert_array_equal(map_order(scale * X), map_order(X))


def test_the_largest_numbers():
    with np.errstate(all="raise"):
        order = map_order(np.array([[1.7e308, 0.0], [-1.7e308, 0.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(order, [1, 2, 0])


def test_positions_are_not_changed():
    X = np.random.default_rng(0).normal(size=(100, 2))
    before = X.copy()
    map_order(X)
    np.testing.assert_array_equal(X, before)
