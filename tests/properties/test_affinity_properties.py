"""Properties of entropic affinities that hold for every row of squared distances."""

from __future__ import annotations

import sys
import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import closeknit as ck
from closeknit.affinities import entropy_derivatives
from closeknit.exceptions import NoBandwidthWarning

METHODS = ("auto", "newton", "halley", "euler", "bisection", "brent", "ridders")
quick = settings(max_examples=60, deadline=None)
thorough = settings(max_examples=300, deadline=None)

#: How far below k (and above 1) the perplexity lies, as a share.
shares = st.floats(0.01, 0.99)
#: Multiples of 2^-10 with ties and zeros: sums and differences of these are exact.
levels = st.integers(0, 1 << 14).map(lambda i: i / 1024.0)
methods = st.sampled_from(METHODS)


#: Rows of squared distances of many shapes, by name.
SHAPES = {
    "uniform": lambda rng, size: rng.random(size),
    "lognormal": lambda rng, size: rng.lognormal(sigma=rng.uniform(0.1, 8.0), size=size),
    "chi-square": lambda rng, size: rng.chisquare(rng.integers(1, 2000), size=size),
    "crowded": lambda rng, size: rng.random(size) ** rng.uniform(1.0, 30.0),
    "cauchy": lambda rng, size: rng.standard_cauchy(size) ** 2,
    "two scales": lambda rng, size: rng.random(size) + 100.0 * (rng.random(size) < rng.random()),
    "integers": lambda rng, size: np.round(rng.random(size) * rng.integers(3, 1000)),
    "levels": lambda rng, size: (
        rng.random(size) + 10.0 ** rng.integers(-3, 4) * rng.integers(0, 4, size=size)
    ),
}


def rows_of(elements, min_k=3, max_k=40, max_n=4):
    return st.tuples(st.integers(1, max_n), st.integers(min_k, max_k)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=elements)
    )


def perplexity_for(d, share):
    return 1.0 + share * (d.shape[1] - 1.0)


def solve(d, perplexity, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoBandwidthWarning)
        return ck.solve_bandwidths(d, perplexity, n_jobs=1, **options)


def entropy(p):
    return -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=1)


def many_rows(seed, n=64, k=30):
    """Rows enough for the regression, so that "auto" takes its fast path."""
    rng = np.random.default_rng(seed)
    d = np.sort(rng.gamma(rng.uniform(0.5, 20.0), size=(n, k)), axis=1)
    return np.maximum(np.round(d * 1024.0), 1.0) / 1024.0


def assert_distribution(solution):
    """Finite, non-negative, rows sum to 1."""
    assert np.isfinite(solution.affinities).all()
    assert (solution.affinities >= 0.0).all()
    np.testing.assert_allclose(solution.affinities.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert not np.isnan(solution.betas).any()
    assert not np.isnan(solution.sigmas).any()
    assert (solution.betas >= 0.0).all()
    assert (solution.sigmas >= 0.0).all()


@thorough
@given(d=rows_of(st.just(0.0) | st.floats(1e-80, 1e200)), share=shares, method=methods)
@example(d=np.zeros((1, 5)), share=0.5, method="auto")
@example(d=np.array([[0.0, 0.0, 5e-324]]), share=0.9, method="auto")
@example(d=np.array([[0.0, 1.0, 1.0, 1.0]]), share=0.01, method="brent")
def test_any_finite_distances_give_a_distribution(d, share, method):
    """Never an endless loop, never NaN: a distribution whatever the ties, zeros and outliers."""
    solution = solve(d, perplexity_for(d, share), method=method)
    assert_distribution(solution)
    assert (solution.evaluations <= 400).all()


@thorough
@given(d=rows_of(st.floats(0.0, sys.float_info.max)), share=shares, method=methods)
@example(d=np.array([[0.0, 1.0, 2.0, 3.0, 1e300]]), share=0.25, method="brent")
@example(d=np.array([[0.0, 1e-300, 2e-300, 3e-300, 1e300]]), share=0.25, method="auto")
def test_any_finite_distances_at_all_give_a_distribution(d, share, method):
    """The same over the whole range of a double."""
    assert_distribution(solve(d, perplexity_for(d, share), method=method))


@thorough
@given(d=rows_of(levels), share=shares, method=methods)
def test_rows_with_a_root_have_the_perplexity(d, share, method):
    """|H − log K| ≤ 1e-10 exactly for the rows with m < K, however many ties there are."""
    perplexity = perplexity_for(d, share)
    solution = solve(d, perplexity, method=method)
    assert_distribution(solution)
    ties = (d == d.min(axis=1, keepdims=True)).sum(axis=1)
    root = ties < perplexity
    np.testing.assert_array_equal(solution.converged, root)
    error = entropy(solution.affinities[root]) - np.log(perplexity)
    assert np.abs(error).max(initial=0.0) <= 1e-10


@thorough
@given(
    seed=st.integers(0, 2**32),
    shape=st.sampled_from(sorted(SHAPES)),
    share=shares,
    k=st.integers(3, 90),
)
def test_the_fast_path_is_exact_whatever_the_shape(seed, shape, share, k):
    """|H − log K| ≤ 1e-10 for every row that claims to have converged."""
    rng = np.random.default_rng(seed)
    d = np.sort(SHAPES[shape](rng, (300, k)), axis=1)
    perplexity = perplexity_for(d, share)
    solution = solve(d, perplexity)
    assert_distribution(solution)
    error = entropy(solution.affinities[solution.converged]) - np.log(perplexity)
    assert np.abs(error).max(initial=0.0) <= 1e-10


@thorough
@given(d=rows_of(st.floats(0.0, 1e6)), log_beta=st.floats(-60.0, 60.0))
def test_entropy_lies_between_log_m_and_log_k(d, log_beta):
    """log m ≤ H ≤ log k and H falls with β."""
    H, slope = entropy_derivatives(d, log_beta, n_jobs=1)[:, :2].T
    ties = (d == d.min(axis=1, keepdims=True)).sum(axis=1)
    assert (np.log(ties) - 1e-12 <= H).all()
    assert (np.log(d.shape[1]) + 1e-12 >= H).all()
    assert (slope <= 1e-12).all()
    assert (entropy_derivatives(d, log_beta + 0.5, n_jobs=1)[:, 0] <= H + 1e-12).all()


@quick
@given(d=rows_of(levels), share=shares, exponent=st.integers(-400, 400), method=methods)
def test_scaling_by_powers_of_two_to_the_bit(d, share, exponent, method):
    """Distances × 2^s give σ × 2^s and the same affinities, bit for bit."""
    perplexity = perplexity_for(d, share)
    base = solve(d, perplexity, method=method)
    scaled = solve(np.ldexp(d, 2 * exponent), perplexity, method=method)
    assert base.affinities.tobytes() == scaled.affinities.tobytes()
    np.testing.assert_array_equal(np.ldexp(scaled.sigmas, -exponent), base.sigmas)
    np.testing.assert_array_equal(np.ldexp(scaled.betas, 2 * exponent), base.betas)
    np.testing.assert_array_equal(scaled.evaluations, base.evaluations)


@quick
@given(seed=st.integers(0, 1000), share=shares, exponent=st.integers(-400, 400))
def test_scaling_by_powers_of_two_to_the_bit_on_the_fast_path(seed, share, exponent):
    """The same with rows enough for the regression, whose fit must scale to the bit too."""
    d = many_rows(seed)
    perplexity = perplexity_for(d, share)
    base = solve(d, perplexity)
    scaled = solve(np.ldexp(d, 2 * exponent), perplexity)
    assert base.affinities.tobytes() == scaled.affinities.tobytes()
    np.testing.assert_array_equal(np.ldexp(scaled.sigmas, -exponent), base.sigmas)


@quick
@given(seed=st.integers(0, 1000), share=shares, log_scale=st.floats(-200.0, 200.0))
def test_scaling_by_any_number(seed, share, log_scale):
    """Distances × α give σ × α to 1e-12, beside what rounding α d itself costs."""
    d = many_rows(seed)
    perplexity, scale = perplexity_for(d, share), np.exp(log_scale)
    base = solve(d, perplexity, tol=1e-14)
    scaled = solve(d * scale**2, perplexity, tol=1e-14)
    # Near k the root is flat: rounding of H by 1e-15 moves log β by 1e-15 / |H'|.
    ok = base.converged
    slope = np.abs(entropy_derivatives(d[ok], np.log(base.betas[ok]), n_jobs=1)[:, 1])
    ratio = np.abs(scaled.sigmas[ok] / (base.sigmas[ok] * scale) - 1.0)
    assert (ratio <= 1e-12 + 1e-14 / slope).all()
    np.testing.assert_allclose(scaled.affinities, base.affinities, rtol=0, atol=1e-12)


@quick
@given(d=rows_of(levels), share=shares, shift=st.integers(0, 1 << 20), method=methods)
def test_shifting_all_squared_distances_changes_nothing(d, share, shift, method):
    """Adding a constant (exactly) gives the same bits."""
    perplexity = perplexity_for(d, share)
    base, shifted = (solve(x, perplexity, method=method) for x in (d, d + float(shift)))
    assert base.affinities.tobytes() == shifted.affinities.tobytes()
    np.testing.assert_array_equal(base.betas, shifted.betas)


@quick
@given(seed=st.integers(0, 1000), share=shares, shift=st.integers(0, 1 << 20))
def test_shifting_changes_nothing_on_the_fast_path(seed, share, shift):
    d = many_rows(seed)
    perplexity = perplexity_for(d, share)
    base, shifted = (solve(x, perplexity) for x in (d, d + float(shift)))
    np.testing.assert_allclose(shifted.affinities, base.affinities, rtol=0, atol=1e-10)
    np.testing.assert_allclose(np.log(shifted.betas), np.log(base.betas), rtol=0, atol=1e-9)


@quick
@given(seed=st.integers(0, 1000), share=shares, data=st.data())
def test_permuting_the_rows_permutes_the_answers(seed, share, data):
    """To the bit from one start; to the tolerance if the start is fitted to the rows."""
    d = many_rows(seed)
    order = np.array(data.draw(st.permutations(range(len(d)))))
    perplexity = perplexity_for(d, share)
    base = solve(d, perplexity)
    assume(base.start.ranks)
    same_start = solve(d[order], perplexity, order=base.start)
    assert base.affinities[order].tobytes() == same_start.affinities.tobytes()
    assert base.sigmas[order].tobytes() == same_start.sigmas.tobytes()
    own_start = solve(d[order], perplexity)
    np.testing.assert_allclose(np.log(own_start.betas), np.log(base.betas[order]), atol=1e-9)


@quick
@given(d=rows_of(levels), share=shares, method=methods, seed=st.integers(0, 1000))
def test_permuting_the_neighbours_permutes_the_affinities(d, share, method, seed):
    """The order of a row's neighbours does not matter."""
    perplexity = perplexity_for(d, share)
    order = np.random.default_rng(seed).permutation(d.shape[1])
    base, permuted = (solve(x, perplexity, method=method) for x in (d, d[:, order]))
    np.testing.assert_array_equal(base.status, permuted.status)
    np.testing.assert_allclose(permuted.affinities, base.affinities[:, order], atol=1e-9)
    ok = base.converged
    np.testing.assert_allclose(np.log(permuted.betas[ok]), np.log(base.betas[ok]), atol=1e-8)


@quick
@given(seed=st.integers(0, 1000), share=shares)
def test_permuting_the_neighbours_of_many_rows(seed, share):
    """The same where some rows of a large set are not sorted."""
    d = many_rows(seed, n=256)
    perplexity = perplexity_for(d, share)
    mixed = d.copy()
    mixed[1::8] = np.random.default_rng(seed).permuted(d[1::8], axis=1)
    base, permuted = (solve(x, perplexity) for x in (d, mixed))
    assert_distribution(permuted)
    np.testing.assert_array_equal(base.status, permuted.status)
    ok = base.converged
    np.testing.assert_allclose(np.log(permuted.betas[ok]), np.log(base.betas[ok]), atol=1e-8)
    np.testing.assert_allclose(
        np.sort(permuted.affinities, axis=1), np.sort(base.affinities, axis=1), atol=1e-9
    )


@quick
@given(d=rows_of(levels), shares=st.lists(shares, min_size=2, max_size=6), method=methods)
def test_beta_falls_as_the_perplexity_rises(d, shares, method):
    """β is a decreasing function of K (β = inf where K does not exceed the ties)."""
    varied = d[d.min(axis=1) < d.max(axis=1)]
    assume(len(varied) > 0)
    betas = [
        solve(varied, perplexity_for(varied, share), method=method).betas
        for share in sorted(shares)
    ]
    for small, large in pairwise(betas):
        assert (small >= large * (1.0 - 1e-8)).all()


@quick
@given(d=rows_of(levels), share=shares)
def test_nearer_neighbours_never_get_less(d, share):
    p = solve(d, perplexity_for(d, share)).affinities
    order = np.argsort(d, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(p, order, axis=1), axis=1) <= 1e-15).all()


@quick
@given(d=rows_of(levels), share=shares, kind=st.sampled_from(["sharp", "paper"]))
def test_bounds_bracket_the_root(d, share, kind):
    """Sharp bounds always; the paper's if the smallest distance is unique."""
    perplexity = perplexity_for(d, share)
    solution = solve(d, perplexity)
    lower, upper = ck.bandwidth_bounds(d, perplexity, kind=kind)
    unique = (d == d.min(axis=1, keepdims=True)).sum(axis=1) == 1
    ok = solution.converged & (unique | (kind == "sharp"))
    assert (lower[ok] <= solution.betas[ok] * (1 + 1e-8)).all()
    assert (solution.betas[ok] <= upper[ok] * (1 + 1e-8)).all()


@quick
@given(d=rows_of(levels, max_n=3), share=shares, missing=st.integers(1, 5))
def test_missing_neighbours_might_as_well_not_be_there(d, share, missing):
    perplexity = perplexity_for(d, share)
    base = solve(d, perplexity)
    padded = np.hstack([d, np.full((len(d), missing), np.inf)])
    got = solve(padded, perplexity, allow_missing=True)
    np.testing.assert_array_equal(got.status, base.status)
    assert (got.affinities[:, d.shape[1] :] == 0.0).all()
    np.testing.assert_allclose(got.affinities[:, : d.shape[1]], base.affinities, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
@quick
@given(d=rows_of(levels, max_n=1), share=shares, n_jobs=st.integers(2, 4))
def test_threads_change_no_bit(method, d, share, n_jobs):
    perplexity = perplexity_for(d, share)
    repeated = np.repeat(d, 3, axis=0)
    one = solve(repeated, perplexity, method=method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoBandwidthWarning)
        many = ck.solve_bandwidths(repeated, perplexity, method=method, n_jobs=n_jobs)
    assert one.affinities.tobytes() == many.affinities.tobytes()
    np.testing.assert_array_equal(one.betas, many.betas)
