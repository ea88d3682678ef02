"""Maps from a cluster: those of one machine, to a new point, and for every model."""

import numpy as np
import pytest

da = pytest.importorskip("dask.array")

import closeknit as ck  # noqa: E402
import closeknit.distributed as ckd  # noqa: E402
from closeknit.distributed import parts  # noqa: E402
from closeknit.objectives import base  # noqa: E402
from closeknit.progress import listening  # noqa: E402
from closeknit.quality import neighbor_recall  # noqa: E402

QUIET = pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")
MODELS = ("TSNE", "SymmetricSNE", "ElasticEmbedding")
SHORT = {"exaggeration": ((12, 10), (3, 10)), "max_iter": 20, "tol": 0.0}


@QUIET
def test_a_map_is_as_good_as_that_of_one_machine(inside, points):
    """Duplicates, outliers and clusters that are far apart included."""
    X = da.from_array(points, chunks=(400, -1))
    many = ckd.TSNE(perplexity=10, random_state=0, cell_size=400).fit(X)
    one = ck.TSNE(perplexity=10, random_state=0, repulsion="grid").fit(points)
    Y = many.embedding_.compute()
    assert many.kl_divergence_ == pytest.approx(one.kl_divergence_, rel=0.01)
    kept = [neighbor_recall(points, map_, 15) for map_ in (Y, one.embedding_)]
    assert kept[0] >= kept[1] - 0.005
    assert many.stopped_because_ == one.stopped_because_
    assert many.affinity_estimator_.recall_ >= 0.99


@pytest.mark.parametrize("name", [*MODELS, "EntropicAffinities", "LaplacianEigenmaps"])
def test_parameters_have_the_defaults_of_one_machine(name):
    many, one = (getattr(home, name)().get_params() for home in (ckd, ck))
    assert {key: many[key] for key in one} == one


@QUIET
@pytest.mark.parametrize("name", ["SymmetricSNE", "ElasticEmbedding"])
def test_other_models_reach_the_objective_of_one_machine(inside, points, name):
    """The elastic embedding finds its λ, too."""
    X = points[:500]
    many = getattr(ckd, name)(perplexity=10, random_state=0, max_iter=200).fit(X)
    one = getattr(ck, name)(perplexity=10, random_state=0, max_iter=200, repulsion="grid").fit(X)
    assert many.lam_ == pytest.approx(one.lam_, rel=0.01)
    assert len(many.path_.results) == len(one.path_.results)
    assert many.embedding_.compute().shape == (500, 2)
    assert many.objective_ == pytest.approx(one.objective_, rel=0.03)


@QUIET
def test_numbering_points_by_their_place_changes_nothing_that_matters(inside, points, monkeypatch):
    """Also when a fit goes on later, with parts that were numbered for the one before.

    Sums in another order differ by rounding, which grows from iteration to iteration.
    """
    settings = {"perplexity": 10, "random_state": 0, **SHORT, "exaggeration": None}
    one = ckd.TSNE(**settings).fit(points[:600])
    monkeypatch.setattr(base, "MANY_POINTS", 100)
    monkeypatch.setattr(parts, "_LEAST", 100)
    many = ckd.TSNE(**settings).fit(points[:600])
    assert many.kl_divergence_ == pytest.approx(one.kl_divergence_, rel=1e-3)
    assert many.optimize(20).kl_divergence_ == pytest.approx(
        one.optimize(20).kl_divergence_, rel=0.01
    )


@QUIET
def test_the_way_to_the_map_is_that_of_one_machine(inside, points, monkeypatch):
    """The same edges attract while λ is small, and the same ones make the factor."""
    monkeypatch.setattr(base, "MANY_POINTS", 100)
    monkeypatch.setattr(parts, "_LEAST", 100)
    X = points[:600]
    settings = {"perplexity": 10, "init": 1e-3 * X[:, :2], "n_jobs": 1, **SHORT}
    one = ck.TSNE(**settings, repulsion="grid", neighbors="exact").fit(X)
    many = ckd.TSNE(**settings, target_recall=1.0).fit(da.from_array(X, chunks=(250, -1)))
    np.testing.assert_allclose(many.history_.objective[:25], one.history_.objective[:25], rtol=1e-5)
    assert many.kl_divergence_ == pytest.approx(one.kl_divergence_, rel=1e-3)


@QUIET
@pytest.mark.parametrize("dimensions", [1, 3])
def test_maps_in_one_and_three_dimensions(inside, points, dimensions):
    model = ckd.TSNE(dimensions, perplexity=5, random_state=0, **SHORT).fit(points[:300])
    assert model.embedding_.shape == (300, dimensions)
    assert np.isfinite(model.embedding_.compute()).all()


@QUIET
def test_new_points_are_placed_as_on_one_machine(inside, points):
    fitted, new = points[:600], points[600:640]
    many = ckd.TSNE(perplexity=10, target_recall=1.0, **SHORT).fit(fitted)
    Y = many.embedding_.compute()
    one = ck.TSNE(perplexity=10, neighbors="exact", repulsion="grid", **SHORT).fit(fitted)
    one.embedding_, one.new_point_repulsion_ = Y, many.new_point_repulsion_
    expected = one.transform(new)
    np.testing.assert_allclose(many.transform(new), expected, atol=1e-4)
    placed = many.transform(da.from_array(new, chunks=(15, -1)))
    np.testing.assert_array_equal(placed.compute(), many.transform(new))
    np.testing.assert_array_equal(many.transform(fitted[:5]), Y[:5])


def test_eigenmaps_from_landmarks(inside, points):
    X = points[:600]
    everything = ckd.LaplacianEigenmaps(perplexity=10, n_landmarks=600).fit(X)
    one = ck.LaplacianEigenmaps(perplexity=10).fit(X)
    np.testing.assert_allclose(everything.embedding_.compute(), one.embedding_, atol=1e-6)
    some = ckd.LaplacianEigenmaps(perplexity=10, n_landmarks=300, random_state=0)
    some.fit(da.from_array(X, chunks=(250, -1)))
    Y = some.embedding_.compute()
    assert Y.shape == (600, 2)
    np.testing.assert_array_equal(some.transform(X[:20]), Y[:20])


@QUIET
def test_an_interrupt_keeps_the_map(inside, points):
    def interrupt(event):
        if event.stage == "optimisation" and event.done == 15:
            raise KeyboardInterrupt

    with listening(interrupt):
        model = ckd.TSNE(perplexity=5, random_state=0).fit(points[:300])
    assert model.stopped_because_ == "interrupted"
    assert np.isfinite(model.embedding_.compute()).all()


@QUIET
def test_a_run_goes_on_where_it_was_written(inside, points, tmp_path):
    def fail(event):
        if event.stage == "optimisation" and event.done == 33:
            raise RuntimeError("stop here")

    X = points[:400]
    model = ckd.TSNE(perplexity=5, random_state=0, folder=tmp_path, checkpoint=10)
    with listening(fail), pytest.raises(RuntimeError, match="stop here"):
        model.fit(X)
    stages = []
    with listening(lambda event: stages.append(event.stage)):
        again = model.set_params(resume=True).fit(X)
    assert not {"blocks", "neighbours", "symmetrisation"} & set(stages)
    whole = ckd.TSNE(perplexity=5, random_state=0).fit(X)
    assert again.n_iter_ <= whole.n_iter_ - 20
    assert again.kl_divergence_ == pytest.approx(whole.kl_divergence_, rel=0.03)


def test_resuming_another_run_is_refused(inside, points, tmp_path):
    ckd.EntropicAffinities(5, folder=tmp_path).fit(points[:300])
    with pytest.raises(ValueError, match="the run to resume has n_neighbors=15"):
        ckd.EntropicAffinities(7, folder=tmp_path, resume=True).fit(points[:300])
    with pytest.raises(ValueError, match="resume=True needs the folder="):
        ckd.EntropicAffinities(7, resume=True).fit(points[:300])


@pytest.mark.parametrize(
    "wrong",
    [
        {"affinity": "precomputed"},
        {"init": "diffusion"},
        {"repulsion": "exact"},
        {"n_components": 4},
        {"metric": "manhattan"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_what_is_not_distributed_is_said(inside, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ckd.TSNE(perplexity=5, **wrong).fit(np.random.default_rng(0).normal(size=(60, 6)))
