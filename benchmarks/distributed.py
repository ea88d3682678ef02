"""A Dask cluster on this machine beside one process: seconds, bytes, memory and the map itself.

``python benchmarks/distributed.py 1000000`` fits a mixture of so many points with one process and
with two workers of 2 GB each, until the maps have converged; give several numbers of points, or
names of files in the folder ``--data``, of which ``name:20000`` takes so many rows. Both sides use
the same two cores: one process with a thread on each, or workers of one thread each beside the
calling process. Seconds of the processor are those of all processes together, which on a machine
that others use too are what can be compared. ``--iterations`` cuts the fits short; half of them are
exaggerated. ``--whole`` is the number of points beyond which a task is sent the positions of those
that its edges touch only, if another than that of the library.

Below the table stand, as JSON, the processor seconds of each stage, from which
``benchmarks/scale.py`` takes its constants, together with those of ``distributed_parts.py``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import resource
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext
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


def load(name: str, folder: str) -> np.ndarray:
    """Return a mixture of so many points, or rows of a file."""
    if name.isdecimal():
        return mixture(int(name))
    name, _, rows = name.partition(":")
    X = np.load(Path(folder, f"{name}.npz"))["X"]
    X = X.reshape(len(X), -1).astype(np.float32, copy=False)
    if rows:
        X = X[np.sort(np.random.default_rng(0).choice(len(X), int(rows), replace=False))]
    return X


class Clock:
    """Seconds of each stage, by what is reported; on the clock, and of processors."""

    def __init__(self, processors) -> None:
        self.processors, self.seconds, self.cpu = processors, {}, {}
        self.stage, self.since = "neighbours", (time.perf_counter(), processors())

    def __call__(self, event: object) -> None:
        """See an event; another stage than before ends that one."""
        stage = getattr(event, "stage", "")
        if stage == self.stage:
            return
        now = (time.perf_counter(), self.processors())
        for kept, begin, end in zip((self.seconds, self.cpu), self.since, now, strict=True):
            kept[self.stage] = kept.get(self.stage, 0.0) + end - begin
        self.stage, self.since = stage, now


class Sent:
    """Bytes that this process hands to workers: of all, and of the largest array."""

    def __init__(self) -> None:
        self.total, self.largest = 0, 0

    @contextmanager
    def counted(self):
        """Count what is sent meanwhile."""
        from closeknit.distributed.cluster import Cluster

        def send(cluster: Cluster, arrays: list[np.ndarray]) -> list[object]:
            sizes = [array.nbytes for array in arrays]
            self.total, self.largest = self.total + sum(sizes), max(self.largest, *sizes)
            return plain(cluster, arrays)

        plain, Cluster.send = Cluster.send, send
        yield
        Cluster.send = plain


def measure(
    name: str, folder: str, n_workers: int, iterations: int | None, whole: int | None
) -> dict[str, object]:
    """Fit once, in this process (no workers) or on a cluster, and say what it took."""
    from closeknit.quality import neighbor_recall

    X = load(name, folder)
    settings = {"random_state": 0}
    if iterations is not None:
        stages = ((12.0, iterations // 2),)
        settings |= {"exaggeration": stages, "max_iter": iterations - iterations // 2, "tol": 0.0}
    with cluster_of(n_workers, whole) as client:
        sent = Sent()
        with sent.counted() if n_workers else nullcontext():
            model, clock = timed_fit(X, client, settings)
        found = {"root": peak()}
        if client is not None:
            by_workers = sum(client.run(bytes_sent).values())
            found |= {
                "peaks": sorted(client.run(peak).values()),
                "spilled": sum(client.run(bytes_spilled).values()),
                "certified": model.affinity_estimator_.recall_,
                # What workers sent, to each other and here, and the positions they were sent.
                "bytes": (by_workers + sent.total) / model.n_iter_,
                "positions": sent.total / model.n_iter_,
                "of a task": sent.largest,
            }
        Y = np.asarray(model.embedding_)
    entropy = model.objective_ - model.kl_divergence_
    return {
        "points": len(X),
        "workers": n_workers,
        "iterations": model.n_iter_,
        "seconds": clock.seconds,
        "processors": clock.cpu,
        "kl": model.kl_divergence_,
        # After each iteration of the last stage.
        "path": dict(zip(*last_stage(model.history_, entropy), strict=True)),
        "kept": neighbor_recall(X, Y, 15, sample=2000, random_state=0),
        **found,
    }


def last_stage(history: object, entropy: float) -> tuple[list[int], list[float]]:
    """Return numbers of iterations, and the divergences after them."""
    rows = history.lam == history.lam[-1]
    return history.iteration[rows].tolist(), (history.objective[rows] - entropy).tolist()


@contextmanager
def cluster_of(n_workers: int, whole: int | None = None):
    """Start worker processes, if any."""
    if not n_workers:
        yield None
        return
    import distributed

    from closeknit.distributed import parts
    from closeknit.distributed.cluster import WORKER_ENVIRONMENT

    parts._WHOLE = parts._WHOLE if whole is None else whole
    os.environ.update(WORKER_ENVIRONMENT)  # as `closeknit embed --workers` starts them
    local = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=MEMORY
    )
    with local, distributed.Client(local) as client:
        client.run(importlib.import_module, "closeknit.distributed")  # as here, before the clock
        yield client


def timed_fit(X: np.ndarray, client: object, settings: dict) -> tuple[object, Clock]:
    """Fit t-SNE here, or on a cluster."""
    import closeknit as ck

    def processors() -> float:
        others = () if client is None else client.run(time.process_time).values()
        return time.process_time() + sum(others)

    home = ck
    if client is not None:
        import closeknit.distributed as home
    clock = Clock(processors)
    with listening(clock):
        model = home.TSNE(**settings).fit(X)
    clock(None)
    return model, clock


def bytes_sent(dask_worker: object) -> int:
    """Bytes that a worker has sent to other processes."""
    return dask_worker.transfer_outgoing_bytes_total


def bytes_spilled(dask_worker: object) -> float:
    """Bytes that a worker has written to disk for want of memory."""
    return dask_worker.data.cumulative_metrics["disk-write", "bytes"]


def peak() -> int:
    """Bytes of memory that this process has taken at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


HEADS = (
    *("data", "points", "workers", "s", "of one process", "to the graph", "iterations"),
    *("an iteration, s", "of one process", "processors, s", "of one process"),
    *("MB sent per iteration", "of it positions by this process", "to a task at most"),
    *("peaks of workers, GB", "spilled", "of this process"),
    *("neighbours found", "KL", "of one process, after as many iterations", "recall@15"),
)


def describe(name: str, row: dict, alone: dict) -> str:
    """Return a row of the table; `alone` is that of one process."""
    total, alone_total = (sum(one["seconds"].values()) for one in (row, alone))
    cpu, alone_cpu = (sum(one["processors"].values()) for one in (row, alone))
    each, alone_each = (one["seconds"]["optimisation"] / one["iterations"] for one in (row, alone))
    # Maps still change when they count as finished, and not all do so after as many iterations.
    both = str(min(row["iterations"], alone["iterations"]))
    divergence = row["path"][both] / alone["path"][both]
    peaks = ", ".join(f"{value / 1e9:.2f}" for value in row.get("peaks", ()))
    cells = (
        *("mixture" if name.isdecimal() else name, f"{row['points']:,}", row["workers"] or "none"),
        *(f"{total:.0f}", f"{total / alone_total:.2f}"),
        *(f"{total - row['seconds']['optimisation']:.0f}", row["iterations"]),
        *(f"{each:.3f}", f"{each / alone_each:.2f}", f"{cpu:.0f}", f"{cpu / alone_cpu:.2f}"),
        *(f"{row.get(what, 0.0) / 1e6:.1f}" for what in ("bytes", "positions", "of a task")),
        *(peaks, f"{row.get('spilled', 0.0) / 1e9:.2f}"),
        *(f"{row['root'] / 1e9:.2f}", f"{row['certified']:.4f}" if row["workers"] else ""),
        *(f"{row['kl']:.4f}", f"{divergence:.4f}", f"{row['kept']:.4f}"),
    )
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["1000000"])
    parser.add_argument("--data", default=".", help="folder of the files")
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 2])
    parser.add_argument("--iterations", type=int)
    parser.add_argument("--whole", type=int, help="most points whose positions go whole to a task")
    parser.add_argument("--one", action="store_true", help="measure once and print JSON")
    given = parser.parse_args()
    if given.one:
        found = measure(given.sets[0], given.data, given.workers[0], given.iterations, given.whole)
        print(json.dumps(found))
    else:
        print_table(given)


def print_table(given: argparse.Namespace) -> None:
    """Measure each set and number of workers in a process of its own."""
    print("| " + " | ".join(HEADS) + " |")
    print("| --- " * len(HEADS) + "|", flush=True)
    stages = []
    for name in given.sets:
        alone = None
        for workers in given.workers:
            command = [sys.executable, __file__, name, "--workers", str(workers), "--one"]
            command += ["--data", given.data]
            for option in ("iterations", "whole"):
                if (value := getattr(given, option)) is not None:
                    command += [f"--{option}", str(value)]
            text = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
            row = json.loads(text.splitlines()[-1])
            alone = alone or row
            print(describe(name, row, alone), flush=True)
            processors = {stage: round(value, 2) for stage, value in row["processors"].items()}
            facts = {what: row[what] for what in ("points", "workers", "iterations")}
            stages.append(json.dumps({"data": name, **facts, "processors": processors}))
    print("\n```\n" + "\n".join(stages) + "\n```")


if __name__ == "__main__":
    main()
