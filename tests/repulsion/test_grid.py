"""GridRepulsion: as accurate as asked, one smooth energy, and nothing that depends on the grid."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import closeknit as ck
from closeknit.exceptions import CloseknitWarning
from closeknit.kernels import EPANECHNIKOV, GAUSSIAN, STUDENT, student
from closeknit.repulsion import ExactRepulsion, GridRepulsion

KERNELS = {
    "student": STUDENT,
    "gaussian": GAUSSIAN,
    "student(0.5)": student(0.5),
    "student(3)": student(3.0),
    "student squared": STUDENT.squared(),
    "gaussian squared": GAUSSIAN.squared(),
    "student(0.5) squared": student(0.5).squared(),
    "student(3) squared": student(3.0).squared(),
}
ACCURACIES = (0.1, 0.02, 1e-3, 1e-5)
FEW = ["student", "gaussian", "student(0.5)", "student squared"]
each_kernel = pytest.mark.parametrize("kernel", list(KERNELS.values()), ids=list(KERNELS))
a_few_kernels = pytest.mark.parametrize("kernel", [KERNELS[name] for name in FEW], ids=FEW)
each_dimension = pytest.mark.parametrize("d", [1, 2, 3])

#: Extents of maps from −spread to spread along the first axis, small enough to be quick.
EXTENTS = {
    1: {1: [2.0], 10: [20.0], 100: [200.0], 1000: [2000.0]},
    2: {1: [2.0, 2.0], 10: [20.0, 20.0], 100: [200.0, 60.0], 1000: [2000.0, 4.0]},
    3: {1: [2.0] * 3, 10: [20.0, 4.0, 2.0], 100: [200.0, 2.0, 2.0], 1000: [2000.0, 2.0, 2.0]},
}


def points(n, d, extent, seed=0):
    """Points in a box, in clusters and between them."""
    rng = np.random.default_rng([seed, n, d])
    clustered = rng.random((n // 4, d))[rng.integers(n // 4, size=n)]
    clustered += 0.01 * rng.normal(size=(n, d))
    X = np.where(rng.random((n, 1)) < 0.5, clustered, rng.random((n, d)))
    return np.asarray(extent) * (X - 0.5)


def error(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


def to_some(X, kernel, n=300):
    """Exact sums for the first n points: cross sums, in which each point meets itself, too."""
    sums = ExactRepulsion(1).cross_sums(X[:n], X, kernel)
    return sums.value - 1.0, sums.force


# Accuracy


@each_kernel
@each_dimension
@pytest.mark.parametrize("spread", [1, 10, 100, 1000])
@pytest.mark.filterwarnings("error")
def test_forces_and_values_are_as_accurate_as_asked(kernel, d, spread):
    """Relative to their norm; values are at least twice as accurate as forces."""
    X = points(5000 if d < 3 else 1500, d, EXTENTS[d][spread])
    value, force = to_some(X, kernel)
    for accuracy in ACCURACIES if d < 3 else ACCURACIES[: 5 - len(str(spread))]:
        grid = GridRepulsion(accuracy, n_jobs=1)
        sums = grid.sums(X, kernel)
        assert error(sums.force[:300], force) <= accuracy
        assert error(sums.value[:300], value) <= 0.5 * accuracy
        np.testing.assert_array_equal(grid.values(X, kernel), sums.value)


def test_a_map_wide_in_both_directions():
    """What the splitting of the kernel is for, without the shortcut of a narrow map."""
    X = points(5000, 2, 1000.0)
    value, force = to_some(X, STUDENT)
    sums = GridRepulsion(0.1).sums(X, STUDENT)
    assert error(sums.force[:300], force) <= 0.1
    assert error(sums.value[:300], value) <= 0.05


@a_few_kernels
@each_dimension
def test_a_map_too_large_is_summed_exactly_with_a_warning(kernel, d):
    X = points(100, d, 1000)
    grid = GridRepulsion(1e-3, max_memory=1e4)
    expected = ExactRepulsion().sums(X, kernel)
    with pytest.warns(CloseknitWarning, match=r"GiB; summing all pairs exactly.*max_memory=1e\+04"):
        sums = grid.sums(X, kernel)
    np.testing.assert_array_equal(sums.force, expected.force)
    with pytest.warns(CloseknitWarning, match="a map .* wide needs a grid of"):
        np.testing.assert_array_equal(grid.values(X, kernel), expected.value)
    with pytest.warns(CloseknitWarning, match="GiB"):
        assert grid.potential(X, kernel) is None


@pytest.mark.parametrize("d", [2, 3])
def test_more_memory_than_there_is_is_never_taken(d):
    """A map that a bad step made huge: with the default limit, and sizes that no array has."""
    X = np.array([[0.0] * d, [1e9] * d, [1.0] * d])
    with pytest.warns(CloseknitWarning, match="a map 1e"):
        sums = GridRepulsion().sums(X, STUDENT)
    np.testing.assert_array_equal(sums.value, ExactRepulsion().values(X, STUDENT))


def test_points_too_far_from_the_origin_are_summed_exactly():
    X = 1e20 + 1e6 * np.arange(6.0).reshape(3, 2)
    with pytest.warns(CloseknitWarning, match="lie 1e.20 from the origin, too far for a grid"):
        sums = GridRepulsion().sums(X, STUDENT)
    np.testing.assert_array_equal(sums.value, ExactRepulsion().values(X, STUDENT))


def test_accuracy_holds_where_the_kernel_is_split():
    """Beyond a hundred widths a Student kernel is summed in two parts, which must not show."""
    rng = np.random.default_rng(0)
    X = rng.random((2000, 2)) * 40.0
    one = GridRepulsion(1e-3).sums(X, STUDENT)
    wide = np.vstack([X, [[70.0, 110.0]]])
    two = GridRepulsion(1e-3).sums(wide, STUDENT)
    far = ExactRepulsion().cross_sums(X, wide[-1:], STUDENT)
    assert error(two.force[:-1] - far.force, one.force) < 1e-3
    assert error(two.value[:-1] - far.value, one.value) < 1e-3


@a_few_kernels
@each_dimension
def test_point_weights(kernel, d):
    X = points(1500, d, 10)
    w = np.random.default_rng(1).random(1500) * 3.0
    expected = ExactRepulsion().sums(X, kernel, w)
    sums = GridRepulsion(0.02).sums(X, kernel, w)
    assert error(sums.force, expected.force) <= 0.02
    assert error(sums.value, expected.value) <= 0.02
    ones = GridRepulsion(0.02).sums(X, kernel, np.ones(1500))
    np.testing.assert_array_equal(ones.force, GridRepulsion(0.02).sums(X, kernel).force)


@pytest.mark.parametrize("place", [0.0, 0.37])
@pytest.mark.parametrize("d", [1, 2])
def test_tight_maps_are_clear_of_periodic_images(d, place):
    """A box of few nodes must not see the kink where the kernel meets its periodic image."""
    X = points(500, d, 0.5) + place
    sums, exact = (r.sums(X, STUDENT) for r in (GridRepulsion(1e-5), ExactRepulsion()))
    assert error(sums.force, exact.force) < 3e-5
    assert error(sums.value, exact.value) < 1e-6


@each_kernel
@each_dimension
@pytest.mark.parametrize("share", [0.5, 0.1, 0.01, 1e-3])
def test_narrow_maps_are_as_accurate(kernel, d, share):
    """Although forces nearly cancel there."""
    width = share * kernel.width
    X = points(1000, d, width) + width / 2.0
    expected = ExactRepulsion(1).sums(X, kernel)
    sums = GridRepulsion(0.02, n_jobs=1).sums(X, kernel)
    assert error(sums.force, expected.force) <= 0.02
    assert error(sums.value, expected.value) <= 0.01


def cancelling_maps():
    """Maps on which forces nearly cancel, and how many times the accuracy a bare grid misses."""
    rng = np.random.default_rng(0)
    centers = 60.0 * rng.random((20, 2))
    clusters = centers[rng.integers(20, size=3000)] + 0.01 * rng.normal(size=(3000, 2))
    bulk = 1e-3 * rng.normal(size=(3000, 2))
    bulk[0] = 5.0
    return {
        "lattice": (0.5 * np.arange(3000.0)[:, None] + 0.1, 1.5),
        "tight clusters": (clusters, 3.0),
        "narrow bulk and an outlier": (bulk, 3.0),
    }


@pytest.mark.parametrize("name", cancelling_maps())
@pytest.mark.filterwarnings("error")
def test_forces_that_cancel_are_summed_on_a_finer_grid(name):
    X, missed = cancelling_maps()[name]
    exact = ExactRepulsion().sums(X, STUDENT)
    bare = GridRepulsion(0.02, verify=False).sums(X, STUDENT)
    assert error(bare.force, exact.force) > 0.02 * missed  # so there is something to verify
    sums = GridRepulsion(0.02).sums(X, STUDENT)
    assert error(sums.force, exact.force) <= 0.02
    np.testing.assert_array_equal(GridRepulsion(0.02).values(X, STUDENT), sums.value)


def test_where_no_grid_is_fine_enough_all_pairs_are_summed_with_a_warning():
    X = 1e-6 * np.random.default_rng(0).normal(size=(3000, 2))
    with pytest.warns(CloseknitWarning, match="no grid is fine enough for forces that cancel"):
        sums = GridRepulsion(1e-9).sums(X, STUDENT)
    np.testing.assert_array_equal(sums.force, ExactRepulsion().sums(X, STUDENT).force)


# One energy


@a_few_kernels
@each_dimension
@pytest.mark.parametrize("extent", [3.0, 110.0])
def test_forces_are_the_derivative_of_the_values(kernel, d, extent):
    """∂/∂x Σ_n φ_n = 4 Σ_m K'(x_n − x_m), for the approximate sums as for the exact ones."""
    grid = GridRepulsion(1e-6 if extent < 100.0 and d < 3 else 5e-5, n_jobs=1)
    assert grid.dtype is np.float64
    X = points(60, d, [extent, 3.0, 0.5][:d])
    force = grid.sums(X, kernel).force
    step = 1e-4
    for n, c in ((0, 0), (7, d - 1), (31, d // 2)):
        ahead, behind = X.copy(), X.copy()
        ahead[n, c] += step
        behind[n, c] -= step
        change = grid.values(ahead, kernel).sum() - grid.values(behind, kernel).sum()
        scale = np.abs(force).max()
        np.testing.assert_allclose(change / (2 * step), 4.0 * force[n, c], atol=1e-5 * scale)


@a_few_kernels
@each_dimension
def test_forces_balance(kernel, d):
    """Actio = reactio, to the accuracy; only the lattice knows where it is."""
    force = GridRepulsion(1e-5, n_jobs=1).sums(points(200, d, 2.0), kernel).force
    np.testing.assert_allclose(force.sum(axis=0), 0.0, atol=1e-5 * np.abs(force).sum())


@a_few_kernels
@each_dimension
@pytest.mark.parametrize("accuracy", [0.05, 1e-5])
def test_sums_do_not_depend_on_where_the_grid_begins(kernel, d, accuracy):
    """Nodes lie on one lattice, so a shift by whole spacings changes nothing but rounding."""
    grid = GridRepulsion(accuracy, verify=False)
    X = points(200, d, [8.0, 8.0, 3.0][:d])
    spacing = grid._plan(X, kernel).box.scale.spacing
    sums = grid.sums(X, kernel)
    shift = spacing * np.array([-130, 5, 17])[:d]
    moved = grid.sums(X + shift, kernel)
    # Single precision shows where nodes are added up in other places of vectors and transforms.
    tolerance = 2e-6 if grid.dtype is np.float32 else 1e-11
    assert error(moved.value, sums.value) <= tolerance
    assert error(moved.force, sums.force) <= 50 * tolerance


def test_a_shift_of_less_than_a_spacing_changes_less_than_the_accuracy():
    X = points(500, 2, 20.0)
    sums, moved = (GridRepulsion(0.02).sums(X + shift, STUDENT) for shift in (0.0, 0.123))
    assert error(moved.force, sums.force) <= 0.02


# Few points, odd points


@a_few_kernels
@each_dimension
@pytest.mark.parametrize("accuracy", [0.1, 1e-5])
def test_one_point_feels_nothing(kernel, d, accuracy):
    """Its own share is left out in closed form, to rounding."""
    rounding = 2e-6 if accuracy > 1e-4 else 1e-12
    for place in (0.0, 0.3, -17.77):
        sums = GridRepulsion(accuracy).sums(np.full((1, d), place), kernel)
        np.testing.assert_allclose(sums.value, 0.0, atol=rounding)
        np.testing.assert_allclose(sums.force, 0.0, atol=30 * rounding)


@a_few_kernels
@each_dimension
def test_two_points_repel_each_other(kernel, d):
    """A pair alone, where no errors cancel."""
    for distance in (0.2, 1.0, 3.0):
        X = np.full((2, d), 0.37)
        X[1, 0] += distance
        exact, sums = (
            r.sums(X, kernel) for r in (ExactRepulsion(1), GridRepulsion(1e-5, n_jobs=1))
        )
        np.testing.assert_allclose(sums.value, exact.value, atol=1e-5)
        np.testing.assert_allclose(sums.force, exact.force, atol=1e-4)


@a_few_kernels
@each_dimension
def test_identical_points_feel_the_full_kernel_and_no_force(kernel, d):
    n = 500
    sums = GridRepulsion(1e-3).sums(np.full((n, d), 1.234), kernel)
    np.testing.assert_allclose(sums.value, n - 1.0, rtol=1e-3)
    np.testing.assert_allclose(sums.force / n, 0.0, atol=1e-3)


@each_dimension
def test_no_points(d):
    sums = GridRepulsion().sums(np.empty((0, d)), STUDENT)
    assert sums.value.shape == (0,)
    assert sums.force.shape == (0, d)


@each_dimension
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 3])
@pytest.mark.filterwarnings("error")
def test_points_that_are_not_finite_give_nan_at_once(d, bad, row):
    """A minimiser's step gone wrong is seen as such: no error, no O(n²) work."""
    X = points(10, d, 3.0)
    X[row, d - 1] = bad
    assert np.isnan(GridRepulsion().values(X, STUDENT)).all()
    sums = GridRepulsion().sums(X, STUDENT, np.ones(10))
    assert np.isnan(sums.value).all()
    assert np.isnan(sums.force).all()
    assert sums.force.shape == X.shape


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 3),
    st.sampled_from(list(KERNELS.values())),
    st.floats(-1.0, 1.5),
    st.floats(-100.0, 100.0),
    st.integers(0, 2**16),
)
def test_any_number_of_points_anywhere(n, d, kernel, exponent, offset, seed):
    """Few points do not average errors: relative to what the kernel could do at most."""
    X = offset + 10.0**exponent * np.random.default_rng(seed).random((n, d))
    exact, sums = (r.sums(X, kernel) for r in (ExactRepulsion(1), GridRepulsion(0.02, n_jobs=1)))
    largest = 1.0 / kernel.width
    assert np.abs(sums.value - exact.value).max() <= 0.02 * n
    assert np.linalg.norm(sums.force - exact.force) <= 0.1 * largest * n


# Other promises


@each_dimension
@pytest.mark.parametrize("kernel", [STUDENT, GAUSSIAN], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("accuracy", [0.05, 2e-5])
def test_same_bits_for_any_number_of_threads(d, kernel, accuracy):
    X = points(20_000, d, [20.0, 4.0, 1.0][:d])
    w = np.random.default_rng(0).random(len(X))
    results = []
    for n_jobs in (1, 2):
        grid = GridRepulsion(accuracy, n_jobs=n_jobs)
        sums, weighted = grid.sums(X, kernel), grid.sums(X, kernel, w)
        parts = (sums.value, sums.force, weighted.value, weighted.force, grid.values(X, kernel))
        results.append(b"".join(part.tobytes() for part in parts))
    assert results[0] == results[1]


def test_what_was_summed_before_does_not_matter():
    """Transforms of the kernel are kept, and dropped again: the bits stay."""
    used = GridRepulsion(0.02)
    X = points(300, 2, 10.0)
    expected = GridRepulsion(0.02).sums(X, STUDENT)
    for width in (1.0, 20.0, 40.0, 80.0, 200.0):
        for kernel in (STUDENT, GAUSSIAN, STUDENT.squared()):
            used.sums(width / 10.0 * X, kernel)
    assert len(used._kernels) <= 4
    np.testing.assert_array_equal(used.sums(X, STUDENT).force, expected.force)


def test_inputs_stay_as_they_are_in_any_layout():
    X, w = points(50, 3, 4.0), np.random.default_rng(0).random(50)
    X = X.astype(np.float32).astype(np.float64)
    before = X.copy()
    X.setflags(write=False)
    w.setflags(write=False)
    expected = GridRepulsion().sums(X, STUDENT, w)
    strided = np.zeros((100, 6))
    strided[::2, ::2] = X
    apart = np.repeat(w, 2)[::2]
    for other in (np.asfortranarray(X), strided[::2, ::2], X.astype(np.float32), X.tolist()):
        for weights in (w, apart, w.tolist()):
            got = GridRepulsion().sums(other, STUDENT, weights)
            np.testing.assert_array_equal(got.force, expected.force)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_kernels_with_an_edge_are_summed_exactly(d):
    X = points(100, d, 3.0)
    exact = ExactRepulsion()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sums = GridRepulsion().sums(X, EPANECHNIKOV)
        value = GridRepulsion().values(X, EPANECHNIKOV)
    np.testing.assert_array_equal(sums.force, exact.sums(X, EPANECHNIKOV).force)
    np.testing.assert_array_equal(value, exact.values(X, EPANECHNIKOV))
    assert GridRepulsion().potential(X, EPANECHNIKOV) is None


def test_four_dimensions_are_summed_exactly():
    X = points(100, 4, 3.0)
    sums = GridRepulsion().sums(X, STUDENT)
    np.testing.assert_array_equal(sums.force, ExactRepulsion().sums(X, STUDENT).force)


@each_kernel
def test_curvatures_are_exact(kernel):
    X, V = points(60, 2, 3.0), points(60, 2, 1.0, seed=1)
    exact, grid = ExactRepulsion(), GridRepulsion()
    w = np.random.default_rng(0).random(60)
    np.testing.assert_array_equal(
        grid.curvatures(X, kernel, w).curvature, exact.curvatures(X, kernel, w).curvature
    )
    np.testing.assert_array_equal(
        grid.curvature_product(X, kernel, V, w), exact.curvature_product(X, kernel, V, w)
    )


def test_copies_are_equal_and_leave_the_transforms_behind():
    grid = GridRepulsion(0.03, max_memory=1e8, n_jobs=1)
    X = points(200, 2, 10.0)
    expected = grid.sums(X, STUDENT).force
    assert grid._kernels
    for other in (pickle.loads(pickle.dumps(grid)), copy.copy(grid), copy.deepcopy(grid)):
        assert other == grid
        assert not other._kernels
        np.testing.assert_array_equal(other.sums(X, STUDENT).force, expected)
    assert len(pickle.dumps(grid)) < 1000
    assert grid._kernels
    assert clone(ck.TSNE(repulsion=grid)).repulsion == grid


def test_frozen():
    with pytest.raises(AttributeError):
        GridRepulsion().accuracy = 0.5


@pytest.mark.parametrize("accuracy", [0.0, -1.0, 1.0, 1e-12, np.nan, np.inf])
def test_bad_accuracy(accuracy):
    with pytest.raises(ValueError, match=r"accuracy=.* must lie between 1e-9 and 1"):
        GridRepulsion(accuracy)


@pytest.mark.parametrize("max_memory", [0, -1e9, np.nan])
def test_bad_max_memory(max_memory):
    with pytest.raises(ValueError, match=r"max_memory=.* must be a positive number of bytes"):
        GridRepulsion(max_memory=max_memory)


def test_bad_n_jobs():
    with pytest.raises(ValueError, match="n_jobs"):
        GridRepulsion(n_jobs=0).values(points(5, 2, 1.0), STUDENT)


@pytest.mark.parametrize("shape", [(5,), (5, 2, 1)])
def test_points_must_be_rows(shape):
    with pytest.raises(ValueError, match=r"X must have shape \(n_samples, n_components\), got"):
        GridRepulsion().sums(np.ones(shape), STUDENT)


def test_point_weights_of_another_size():
    for n in (19, 21):
        with pytest.raises(ValueError, match="one weight per point"):
            GridRepulsion().sums(points(20, 2, 3.0), GAUSSIAN, np.ones(n))
