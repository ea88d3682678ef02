"""The reproduction of the partial-Hessian paper."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from closeknit.experiments import data, reproduce
from closeknit.experiments import embeddings as experiment
from closeknit.experiments.embeddings import large, paths, problems, random_starts, same_start
from closeknit.minimize import minimize

TINY = experiment.Scale(
    same=experiment.Limits(5),
    random=experiment.Limits(2),
    path=experiment.Limits(3),
    large=experiment.Limits(2),
    n_small=80,
    n_large=200,
    n_starts=2,
    n_lams=3,
)


@pytest.fixture(scope="module")
def models():
    return problems.models_of(data.digits(80))


def test_models_are_those_of_the_paper(models):
    assert [(m.name, m.lam) for m in models] == [("EE", 100.0), ("s-SNE", 1.0)]
    assert models[0].objective.n_samples == 80
    np.testing.assert_array_equal(
        problems.random_start(models[0], 2.0, 3), 2.0 * problems.random_start(models[0], 1.0, 3)
    )


def test_share_left_of_the_decrease(models):
    """1 at the start, 0 at the lowest end; `reached` names the first iterate below a share."""
    outcome = same_start.same_start(models[1], max_iter=60, time_limit=None)
    gaps = {label: outcome.gaps(label) for label in outcome.runs}
    assert all(gap[0] == pytest.approx(1.0) for gap in gaps.values())
    assert min(gap.min() for gap in gaps.values()) == 0.0
    evaluations, seconds = outcome.reached("L-BFGS", 1e-2)
    history = outcome.runs["L-BFGS"].history
    place = int(np.flatnonzero(history.evaluations == evaluations)[0])
    assert gaps["L-BFGS"][place] <= 1e-2 < gaps["L-BFGS"][place - 1]
    assert seconds == history.seconds[place]
    assert outcome.reached("GD", -1.0) is None


def test_random_starts_are_shared(models):
    """Every direction has the same starts, so one more iteration is lower from each."""
    one, two = (
        random_starts.random_starts(models[1], 2, max_iter=n, time_limit=None) for n in (1, 2)
    )
    for label in problems.DIRECTIONS:
        assert (two.values[label] < one.values[label]).all()
        assert (two.iterations[label] == 2).all()
    assert one.first == two.first > max(v.max() for v in one.values.values())


def test_paths_know_whether_they_are_complete(models):
    outcome = paths.follow_paths(models[0], 3, max_iter=2, time_limit=None)
    assert outcome.lams[[0, -1]] == pytest.approx([1e-4, 100.0])
    assert not outcome.complete("SD")  # stopped at two iterations
    assert paths._n_common(outcome) == 3
    stopped = paths.follow_paths(models[0], 3, max_iter=2, time_limit=0.0)
    assert len(stopped.paths["SD"].results) == 1
    assert not stopped.complete("SD")


def test_interrupted_runs_are_not_results(models):
    result = minimize(models[0].problem, problems.random_start(models[0], 1e-2, 0), max_iter=1)
    assert problems.finished(result) is result
    with pytest.raises(KeyboardInterrupt):
        problems.finished(dataclasses.replace(result, stopped_because="interrupted"))


def test_interrupt_keeps_what_is_finished(tmp_path, monkeypatch):
    """Ctrl-C inside a minimisation, which would swallow it, still ends the experiment."""

    def interrupted(*arguments, **options):
        result = minimize(*arguments, **options)
        return dataclasses.replace(result, stopped_because="interrupted")

    monkeypatch.setattr(experiment, "QUICK", TINY)
    monkeypatch.setattr(large, "minimize", interrupted)
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
    assert "This was a quick run" in text
    for number in range(1, 5):
        picture = tmp_path / f"embeddings-figure-{number}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.stat().st_size < 200_000
        assert f"## Figure {number}:" in text
        assert f"({picture.name})" in text
    scale = experiment.QUICK
    for model in problems.models_of(data.digits(scale.n_small)):
        again = same_start.same_start(model, **scale.same.options)
        assert without_seconds(same_start.runs_table(again)) in without_seconds(text)
        starts = random_starts.random_starts(model, scale.n_starts, **scale.random.options)
        assert random_starts.runs_table(starts) in text


def without_seconds(text):
    return re.sub(r" / \d+\.\d\d", "", text)
