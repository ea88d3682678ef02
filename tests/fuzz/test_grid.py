"""Sums on a grid against exact ones, on maps where forces cancel and on maps of any spread."""

import warnings

import numpy as np
import pytest

from closeknit.exceptions import CloseknitWarning
from closeknit.kernels import GAUSSIAN, STUDENT, student
from closeknit.repulsion import ExactRepulsion, GridRepulsion

KERNELS = [STUDENT, GAUSSIAN, student(0.5), student(3.0), STUDENT.squared(), GAUSSIAN.squared()]


def uniform(rng, n, d):
    return rng.random((n, d))


def normal(rng, n, d):
    return rng.normal(size=(n, d))


def heavy_tailed(rng, n, d):
    return np.clip(rng.standard_cauchy(size=(n, d)), -1e3, 1e3)


def lattice(rng, n, d):
    side = max(2, round(n ** (1 / d)))
    axes = np.meshgrid(*[np.arange(side)] * d)
    return np.stack(axes, axis=-1).reshape(-1, d) * rng.choice([0.1, 0.25, 0.5, 1.0, 3.0])


def clusters(rng, n, d):
    centers = rng.random((rng.integers(1, 30), d))
    return centers[rng.integers(len(centers), size=n)] + rng.normal(
        size=(n, d)
    ) * 10 ** rng.uniform(-8, -1)


def outliers(rng, n, d):
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-6, 0)
    X[: rng.integers(1, 4)] += rng.uniform(-30, 30, size=d)
    return X


def line(rng, n, d):
    return np.outer(rng.random(n), rng.normal(size=d))


def duplicates(rng, n, d):
    return rng.random((max(1, n // 10), d))[rng.integers(max(1, n // 10), size=n)]


SHAPES = [uniform, normal, heavy_tailed, lattice, clusters, outliers, line, duplicates]


def force_error(sums, exact):
    size = max(np.linalg.norm(exact.force), 1e-4 * np.linalg.norm(exact.value))
    return np.linalg.norm(sums.force - exact.force) / size if size else 0.0


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_the_accuracy_holds(shape, rounds):
    rng = np.random.default_rng(SHAPES.index(shape))
    for _ in range(rounds):
        n, d = int(10 ** rng.uniform(0.5, 3.8)), int(rng.integers(1, 4))
        spread = 10 ** rng.uniform(-6, 6)
        X = spread * shape(rng, n, d) + rng.choice([0.0, 1.0, 1e3]) * rng.normal()
        kernel = KERNELS[rng.integers(len(KERNELS))]
        accuracy = float(10 ** rng.uniform(-2 if d == 3 else -4, -1))
        weights = rng.random(len(X)) if rng.random() < 0.2 else None
        exact = ExactRepulsion().sums(X, kernel, weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CloseknitWarning)  # where it is summed exactly
            sums = GridRepulsion(accuracy, max_memory=2e8).sums(X, kernel, weights)
        assert force_error(sums, exact) <= accuracy, (n, d, spread, kernel, accuracy)
