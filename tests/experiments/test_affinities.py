"""The reproduction of the affinities paper."""

from __future__ import annotations

import re
import socket

import numpy as np
import pytest

from closeknit.affinities import (
    Bounds,
    Density,
    Given,
    RowProblem,
    Traversal,
    bandwidth_bounds,
    solve_bandwidths,
)
from closeknit.experiments import affinities as experiment
from closeknit.experiments import data, reproduce
from closeknit.experiments.affinities import algorithm, claims, methods, orders, pixels, rules
from closeknit.experiments.affinities.steps import lower_bounds
from closeknit.neighbors import find_neighbors


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("an experiment went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def found():
    return find_neighbors(data.digits(400).X, 250, neighbors="exact")


@pytest.fixture(scope="module")
def row(found):
    return found.sq_distances[7]


class FromStarts:
    """An order in which rows start from given β."""

    def __init__(self, betas):
        self.betas = betas

    def plan(self, problem):
        n = len(self.betas)
        no_parent = np.full(n, -1, dtype=np.int64)
        return Traversal(np.arange(n), no_parent, np.array([0, n]), np.array([0, 1]), self.betas)


@pytest.mark.parametrize("method", algorithm.METHODS)
def test_steps_are_those_of_the_library(row, method):
    """From the same start within the same bounds both take as many steps; a pass follows each."""
    (lower,), (upper,) = bandwidth_bounds(row[None], 30.0, kind="sharp")
    starts = np.geomspace(lower, upper, 1001)[1:-1]  # the library does not start on the bounds
    rows = np.tile(row, (len(starts), 1))
    counts = algorithm.algorithm_1(rows, 30.0, method, np.log(starts), kind="sharp")
    solution = solve_bandwidths(rows, 30.0, method=method, order=FromStarts(starts))
    total = counts.iterations + 1
    assert len(np.unique(total)) > 2
    # Where a step lands on the edge of the tolerance or the bounds, rounding decides.
    assert np.mean(solution.evaluations == total) > 0.995
    assert np.abs(solution.evaluations - total).max() <= 1
    assert counts.within(2) == np.mean(counts.iterations <= 2)


def test_starts_in_order(found):
    """A chain starts each row from the root of the one before it, other orders from the bounds."""
    problem = RowProblem(found.sq_distances, np.array([30.0]), found.indices)
    betas = solve_bandwidths(found.sq_distances, 30.0).betas
    chain = algorithm.starts_in_order(Given(), problem, betas)
    assert np.isnan(chain[0])
    np.testing.assert_array_equal(chain[1:], np.log(betas[:-1]))
    assert np.isnan(algorithm.starts_in_order(Bounds(), problem, betas)).all()
    middle = algorithm.starts_in_order(algorithm.MiddleOfBounds(), problem, betas)
    lower, upper = bandwidth_bounds(found.sq_distances, 30.0, kind="paper")
    np.testing.assert_allclose(middle, 0.5 * (np.log(lower) + np.log(upper)), rtol=1e-12)


def test_both_lower_bounds_of_the_theorem(row):
    larger = np.maximum(*lower_bounds(row, np.array([5.0, 30.0, 100.0])))
    expected = [bandwidth_bounds(row[None], K, kind="paper")[0][0] for K in (5.0, 30.0, 100.0)]
    np.testing.assert_allclose(larger, expected, rtol=1e-12)


def test_sequence_kept():
    """All of it on two circles, hardly any in random places."""
    angle = np.linspace(0.0, 2.0 * np.pi, 36, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    assert rules.kept_sequence(np.vstack([circle, circle + 5.0]), 36) == 1.0
    rng = np.random.default_rng(0)
    assert rules.kept_sequence(rng.permutation(np.vstack([circle, circle + 5.0])), 36) < 0.2


def test_jumps_between_a_point_and_its_predecessor(found):
    problem = RowProblem(found.sq_distances, np.array([30.0]), found.indices)
    betas = np.exp(np.arange(400.0))
    assert orders.mean_jump(betas, Given().plan(problem)) == pytest.approx(1.0)
    assert orders.mean_jump(np.ones(400), Density().plan(problem)) == 0.0


def test_measures_of_a_made_up_map():
    """β that is the lightness itself correlates with it completely."""
    points = data.photograph(30)
    light = points.X[:, 2]
    assert pixels.measures(points, light + 1.0)["lightness"] == pytest.approx(1.0)
    assert pixels.measures(points, -light)["lightness"] == pytest.approx(-1.0)


@pytest.mark.parametrize("own", [True, False])
def test_trial_counts_iterations(found, own):
    """Of Algorithm 1 in the paper's orders; the passes of the others are the library's."""
    trial = methods.try_methods("digits", found, own=own)
    ours = ["ours: gap", "ours: regression"]
    assert trial.orders == ["oracle", "D_K", "MST", "bounds", "random", *ours]
    near = methods.with_itself(found) if own else found
    d = near.sq_distances
    assert (d[:, 0] == 0.0).all() == own
    problem = RowProblem(d, np.array([30.0]), near.indices)
    betas = solve_bandwidths(d, 30.0).betas
    starts = algorithm.starts_in_order(Density(), problem, betas)
    again = algorithm.algorithm_1(d, 30.0, "newton", starts)
    assert trial.iterations("newton", "D_K") == again.iterations.mean()
    assert trial.iterations("euler", "oracle") < trial.iterations("euler", "random")
    # With the point itself, d_1 = 0, and both orders are the same.
    assert (trial.iterations("euler", "D_K") == trial.iterations("euler", "ours: gap")) == own
    brent = solve_bandwidths(d, 30.0, method="brent").evaluations.mean()
    assert trial.passes["brent"] == brent
    some = methods.try_methods("digits", found, own=own, every=3)
    np.testing.assert_array_equal(
        some.counts["halley", "MST"].steps, trial.counts["halley", "MST"].steps[::3]
    )


def test_claims_are_judged_in_both_readings(found):
    """A claim that holds in one reading only is not comparable, and says so."""
    pair = tuple(methods.try_methods("digits", found, own=own) for own in (True, False))
    lines = claims.figure_6_claims([pair, pair, pair])
    assert len(lines) == 15
    for line in lines:
        assert "**Not comparable** (" in line or "**Agrees**:" in line or "**Disagrees**:" in line
    better = [t.iterations("euler", "D_K") < t.iterations("euler", "MST") for t in pair]
    line = next(line for line in lines if "slightly better" in line)
    verdicts = {(True, True): "Agrees", (False, False): "Disagrees"}
    assert f"**{verdicts.get(tuple(better), 'Not comparable')}**" in line


def test_more_neighbours_make_fewer_trees(found):
    rows = [line.split(" | ") for line in claims.tree_table(found)[0].splitlines()[2:]]
    trees = [int(row[1]) for row in rows]
    assert trees == sorted(trees, reverse=True)
    assert trees[-1] == 1


@pytest.mark.slow
def test_quick_reproduction(tmp_path, no_network):
    """Every figure is there and named, and the page's numbers are those computed again."""
    page = reproduce("affinities", tmp_path, quick=True)
    text = page.read_text(encoding="utf-8")
    assert "this was a quick run" in text
    for number in range(1, 7):
        picture = tmp_path / f"affinities-figure-{number}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 200_000
        assert f"## Figure {number}:" in text
        assert f"({picture.name})" in text
    found = find_neighbors(data.digits().X, methods.N_NEIGHBORS, neighbors="exact")
    for own in (True, False):
        again = methods.orders_table(methods.try_methods("digits", found, own=own))
        assert without_seconds(again) in without_seconds(text)


def without_seconds(text):
    return re.sub(r" / \d+\.\d\d(?= \|)", "", text)


def test_interrupt_keeps_what_is_finished(tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(
        experiment, "QUICK", experiment.Scale(image_size=20, n_embedded=60, n_lams=2, max_iter=5)
    )
    monkeypatch.setattr(methods, "try_methods", interrupt)
    with pytest.raises(KeyboardInterrupt):
        reproduce("affinities", tmp_path, quick=True)
    text = (tmp_path / "affinities.md").read_text(encoding="utf-8")
    assert "## Figure 5:" in text
    assert "## Figure 6:" not in text
    assert len(list(tmp_path.glob("affinities-figure-*.png"))) == 5
