"""What default maps look like: the same whatever the axes, round, and readable."""

from __future__ import annotations

import numpy as np
import pytest

import closeknit as ck
from closeknit.minimize import Momentum, SpectralMomentum

TURN = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2.0)  # by 45°


def clusters(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 10)) + 6.0 * rng.normal(size=(8, 10))[rng.integers(8, size=n)]


def squareness(Y):
    """Extent of the middle 99.5 % along the diagonals over that along the axes."""

    def extent(Z):
        low, high = np.quantile(Z, [0.0025, 0.9975], axis=0)
        return (high - low).sum()

    return extent(Y @ TURN) / extent(Y)


@pytest.mark.parametrize("max_step", [0.05, 3.0])
@pytest.mark.parametrize("kind", [SpectralMomentum, Momentum])
def test_a_turned_start_gives_the_map_turned(kind, max_step):
    """Also where steps are cut: gains and limits are of points, not of coordinates."""
    X = clusters(300)
    start = np.random.default_rng(1).normal(size=(300, 2))
    options = {"repulsion": "exact", "direction": kind(max_step=max_step), "tol": 0.0}
    options |= {"exaggeration": ((4.0, 5),), "max_iter": 10}
    straight, turned = (ck.TSNE(init=Y, **options).fit(X).embedding_ for Y in (start, start @ TURN))
    apart = np.abs(straight @ TURN - turned).max()
    assert apart < 1e-6 * np.abs(straight).max()
    assert np.abs(straight - start).max() > 0.1  # the points have moved


@pytest.mark.slow
def test_maps_of_many_points_have_no_corners():
    """On the grid maps are the same up to noise.

    What is square by the axes stays so when the start is turned, and the product of both
    squarenesses is then far from 1; what turns along has a product of 1.
    """
    X = clusters(6000)
    start = np.random.default_rng(1).normal(scale=1e-4, size=(6000, 2))
    straight, turned = (ck.TSNE(init=Y, repulsion="grid").fit(X) for Y in (start, start @ TURN))
    product = squareness(straight.embedding_) * squareness(turned.embedding_)
    assert product == pytest.approx(1.0, abs=0.1)
    assert straight.kl_divergence_ == pytest.approx(turned.kl_divergence_, rel=0.02)


@pytest.mark.slow
def test_noise_gives_round_maps():
    """Points without clusters fill discs: that of one start varies by some hundredths."""
    found = []
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(6000, 5))
        for start in (1e-4 * X[:, :2], 1e-4 * X[:, :2] @ TURN):
            found.append(squareness(ck.TSNE(init=start, repulsion="grid").fit(X).embedding_))
    assert np.mean(found) == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("seed", range(5))
def test_few_points_are_not_flung_out(seed):
    """At a low perplexity hardly anything holds clusters together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 4)) + np.repeat(np.eye(3, 4) * 2.0, 30, axis=0)
    emb = ck.TSNE(perplexity=5.0, repulsion="exact", random_state=seed).fit(X)
    radius = np.linalg.norm(emb.embedding_ - np.median(emb.embedding_, axis=0), axis=1).max()
    assert radius < 300.0


@pytest.mark.parametrize("seed", range(3))
def test_no_cluster_lies_so_far_out_that_the_rest_is_a_dot(digits, seed):
    """The zeros among the digits have few neighbours in other classes."""
    X, _ = digits(1797)
    emb = ck.TSNE(random_state=seed, init="random" if seed else "auto").fit(X)
    distance = np.linalg.norm(emb.embedding_ - np.median(emb.embedding_, axis=0), axis=1)
    assert distance.max() < 4.0 * np.median(distance)
