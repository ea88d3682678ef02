"""The sparsification experiment: a quick run, and its parts on small data."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.datasets import make_blobs

from closeknit.affinities import EntropicAffinities
from closeknit.experiments import EXPERIMENTS, reproduce
from closeknit.experiments import sparsification as experiment
from closeknit.experiments.sparsification import curves, dips, graphs
from closeknit.experiments.sparsification.problems import (
    PROGRAM,
    Problem,
    toy_problems,
    votes_for,
)
from closeknit.graphs import laplacian_distance, sparsity


def test_registry():
    """Every experiment is a module with sections."""
    for module in EXPERIMENTS.values():
        assert callable(import_module(module).sections)


@pytest.fixture(scope="module")
def problem():
    X, y = make_blobs(60, centers=2, random_state=0)
    return Problem("circles", X / X.std(axis=0), y)


def test_data_are_standardised_and_drawn_as_in_the_notebook():
    circles, moons, blobs = toy_problems()
    assert [p.name for p in (circles, moons, blobs)] == ["circles", "moons", "blobs"]
    for one in (circles, moons, blobs):
        assert one.X.shape == (400, 2)
        np.testing.assert_allclose(one.X.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(one.X.std(axis=0), 1.0)


def test_reference_graph(problem):
    W = problem.gaussian(0.8).toarray()
    d = problem.X[3] - problem.X[7]
    assert W[3, 7] == pytest.approx(np.exp(-(d @ d) / 0.64))
    assert (np.diag(W) == 0.0).all()


def test_bandwidths_count_the_point_itself(problem):
    sigmas = EntropicAffinities(5.0, n_neighbors=None, include_self=True).fit(problem.X).sigmas_
    np.testing.assert_allclose(problem.sigmas(5.0), sigmas, rtol=1e-9)


def test_bandwidths_of_the_reports_program(problem):
    """Roots of its F, in which two precisions are mixed, by another root finder."""

    def F(log_beta, d):
        beta = np.exp(log_beta)
        p = np.exp(-2.0 * beta * d)
        return beta * (p @ d) / p.sum() + np.log(np.exp(-beta * d).sum()) - np.log(5.0)

    roots = [brentq(F, -10.0, 10.0, args=(row,), xtol=1e-13) for row in problem.sq_distances[:5]]
    expected = np.sqrt(0.5 / np.exp(roots))
    np.testing.assert_allclose(problem.sigmas(5.0, PROGRAM)[:5], expected, rtol=1e-9)


def test_entropic_graph_drops_what_is_below_the_threshold(problem):
    W = problem.entropic(5.0).toarray()
    one_sided = np.exp(-problem.sq_distances / (2.0 * problem.sigmas(5.0)[:, None] ** 2))
    i, j = 2, 11
    kept = [w if w >= 1e-6 else 0.0 for w in (one_sided[i, j], one_sided[j, i])]
    assert W[i, j] == W[j, i] == pytest.approx(np.mean(kept))


def test_votes_for_a_sparsity(problem):
    """No other number of votes comes closer."""
    votes = votes_for(problem.kept_by_votes, 0.9)
    reached = [sparsity(problem.with_fewer_votes(v, 10.0)) for v in range(1, 120)]
    assert abs(reached[votes - 1] - 0.9) == min(abs(s - 0.9) for s in reached)
    by_votes = problem.kept_by_votes
    np.testing.assert_allclose(by_votes, reached[: len(by_votes)], rtol=0, atol=1e-12)


def test_votes_beside_the_reports(problem, monkeypatch):
    """Counted anew: pairs with fewer votes than the report's, under each kernel."""
    monkeypatch.setattr(graphs, "N_VIEWERS", (20,))
    rows = [line.split(" | ") for line in graphs.votes_table(problem).splitlines()[2:]]
    assert len(rows) == 3
    for kernel, row in zip(("gaussian", "student", "epanechnikov"), rows, strict=True):
        votes = problem.look(20, kernel).votes_.toarray()
        pairs = ~np.eye(len(votes), dtype=bool)
        shares = [100 * np.mean(votes[pairs] >= least) for least in (13, 6)]
        assert row[0] == f"| {kernel}"
        assert [float(cell.split(" %")[0]) for cell in row[4:]] == pytest.approx(shares, abs=0.051)


def test_accuracy_matches_clusters_at_best(problem):
    """Which cluster has which number does not matter."""
    graph = problem.gaussian(0.8)
    accuracy = curves.accuracy(graph, problem.y)
    assert 0.8 < accuracy < 1.0
    assert curves.accuracy(graph, 1 - problem.y) == accuracy


def test_curves(problem):
    found = curves.curves_of(problem, (5, 10), 0.8, curves.distances)
    assert set(found) == {"KNN", curves.EQUATIONS, PROGRAM, "viewers"}
    reference = problem.gaussian(0.8)
    expected = laplacian_distance(reference, problem.nearest(18, 0.8), n_eigenvectors=20)
    assert found["KNN"].values[1, 0] == pytest.approx(expected)


def test_curves_are_compared_where_both_reach():
    low = curves.Curve(np.array([0.9, 0.5]), np.array([[2.0, 1.0]]))
    high = curves.Curve(np.array([0.95, 0.7, 0.5]), np.array([[0.0, 1.6, 0.5]]))
    assert low.below(high, 0) == (1, 2)


def test_dip_of_equally_far_clusters_is_larger():
    count = dips.dip_experiment(repetitions=20)
    assert count.larger_dip == 20
    assert count.lower_p + count.equal_p <= 20


@pytest.mark.slow
def test_quick_reproduction(tmp_path):
    """Every figure is there and named, and the page's numbers are those computed again."""
    page = reproduce("sparsification", tmp_path / "new", quick=True)
    text = page.read_text(encoding="utf-8")
    assert "this was a quick run" in text
    for number in range(1, 8):
        picture = page.parent / f"sparsification-figure-{number}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert f"## Figure {number}:" in text
        assert f"({picture.name})" in text
    assert "nan" not in text
    moons, perplexities = toy_problems()[1], experiment.QUICK.perplexities
    found = curves.curves_of(moons, perplexities, 0.8, curves.distances)
    ends = found["KNN"].values[1, [-1, 0]]
    assert "moons, KNN: {:.3g} to {:.3g}".format(*ends) in text


def test_interrupt_keeps_what_is_finished(tmp_path, monkeypatch, problem):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(curves, "curves_of", interrupt)
    monkeypatch.setattr(experiment, "QUICK", experiment.Scale((10, 50), 10))
    monkeypatch.setattr(experiment, "toy_problems", lambda: [problem])
    with pytest.raises(KeyboardInterrupt):
        reproduce("sparsification", tmp_path, quick=True)
    text = (tmp_path / "sparsification.md").read_text(encoding="utf-8")
    assert "## Figure 5:" in text
    assert "## Figure 6:" not in text
