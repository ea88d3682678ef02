"""Factors of neighbour graphs' Laplacians: seconds to make, fill, milliseconds to use, condition.

    python benchmarks/factors.py [--data FOLDER] [--sizes 5000 20000 70000] [--kappas 5 10 90]

On MNIST (mnist70k.npz in FOLDER), or without --data on random points of a cube. Weights are
entropic affinities at perplexity 30 over 90 neighbours, symmetrised; κ keeps the strongest of each
point. A solve has two right-hand sides; the best of several runs is shown, on one thread. Fill is
the factor's entries over those of half the matrix. The condition number is that of the
preconditioned Laplacian, by Lanczos. "refreshed" is the approximate factor of weights that
stretched, in the order of elimination found before. SuperLU is left out where it would take
minutes. The table also goes to --output.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from data import FILES
from scipy.linalg import eigvalsh_tridiagonal
from scipy.sparse import csr_matrix, diags, load_npz, save_npz, tril
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

import closeknit as ck
from closeknit.graphs import symmetrize
from closeknit.linalg import ApproximateCholesky, strongest_entries, take_entries
from closeknit.linalg.factors import SparseFactor

CACHE = Path(tempfile.gettempdir()) / "closeknit-benchmarks"
#: Entries of the matrix above which SuperLU needs minutes, or more memory than there is.
SUPERLU_LIMIT = 150_000


class Row(NamedTuple):
    """One line of the table."""

    n: int
    kappa: int
    name: str
    setup: float
    fill: float
    solve: float
    condition: float | None


class Jacobi:
    """The diagonal."""

    def __init__(self, L: csr_matrix) -> None:
        self._inverse = 1.0 / L.diagonal()
        self.nnz = L.shape[0]

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Divide."""
        return (self._inverse * rhs.T).T


class GaussSeidel:
    """(D + A) D⁻¹ (D + A)ᵀ with A the lower triangle: an incomplete factor without computation."""

    def __init__(self, L: csr_matrix) -> None:
        self._diagonal = L.diagonal()
        lower = tril(L, format="csc")
        self._lower = splu(
            lower, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
        self.nnz = lower.nnz

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Two triangular solves."""
        inner = (self._diagonal * self._lower.solve(rhs).T).T
        return self._lower.solve(inner, "T")


def weights_of(n: int, folder: Path | None) -> csr_matrix:
    """Return symmetric entropic affinities, from the cache if they are there."""
    CACHE.mkdir(exist_ok=True)
    file = CACHE / f"{'cube' if folder is None else 'mnist'}-{n}.npz"
    if not file.exists():
        X = points(n, folder)
        P = ck.entropic_affinities(X, perplexity=30.0, n_neighbors=90)[0]
        save_npz(file, symmetrize(P), compressed=False)
    return load_npz(file)


def points(n: int, folder: Path | None) -> np.ndarray:
    rng = np.random.default_rng(0)
    if folder is None:
        return rng.random((n, 3))
    with np.load(folder / FILES["mnist"], allow_pickle=False) as file:
        X = file["X"]
    return X[np.sort(rng.permutation(len(X))[:n])].astype(np.float32)


def best(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the least seconds of several calls, and what the last one returned."""
    seconds, out = [], None
    for _ in range(repeats):
        start = time.perf_counter()
        out = call()
        seconds.append(time.perf_counter() - start)
    return min(seconds), out


def centring(W: csr_matrix) -> Callable[[np.ndarray], np.ndarray]:
    """Return the projection off the constants of each connected component."""
    _, label = connected_components(W, directed=False)
    sizes = np.bincount(label)
    return lambda x: x - (np.bincount(label, x) / sizes)[label]


def condition(W: csr_matrix, ridge: np.ndarray, solve: Callable, most: int = 200) -> float:
    """Condition number of the preconditioned matrix, from conjugate gradients' coefficients.

    Ends when the extreme eigenvalues of the tridiagonal matrix no longer change by 0.1 %.
    """
    degrees = np.asarray(W.sum(axis=1)).ravel() + ridge
    centre = centring(W)
    residual = centre(np.random.default_rng(0).normal(size=len(degrees)))
    towards = preconditioned = solve(residual)
    squared = residual @ preconditioned
    steps, ratios, before = [], [], np.inf
    for k in range(most):
        image = degrees * towards - W @ towards
        steps.append(squared / (towards @ image))
        residual = centre(residual - steps[-1] * image)
        preconditioned = solve(residual)
        previous, squared = squared, residual @ preconditioned
        ratios.append(squared / previous)
        towards = preconditioned + ratios[-1] * towards
        if k % 10 == 9:
            alpha, beta = 1.0 / np.array(steps), np.array(ratios)
            diagonal = alpha + np.r_[0.0, (beta * alpha)[:-1]]
            values = eigvalsh_tridiagonal(diagonal, (np.sqrt(beta) * alpha)[:-1])
            now = values[-1] / values[0]
            if abs(now - before) < 1e-3 * now:
                return now
            before = now
    return before


def rows(n: int, kappa: int, full: csr_matrix, repeats: int) -> Iterator[Row]:
    W = take_entries(full, strongest_entries(full, kappa))
    degrees = np.asarray(W.sum(axis=1)).ravel()
    ridge = 1e-10 * degrees
    L = csr_matrix(diags(degrees + ridge) - W)
    rhs = np.random.default_rng(1).normal(size=(n, 2))
    rhs -= rhs.mean(axis=0)
    earlier = ApproximateCholesky(_stretched(W), ridge)
    makers: dict[str, Callable[[], Any]] = {
        "approximate": lambda: ApproximateCholesky(W, ridge),
        "refreshed": lambda: ApproximateCholesky(W, ridge, like=earlier),
        "SuperLU": lambda: SparseFactor(L),
        "Gauss–Seidel": lambda: GaussSeidel(L),
        "Jacobi": lambda: Jacobi(L),
    }
    for name, make in makers.items():
        exact = name == "SuperLU"
        if exact and L.nnz > SUPERLU_LIMIT:
            continue
        setup, factor = best(make, 1 if exact else repeats)
        solve, _ = best(lambda factor=factor: factor.solve(rhs), 3 * repeats)
        nnz = factor._factor.L.nnz if exact else factor.nnz
        number = None if exact else condition(W, ridge, factor.solve)
        yield Row(n, kappa, name, setup, nnz / ((L.nnz + n) / 2), 1e3 * solve, number)


def _stretched(W: csr_matrix) -> csr_matrix:
    """Return the weights w / (1 + d²) of a random map, as for a Student kernel."""
    X = np.random.default_rng(2).normal(size=(W.shape[0], 2))
    start = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    sq_distances = ((X[start] - X[W.indices]) ** 2).sum(axis=1)
    return csr_matrix((W.data / (1.0 + sq_distances), W.indices, W.indptr), shape=W.shape)


def line(row: Row) -> str:
    number = "–" if row.condition is None else f"{row.condition:.1f}"
    return (
        f"{row.n:>7,}{row.kappa:>4}  {row.name:<14}{row.setup:>9.3f}{row.fill:>8.1f}"
        f"{row.solve:>10.2f}{number:>11}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with mnist70k.npz")
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 20_000, 70_000])
    parser.add_argument("--kappas", type=int, nargs="+", default=[5, 10, 90])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/factors.md"))
    options = parser.parse_args()
    name = "a cube" if options.data is None else "MNIST"
    columns = f"{'setup s':>9}{'fill':>8}{'solve ms':>10}{'condition':>11}"
    lines = [f"{'n':>7}{'κ':>4}  {name:<14}{columns}"]
    print(lines[0], flush=True)
    for n in options.sizes:
        full = weights_of(n, options.data)
        for kappa in options.kappas:
            for row in rows(n, kappa, full, options.repeats):
                lines.append(line(row))
                print(lines[-1], flush=True)
    title = f"# Factors of the Laplacian of {name}\n\n"
    command = "" if options.data is None else " --data FOLDER"
    note = f"`python benchmarks/factors.py{command}`; what the columns are stands there.\n\n"
    options.output.write_text(title + note + "```\n" + "\n".join(lines) + "\n```\n")


if __name__ == "__main__":
    main()
