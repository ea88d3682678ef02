import os
import signal

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")

import dask  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def _workers_are_replaced_however_often():
    """Dask gives up a worker that is being replaced 15 seconds after it was lost once before."""
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}):
        yield


def local_cluster(n_workers, *, processes=True, **options):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=processes,
        dashboard_address=":0",
        memory_limit="1GiB" if processes else 0,
        silence_logs=50,
        **options,
    )


@pytest.fixture(scope="session")
def inside():
    """A cluster whose workers are threads of this process: quick, and enough for most."""
    with local_cluster(2, processes=False) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def points():
    """Clusters of different sizes and widths, with duplicates and outliers."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=4.0, size=(12, 10))
    X = centers[rng.integers(0, 12, 1500)] + rng.normal(size=(1500, 10))
    X[700:720] = X[3]
    X[-3:] *= 20.0
    return X


@pytest.fixture
def cluster_of():
    """A function that starts a cluster of so many processes."""
    return local_cluster


class Killer:
    """Ends a worker by SIGKILL once in each of some stages, while its tasks are running."""

    def __init__(self, client, stages, iterations=()):
        self.client = client
        self.left = set(stages)
        self.iterations = set(iterations)
        self.killed = []

    def __call__(self, event):
        if event.stage in self.left and event.done == 0 and event.total > 0:
            self.left.discard(event.stage)
            self.kill(event.stage)
        elif event.stage == "optimisation" and event.done in self.iterations:
            self.iterations.discard(event.done)
            self.kill(f"iteration {event.done}")

    def kill(self, what):
        # The one that was killed before has been replaced.
        self.client.wait_for_workers(2, timeout=300)
        victims = self.client.run(os.getpid)
        os.kill(min(victims.values()), signal.SIGKILL)
        self.killed.append(what)


@pytest.fixture
def killer_of():
    return Killer
