"""Memory: how much a fit needs at its peak, beside the data that are given.

    python benchmarks/memory.py                  50,000 points
    python benchmarks/memory.py --size 20000

Ten blobs; 20 and, to see what a feature takes, 200 dimensions; 30 and 90 neighbours. Each fit runs
in a process of its own, which fits a small set first, so that what is loaded once does not count;
then the growth of its resident set to the peak is taken. A line through the two numbers of
neighbours gives the bytes for each neighbour of a point, and for each point besides.
`closeknit.cli.memory` has its constants from here. Linux only: other systems do not let a process
forget its peak. Tables go to standard output.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

import closeknit as ck
from closeknit.cli.memory import estimate
from closeknit.exceptions import NotConvergedWarning

NEIGHBORS = (30, 90)
#: What is fitted, with how many features, what the command line calls such work, and how many
#: eigenvectors it knows to be wanted.
CASES = (
    ("affinities", 20, "affinities", 0),
    ("affinities", 200, "affinities", 0),
    ("t-SNE", 20, "graph", 0),
    ("t-SNE", 200, "graph", 0),
    ("eigenmaps", 20, "eigenvectors", 3),
    ("12 clusters", 20, "eigenvectors", 12),
    ("40 clusters", 20, "eigenvectors", 40),
    ("elastic embedding", 20, "spectral", 0),
    ("s-SNE", 20, "spectral", 0),
    ("mean shift", 20, "modes", 0),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=50_000)
    parser.add_argument("--fits", nargs="+", help="only these", choices={case[0] for case in CASES})
    parser.add_argument("--one", nargs=3, metavar=("FIT", "FEATURES", "NEIGHBORS"), help="no table")
    arguments = parser.parse_args()
    n = arguments.size
    if arguments.one:
        fit, n_features, k = arguments.one
        print(growth(fit, n, int(n_features), int(k)))
        return
    print(f"{n:,} points\n")
    columns = ["fit", "features", *(f"MB, {k} neighbours" for k in NEIGHBORS)]
    columns += ["bytes per neighbour", "bytes per point", "estimated / measured"]
    print("| " + " | ".join(columns) + " |")
    print("| " + " | ".join("---" for _ in columns) + " |")
    for case in CASES:
        if arguments.fits is None or case[0] in arguments.fits:
            print(row(n, *case), flush=True)


def row(n: int, fit: str, n_features: int, work: str, n_vectors: int) -> str:
    peaks = [in_own_process(fit, n, n_features, k) for k in NEIGHBORS]
    few, many = NEIGHBORS
    per_neighbor = (peaks[1] - peaks[0]) / (n * (many - few))
    per_point = peaks[0] / n - few * per_neighbor
    ratios = [
        estimate(n, n_features, k, work, n_vectors) / peak
        for k, peak in zip(NEIGHBORS, peaks, strict=True)
    ]
    cells = [
        fit,
        str(n_features),
        *(f"{peak / 1e6:.0f}" for peak in peaks),
        f"{per_neighbor:.0f}",
        f"{per_point:.0f}",
        ", ".join(f"{ratio:.2f}" for ratio in ratios),
    ]
    return "| " + " | ".join(cells) + " |"


def in_own_process(fit: str, n: int, n_features: int, k: int) -> float:
    command = [sys.executable, __file__, "--size", str(n), "--one", fit, str(n_features), str(k)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8")
    return float(done.stdout)


def growth(fit: str, n: int, n_features: int, k: int) -> int:
    """Bytes by which the resident set grows at most while the points are fitted."""
    estimator(fit, 10).fit(points(1_000, n_features))
    X = points(n, n_features)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is now what is resident
    before = resident("VmRSS")
    estimator(fit, k).fit(X)
    return resident("VmHWM") - before


def estimator(fit: str, k: int) -> Any:
    options: dict[str, Any] = {"perplexity": k / 3, "n_neighbors": k, "random_state": 0}
    # As few iterations as show the peak.
    warnings.simplefilter("ignore", NotConvergedWarning)
    match fit:
        case "affinities":
            return ck.EntropicAffinities(**options)
        case "t-SNE":
            return ck.TSNE(**options, max_iter=10)
        case "elastic embedding":
            return ck.ElasticEmbedding(**options, max_iter=5)
        case "s-SNE":
            return ck.SymmetricSNE(**options, max_iter=5)
        case "eigenmaps":
            return ck.LaplacianEigenmaps(**options)
        case "12 clusters" | "40 clusters":
            return ck.SpectralClustering(int(fit.split()[0]), **options, n_init=1, max_iter=5)
        case _:
            return ck.MeanShift(**options, max_iter=20)


def points(n: int, n_features: int) -> np.ndarray:
    """Blobs that touch, so that their graph is connected and its eigenvectors are searched."""
    box = (-1.0, 1.0)
    return make_blobs(n, n_features=n_features, centers=10, center_box=box, random_state=0)[0]


def resident(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"/proc/self/status does not tell {name}")


if __name__ == "__main__":
    main()
