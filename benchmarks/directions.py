"""Search directions on COIL-20: figures 1 to 3 of the partial-Hessian paper.

    python benchmarks/directions.py same --data FOLDER      figure 1: one start, one minimum
    python benchmarks/directions.py random --data FOLDER    figure 2: random starts, a fixed time
    python benchmarks/directions.py homotopy --data FOLDER  figure 3: λ from small to large

720 images of ten objects, entropic affinities over all points at perplexity 20, two dimensions;
elastic embedding at λ = 100 and s-SNE. Tables go to standard output and, with the learning curves,
to --output.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import closeknit as ck
from closeknit import objectives
from closeknit.graphs import symmetrize
from closeknit.minimize import Result, homotopy, log_spaced, minimize

DIRECTIONS = {
    "GD": "gradient",
    "FP": "fixed-point",
    "DiagH": "diagonal-hessian",
    "CG": "cg",
    "SD−": "spectral-minus",
    "L-BFGS": "lbfgs",
    "SD": "spectral",
    "SD + L-BFGS": "spectral-lbfgs",
}
MODELS: dict[str, tuple[Any, float]] = {
    "EE": (objectives.ElasticEmbedding, 100.0),
    "s-SNE": (objectives.SymmetricSNE, 1.0),
}
N_JOBS = 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["same", "random", "homotopy"])
    parser.add_argument("--data", type=Path, required=True, help="folder with coil20.npz")
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--starts", type=int, default=50, help="random starts")
    parser.add_argument("--seconds", type=float, default=1.0, help="time for each random start")
    parser.add_argument("--iterations", type=int, default=3000, help="most iterations of a run")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds for a run of figures 1 and 3"
    )
    parser.add_argument(
        "--start", type=float, default=0.7, help="figure 1: λ of the start, as a share"
    )
    parser.add_argument("--model", choices=list(MODELS), help="one model only")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    with np.load(arguments.data / "coil20.npz") as file:
        X = file["X"][:720].astype(np.float64)
    P = ck.EntropicAffinities(20.0, n_neighbors=None, n_jobs=N_JOBS).fit_transform(X)
    run = {"same": same, "random": random, "homotopy": follow}[arguments.what]
    lines: list[str] = []
    for name, (model, lam) in MODELS.items():
        if arguments.model not in (None, name):
            continue
        lines += [f"\n### {name}, λ = {lam:g}\n"]
        lines += run(name, model(symmetrize(P), n_jobs=N_JOBS), lam, arguments)
        print("\n".join(lines), flush=True)
        lines = []


def same(name: str, objective: Any, lam: float, arguments: argparse.Namespace) -> list[str]:
    """One start, one minimum: evaluations and seconds until E is within a share of the way."""
    problem = objective.at(lam)
    rng = np.random.default_rng(0)
    path = homotopy(
        objective.at, lam * np.geomspace(1e-4, 1.0, 12), 1e-4 * rng.standard_normal((720, 2)),
        "spectral-lbfgs", max_iter=200, tol=1e-9,
    )  # fmt: skip
    # The start is the minimum at a smaller λ: near in a smooth way, not by noise.
    start = homotopy(
        objective.at, [arguments.start * lam], path.X, "spectral-lbfgs", max_iter=500, tol=1e-10
    ).X
    runs = {
        label: minimize(problem, start, direction, max_iter=arguments.iterations, tol=0.0,
                        gradient_tol=1e-9, time_limit=arguments.limit)
        for label, direction in DIRECTIONS.items()
    }  # fmt: skip
    lowest = min(result.value for result in runs.values())
    _draw(arguments.output / f"directions-same-{name}.png", runs, lowest, name)
    first = problem.value(start)
    shares = (1e-2, 1e-4, 1e-6)
    header = ["direction", *[f"to {share:g}" for share in shares], "end: (E − E*) / (E0 − E*)"]
    rows = []
    for label, result in runs.items():
        h, gap = result.history, (result.history.objective - lowest) / (first - lowest)
        cells = [_until(gap, share, h) for share in shares]
        rows.append([label, *cells, f"{gap.min():.1e}"])
    return [
        "Evaluations / seconds until the remaining share of the decrease is",
        "",
        *_table(header, rows),
    ]


def _until(gap: np.ndarray, share: float, history: Any) -> str:
    reached = np.flatnonzero(gap <= share)
    if not len(reached):
        return "–"
    return f"{history.evaluations[reached[0]]} / {history.seconds[reached[0]]:.2f}"


def random(name: str, objective: Any, lam: float, arguments: argparse.Namespace) -> list[str]:
    """Random starts for a fixed time: objective and iterations at the end."""
    problem = objective.at(lam)
    rows = []
    for label, direction in DIRECTIONS.items():
        ends, iterations = [], []
        for seed in range(arguments.starts):
            start = 1e-2 * np.random.default_rng(seed).standard_normal((720, 2))
            result = minimize(problem, start, direction, max_iter=100_000, tol=0.0,
                              gradient_tol=1e-9, time_limit=arguments.seconds)  # fmt: skip
            ends.append(result.value)
            iterations.append(result.n_iter)
        low, median, high = np.quantile(ends, [0.0, 0.5, 1.0])
        cells = [
            label,
            f"{median:.6g}",
            f"{low:.6g}",
            f"{high:.6g}",
            f"{np.median(iterations):.0f}",
        ]
        rows.append(cells)
    header = ["direction", "median E", "least", "largest", "iterations (median)"]
    title = f"{arguments.starts} random starts, {arguments.seconds:g} s each:"
    return [title, "", *_table(header, rows)]


def follow(name: str, objective: Any, lam: float, arguments: argparse.Namespace) -> list[str]:
    """Homotopy over 50 values of λ: total evaluations and seconds, and the final objective."""
    lams = log_spaced() if name == "EE" else np.geomspace(1e-4, 1.0, 50)
    start = 1e-4 * np.random.default_rng(0).standard_normal((720, 2))
    rows = []
    for label, direction in DIRECTIONS.items():
        path = homotopy(objective.at, lams, start, direction, max_iter=200, tol=1e-6,
                        time_limit=arguments.limit)  # fmt: skip
        h = path.history
        done = len(path.results)
        cells = [
            label,
            h.evaluations[-1],
            f"{h.seconds[-1]:.1f}",
            done,
            f"{path.results[-1].value:.6g}",
        ]
        rows.append(list(map(str, cells)))
    header = ["direction", "evaluations", "seconds", "λ reached of 50", "E at the last λ"]
    return _table(header, rows)


def _table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    header = list(header)
    lines = ["| " + " | ".join(header) + " |", "| --- " * len(header) + "|"]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def _draw(path: Path, runs: dict[str, Result], lowest: float, name: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    picks: list[tuple[str, Callable[[Any], np.ndarray]]] = [
        ("evaluations", lambda h: h.evaluations),
        ("seconds", lambda h: np.maximum(h.seconds, 1e-3)),
    ]
    for ax, (label, pick) in zip(axes, picks, strict=True):
        for i, (direction, result) in enumerate(runs.items()):
            h = result.history
            gap = np.maximum((h.objective - lowest) / abs(lowest), 1e-12)
            ax.loglog(np.maximum(pick(h), 1e-3), gap, label=direction, color=f"C{i}")
        ax.set_xlabel(label)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("(E − E*) / |E*|")
    axes[1].legend(fontsize="small", frameon=False, loc="lower left")
    figure.suptitle(f"COIL-20, {name}: from one start to one minimum")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
