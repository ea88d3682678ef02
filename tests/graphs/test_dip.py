"""The dip: against the linear programme that defines it, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from closeknit.graphs import dip_modes, dip_statistic, dip_test, find_modes


def dip_by_linear_programme(sample):
    """min_G sup|F − G| over distribution functions G that are convex, then concave.

    For each point as the mode, the values of G at the points (two at the mode, where G may jump)
    and the distance D are the unknowns.
    """
    x, counts = np.unique(sample, return_counts=True)
    above = np.cumsum(counts) / len(sample)
    below = above - counts / len(sample)
    k, best = len(x), np.inf
    for mode in range(k):
        rows, limits = [], []
        width = k + 2  # G at the points, a second value at the mode, D

        def at_most(limit, *terms, rows=rows, limits=limits, width=width):
            row = np.zeros(width)
            for place, factor in terms:
                row[place] += factor
            rows.append(row)
            limits.append(limit)

        left = list(range(mode + 1))
        right = list(range(mode + 1, k + 1))  # the mode again, and the points after it
        D = k + 1
        for place, i in zip([*left, *right], [*left, *range(mode, k)], strict=True):
            high = below[i] if place != right[0] else above[i]
            low = above[i] if place != left[-1] else below[i]
            at_most(high, (place, 1.0), (D, -1.0))
            at_most(-low, (place, -1.0), (D, -1.0))
        for a, b in zip(range(k), range(1, k + 1), strict=True):
            at_most(0.0, (a, 1.0), (b, -1.0))
        for places, points, sign in ((left, left, 1.0), (right, list(range(mode, k)), -1.0)):
            for j in range(1, len(places) - 1):
                before = sign / (x[points[j]] - x[points[j - 1]])
                after = sign / (x[points[j + 1]] - x[points[j]])
                at_most(
                    0.0,
                    (places[j], before + after),
                    (places[j - 1], -before),
                    (places[j + 1], -after),
                )
        cost = np.zeros(width)
        cost[D] = 1.0
        best = min(best, linprog(cost, A_ub=np.array(rows), b_ub=limits).fun)
    return best


@pytest.mark.parametrize("seed", range(24))
def test_against_the_definition(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 22))
    sample = [
        rng.random(n),
        rng.normal(size=n),
        np.concatenate([rng.normal(0.0, 1.0, n // 2), rng.normal(5.0, 1.0, n - n // 2)]),
        np.round(3.0 * rng.normal(size=n)),
    ][seed % 4]
    assert dip_statistic(sample)[0] == pytest.approx(dip_by_linear_programme(sample), abs=1e-9)


def test_known_values():
    assert dip_statistic([0.0, 0.0, 1.0, 1.0])[0] == pytest.approx(0.25)
    assert dip_statistic(np.arange(50.0))[0] == pytest.approx(0.01)  # 1/2n, the least there is
    assert dip_statistic([2.0, 2.0, 2.0]) == (0.0, 2.0, 2.0)


def test_shift_and_scale_do_not_matter():
    t = np.random.default_rng(0).normal(size=80)
    assert dip_statistic(4.0 * t)[0] == dip_statistic(t)[0]
    assert dip_statistic(-t)[0] == pytest.approx(dip_statistic(t)[0], abs=1e-15)


def test_p_values_are_uniform_for_uniform_samples():
    """Of uniform samples about a tenth have a p-value below 0.1."""
    rng = np.random.default_rng(5)
    p = [dip_test(rng.random(100)).p_value for _ in range(200)]
    assert 0.03 < np.mean(np.array(p) < 0.1) < 0.2
    assert 0.4 < np.mean(p) < 0.6


def test_dip_test_tells_one_mode_from_two():
    rng = np.random.default_rng(0)
    one = rng.normal(size=300)
    assert dip_test(one).p_value > 0.3
    two = dip_test(np.concatenate([one, one + 8.0]))
    assert two.p_value == 0.0
    assert two.low <= two.high


def test_modes_of_clear_clusters_and_none_of_uniform_ones():
    rng = np.random.default_rng(0)
    two = np.concatenate([rng.normal(0.0, 1.0, 300), rng.normal(12.0, 1.0, 300)])
    found = dip_modes(two)
    for centre in (0.0, 12.0):
        assert np.abs(found - centre).min() < 1.5
    assert dip_modes(rng.random(400)).size == 0
    assert dip_modes(rng.normal(size=400)).size == 1


def test_thresholds_of_the_modes():
    """α₁ near 1 splits what it can; with α₂ near 1 hardly any part is uniform."""
    sample = np.random.default_rng(0).random(200)
    assert dip_modes(sample).size == 0
    assert dip_modes(sample, alpha2=1.0 - 1e-12).size == 1
    assert dip_modes(sample, alpha1=1.0 - 1e-12).size > 1


def test_degenerate_samples():
    assert dip_modes([1.0, 2.0, 3.0]).size == 0
    assert dip_modes([5.0] * 10).tolist() == [5.0]
    for call in (dip_statistic, dip_test):
        with pytest.raises(ValueError, match="the sample is empty"):
            call([])
        with pytest.raises(ValueError, match="NaN or infinite"):
            call([0.0, np.nan])
    for name in ("alpha1", "alpha2"):
        with pytest.raises(ValueError, match=f"{name}=0 must lie between 0 and 1"):
            dip_modes([1.0], **{name: 0})


@pytest.mark.parametrize("call", [dip_test, dip_statistic, dip_modes, find_modes])
def test_a_matrix_is_not_one_sample(call):
    """Its columns would be mixed; a single one is what it looks like. Nor are dates numbers."""
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"one column of numbers, got shape \(50, 2\)"):
        call(rng.normal(size=(50, 2)))
    column = rng.normal(size=(50, 1))
    np.testing.assert_equal(call(column), call(column.ravel()))
    with pytest.raises(ValueError, match="must hold numbers"):
        call(np.arange(9).astype("datetime64[D]"))
