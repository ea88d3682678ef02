"""A Dask cluster on this machine beside one process: seconds, memory, bytes per iteration.

Run ``python benchmarks/distributed.py`` for all, or give numbers of points; half of the
``--iterations`` are exaggerated. Both sides use the same cores: one process with a thread on each,
or workers of one thread each, whose memory is limited. Seconds of the processor are those of all
processes together, which on a machine that others use too are what can be compared.

``--parts`` times what an iteration consists of, and ``--quality FOLDER`` compares whole fits of
data that are there with those of one process.
"""

from __future__ import annotations

import argparse
import json
import resource
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from closeknit import _core
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

    def graph(self, kept: dict[str, float]) -> float:
        """Seconds of all stages but the last."""
        return sum(kept.values()) - kept["optimisation"]


def measure(n: int, n_workers: int, iterations: int) -> dict[str, object]:
    """Fit once, in this process (no workers) or on a cluster, and say what it took."""
    X = mixture(n)
    stages = ((12.0, iterations // 2),)
    settings = {"exaggeration": stages, "max_iter": iterations - iterations // 2, "tol": 0.0}
    with cluster_of(n_workers) as client:
        model, clock = timed_fit(X, client, {**settings, "random_state": 0})
        found = {"peak": peak()}
        if client is not None:
            sent = sum(client.run(bytes_sent).values())
            found = {
                "peaks": sorted(client.run(peak).values()),
                "root": peak(),
                "recall": model.affinity_estimator_.recall_,
                # What workers sent, to each other and here, and the positions they were sent.
                "bytes": sent / model.n_iter_ + 8.0 * len(X),
            }
    return {
        "n": n,
        "workers": n_workers,
        "graph": clock.graph(clock.seconds),
        "each": clock.seconds["optimisation"] / model.n_iter_,
        "cpu graph": clock.graph(clock.cpu),
        "cpu each": clock.cpu["optimisation"] / model.n_iter_,
        "kl": model.kl_divergence_,
        "stages": {name: round(value, 1) for name, value in clock.cpu.items()},
        **found,
    }


@contextmanager
def cluster_of(n_workers: int):
    """Start worker processes, if any."""
    if not n_workers:
        yield None
        return
    import distributed

    local = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=":0", memory_limit=MEMORY
    )
    with local, distributed.Client(local) as client:
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


def compare(name: str, folder: str, rows: int | None, n_workers: int) -> None:
    """Fit data here and on a cluster until they have converged; print how good the maps are."""
    from closeknit.quality import neighbor_recall

    loaded = np.load(Path(folder, f"{name}.npz"))
    X = loaded["X"].reshape(len(loaded["X"]), -1)
    X = X.astype(np.float32, copy=False)
    if rows is not None:
        X = X[np.sort(np.random.default_rng(0).choice(len(X), rows, replace=False))]
    for workers in (0, n_workers):
        with cluster_of(workers) as client:
            model, clock = timed_fit(X, client, {"random_state": 0})
            cpu, Y = sum(clock.cpu.values()), np.asarray(model.embedding_)
        kept = neighbor_recall(X, Y, 15, sample=2000, random_state=0)
        print(
            f"| {name} | {len(X):,} | {workers or 'none'} | {sum(clock.seconds.values()):.0f} | "
            f"{cpu:.0f} | {model.n_iter_} | {model.kl_divergence_:.4f} | {kept:.4f} |",
            flush=True,
        )


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
    from closeknit.linalg import ApproximateCholesky
    from closeknit.objectives import Attraction
    from closeknit.repulsion import GridRepulsion

    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(scale=0.1 * np.sqrt(n), size=(n, 2)), axis=0)
    rng.shuffle(X[:, 1])
    near = (np.arange(n)[:, None] + rng.integers(1, 1000, (n, 130))) % n
    weights = np.full(130 * n, 1.0 / (130 * n), dtype=np.float32)
    indptr = np.arange(0, 130 * n + 1, 130, dtype=np.int32)
    W = csr_matrix((weights, near.ravel().astype(np.int32), indptr), shape=(n, n))
    del near
    attraction, repulsion = Attraction(W, STUDENT, 1), GridRepulsion(0.2, verify=False, n_jobs=1)
    force, shared = np.empty_like(X), repulsion.shared(X, STUDENT)
    strips, sent = shared.strips(X, max(1, n // 2**17)), X.astype(np.float32)
    grid = shared.plan.box

    def spread() -> None:
        points = _core.SortedPoints(_core.Grid(*grid.arguments()), X, 1)
        _core.spread(points, None, np.empty(grid.size, dtype=np.float32), 1)

    def send() -> None:
        with socketpair() as (here, there):
            reader = threading.Thread(target=receive, args=(there, shared.nodes.nbytes))
            reader.start()
            here.sendall(memoryview(shared.nodes).cast("B"))
            reader.join()

    five = W.indices.reshape(n, -1)[:, :5].ravel()
    strong = csr_matrix((weights[: 5 * n], five, np.arange(0, 5 * n + 1, 5)), shape=(n, n))
    factor = ApproximateCholesky((strong + strong.T).tocsr(), np.full(n, 1.0 / n))
    return {
        "step": best(lambda: factor.solve(X)),
        "spread": best(spread),
        "grid to another process": best(send),
        "grid, MB": shared.nodes.nbytes / 1e6,
        "root": best(lambda: repulsion.shared(X, STUDENT)),
        "attraction": best(lambda: attraction.value(sent, force)),
        "repulsion": best(lambda: [shared.of_strip(sent, *strip) for strip in strips]),
    }


@contextmanager
def socketpair():
    """Two ends of a TCP connection within this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        here = socket.create_connection(server.getsockname())
        there, _ = server.accept()
        with here, there:
            yield here, there


def receive(end: socket.socket, size: int) -> None:
    """Read so many bytes."""
    buffer = memoryview(bytearray(size))
    while len(buffer):
        buffer = buffer[end.recv_into(buffer) :]


def best(function, repeats: int = 5) -> float:
    """Seconds of the processor that the fastest of some calls takes."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        found.append(time.process_time() - began)
    return min(found)


HEADS = (
    *("points", "workers", "to the graph, s", "an iteration, s", "of one process"),
    *("processors, s", "an iteration", "of one process", "MB sent per iteration"),
    *("peaks of workers, GB", "of this process", "recall", "KL"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[70_000, 250_000, 1_000_000])
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--one", action="store_true", help="measure once and print JSON")
    parser.add_argument("--parts", action="store_true", help="time the parts of an iteration")
    parser.add_argument("--quality", help="compare whole fits of data in this folder")
    parser.add_argument("--rows", type=int, help="of each set, drawn at random")
    parser.add_argument("--sets", nargs="*", default=["mnist70k", "skin245k"])
    given = parser.parse_args()
    if given.parts:
        for n in given.sizes:
            print(n, {name: round(value, 4) for name, value in parts_of_an_iteration(n).items()})
    elif given.quality:
        print("| data | points | workers | s | processors, s | iterations | KL | recall@15 |")
        print("| --- " * 8 + "|")
        for name in given.sets:
            compare(name, given.quality, given.rows, max(given.workers))
    elif given.one:
        print(json.dumps(measure(given.sizes[0], given.workers[0], given.iterations)))
    else:
        print_table(given)


def print_table(given: argparse.Namespace) -> None:
    """Measure each number of points and workers in a process of its own."""
    print("| " + " | ".join(HEADS) + " |")
    print("| --- " * len(HEADS) + "|")
    for n in given.sizes:
        alone = None
        for workers in given.workers:
            command = [sys.executable, __file__, str(n), "--workers", str(workers), "--one"]
            command += ["--iterations", str(given.iterations)]
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            row = json.loads(text.splitlines()[-1])
            total = row["graph"] + given.iterations * row["each"]
            cpu = row["cpu graph"] + given.iterations * row["cpu each"]
            alone = alone or (total, cpu)
            recall = f"{row['recall']:.4f}" if workers else ""
            peaks = ", ".join(f"{value / 1e9:.2f}" for value in row.get("peaks", ()))
            root = row.get("root", row.get("peak", 0)) / 1e9
            print(
                f"| {n:,} | {workers or 'none'} | {row['graph']:.0f} | {row['each']:.3f} | "
                f"{total / alone[0]:.2f} | {row['cpu graph']:.0f} | {row['cpu each']:.3f} | "
                f"{cpu / alone[1]:.2f} | {row.get('bytes', 0.0) / 1e6:.0f} | {peaks} | "
                f"{root:.2f} | {recall} | {row['kl']:.3f} |",
                flush=True,
            )
            stages = ", ".join(f"{name} {value}" for name, value in row["stages"].items())
            print(f"{n:,}, {workers} workers, of processors: {stages}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
