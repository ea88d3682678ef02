"""Laplacian eigenmaps: the constrained problem, and several components side by side."""

from __future__ import annotations

import numpy as np
from scipy import sparse

import closeknit as ck

X = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 6.0, 20, axis=0)
X.setflags(write=False)


def make(model, **options):
    """The estimator with a small perplexity, few iterations and a seed."""
    options = {"perplexity": 5.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 15)
    return model(**options)


def array(P):
    return P.toarray() if sparse.issparse(P) else np.asarray(P)


def islands(count=4, size=12, gap=1e4):
    rng = np.random.default_rng(8)
    return np.vstack([rng.normal(size=(size, 3)) + gap * i for i in range(count)])


def test_eigenmaps_solve_their_constrained_problem():
    """min tr XᵀLX with XᵀDX = I, XᵀD1 = 0: the next eigenvectors of L u = μ D u."""
    from scipy.linalg import eigh

    emb = make(ck.LaplacianEigenmaps, n_components=3, perplexity=20.0, n_neighbors=None).fit(X)
    W, Y = array(emb.affinities_), emb.embedding_
    D = np.diag(W.sum(axis=1))
    np.testing.assert_allclose(Y.T @ D @ Y, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(Y.T @ D @ np.ones(60), 0.0, atol=1e-9)
    values = eigh(D - W, D, eigvals_only=True)[1:4]
    np.testing.assert_allclose(np.diag(Y.T @ (D - W) @ Y), values, rtol=1e-7)


def test_large_eigenmaps_are_those_of_the_dense_solver():
    """Above 500 points a sparse eigensolver takes over; same subspace."""
    from scipy.linalg import eigh

    Z = np.random.default_rng(3).random((620, 2)) * [3.0, 1.0]
    emb = make(ck.LaplacianEigenmaps, perplexity=10.0).fit(Z)
    W, Y = emb.affinities_.toarray(), emb.embedding_
    D = np.diag(W.sum(axis=1))
    values = eigh(D - W, D, eigvals_only=True, subset_by_index=[0, 2])[1:]
    np.testing.assert_allclose(np.diag(Y.T @ (D - W) @ Y), values, rtol=1e-3)
    np.testing.assert_allclose(Y.T @ D @ Y, np.eye(2), atol=1e-6)


def test_eigenmaps_lay_components_side_by_side():
    """Components are embedded one by one and do not overlap."""
    emb = make(ck.LaplacianEigenmaps, perplexity=3.0, n_neighbors=11).fit(islands())
    label = np.repeat(np.arange(4), 12)
    Y = emb.embedding_
    low = np.stack([Y[label == i].min(axis=0) for i in range(4)])
    high = np.stack([Y[label == i].max(axis=0) for i in range(4)])
    for i in range(4):
        for j in range(i):
            assert ((low[i] > high[j]) | (low[j] > high[i])).any()
