"""Neighbour search against its peers: seconds, ratio to ours, recall.

    python benchmarks/neighbors.py --data DIR [--quick]

DIR holds mnist70k.npz and, for the second table, glove100_120k.npz, cover286k.npz, skin245k.npz,
cbmc_cite_pca50.npz and newsgroups20_counts.npz. All searches use two threads. Peers that are not
installed are named and left out. Every search includes building its index; pynndescent is timed
warm, after its first call has compiled it. Recall is the share of a row's answers that are no
farther than its true k-th neighbour.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")
os.environ.setdefault("NUMBA_NUM_THREADS", "2")

import numpy as np
from data import FILES, load

from closeknit.neighbors import Neighbors, find_neighbors

N_THREADS = 2
Search = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def ours(method: str) -> Search:
    def search(X, k):
        found = find_neighbors(X, k, neighbors=method, n_jobs=N_THREADS)
        return found.indices, found.sq_distances

    return search


def faiss_flat(X, k):
    import faiss

    faiss.omp_set_num_threads(N_THREADS)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return _without_self(*index.search(X, k + 1)[::-1])


def faiss_hnsw(X, k):
    import faiss

    faiss.omp_set_num_threads(N_THREADS)
    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction = 100
    index.hnsw.efSearch = 100
    index.add(X)
    return _without_self(*index.search(X, k + 1)[::-1])


def pynndescent(X, k):
    from pynndescent import NNDescent

    indices, distances = NNDescent(
        X, n_neighbors=k + 1, n_jobs=N_THREADS, random_state=0
    )._neighbor_graph
    return _without_self(indices, distances**2)


def opentsne_annoy(X, k):
    from openTSNE.nearest_neighbors import Annoy

    indices, distances = Annoy(
        data=X, k=k, metric="euclidean", n_jobs=N_THREADS, random_state=0
    ).build()
    return indices, np.asarray(distances, dtype=np.float64) ** 2


PEERS: dict[str, Search] = {
    "closeknit exact": ours("exact"),
    "Faiss flat": faiss_flat,
    "closeknit approximate": ours("approximate"),
    "Faiss HNSW, ef 100": faiss_hnsw,
    "pynndescent, warm": pynndescent,
    "openTSNE default (Annoy)": opentsne_annoy,
}


def _without_self(indices, sq_distances):
    own = np.arange(len(indices))[:, None]
    drop = indices == own
    drop[~drop.any(axis=1), -1] = True
    keep = ~drop
    shape = (len(indices), indices.shape[1] - 1)
    return indices[keep].reshape(shape), sq_distances[keep].reshape(shape)


def recall(X, indices, truth: Neighbors) -> float:
    """Share of answers as near as the true k-th, by true distances (a sample of 2,000 rows)."""
    rows = np.random.default_rng(0).choice(len(X), min(len(X), 2000), replace=False)
    hits = 0.0
    for i in rows:
        gaps = X[indices[i]].astype(np.float64) - X[i]
        limit = truth.sq_distances[i, -1] * (1 + 1e-12)
        hits += np.mean((np.einsum("ij,ij->i", gaps, gaps) <= limit) & (indices[i] >= 0))
    return hits / len(rows)


def mnist_table(X: np.ndarray, k: int, only: list[str]) -> None:
    print(f"MNIST {X.shape[0]:,} × {X.shape[1]}, k = {k}, {N_THREADS} threads\n")
    print(f"{'':26}{'seconds':>9}{'ratio':>8}{'recall':>9}")
    truth, base = None, {}
    for name, search in PEERS.items():
        if only and not any(part in name for part in ["closeknit exact", *only]):
            continue
        try:
            if name.startswith("pynn"):
                search(X[:2000], k)  # compile
            start = time.perf_counter()
            indices, sq_distances = search(X, k)
            seconds = time.perf_counter() - start
        except ImportError as error:
            print(f"{name:26}not installed: pip install {error.name}")
            continue
        if truth is None:
            truth = Neighbors(indices, sq_distances, len(X))
        if name.startswith("closeknit"):
            base["latest"] = seconds
        print(
            f"{name:26}{seconds:9.1f}{seconds / base['latest']:8.2f}"
            f"{recall(X, indices, truth):9.4f}",
            flush=True,
        )
    print("\nratio: to the closeknit row above\n")


def other_table(data: Path, k: int, n_rows: int | None) -> None:
    print(f"{'k = ' + str(k):34}{'exact s':>9}{'approx. s':>11}{'recall':>9}")
    for name in ("glove", "cbmc", "covertype", "skin", "newsgroups"):
        if not (data / FILES[name]).exists():
            print(f"{name:34}{FILES[name]} is not in {data}")
            continue
        X, metric = load(name, data)
        X = X[:n_rows]
        seconds, found = {}, {}
        for method in ("exact", "approximate"):
            start = time.perf_counter()
            found[method] = find_neighbors(X, k, metric=metric, neighbors=method, n_jobs=N_THREADS)
            seconds[method] = time.perf_counter() - start
        limit = found["exact"].sq_distances[:, -1:]
        share = np.mean(found["approximate"].sq_distances <= limit)
        label = f"{name} {X.shape[0]:,} × {X.shape[1]}"
        print(
            f"{label:34}{seconds['exact']:9.1f}{seconds['approximate']:11.1f}{share:9.4f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the npz files")
    parser.add_argument("--quick", action="store_true", help="10,000 rows of everything")
    parser.add_argument("--n-neighbors", type=int, default=90)
    parser.add_argument("--only", nargs="+", default=[], metavar="PEER", help="part of a name")
    parser.add_argument("--mnist-only", action="store_true", help="leave the second table out")
    options = parser.parse_args()
    n_rows = 10_000 if options.quick else None
    X, _ = load("mnist", options.data)
    mnist_table(X[:n_rows], options.n_neighbors, options.only)
    if not options.mnist_only:
        other_table(options.data, options.n_neighbors, n_rows)


if __name__ == "__main__":
    main()
