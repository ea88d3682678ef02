"""The models of MATH.md once more: dense, slow, from K, K1, K2 and K21 of every ordered pair."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import closeknit.objectives as objectives
from closeknit.kernels import GAUSSIAN, STUDENT

MODELS = {
    "ee": objectives.ElasticEmbedding,
    "ee-weighted": objectives.ElasticEmbedding,
    "tee": objectives.TElasticEmbedding,
    "tee-weighted": objectives.TElasticEmbedding,
    "ssne": objectives.SymmetricSNE,
    "tsne": objectives.TSNE,
    "sne": objectives.SNE,
}
KERNEL = {
    "ee": GAUSSIAN,
    "tee": STUDENT,
    "ssne": GAUSSIAN,
    "tsne": STUDENT,
    "sne": GAUSSIAN,
}


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


class Dense:
    """E(X; λ) = E⁺ + λE⁻ with its gradient and Hessian after eqs. (1) to (3).

    `P` are the weights w⁺ as the model means them (normalised already), `W` are w⁻.
    """

    def __init__(self, model, P, W=None):
        self.model = model.removesuffix("-weighted")
        self.kernel = KERNEL[self.model]
        self.P = np.array(P, dtype=float)
        self.off = 1.0 - np.eye(len(self.P))
        self.W = self.off if W is None else W * self.off

    def _pairs(self, X):
        gap = X[:, None, :] - X[None, :, :]
        return gap, (gap**2).sum(axis=2)

    def value(self, X, lam):
        _, t = self._pairs(X)
        K = self.off * self.kernel.K(t)
        attraction = np.log1p(t) if self.kernel is STUDENT else t
        plus = (self.P * attraction).sum()
        if self.model in ("ee", "tee"):
            minus = (self.W * K).sum()
        elif self.model == "sne":
            minus = np.log(K.sum(axis=1)).sum()
        else:
            minus = np.log(K.sum())
        return plus + lam * minus

    def _q(self, t):
        """q_nm of eq. (2); for unnormalised models w⁻K, for SNE the mean of q_{m|n} and q_{n|m}."""
        K = self.off * self.kernel.K(t)
        if self.model in ("ee", "tee"):
            return self.W * K
        if self.model == "sne":
            rows = K / K.sum(axis=1, keepdims=True)
            return (rows + rows.T) / 2
        return K / K.sum()

    def _attractive(self, t):
        """K1 and K21 of −log K in E⁺: of the Gaussian where the attraction is quadratic."""
        kernel = STUDENT if self.kernel is STUDENT else GAUSSIAN
        return kernel.K1(t), kernel.K21(t)

    def gradient(self, X, lam):
        """4 L X with w = −K1 (p − λq)."""
        _, t = self._pairs(X)
        K1, _ = self._attractive(t)
        P = (self.P + self.P.T) / 2
        w = -K1 * P + lam * self.kernel.K1(t) * self._q(t)
        return 4.0 * laplacian(w) @ X

    def hessian(self, X, lam):
        """4 L⊗I + 8 L^xx − 16 λ vec(L^q X) vec(L^q X)ᵀ, of shape (n, d, n, d)."""
        n, d = X.shape
        gap, t = self._pairs(X)
        K1, K21 = self._attractive(t)
        q, P = self._q(t), (self.P + self.P.T) / 2
        w = -K1 * P + lam * self.kernel.K1(t) * q
        out = np.zeros((n, d, n, d))
        L = laplacian(w)
        for i in range(d):
            out[:, i, :, i] += 4.0 * L
            for j in range(d):
                xx = (-K21 * P + lam * self.kernel.K2(t) * q) * gap[:, :, i] * gap[:, :, j]
                out[:, i, :, j] += 8.0 * laplacian(xx)
        if self.model in ("ssne", "tsne"):
            v = (laplacian(self.kernel.K1(t) * q) @ X).ravel()
            out -= 16.0 * lam * np.outer(v, v).reshape(n, d, n, d)
        elif self.model == "sne":
            # One such term for each row's distribution: ∇S_k / S_k with weights of row k alone.
            K = self.off * self.kernel.K(t)
            rows = K / K.sum(axis=1, keepdims=True)
            for k in range(n):
                star = np.zeros((n, n))
                star[k] = star[:, k] = self.kernel.K1(t)[k] * rows[k]
                v = (laplacian(star) @ X).ravel()
                out -= 4.0 * lam * np.outer(v, v).reshape(n, d, n, d)
        return out

    def blocks(self, X, lam, V):
        """8 λ L^xx_{i·,i·} V with the repulsive weights K2 q (x_in − x_im)² alone."""
        gap, t = self._pairs(X)
        weights = lam * self.kernel.K2(t) * self._q(t)
        columns = [
            8.0 * laplacian(weights * gap[:, :, i] ** 2) @ V[:, i] for i in range(X.shape[1])
        ]
        return np.stack(columns, axis=1)


def random_problem(model, n, d, seed=0, scale=0.7):
    """Affinities as given, positions, the model on them and its dense twin."""
    rng = np.random.default_rng([seed, n, d])
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.6)
    A[np.arange(n), (np.arange(n) + 1) % n] += 0.1  # no point without a neighbour
    np.fill_diagonal(A, 0.0)
    if model != "sne":
        A = A + A.T
    X = rng.normal(scale=scale, size=(n, d))
    W = None
    options = {}
    if model.endswith("-weighted"):
        W = rng.random((n, n))
        W = W + W.T
        options = {"repulsive_weights": W}
    objective = MODELS[model](A, n_jobs=1, **options)
    if model == "sne":
        P = A / A.sum(axis=1, keepdims=True)
    elif model in ("ssne", "tsne"):
        P = A / A.sum()
    else:
        P = A
    return SimpleNamespace(
        affinities=A, X=X, P=P, W=W, objective=objective, dense=Dense(model, P, W)
    )


@pytest.fixture(scope="session")
def problem():
    """``problem(model, n, d, seed)`` gives affinities, X, objective and its dense twin."""
    return random_problem


@pytest.fixture(scope="session")
def models():
    return dict(MODELS)
