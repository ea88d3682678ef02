"""solve_bandwidths: H(β) = log K for every row that has a root, by every way there is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import closeknit as ck
from closeknit.affinities import (
    Bisection,
    Bounds,
    Brent,
    Density,
    Euler,
    Gap,
    Given,
    Halley,
    MinimumSpanningTree,
    NeighborDistance,
    Newton,
    Oracle,
    RandomOrder,
    Raster,
    Regression,
    Ridders,
)

KINDS = ("gauss2", "gauss10", "gauss100", "gauss1000", "clusters", "grid", "tails")
PERPLEXITIES = (1.5, 5.0, 30.0, 100.0, 119.9)
N, K_NEIGHBORS = 300, 120
METHODS = ("newton", "halley", "euler", "bisection", "brent", "ridders")
ORDERS = (
    "auto",
    "bounds",
    "density",
    "gap",
    "neighbor",
    "mst",
    "random",
    "given",
    "oracle",
    Raster((15, 20)),
)
ANSWERS = ("affinities", "betas", "sigmas", "evaluations", "status")


def order_id(order):
    return order if isinstance(order, str) else "raster"


def assert_same_bits(left, right, names=ANSWERS):
    for name in names:
        a, b = getattr(left, name), getattr(right, name)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), name


@pytest.mark.parametrize("perplexity", PERPLEXITIES)
@pytest.mark.parametrize("kind", KINDS)
def test_entropy_is_log_perplexity_to_1e_10(kind, perplexity, rows, twin, solve):
    """|H − log K| ≤ 1e-10, from the affinities and from the betas, for every row with a root."""
    d, _ = rows(kind, N, K_NEIGHBORS)
    solution = solve(d, perplexity)
    root = twin.has_root(d, perplexity)
    np.testing.assert_array_equal(solution.converged, root)
    assert root.all() or kind == "grid"  # where the 2 to 4 nearest tie
    by_affinities = twin.entropy(solution.affinities[root])
    by_betas = twin.entropy(twin.softmax(d[root], solution.betas[root]))
    assert np.abs(by_affinities - np.log(perplexity)).max(initial=0.0) <= 1e-10
    assert np.abs(by_betas - np.log(perplexity)).max(initial=0.0) <= 1e-10


@pytest.mark.parametrize("near", range(6, 31, 3))
def test_neighbours_of_two_scales(near, twin):
    """Some neighbours within 1 and the rest at 100: the curve of H has a step at log `near`.

    A small last step is no proof of a root: with u = f/f', the fourth-order step also vanishes
    where 1 − u f''/(2 f') does.
    """
    rng = np.random.default_rng(near)
    far = rng.random((3000, 34)) >= near / 34
    d = np.sort(rng.random((3000, 34)) + 100.0 * far, axis=1)
    for perplexity in (near - 0.9, near - 0.4, near + 0.2, near + 1.2):
        solution = ck.solve_bandwidths(d, perplexity)
        assert solution.converged.all()
        error = np.abs(twin.entropy(solution.affinities) - np.log(perplexity))
        assert error.max() <= 1e-10, perplexity


@pytest.mark.parametrize("kind", KINDS)
def test_affinities_sigmas_and_betas_describe_one_distribution(kind, rows, twin):
    """p_j ∝ exp(-β d_j), β = 1/(2σ²), rows sum to 1."""
    d, _ = rows(kind, N, K_NEIGHBORS)
    solution = ck.solve_bandwidths(d, 30.0)
    expected = twin.softmax(d, solution.betas)
    np.testing.assert_allclose(solution.affinities, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(solution.affinities.sum(axis=1), 1.0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(solution.betas, 0.5 / solution.sigmas**2, rtol=1e-14)
    assert (solution.affinities >= 0.0).all()
    np.testing.assert_allclose(solution.perplexities, 30.0, rtol=1e-10)


@pytest.mark.parametrize("order", ORDERS, ids=order_id)
@pytest.mark.parametrize("method", METHODS)
def test_methods_and_orders_agree(method, order, rows, solve):
    """Every root finder in every order finds the root of "auto" to 1e-9 in log β."""
    for kind in KINDS:
        d, indices = rows(kind, N, K_NEIGHBORS)
        for perplexity in PERPLEXITIES:
            expected = solve(d, perplexity)
            got = solve(d, perplexity, method=method, order=order, indices=indices, random_state=0)
            np.testing.assert_array_equal(got.status, expected.status)
            ok = expected.converged
            gap = np.abs(np.log(got.betas[ok]) - np.log(expected.betas[ok])).max(initial=0.0)
            assert gap <= 1e-9, (kind, perplexity)
            np.testing.assert_allclose(got.affinities, expected.affinities, rtol=0, atol=1e-9)
            assert (got.evaluations[ok] >= 1).all()


@pytest.mark.parametrize("order", ORDERS[1:], ids=order_id)
def test_auto_method_in_an_order_is_halley(order, rows):
    """method="auto" with an order given means Halley's method."""
    d, indices = rows("gauss10", N, 60)
    auto = ck.solve_bandwidths(d, 20.0, order=order, indices=indices, random_state=3)
    named = ck.solve_bandwidths(
        d, 20.0, method="halley", order=order, indices=indices, random_state=3
    )
    assert_same_bits(auto, named)


@pytest.mark.parametrize(
    ("shorthand", "finder"),
    [
        ("newton", Newton()),
        ("halley", Halley()),
        ("euler", Euler()),
        ("bisection", Bisection()),
        ("brent", Brent()),
        ("ridders", Ridders()),
    ],
)
def test_method_names_stand_for_objects(shorthand, finder, rows):
    d, _ = rows("gauss10", N, 60)
    assert_same_bits(
        ck.solve_bandwidths(d, 20.0, method=shorthand), ck.solve_bandwidths(d, 20.0, method=finder)
    )


@pytest.mark.parametrize(
    ("shorthand", "order"),
    [
        ("auto", Regression()),
        ("bounds", Bounds()),
        ("density", Density()),
        ("gap", Gap()),
        ("neighbor", NeighborDistance()),
        ("mst", MinimumSpanningTree()),
        ("random", RandomOrder(7)),
        ("given", Given()),
        ("oracle", Oracle()),
    ],
)
def test_order_names_stand_for_objects(shorthand, order, rows):
    d, indices = rows("gauss10", N, 60)
    options = {"indices": indices, "random_state": 7}
    assert_same_bits(
        ck.solve_bandwidths(d, 20.0, order=shorthand, **options),
        ck.solve_bandwidths(d, 20.0, order=order, **options),
    )


@pytest.mark.parametrize("max_inner", [1, 2, 5])
@pytest.mark.parametrize("finder", [Newton, Halley, Euler])
def test_algorithm_1_survives_early_bisections(finder, max_inner, rows):
    """`maxit` derivative steps, then a bisection: still the same root."""
    d, _ = rows("tails", N, 60)
    expected = ck.solve_bandwidths(d, 20.0)
    got = ck.solve_bandwidths(d, 20.0, method=finder(max_inner=max_inner))
    assert got.converged.all()
    np.testing.assert_allclose(np.log(got.betas), np.log(expected.betas), rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_single_precision_input(method, rows, twin):
    """float32 distances are solved as exactly as if they had been float64."""
    d, _ = rows("gauss10", N, K_NEIGHBORS)
    single = d.astype(np.float32)
    got = ck.solve_bandwidths(single, 30.0, method=method)
    expected = ck.solve_bandwidths(single.astype(np.float64), 30.0, method=method)
    assert got.affinities.dtype == np.float64
    np.testing.assert_allclose(np.log(got.betas), np.log(expected.betas), rtol=0, atol=1e-9)
    assert np.abs(twin.entropy(got.affinities) - np.log(30.0)).max() <= 1e-10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_rows_that_are_all_unsorted(method, kind, rows, twin, solve):
    """Rows in any order are solved as exactly as sorted ones."""
    d, _ = rows(kind, N, K_NEIGHBORS)
    shuffled = np.random.default_rng(1).permuted(d, axis=1)
    for perplexity in (5.0, 30.0):
        got = solve(shuffled, perplexity, method=method)
        expected = solve(d, perplexity)
        root = twin.has_root(d, perplexity)
        np.testing.assert_array_equal(got.converged, root)
        gap = np.log(got.betas[root]) - np.log(expected.betas[root])
        assert np.abs(gap).max() <= 1e-9
        entropy = twin.entropy(got.affinities[root])
        assert np.abs(entropy - np.log(perplexity)).max() <= 1e-10
        np.testing.assert_allclose(got.affinities.sum(axis=1), 1.0, rtol=0, atol=1e-13)
        np.testing.assert_allclose(
            np.sort(got.affinities, axis=1)[:, ::-1], expected.affinities, rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("perplexity", [1.5, 5.0, 30.0])
def test_a_few_unsorted_rows_among_sorted_ones(perplexity, twin):
    """A start fitted on sorted rows must not mislead the rows that are not."""
    rng = np.random.default_rng(0)
    d = np.sort(rng.gamma(2.0, size=(2000, 50)), axis=1)
    mixed = d.copy()
    mixed[3::10] = rng.permuted(d[3::10], axis=1)
    got, expected = (ck.solve_bandwidths(x, perplexity) for x in (mixed, d))
    assert got.converged.all()
    assert np.abs(np.log(got.betas) - np.log(expected.betas)).max() <= 1e-9
    assert np.abs(twin.entropy(got.affinities) - np.log(perplexity)).max() <= 1e-10
    assert (got.affinities >= 0.0).all()


def test_the_nearest_neighbour_may_stand_in_the_middle():
    """One row whose nearest neighbour stands in the middle, far below the first (exp2 overflow)."""
    rng = np.random.default_rng(0)
    d = np.sort(1000.0 + 5.0 * rng.random((1000, 40)), axis=1)
    for nearest in np.linspace(0.0, 990.0, 100):
        d[777, 20] = nearest
        got = ck.solve_bandwidths(d, 10.0)
        expected = ck.solve_bandwidths(np.sort(d[777:778], axis=1), 10.0)
        assert abs(np.log(got.betas[777] / expected.betas[0])) <= 1e-9, nearest
        assert abs(got.affinities[777, 20] - expected.affinities[0, 0]) <= 1e-9, nearest


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("order", ["auto", "density", "mst"])
def test_one_perplexity_per_row(method, order, rows, twin):
    """An array of perplexities gives each row its own."""
    d, indices = rows("gauss10", N, 60)
    perplexity = np.random.default_rng(2).uniform(1.5, 55.0, size=N)
    got = ck.solve_bandwidths(d, perplexity, method=method, order=order, indices=indices)
    assert got.converged.all()
    assert np.abs(twin.entropy(got.affinities) - np.log(perplexity)).max() <= 1e-10
    for i in range(0, N, 30):
        alone = ck.solve_bandwidths(d[i : i + 1], perplexity[i])
        assert abs(np.log(alone.betas[0] / got.betas[i])) <= 1e-9


def test_an_array_of_equal_perplexities_is_one_perplexity(rows):
    d, _ = rows("gauss10", N, 60)
    one, many = ck.solve_bandwidths(d, 20.0), ck.solve_bandwidths(d, np.full(N, 20.0))
    np.testing.assert_allclose(np.log(many.betas), np.log(one.betas), rtol=0, atol=1e-9)


def test_a_fitted_start_serves_rows_of_other_perplexities(rows, twin):
    """order=solution.start is only a start: any perplexity may be asked for with it."""
    d, _ = rows("gauss10", N, 60)
    start = ck.solve_bandwidths(d, 20.0).start
    perplexity = np.linspace(1.5, 55.0, N)
    got = ck.solve_bandwidths(d, perplexity, order=start)
    assert got.converged.all()
    assert np.abs(twin.entropy(got.affinities) - np.log(perplexity)).max() <= 1e-10


@pytest.mark.parametrize("order", ["auto", "density", "mst", "given"])
@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_same_bits_for_any_number_of_threads(method, order, rows):
    """n_jobs = 1, 2, 3 give the same bits; the rows fill several tasks and runs."""
    d, indices = rows("clusters", 2600, 36)
    options = {"method": method, "order": order, "indices": indices}
    one, two, three = (ck.solve_bandwidths(d, 12.0, n_jobs=j, **options) for j in (1, 2, 3))
    assert_same_bits(one, two)
    assert_same_bits(one, three)
    assert one.start == two.start == three.start


def test_same_bits_for_any_number_of_threads_with_perplexity_per_row(rows):
    d, _ = rows("clusters", 2600, 36)
    perplexity = np.linspace(1.5, 30.0, len(d))
    one, two, three = (ck.solve_bandwidths(d, perplexity, n_jobs=j) for j in (1, 2, 3))
    assert_same_bits(one, two)
    assert_same_bits(one, three)


@pytest.mark.parametrize("kind", ["gauss2", "gauss10", "gauss100", "gauss1000"])
@pytest.mark.parametrize("k", [90, 250])
def test_about_two_passes_a_row(kind, k, rows):
    """Mean passes per point ≤ 2.1 for "auto" at K = 30, single and double ones counted alike."""
    d, _ = rows(kind, 1000, k)
    solution = ck.solve_bandwidths(d, 30.0)
    assert solution.evaluations.min() >= 1
    assert solution.evaluations.mean() <= 2.1


def test_orders_save_evaluations(rows):
    """The paper's ranking: oracle ≤ D_K < random, and Halley needs fewer steps than bisection."""
    d, indices = rows("gauss10", 2600, 90)
    mean = {
        order: ck.solve_bandwidths(
            d, 30.0, method="halley", order=order, random_state=0
        ).evaluations.mean()
        for order in ("oracle", "density", "random", "bounds")
    }
    mean["mst"] = ck.solve_bandwidths(
        d, 30.0, method="halley", order="mst", indices=indices
    ).evaluations.mean()
    mean["bisection"] = ck.solve_bandwidths(d, 30.0, method="bisection").evaluations.mean()
    assert mean["oracle"] <= mean["density"] < mean["random"]
    assert mean["oracle"] <= mean["mst"] <= mean["random"]
    assert mean["bounds"] < 0.25 * mean["bisection"]


@pytest.mark.parametrize("method", ["auto", "newton", "halley", "brent"])
def test_rows_do_not_depend_on_their_companions(method, rows):
    """With order=solution.start, row by row equals all rows at once, bit for bit."""
    d, _ = rows("tails", N, 61)
    start = ck.solve_bandwidths(d, 20.0).start
    together = ck.solve_bandwidths(d, 20.0, method=method, order=start)
    for i in range(N):
        alone = ck.solve_bandwidths(d[i : i + 1], 20.0, method=method, order=start)
        for name in ANSWERS:
            assert getattr(alone, name)[0].tobytes() == getattr(together, name)[i].tobytes(), name


def test_given_start_repeats_the_solution(rows):
    d, _ = rows("gauss10", N, 60)
    first = ck.solve_bandwidths(d, 20.0)
    assert_same_bits(first, ck.solve_bandwidths(d, 20.0, order=first.start))


@pytest.mark.parametrize("tol", [10.0**-i for i in range(6, 14)])
@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_tolerance_is_respected(method, tol, rows, twin):
    """|H − log K| ≤ tol, recomputed in extended precision."""
    for kind in ("gauss10", "tails"):
        d, _ = rows(kind, N, 60)
        solution = ck.solve_bandwidths(d, 20.0, method=method, tol=tol)
        assert solution.converged.all()
        p = solution.affinities.astype(np.longdouble)
        error = np.abs(twin.entropy(p) - np.log(np.longdouble(20.0))).max()
        # An affinity is rounded to 1.1e-16 of itself, which moves H by as much times log K or so.
        assert error <= tol + 2e-15
        exact = twin.entropy(twin.softmax(d, solution.betas, np.longdouble))
        assert np.abs(exact - np.log(np.longdouble(20.0))).max() <= tol + 2e-15


@pytest.mark.parametrize("method", ["auto", "newton", "bisection"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inputs_are_not_modified_and_may_be_read_only(method, dtype, rows):
    source, indices = rows("gauss10", N, 60)
    d, perplexity, indices = source.astype(dtype), np.full(N, 20.0), indices.copy()
    copies = d.copy(), perplexity.copy(), indices.copy()
    for array in (d, perplexity, indices):
        array.setflags(write=False)
    ck.solve_bandwidths(d, perplexity, method=method, order="mst", indices=indices)
    ck.solve_bandwidths(d, 20.0, method=method)
    ck.bandwidth_bounds(d, perplexity)
    for array, copy in zip((d, perplexity, indices), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_layout_does_not_matter(rows):
    """Fortran order and strided views give what a C-contiguous copy gives."""
    d, _ = rows("gauss10", N, 60)
    expected = ck.solve_bandwidths(d[::2, ::2], 10.0)
    assert_same_bits(expected, ck.solve_bandwidths(d[::2, ::2].copy(), 10.0))
    assert_same_bits(expected, ck.solve_bandwidths(np.asfortranarray(d[::2, ::2]), 10.0))


def test_lists_and_integers_are_accepted():
    d = [[1, 2, 4, 7, 9, 12], [0, 3, 3, 5, 8, 9]]
    expected = ck.solve_bandwidths(np.array(d, dtype=float), 3.0)
    for given in (d, np.array(d), np.array(d, dtype=np.uint8), np.array(d, dtype=np.float16)):
        assert_same_bits(expected, ck.solve_bandwidths(given, 3))
    per_row = ck.solve_bandwidths(d, [3, 3.0])
    np.testing.assert_allclose(per_row.affinities, expected.affinities, rtol=0, atol=1e-10)


def test_result_is_frozen(rows):
    d, _ = rows("gauss10", N, 60)
    solution = ck.solve_bandwidths(d, 20.0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.betas = None
    with pytest.raises(dataclasses.FrozenInstanceError):
        solution.start.intercept = 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "secant"}, "unknown method 'secant'.*halley"),
        ({"order": "alphabetical"}, "unknown order 'alphabetical'.*density"),
        ({"order": "raster"}, "Raster"),
        ({"order": "mst"}, "indices"),
        ({"indices": np.zeros((3, 2), int)}, r"\(3, 2\).*\(300, 60\)"),
        ({"tol": 0.0}, "tol"),
        ({"tol": 1.0}, "tol"),
        ({"tol": np.nan}, "tol"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_errors_say_what_to_do(options, message, rows):
    d, _ = rows("gauss10", N, 60)
    with pytest.raises(ValueError, match=message):
        ck.solve_bandwidths(d, 20.0, **options)


@pytest.mark.parametrize(
    ("d", "message"),
    [
        ([1.0, 2.0, 3.0], r"shape.*sq_distances\[None, :\]"),
        (np.zeros((2, 3, 4)), "3 dimensions"),
        (np.zeros((3, 0)), "no neighbours"),
        ([["a", "b", "c"]], "real numbers"),
        (np.zeros((1, 3), complex), "all numbers must be real"),
    ],
)
def test_distances_that_are_no_matrix(d, message):
    with pytest.raises(ValueError, match=message):
        ck.solve_bandwidths(d, 2.0)


def test_start_of_longer_rows_is_refused(rows):
    """A start fitted on longer rows names ranks that are not there: a ValueError either way."""
    d, _ = rows("gauss10", N, 60)
    start = ck.solve_bandwidths(d, 10.0).start
    for method in ("auto", "newton"):
        with pytest.raises(ValueError, match="longer rows"):
            ck.solve_bandwidths(d[:, :30], 10.0, method=method, order=start)


def test_max_inner_is_checked():
    with pytest.raises(ValueError, match="max_inner=0"):
        Newton(max_inner=0)


def test_affinities_go_where_they_are_wanted():
    d = np.sort(np.random.default_rng(0).random((50, 40)), axis=1)
    out = np.full(d.shape, np.nan)
    found = ck.solve_bandwidths(d, 10.0, out=out)
    assert found.affinities is out
    np.testing.assert_array_equal(out, ck.solve_bandwidths(d, 10.0).affinities)


@pytest.mark.parametrize(
    "out", [np.empty((50, 39)), np.empty((50, 40), np.float32), np.empty((40, 50)).T, [[0.0]]]
)
def test_affinities_need_an_array_of_their_shape(out):
    d = np.sort(np.random.default_rng(0).random((50, 40)), axis=1)
    with pytest.raises(ValueError, match=r"out must be a C-contiguous array of float64"):
        ck.solve_bandwidths(d, 10.0, out=out)
