"""Clusterings and propagated labels on entropic affinities, beside other bandwidths and peers.

    python benchmarks/apps.py [--data FOLDER] [--sets circles moons …] [--tables labels]
                             [--output FILE]

Circles, moons, blobs and digits need nothing; with --data also COIL-20, cord blood cells, and MNIST
(5,000 points, then all 70,000). Clustering looks for the true number of classes; accuracy is that
of the best matching of clusters with classes. Propagation is given 1 % of the labels, at least one
of each class, and judged on the others. "one σ" is the median distance to the 7th neighbour,
"7th neighbour" each point's own; both and the entropic affinities are over the same 90 neighbours,
which are found once (kept in --cache) and whose seconds every row contains. scikit-learn gets as
many neighbours in its k-NN graphs as the perplexity of our first row, and the same σ in its RBF
kernels; it is left out where its matrices would not fit (RBF above 6,000 points) or its eigensolver
would take minutes (above 10,000). Seconds are those of one run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data import FILES
from scipy.optimize import linear_sum_assignment
from sklearn import cluster, datasets, semi_supervised
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

import closeknit as ck
from closeknit.affinities import EntropicAffinities, FixedAffinities
from closeknit.neighbors import Neighbors, find_neighbors

SMALL = ("circles", "moons", "blobs", "digits")
LARGE = ("coil", "cbmc", "mnist-5k", "mnist")
#: Above these sizes scikit-learn's dense kernels and its eigensolver are left out.
RBF_LIMIT, KNN_LIMIT = 6_000, 10_000
N_NEIGHBORS = 90
PERPLEXITIES = (10.0, 30.0)


class Problem(NamedTuple):
    """A data set, its neighbours and what they took."""

    name: str
    X: np.ndarray
    y: np.ndarray
    neighbors: Neighbors
    seconds: float

    @property
    def sigma(self) -> float:
        """The median distance to the 7th neighbour."""
        return float(np.sqrt(np.median(self.neighbors.sq_distances[:, 6])))


def load(name: str, folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    if name == "circles":
        return datasets.make_circles(2_000, noise=0.05, factor=0.5, random_state=0)
    if name == "moons":
        return datasets.make_moons(2_000, noise=0.08, random_state=0)
    if name == "blobs":
        spreads = [0.2, 0.5, 1.0, 1.5, 2.5]
        return datasets.make_blobs(2_000, centers=5, cluster_std=spreads, random_state=1)
    if name == "digits":
        return datasets.load_digits(return_X_y=True)
    if folder is None:
        raise SystemExit(f"{name} needs --data FOLDER with the benchmark data sets")
    file = {**FILES, "coil": "coil20.npz", "mnist-5k": FILES["mnist"]}[name]
    with np.load(folder / file, allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
    if name == "mnist-5k":
        some = np.random.default_rng(0).permutation(len(X))[:5_000]
        X, y = X[some], y[some]
    return X.astype(np.float32), y


def prepare(name: str, folder: Path | None, cache: Path) -> Problem:
    X, y = load(name, folder)
    file = cache / f"apps-{name}-{N_NEIGHBORS}.npz"
    if not file.exists():
        start = time.perf_counter()
        found = find_neighbors(X, N_NEIGHBORS, random_state=0)
        seconds = time.perf_counter() - start
        np.savez(file, i=found.indices, d=np.sqrt(found.sq_distances), seconds=seconds)
    with np.load(file) as arrays:
        neighbors = Neighbors.from_arrays(arrays["i"], arrays["d"])
        return Problem(name, X, y, neighbors, float(arrays["seconds"]))


def affinities(problem: Problem) -> Iterator[tuple[str, Any]]:
    """Our transformers by name."""
    shared = {"neighbors": problem.neighbors}
    for perplexity in PERPLEXITIES:
        yield (
            f"entropic, K = {perplexity:g}",
            EntropicAffinities(perplexity, n_neighbors=int(3 * perplexity), **shared),
        )
    yield "one σ", FixedAffinities(problem.sigma, n_neighbors=N_NEIGHBORS, **shared)
    yield "7th neighbour", FixedAffinities("neighbor", n_neighbors=N_NEIGHBORS, **shared)


def clusterings(problem: Problem) -> Iterator[tuple[str, Callable[[], np.ndarray], float]]:
    """Names, calls that return labels, and the seconds that were spent before."""
    k, X = len(np.unique(problem.y)), problem.X

    def ours(affinity: Any, variant: str) -> Callable[[], np.ndarray]:
        model = ck.SpectralClustering(k, affinity=affinity, variant=variant, random_state=0)
        return lambda: model.fit_predict(X)

    for name, affinity in affinities(problem):
        yield f"{name}, NJW", ours(affinity, "njw"), problem.seconds
        if name.startswith("entropic"):
            yield f"{name}, normalised cut", ours(affinity, "ncut"), problem.seconds
    knn = cluster.SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=int(PERPLEXITIES[0]), random_state=0
    )
    rbf = cluster.SpectralClustering(k, gamma=0.5 / problem.sigma**2, random_state=0)
    if len(X) <= KNN_LIMIT:
        yield "scikit-learn, k-NN", lambda: knn.fit_predict(X), 0.0
    if len(X) <= RBF_LIMIT:
        yield "scikit-learn, RBF", lambda: rbf.fit_predict(X), 0.0


def propagations(
    problem: Problem, given: np.ndarray
) -> Iterator[tuple[str, Callable[[], np.ndarray], float]]:
    X = problem.X

    def call(model: Any) -> Callable[[], np.ndarray]:
        return lambda: model.fit(X, given).transduction_

    for name, affinity in affinities(problem):
        propagation = ck.LabelPropagation(affinity=affinity)
        yield f"{name}, propagation", call(propagation), problem.seconds
        if name.startswith("entropic"):
            spreading = ck.LabelSpreading(affinity=affinity)
            yield f"{name}, spreading", call(spreading), problem.seconds
    gamma = 0.5 / problem.sigma**2
    for kind in ("Propagation", "Spreading"):
        model = getattr(semi_supervised, f"Label{kind}")
        if len(X) <= KNN_LIMIT:
            knn = model(kernel="knn", n_neighbors=int(PERPLEXITIES[0]))
            yield f"scikit-learn, k-NN, {kind.lower()}", call(knn), 0.0
        if len(X) <= RBF_LIMIT:
            rbf = model(kernel="rbf", gamma=gamma)
            yield f"scikit-learn, RBF, {kind.lower()}", call(rbf), 0.0


def one_per_cent(y: np.ndarray) -> np.ndarray:
    """Return labels of which all but 1 % are −1, and at least one of each class is left."""
    codes = np.unique(y, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(y))
    _, first = np.unique(codes[order], return_index=True)
    chosen = np.concatenate([order[first], order])
    _, unique = np.unique(chosen, return_index=True)
    chosen = chosen[np.sort(unique)][: max(len(first), round(0.01 * len(y)))]
    given = np.full(len(y), -1)
    given[chosen] = codes[chosen]
    return given


def matched_accuracy(y: np.ndarray, labels: np.ndarray) -> float:
    counts = contingency_matrix(y, labels)
    return float(counts[linear_sum_assignment(-counts)].sum() / len(y))


def timed(call: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # graphs in pieces, iterations that end early
        labels = call()
    return labels, time.perf_counter() - start


def clustering_rows(problem: Problem) -> Iterator[str]:
    for name, call, before in clusterings(problem):
        labels, seconds = timed(call)
        scores = (
            adjusted_rand_score(problem.y, labels),
            normalized_mutual_info_score(problem.y, labels),
            matched_accuracy(problem.y, labels),
        )
        cells = " | ".join(f"{score:.3f}" for score in scores)
        yield f"| {problem.name} | {name} | {cells} | {seconds + before:.2f} |"


def propagation_rows(problem: Problem) -> Iterator[str]:
    given = one_per_cent(problem.y)
    codes, unknown = np.unique(problem.y, return_inverse=True)[1], given < 0
    for name, call, before in propagations(problem, given):
        labels, seconds = timed(call)
        accuracy = np.mean(labels[unknown] == codes[unknown])
        yield f"| {problem.name} | {name} | {accuracy:.3f} | {seconds + before:.2f} |"


TABLES = {
    "clustering": (
        "Spectral clustering",
        clustering_rows,
        "| data | graph | ARI | NMI | accuracy | seconds |\n| --- | --- | --- | --- | --- | --- |",
    ),
    "labels": (
        "Labels from 1 % of them",
        propagation_rows,
        "| data | graph and method | accuracy | seconds |\n| --- | --- | --- | --- |",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with coil20.npz, mnist70k.npz, …")
    parser.add_argument("--sets", nargs="+", choices=SMALL + LARGE)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--cache", type=Path, help="folder for neighbours")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    cache = args.cache or Path(tempfile.gettempdir()) / "closeknit-benchmarks"
    cache.mkdir(parents=True, exist_ok=True)
    sets = args.sets or (SMALL if args.data is None else SMALL + LARGE)
    lines: dict[str, list[str]] = {table: [] for table in args.tables}
    for name in sets:
        problem = prepare(name, args.data, cache)
        print(f"{name}: {problem.X.shape}", flush=True)
        for table in args.tables:
            for line in TABLES[table][1](problem):
                print(line, flush=True)
                lines[table].append(line)
    if args.output:
        parts = [
            f"## {TABLES[table][0]}\n\n" + "\n".join([TABLES[table][2], *rows])
            for table, rows in lines.items()
        ]
        args.output.write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
