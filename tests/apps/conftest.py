"""Graphs with known answers, and data that several tests share."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_moons

import closeknit as ck
from closeknit.graphs import symmetrize


def _cliques(*sizes: int, bridge: float = 0.0) -> np.ndarray:
    """Complete graphs in a row; `bridge` joins the last point of each to the next one's first."""
    n = sum(sizes)
    W, first = np.zeros((n, n)), 0
    for size in sizes:
        W[first : first + size, first : first + size] = 1.0
        if first:
            W[first - 1, first] = W[first, first - 1] = bridge
        first += size
    np.fill_diagonal(W, 0.0)
    return W


@pytest.fixture(scope="session")
def cliques():
    return _cliques


@pytest.fixture(scope="session")
def moons():
    X, y = make_moons(400, noise=0.05, random_state=0)
    X.setflags(write=False)
    return X, y


@pytest.fixture(scope="session")
def digits():
    X, y = load_digits(return_X_y=True)
    X.setflags(write=False)
    return X, y


@pytest.fixture(scope="session")
def digits_graph(digits):
    """Symmetric entropic affinities of the digits at perplexity 10."""
    return symmetrize(ck.EntropicAffinities(10.0).fit_transform(digits[0]))
