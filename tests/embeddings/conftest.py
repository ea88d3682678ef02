"""Small data sets, and the six estimators with settings that are quick on them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier


@cache
def _digits(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first n digits, read-only, and their classes."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:n].copy(), y[:n].copy()
    X.setflags(write=False)
    return X, y


def _knn_accuracy(Y: np.ndarray, y: np.ndarray, k: int = 5) -> float:
    """Share of points whose class is that of most of their k neighbours in the embedding."""
    near = KNeighborsClassifier(k).fit(Y, y)
    others = near.kneighbors(return_distance=False)
    votes = [np.bincount(y[row], minlength=10).argmax() for row in others]
    return float(np.mean(np.array(votes) == y))


@pytest.fixture(scope="session")
def digits():
    return _digits


@pytest.fixture(scope="session")
def knn_accuracy():
    return _knn_accuracy
