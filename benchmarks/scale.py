"""What a larger cluster would take: a simulation of the task graph with measured constants.

``python benchmarks/scale.py`` prints the table of docs/scale.md. Its processor seconds per point
are those that ``distributed.py`` printed for the most points with workers, and
``distributed_parts.py`` for the parts of an iteration; both are read from
benchmarks/results/distributed.md. Tasks start when the scheduler has handed them out, one after the
other, and a slot is free; what they need is sent before they start. Transfers share the network of
the process that sends or receives them. Beyond 10 million points, tasks are sent the positions of
their own points and of those that edges lead to. How many these are, ``distributed_parts.py
--touched`` has counted for as many tasks of fewer points each, which more edges leave.
A second table sets the same simulation of the case that was measured beside the measurement.
"""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from closeknit.minimize import SpectralMomentum

RESULTS = Path(__file__).parent / "results" / "distributed.md"
STAGES = (
    *("cells", "exact scan", "neighbours", "merging", "affinities", "symmetrisation"),
    *("sample of edges", "start", "strongest edges"),
)


def printed(what: str) -> list[dict]:
    """Return what was printed for the most points, of the lines that tell something."""
    lines = [
        json.loads(line) for line in RESULTS.read_text("utf-8").splitlines() if line[:1] == "{"
    ]
    telling = [line for line in lines if line.get(what)]
    most = max(line["points"] for line in telling)
    return [line for line in telling if line["points"] == most]


def constants() -> dict[str, float]:
    """Seconds of a processor per point, of stages and parts; and of the scheduler per task."""
    stages, parts = printed("workers")[0], printed("attraction")[0]
    found = {name: stages["processors"][name] / stages["points"] for name in STAGES}
    for name in ("attraction", "repulsion", "step", "factor"):
        found[name] = parts[name] / parts["points"]
    few, many = (parts[f"messages, {tasks} tasks"]["this process"] for tasks in (2, 8))
    return found | {"task": (many - few) / 6}


MEASURED = constants()
PER_TASK = MEASURED["task"]
#: Bytes per second between two processes (10 Gbit/s), and of the shared folder per worker.
NETWORK, DISK = 1.25e9, 5e8
#: Threads of a worker, points of a task, rows of a cell, iterations of a map.
THREADS, PART, CELL, ITERATIONS = 8, 2**17, 2**17, 500
#: Most points whose positions go whole to every worker.
WHOLE = 10_000_000
#: Bytes per point: positions, forces that come back, numbers of points, the graph (130 edges), the
#: root's arrays (what its peak grew by from 200,000 points to a million, without the data).
POSITION, BACK, NUMBER, GRAPH, ROOT = 8, 8, 4, 8 * 130, 1100
#: Bytes per point that stages write to the folder and read again.
FILES = {
    "neighbours": 90 * 12 + 3 * 200,
    "merging": 90 * 12,
    "affinities": 90 * 28,
    "symmetrisation": 130 * 12,
}


@dataclass(frozen=True)
class Total:
    """Seconds of a stage, and which part of it took longest."""

    seconds: float
    by: str


def schedule(n_tasks: int, seconds: float, n_slots: int, before: float = 0.0) -> float:
    """Seconds until the last of some equal tasks has ended."""
    if n_tasks > 200_000:  # waves are long enough for a formula
        return before + max(n_tasks * PER_TASK, -(-n_tasks // n_slots) * seconds)
    free = [before] * n_slots
    end = before
    for task in range(n_tasks):
        begin = max(heapq.heappop(free), before + task * PER_TASK)
        end = max(end, begin + seconds)
        heapq.heappush(free, begin + seconds)
    return end


def stage(name: str, n: float, workers: int, threads: int = THREADS) -> Total:
    """One stage before the minimisation: tasks, and files through the shared folder."""
    tasks = max(1, -(-int(n) // (CELL if name == "neighbours" else PART)))
    work = schedule(tasks, MEASURED[name] * n / tasks, workers * threads)
    files = 2.0 * FILES.get(name, 0) * n / (DISK * workers)
    return Total(max(work, files), "files" if files > work else "work")


def factors(iterations: int) -> int:
    """How often the root makes its factor."""
    rule, done, count = SpectralMomentum(), 0, 0
    while done < iterations:
        settled = rule.stiffness_at(done) == rule.final_stiffness
        done += max(rule.refresh or iterations, done // 4 if settled else 0)
        count += 1
    return count


def n_tasks(n: float, n_threads: int) -> int:
    """Tasks of an iteration: one per thread, if there are as many parts."""
    return min(max(1, -(-int(n) // PART)), n_threads)


def touched(tasks: int) -> np.ndarray:
    """Points that tasks touch, as a multiple of their own, in each stage of a fit."""
    found = []
    for line in printed("touched"):
        counted = {int(number): share for number, share in line["touched"].items()}
        known = np.log([1, *counted]), [0.0, *counted.values()]
        found.append(1.0 + np.interp(np.log(tasks), *known))
    return np.array(found)


@dataclass(frozen=True)
class Positions:
    """How many positions are sent and held, in points."""

    sent: float  #: one after the other, in an iteration
    in_worker: float  #: at most
    in_root: float  #: at most, besides those of all points


def positions(n: float, workers: int, threads: int = THREADS) -> Positions:
    """Positions that workers need.

    If all go to every worker, those that have them pass them on, and the last has them after as
    many times as it takes for one. Otherwise each task's go to some worker, which passes them on.
    """
    if n <= WHOLE:
        return Positions(max(1, workers.bit_length()) * n, n, 0.0)
    stages = [length for _, length in SpectralMomentum.exaggeration]
    shares = touched(n_tasks(n, workers * threads))
    mean = float(np.average(shares, weights=[*stages, ITERATIONS - sum(stages)]))
    return Positions(mean * (1 + 1 / workers) * n, max(shares) * n / workers, max(shares) * n)


def iteration(n: float, workers: int, threads: int = THREADS) -> dict[str, float]:
    """Seconds of one iteration.

    The step; positions out; attraction in tasks, or the repulsion here if that takes longer; and
    forces back.
    """
    tasks = n_tasks(n, workers * threads)
    work = schedule(tasks, MEASURED["attraction"] * n / tasks, workers * threads)
    return {
        "step": (MEASURED["step"] + MEASURED["factor"] * factors(ITERATIONS) / ITERATIONS) * n,
        "out": positions(n, workers, threads).sent * POSITION / NETWORK,
        "work": max(work, MEASURED["repulsion"] * n),
        "back": BACK * n / NETWORK,
    }


def main() -> None:
    """Print the table."""
    print(
        "| points | workers | to the graph | longest stage | an iteration | of it step, positions "
        "out, sums, forces back | 500 iterations | a worker's memory | the root's |"
    )
    print("| --- " * 9 + "|")
    for n in (1e7, 1e8, 1e9):
        for workers in (10, 100):
            found = {name: stage(name, n, workers) for name in STAGES}
            graph = sum(total.seconds for total in found.values())
            longest = max(found, key=lambda name: found[name].seconds)
            parts = iteration(n, workers)
            each = sum(parts.values())
            held = positions(n, workers)
            memory = (GRAPH * n / workers + 3 * POSITION * held.in_worker) / 1e9
            root = (ROOT * n + (POSITION + NUMBER) * held.in_root) / 1e9
            print(
                f"| {n:,.0f} | {workers} | {hours(graph)} | {longest} ({found[longest].by}) | "
                f"{each:.3g} s | {', '.join(f'{part:.2g}' for part in parts.values())} | "
                f"{hours(ITERATIONS * each)} | {memory:.3g} GB | {root:.3g} GB |"
            )
    compare()


def compare() -> None:
    """Print what the simulation gives for the case that was measured, beside the measurement."""
    case = printed("workers")[0]
    n, workers = case["points"], case["workers"]
    graph = sum(stage(name, n, workers, 1).seconds for name in STAGES)
    each = sum(iteration(n, workers, 1).values())
    rows = [line.strip("| \n").split(" | ") for line in RESULTS.read_text("utf-8").splitlines()]
    heads = next(row for row in rows if "to the graph" in row)
    (found,) = (row for row in rows if row[1:3] == [f"{n:,}", str(workers)])
    measured = [found[heads.index(what)] for what in ("to the graph", "an iteration, s")]
    print(f"\n| {n:,} points, {workers} workers of one thread | simulated | measured |")
    print("| --- " * 3 + "|")
    print(f"| to the graph, s | {graph:.0f} | {measured[0]} |")
    print(f"| an iteration, s | {each:.3f} | {measured[1]} |")


def hours(seconds: float) -> str:
    """Seconds in a unit that can be read."""
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36_000 else f"{seconds / 3600:.0f} h"


if __name__ == "__main__":
    main()
