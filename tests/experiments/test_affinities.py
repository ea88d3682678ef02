"""The reproduction of the affinities paper."""

from __future__ import annotations

import re
import socket

import numpy as np
import pytest

from closeknit.affinities import Traversal, bandwidth_bounds, solve_bandwidths
from closeknit.experiments import affinities as experiment
from closeknit.experiments import data, reproduce
from closeknit.experiments.affinities import methods, orders, pixels, roots, rules
from closeknit.neighbors import find_neighbors


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("an experiment went to the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def row():
    found = find_neighbors(data.digits(400).X, 250, neighbors="exact")
    return found.sq_distances[7]


class FromStarts:
    """An order in which rows start from given β."""

    def __init__(self, betas):
        self.betas = betas

    def plan(self, problem):
        n = len(self.betas)
        no_parent = np.full(n, -1, dtype=np.int64)
        return Traversal(np.arange(n), no_parent, np.array([0, n]), np.array([0, 1]), self.betas)


@pytest.mark.parametrize("method", roots.METHODS)
def test_steps_are_those_of_the_library(row, method):
    """From the same start within the same bounds both take as many steps; a pass follows each."""
    count = roots.count_steps(row, 30.0, method, kind="sharp")
    inner = slice(1, -1)  # the library does not start on the bounds themselves
    starts = np.exp(count.log_betas[inner])
    rows = np.tile(row, (len(starts), 1))
    solution = solve_bandwidths(rows, 30.0, method=method.lower(), order=FromStarts(starts))
    total = (count.steps + count.bisections)[inner] + 1
    assert len(np.unique(total)) > 2
    # Where a step lands on the edge of the tolerance or the bounds, rounding decides.
    assert np.mean(solution.evaluations == total) > 0.995
    assert np.abs(solution.evaluations - total).max() <= 1


def test_both_lower_bounds_of_the_theorem(row):
    larger = np.maximum(*roots._lower_bounds(row, np.array([5.0, 30.0, 100.0])))
    expected = [bandwidth_bounds(row[None], K, kind="paper")[0][0] for K in (5.0, 30.0, 100.0)]
    np.testing.assert_allclose(larger, expected, rtol=1e-12)


def test_sequence_kept():
    """All of it on two circles, hardly any in random places."""
    angle = np.linspace(0.0, 2.0 * np.pi, 36, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    assert rules._kept_sequence(np.vstack([circle, circle + 5.0]), 36) == 1.0
    rng = np.random.default_rng(0)
    assert rules._kept_sequence(rng.permutation(np.vstack([circle, circle + 5.0])), 36) < 0.2


def test_orders_follow_beta():
    square = orders.uniform_square(300)
    assert square.betas.shape == (300,)
    jumps = {name: orders._mean_jump(square.betas, plan) for name, plan in square.plans.items()}
    assert max(jumps["MST"], jumps["D_K"]) < jumps["random"]


def test_measures_of_a_made_up_map():
    """β that is the lightness itself correlates with it completely."""
    points = data.photograph(30)
    light = points.X[:, 2]
    assert pixels.measures(points, light + 1.0)["lightness"] == pytest.approx(1.0)
    assert pixels.measures(points, -light)["lightness"] == pytest.approx(-1.0)


def test_trial_counts_passes():
    found = find_neighbors(data.digits(400).X, 250, neighbors="exact")
    trial = methods.try_methods("digits", found, finders=["newton", "bisection"])
    assert trial.orders == ["oracle", "density", "mst", "bounds", "random", "auto"]
    direct = solve_bandwidths(found.sq_distances, 30.0, method="newton", order="density")
    assert trial.passes["newton", "density"] == direct.evaluations.mean()
    assert set(trial.counts) == {"newton", "bisection", "auto"}
    shares = methods.convergence_table(trial).splitlines()[2]
    expected = np.mean(trial.counts["newton"] <= 4)
    assert shares.split(" | ")[4] == f"{expected:.4f}"


@pytest.mark.slow
def test_quick_reproduction(tmp_path, no_network):
    """Every figure is there and named, and the page's numbers are those computed again."""
    page = reproduce("affinities", tmp_path, quick=True)
    text = page.read_text(encoding="utf-8")
    assert "This was a quick run" in text
    for number in range(1, 7):
        picture = tmp_path / f"affinities-figure-{number}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 200_000
        assert f"## Figure {number}:" in text
        assert f"({picture.name})" in text
    scale = experiment.QUICK
    digits = data.digits(scale.n_embedded)
    outcomes = rules.compare_rules(digits, scale.n_lams, scale.max_iter)
    assert rules.describe(digits, outcomes) in text
    assert orders.describe(orders.uniform_square()) in text
    found = find_neighbors(data.digits().X, methods.N_NEIGHBORS, neighbors="exact")
    again = methods.try_methods("digits", found)
    assert methods.convergence_table(again) in text
    assert without_seconds(methods.methods_table(again)) in without_seconds(text)


def without_seconds(text):
    return re.sub(r" / \d+\.\d\d", "", text)


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
