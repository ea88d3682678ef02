"""A Dask cluster on this machine beside one process: seconds, memory, bytes per iteration.

Run ``python benchmarks/distributed.py`` for all, or give numbers of points; ``--max-iter`` is that
of the last stage. Both sides use the same cores: one process with a thread on each, or workers of
one thread each, whose memory is limited.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from closeknit.progress import listening

# This file bears the name of a library, which must be found first.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]

MEMORY = 2 * 2**30  # of each worker


def mixture(n: int, n_features: int = 50, n_clusters: int = 100, rank: int = 8) -> np.ndarray:
    """Clusters of low rank, plus noise, in single precision."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=4.0, size=(n_clusters, n_features))
    bases = rng.normal(size=(n_clusters, rank, n_features))
    label = rng.integers(0, n_clusters, n)
    X = np.empty((n, n_features), dtype=np.float32)
    for c in range(n_clusters):
        rows = np.flatnonzero(label == c)
        X[rows] = centers[c] + rng.normal(size=(len(rows), rank)) @ bases[c]
    X += 0.1 * rng.standard_normal(X.shape, dtype=np.float32)
    return X


class Clock:
    """Seconds of each stage, by what is reported."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.stage, self.since = "", time.perf_counter()

    def __call__(self, event: object) -> None:
        """See an event; another stage than before ends that one."""
        stage = getattr(event, "stage", "")
        now = time.perf_counter()
        if stage != self.stage:
            if self.stage:
                self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + now - self.since
            self.stage, self.since = stage, now


def measure(n: int, n_workers: int, max_iter: int) -> dict[str, object]:
    """Fit once, in this process (no workers) or on a cluster, and say what it took."""
    import closeknit as ck

    X, clock = mixture(n), Clock()
    settings = {"random_state": 0, "max_iter": max_iter, "tol": 0.0}
    began = time.perf_counter()
    found: dict[str, object]
    if not n_workers:
        with listening(clock):
            model = ck.TSNE(**settings).fit(X)
        found = {"peak": peak(), "recall": None, "bytes": 0.0}
    else:
        found, model = on_cluster(X, n_workers, settings, clock)
    seconds = found.pop("seconds", None) or time.perf_counter() - began
    clock(None)
    fitting = clock.seconds.get("optimisation", 0.0)
    return {
        "n": n,
        "workers": n_workers,
        "seconds": seconds,
        "optimisation": fitting,
        "iterations": model.n_iter_,
        "kl": model.kl_divergence_,
        "stages": {name: round(value, 1) for name, value in clock.seconds.items()},
        **found,
    }


def on_cluster(X: np.ndarray, n_workers: int, settings: dict, clock: Clock) -> tuple[dict, object]:
    """Fit on worker processes of this machine."""
    import distributed

    import closeknit.distributed as ckd

    local = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=MEMORY
    )
    with local, distributed.Client(local) as client:
        began = time.perf_counter()
        with listening(clock):
            model = ckd.TSNE(**settings).fit(X)
        seconds = time.perf_counter() - began
        sent = sum(client.run(bytes_sent).values())
        peaks = client.run(peak)
        found = {
            "peak": max(peaks.values()),
            "root": peak(),
            "recall": model.affinity_estimator_.recall_,
            # What workers sent, to each other and here, and the positions that they were sent.
            "bytes": sent / model.n_iter_ + 16.0 * len(X),
            "seconds": seconds,
        }
        return found, model


def bytes_sent(dask_worker: object) -> int:
    """Bytes that a worker has sent to other processes."""
    return dask_worker.transfer_outgoing_bytes_total


def peak() -> int:
    """Bytes of memory that this process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def parts_of_an_iteration(n: int) -> dict[str, float]:
    """Seconds of this process and of all tasks, each on one thread, at a map of so many points."""
    from scipy.sparse import csr_matrix

    from closeknit.kernels import STUDENT
    from closeknit.objectives import Attraction
    from closeknit.repulsion import GridRepulsion

    rng = np.random.default_rng(0)
    X = rng.normal(scale=0.1 * np.sqrt(n), size=(n, 2))
    near = (np.arange(n)[:, None] + rng.integers(1, 1000, (n, 130))) % n
    weights = np.full(130 * n, 1.0 / (130 * n), dtype=np.float32)
    indptr = np.arange(0, 130 * n + 1, 130, dtype=np.int32)
    W = csr_matrix((weights, near.ravel().astype(np.int32), indptr), shape=(n, n))
    attraction, repulsion = Attraction(W, STUDENT, 1), GridRepulsion(0.1, verify=False, n_jobs=1)
    force, best = np.empty_like(X), {"root": np.inf, "tasks": np.inf}
    for _ in range(5):
        began = time.perf_counter()
        shared = repulsion.shared(X, STUDENT)
        middle = time.perf_counter()
        attraction.value(X, force)
        for strip in shared.strips(X, max(1, n // 2**16)):
            shared.of_strip(X, *strip)
        end = time.perf_counter()
        best = {
            "root": min(best["root"], middle - began),
            "tasks": min(best["tasks"], end - middle),
        }
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[70_000, 250_000, 1_000_000])
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--max-iter", type=int, default=100)
    parser.add_argument("--one", action="store_true", help="measure once and print JSON")
    parser.add_argument("--parts", action="store_true", help="time the parts of an iteration")
    given = parser.parse_args()
    if given.parts:
        for n in given.sizes:
            print(n, parts_of_an_iteration(n))
        return
    if given.one:
        print(json.dumps(measure(given.sizes[0], given.workers[0], given.max_iter)))
        return
    heads = ["points", "workers", "seconds", "of one process", "optimising", "per iteration"]
    heads += [
        "MB sent per iteration",
        "peak of a worker, GB",
        "of this process, GB",
        "recall",
        "KL",
    ]
    print("| " + " | ".join(heads) + " |")
    print("| --- " * len(heads) + "|")
    for n in given.sizes:
        alone = None
        for workers in given.workers:
            command = [sys.executable, __file__, str(n), "--workers", str(workers), "--one"]
            command += ["--max-iter", str(given.max_iter)]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            row = json.loads(text.splitlines()[-1])
            alone = alone or row["seconds"]
            each = row["optimisation"] / row["iterations"]
            recall = "" if row["recall"] is None else f"{row['recall']:.4f}"
            worker = f"{row['peak'] / 1e9:.2f}" if workers else ""
            root = (row["root"] if workers else row["peak"]) / 1e9
            print(
                f"| {n:,} | {workers or 'none'} | {row['seconds']:.0f} | "
                f"{row['seconds'] / alone:.2f} | {row['optimisation']:.0f} | {each * 1e3:.0f} ms | "
                f"{row['bytes'] / 1e6:.0f} | {worker} | {root:.2f} | {recall} | {row['kl']:.3f} |",
                flush=True,
            )
            print(f"{n:,}, {workers} workers: {row['stages']}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
