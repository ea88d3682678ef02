"""Rows of squared distances of several kinds, and plain NumPy twins of what the core computes."""

from __future__ import annotations

import warnings
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

import closeknit as ck
from closeknit.exceptions import NoBandwidthWarning


def _points(kind: str, n: int) -> np.ndarray:
    rng = np.random.default_rng(20130616)
    if kind.startswith("gauss"):
        return rng.normal(size=(n, int(kind.removeprefix("gauss"))))
    if kind == "clusters":
        spread = np.repeat([1e-3, 1.0, 30.0, 1e3], -(-n // 4))[:n]
        centre = np.repeat(rng.normal(scale=1e4, size=(4, 5)), -(-n // 4), axis=0)[:n]
        return centre + spread[:, None] * rng.normal(size=(n, 5))
    if kind == "grid":
        side = int(np.ceil(np.sqrt(n)))
        return np.stack(np.divmod(np.arange(n), side), axis=1).astype(float)
    assert kind == "tails"
    return rng.standard_t(1.0, size=(n, 3))


@cache
def _rows(kind: str, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    X = _points(kind, n)
    near = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(X)
    indices = near.kneighbors(return_distance=False)[:, :k]
    sq_distances = np.stack(
        [np.square(X[others] - x).sum(axis=1) for x, others in zip(X, indices, strict=True)]
    )
    order = np.argsort(sq_distances, axis=1, kind="stable")
    indices = np.take_along_axis(indices, order, axis=1)
    sq_distances = np.take_along_axis(sq_distances, order, axis=1)
    for array in (indices, sq_distances):
        array.setflags(write=False)
    return sq_distances, indices


def _softmax(sq_distances, betas, dtype=np.float64):
    """p_j ∝ exp(-β d_j), shifted by the smallest distance."""
    d = np.asarray(sq_distances, dtype=dtype)
    p = np.exp(-np.asarray(betas, dtype=dtype)[:, None] * (d - d.min(axis=1, keepdims=True)))
    return p / p.sum(axis=1, keepdims=True)


def _entropy(p):
    """H = −Σ p log p, in nats."""
    p = np.asarray(p)
    return -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=1)


def _has_root(sq_distances, perplexity):
    """m < K < k, where m neighbours tie at the smallest distance."""
    d = np.asarray(sq_distances)
    ties = (d == d.min(axis=1, keepdims=True)).sum(axis=1)
    return (ties < perplexity) & (perplexity < d.shape[1])


def _solve(*args, **kwargs):
    """solve_bandwidths where rows without a root are expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoBandwidthWarning)
        return ck.solve_bandwidths(*args, **kwargs)


@pytest.fixture(scope="session")
def rows():
    """``rows(kind, n, k)`` gives read-only (sq_distances, indices), rows sorted, self excluded."""
    return _rows


@pytest.fixture(scope="session")
def twin():
    """NumPy twins: softmax, entropy, has_root."""
    return SimpleNamespace(softmax=_softmax, entropy=_entropy, has_root=_has_root)


@pytest.fixture(scope="session")
def solve():
    """solve_bandwidths without its warning about rows that have no root."""
    return _solve
