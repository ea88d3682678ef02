"""The sparsification experiment: a quick run, and its parts on small data."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from closeknit.experiments import EXPERIMENTS
from closeknit.experiments import sparsification as experiment
from closeknit.graphs import sparsity


def test_registry():
    """Every experiment is a module with a function `reproduce`."""
    for module in EXPERIMENTS.values():
        assert callable(import_module(module).reproduce)


@pytest.fixture(scope="module")
def problem():
    return experiment.Problem("blobs", *make_blobs(60, centers=2, random_state=0))


def test_votes_for_a_sparsity(problem):
    """No other number of votes comes closer."""
    votes = problem.votes_for(0.9)
    reached = [sparsity(problem.with_fewer_votes(v)) for v in range(1, 120)]
    assert abs(reached[votes - 1] - 0.9) == min(abs(s - 0.9) for s in reached)
    curve = experiment.sparsity_by_votes(problem)
    np.testing.assert_allclose(curve, reached[: len(curve)], rtol=0, atol=1e-12)


def test_accuracy_matches_clusters_at_best(problem):
    assert experiment.accuracy(problem.graph, problem.y) > 0.9
    assert experiment.accuracy(problem.graph, 1 - problem.y) > 0.9


def test_evaluate(problem):
    for curve in experiment.evaluate(problem, (0.8, 0.9)):
        np.testing.assert_allclose(curve.sparsities, (0.8, 0.9), atol=0.01)
        assert all(np.isfinite(curve.d1))
        if curve.method != "resistance":  # which draws other edges, with other weights
            assert curve.d2[1] >= curve.d2[0]


def test_dip_experiment_counts():
    count = experiment.dip_experiment(5.0, repetitions=10)
    assert count.larger_dip > 5
    assert count.lower_p + count.equal_p <= 10


@pytest.mark.slow
def test_quick_reproduction(tmp_path):
    page = experiment.reproduce(tmp_path / "new", quick=True)
    text = page.read_text(encoding="utf-8")
    for number in range(1, 8):
        figure = page.parent / f"figure-{number}.png"
        assert figure.read_bytes().startswith(b"\x89PNG")
        assert f"figure-{number}.png" in text
    assert "nan" not in text
    assert text.count("olds") >= 10
