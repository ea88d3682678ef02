"""Bandwidths of adversarial rows against mpmath: by every method, alone and among other rows."""

import warnings

import mpmath as mp
import numpy as np
import pytest

import closeknit as ck
from closeknit.affinities import Status
from closeknit.exceptions import NoBandwidthWarning

METHODS = ("auto", "newton", "halley", "euler", "bisection", "brent", "ridders")
LARGEST = 1.7e308
EDGES = [0.0, 5e-324, 1e-320, 1e-308, 1e-300, 1e-160, 1e-100, 1.0, 1e100, 1e154, 1e300, LARGEST]


def regular(rng, k):
    return rng.random(k)


def any_magnitude(rng, k):
    return 10.0 ** rng.uniform(-307, 307, k)


def edges(rng, k):
    """The ends of the range of numbers, and what lies between."""
    return rng.choice(EDGES, k) * rng.choice([1.0, rng.random()])


def close(rng, k):
    """Far away, and nearly at the same distance."""
    return 10.0 ** rng.uniform(0, 12) * (1.0 + rng.integers(0, 50, k) * 2.0**-52)


def gap(rng, k):
    """Some very near, the others very far."""
    d = rng.random(k) * 10.0 ** rng.uniform(-300, -1)
    d[rng.random(k) < 0.5] = 10.0 ** rng.uniform(0, 308)
    return d


def ties(rng, k):
    return rng.integers(0, 4, k).astype(float)


def float32(rng, k):
    return (rng.random(k) * 10.0 ** rng.uniform(-30, 30)).astype(np.float32)


SHAPES = [regular, any_magnitude, edges, close, gap, ties, float32]


def draw_perplexity(rng, k):
    """Anywhere, or just beside a whole number, where ties decide."""
    if rng.random() < 0.5:
        return rng.uniform(1.0, k)
    beside = 1.0 + rng.choice([-1, 0, 1]) * 10.0 ** rng.uniform(-16, -1)
    return float(np.clip(rng.integers(1, k + 1) * beside, 1.0, np.nextafter(k, 0.0)))


def solve(d, perplexity, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoBandwidthWarning)
        return ck.solve_bandwidths(d, perplexity, **options)


def check_row(d, perplexity, solution, row):
    """Affinities are those of the bandwidth, and their entropy is log K; or there is no root."""
    p, sigma = solution.affinities[row], float(solution.sigmas[row])
    m = int((d == d.min()).sum())
    case = (d.tolist(), perplexity, Status(solution.status[row]).name, sigma)
    if m == len(d):
        assert solution.status[row] == Status.CONSTANT, case
        return
    if solution.status[row] == Status.TIES:
        gaps = d - d.min()
        tied = gaps <= 1e-300 * np.sort(gaps)[int(perplexity)]  # as documented
        assert tied.sum() >= perplexity, case
        np.testing.assert_array_equal(p, tied / tied.sum(), str(case))
        return
    assert m < perplexity, case
    assert solution.status[row] == Status.CONVERGED, case
    with mp.workdps(50):
        exact = [mp.mpf(x) for x in d.tolist()]
        shift = min(exact)
        # σ, not β: for the smallest distances β is beyond the range of numbers.
        weights = [mp.exp((shift - x) / (2 * mp.mpf(sigma) ** 2)) for x in exact]
        q = [w / sum(weights) for w in weights]
        entropy = -sum(x * mp.log(x) for x in q if x > 0)
        error = float(abs(entropy - mp.log(mp.mpf(float(perplexity)))))
    assert error <= 1.0001e-10, (*case, error)
    np.testing.assert_allclose(p, [float(x) for x in q], rtol=0, atol=1e-12, err_msg=str(case))
    beta = float(solution.betas[row])
    if np.isfinite(beta) and beta > 1e-300:
        assert abs(2.0 * (beta * sigma) * sigma - 1.0) < 1e-12, case


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_against_mpmath(shape, method, rounds):
    rng = np.random.default_rng([SHAPES.index(shape), METHODS.index(method)])
    for _ in range(rounds):
        k = int(rng.choice([2, 3, 4, 5, 8, 9, 17, 33, 64]))
        row, perplexity = shape(rng, k), draw_perplexity(rng, k)
        row = row if rng.random() < 0.3 else np.sort(row)
        check_row(row, perplexity, solve(row[None], perplexity, method=method), 0)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_among_others_against_mpmath(shape, rounds):
    """As above, where the fast path sees many rows at once; a few of them are checked."""
    rng = np.random.default_rng(SHAPES.index(shape))
    for _ in range(max(1, rounds // 4)):
        k, n = int(rng.choice([3, 8, 17, 40])), 120
        d = np.stack([shape(rng, k) for _ in range(n)])
        perplexity = np.array([draw_perplexity(rng, k) for _ in range(n)])
        solution = solve(d, perplexity, n_jobs=2)
        for row in rng.integers(n, size=5):
            check_row(d[row], perplexity[row], solution, row)
