"""The engine: parameters in, frames out."""

import threading

import numpy as np
import pytest
from scipy.stats import entropy

import closeknit as ck
from closeknit.explore import Engine, Parameters
from closeknit.explore.building import Builder
from closeknit.explore.code import code_of
from closeknit.explore.worker import OutdatedError
from closeknit.graphs import affinity_graph
from closeknit.objectives.base import AtLambda
from closeknit.progress import interruptible, poll


@pytest.fixture
def engine(digits):
    made = Engine(digits[0], Parameters(), max_perplexity=50)
    made.start()
    yield made
    made.stop()


def settled(engine):
    return engine.wait(lambda: engine.settled)


def again(engine, X):
    """The map that the engine's code makes."""
    names = {"data": X}
    exec(code_of("X = data", engine), names)
    return names["Y"]


def test_a_map_settles_where_the_estimator_does(engine, digits):
    """The first run is the estimator's own, to the bit."""
    engine.play()
    assert settled(engine)
    reference = ck.TSNE(random_state=0).fit(digits[0])
    np.testing.assert_array_equal(engine.positions, reference.embedding_)
    assert engine.frame.divergence == pytest.approx(reference.kl_divergence_)
    assert engine.frame.iteration == reference.n_iter_
    assert 0.4 < engine.frame.kept < 1.0
    assert [row[0] for row in engine.history] == list(range(1, reference.n_iter_ + 1))


def test_new_parameters_go_on_from_the_map(engine, digits):
    engine.play()
    assert settled(engine)
    before, number = engine.positions, engine.frame.iteration
    engine.pause()
    engine.set(Parameters(perplexity=10.0))
    engine.step(3)
    assert engine.wait(lambda: engine.frame.iteration == number + 3)
    moved = np.linalg.norm(engine.positions - before, axis=1)
    assert 0.0 < moved.max() < np.ptp(before)
    rows = [engine.builder.affinities_at(engine.parameters.perplexity, i) for i in range(5)]
    perplexities = [np.exp(entropy(row)) for row in rows]
    np.testing.assert_allclose(perplexities, 10.0, rtol=1e-8)


def test_a_graph_that_nobody_waits_for_is_given_up(digits):
    """Parameters that changed while it was made end it between two steps."""
    builder = Builder(digits[0], 90)
    builder.search()
    model = builder.build(Parameters(perplexity=20.0))
    for steps in range(2):
        answers = iter([False] * steps)

        def check(answers=answers):
            if next(answers, True):
                raise OutdatedError

        with pytest.raises(OutdatedError), interruptible(check):
            builder.build(Parameters(perplexity=10.0), model)
    same = builder.build(Parameters(perplexity=20.0, dof=0.5), model)
    assert same.graph is model.graph, "only the perplexity asks for another graph"


@pytest.mark.parametrize("evaluation", [1, 5])
def test_what_has_changed_ends_an_iteration_before_it_is_done(
    engine, digits, monkeypatch, evaluation
):
    """Whatever computes is left; what was not finished is no part of the map, nor of its code."""
    engine.step(8)
    assert engine.wait(lambda: engine.frame.iteration == 8 and engine.stage == "paused")
    evaluate, counts = AtLambda.value_and_gradient, []

    def interrupted(self, X):
        counts.append(1)
        if len(counts) == evaluation:
            engine.set(Parameters(perplexity=15.0))
            poll()  # as every loop of the core does
        return evaluate(self, X)

    monkeypatch.setattr(AtLambda, "value_and_gradient", interrupted)
    engine.set(Parameters(perplexity=20.0))
    engine.step(10)
    assert engine.wait(lambda: engine.frame.iteration == 18)
    engine.stop()
    phases = {
        phase.parameters.perplexity: sum(n for _, n in phase.stages) for phase in engine.phases
    }
    # The first evaluation is of the map as it was.
    done = max(0, evaluation - 2)
    assert phases == {30.0: 8, **({20.0: done} if done else {}), 15.0: 10 - done}
    np.testing.assert_array_equal(again(engine, digits[0]), engine.positions)


def test_graphs_are_those_of_the_estimator(digits):
    """In one pass over known pairs, or by way of the estimator where those would be too many."""
    paired = Builder(digits[0], 90)
    paired.search()
    for perplexity in (5.0, 17.3, 30.0):
        found = paired.build(Parameters(perplexity=perplexity))
        assert paired._pairs is not None, "from the first graph on"
        options = {"neighbors": paired.neighbors, "n_neighbors": int(np.ceil(3 * perplexity))}
        graph, fitted = affinity_graph(digits[0], ck.TSNE(perplexity=perplexity, **options))
        for name in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(found.graph, name), getattr(graph, name))
        np.testing.assert_array_equal(found.sigmas, fitted.sigmas_)


def test_a_settled_map_follows_new_parameters_by_itself(engine):
    engine.play()
    assert settled(engine)
    count = engine.frame.iteration
    engine.set(Parameters(perplexity=10.0))
    assert engine.wait(lambda: engine.frame.iteration > count)


def test_neighbors_are_searched_once(engine, monkeypatch):
    from closeknit.explore import building

    engine.step()
    assert engine.wait(lambda: engine.frame.iteration == 1)
    monkeypatch.setattr(building, "find_neighbors", None)
    for perplexity in (50.0, 5.0, 20.0):
        engine.set(Parameters(perplexity=perplexity))
        count = engine.frame.iteration
        engine.step()
        assert engine.wait(lambda count=count: engine.frame.iteration > count)
    assert not engine.error


@pytest.mark.parametrize("model", ["tsne", "ssne", "ee"])
def test_the_code_makes_the_same_map(engine, digits, model):
    """A map of several phases is made again by the estimators' public names, to the bit."""
    engine.set(Parameters(model, perplexity=20.0))
    engine.step(30)
    assert engine.wait(lambda: engine.frame.iteration == 30)
    engine.set(Parameters(model, perplexity=40.0, lam=0.5))
    engine.step(7)
    assert engine.wait(lambda: engine.frame.iteration == 37)
    engine.set(Parameters("tsne" if model != "tsne" else "ssne", perplexity=40.0))
    engine.step(4)
    assert engine.wait(lambda: engine.frame.iteration == 41)
    engine.stop()
    np.testing.assert_array_equal(again(engine, digits[0]), engine.positions)


def test_maps_of_many_points_begin_to_move_without_a_factor(engine, digits, monkeypatch):
    """Ten iterations of momentum, then the model's own direction; the code makes both again."""
    from closeknit.explore import engine as module

    engine.step(30)
    assert engine.wait(lambda: engine.frame.iteration == 30)
    monkeypatch.setattr(module, "MANY", 100)
    engine.set(Parameters(perplexity=12.0))
    engine.step(16)
    assert engine.wait(lambda: engine.frame.iteration == 46)
    engine.stop()
    phases = [
        (phase.plain_momentum, sum(count for _, count in phase.stages)) for phase in engine.phases
    ]
    assert phases == [(False, 30), (True, 10), (False, 6)]
    np.testing.assert_array_equal(again(engine, digits[0]), engine.positions)


def test_the_code_makes_the_same_map_of_so_many_points_that_sums_are_on_a_grid(monkeypatch):
    """There, bits depend on how points are numbered, which the first ten iterations do without."""
    from closeknit.explore import engine as module

    X = np.random.default_rng(0).normal(size=(5100, 3)).astype(np.float32)
    monkeypatch.setattr(module, "MANY", 100)
    engine = Engine(X, Parameters(perplexity=5.0), max_perplexity=8)
    engine.start()
    engine.step(12)
    assert engine.wait(lambda: engine.frame.iteration == 12)
    engine.set(Parameters(perplexity=8.0))
    engine.step(14)
    assert engine.wait(lambda: engine.frame.iteration == 26)
    engine.stop()
    assert [phase.plain_momentum for phase in engine.phases] == [False, True, False]
    np.testing.assert_array_equal(again(engine, X), engine.positions)


def test_another_model_takes_the_map_at_its_own_scale(engine):
    """Maps of s-SNE are narrower than t-SNE's; without scaling the first steps would collapse."""
    engine.play()
    assert settled(engine)
    wide, count = np.ptp(engine.positions), engine.frame.iteration
    engine.pause()
    engine.set(Parameters("ssne"))
    engine.step()
    assert engine.wait(lambda: engine.frame.iteration == count + 1)
    engine.stop()
    assert engine.phases[-1].scale < 0.6
    assert np.ptp(engine.positions) < wide


def test_pause_holds_and_play_goes_on(engine):
    engine.play()
    assert engine.wait(lambda: engine.frame.iteration > 5)
    engine.pause()
    assert engine.wait(lambda: engine.stage == "paused")
    held = engine.frame
    assert not engine.wait(lambda: engine.frame is not held, timeout=0.2)
    engine.play()
    assert engine.wait(lambda: engine.frame.iteration > held.iteration)


def test_a_settled_map_goes_on_if_asked_again(engine):
    engine.play()
    assert settled(engine)
    count = engine.frame.iteration
    engine.play()
    assert engine.wait(lambda: engine.frame.iteration > count + 60)


def test_restart_begins_at_the_start(engine, digits):
    engine.play()
    assert settled(engine)
    first = engine.positions
    engine.set(Parameters(perplexity=12.0))
    engine.restart()
    assert settled(engine)
    reference = ck.TSNE(perplexity=12.0, random_state=0).fit_transform(digits[0])
    np.testing.assert_array_equal(engine.positions, reference)
    assert not np.array_equal(first, reference)


def test_stopping_ends_the_thread_and_keeps_the_map(engine):
    before = threading.active_count()
    engine.play()
    assert engine.wait(lambda: engine.frame.iteration > 3)
    engine.stop()
    assert threading.active_count() == before - 1
    held = engine.frame.iteration
    engine.start()
    assert engine.wait(lambda: engine.frame.iteration > held)


def test_a_search_that_nobody_waits_for_ends(digits):
    """Progress is where a search can be ended; it is heard before the first part."""
    X = np.random.default_rng(0).normal(size=(30_000, 30)).astype(np.float32)
    engine = Engine(X, Parameters(), max_perplexity=50)
    engine.start()
    assert engine.wait(lambda: engine.progress > 0.0)
    engine.stop()
    assert engine.neighbors is None
    assert not engine.error


def test_bandwidths_of_another_perplexity_are_those_of_the_affinities(engine, digits):
    assert engine.wait(lambda: engine.neighbors is not None)
    _, reference = ck.entropic_affinities(digits[0], perplexity=17.0)
    np.testing.assert_allclose(engine.builder.sigmas_at(17.0), reference, rtol=1e-9)


def test_a_perplexity_beyond_the_search_is_refused(engine):
    with pytest.raises(ValueError, match="is above 50, the largest"):
        engine.set(Parameters(perplexity=51.0))


def test_an_error_is_told(digits):
    engine = Engine(digits[0], Parameters(), max_perplexity=50, metric="no such metric")
    engine.start()
    assert engine.wait(lambda: engine.stage == "failed")
    assert "no such metric" in engine.error
    engine.stop()


@pytest.mark.parametrize(
    "given", [{"model": "umap"}, {"perplexity": 0.5}, {"lam": float("nan")}, {"dof": True}]
)
def test_parameters_are_checked(given):
    with pytest.raises(ValueError, match=r"unknown model|must"):
        Parameters(**given)


def test_of_very_many_points_there_is_one_graph_at_a_time(engine, monkeypatch):
    """The old one is gone before the next is made; another model still finds its scale."""
    from closeknit.explore import engine as module

    monkeypatch.setattr(module, "VERY_MANY", 100)
    engine.step(3)
    assert engine.wait(lambda: engine.frame.iteration == 3)
    build, found = engine.builder.build, []

    def noted(wanted, last):
        found.append((engine.model, last))
        return build(wanted, last)

    monkeypatch.setattr(engine.builder, "build", noted)
    engine.set(Parameters("ssne", perplexity=10.0))
    engine.step(2)
    assert engine.wait(lambda: engine.frame.iteration == 5)
    engine.stop()
    assert found == [(None, None)]
    assert engine.phases[-1].scale != 1.0
