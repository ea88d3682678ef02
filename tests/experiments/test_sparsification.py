"""The sparsification experiment: a quick run, and its parts on small data."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from closeknit.affinities import EntropicAffinities
from closeknit.experiments import EXPERIMENTS, reproduce
from closeknit.experiments import sparsification as experiment
from closeknit.experiments.sparsification import bandwidths, curves, dips, parameters
from closeknit.experiments.sparsification.problems import (
    LEVELS,
    METHODS,
    Problem,
    real_problems,
    toy_problems,
)
from closeknit.graphs import sparsity


def test_registry():
    """Every experiment is a module with a function `run`."""
    for module in EXPERIMENTS.values():
        assert callable(import_module(module).run)


@pytest.fixture(scope="module")
def problem():
    return Problem("blobs", *make_blobs(60, centers=2, random_state=0))


def test_votes_for_a_sparsity(problem):
    """No other number of votes comes closer."""
    votes = problem.votes_for(0.9)
    reached = [sparsity(problem.with_fewer_votes(v)) for v in range(1, 120)]
    assert abs(reached[votes - 1] - 0.9) == min(abs(s - 0.9) for s in reached)
    curve = parameters.by_votes(problem)
    np.testing.assert_allclose(curve, reached[: len(curve)], rtol=0, atol=1e-12)


def test_accuracy_matches_clusters_at_best(problem):
    assert curves.accuracy(problem.graph, problem.y) > 0.9
    assert curves.accuracy(problem.graph, 1 - problem.y) > 0.9


def test_evaluate(problem):
    for curve in curves.evaluate(problem, (0.8, 0.9), METHODS):
        np.testing.assert_allclose(curve.sparsities, (0.8, 0.9), atol=0.01)
        assert all(np.isfinite(curve.d1))
        if curve.method != "resistance":  # which draws edges and weighs them anew
            assert curve.d2[1] >= curve.d2[0]


def test_dip_experiment_counts():
    count = dips.dip_experiment(5.0, repetitions=10)
    assert count.larger_dip > 5
    assert count.lower_p + count.equal_p <= 10


def test_bandwidths_are_those_of_the_affinities(problem):
    (mean, deviation), _ = bandwidths.sigmas_by_perplexity(problem, [5.0, 20.0])
    sigmas = EntropicAffinities(5.0, n_neighbors=None).fit(problem.X).sigmas_
    np.testing.assert_allclose([mean, deviation], [sigmas.mean(), sigmas.std()], rtol=1e-9)


def test_real_data_from_a_folder(tmp_path):
    """Digits alone without one; from a folder at most 2,000 points, their classes from 0."""
    assert [problem.name for problem in real_problems(None)] == ["digits"]
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "coil20.npz", X=rng.random((1440, 3)), y=np.repeat(np.arange(20), 72))
    np.savez(tmp_path / "cbmc_cite_pca50.npz", X=rng.random((2100, 3)), y=rng.choice([7, 9], 2100))
    _, coil, cells = real_problems(tmp_path)
    assert (len(coil.X), len(cells.X)) == (1440, 2000)
    assert len(set(coil.y)) == 20
    assert set(cells.y) == {0, 1}


def test_real_table(problem):
    found = curves.evaluate(problem, LEVELS[:2], ("KNN",))
    lines = curves.real_table(found).splitlines()
    assert len(lines) == 4
    assert lines[2].split(" | ")[2] == f"{found[0].accuracies[0]:.3f}"
    assert "blobs KNN" in curves.describe_real({"blobs": found})


@pytest.mark.slow
def test_quick_reproduction(tmp_path):
    """Every figure is there and named, and the page's numbers are those computed again."""
    page = reproduce("sparsification", tmp_path / "new", quick=True)
    text = page.read_text(encoding="utf-8")
    assert "This was a quick run" in text
    for number in range(1, 8):
        picture = page.parent / f"sparsification-figure-{number}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert f"## Figure {number}:" in text
        assert f"({picture.name})" in text
    assert "nan" not in text
    scale = experiment.QUICK
    moons = {"moons": curves.evaluate(toy_problems()[1], scale.levels, scale.methods)}
    ends = curves.describe_distances(moons).splitlines()[1]
    assert ends[ends.index("moons") : ends.index("viewers by votes")] in text
    votes = {problem.name: parameters.by_votes(problem) for problem in toy_problems()}
    assert parameters.describe_votes(votes) in text


def test_interrupt_keeps_what_is_finished(tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(curves, "evaluate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        reproduce("sparsification", tmp_path, quick=True)
    text = (tmp_path / "sparsification.md").read_text(encoding="utf-8")
    assert "## Figure 5:" in text
    assert "## Figure 6:" not in text
