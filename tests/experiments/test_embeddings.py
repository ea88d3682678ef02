"""The reproduction of the partial-Hessian paper."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from closeknit.experiments import data, reproduce
from closeknit.experiments import embeddings as experiment
from closeknit.experiments.drawing import new_figure
from closeknit.experiments.embeddings import large, paths, problems, random_starts, same_start
from closeknit.experiments.report import Section
from closeknit.minimize import minimize

TINY = experiment.Scale(5, 2, 3, 3, n_small=80, n_large=200, n_starts=2, n_lams=3, most_minus=1)


@pytest.fixture(scope="module")
def points():
    return data.digits(80)


@pytest.fixture(scope="module")
def models(points):
    return problems.small_models(points)


def test_elastic_embedding_is_scaled_as_its_authors_do(points, models):
    """Σw⁺ = Σw⁻ = 1 with w⁻ proportional to squared distances, summed pair by pair here."""
    model = models[0]
    assert (model.name, model.lam) == ("EE", 100.0)
    W = problems.graph(points, 20.0, None)
    distances = squareform(pdist(points.X, "sqeuclidean"))
    X = model.random_start(1.0, seed=0)
    t = squareform(pdist(X, "sqeuclidean"))
    expected = (W * t).sum() / W.sum() + 100.0 * (distances * np.exp(-t)).sum() / distances.sum()
    assert model.problem.value(X) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("label", ["GD", "FP", "SD", "L-BFGS"])
def test_the_papers_steps_begin_at_one_and_never_grow(models, label):
    start = models[1].random_start(1e-2, seed=0)
    steps = models[1].descend(start, label, problems.methods()[label], 30).history.step[1:]
    assert steps.max() <= 1.0
    assert (np.diff(steps) <= 0.0).all()
    if label == "GD":
        assert steps[0] == 1.0


def test_budgets_are_evaluations(models):
    """A line search may go a little beyond; SD− makes 37 iterations for 70 evaluations."""
    start = models[0].random_start(1e-2, seed=0)
    for label, method in problems.methods().items():
        run = models[0].descend(start, label, method, 14)
        if label == "SD−":
            assert run.n_iter <= 7
        else:
            assert 14 <= run.n_evaluations < 30


def test_seconds_are_processor_time(models):
    """One number per iterate, from 0 on; no more than the process used meanwhile."""
    began = time.process_time()
    run = models[0].descend(models[0].random_start(1e-2, 0), "SD", problems.methods()["SD"], 9)
    used = time.process_time() - began
    seconds = run.history.seconds
    assert len(seconds) == len(run.history.objective)
    assert seconds[0] == 0.0
    assert (np.diff(seconds) >= 0.0).all()
    assert 0.0 < run.seconds == seconds[-1] <= used
    outcome = paths.follow_paths(models[0], 3, max_iter=2)
    assert all(outcome.count(label, "seconds") > 0.0 for label in outcome.paths)


def test_maps_shown_are_those_of_shorter_runs(points, models):
    """Of EE after 20 minutes of the hour, SD's factor included."""
    hour = 24
    outcome = large.run_large(models[0], points.y, hour, most_minus=1)
    start, known = models[0].random_start(large.SIZE, seed=0), problems.methods(large.KAPPA)
    for label in large.SHOWN:
        budget = hour * (1.0 - large.SETUP * ("SD" in label)) - 2 / 3 * hour
        shorter = models[0].descend(start, label, known[label], budget)
        np.testing.assert_array_equal(outcome.maps[label], shorter.X)
        assert outcome.runs[label].n_evaluations > shorter.n_evaluations
    assert outcome.runs["SD−"].n_iter == 1


def test_share_left_of_the_decrease(models):
    """1 at the start, 0 at the lowest end; `reached` names the first iterate below a share."""
    X = same_start.minimum(models[1])
    outcome = same_start.same_start(models[1], X, same_start.STARTS[1], 60)
    gaps = {label: outcome.gaps(label) for label in outcome.runs}
    assert all(gap[0] == pytest.approx(1.0) for gap in gaps.values())
    assert min(gap.min() for gap in gaps.values()) == 0.0
    history = outcome.runs["L-BFGS"].history
    place = int(np.flatnonzero(history.evaluations == outcome.reached("L-BFGS", 1e-2))[0])
    assert gaps["L-BFGS"][place] <= 1e-2 < gaps["L-BFGS"][place - 1]
    assert outcome.reached("GD", -1.0) == np.inf
    assert outcome.distance("L-BFGS") < 1e-3
    minus, sd = outcome.reached("SD−", 1e-1), outcome.reached("SD", 1e-1)
    assert outcome.cost("SD−", "SD", share=1e-1) == pytest.approx((70 / 37 * minus + sd) / 2)


def test_random_starts_are_shared(models):
    """Every method has the same starts, so more evaluations are no higher from any."""
    few, more = (random_starts.random_starts(models[1], 2, n) for n in (4, 8))
    for label in problems.methods():
        assert (more.values[label] <= few.values[label]).all()
        assert len(more.values[label]) == 2
    assert few.first == more.first > max(few.medians.values())


def test_paths_cover_the_papers_values(models):
    outcome = paths.follow_paths(models[0], 3, max_iter=2)
    assert outcome.lams[[0, -1]] == pytest.approx([1e-4, 100.0])
    assert all(len(path.results) == 3 for path in outcome.paths.values())
    assert outcome.count("SD", "n_iter") <= 6
    assert len(outcome.distances("SD")) == len(outcome.paths) - 2


def test_interrupted_runs_are_not_results(models):
    result = minimize(models[0].problem, models[0].random_start(1e-2, 0), max_iter=1)
    assert problems.finished(result) is result
    with pytest.raises(KeyboardInterrupt):
        problems.finished(dataclasses.replace(result, stopped_because="interrupted"))


def test_interrupt_keeps_what_is_finished(tmp_path, monkeypatch):
    """Ctrl-C inside a minimisation, which would swallow it, still ends the experiment."""

    def interrupted(*arguments, **options):
        result = minimize(*arguments, **options)
        return dataclasses.replace(result, stopped_because="interrupted")

    def large_models(points):
        monkeypatch.setattr(problems, "minimize", interrupted)
        return problems.small_models(points)

    monkeypatch.setattr(experiment, "QUICK", TINY)
    monkeypatch.setattr(large, "large_models", large_models)
    for name in ("figure_1", "figure_2"):  # the others are enough
        monkeypatch.setattr(experiment, name, lambda *_: Section([], new_figure(1, 1)[0]))
    with pytest.raises(KeyboardInterrupt):
        reproduce("embeddings", tmp_path, quick=True)
    text = (tmp_path / "embeddings.md").read_text(encoding="utf-8")
    assert "## Figure 3:" in text
    assert "## Figure 4:" not in text
    assert len(list(tmp_path.glob("embeddings-figure-*.png"))) == 3


@pytest.mark.slow
def test_quick_reproduction(tmp_path):
    """Every figure is there and named, and the page's numbers are those computed again."""
    page = reproduce("embeddings", tmp_path, quick=True)
    text = page.read_text(encoding="utf-8")
    assert "this was a quick run" in text
    for number in range(1, 5):
        picture = tmp_path / f"embeddings-figure-{number}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 200_000
        assert f"## Figure {number}:" in text
        assert f"({picture.name})" in text
    scale = experiment.QUICK
    for model in problems.small_models(data.digits(scale.n_small)):
        starts = random_starts.random_starts(model, scale.n_starts, scale.random)
        assert random_starts.runs_table(starts) in text
