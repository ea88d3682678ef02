"""Embeddings of many points: against openTSNE, model against model, growth, pictures.

    python benchmarks/embedding.py mnist --data FOLDER      t-SNE against openTSNE, same P and start
    python benchmarks/embedding.py race --data FOLDER       momentum against spectral directions
    python benchmarks/embedding.py models --data FOLDER     s-SNE and EE against t-SNE and descent
    python benchmarks/embedding.py sets --data FOLDER       the default t-SNE on every data set
    python benchmarks/embedding.py growth                   10,000 to 1,000,000 points
    python benchmarks/embedding.py crossover                exact sums against the grid
    python benchmarks/embedding.py pictures --data FOLDER   maps to look at

Affinities of perplexity 30 are computed first and given to everyone; seconds are those of the
optimisation. `--cache FOLDER` keeps them for the next run. Tables go to standard output and to
--output.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from data import LABELS, load_labelled
from scipy import sparse
from scipy.special import entr

import closeknit as ck
from closeknit import objectives, quality
from closeknit.kernels import GAUSSIAN, STUDENT
from closeknit.minimize import Backtracking, SpectralDirection, SpectralLBFGS, minimize
from closeknit.neighbors import find_neighbors
from closeknit.repulsion import ExactRepulsion, GridRepulsion

N_JOBS = 2
PERPLEXITY = 30.0
#: openTSNE's defaults.
OPENTSNE_STAGES = (
    {"n_iter": 250, "exaggeration": 12, "momentum": 0.5},
    {"n_iter": 500, "momentum": 0.8},
)
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)


class Problem:
    """A data set's affinities, start, nearest neighbours and labels."""

    def __init__(self, name: str, folder: Path | None, cache: Path | None):
        self.name = name
        file = None if cache is None else cache / f"embedding-{name}.npz"
        if file is not None and file.exists():
            parts = dict(np.load(file, allow_pickle=False))
        else:
            parts = self._compute(name, folder)
            if file is not None:
                np.savez(file, **parts)
        self.P = sparse.csr_matrix((parts["data"], parts["indices"], parts["indptr"]))
        self.start, self.nearest, self.labels = parts["start"], parts["nearest"], parts["labels"]

    @staticmethod
    def _compute(name: str, folder: Path | None) -> dict[str, np.ndarray]:
        X, metric, labels = load_labelled(name, folder)
        affinities = ck.EntropicAffinities(PERPLEXITY, metric=metric, n_jobs=N_JOBS)
        P = ck.graphs.symmetrize(affinities.fit_transform(X))
        nearest = find_neighbors(X, 15, metric=metric, neighbors="exact", n_jobs=N_JOBS).indices
        return {
            "data": P.data / P.data.sum(),
            "indices": P.indices,
            "indptr": P.indptr,
            "start": principal_start(X),
            "nearest": nearest,
            "labels": labels,
        }

    @property
    def entropy(self) -> float:
        """H(P)."""
        return float(entr(self.P.data).sum())

    def exact_kl(self, embedding: np.ndarray) -> float:
        """KL(P‖Q) over all pairs."""
        exact = objectives.TSNE(self.P, repulsion=ExactRepulsion(N_JOBS), check=False)
        return exact.value(embedding, 1.0) - exact.entropy

    def recall(self, embedding: np.ndarray) -> float:
        """Share of the nearest neighbours that are nearest in the embedding too."""
        found = find_neighbors(embedding, self.nearest.shape[1], n_jobs=N_JOBS).indices
        shared = [len(np.intersect1d(a, b)) for a, b in zip(found, self.nearest, strict=True)]
        return float(np.mean(shared)) / self.nearest.shape[1]


def principal_start(X: Any) -> np.ndarray:
    from sklearn.decomposition import PCA, TruncatedSVD

    make = TruncatedSVD if sparse.issparse(X) else PCA
    Y = make(2, random_state=0).fit_transform(X).astype(np.float64)
    return 1e-4 * Y / Y[:, 0].std()


def fit(model: Any, problem: Problem) -> tuple[Any, np.ndarray, np.ndarray]:
    """Fit a model on given affinities; also the seconds and KL divergence after each iteration."""
    model.set_params(affinity="precomputed", init=problem.start, n_jobs=N_JOBS).fit(problem.P)
    history = model.history_
    return model, np.asarray(history.seconds), np.asarray(history.objective)


def opentsne(problem: Problem) -> tuple[np.ndarray, float]:
    """Return openTSNE's embedding and seconds, from the same affinities and start."""
    from openTSNE import TSNEEmbedding
    from openTSNE.affinity import Affinities

    class Given(Affinities):
        def __init__(self, P: Any):
            self.P, self.verbose, self.n_jobs = P, False, N_JOBS

    embedding = TSNEEmbedding(
        problem.start.copy(),
        Given(problem.P),
        negative_gradient_method="fft",
        n_jobs=N_JOBS,
        random_state=0,
    )
    started = time.perf_counter()
    for stage in OPENTSNE_STAGES:
        embedding = embedding.optimize(**stage)
    return np.asarray(embedding), time.perf_counter() - started


def mnist(arguments: argparse.Namespace) -> list[str]:
    problem = Problem("mnist70k", arguments.data, arguments.cache)
    peer, peer_seconds = opentsne(problem)
    peer_kl = problem.exact_kl(peer)
    runs = [fit(ck.TSNE(), problem) for _ in range(arguments.repeats)]
    model, seconds, objective = min(runs, key=lambda run: run[1][-1])
    kl = objective - problem.entropy
    lines = [
        "| | seconds | KL (exact) | KL (reported) | recall@15 | 10-NN accuracy |",
        "| --- | --- | --- | --- | --- | --- |",
        row("openTSNE", peer_seconds, peer, problem, None),
        row(
            f"closeknit, {model.n_iter_} iterations",
            seconds[-1],
            model.embedding_,
            problem,
            model.kl_divergence_,
        ),
        "",
    ]
    final = objective_at_full_repulsion(model, kl)
    for what, target in (("openTSNE's final KL", peer_kl), ("0.2 below it", peer_kl - 0.2)):
        reached = np.flatnonzero(final <= target)
        if len(reached):
            took = seconds[reached[0]]
            lines.append(
                f"{what} ({target:.3f}) after {took:.2f} s; openTSNE takes "
                f"{peer_seconds / took:.0f} × that."
            )
        else:
            lines.append(f"{what} ({target:.3f}) was not reached.")
    return lines


def objective_at_full_repulsion(model: Any, kl: np.ndarray) -> np.ndarray:
    """KL of the iterations at λ = 1; those of early exaggeration do not count."""
    if model.lam_ < 1.0:  # stopped too early
        return np.full(len(kl), np.inf)
    early = sum(len(result.history.objective) for result in model.path_.results[:-1])
    return np.where(np.arange(len(kl)) < early, np.inf, kl)


def row(name: str, seconds: float, Y: np.ndarray, problem: Problem, reported: float | None) -> str:
    accuracy = quality.knn_accuracy(Y, problem.labels, 10) if len(problem.labels) else float("nan")
    said = "" if reported is None else f"{reported:.4f}"
    return (
        f"| {name} | {seconds:.2f} | {problem.exact_kl(Y):.4f} | {said} | "
        f"{problem.recall(Y):.4f} | {accuracy:.4f} |"
    )


def race(arguments: argparse.Namespace) -> list[str]:
    """Momentum against the refreshed spectral direction on MNIST, from one P and start."""
    problem = Problem("mnist70k", arguments.data, arguments.cache)
    goals = (2.871, 2.671)  # where openTSNE ends, and 0.2 below
    lines = [
        f"| | iterations | s to KL {goals[0]} | s to {goals[1]} | KL at the end | s | recall@15 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    few = {"n_neighbors": 10, "solver": "approximate"}
    directions = {
        "momentum": "auto",
        "spectral momentum": "spectral-momentum",
        "spectral direction, new factor every 10": SpectralDirection(**few, refresh=10),
        "spectral L-BFGS, new factor every 20": SpectralLBFGS(**few, memory=10, refresh=20),
    }
    for name, direction in directions.items():
        model = ck.TSNE(direction=direction, time_limit=arguments.limit)
        model, seconds, objective = fit(model, problem)
        kl = objective_at_full_repulsion(model, objective - problem.entropy)
        reached = [np.flatnonzero(kl <= goal) for goal in goals]
        cells = [f"{seconds[at[0]]:.2f}" if len(at) else "–" for at in reached]
        lines.append(
            f"| {name} | {model.n_iter_} | {' | '.join(cells)} | {model.kl_divergence_:.4f} | "
            f"{seconds[-1]:.1f} | {problem.recall(model.embedding_):.4f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def models(arguments: argparse.Namespace) -> list[str]:
    """Whole fits against t-SNE's, and the default direction against gradient descent at one λ.

    Gradient descent goes once with steps that only shrink, as in the paper, and once with ours,
    which may grow again.
    """
    problem = Problem("mnist70k", arguments.data, arguments.cache)
    lines = [
        "| | seconds of a fit | over t-SNE's | λ | to E + 0.01 % | gradient descent, the paper's "
        "steps | ratio | with growing steps | ratio |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    reference, _ = timed(ck.TSNE(), problem)
    lines.append(f"| t-SNE | {reference:.2f} | 1 | 1 | | | | | |")
    kinds = {
        "s-SNE": (ck.SymmetricSNE(), objectives.SymmetricSNE),
        "EE": (ck.ElasticEmbedding(), objectives.ElasticEmbedding),
    }
    for name, (model, kind) in kinds.items():
        took, model = timed(model, problem)
        objective = kind(problem.P, repulsion=GridRepulsion(0.02, n_jobs=N_JOBS), check=False)
        at = objective.at(model.lam_)
        goal = model.objective_ * (1.0 + 1e-4)
        best = SpectralLBFGS(n_neighbors=5, memory=5)  # the default
        ours, reached = seconds_to(at, problem.start, best, "auto", goal, arguments.limit)
        cells = ""
        for grow in (1.0, 2.0):
            theirs, arrived = seconds_to(
                at, problem.start, "gradient", Backtracking(grow=grow), goal, arguments.limit
            )
            said = f"{theirs:.1f} s" if arrived else f"not in {theirs:.0f} s"
            cells += f" {said} | {'' if arrived else '> '}{theirs / ours:.1f} |"
        lines.append(
            f"| {name} | {took:.2f} | {took / reference:.2f} | {model.lam_:.3g} | "
            f"{f'{ours:.2f} s' if reached else 'not reached'} |{cells}"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def timed(model: Any, problem: Problem) -> tuple[float, Any]:
    started = time.perf_counter()
    model = fit(model, problem)[0]
    return time.perf_counter() - started, model


def seconds_to(
    problem: Any, start: np.ndarray, direction: Any, step: Any, goal: float, limit: float
) -> tuple[float, bool]:
    """Return how long a direction takes to the goal, and whether it got there."""
    result = minimize(
        problem,
        start,
        direction,
        step=step,
        max_iter=10**6,
        tol=0.0,
        time_limit=limit,
        callback=lambda state: state.value <= goal,
    )
    return result.seconds, result.stopped_because == "callback"


def sets(arguments: argparse.Namespace) -> list[str]:
    lines = [
        "| | points | iterations | stopped | seconds | KL | recall@15 | 10-NN accuracy | widest |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in LABELS:
        problem = Problem(name, arguments.data, arguments.cache)
        model, seconds, _ = fit(ck.TSNE(), problem)
        Y = model.embedding_
        known = len(problem.labels) > 0
        accuracy = "–"
        if known:
            accuracy = f"{quality.knn_accuracy(Y, problem.labels, 10, sample=10_000):.4f}"
        spread = np.linalg.norm(Y - np.median(Y, axis=0), axis=1)
        lines.append(
            f"| {name} | {len(Y):,} | {model.n_iter_} | {model.stopped_because_} | "
            f"{seconds[-1]:.1f} | {model.kl_divergence_:.3f} | {problem.recall(Y):.3f} | "
            f"{accuracy} | {spread.max() / np.median(spread):.1f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    return [*lines, "", "Widest: distance from the median point, farthest over median."]


def growth(arguments: argparse.Namespace) -> list[str]:
    """Each size in a process of its own, so that the peak of memory is its own."""
    lines = [
        "| points | edges | ms an evaluation | iterations | seconds | KL | peak / graph |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    measured = []
    for n in arguments.sizes:
        command = [sys.executable, __file__, "one", "--size", str(n)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        edges, evaluations, seconds, kl, peak = (float(word) for word in answer[-5:])
        measured.append((n, seconds / evaluations, seconds))
        lines.append(
            f"| {n:,} | {edges:,.0f} | {1e3 * seconds / evaluations:.1f} | {evaluations:.0f} | "
            f"{seconds:.1f} | {kl:.3f} | {peak:.2f} |"
        )
        print(lines[-1], file=sys.stderr, flush=True)
    sizes, each, total = np.log(np.array(measured)).T
    if len(sizes) > 1:
        lines += [
            "",
            f"Exponent of the seconds per evaluation {np.polyfit(sizes, each, 1)[0]:.2f}, "
            f"of the total {np.polyfit(sizes, total, 1)[0]:.2f}.",
        ]
    return lines


def crossover(arguments: argparse.Namespace) -> list[str]:
    """Milliseconds of the sums over all pairs, one by one and on the grid, on a disc of points."""
    lines = [
        "| points | t-SNE exact | grid | s-SNE exact | grid |",
        "| --- | --- | --- | --- | --- |",
    ]
    for n in (1000, 2000, 5000, 10_000, 20_000):
        cells = []
        for kernel, accuracy, width in ((STUDENT, 0.1, 1.0), (GAUSSIAN, 0.02, 0.05)):
            X = width * np.sqrt(n) * np.random.default_rng(0).normal(size=(n, 2)) / 2.0
            for way in (ExactRepulsion(N_JOBS), GridRepulsion(accuracy, n_jobs=N_JOBS)):
                seconds = []
                for _ in range(7 * arguments.repeats):
                    started = time.perf_counter()
                    way.sums(X, kernel)
                    seconds.append(time.perf_counter() - started)
                cells.append(f"{1e3 * min(seconds):.2f}")
        lines.append(f"| {n:,} | {' | '.join(cells)} |")
    return lines


def one(arguments: argparse.Namespace) -> list[str]:
    """t-SNE on a mixture of Gaussians, k = 30 neighbours given as affinities of perplexity 10.

    Memory is counted from a small fit on, so that modules loaded on first use are not.
    """
    n = arguments.size
    few = np.random.default_rng(0).normal(size=(6000, 3))
    ck.TSNE(perplexity=10.0, max_iter=10, n_jobs=N_JOBS).fit(few)
    X, _ = ck.datasets.make_gaussian_mixture(n, 10, 20, dtype=np.float32, random_state=0)
    start = principal_start(X)
    affinities = ck.EntropicAffinities(10.0, n_neighbors=30, neighbors="approximate", n_jobs=N_JOBS)
    P = ck.graphs.symmetrize(affinities.fit_transform(X))
    del X, affinities
    graph = P.data.nbytes + P.indices.nbytes + P.indptr.nbytes
    ctypes.CDLL(None).malloc_trim(0)  # what was freed must not pass for the fit's
    current = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    model = ck.TSNE(affinity="precomputed", init=start, n_jobs=N_JOBS).fit(P)
    status = Path("/proc/self/status").read_text()
    peak = 1024 * int(status.split("VmHWM:")[1].split()[0])
    history = model.history_
    above = (peak - current + graph) / graph
    return [
        f"{P.nnz} {history.evaluations[-1]} {history.seconds[-1]:.3f} "
        f"{model.kl_divergence_:.4f} {above:.3f}"
    ]


def pictures(arguments: argparse.Namespace) -> list[str]:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from closeknit.plotting import plot_embedding

    for name in arguments.sets or LABELS:
        problem = Problem(name, arguments.data, arguments.cache)
        model = fit(ck.TSNE(), problem)[0]
        figure, ax = plt.subplots(figsize=(6, 6))
        plot_embedding(model.embedding_, problem.labels if len(problem.labels) else None, ax=ax)
        figure.savefig(arguments.output / f"embedding-{name}.png", dpi=80, bbox_inches="tight")
        plt.close(figure)
    return []


def main() -> None:
    tasks = {
        "mnist": mnist,
        "race": race,
        "models": models,
        "sets": sets,
        "growth": growth,
        "crossover": crossover,
        "one": one,
        "pictures": pictures,
    }
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=list(tasks))
    parser.add_argument("--data", type=Path, help="folder with the data sets")
    parser.add_argument("--cache", type=Path, help="folder for computed affinities")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of gradient descent")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--size", type=int, default=SIZES[0], help="of a single run")
    parser.add_argument("--sets", nargs="+", choices=list(LABELS))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    lines = tasks[arguments.what](arguments)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
