"""Workers that die, come late or are of another number: the bits of the map stay the same."""

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import closeknit.distributed as ckd  # noqa: E402
from closeknit.distributed import parts  # noqa: E402
from closeknit.exceptions import ClusterError  # noqa: E402
from closeknit.objectives import base  # noqa: E402
from closeknit.progress import listening  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::closeknit.exceptions.CloseknitWarning")

STAGES = ("neighbours", "merging", "affinities", "symmetrisation", "strongest edges")
SETTINGS = {"perplexity": 5, "exaggeration": ((12, 10),), "max_iter": 15, "tol": 0.0}


def fit(X, **options):
    settings = {**SETTINGS, "cell_size": 150, "random_state": 0, **options}
    import dask.array as da

    return ckd.TSNE(**settings).fit(da.from_array(X, chunks=(100, -1)))


@pytest.fixture(scope="module", autouse=True)
def _small_parts():
    """Several tasks per evaluation, and points numbered anew, although there are few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_LEAST", 100)
        patch.setattr(base, "MANY_POINTS", 100)
        yield


@pytest.fixture(scope="module")
def undisturbed(inside, points):
    """The map of two workers that are threads of this process."""
    return fit(points[:600]).embedding_.compute()


@pytest.mark.parametrize("n_workers", [1, 3])
def test_the_number_of_workers_changes_no_bit(cluster_of, points, undisturbed, n_workers):
    with cluster_of(n_workers) as cluster, distributed.Client(cluster):
        np.testing.assert_array_equal(fit(points[:600]).embedding_.compute(), undisturbed)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_positions_of_the_points_that_edges_touch_change_no_bit(
    cluster_of, killer_of, points, undisturbed, monkeypatch, n_workers
):
    """Also if one of two workers is killed."""
    monkeypatch.setattr(parts, "_WHOLE", 100)
    with cluster_of(n_workers) as cluster, distributed.Client(cluster) as client:
        killer = killer_of(client, (), iterations=(5, 24) if n_workers > 1 else ())
        with listening(killer):
            Y = fit(points[:600]).embedding_.compute()
        assert not killer.iterations
    np.testing.assert_array_equal(Y, undisturbed)


@pytest.mark.slow
def test_workers_killed_in_every_stage_change_no_bit(cluster_of, killer_of, points, undisturbed):
    with cluster_of(2) as cluster, distributed.Client(cluster) as client:
        killer = killer_of(client, STAGES, iterations=(5, 24))
        with listening(killer):
            Y = fit(points[:600]).embedding_.compute()
        assert set(killer.killed) == {*STAGES, "iteration 5", "iteration 24"}
    np.testing.assert_array_equal(Y, undisturbed)


def test_a_worker_that_joins_late_is_used(cluster_of, points, undisturbed):
    with cluster_of(1) as cluster, distributed.Client(cluster) as client:
        (first,) = client.scheduler_info(n_workers=-1)["workers"]
        held = {}

        def join(event):
            if event.stage == "optimisation" and event.done == 3:
                cluster.scale(2)
                client.wait_for_workers(2, timeout=300)

            if event.stage == "optimisation" and event.done == 25:
                held.update(client.has_what())

        with listening(join):
            Y = fit(points[:600]).embedding_.compute()
    (late,) = set(held) - {first}
    assert any("part" in key for key in held[late])
    np.testing.assert_array_equal(Y, undisturbed)


def test_a_lost_scheduler_is_told_and_the_run_goes_on_elsewhere(cluster_of, points, tmp_path):
    X, cluster = points[:600], cluster_of(1)

    def lose(event):
        if event.stage == "optimisation" and event.done == 22:
            cluster.close()

    gone = pytest.raises(ClusterError, match=r"the scheduler is gone.*resume=True")
    with distributed.Client(cluster), listening(lose), gone:
        fit(X, folder=tmp_path, checkpoint=10)
    with cluster_of(1) as other, distributed.Client(other):
        again = fit(X, folder=tmp_path, resume=True)
        assert again.n_iter_ == 5  # of 25, the last written after 20
        assert np.isfinite(again.embedding_.compute()).all()
