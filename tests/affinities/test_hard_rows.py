"""Hard rows: each gets what is documented for it, never an endless loop, never NaN."""

from __future__ import annotations

import warnings

import mpmath as mp
import numpy as np
import pytest

import closeknit as ck
from closeknit.affinities import EntropicAffinities, Status, entropy_derivatives
from closeknit.exceptions import CloseknitWarning, NoBandwidthWarning

METHODS = ("auto", "newton", "halley", "euler", "bisection", "brent", "ridders")
every_method = pytest.mark.parametrize("method", METHODS)
#: A row alone goes to the robust solver; among many regular rows it meets the fast path first.
every_path = pytest.mark.parametrize("companions", [0, 100])


def among(row, companions, dtype=np.float64):
    """The row, followed by regular ones of its length and scale."""
    row = np.asarray(row, dtype=dtype)
    finite = row[np.isfinite(row)]
    scale = max(float(finite.max() - finite.min()), 1e-300) if len(finite) else 1.0
    others = np.random.default_rng(5).uniform(size=(companions, len(row)))
    return np.vstack([row[None], (np.sort(others, axis=1) * scale).astype(dtype)])


def assert_sane(solution):
    assert np.isfinite(solution.affinities).all()
    assert (solution.affinities >= 0.0).all()
    assert not np.isnan(solution.betas).any()
    assert not np.isnan(solution.sigmas).any()


# Ties


@every_method
@every_path
@pytest.mark.parametrize(
    ("ties", "perplexity"), [(2, 1.5), (2, 2.0), (5, 2.0), (5, 4.999), (5, 5.0), (11, 3.0)]
)
def test_as_many_ties_as_the_perplexity(ties, perplexity, companions, method, solve):
    """m ≥ K: no root; uniform over the ties, β = inf, σ = 0, not converged."""
    row = [1.5] * ties + [2.0, 2.5, 4.0, 5.0]
    solution = solve(among(row, companions), perplexity, method=method)
    expected = [1.0 / ties] * ties + [0.0] * 4
    np.testing.assert_array_equal(solution.affinities[0], expected)
    assert solution.betas[0] == np.inf
    assert solution.sigmas[0] == 0.0
    assert not solution.converged[0]
    assert solution.status[0] == Status.TIES
    assert solution.converged[1:].all()
    assert_sane(solution)


@every_method
@every_path
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fewer_ties_than_the_perplexity_have_a_root(dtype, companions, method, twin):
    """m < K: ties are no obstacle."""
    row = among([0, 0, 0, 1, 1, 1, 2, 2, 3, 5], companions, dtype)
    solution = ck.solve_bandwidths(row, 3.5, method=method)
    assert solution.converged.all()
    assert np.abs(twin.entropy(solution.affinities) - np.log(3.5)).max() <= 1e-10
    assert len(set(solution.affinities[0, :3])) == 1


@pytest.mark.parametrize(
    "order", ["auto", "bounds", "given", "density", "gap", "neighbor", "oracle", "random"]
)
def test_ties_do_not_spoil_the_rows_that_start_from_them(order, twin, solve):
    """β = inf of a tied row is no start for the next one."""
    d = np.sort(np.random.default_rng(0).random((60, 12)), axis=1)
    d[::3, :5] = d[::3, :1]
    d[1::7] = 2.0
    d[1::7, 0] = d[1::7, 1] = 2.0
    solution = solve(d, 4.0, order=order, random_state=0)
    root = twin.has_root(d, 4.0)
    np.testing.assert_array_equal(solution.converged, root)
    assert np.abs(twin.entropy(solution.affinities[root]) - np.log(4.0)).max() <= 1e-10
    assert_sane(solution)


def test_exactly_one_warning_with_the_count():
    """One NoBandwidthWarning says how many points and why, however many threads or tasks."""
    d = np.sort(np.random.default_rng(0).random((3000, 12)), axis=1)
    d[::4, :6] = d[::4, :1]  # 750 rows with six ties
    d[1::100] = 3.0  # 30 rows without any difference
    with pytest.warns(NoBandwidthWarning) as caught:
        solution = ck.solve_bandwidths(d, 4.0, n_jobs=2)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert "780 of 3000" in message
    assert "750 with" in message
    assert "30 whose" in message
    assert issubclass(caught[0].category, CloseknitWarning)
    assert caught[0].filename == __file__
    assert (~solution.converged).sum() == 780


@pytest.mark.parametrize("n_neighbors", ["auto", 20, None])
def test_estimators_warn_once_even_in_blocks(n_neighbors, monkeypatch):
    """The dense estimator works in blocks of rows but warns once, for all of them."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[[3, 5, 17, 41, 59]] = 50.0  # five coinciding points, far from the rest: four ties each
    monkeypatch.setattr("closeknit._threads._BUDGET", 8 * 60 * 7)
    estimator = EntropicAffinities(perplexity=4.0, n_neighbors=n_neighbors)
    with pytest.warns(NoBandwidthWarning, match="5 of 60") as caught:
        P = estimator.fit_transform(X)
    assert len(caught) == 1
    P = P if n_neighbors is None else P.toarray()
    np.testing.assert_array_equal(P[5, [3, 17, 41, 59]], 0.25)
    assert estimator.sigmas_[5] == 0.0
    assert np.isinf(estimator.betas_[5])
    np.testing.assert_array_equal(np.flatnonzero(~estimator.converged_), [3, 5, 17, 41, 59])
    with pytest.warns(NoBandwidthWarning) as caught:
        estimator.transform(X, as_new=True)  # of the training data as a whole the fit has warned
    assert len(caught) == 1
    with pytest.warns(NoBandwidthWarning) as caught:
        estimator.fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@every_method
@every_path
@pytest.mark.parametrize("value", [0.0, 1.0, 1e-320, 1e300])
def test_all_distances_equal(value, companions, method, solve):
    """All equal: uniform, β = 0, σ = inf, not converged."""
    solution = solve(among(np.full(9, value), companions), 3.0, method=method)
    np.testing.assert_array_equal(solution.affinities[0], 1.0 / 9.0)
    assert solution.betas[0] == 0.0
    assert solution.sigmas[0] == np.inf
    assert not solution.converged[0]
    assert solution.status[0] == Status.CONSTANT


@every_method
@every_path
def test_one_zero_distance_is_an_ordinary_row(companions, method, twin):
    d = among([0.0, 1.0, 1.5, 2.0, 4.0, 8.0], companions)
    solution = ck.solve_bandwidths(d, 3.0, method=method)
    assert solution.converged.all()
    assert abs(twin.entropy(solution.affinities)[0] - np.log(3.0)) <= 1e-10


# Perplexities


@every_method
@every_path
def test_perplexity_one_is_one_hot(companions, method, solve):
    """K = 1: the limit β → inf, all weight on the nearest neighbour."""
    solution = solve(among([0.5, 1.0, 1.5, 2.0], companions), 1.0, method=method)
    np.testing.assert_array_equal(solution.affinities[0], [1.0, 0.0, 0.0, 0.0])
    assert np.isinf(solution.betas).all()
    assert (solution.sigmas == 0.0).all()
    assert not solution.converged.any()


@pytest.mark.parametrize("perplexity", [0.999, 0.0, -3.0, np.nan, [2.0, 0.5]])
def test_perplexity_below_one_is_an_error(perplexity):
    with pytest.raises(ValueError, match=r"perplexity=.* must be at least 1"):
        ck.solve_bandwidths([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]], perplexity)


def test_an_infinite_perplexity_is_an_error():
    with pytest.raises(ValueError, match="perplexity=inf must be a number of neighbours"):
        ck.solve_bandwidths([[0.0, 1.0, 2.0]] * 2, [2.0, np.inf])


@pytest.mark.parametrize("perplexity", [3.0, 3.5, 40.0])
def test_perplexity_of_the_neighbours_or_more_names_both_numbers(perplexity):
    """K ≥ k is an error that names K and k."""
    with pytest.raises(ValueError, match=rf"perplexity={perplexity:g} .*got 3;"):
        ck.solve_bandwidths([[0.0, 1.0, 2.0]], perplexity)
    with pytest.raises(ValueError, match=rf"perplexity={perplexity:g} .*got 3;"):
        ck.solve_bandwidths([[0.0, 1.0, 2.0]] * 2, [2.0, perplexity])


@pytest.mark.parametrize("perplexity", ["many", None, [[2.0]], [2.0, 2.0, 2.0], []])
def test_perplexity_that_is_no_number(perplexity):
    with pytest.raises(ValueError, match="perplexity"):
        ck.solve_bandwidths([[0.0, 1.0, 2.0], [0.0, 1.0, 2.0]], perplexity)


@every_method
@every_path
@pytest.mark.parametrize("excess", [1e-3, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("ties", [1, 2, 5])
def test_perplexity_just_above_the_ties(ties, excess, companions, method, twin):
    """K within 1e-6 of m: β is large but there, and H is right to 1e-10."""
    d = among([0.0] * ties + [1.0, 1.5, 2.0, 3.0, 7.0, 9.0], companions)
    solution = ck.solve_bandwidths(d, ties + excess, method=method)
    assert solution.converged.all()
    assert_sane(solution)
    target = np.log(ties + excess)
    assert np.abs(twin.entropy(solution.affinities) - target).max() <= 1e-10
    assert np.abs(twin.entropy(twin.softmax(d, solution.betas)) - target).max() <= 1e-10


@every_method
@every_path
@pytest.mark.parametrize("lack", [1e-3, 1e-6, 1e-9, 1e-12])
def test_perplexity_just_below_the_neighbours(lack, companions, method, twin):
    """K within 1e-6 of k: β is small but there, and H is right to 1e-10."""
    d = among([0.5, 1.0, 1.5, 2.0, 3.0, 7.0, 9.0], companions)
    solution = ck.solve_bandwidths(d, 7.0 - lack, method=method)
    assert solution.converged.all()
    assert_sane(solution)
    assert (solution.betas > 0.0).all()
    target = np.log(7.0 - lack)
    assert np.abs(twin.entropy(solution.affinities) - target).max() <= 1e-10
    assert np.abs(twin.entropy(twin.softmax(d, solution.betas)) - target).max() <= 1e-10


# Scales


@every_method
@every_path
@pytest.mark.parametrize("exponent", [-996, -700, -450, -448, 0, 448, 450, 700, 990])
def test_squared_distances_from_1e_300_to_1e300(exponent, companions, method, rows):
    """Distances × 2^s give σ × 2^s, from 1e-150 to 1e150 in distance."""
    d = rows("gauss10", 300, 40)[0][: 1 + companions]
    exponent -= exponent % 2
    base = ck.solve_bandwidths(d, 10.0, method=method)
    scaled = ck.solve_bandwidths(np.ldexp(d, exponent), 10.0, method=method)
    assert scaled.converged.all()
    np.testing.assert_allclose(scaled.affinities, base.affinities, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.ldexp(scaled.sigmas, -exponent // 2), base.sigmas, rtol=1e-9)
    np.testing.assert_allclose(np.ldexp(scaled.betas, exponent), base.betas, rtol=1e-9)


@every_method
@every_path
def test_subnormal_squared_distances(companions, method, twin):
    """Integer multiples of the least positive double: σ is right although β overflows."""
    least = np.nextafter(0.0, 1.0)
    levels = np.array([0.0, 1.0, 2.0, 4.0, 5.0, 9.0, 11.0, 20.0])
    others = np.arange(companions * 8).reshape(companions, 8) % 8 * 3.0
    levels = np.vstack([levels, others]) if companions else levels[None]
    solution = ck.solve_bandwidths(levels * least, 3.0, method=method)
    exact = ck.solve_bandwidths(levels, 3.0)
    assert solution.converged.all()
    assert np.isinf(solution.betas).all()
    np.testing.assert_allclose(solution.affinities, exact.affinities, rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.sigmas, exact.sigmas * 2.0**-537, rtol=1e-9)
    assert np.abs(twin.entropy(solution.affinities) - np.log(3.0)).max() <= 1e-10


def test_entropy_of_no_neighbours():
    """Without any neighbour there is no distribution, and no number stands in for it."""
    h = entropy_derivatives([[np.inf, np.inf], [0.0, np.inf]], 0.0)
    assert np.isnan(h[0]).all()
    np.testing.assert_array_equal(h[1], 0.0)


@every_method
@pytest.mark.parametrize("perplexity", [2.0, 3.0, 6.0])
def test_sigma_belongs_to_the_affinities_on_a_plateau(perplexity, method):
    """Where H = log K over hundreds of decades any σ of them will do, but not σ = 0."""
    d = np.array([1e-323, 1.83e-322, 1e-308, 1e-300, 1e-200, 1.0, 1e300, 1.7e308])
    solution = ck.solve_bandwidths(d[None], perplexity, method=method)
    assert solution.converged.all()
    with mp.workdps(40):
        sigma = mp.mpf(float(solution.sigmas[0]))
        w = [mp.exp(-(mp.mpf(x) - mp.mpf(d[0])) / (2 * sigma**2)) for x in d.tolist()]
        p = [float(value / sum(w)) for value in w]
    np.testing.assert_allclose(solution.affinities[0], p, rtol=0, atol=1e-12)


@every_method
@pytest.mark.parametrize("excess", [1e-15, 3e-15, 1e-14])
def test_perplexity_a_hair_above_its_least_value(excess, method, twin):
    """K = 1 + 3e-15: the bracket's ends differ in H by 15 orders of magnitude."""
    rng = np.random.default_rng(0)
    d = np.sort(np.vstack([rng.random((20, 24)) ** 50, 10.0 ** rng.uniform(-30, 30, (20, 24))]))
    solution = ck.solve_bandwidths(d, 1.0 + excess, method=method)
    assert solution.converged.all()
    assert np.abs(twin.entropy(solution.affinities) - np.log(1.0 + excess)).max() <= 1e-10


@every_method
@pytest.mark.parametrize("largest", [1e20, 1e100, 1e250, 1e290, 1e300, 1.7e308])
def test_one_neighbour_very_far_away(largest, method):
    """A far neighbour is as good as missing; the others keep their bandwidth."""
    solution = ck.solve_bandwidths([[0.0, 1.0, 2.0, 3.0, largest]], 2.0, method=method)
    without = ck.solve_bandwidths([[0.0, 1.0, 2.0, 3.0]], 2.0)
    assert_sane(solution)
    assert solution.converged.all()
    np.testing.assert_allclose(solution.affinities[0, :4], without.affinities[0], atol=1e-9)
    assert solution.affinities[0, 4] == 0.0
    np.testing.assert_allclose(solution.betas, without.betas, rtol=1e-9)


@every_method
@pytest.mark.parametrize(("small", "large"), [(1e-10, 1e300), (1e-300, 1e300), (1e-320, 1e308)])
def test_gaps_that_vanish_beside_the_range(small, large, method, solve):
    """Whatever is returned where the range exceeds that of a double, it is a distribution."""
    solution = solve([[0.0, small, 2 * small, 3 * small, large]], 2.0, method=method)
    assert_sane(solution)
    assert abs(solution.affinities.sum() - 1.0) <= 1e-12


@every_method
@every_path
@pytest.mark.parametrize("offset", [1e6, -1e6, 2.0**40])
def test_common_offset(offset, companions, method, rows):
    """A constant added to all squared distances changes nothing (it is exact here)."""
    d = np.round(rows("gauss10", 300, 40)[0][: 1 + companions] * 1024.0) / 1024.0
    base = ck.solve_bandwidths(d, 10.0, method=method)
    shifted = ck.solve_bandwidths(d + offset, 10.0, method=method)
    np.testing.assert_allclose(np.log(shifted.betas), np.log(base.betas), rtol=0, atol=1e-9)
    np.testing.assert_allclose(shifted.affinities, base.affinities, rtol=0, atol=1e-9)


@every_method
@every_path
def test_slightly_negative_squared_distances(companions, method, twin):
    """Cancellation may leave d < 0: not clamped, which would make false ties."""
    d = among([-3e-13, -1e-13, 0.0, 1e-13, 4e-13, 9e-13], companions)
    solution = ck.solve_bandwidths(d, 2.5, method=method)
    assert solution.converged.all()
    assert solution.affinities[0, 0] > solution.affinities[0, 1] > solution.affinities[0, 2]
    assert abs(twin.entropy(solution.affinities)[0] - np.log(2.5)) <= 1e-10


# NaN, infinities, missing neighbours


@every_method
@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("column", [0, 4, 9])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (-np.inf, "-inf"), (np.inf, "inf")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_cannot_be_are_errors_naming_the_row(dtype, value, word, column, n, method):
    d = np.sort(np.random.default_rng(0).random((n, 10)), axis=1).astype(dtype)
    d[2, column] = value
    with pytest.raises(ValueError, match=rf"row 2 .*{word}"):
        ck.solve_bandwidths(d, 3.0, method=method)
    if value != np.inf:
        with pytest.raises(ValueError, match=r"row 2 .*NaN or -inf"):
            ck.solve_bandwidths(d, 3.0, method=method, allow_missing=True)


@every_method
@every_path
@pytest.mark.parametrize("places", [[5], [5, 6, 7], [0], [0, 3, 7]])
def test_missing_neighbours(places, companions, method):
    """allow_missing: inf gets affinity 0 and the rest is solved as if it were not there."""
    full = np.array([1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 4.5, 6.0])
    d = among(full, companions)
    d[0, places] = np.inf
    solution = ck.solve_bandwidths(d, 3.0, method=method, allow_missing=True)
    expected = ck.solve_bandwidths(np.delete(full, places)[None], 3.0)
    assert solution.converged.all()
    assert (solution.affinities[0, places] == 0.0).all()
    rest = np.delete(solution.affinities[0], places)
    np.testing.assert_allclose(rest, expected.affinities[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(solution.betas[0], expected.betas[0], rtol=1e-9)


@every_method
@every_path
@pytest.mark.parametrize("present", [1, 2, 3])
def test_too_few_neighbours_present(present, companions, method):
    """No more than K neighbours present: uniform over them, σ = inf, not converged."""
    row = [0.5, 1.0, 2.0, 3.0, 5.0, 6.0]
    row[present:] = [np.inf] * (6 - present)
    d = among(row, companions)
    with pytest.warns(NoBandwidthWarning, match=f"1 of {1 + companions}.*no more neighbours"):
        solution = ck.solve_bandwidths(d, 3.0, method=method, allow_missing=True)
    expected = [1.0 / present] * present + [0.0] * (6 - present)
    np.testing.assert_array_equal(solution.affinities[0], expected)
    assert solution.betas[0] == 0.0
    assert solution.sigmas[0] == np.inf
    assert solution.status[0] == Status.TOO_FEW


@every_method
@every_path
def test_all_neighbours_missing(companions, method, solve):
    """Nothing to distribute over: a row of zeros, not NaN."""
    d = among([np.inf] * 6, companions)
    solution = solve(d, 3.0, method=method, allow_missing=True)
    np.testing.assert_array_equal(solution.affinities[0], 0.0)
    assert not solution.converged[0]
    assert_sane(solution)


@pytest.mark.parametrize(
    "order", ["auto", "bounds", "density", "gap", "neighbor", "mst", "given", "oracle", "random"]
)
def test_missing_neighbours_in_every_order(order, twin, solve):
    """No order trips over inf, nor says a word (RuntimeWarning) about it."""
    d = np.sort(np.random.default_rng(0).random((60, 12)), axis=1)
    indices = np.argsort(np.random.default_rng(1).random((60, 60)), axis=1)[:, :12]
    d[::3, 9:], indices[::3, 9:] = np.inf, -1
    d[7], indices[7] = np.inf, -1
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        solution = solve(d, 4.0, order=order, indices=indices, allow_missing=True, random_state=0)
    assert_sane(solution)
    assert (~solution.converged).sum() == 1
    entropy = twin.entropy(solution.affinities[solution.converged])
    assert np.abs(entropy - np.log(4.0)).max() <= 1e-10


# Sizes


@every_method
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 100])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33])
def test_row_lengths_around_whole_blocks(k, n, dtype, method, twin):
    """Rows of a block, one less and one more: nothing is read or written beside them."""
    d = np.sort(np.random.default_rng(k).random((n, k)), axis=1).astype(dtype)
    perplexity = 1.0 + 0.6 * (k - 1)
    solution = ck.solve_bandwidths(d, perplexity, method=method)
    assert solution.converged.all()
    assert np.abs(twin.entropy(solution.affinities) - np.log(perplexity)).max() <= 1e-10
    expected = twin.softmax(d, solution.betas)
    np.testing.assert_allclose(solution.affinities, expected, rtol=0, atol=1e-12)


def test_one_neighbour_has_no_perplexity_to_choose():
    """k = 1: every K from 1 on is too many."""
    with pytest.raises(ValueError, match=r"perplexity=1 .*got 1;"):
        ck.solve_bandwidths([[1.0], [2.0]], 1.0)


@every_method
@pytest.mark.parametrize(
    "order", ["auto", "bounds", "density", "gap", "neighbor", "mst", "given", "oracle", "random"]
)
def test_no_rows_at_all(order, method):
    """Nothing in, nothing out."""
    d = np.empty((0, 5))
    solution = ck.solve_bandwidths(d, 2.0, method=method, order=order, indices=d.astype(int))
    assert solution.affinities.shape == (0, 5)
    assert solution.betas.shape == solution.sigmas.shape == (0,)
    assert solution.perplexities.shape == (0,)
    lower, upper = ck.bandwidth_bounds(d, 2.0)
    assert lower.shape == upper.shape == (0,)
    assert entropy_derivatives(d, 0.0).shape == (0, 4)


def test_no_rows_and_no_perplexities():
    assert ck.solve_bandwidths(np.empty((0, 5)), np.empty(0)).betas.shape == (0,)
