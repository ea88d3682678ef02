"""Neighbour search against its peers: seconds, ratio to ours, recall.

    python benchmarks/neighbors.py --data DIR [--quick]
    python benchmarks/neighbors.py --generated 1000000 --dims 3 10 50 [--kinds clusters noise]
    python benchmarks/neighbors.py --data DIR --coil

DIR holds mnist70k.npz and, for the second table, glove100_120k.npz, cover286k.npz, skin245k.npz,
cbmc_cite_pca50.npz and newsgroups20_counts.npz. All searches use two threads. Peers that are not
installed are named and left out. Every search includes building its index; pynndescent is timed
warm, after its first call has compiled it. Recall is the share of a row's answers that are no
farther than its true k-th neighbour.

Generated points are a hundred Gaussian clusters, or noise without any. The true neighbours of 500
of them come from a full scan. Faiss's lists (IVF, 4 √n of them) are searched as deep as 500 other
points need for a recall of 0.99, which is not timed.

--coil searches coil20.npz, few points of many dimensions, beside scikit-learn's brute force: in
processor seconds, which other programs on the machine change less, the least of three.
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
    return _without(np.arange(len(indices)), indices, sq_distances)


def _without(rows, indices, sq_distances):
    drop = indices == rows[:, None]
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


def generated(kind: str, n: int, d: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    if kind == "clusters":
        X += 3.0 * rng.standard_normal((100, d), dtype=np.float32)[rng.integers(0, 100, n)]
    return X


def faiss_ivf(X, k):
    import faiss

    faiss.omp_set_num_threads(N_THREADS)
    n_lists = int(4 * np.sqrt(len(X)))
    index = faiss.index_factory(X.shape[1], f"IVF{n_lists},Flat")
    began = time.perf_counter()
    index.train(X[:: max(1, len(X) // (64 * n_lists))])
    index.add(X)
    seconds = time.perf_counter() - began
    rows = np.random.default_rng(1).choice(len(X), 500, replace=False)
    truth = true_distances(X, rows, k)
    index.nprobe = 1
    while index.nprobe < n_lists:
        found = _without(rows, *index.search(X[rows], k + 1)[::-1])
        if share_found(X, rows, found[0], truth) >= 0.99:
            break
        index.nprobe = min(2 * index.nprobe, n_lists)
    began = time.perf_counter()
    found = _without_self(*index.search(X, k + 1)[::-1])
    return *found, seconds + time.perf_counter() - began


def true_distances(X, rows, k):
    """Squared distance to the k-th neighbour of some rows."""
    from closeknit.neighbors import make_index

    index = make_index("euclidean", "exact", n_jobs=N_THREADS).fit(X)
    return index.query(X[rows], k + 1).sq_distances[:, -1]


def share_found(X, rows, indices, truth):
    hits = 0.0
    for row, found, limit in zip(rows, indices, truth, strict=True):
        gaps = X[found].astype(np.float64) - X[row]
        hits += np.mean((np.einsum("ij,ij->i", gaps, gaps) <= limit * (1 + 1e-6)) & (found >= 0))
    return hits / len(rows)


def generated_table(options: argparse.Namespace) -> None:
    """Points of several dimensions, with and without clusters."""
    searches = {
        "closeknit": ours("auto"),
        "Faiss IVF": faiss_ivf,
        "Faiss HNSW, ef 100": faiss_hnsw,
        "pynndescent, warm": pynndescent,
    }
    k, n = options.n_neighbors, options.generated
    print(f"| {n:,} points, k = {k} | | seconds | ratio | recall |")
    print("| --- | --- | --- | --- | --- |")
    for kind in options.kinds:
        for d in options.dims:
            X = generated(kind, n, d)
            rows = np.random.default_rng(0).choice(n, 500, replace=False)
            truth, base = true_distances(X, rows, k), None
            for name, search in searches.items():
                if options.only and not any(part in name for part in ["closeknit", *options.only]):
                    continue
                if name.startswith("pynn"):
                    search(X[:2000], k)  # compile
                began = time.perf_counter()
                indices, _, *own = search(X, k)
                seconds = own[0] if own else time.perf_counter() - began
                base = base or seconds
                print(
                    f"| {kind}, {d} dimensions | {name} | {seconds:.1f} | {seconds / base:.2f} | "
                    f"{share_found(X, rows, indices[rows], truth):.4f} |",
                    flush=True,
                )
                del indices


def coil_table(data: Path, k: int) -> None:
    """1,440 pictures of 16,384 pixels, by exact search and by scikit-learn."""
    from sklearn.neighbors import NearestNeighbors

    def brute_force(X, k):
        return NearestNeighbors(n_neighbors=k, algorithm="brute", n_jobs=-1).fit(X).kneighbors()

    print("| COIL-20 | closeknit, exact | scikit-learn, brute force |\n| --- | --- | --- |")
    with np.load(data / "coil20.npz") as file:
        pixels = file["X"]
    for dtype in (np.float32, np.float64):
        X = pixels.astype(dtype) / dtype(255)
        seconds = []
        for search in (ours("exact"), brute_force):
            times = []
            for _ in range(3):
                begin = time.process_time()
                search(X, k)
                times.append(time.process_time() - begin)
            seconds.append(f"{min(times):.2f}")
        print(f"| {np.dtype(dtype).name} | {' | '.join(seconds)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with the npz files")
    parser.add_argument("--generated", type=int, metavar="N", help="so many generated points")
    parser.add_argument("--dims", type=int, nargs="+", default=[3, 10, 50, 784])
    parser.add_argument("--kinds", nargs="+", default=["clusters", "noise"])
    parser.add_argument("--quick", action="store_true", help="10,000 rows of everything")
    parser.add_argument("--n-neighbors", type=int, default=90)
    parser.add_argument("--only", nargs="+", default=[], metavar="PEER", help="part of a name")
    parser.add_argument("--coil", action="store_true", help="only COIL-20")
    parser.add_argument("--mnist-only", action="store_true", help="leave the second table out")
    options = parser.parse_args()
    if options.generated:
        generated_table(options)
        return
    if options.data is None:
        parser.error("--data or --generated is needed")
    if options.coil:
        coil_table(options.data, options.n_neighbors)
        return
    n_rows = 10_000 if options.quick else None
    X, _ = load("mnist", options.data)
    mnist_table(X[:n_rows], options.n_neighbors, options.only)
    if not options.mnist_only:
        other_table(options.data, options.n_neighbors, n_rows)


if __name__ == "__main__":
    main()
