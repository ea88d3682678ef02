"""Sparsifiers: seconds by number of points.

    python benchmarks/sparsifiers.py   seconds for 5,000, 10,000 and 20,000 points

Points in 10 dimensions, ten blobs, sparsity 0.995, entropic affinities over 90 neighbours or more;
no n × n array is made. Tables go to standard output. What the sparsifiers keep of real graphs is
measured by `closeknit reproduce sparsification --data FOLDER`.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from closeknit.graphs import (
    EntropicSparsifier,
    KNNSparsifier,
    ResistanceSparsifier,
    ViewerSparsifier,
)
from closeknit.graphs.viewer_distances import viewer_distances
from closeknit.graphs.viewers import look

SIZES = (5_000, 10_000, 20_000)
SPARSITY = 0.995
SPARSIFIERS = {
    "entropic": EntropicSparsifier(sparsity=SPARSITY),
    "KNN": KNNSparsifier(sparsity=SPARSITY),
    "KNN, mutual": KNNSparsifier(sparsity=SPARSITY, mutual=True),
    "viewers (100)": ViewerSparsifier(100, sparsity=SPARSITY, random_state=0),
    "resistance": ResistanceSparsifier(sparsity=SPARSITY, random_state=0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    time_sparsifiers(arguments.sizes)
    time_viewers(arguments.sizes)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"Most memory of the process: {peak:.1f} GiB.")


def points(n: int) -> np.ndarray:
    return make_blobs(n, n_features=10, centers=10, random_state=0)[0]


def time_sparsifiers(sizes: list[int]) -> None:
    print("| seconds (processor seconds) | " + " | ".join(f"n = {n:,}" for n in sizes) + " |")
    print("| --- |" + " --- |" * len(sizes))
    for name, sparsifier in SPARSIFIERS.items():
        cells = []
        for n in sizes:
            X = points(n)
            wall, cpu = time.perf_counter(), time.process_time()
            sparsifier.fit(X)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            cells.append(f"{wall:.1f} ({cpu:.1f}), sparsity {sparsifier.sparsity_:.4f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def time_viewers(sizes: list[int], n_viewers: int = 20) -> None:
    print("\n| one view, processor milliseconds | distances | modes |")
    print("| --- | --- | --- |")
    for n in sizes:
        source = viewer_distances(points(n), "data", "euclidean", 1)
        start = time.process_time()
        rows = [source.distances(viewer) for viewer in range(n_viewers)]
        between = time.process_time()
        with threadpool_limits(limits=1, user_api="blas"):  # as the sparsifier does
            for viewer, row in enumerate(rows):
                look(row, viewer, "entropic", 30.0, "mean-shift")
        end = time.process_time()
        distances, modes = 1e3 * (between - start), 1e3 * (end - between)
        print(f"| n = {n:,} | {distances / n_viewers:.1f} | {modes / n_viewers:.1f} |")
    print()


if __name__ == "__main__":
    main()
