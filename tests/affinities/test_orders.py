"""Orders: each row once, parents before children, and the tree is a minimum spanning tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.metrics import pairwise_distances

import closeknit as ck
from closeknit.affinities import (
    Bounds,
    Density,
    Gap,
    Given,
    MinimumSpanningTree,
    NeighborDistance,
    Oracle,
    RandomOrder,
    Raster,
    Regression,
    RowProblem,
    Traversal,
)

RUN = 1024  # rows of a run; traversals must not depend on the number of threads


def problem_of(X, k, perplexity=4.0, n_jobs=1):
    sq_distances = np.square(pairwise_distances(X))
    np.fill_diagonal(sq_distances, np.inf)
    indices = np.argsort(sq_distances, axis=1, kind="stable")[:, :k]
    sq_distances = np.take_along_axis(sq_distances, indices, axis=1)
    return RowProblem(sq_distances, np.array([perplexity]), indices, n_jobs)


def check_plan(plan, n):
    """Each row once, offsets that cover all, parents finished when they are needed."""
    np.testing.assert_array_equal(np.sort(plan.sequence), np.arange(n))
    assert plan.parent.shape == (n,)
    assert plan.runs[0] == 0
    assert plan.runs[-1] == n
    assert (np.diff(plan.runs) > 0).all()
    assert (np.diff(plan.runs) <= RUN).all()
    assert plan.waves[0] == 0
    assert plan.waves[-1] == len(plan.runs) - 1
    assert (np.diff(plan.waves) > 0).all()
    for array in (plan.sequence, plan.parent, plan.runs, plan.waves):
        assert array.dtype == np.int64
    position = np.empty(n, dtype=int)
    position[plan.sequence] = np.arange(n)
    run = np.searchsorted(plan.runs, np.arange(n), side="right") - 1
    wave = np.searchsorted(plan.waves, run, side="right") - 1
    child = np.flatnonzero(plan.parent >= 0)
    before = position[plan.parent[child]]
    same_run = (run[before] == run[child]) & (before < child)
    assert (same_run | (wave[before] < wave[child])).all()


@pytest.mark.parametrize(
    "order",
    [
        Bounds(),
        Given(),
        RandomOrder(0),
        Raster((43, 60)),
        Density(),
        Density(rank=3),
        Gap(),
        NeighborDistance(),
        Oracle(),
        MinimumSpanningTree(),
        MinimumSpanningTree(n_neighbors=3),
        MinimumSpanningTree(n_neighbors=1),
        Regression(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["gauss2", "clusters", "grid"])
def test_plans_are_valid(order, kind, rows):
    sq_distances, indices = rows(kind, 2580, 24)
    plans = [
        order.plan(RowProblem(sq_distances, np.array([8.0]), indices, n_jobs)) for n_jobs in (1, 2)
    ]
    check_plan(plans[0], 2580)
    for name in ("sequence", "parent", "runs", "waves"):
        np.testing.assert_array_equal(getattr(plans[0], name), getattr(plans[1], name))


@pytest.mark.parametrize("n", [1, 2, RUN - 1, RUN, RUN + 1])
@pytest.mark.parametrize("order", [Bounds(), Given(), RandomOrder(0), Density()], ids=repr)
def test_plans_around_whole_runs(order, n):
    check_plan(order.plan(RowProblem(np.random.default_rng(0).random((n, 5)), np.array([2.0]))), n)


def test_chains_start_from_the_row_before(rows):
    """Given: each row's parent is the one before it, except where a run begins."""
    d, _ = rows("gauss2", 2580, 24)
    plan = Given().plan(RowProblem(d, np.array([8.0])))
    expected = np.arange(-1, 2579)
    expected[::RUN] = -1
    np.testing.assert_array_equal(plan.parent, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_density_sorts_by_the_distance_to_neighbour_k(dtype):
    """D_K order (section 2): by d_K, with rank ⌈K⌉."""
    d = np.sort(np.random.default_rng(0).random((50, 10)), axis=1).astype(dtype)
    plan = Density().plan(RowProblem(d, np.array([3.2])))
    np.testing.assert_array_equal(plan.sequence, np.argsort(np.sqrt(d[:, 3])))
    plan = Density(rank=7).plan(RowProblem(d, np.array([3.2])))
    np.testing.assert_array_equal(plan.sequence, np.argsort(np.sqrt(d[:, 6])))


def test_gap_sorts_by_what_a_constant_does_not_change():
    """By d_K² − d_1², which stays if a constant is added to the squared distances, as β does."""
    rng = np.random.default_rng(0)
    d = np.sort(rng.random((50, 10)), axis=1)
    moved = d + rng.random((50, 1))
    for rank, column in ((None, 3), (7, 6)):
        expected = np.argsort(d[:, column] - d[:, 0])
        for given in (d, moved):
            plan = Gap(rank).plan(RowProblem(given, np.array([3.2])))
            np.testing.assert_array_equal(plan.sequence, expected)
    assert (Density().plan(RowProblem(moved, np.array([3.2]))).sequence != expected).any()


def test_neighbor_distance_starts_at_sigma_of_neighbour_k():
    """Slide 18: σ = d_k, so β = 1/(2 d_k²), with no row waiting for another."""
    d = np.sort(np.random.default_rng(0).random((50, 10)), axis=1)
    for order, column in ((NeighborDistance(), 3), (NeighborDistance(rank=7), 6)):
        plan = order.plan(RowProblem(d, np.array([3.2])))
        np.testing.assert_allclose(plan.starts, 1 / (2 * np.sqrt(d[:, column]) ** 2))
        assert (plan.parent == -1).all()


@pytest.mark.parametrize("order", [Density, Gap, NeighborDistance])
def test_rank_is_a_neighbour(order):
    with pytest.raises(ValueError, match="rank=0 must be at least 1"):
        order(rank=0)


def test_oracle_sorts_by_beta():
    d = np.sort(np.random.default_rng(0).random((50, 10)), axis=1)
    betas = ck.solve_bandwidths(d, 3.0).betas
    for order in (Oracle(), Oracle(betas)):
        plan = order.plan(RowProblem(d, np.array([3.0])))
        np.testing.assert_array_equal(plan.sequence, np.argsort(betas))


def test_random_order_is_a_seeded_permutation():
    problem = RowProblem(np.random.default_rng(0).random((50, 10)), np.array([3.0]))
    one, same, other = (RandomOrder(seed).plan(problem).sequence for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_raster_zigzags():
    """Left to right and back again: neighbours in the sequence are neighbours in the image."""
    height, width = 5, 7
    problem = RowProblem(np.random.default_rng(0).random((35, 6)), np.array([3.0]))
    sequence = Raster((height, width)).plan(problem).sequence
    np.testing.assert_array_equal(sequence[:14], [*range(7), *range(13, 6, -1)])
    i, j = np.divmod(sequence, width)
    assert (np.abs(np.diff(i)) + np.abs(np.diff(j)) == 1).all()


def test_raster_of_the_wrong_shape():
    problem = RowProblem(np.random.default_rng(0).random((35, 6)), np.array([3.0]))
    with pytest.raises(ValueError, match=r"\(5, 8\).*40 pixels, got 35"):
        Raster((5, 8)).plan(problem)


# Traversals that are none


@pytest.mark.parametrize("n_betas", [3, 49, 51, 5000])
def test_oracle_of_another_length(n_betas):
    d = np.sort(np.random.default_rng(0).random((50, 10)), axis=1)
    with pytest.raises(ValueError, match=rf"shape \({n_betas},\), but there are 50 rows"):
        ck.solve_bandwidths(d, 3.0, order=Oracle(np.ones(n_betas)))


class Custom:
    """An order of a user, which starts from a right traversal and changes it."""

    def __init__(self, **changes):
        self.changes = changes

    def plan(self, problem):
        return replace(Given().plan(problem), **self.changes)


WRONG = {
    "longer": ({"sequence": np.arange(51), "parent": np.full(51, -1)}, "cover all rows"),
    "shorter": ({"sequence": np.arange(49), "parent": np.full(49, -1)}, "cover all rows"),
    "another number of rows": (
        {"sequence": np.arange(49), "parent": np.full(49, -1), "runs": np.array([0, 49])},
        "as many rows",
    ),
    "a row twice": ({"sequence": np.r_[np.arange(49), 7]}, "each row once"),
    "no such row": ({"sequence": np.r_[np.arange(49), 50]}, "each row once"),
    "a negative row": ({"sequence": np.r_[np.arange(49), -1]}, "each row once"),
    "no such parent": ({"parent": np.full(50, 50)}, "parents must be"),
    "its own parent": ({"parent": np.arange(50)}, "parents must be"),
    "parents later": ({"parent": np.r_[np.arange(1, 50), -1]}, "parents must be"),
    "parents elsewhere": (
        {"runs": np.array([0, 25, 50]), "waves": np.array([0, 2])},
        "parents must be",
    ),
    "runs that end early": ({"runs": np.array([0, 40])}, "runs and waves"),
    "runs beyond the end": ({"runs": np.array([0, 60])}, "runs and waves"),
    "runs backwards": ({"runs": np.array([0, 60, 50]), "waves": np.array([0, 2])}, "runs and"),
    "no runs": ({"runs": np.array([], dtype=int)}, "runs and waves"),
    "waves beyond the end": ({"waves": np.array([0, 9])}, "runs and waves"),
    "no waves": ({"waves": np.array([0])}, "runs and waves"),
    "floats": ({"sequence": np.arange(50.0)}, "sequence must hold integers"),
    "few starts": ({"starts": np.ones(3)}, "one start"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_traversals_are_refused(name):
    """The compiled core would write outside of its arrays, or leave rows unsolved."""
    changes, message = WRONG[name]
    d = np.sort(np.random.default_rng(0).random((50, 10)), axis=1)
    with pytest.raises(ValueError, match=message):
        ck.solve_bandwidths(d, 3.0, order=Custom(**changes))


def test_integers_of_any_kind_will_do():
    """Lists and small integers are taken for what they are."""
    d = np.sort(np.random.default_rng(0).random((50, 10)), axis=1)
    changes = {"sequence": list(range(50)), "parent": np.full(50, -1, dtype=np.int8)}
    assert ck.solve_bandwidths(d, 3.0, order=Custom(**changes)).converged.all()


def test_an_order_that_makes_no_traversal():
    class Lists:
        def plan(self, problem):
            return list(range(len(problem.sq_distances)))

    d = np.sort(np.random.default_rng(0).random((50, 10)), axis=1)
    with pytest.raises(TypeError, match=r"must be a closeknit\.affinities\.Traversal"):
        ck.solve_bandwidths(d, 3.0, order=Lists())


def test_parents_in_an_earlier_wave():
    """A traversal of one's own is taken if it is right, and the result is the same."""
    d = np.sort(np.random.default_rng(0).random((50, 10)), axis=1)

    class Halves:
        def plan(self, problem):
            parent = np.r_[np.full(25, -1), np.arange(25)]
            return Traversal(np.arange(50), parent, np.array([0, 25, 50]), np.array([0, 1, 2]))

    got = ck.solve_bandwidths(d, 3.0, order=Halves())
    assert got.converged.all()
    np.testing.assert_allclose(got.betas, ck.solve_bandwidths(d, 3.0).betas, rtol=1e-8)


# The tree


def edges_of(plan):
    child = np.flatnonzero(plan.parent >= 0)
    return plan.sequence[child], plan.parent[child]


@pytest.mark.parametrize("seed", range(5))
def test_tree_of_the_complete_graph_is_minimal(seed):
    """Total length, and total rank, equal those of SciPy's MST of the dense matrix."""
    n = 40
    X = np.random.default_rng(seed).normal(size=(n, 3))
    plan = MinimumSpanningTree(n_neighbors=n - 1).plan(problem_of(X, n - 1))
    check_plan(plan, n)
    a, b = edges_of(plan)
    assert len(a) == n - 1
    D = np.square(pairwise_distances(X))
    rank = np.zeros_like(D)
    upper = np.triu_indices(n, 1)
    rank[upper] = 1 + np.argsort(np.argsort(D[upper]))
    rank += rank.T
    for weight in (D, rank):
        np.testing.assert_allclose(weight[a, b].sum(), minimum_spanning_tree(weight).sum())


def test_tree_of_the_neighbour_graph_is_minimal(rows):
    """On the κ-neighbour graph: as long as SciPy's MST of the same sparse graph."""
    d, indices = rows("gauss2", 300, 120)
    plan = MinimumSpanningTree(n_neighbors=10).plan(RowProblem(d, np.array([8.0]), indices))
    graph = np.zeros((300, 300))
    np.put_along_axis(graph, indices[:, :10], d[:, :10], axis=1)
    both = np.maximum(graph, graph.T)  # an edge if either has the other among its neighbours
    a, b = edges_of(plan)
    assert (both[a, b] > 0.0).all()
    np.testing.assert_allclose(both[a, b].sum(), minimum_spanning_tree(both).sum())


def test_tree_is_breadth_first(rows):
    """Depths never decrease along the sequence, and each wave is one depth."""
    d, indices = rows("gauss2", 300, 120)
    plan = MinimumSpanningTree().plan(RowProblem(d, np.array([8.0]), indices))
    depth = np.zeros(300, dtype=int)
    for row, parent in zip(plan.sequence, plan.parent, strict=True):
        depth[row] = 0 if parent < 0 else depth[parent] + 1
    assert (np.diff(depth[plan.sequence]) >= 0).all()
    assert len(plan.waves) - 1 == depth.max() + 1


@pytest.mark.parametrize("n_parts", [2, 5])
def test_disconnected_graph_gives_a_forest(n_parts):
    """One root per component, and children never cross from one to another."""
    rng = np.random.default_rng(0)
    part = np.repeat(np.arange(n_parts), 30)
    X = rng.normal(size=(30 * n_parts, 2)) + 1e3 * part[:, None]
    problem = problem_of(X, 8)
    plan = MinimumSpanningTree(n_neighbors=5).plan(problem)
    check_plan(plan, len(X))
    a, b = edges_of(plan)
    assert (part[a] == part[b]).all()
    adjacency = np.zeros((len(X), len(X)))
    np.put_along_axis(adjacency, problem.indices[:, :5], 1.0, axis=1)
    n_components, _ = connected_components(adjacency, directed=False)
    assert (plan.parent < 0).sum() == n_components >= n_parts


def test_duplicates_are_connected_by_edges_of_length_zero():
    """Zero-length edges are edges: coinciding points hang together."""
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 2)), 3, axis=0)
    plan = MinimumSpanningTree(n_neighbors=59).plan(problem_of(X, 59))
    check_plan(plan, 60)
    a, b = edges_of(plan)
    assert len(a) == 59
    assert (np.square(X[a] - X[b]).sum(axis=1) == 0.0).sum() == 40


def test_all_points_coincide():
    plan = MinimumSpanningTree().plan(problem_of(np.ones((30, 2)), 10))
    check_plan(plan, 30)


def test_missing_indices_are_no_edges():
    """-1 marks a missing neighbour; a point without any is a tree of its own."""
    problem = problem_of(np.random.default_rng(0).normal(size=(30, 2)), 6)
    problem.indices[4] = -1
    problem.indices[:, 5] = -1
    problem.indices[problem.indices == 4] = -1
    plan = MinimumSpanningTree().plan(problem)
    check_plan(plan, 30)
    assert plan.parent[plan.sequence == 4] == -1


def test_children_start_from_their_parents(rows):
    """A tree saves evaluations against independent starts, and the result is the same."""
    d, indices = rows("clusters", 300, 120)
    tree = ck.solve_bandwidths(d, 30.0, method="newton", order="mst", indices=indices)
    alone = ck.solve_bandwidths(d, 30.0, method="newton", order="bounds")
    np.testing.assert_allclose(np.log(tree.betas), np.log(alone.betas), rtol=0, atol=1e-9)
    assert tree.evaluations.mean() < alone.evaluations.mean()


def test_unsorted_neighbours_do_not_break_the_tree(rows):
    d, indices = rows("gauss2", 300, 120)
    shuffle = np.random.default_rng(0).permutation(120)
    plan = MinimumSpanningTree().plan(
        RowProblem(d[:, shuffle], np.array([8.0]), indices[:, shuffle])
    )
    check_plan(plan, 300)


# The regression


def test_regression_scales_as_beta(rows):
    """Weights sum to −1, so squared distances × α give β / α."""
    d, _ = rows("gauss10", 300, 120)
    start = Regression().fit(RowProblem(d, np.array([30.0])))
    assert sum(start.weights) == pytest.approx(-1.0, abs=1e-12)
    assert len(start.ranks) == len(start.weights) <= 8
    problem, scaled = (RowProblem(s * d, np.array([30.0])) for s in (1.0, 100.0))
    np.testing.assert_allclose(
        start.plan(problem).starts, 100.0 * start.plan(scaled).starts, rtol=1e-10
    )


def test_regression_starts_within_a_few_per_cent(rows):
    """The guess of the regression has an error of a few per cent."""
    for kind in ("gauss2", "gauss10", "gauss100"):
        d, _ = rows(kind, 300, 120)
        starts = Regression().plan(RowProblem(d, np.array([30.0]))).starts
        error = np.log(starts) - np.log(ck.solve_bandwidths(d, 30.0).betas)
        assert np.sqrt(np.mean(error**2)) < 0.1


def test_regression_without_rows_to_learn_from():
    """Too few rows, or one perplexity each: no model, and rows start from their bounds."""
    d = np.sort(np.random.default_rng(0).random((5, 30)), axis=1)
    assert Regression().fit(RowProblem(d, np.array([9.0]))).ranks == ()
    assert Regression().fit(RowProblem(d, np.full(5, 9.0))).ranks == ()
    assert ck.solve_bandwidths(d, 9.0).converged.all()


def test_fitted_regression_is_not_fitted_again(rows):
    d, _ = rows("gauss10", 300, 120)
    start = Regression().fit(RowProblem(d, np.array([30.0])))
    assert start.fit(RowProblem(d[:50], np.array([30.0]))) is start
