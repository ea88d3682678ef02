"""What an iteration on a cluster consists of, part by part, and what a task costs.

``python benchmarks/distributed_parts.py 200000`` prints processor seconds, each on one thread, as
JSON: what workers sum (attraction, along 130 edges per point or along a quarter of them), what the
calling process does (the repulsion; the step; the factor, which is made now and then), and
what the messages of an iteration cost the processes that send and receive them, for one task per
worker and for eight. ``benchmarks/scale.py`` takes its constants from this.

``--touched`` prints instead, for a mixture of so many points, how many points the edges of a task
touch beside its own, on average and as a share of its own: by the number of tasks, at the beginning
of every stage of a fit, when points are numbered by their place on the map.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

# A file here bears the name of a library, which must be found first.
sys.path = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]

from closeknit.kernels import STUDENT  # noqa: E402
from closeknit.linalg import ApproximateCholesky  # noqa: E402
from closeknit.objectives import Attraction, Objective  # noqa: E402
from closeknit.repulsion import GridRepulsion  # noqa: E402

EDGES, EARLY, KEPT = 130, 33, 8  # per point: of the graph, while λ is small, in the factor
ROUNDS = 20
TASKS = (2, 8, 80, 800)  # of which the edges are counted


def local_graph(n: int, n_edges: int, rng: np.random.Generator) -> csr_matrix:
    """Points along a line, each tied to some of the next thousand."""
    near = (np.arange(n)[:, None] + rng.integers(1, 1000, (n, n_edges))) % n
    weights = np.full(n_edges * n, 1.0 / (n_edges * n), dtype=np.float32)
    indptr = np.arange(0, n_edges * n + 1, n_edges, dtype=np.int32)
    return csr_matrix((weights, near.ravel().astype(np.int32), indptr), shape=(n, n))


def parts_of_an_iteration(n: int) -> dict[str, float]:
    """Processor seconds of each part at a map of so many points, in the order of the graph."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.normal(scale=0.1 * np.sqrt(n), size=(n, 2)), axis=0)
    rng.shuffle(X[:, 1])
    repulsion, force = GridRepulsion(0.2, verify=False, n_jobs=1), np.empty_like(X)
    found = {"repulsion": best(lambda: repulsion.sums(X, STUDENT))}
    for name, n_edges in (("attraction", EDGES), ("early attraction", EARLY)):
        attraction = Attraction(local_graph(n, n_edges, rng), STUDENT, 1)
        found[name] = best(lambda a=attraction: a.value(X, force))
    few = local_graph(n, KEPT // 2, rng).astype(np.float64)
    kept, excess = (few + few.T).tocsr(), np.full(n, 0.1 / n)
    factor = ApproximateCholesky(kept, excess, n_jobs=1)
    found["factor"] = best(lambda: ApproximateCholesky(kept, excess, n_jobs=1, like=factor), 2)
    return found | {"step": best(lambda: factor.solve(X))}


def touched_points(n: int) -> list[dict[str, object]]:
    """Points that tasks touch beside their own, in every stage of a fit."""
    import closeknit as ck

    found, renumber = [], Objective.renumber

    def look(objective: Objective, X: np.ndarray, edges: float = 1.0) -> None:
        renumber(objective, X, edges)
        W = objective._numbered[2].weights
        others = {n_tasks: others_touched(W, n_tasks) for n_tasks in TASKS}
        found.append({"points": n, "share of edges": edges, "touched": others})

    X = runpy.run_path(str(Path(__file__).with_name("distributed.py")))["mixture"](n)
    Objective.renumber = look
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last stage is cut short
        ck.TSNE(max_iter=25, random_state=0).fit(X)
    return found


def others_touched(W: csr_matrix, n_tasks: int) -> float:
    """Points that the edges of a task lead to beside its own, as a share of its own, on average."""
    n, total = W.shape[0], 0
    for begin, end in pairwise((np.arange(n_tasks + 1) * n // n_tasks).tolist()):
        touched = np.zeros(n, dtype=bool)
        touched[begin:end] = True
        touched[W.indices[W.indptr[begin] : W.indptr[end]]] = True
        total += int(touched.sum())
    return total / n - 1.0


def best(function, repeats: int = 5) -> float:
    """Seconds of the processor that the fastest of some calls takes."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        found.append(time.process_time() - began)
    return min(found)


def messages(n: int, n_tasks: int) -> dict[str, float]:
    """Seconds of an iteration in which workers only take positions and return as many forces."""
    import distributed

    positions, share = np.zeros((n, 2), dtype=np.float32), -(-n // n_tasks)
    local = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=0
    )
    with local, distributed.Client(local) as client:

        def processors() -> tuple[float, float]:
            return time.process_time(), sum(client.run(time.process_time).values())

        for round_ in range(ROUNDS + 5):
            if round_ == 5:
                began, clock = processors(), time.perf_counter()
            (sent,) = client.scatter([positions], hash=False, direct=True)
            tasks = client.map(first_rows, [sent] * n_tasks, [share] * n_tasks, pure=False)
            client.gather(tasks, direct=True)
        clock = (time.perf_counter() - clock) / ROUNDS
        here, there = (
            (end - begin) / ROUNDS for begin, end in zip(began, processors(), strict=True)
        )
    return {"clock": clock, "this process": here, "workers": there}


def first_rows(positions: np.ndarray, n_rows: int) -> np.ndarray:
    """Return some positions."""
    return positions[:n_rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[200_000])
    parser.add_argument("--touched", action="store_true")
    given = parser.parse_args()
    for n in given.sizes:
        if given.touched:
            for line in touched_points(n):
                print(json.dumps({**line, "load": os.getloadavg()[0]}), flush=True)
            continue
        found: dict[str, object] = {"points": n, **parts_of_an_iteration(n)}
        found |= {f"messages, {tasks} tasks": messages(n, tasks) for tasks in (2, 8)}
        print(json.dumps(found, default=float), flush=True)


if __name__ == "__main__":
    main()
