"""What a larger cluster would take: a simulation of the task graph with measured constants.

``python benchmarks/scale.py`` prints the table of docs/scale.md. Seconds of processors per point
are those that ``benchmarks/distributed.py`` printed for 30,000 points on two workers, and for the
parts of an iteration at 200,000 points (`MEASURED`; see benchmarks/results/distributed.md). Tasks
start when the scheduler has handed them out, one after the other, and a slot is free; what they
need is sent before they start. Transfers share the network of the process that sends or receives
them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

#: Seconds of a processor per million points. Stages are those of 30,000 points × 33.3, which counts
#: the start of the workers to the search; the last two are those of 200,000 points × 5.
MEASURED = {
    "neighbours": 33.3 * 14.9,
    "exact scan": 33.3 * 2.4,
    "merging": 33.3 * 0.3,
    "affinities": 33.3 * 1.3,
    "symmetrisation": 33.3 * 0.9,
    "strongest edges": 33.3 * 0.9,
    "evaluation": 5.0 * (0.0396 + 0.0209),  # attraction and repulsion, all tasks of an iteration
    "root": 5.0 * (0.0278 + 0.0365),  # the grid and the step, in the calling process
}
#: Seconds by which the scheduler hands out a task (dask's documentation speaks of 0.2 to 1 ms).
PER_TASK = 0.5e-3
#: Bytes per second between two processes (10 Gbit/s), and of the shared folder per worker.
NETWORK, DISK = 1.25e9, 5e8
#: Threads of a worker, points of a task, rows of a cell, iterations of a map.
THREADS, PART, CELL, ITERATIONS = 8, 2**17, 2**16, 500
#: Bytes per point: positions, forces and numbers that come back, the graph (130 edges), the root.
POSITION, BACK, GRAPH, ROOT = 8, 20, 8 * 130, 600
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


def stage(name: str, n: float, workers: int) -> Total:
    """One stage before the minimisation: tasks, and files through the shared folder."""
    tasks = max(1, int(n / (CELL if name == "neighbours" else PART)))
    work = schedule(tasks, MEASURED[name] / 1e6 * n / tasks, workers * THREADS)
    files = 2.0 * FILES.get(name, 0) * n / (DISK * workers)
    return Total(max(work, files), "files" if files > work else "work")


def iteration(n: float, workers: int) -> dict[str, float]:
    """Seconds of one iteration: this process, positions out, tasks, forces back."""
    tasks = max(1, int(n / PART))
    hops = max(1, workers.bit_length())  # those that have the positions pass them on
    return {
        "root": MEASURED["root"] / 1e6 * n,
        "out": hops * POSITION * n / NETWORK,
        "tasks": schedule(tasks, MEASURED["evaluation"] / 1e6 * n / tasks, workers * THREADS),
        "back": BACK * n / NETWORK,
    }


def main() -> None:
    """Print the table."""
    stages = [name for name in MEASURED if name not in ("evaluation", "root")]
    print(
        "| points | workers | to the graph | longest stage | an iteration | of it root, positions "
        "out, tasks, forces back | 500 iterations | a worker's memory | the root's |"
    )
    print("| --- " * 9 + "|")
    for n in (1e7, 1e8, 1e9):
        for workers in (10, 100):
            found = {name: stage(name, n, workers) for name in stages}
            graph = sum(total.seconds for total in found.values())
            longest = max(found, key=lambda name: found[name].seconds)
            parts = iteration(n, workers)
            each = sum(parts.values())
            memory = (GRAPH * n / workers + 3 * POSITION * n) / 1e9
            print(
                f"| {n:,.0f} | {workers} | {hours(graph)} | {longest} ({found[longest].by}) | "
                f"{each:.3g} s | {', '.join(f'{part:.2g}' for part in parts.values())} | "
                f"{hours(ITERATIONS * each)} | {memory:.3g} GB | {ROOT * n / 1e9:.3g} GB |"
            )


def hours(seconds: float) -> str:
    """Seconds in a unit that can be read."""
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 36_000 else f"{seconds / 3600:.0f} h"


if __name__ == "__main__":
    main()
