"""Bandwidths: closeknit beside the physical floor and its peers, all in one run.

    python benchmarks/affinities.py speed --data FOLDER     ratios to the floor and to peers
    python benchmarks/affinities.py growth                  up to a million points in 10 dimensions

The *floor* is one exp-and-normalise pass at known bandwidths with the same vectorised exponential,
threads and output type; it and our solver, the regression's fit included, write to arrays that
exist already. Peers are compared with the whole call of `solve_bandwidths`, which allocates its
result as theirs do. Runs are interleaved and minima are compared, because machines are shared.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from data import PIXELS, load

import closeknit as ck
from closeknit import _core
from closeknit.neighbors import Neighbors, find_neighbors

THREADS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["speed", "growth"])
    parser.add_argument("--data", type=Path, help="folder with the benchmark data sets")
    parser.add_argument("--cache", type=Path, help="folder in which neighbours are kept")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--no-peers", action="store_true", help="leave out the slow peers")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ck.exceptions.NoBandwidthWarning)
    {"speed": speed, "growth": growth}[arguments.what](arguments)


def neighbors_of(name: str, k: int, arguments: argparse.Namespace) -> Neighbors:
    """Exact neighbours of a data set, from the cache if they are there."""
    path = arguments.cache and arguments.cache / f"{name}-{k}.npz"
    if path and path.exists():
        with np.load(path) as file:
            return Neighbors(file["indices"], file["sq_distances"], len(file["indices"]))
    X, metric = load(name, arguments.data)
    found = find_neighbors(X, k, metric=metric, neighbors="exact", n_jobs=THREADS)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, indices=found.indices, sq_distances=found.sq_distances)
    return found


def interleaved(repeats: int, *calls: Callable[[], Any]) -> list[float]:
    """Least seconds of each call, one round after the other."""
    best = [np.inf] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


# speed ------------------------------------------------------------------------------------------

PROBLEMS = [
    ("mnist", 90, 30.0),
    ("mnist", 250, 30.0),
    (PIXELS, 250, 30.0),
    ("mnist", 250, 5.0),
    ("mnist", 250, 100.0),
    (PIXELS, 250, 5.0),
    (PIXELS, 250, 100.0),
    ("newsgroups", 90, 30.0),
    ("covertype", 90, 30.0),
    ("skin", 90, 30.0),
]


def speed(arguments: argparse.Namespace) -> None:
    print(f"{THREADS} threads (scikit-learn has one), SIMD {_core.simd()}\n")
    header = ["data", "n", "k", "K", "floor ms", "ours ms", "ours / floor", "passes"]
    header += ["max abs(H - log K)", "no root", "call ms"]
    header += ["openTSNE / call", "off by > 1e-4", "scikit-learn / call", "off by > 1e-4"]
    print("| " + " | ".join(header) + " |\n" + "| --- " * len(header) + "|")
    for name, k, perplexity in PROBLEMS:
        widest = max(width for other, width, _ in PROBLEMS if other == name)
        d = neighbors_of(name, widest, arguments).sq_distances
        print(speed_row(name, np.ascontiguousarray(d[:, :k]), perplexity, arguments), flush=True)


def speed_row(name: str, d: np.ndarray, perplexity: float, arguments: argparse.Namespace) -> str:
    n, k = d.shape
    solution = ck.solve_bandwidths(d, perplexity, n_jobs=THREADS)
    error = entropy_error(solution.affinities, perplexity)[solution.converged].max()
    converged, evaluations = solution.converged, solution.evaluations.mean()
    betas = np.where(np.isfinite(solution.betas), solution.betas, 1.0)
    out = (solution.affinities, *np.empty((3, n)), np.empty(n, np.int32))
    status, one = np.empty(n, np.uint8), np.array([perplexity])

    def floor() -> None:
        _core.affinities_at(d, betas, True, out[0], None, THREADS)

    def ours() -> None:
        model = _core.fit_start(d, perplexity, 200, THREADS)
        problem = _core.EntropicProblem(d, one, 1e-10, False, *out, status)
        _core.solve_from_model(problem, model, THREADS)

    def call() -> None:
        ck.solve_bandwidths(d, perplexity, n_jobs=THREADS)

    floor_s, ours_s, call_s = interleaved(arguments.repeats, floor, ours, call)
    cells = [name, n, k, f"{perplexity:g}", f"{floor_s * 1e3:.1f}", f"{ours_s * 1e3:.1f}"]
    cells += [f"{ours_s / floor_s:.2f}", f"{evaluations:.3f}", f"{error:.0e}"]
    cells += [np.count_nonzero(~converged), f"{call_s * 1e3:.1f}"]
    del solution
    for seconds, affinities in peers(d, perplexity, arguments):
        off = entropy_error(affinities, perplexity)[converged] > 1e-4
        cells += [f"{seconds / call_s:.0f}", np.count_nonzero(off)]
    return "| " + " | ".join(map(str, cells)) + " |"


def entropy_error(affinities: np.ndarray, perplexity: float) -> np.ndarray:
    """|H - log K| of every row, recomputed from its affinities."""
    from scipy.special import entr

    return np.abs(entr(affinities).sum(axis=1) - np.log(perplexity))


def peers(
    d: np.ndarray, perplexity: float, arguments: argparse.Namespace
) -> Iterator[tuple[float, np.ndarray]]:
    """Seconds and affinities of openTSNE's and scikit-learn's routines; each runs once."""
    if arguments.no_peers:
        return
    from openTSNE import _tsne
    from sklearn.manifold import _utils

    distances, single = np.sqrt(np.maximum(d, 0.0)), d.astype(np.float32)
    begin = time.perf_counter()
    found = _tsne.compute_gaussian_perplexity(
        distances, np.array([perplexity]), num_threads=THREADS
    )
    yield time.perf_counter() - begin, np.asarray(found)
    begin = time.perf_counter()
    found = _utils._binary_search_perplexity(single, perplexity, 0)
    yield time.perf_counter() - begin, np.asarray(found)


# growth -----------------------------------------------------------------------------------------


def clusters(n: int) -> np.ndarray:
    """Points of a thousand Gaussian clusters in 10 dimensions."""
    rng = np.random.default_rng(0)
    centers = rng.standard_normal((1000, 10))
    return centers[rng.integers(1000, size=n)] + 0.15 * rng.standard_normal((n, 10))


def growth(arguments: argparse.Namespace) -> None:
    import resource

    print("| n | neighbours s | bandwidths s | ns per row | peak / neighbour arrays |")
    print("| --- " * 5 + "|")
    baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    for n in (30_000, 100_000, 300_000, 1_000_000):
        X = clusters(n)
        begin = time.perf_counter()
        estimator = ck.EntropicAffinities(10.0, n_neighbors=30, n_jobs=THREADS).fit(X)
        total = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - baseline
        found = estimator.neighbors_
        size = found.indices.nbytes + found.sq_distances.nbytes
        d = found.sq_distances
        (seconds,) = interleaved(5, lambda d=d: ck.solve_bandwidths(d, 10.0, n_jobs=THREADS))
        cells = [f"{total - seconds:.1f}", f"{seconds:.3f}", f"{seconds / n * 1e9:.0f}"]
        print(f"| {n} | " + " | ".join(cells) + f" | {peak / size:.2f} |", flush=True)
        del estimator, found, d


if __name__ == "__main__":
    main()
