"""The smoothest vectors on a graph: seconds by preconditioner, beside Lanczos iterations.

    python benchmarks/eigenvectors.py [--data FOLDER]

Graphs of entropic affinities at perplexity 30: the pixels of a photograph (512 × 512, 25 vectors)
and, from FOLDER, MNIST (70,000, 10 vectors), 20 Newsgroups (20 vectors) and covertype (286,000, 7
vectors). Ours to the tolerance of spectral clustering, preconditioned by the factor of the
strongest 10, 20 or 40 neighbours; SciPy's `eigsh` (ARPACK, largest eigenvalues of the normalised
affinities) to 1e-9 of the largest eigenvalue, ended after ten times our seconds. The table goes to
standard output.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from pathlib import Path
from typing import Any

import numpy as np
from data import PIXELS, load, load_labelled
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import eigsh

import closeknit as ck
from closeknit.apps.pixels import pixel_features
from closeknit.experiments.data import photograph
from closeknit.graphs import symmetrize
from closeknit.linalg import eigenvectors

SETS = {PIXELS: 25, "mnist70k": 10, "newsgroups": 20, "covertype": 7}
KAPPAS = (10, 20, 40)
TOLERANCE = 1e-4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with the benchmark data sets")
    parser.add_argument("--sets", nargs="+", choices=SETS, help="all that are there, unless given")
    arguments = parser.parse_args()
    names = arguments.sets or (SETS if arguments.data else [PIXELS])
    print("| graph | " + " | ".join(f"κ = {kappa}" for kappa in KAPPAS) + " | Lanczos | ratio |")
    print("| --- " * (len(KAPPAS) + 3) + "|")
    for name in names:
        compare(name, graph_of(name, arguments.data))


def graph_of(name: str, folder: Path | None) -> csr_matrix:
    if name == PIXELS:
        X, metric = pixel_features(photograph().image, spatial_weight=0.3), "euclidean"
    elif name == "mnist70k":
        X, metric, _ = load_labelled(name, folder)
    else:
        X, metric = load(name, folder)
    return symmetrize(ck.EntropicAffinities(30.0, metric=metric, random_state=0).fit_transform(X))


def compare(name: str, W: csr_matrix) -> None:
    cells, seconds = [], {}
    for kappa in KAPPAS:
        eigenvectors.N_NEIGHBORS = kappa
        start = time.perf_counter()
        found = eigenvectors.graph_eigenvectors(W, SETS[name], tol=TOLERANCE, random_state=0)
        seconds[kappa] = time.perf_counter() - start
        cells.append(f"{seconds[kappa]:.1f} s, {found.n_iter} iterations")
    theirs = lanczos_seconds(W, SETS[name], 10.0 * seconds[20])
    if theirs is None:
        cells += [f"more than {10.0 * seconds[20]:.0f} s", "> 10"]
    else:
        cells += [f"{theirs:.1f} s", f"{theirs / seconds[20]:.1f}"]
    print(f"| {name}, n = {W.shape[0]:,} | " + " | ".join(cells) + " |", flush=True)


def lanczos_seconds(W: csr_matrix, n_vectors: int, most: float) -> float | None:
    """In a process of its own, which can be ended."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_lanczos, args=(W, n_vectors, queue))
    process.start()
    process.join(most)
    if process.is_alive():
        process.kill()
        process.join()
        return None
    return queue.get()


def _lanczos(W: csr_matrix, n_vectors: int, queue: Any) -> None:
    start = time.perf_counter()
    scale = diags(1.0 / np.sqrt(np.asarray(W.sum(axis=1)).ravel()))
    normalized = csr_matrix(scale @ W @ scale)
    # ARPACK's tolerance is relative to the eigenvalues 1 − λ; ours, squared, to λ itself.
    eigsh(normalized, n_vectors, which="LA", tol=1e-9, maxiter=10**6, ncv=4 * n_vectors)
    queue.put(time.perf_counter() - start)


if __name__ == "__main__":
    main()
