"""Is a default map finished? Against a long run of ours, openTSNE and scikit-learn.

    python benchmarks/finished.py table --data FOLDER --cache FOLDER [--sets mnist cells.npz …]
    python benchmarks/finished.py pictures --data FOLDER --cache FOLDER
    python benchmarks/finished.py raw                      from raw points to the map of a million
    python benchmarks/finished.py models --data FOLDER --cache FOLDER   other models, many points
    python benchmarks/finished.py starts --data FOLDER --cache FOLDER   where only a graph is given

For every set the affinities (perplexity 30) and the start (PCA) are computed once and given to all:

- *default*: ``TSNE()``;
- *reference*: the same for 3,000 iterations at λ = 1 with ``tol=0``;
- *openTSNE* and, up to 6,000 points, *scikit-learn* at their defaults.

Up to 6,000 points, default and peers also run from two random starts, and up to 500 points, whose
maps differ most from start to start, from eleven; rows show means over all. Columns: seconds of the
optimisation, evaluations, KL divergence (of all pairs up to 100,000 points, else on a grid of
accuracy 1e-3), the share of the 15 and of the 100 nearest neighbours kept (2,000 points; copies of
a point count as one another), trustworthiness (15 neighbours, 1,000 points), the farthest point
(over the median distance from the
middle), and squareness: the extent of the map along the diagonals over that along the axes, 1 for a
disc and 1.41 for a square. Maps have shapes of their own; *axes* is what the axes add to it, the
square root of the product of the squarenesses of two maps whose starts differ by a turn of 45°: 1
if the axes do not matter.

``--cache`` keeps affinities, references and the peers' maps for the next run. A set of your own is
a file NAME.npz whose array X holds the points.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from data import LABELS, READERS
from embedding import principal_start
from scipy import sparse
from scipy.spatial import cKDTree

import closeknit as ck
from closeknit import objectives
from closeknit.repulsion import ExactRepulsion, GridRepulsion

N_JOBS = 2
PERPLEXITY = 30.0
SAMPLE = 2000
#: Sets whose maps were looked at while the defaults were chosen, and those that were not.
TUNED = ("digits", "coil20", "pbmc", "cbmc", "newsgroups", "flow", "mnist", "covertype", "million")
UNSEEN = ("iris", "wine", "breast", "glove", "skin")
SMALL, TINY = 6_000, 500


def load(name: str, folder: Path | None) -> tuple[Any, str]:
    """Return the points of a set and their metric."""
    if name in ("iris", "wine", "breast", "digits"):
        from sklearn import datasets

        names = {"breast": "breast_cancer"}
        X = getattr(datasets, f"load_{names.get(name, name)}")().data
        scaled = (X - X.mean(axis=0)) / X.std(axis=0) if name in ("wine", "breast") else X
        return scaled, "euclidean"
    if name.endswith(".npz"):
        with np.load(name, allow_pickle=False) as file:
            return file["X"], "euclidean"
    if name == "million":
        return clusters_of_low_rank(1_000_000), "euclidean"
    if name == "mnist":
        with np.load(folder / "mnist70k.npz", allow_pickle=False) as file:
            return file["X"].astype(np.float32), "euclidean"
    return READERS[name](folder)


def clusters_of_low_rank(n: int) -> np.ndarray:
    """Points of 100 clusters of rank 8 in 50 dimensions, with noise."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 100, n)
    centers = 3.0 * rng.normal(size=(100, 50))
    bases = rng.normal(size=(100, 8, 50)) / np.sqrt(8.0)
    X = np.empty((n, 50), np.float32)
    for cluster in range(100):
        own = label == cluster
        m = int(own.sum())
        noise = 0.1 * rng.normal(size=(m, 50))
        X[own] = centers[cluster] + rng.normal(size=(m, 8)) @ bases[cluster] + noise
    return X


class Problem:
    """A set's affinities, start, and the true neighbours of a sample."""

    def __init__(self, name: str, folder: Path | None, cache: Path | None):
        self.name, self.cache, self.folder = name, cache, folder
        self.title = Path(name).stem
        parts = self._cached("problem", self._compute)
        self.P = sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]))
        self.start, self.sample, self.near = parts["start"], parts["sample"], parts["near"]

    def _compute(self) -> dict[str, np.ndarray]:
        X, metric = load(self.name, self.folder)
        n = X.shape[0]
        perplexity = min(PERPLEXITY, (n - 1) / 3.1)
        P, _ = ck.graphs.affinity_graph(X, ck.TSNE(perplexity=perplexity, metric=metric))
        sample = np.sort(np.random.default_rng(1).choice(n, min(n, SAMPLE), replace=False))
        how = "exact" if n <= 150_000 else "approximate"
        index = ck.neighbors.make_index(metric, how).fit(X)
        k = min(100, n - 1)
        found = index.query(X[sample], k + 1).indices
        near = [row[row != point][:k] for row, point in zip(found, sample, strict=True)]
        return {
            "data": P.data / P.data.sum(),
            "indices": P.indices,
            "indptr": P.indptr,
            "start": principal_start(X),
            "sample": sample,
            "near": np.array(near),
        }

    def _cached(self, what: str, compute: Any) -> Any:
        file = None if self.cache is None else self.cache / f"finished-{self.title}-{what}.npz"
        if file is None or not file.exists():
            parts = compute()
            if file is None:
                return parts
            np.savez(file, **parts)
        return dict(np.load(file, allow_pickle=False))

    def map_of(self, what: str, make: Any, number: int = 0) -> tuple[np.ndarray, float, int]:
        """Return a map, the seconds it took and its evaluations, from the cache if it is there."""

        def compute() -> dict[str, Any]:
            Y, seconds, evaluations = make(self, self.start_of(number))
            return {"Y": Y, "seconds": seconds, "evaluations": evaluations}

        name = f"{what}-{number}" if number else what
        parts = compute() if what == "default" else self._cached(name, compute)
        return parts["Y"], float(parts["seconds"]), int(parts["evaluations"])

    def start_of(self, number: int) -> np.ndarray:
        """Return the start by PCA, or a random one."""
        if number == 0:
            return self.start
        return 1e-4 * np.random.default_rng(number).normal(size=self.start.shape)

    def measures(self, Y: np.ndarray) -> dict[str, float]:
        """Return what the table shows of a map."""
        spread = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
        ranks, k = self._nearest(Y)
        return {
            "KL": self.kl(Y),
            "recall@15": self._recall(ranks, min(15, k)),
            "recall@100": self._recall(ranks, k),
            "widest": float(spread.max() / np.median(spread)),
            "squareness": squareness(Y),
            "trust": self.trust(Y),
        }

    def trust(self, Y: np.ndarray) -> float:
        """Return the trustworthiness of a map."""
        X, metric = load(self.name, self.folder)
        k = min(15, len(Y) // 2 - 1)
        return ck.quality.trustworthiness(
            X, Y, k, metric=metric, sample=min(1000, len(Y)), n_jobs=N_JOBS, random_state=0
        )

    def _nearest(self, Y: np.ndarray) -> tuple[np.ndarray, int]:
        k = self.near.shape[1]
        _, found = cKDTree(Y).query(Y[self.sample], k + 1)
        own = found == self.sample[:, None]
        own[~own.any(axis=1), -1] = True
        return found[~own].reshape(len(found), k), k

    def _recall(self, found: np.ndarray, k: int) -> float:
        found, near = (self.copies[points[:, :k]].tolist() for points in (found, self.near))
        shared = [(Counter(a) & Counter(b)).total() for a, b in zip(found, near, strict=True)]
        return float(np.mean(shared)) / k

    @cached_property
    def copies(self) -> np.ndarray:
        """A number for each point, the same for copies, which count as one another."""
        X = load(self.name, self.folder)[0]
        if sparse.issparse(X):
            return np.arange(X.shape[0])
        return np.unique(X, axis=0, return_inverse=True)[1].ravel()

    def kl(self, Y: np.ndarray) -> float:
        """KL(P‖Q)."""
        exact = len(Y) <= 100_000
        how = ExactRepulsion(N_JOBS) if exact else GridRepulsion(1e-3, n_jobs=N_JOBS)
        model = objectives.TSNE(self.P, repulsion=how, check=False)
        return model.value(np.ascontiguousarray(Y, dtype=np.float64), 1.0) - model.entropy


def squareness(Y: np.ndarray) -> float:
    """Extent of the middle 99.5 % along the diagonals over that along the axes."""
    turned = Y @ np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2.0)

    def extent(Z: np.ndarray) -> float:
        low, high = np.quantile(Z, [0.0025, 0.9975], axis=0)
        return float((high - low).sum())

    return extent(turned) / extent(Y)


def ours(problem: Problem, start: np.ndarray, **parameters: Any) -> Any:
    began = time.perf_counter()
    model = ck.TSNE(affinity="precomputed", init=start, n_jobs=N_JOBS, **parameters)
    model.fit(problem.P)
    return model.embedding_, time.perf_counter() - began, model.history_.evaluations[-1]


def reference(problem: Problem, start: np.ndarray) -> Any:
    return ours(problem, start, max_iter=3000, tol=0.0)


def opentsne(problem: Problem, start: np.ndarray) -> Any:
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import Affinities

    class Given(Affinities):
        def __init__(self, P: Any):
            self.P, self.verbose, self.n_jobs = P, False, N_JOBS

    method = "fft" if len(problem.start) > 10_000 else "bh"  # as its "auto" chooses
    embedding = TSNEEmbedding(
        start.copy(),
        Given(problem.P),
        negative_gradient_method=method,
        n_jobs=N_JOBS,
        random_state=0,
    )
    began = time.perf_counter()
    embedding = embedding.optimize(n_iter=250, exaggeration=12, momentum=0.5)
    embedding = embedding.optimize(n_iter=500, momentum=0.8)
    return np.asarray(embedding), time.perf_counter() - began, 750


def scikit_learn(problem: Problem, start: np.ndarray) -> Any:
    from sklearn.manifold import TSNE

    X, metric = load(problem.name, problem.folder)
    perplexity = min(PERPLEXITY, (len(problem.start) - 1) / 3.1)
    model = TSNE(
        perplexity=perplexity,
        init=start.astype(np.float32),
        metric=metric,
        random_state=0,
        n_jobs=N_JOBS,
    )
    began = time.perf_counter()
    Y = model.fit_transform(X)
    return Y.astype(np.float64), time.perf_counter() - began, model.n_iter_


def table(arguments: argparse.Namespace) -> list[str]:
    lines = []
    given = [name for name in arguments.sets or () if name.endswith(".npz")]
    groups = {"Sets used to choose the defaults": TUNED, "Other sets": UNSEEN, "Given sets": given}
    for title, names in groups.items():
        chosen = [name for name in names if not arguments.sets or name in arguments.sets]
        if not chosen:
            continue
        lines += [
            f"### {title}",
            "",
            "| set | points | | seconds | evaluations | KL | recall@15 | recall@100 | "
            "trustworthiness | widest | squareness | axes |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for name in chosen:
            for line in rows(Problem(name, arguments.data, arguments.cache), arguments):
                print(line, file=sys.stderr, flush=True)
                lines.append(line)
        lines.append("")
    return lines


def rows(problem: Problem, arguments: argparse.Namespace) -> list[str]:
    n = len(problem.start)
    kinds = {"default": ours, "reference": reference, "openTSNE": opentsne}
    if n <= SMALL:
        kinds["scikit-learn"] = scikit_learn
    for left_out in arguments.without or ():
        kinds.pop(left_out, None)
    lines, found = [], {}
    for kind, make in kinds.items():
        n_starts = 1 if n > SMALL or kind == "reference" else 3 if n > TINY else 12
        maps = [problem.map_of(kind, make, number) for number in range(n_starts)]
        measured = [problem.measures(Y) for Y, _, _ in maps]
        cells = {name: np.mean([m[name] for m in measured]) for name in measured[0]}
        found[kind] = cells
        axes = ""
        if kind == "default" and n <= 300_000:
            quarter = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2.0)
            turned = ours(problem, problem.start @ quarter)[0]
            axes = f"{np.sqrt(measured[0]['squareness'] * squareness(turned)):.3f}"
        lines.append(
            f"| {problem.title if kind == 'default' else ''} | "
            f"{f'{n:,}' if kind == 'default' else ''} | {kind} | "
            f"{np.mean([m[1] for m in maps]):.1f} | {np.mean([m[2] for m in maps]):.0f} | "
            f"{cells['KL']:.3f} | {cells['recall@15']:.4f} | {cells['recall@100']:.4f} | "
            f"{cells['trust']:.4f} | {cells['widest']:.1f} | {cells['squareness']:.3f} | {axes} |"
        )
    lines.append(verdict(problem.title, found))
    return lines


def verdict(name: str, found: dict[str, dict[str, float]]) -> str:
    """Say whether the default keeps its promises: 98 % of the reference, no worse than peers."""
    own = found["default"]
    said = []
    if "reference" in found:
        said.append(f"{own['recall@15'] / found['reference']['recall@15']:.1%} of the reference")
    peers = [found[kind] for kind in ("openTSNE", "scikit-learn") if kind in found]
    if peers:
        best = max(peer["recall@15"] for peer in peers)
        lowest = min(peer["KL"] for peer in peers)
        said.append(f"best peer {own['recall@15'] - best:+.4f}, KL {own['KL'] - lowest:+.3f}")
    return f"| | | *{name}* | | | | {'; '.join(said)} | | | | | |"


def draw(Y: np.ndarray, labels: np.ndarray | None, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from closeknit.plotting import plot_embedding

    figure, ax = plt.subplots(figsize=(6, 6))
    plot_embedding(Y, labels, ax=ax)
    figure.savefig(path, dpi=80, bbox_inches="tight")
    plt.close(figure)


def pictures(arguments: argparse.Namespace) -> list[str]:
    for name in arguments.sets or (*TUNED, *UNSEEN):
        problem = Problem(name, arguments.data, arguments.cache)
        labels = None
        if name in LABELS or name in ("mnist", "flow", "coil20", "skin"):
            file = {"mnist": "mnist70k"}.get(name, name)
            labels = label_of(file, arguments.data)
        path = arguments.output / f"finished-{problem.title}.png"
        draw(ours(problem, problem.start)[0], labels, path)
    return []


def label_of(name: str, folder: Path) -> np.ndarray | None:
    from data import FILES

    with np.load(folder / FILES[name.removesuffix("70k")], allow_pickle=False) as file:
        return file.get("y")


def raw(arguments: argparse.Namespace) -> list[str]:
    """From a million raw points to the map, with the peak of memory."""
    import resource

    X = clusters_of_low_rank(arguments.size)
    began = time.perf_counter()
    model = ck.TSNE(perplexity=PERPLEXITY, random_state=0, n_jobs=N_JOBS).fit(X)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    optimisation = float(model.history_.seconds[-1])
    recall = ck.quality.neighbor_recall(X, model.embedding_, 15, sample=SAMPLE)
    draw(model.embedding_, None, arguments.output / "finished-raw.png")
    return [
        "| points | seconds in all | of them optimisation | iterations | KL | recall@15 | GiB |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        f"| {len(X):,} | {seconds:.0f} | {optimisation:.0f} | {model.n_iter_} | "
        f"{model.kl_divergence_:.3f} | {recall:.4f} | {peak:.1f} |",
    ]


def models(arguments: argparse.Namespace) -> list[str]:
    """s-SNE, the elastic embedding and Laplacian eigenmaps at many points."""
    lines = [
        "| set | points | model | seconds | evaluations | E | long run's E | recall@15 | long |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in arguments.sets or ("mnist", "skin", "million"):
        problem = Problem(name, arguments.data, arguments.cache)
        shared = {"affinity": "precomputed", "n_jobs": N_JOBS}
        for model in (ck.SymmetricSNE, ck.ElasticEmbedding, ck.LaplacianEigenmaps):
            if model.__name__ in (arguments.without or ()):
                continue
            began = time.perf_counter()
            if model is ck.LaplacianEigenmaps:
                fitted = model(**shared).fit(problem.P)
                evaluations, E, E_long, long = "", "", residual_of(problem.P, fitted), ""
            else:
                fitted = model(init=problem.start, **shared).fit(problem.P)
                evaluations, E = fitted.history_.evaluations[-1], f"{fitted.objective_:.6g}"
                E_long = long = ""
            seconds = time.perf_counter() - began
            if "long" not in (arguments.without or ()) and model is not ck.LaplacianEigenmaps:
                options = {"lam": fitted.lam_, "tol": 1e-7, "max_iter": 3000}
                strict = model(init=problem.start, **options, **shared).fit(problem.P)
                E_long, long = f"{strict.objective_:.6g}", f"{kept(problem, strict):.4f}"
            lines.append(
                f"| {name} | {len(problem.start):,} | {model.__name__} | {seconds:.1f} | "
                f"{evaluations} | {E} | {E_long} | {kept(problem, fitted):.4f} | {long} |"
            )
            print(lines[-1], file=sys.stderr, flush=True)
    return lines


def starts(arguments: argparse.Namespace) -> list[str]:
    """What the start of a fit to given affinities takes of its time."""
    lines = [
        "| set | points | components | start, seconds | whole fit, seconds | share | recall@15 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in arguments.sets or ("mnist", "covertype", "million"):
        problem = Problem(name, arguments.data, arguments.cache)
        P = problem.P
        began = time.perf_counter()
        ck.embeddings.initial_embedding("auto", P, P, 2, 0, "precomputed")
        start = time.perf_counter() - began
        began = time.perf_counter()
        fitted = ck.TSNE(affinity="precomputed", random_state=0, n_jobs=N_JOBS).fit(P)
        fit = time.perf_counter() - began
        count = sparse.csgraph.connected_components(P, directed=False, return_labels=False)
        lines.append(
            f"| {problem.title} | {P.shape[0]:,} | {count} | {start:.1f} | {fit:.1f} | "
            f"{start / fit:.1%} | {kept(problem, fitted):.4f} |"
        )
    return lines


def kept(problem: Problem, fitted: Any) -> float:
    ranks, k = problem._nearest(fitted.embedding_)
    return problem._recall(ranks, min(15, k))


def residual_of(P: Any, fitted: Any) -> str:
    """Say how far the map is from spanning an invariant subspace of D^{-1/2} P D^{-1/2}."""
    count = sparse.csgraph.connected_components(P, directed=False, return_labels=False)
    if count > 1:
        return f"{count} components"
    roots = np.sqrt(np.asarray(P.sum(axis=1)).ravel())
    vectors = np.linalg.qr(fitted.embedding_ * roots[:, None])[0]
    image = (P @ (vectors / roots[:, None])) / roots[:, None]
    return f"residual {np.linalg.norm(image - vectors @ (vectors.T @ image)):.1e}"


def known(name: str) -> str:
    if name in (*TUNED, *UNSEEN) or (name.endswith(".npz") and Path(name).exists()):
        return name
    names = ", ".join((*TUNED, *UNSEEN))
    raise argparse.ArgumentTypeError(f"{name} is neither one of {names} nor a file NAME.npz")


def main() -> None:
    kinds = (table, pictures, raw, models, starts)
    tasks = {task.__name__: task for task in kinds}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=list(tasks))
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--cache", type=Path, help="folder for affinities, references and peers")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--sets", nargs="+", type=known, help="names, or files NAME.npz")
    parser.add_argument("--without", nargs="+", help="kinds of map to leave out")
    parser.add_argument("--size", type=int, default=1_000_000, help="points of raw")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    print("\n".join(tasks[arguments.what](arguments)))


if __name__ == "__main__":
    main()
