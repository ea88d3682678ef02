"""Properties of every sparsifier, on any graph and any points."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from closeknit.exceptions import CloseknitWarning
from closeknit.graphs import (
    EntropicSparsifier,
    KNNSparsifier,
    ResistanceSparsifier,
    ViewerSparsifier,
    sparsity,
)

quick = settings(max_examples=40, deadline=None)
#: Multiples of 2^-6 with ties and zeros.
weights = st.integers(0, 64).map(lambda i: i / 64.0)
graphs = st.integers(2, 14).flatmap(lambda n: arrays(np.float64, (n, n), elements=weights))
points = st.integers(6, 25).flatmap(
    lambda n: arrays(np.float64, (n, 2), elements=st.integers(-500, 500).map(float), unique=True)
)
seeds = st.integers(0, 2**16)

EVERYBODY = list(range(2))
SPARSIFIERS = {
    "entropic": EntropicSparsifier(threshold=0.25),
    "KNN": KNNSparsifier(2),
    "mutual KNN": KNNSparsifier(2, mutual=True),
    "viewers": ViewerSparsifier(viewer_selection=EVERYBODY, bandwidth=0.1),
    "resistance": ResistanceSparsifier(random_state=0, n_projections=20),
}
each = pytest.mark.parametrize("name", list(SPARSIFIERS))
each_of_the_paper = pytest.mark.parametrize("name", list(SPARSIFIERS)[:4])


def symmetric(A):
    A = np.triu(A, 1)
    return A + A.T


def sparsify(name, W, **options):
    estimator = SPARSIFIERS[name].__class__(**SPARSIFIERS[name].get_params())
    estimator.set_params(**{"input": "affinities", "n_jobs": 1, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CloseknitWarning)
        return estimator.fit_transform(W).toarray()


def permuted(W, order):
    return W[np.ix_(order, order)]


@each
@quick
@given(graphs)
def test_symmetric_non_negative_subgraph(name, A):
    """Symmetric in, symmetric out; weights are kept, or only grow by resistance sampling."""
    W = symmetric(A)
    graph = sparsify(name, W)
    np.testing.assert_array_equal(graph, graph.T)
    assert (graph >= 0.0).all()
    assert ((graph > 0.0) <= (W > 0.0)).all()
    if name == "resistance":
        assert (graph[graph > 0.0] >= W[graph > 0.0] * (1.0 - 1e-12)).all()
    else:
        np.testing.assert_array_equal(graph[graph > 0.0], W[graph > 0.0])


@each_of_the_paper
@quick
@given(graphs)
def test_asymmetric_graphs_stay_subgraphs(name, A):
    graph = sparsify(name, A)
    assert ((graph == A) | (graph == 0.0)).all()


@each_of_the_paper
@quick
@given(graphs, seeds)
def test_permutation_equivariant(name, A, seed):
    """The order of the points does not matter, ties or not."""
    W = symmetric(A)
    order = np.random.default_rng(seed).permutation(len(W))
    options = {}
    if name == "viewers":
        options["viewer_selection"] = np.argsort(order)[EVERYBODY]
    there = sparsify(name, permuted(W, order), **options)
    np.testing.assert_array_equal(there, permuted(sparsify(name, W), order))


@each_of_the_paper
@quick
@given(graphs, st.integers(-30, 30))
def test_scale_equivariant(name, A, power):
    """Weights in another unit give the same graph in that unit."""
    W, scale = symmetric(A), 2.0**power
    options = {"threshold": 0.25 * scale} if name == "entropic" else {}
    np.testing.assert_array_equal(sparsify(name, scale * W, **options), scale * sparsify(name, W))


@pytest.mark.parametrize(
    ("name", "parameter", "looser"),
    [
        ("entropic", "threshold", [0.9, 0.5, 0.3, 0.1, 0.0]),
        ("KNN", "n_neighbors", [1, 2, 3, 5, 8]),
        ("mutual KNN", "n_neighbors", [1, 2, 3, 5, 8]),
        ("viewers", "votes", [1, 2, 3]),
    ],
)
@quick
@given(graphs)
def test_sparsity_is_monotone_in_the_threshold(name, parameter, looser, A):
    """Each looser threshold keeps all edges of the stricter ones."""
    W = symmetric(A)
    kept = [sparsify(name, W, **{parameter: value}) > 0.0 for value in looser]
    for fewer, more in pairwise(kept):
        assert (fewer <= more).all()


@pytest.mark.parametrize("name", list(SPARSIFIERS)[:3])
@quick
@given(graphs, st.floats(0.0, 0.99))
def test_no_other_cut_comes_closer_to_the_target(name, A, target):
    """Sparsity is met as closely as whole groups of ties permit."""
    W = symmetric(A)
    n, least = len(W), sparsity(W)
    options = {"threshold": None} if name == "entropic" else {"n_neighbors": None}
    pairs = n * (n - 1)
    if target < least - 0.5 / pairs:
        with pytest.raises(ValueError, match="but the graph has only"):
            sparsify(name, W, sparsity=target, **options)
        return
    reached = sparsity(sparsify(name, W, sparsity=target, **options))
    if name == "entropic":
        cuts = [sparsity(np.where(cut <= W, W, 0.0)) for cut in [*np.unique(W[W > 0.0]), 2.0]]
    else:
        cuts = [sparsity(sparsify(name, W, n_neighbors=k)) for k in range(1, n + 1)] + [1.0]
    best = min(abs(cut - target) for cut in cuts)
    assert abs(reached - target) <= best + 1e-12


@pytest.mark.parametrize(
    "sparsifier",
    [
        EntropicSparsifier(3.0, threshold=0.05),
        KNNSparsifier(3),
        KNNSparsifier(3, mutual=True),
        ViewerSparsifier(viewer_selection=[0, 1, 2], perplexity=3.0),
    ],
    ids=repr,
)
@quick
@given(points, st.integers(-20, 20))
def test_points_in_another_unit(sparsifier, X, power):
    """Scaling the points changes no edge and no weight."""
    scale = 2.0**power
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CloseknitWarning)
        a = sparsifier.set_params(n_jobs=1).fit_transform(X)
        b = sparsifier.fit_transform(scale * X)
    np.testing.assert_array_equal((a != 0).toarray(), (b != 0).toarray())
    np.testing.assert_allclose(b.toarray(), a.toarray(), rtol=1e-9)
