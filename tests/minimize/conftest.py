"""Small problems with known answers, all in dense NumPy: springs and the three embeddings."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from closeknit.linalg import take_entries
from closeknit.minimize import Springs


def differences(X):
    """x_n − x_m for all pairs, and their squared norms."""
    between = X[:, None, :] - X[None, :, :]
    return between, (between**2).sum(axis=2)


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


class DenseEmbedding:
    """E⁺ + λE⁻ of EE, s-SNE and t-SNE after eqs. (1) to (3) of the paper, λ included."""

    def __init__(self, model, P, lam):
        self.model, self.P, self.lam = model, np.asarray(P, dtype=float), lam
        self.calls = 0

    def _parts(self, X):
        """Return the pair differences, attractive weights w⁺, repulsive weights w⁻ and value."""
        between, d = differences(X)
        off = 1.0 - np.eye(len(X))
        if self.model == "tsne":
            K = off / (1.0 + d)
            total = K.sum()
            value = (self.P * np.log1p(d)).sum() + self.lam * np.log(total)
            return between, self.P * (1.0 / (1.0 + d)), self.lam * K * K / total, value
        K = off * np.exp(-d)
        if self.model == "ee":
            return between, self.P, self.lam * K, (self.P * d).sum() + self.lam * K.sum()
        total = K.sum()
        value = (self.P * d).sum() + self.lam * np.log(total)
        return between, self.P, self.lam * K / total, value

    def value(self, X):
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X):
        self.calls += 1
        _, attractive, repulsive, value = self._parts(X)
        return float(value), 4.0 * laplacian(attractive - repulsive) @ X

    def attractive_weights(self, X, entries=None):
        return take_entries(csr_matrix(self._parts(X)[1]), entries)

    def hessian_diagonal(self, X):
        _, attractive, repulsive, _ = self._parts(X)
        weight = attractive - repulsive
        out = 4.0 * weight.sum(axis=1)[:, None] + 8.0 * self._xx(X).sum(axis=1)
        if self.model != "ee":
            # − 16λ vec(X L^q)²; the repulsive weights already hold λ, once.
            out -= 16.0 * (laplacian(repulsive) @ X) ** 2 / self.lam
        return out

    def _xx(self, X):
        """w^xx_{in,im}, of shape (n, n, d)."""
        between, attractive, repulsive, _ = self._parts(X)
        if self.model == "tsne":
            K = 1.0 / (1.0 + differences(X)[1])
            return (-(attractive - 2.0 * repulsive) * K)[:, :, None] * between**2
        return repulsive[:, :, None] * between**2

    def repulsive_curvature(self, X):
        between, _, repulsive, _ = self._parts(X)
        if self.model == "tsne":
            repulsive = 2.0 * repulsive / (1.0 + differences(X)[1])
        weights = repulsive[:, :, None] * between**2
        return lambda V: (
            8.0
            * np.stack([laplacian(weights[:, :, i]) @ V[:, i] for i in range(V.shape[1])], axis=1)
        )


def gaussian_affinities(n=40, seed=0):
    """Symmetric probabilities of points on a noisy circle in 5-d."""
    rng = np.random.default_rng(seed)
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    Y = np.c_[np.cos(angle), np.sin(angle), 0.1 * rng.normal(size=(n, 3))]
    P = np.exp(-differences(Y)[1] / (2 * 0.4**2))
    np.fill_diagonal(P, 0.0)
    P /= P.sum(axis=1, keepdims=True)
    return (P + P.T) / (2 * n)


def embedding(model, n=40, lam=None, seed=0):
    """An embedding problem whose repulsion is of the strength of its attraction."""
    P = gaussian_affinities(n, seed)
    if model == "ee":
        return DenseEmbedding("ee", n * P, 1.0 if lam is None else lam)
    return DenseEmbedding(model, P, 1.0 if lam is None else lam)


class Rosenbrock:
    """Chained Rosenbrock function of X's entries; no attractive part."""

    def value(self, X):
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X):
        from scipy.optimize import rosen, rosen_der

        x = X.ravel()
        return float(rosen(x)), rosen_der(x).reshape(X.shape)


def random_springs(n=30, d=2, seed=0, stiffness=0.5):
    """A sparse symmetric graph with targets."""
    rng = np.random.default_rng(seed)
    W = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
    W = np.triu(W, 1)
    targets = rng.normal(size=(n, d))
    return Springs(W + W.T, targets - targets.mean(axis=0), stiffness)


@pytest.fixture(scope="session")
def problems():
    """All of the above, for tests that cannot import a conftest."""
    return SimpleNamespace(
        DenseEmbedding=DenseEmbedding,
        Rosenbrock=Rosenbrock,
        embedding=embedding,
        laplacian=laplacian,
        random_springs=random_springs,
    )


@pytest.fixture
def springs():
    return random_springs()


@pytest.fixture
def start():
    """A start whose mean is that of the targets: the attraction cannot move the mean."""
    X = np.random.default_rng(1).normal(size=(30, 2))
    return X - X.mean(axis=0)
