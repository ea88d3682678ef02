"""Whatever Python hands to the compiled core is checked: a wrong argument raises, and no more.

Every function and class has a call that works. Each array of that call is then given another type,
another shape, and out-of-range entries, and each number a value without meaning.
"""

import itertools
import re
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from closeknit import _core

N = 6  # points, wherever there are some
STUDENT = (1, 1.0, 1.0)
REFUSED = (ValueError, TypeError)


def graph(n=N, dtype=np.float64):
    """A ring."""
    i = np.arange(n)
    ring = csr_matrix((np.ones(n), (i, (i + 1) % n)), shape=(n, n))
    return csr_matrix(ring + ring.T, dtype=dtype)


def points(d=2):
    return np.random.default_rng(0).random((N, d))


def distances():
    return np.sort(np.random.default_rng(0).random((N, 5)), axis=1)


def problem_arguments():
    return {
        "sq_distances": distances(),
        "perplexity": np.array([2.0]),
        "tol": 1e-10,
        "allow_missing": False,
        "affinities": np.empty((N, 5)),
        "betas": np.empty(N),
        "sigmas": np.empty(N),
        "slopes": np.empty(N),
        "evaluations": np.empty(N, dtype=np.int32),
        "status": np.empty(N, dtype=np.uint8),
    }


def order_arguments():
    return {
        "sequence": np.array([2, 0, 1, 5, 4, 3]),
        "parent": np.array([-1, 2, 0, 2, 5, -1]),
        "runs": np.array([0, 3, 5, 6]),
        "waves": np.array([0, 1, 3]),
        "starts": np.ones(N),
    }


def grid_arguments():
    return {"origin": np.full(2, -3.0), "size": np.array([12, 14]), "spacing": 0.5, "degree": 3}


def grid():
    return _core.Grid(**grid_arguments())


def field():
    return _core.Field(grid(), np.ones((12, 14)))


def sorted_points():
    return _core.SortedPoints(grid(), points(), 1)


def cells():
    return _core.Cells(np.zeros(2), np.array([2, 2]), 0.5)


def sketch_arguments(n=N, n_cells=2):
    """Points 0 … n − 1 in cells of one panel each, by turns."""
    places = np.full((n_cells, 16), -1, dtype=np.int32)
    for point in range(n):
        places[point % n_cells, point // n_cells] = point
    return {
        "panels": np.ones((n_cells, 3, 16), dtype=np.float32),
        "half_sq_norms": np.where(places < 0, np.inf, 1.0).astype(np.float32),
        "points": places,
        "cell_panels": np.arange(n_cells + 1),
        "has_residual": False,
    }


def search_points_arguments():
    return {
        "rows": _core.Rows(points()),
        "sq_offsets": np.zeros(N),
        "sketch": _core.Sketch(**sketch_arguments()),
        "centers": _core.Sketch(**sketch_arguments(2, 1)),
        "cell_radii": np.ones(2),
        "cell_slacks": np.zeros(2),
    }


def search_queries_arguments():
    return {
        "rows": _core.Rows(points()),
        "sketches": np.ones((N, 3), dtype=np.float32),
        "sq_norms": np.ones(N),
        "own": np.arange(N, dtype=np.int32),
        "order": np.arange(N),
        "task_offsets": np.array([0, 2, N]),
    }


def search_plan(**changes):
    values = {"n_probes": 1, "n_candidates": 3, "sketch_unit": 1.0, "margin": 0.0}
    return _core.SearchPlan(**{**values, "residual_weight": 1.0, "exact": True, **changes})


def sparse_rows(X):
    X = csr_matrix(X)
    return {
        "values": X.data,
        "indptr": X.indptr.astype(np.int64),
        "indices": X.indices.astype(np.int32),
        "n_features": X.shape[1],
    }


@dataclass(frozen=True)
class Call:
    """A call that works, and what of it may be changed without being wrong.

    Parameters
    ----------
    arguments : callable
        Makes them anew.
    free : dict
        Per array the axes along which it may have any length.
    numbers : dict
        Per number (or small tuple) values that must be refused.
    ranges : dict
        Per array of indices entries that must be refused.
    """

    arguments: object
    free: dict
    numbers: dict
    ranges: dict


def call(arguments, free=None, numbers=None, ranges=None):
    return Call(arguments, free or {}, numbers or {}, ranges or {})


KERNELS = [(3, 1.0, 1.0), (-1, 1.0, 1.0), (1, 0.0, 1.0), (1, 1.0, np.nan), (1, 1.0), None]


def ring_neighbors():
    return np.ascontiguousarray(graph().indices.reshape(N, 2))


def mutual_pattern():
    """Every pair of a ring's neighbours, each the nearest of the other."""
    ring = graph()
    ranks = np.zeros(2 * N, dtype=np.uint32)
    pattern = {"indptr": ring.indptr, "indices": ring.indices, "ranks": ranks}
    return {**pattern, "order": np.arange(N)}


def mutual_pairs():
    return _core.MutualPairs(**mutual_pattern())


CALLS = {
    "limit_new_threads": call(lambda: {"n": -1}, numbers={"n": [None, "few"]}),
    "Graph": call(
        lambda: {"matrix": graph()}, numbers={"matrix": [None, 3, np.ones((2, 2)), "matrix"]}
    ),
    "approximate_cholesky": call(
        lambda: {
            "weights": _core.Graph(graph()),
            "excess": np.ones(N),
            "seed": 0,
            "like": None,
            "parts": np.full(N, -1, dtype=np.int32),
            "n_jobs": 1,
        },
        numbers={"seed": [-1, 0.5], "parts": [np.full(N, -2), np.full(N, N)]},
    ),
    "mark_border": call(
        lambda: {
            "weights": _core.Graph(graph()),
            "labels": np.zeros(N, dtype=np.int32),
            "n_jobs": 1,
        }
    ),
    "ApproximateCholesky.solve": call(
        lambda: {
            "self": _core.approximate_cholesky(_core.Graph(graph()), np.ones(N), 0, None, None, 1),
            "rhs": np.ones((N, 3)),
            "out": np.empty((N, 3)),
            "n_jobs": 1,
        }
    ),
    "multiply": call(
        lambda: {
            "matrix": _core.Graph(graph()),
            "X": np.ones((N, 3)),
            "out": np.empty((N, 3)),
            "n_jobs": 1,
        }
    ),
    "sum_rows": call(
        lambda: {"matrix": _core.Graph(graph()), "sums": np.empty(N), "n_jobs": 1},
    ),
    "asymmetry": call(lambda: {"weights": _core.Graph(graph()), "n_jobs": 1}),
    "mark_strongest": call(
        lambda: {
            "weights": _core.Graph(graph()),
            "k": 1,
            "keep": np.empty(2 * N, dtype=np.uint8),
            "n_jobs": 1,
        },
        numbers={"k": [-1, 0.5]},
    ),
    "sample_entries": call(
        lambda: {
            "weights": _core.Graph(graph()),
            "counts": (1, 1),
            "seed": 0,
            "first": 0,
            "own": np.empty(2 * N, dtype=np.uint8),
            "mirrored": np.empty(2 * N, dtype=np.uint8),
            "rest": np.empty(N),
            "n_jobs": 1,
        },
        numbers={"counts": [(-1, 1), (1, 0), (1, 255), 1], "seed": [-1, 0.5], "first": [0.5]},
    ),
    "permute": call(
        lambda: {
            "graph": _core.Graph(graph()),
            "order": np.array([2, 0, 1, 5, 4, 3]),
            "indptr": graph().indptr,
            "indices": np.empty(2 * N, dtype=np.int32),
            "values": np.empty(2 * N),
            "n_jobs": 1,
        },
        numbers={"indptr": [np.array([0, 1, 4, 6, 8, 10, 12], dtype=np.int32)]},
        ranges={"order": [-1, N, 2**62, 4], "indptr": [-1, 1, 2 * N + 1]},
    ),
    "label_components": call(
        lambda: {
            "weights": _core.Graph(graph()),
            "degrees": np.ones(N),
            "share": 0.0,
            "labels": np.empty(N, dtype=np.int32),
        }
    ),
    "Rows": call(lambda: sparse_rows(np.eye(3)), numbers={"n_features": [-1, 2, None]}),
    "Sketch": call(
        sketch_arguments,
        free={"panels": [1]},
        ranges={"points": [-2, 2**31 - 1], "cell_panels": [-1, 9]},
    ),
    "SearchPoints": call(search_points_arguments),
    "SearchQueries": call(
        search_queries_arguments,
        free={"sketches": [1]},
        ranges={"order": [-1, N, 0], "task_offsets": [-1, N + 1]},
    ),
    "SearchPlan": call(
        lambda: {
            "n_probes": 1,
            "n_candidates": 1,
            "sketch_unit": 1.0,
            "margin": 0.0,
            "residual_weight": 1.0,
            "exact": False,
        },
        numbers={"n_probes": [0, -1], "n_candidates": [0, -1]},
    ),
    "search_cells": call(
        lambda: {
            "points": _core.SearchPoints(**search_points_arguments()),
            "queries": _core.SearchQueries(**search_queries_arguments()),
            "plan": search_plan(),
            "tasks": (0, 2),
            "indices": np.empty((N, 2), dtype=np.int32),
            "sq_distances": np.empty((N, 2)),
            "evaluated": np.empty(N, dtype=np.int64),
            "n_jobs": 1,
        },
        numbers={
            "tasks": [(0, 3), (-1, 1), (2, 1), (0, 2**62), None],
            "plan": [search_plan(n_probes=3), None],
        },
    ),
    "candidate_distances": call(
        lambda: {
            "queries": _core.Rows(points()),
            "points": _core.Rows(points()),
            "sq_offsets": np.zeros(N),
            "candidates": np.zeros((N, 4), dtype=np.int64),
            "out": np.empty((N, 4)),
            "n_jobs": 1,
        },
        numbers={
            "queries": [
                _core.Rows(points(3)),
                _core.Rows(points().astype(np.float32)),
                _core.Rows(**sparse_rows(points())),
            ]
        },
        ranges={"candidates": [N, 2**62]},
    ),
    "pair_distances": call(
        lambda: {
            "rows": _core.Rows(points()),
            "starts": np.array([0, 2, 3, 3, 3, 4, 4]),
            "columns": np.array([1, 4, 0, 5], dtype=np.int32),
            "out": np.empty(4),
            "n_jobs": 1,
        },
        numbers={
            "rows": [_core.Rows(points()[:3]), _core.Rows(**sparse_rows(points()))],
            "columns": [np.array([4, 1, 0, 5], dtype=np.int32)],
        },
        ranges={"starts": [-1, 5], "columns": [-1, N]},
    ),
    "project": call(
        lambda: {
            "rows": _core.Rows(points()),
            "center": np.zeros(2),
            "basis": np.ones((2, 3)),
            "out": np.empty((N, 3)),
            "sq_norms": np.empty(N),
            "n_jobs": 1,
        }
    ),
    "EntropicProblem": call(problem_arguments),
    "RowOrder": call(
        order_arguments,
        ranges={
            "sequence": [-1, N, 0],
            "parent": [-2, N, 4],
            "runs": [-1, N + 1],
            "waves": [-1, 4],
        },
    ),
    "fit_start": call(
        lambda: {"sq_distances": distances(), "perplexity": 2.0, "n_fit": 5, "n_jobs": 1},
        free={"sq_distances": [0, 1]},
        numbers={"n_fit": [-1], "sq_distances": [np.empty((3, 0))]},
    ),
    "solve_from_model": call(
        lambda: {
            "problem": _core.EntropicProblem(**problem_arguments()),
            "model": ([1, 2], [-0.5, -0.5], 0.0),
            "n_jobs": 1,
        },
        numbers={
            "model": [
                ([0, 2], [-0.5, -0.5], 0.0),
                ([1, 5], [-0.5, -0.5], 0.0),
                ([1], [-0.5, -0.5], 0.0),
                ([1] * 9, [0.0] * 9, 0.0),
                None,
            ]
        },
    ),
    "solve_in_order": call(
        lambda: {
            "problem": _core.EntropicProblem(**problem_arguments()),
            "method": 4,
            "max_inner": 10,
            "order": _core.RowOrder(**order_arguments()),
            "n_jobs": 1,
        },
        numbers={
            "method": [-1, 6],
            "order": [
                None,
                _core.RowOrder(
                    np.arange(2), np.full(2, -1), np.array([0, 2]), np.array([0, 1]), None
                ),
            ],
        },
    ),
    "affinities_at": call(
        lambda: {
            "sq_distances": distances(),
            "betas": np.ones(N),
            "sorted": True,
            "affinities": np.empty((N, 5)),
            "perplexities": np.empty(N),
            "n_jobs": 1,
        }
    ),
    "entropy_at": call(
        lambda: {
            "sq_distances": distances(),
            "log_betas": np.zeros(N),
            "out": np.empty((N, 4)),
            "n_jobs": 1,
        },
        free={"sq_distances": [1]},
        numbers={"sq_distances": [np.empty((N, 0))]},
    ),
    "bounds_of_rows": call(
        lambda: {
            "sq_distances": distances(),
            "perplexity": np.array([2.0]),
            "sharp": True,
            "lower": np.empty(N),
            "upper": np.empty(N),
            "n_jobs": 1,
        },
        free={"sq_distances": [1]},
        numbers={"sq_distances": [np.empty((N, 0))]},
    ),
    "merged_counts": call(
        lambda: {
            "a": _core.Graph(graph()),
            "b": _core.Graph(graph()),
            "counts": np.empty(N, dtype=np.int32),
            "n_jobs": 1,
        },
        numbers={"b": [_core.Graph(graph(7)), _core.Graph(graph(dtype=np.float32)), None]},
    ),
    "merged_mean": call(
        lambda: {
            "a": _core.Graph(graph()),
            "b": _core.Graph(graph()),
            "indptr": graph().indptr,
            "indices": np.empty(2 * N, dtype=np.int32),
            "data": np.empty(2 * N),
            "n_jobs": 1,
        },
        numbers={"b": [_core.Graph(graph(7)), _core.Graph(graph(dtype=np.float32)), None]},
        ranges={"indptr": [-1, 1, 2 * N + 1]},
    ),
    "NeighborPairs": call(
        lambda: {"neighbors": ring_neighbors(), "n_jobs": 1},
        free={"neighbors": (0, 1)},
        ranges={"neighbors": [-2, N]},
    ),
    "NeighborPairs.count": call(
        lambda: {
            "self": _core.NeighborPairs(ring_neighbors(), 1),
            "counts": np.empty(N, dtype=np.int32),
            "n_jobs": 1,
        }
    ),
    "NeighborPairs.write": call(
        lambda: {
            "self": _core.NeighborPairs(ring_neighbors(), 1),
            "order": np.arange(N),
            "indptr": graph().indptr,
            "indices": np.empty(2 * N, dtype=np.int32),
            "ranks": np.empty(2 * N, dtype=np.uint32),
            "n_jobs": 1,
        },
        ranges={"indptr": [-1, 1, 2 * N + 1], "order": [-1, 1, N]},
    ),
    "walk_order": call(
        lambda: {"neighbors": ring_neighbors(), "order": np.empty(N, dtype=np.int64)},
        free={"neighbors": (1,)},
        ranges={"neighbors": [-2, N]},
    ),
    "MutualPairs": call(
        mutual_pattern,
        ranges={"indptr": [-1, 2 * N + 1], "indices": [-1, N], "order": [-1, 1, N]},
    ),
    "MutualPairs.count": call(
        lambda: {"self": mutual_pairs(), "k": 2, "counts": np.empty(N, np.int32), "n_jobs": 1},
        numbers={"k": [None, "2", 2.5]},
    ),
    "MutualPairs.mean": call(
        lambda: {
            "self": mutual_pairs(),
            "affinities": np.full((N, 2), 0.5),
            "indptr": graph().indptr,
            "indices": np.empty(2 * N, dtype=np.int32),
            "data": np.empty(2 * N),
            "n_jobs": 1,
        },
        free={"affinities": (1,)},
        ranges={"indptr": [-1, 1, 2 * N + 1]},
    ),
    "Grid": call(
        grid_arguments,
        numbers={
            "spacing": [0.0, -1.0, np.nan, np.inf],
            "degree": [0, 2, 4, 7],
            "size": [np.array([2**40, 2**40])],
        },
        ranges={"size": [0, -1, 2**62], "origin": [np.nan, np.inf]},
    ),
    "Field": call(
        lambda: {"grid": grid(), "nodes": np.ones((12, 14))},
        free={"nodes": [0, 1]},  # they may be more than the grid's
        numbers={"nodes": [np.ones((11, 14)), np.ones((12, 13)), np.ones((12, 28))[:, ::2]]},
    ),
    "SortedPoints": call(
        lambda: {"grid": grid(), "points": points(), "n_jobs": 1},
        free={"points": [0]},
        ranges={"points": [np.nan, np.inf, -3.0, 3.0, 1e300]},
    ),
    "Cells": call(
        lambda: {"low": np.zeros(2), "size": np.array([2, 3]), "side": 0.5},
        numbers={"side": [0.0, -1.0, np.nan, np.inf], "size": [np.array([2**40, 2**40])]},
        ranges={"size": [0, -1, 2**62]},
    ),
    "Pairs": call(
        lambda: {
            "points": points(),
            "queries": np.ones((4, 2)),
            "point_weights": np.ones(N),
            "pair_weights": np.ones((4, N)),
            "vectors": np.ones((N, 2)),
        }
    ),
    "bounding_box": call(
        lambda: {"points": points(), "low": np.empty(2), "high": np.empty(2), "n_jobs": 1},
        free={"points": [0]},
        numbers={"points": [np.empty((0, 2))]},
    ),
    "spread": call(
        lambda: {
            "points": sorted_points(),
            "weights": np.ones(N),
            "nodes": np.empty((12, 14)),
            "n_jobs": 1,
        }
    ),
    "gather": call(
        lambda: {
            "field": field(),
            "own": np.zeros(16),
            "points": sorted_points(),
            "weights": np.ones(N),
            "value": np.empty(N),
            "gradient": np.empty((N, 2)),
            "n_jobs": 1,
        },
        numbers={
            "own": [np.zeros(16, dtype=np.float32)],
            "field": [
                _core.Field(
                    _core.Grid(np.full(2, -3.0), np.array([12, 13]), 0.5, 3), np.ones((12, 13))
                )
            ],
        },
    ),
    "crowding": call(
        lambda: {"cells": cells(), "points": points(), "n_jobs": 1},
        free={"points": [0]},
        numbers={"points": [np.empty((0, 2)), points(3)]},
    ),
    "add_close_pairs": call(
        lambda: {
            "cells": cells(),
            "taper": (STUDENT, np.ones(4)),
            "points": points(),
            "weights": np.ones(N),
            "single": False,
            "value": np.zeros(N),
            "gradient": np.zeros((N, 2)),
            "n_jobs": 1,
        },
        numbers={
            "taper": [
                ((0, 1.0, 1.0), np.ones(4)),
                (STUDENT, np.ones(3)),
                *((kernel, np.ones(4)) for kernel in KERNELS),
            ],
        },
    ),
    "sum_all_pairs": call(
        lambda: {
            "pairs": _core.Pairs(points(), None, None, None, None),
            "kernel": STUDENT,
            "value": np.empty(N),
            "slope": np.empty(N),
            "force": np.empty((N, 2)),
            "curvature": np.empty((N, 2)),
            "n_jobs": 1,
        },
        numbers={
            "kernel": KERNELS,
            "pairs": [_core.Pairs(points(), None, None, None, points()), None],
        },
    ),
    "sum_edges": call(
        lambda: {
            "graph": _core.Graph(graph()),
            "from_points": points(),
            "points": points(),
            "kernel": STUDENT,
            "force": np.empty((N, 2)),
            "n_jobs": 1,
        },
        numbers={"kernel": KERNELS, "graph": [_core.Graph(graph(dtype=np.float32)), None]},
    ),
    "edge_weights": call(
        lambda: {
            "graph": _core.Graph(graph()),
            "points": points(),
            "kernel": STUDENT,
            "out": np.empty(2 * N),
            "n_jobs": 1,
        },
        free={"points": [1]},
        numbers={
            "kernel": KERNELS,
            "graph": [_core.Graph(graph(dtype=np.float32)), None],
            "points": [np.empty((N, 0))],
        },
    ),
    "sum_entropy": call(lambda: {"weights": np.ones(2 * N), "n_jobs": 1}, free={"weights": [0]}),
    "take_rows": call(
        lambda: {"X": points(), "rows": np.arange(3), "out": np.empty((3, 2)), "n_jobs": 1},
        ranges={"rows": [-1, N, 2**62]},
        free={"X": [0], "rows": [0]},
    ),
    "join_forces": call(
        lambda: {
            "attractive": points(),
            "repulsive": points(),
            "lam": 1.0,
            "places": np.arange(N),
            "out": np.empty((N, 2)),
            "n_jobs": 1,
        },
        numbers={"lam": [None, "much"]},
        ranges={"places": [-1, N, 2**62]},
    ),
    "momentum_step": call(
        lambda: {
            "rule": (1.0, 0.9, 3.0),
            "gain": (0.2, np.inf),
            "gradient": points(),
            "velocity": np.zeros((N, 2)),
            "gains": np.ones(N),
            "n_jobs": 1,
        },
        numbers={"rule": [(1.0, 0.9), None], "gain": [(0.2,), None]},
    ),
    "place": call(
        lambda: {
            "neighbors": _core.Graph(graph()[:3]),
            "points": points(),
            "kernel": STUDENT,
            "repulsion": 0.1,
            "max_iter": 5,
            "tol": 1e-6,
            "field": field(),
            "positions": np.ones((3, 2)),
            "n_jobs": 1,
        },
        numbers={
            "kernel": KERNELS,
            "neighbors": [_core.Graph(graph(dtype=np.float32)[:3]), None],
            "field": [_core.Field(_core.Grid(np.zeros(1), np.array([9]), 0.5, 3), np.ones(9))],
        },
    ),
}


def target(name):
    owner, _, method = name.partition(".")
    return getattr(getattr(_core, owner), method) if method else getattr(_core, owner)


def invoke(name, arguments):
    arguments = dict(arguments)
    subject = [arguments.pop("self")] if "self" in arguments else []
    return target(name)(*subject, **arguments)


def shorter(array, axis):
    return np.ascontiguousarray(np.delete(array, -1, axis=axis))


def longer(array, axis):
    last = np.take(array, [-1], axis=axis)
    return np.ascontiguousarray(np.concatenate([array, last + 1], axis=axis))


def wrong_arrays(name, argument, array):
    """Other types, other shapes, and entries out of range."""
    spec = CALLS[name]
    yield "complex", array.astype(np.complex128)
    yield "text", array.astype(str)
    yield "a list of strings", ["a"] * len(array)
    yield "another axis", array[..., None]
    yield "a scalar", array.ravel()[0]
    for axis in range(array.ndim):
        if axis not in spec.free.get(argument, ()):
            yield f"shorter along {axis}", shorter(array, axis)
            yield f"longer along {axis}", longer(array, axis)
    for entry in spec.ranges.get(argument, ()):
        for place in (0, array.size // 2, array.size - 1):
            changed = array.copy()
            if changed.flat[place] != entry:
                changed.flat[place] = entry
                yield f"{entry} at {place}", changed


def wrong_calls():
    for name, spec in CALLS.items():
        for argument, value in spec.arguments().items():
            wrong = [(f"value {i}", bad) for i, bad in enumerate(spec.numbers.get(argument, ()))]
            if isinstance(value, np.ndarray):
                wrong += wrong_arrays(name, argument, value)
            elif argument == "n_jobs":
                wrong += [("0", 0), ("-1", -1), ("None", None), ("2**40", 2**40)]
            elif type(value).__module__.startswith("closeknit"):
                wrong += [("None", None)] if argument not in ("field", "like", "self") else []
                wrong += [("a simple namespace", SimpleNamespace())]
            for label, bad in wrong:
                yield pytest.param(name, argument, bad, id=f"{name}-{argument}-{label}")


def test_every_function_and_class_has_a_call():
    without_arguments = {
        "simd",
        "refused_threads",
        "trim_memory",
        "ApproximateCholesky.order",
        "ApproximateCholesky.columns",
    }
    offered = {name for name in dir(_core) if not name.startswith("_")}
    methods = {
        f"{owner}.{name}"
        for owner in offered
        if isinstance(getattr(_core, owner), type)
        for name in dir(getattr(_core, owner))
        if not name.startswith("_") and callable(getattr(getattr(_core, owner), name))
    }
    made_by_functions = {"ApproximateCholesky"}
    assert set(CALLS) == (offered | methods) - made_by_functions - without_arguments


@pytest.mark.parametrize("name", CALLS)
def test_the_call_works(name):
    invoke(name, CALLS[name].arguments())


@pytest.mark.parametrize(("name", "argument", "bad"), list(wrong_calls()))
def test_wrong_arguments_are_refused(name, argument, bad):
    with pytest.raises(REFUSED):
        invoke(name, {**CALLS[name].arguments(), argument: bad})


def outputs(name):
    """The arrays that a call writes to, by nanobind's own account."""
    function = target(name)
    signature = getattr(function, "__nb_signature__", None) or function.__init__.__nb_signature__
    arrays = re.findall(r"(\w+): ndarray\[([^\]]*)\]", signature[-1][0])
    return [argument for argument, kind in arrays if "writable=False" not in kind]


OUTPUTS = [
    pytest.param(name, argument, id=f"{name}-{argument}")
    for name in CALLS
    for argument in outputs(name)
]


@pytest.mark.parametrize(("name", "argument"), OUTPUTS)
def test_outputs_are_never_converted_copies(name, argument):
    """A converted copy would take the result and be thrown away."""
    arguments = CALLS[name].arguments()
    array = arguments[argument]
    other = np.float32 if array.dtype != np.float32 else np.float64
    if name != "spread":  # nodes may be of either precision
        with pytest.raises(TypeError):
            invoke(name, {**arguments, argument: np.zeros(array.shape, dtype=other)})
    strided = np.empty((*array.shape[:-1], 2 * array.shape[-1]), dtype=array.dtype)[..., ::2]
    with pytest.raises(TypeError):
        invoke(name, {**arguments, argument: strided})
    array.flags.writeable = False
    with pytest.raises(TypeError):
        invoke(name, arguments)


# Graphs


def broken(**changes):
    W = graph()
    parts = {"indptr": W.indptr, "indices": W.indices, "data": W.data, "shape": W.shape}
    return SimpleNamespace(**{**parts, **changes})


def replaced(array, place, value):
    array = array.copy()
    array[place] = value
    return array


@pytest.mark.parametrize(
    "changes",
    [
        {"indptr": replaced(graph().indptr, 0, 1)},
        {"indptr": replaced(graph().indptr, 2, 7)},
        {"indptr": replaced(graph().indptr, 2, -1)},
        {"indptr": replaced(graph().indptr, -1, 2 * N + 1)},
        {"indptr": replaced(graph().indptr, -1, 2 * N - 1)},
        {"indptr": graph().indptr[:-1]},
        {"indptr": graph().indptr[:0]},
        {"indptr": graph().indptr.astype(np.int64)},
        {"indptr": graph().indptr.astype(np.uint32)},
        {"indices": graph().indices[:-1]},
        {"indices": graph().indices.astype(np.float64)},
        {"indices": np.repeat(graph().indices, 2)[::2]},
        {"data": graph().data[:-1]},
        {"data": graph().data.astype(np.int64)},
        {"data": graph().data.astype(np.float16)},
        {"shape": (N + 1, N)},
        {"shape": (N,)},
        {"shape": (-1, N)},
        {"shape": (N, -1)},
        {"shape": None},
    ],
)
def test_graphs_without_structure_are_refused(changes):
    with pytest.raises(REFUSED):
        _core.Graph(broken(**changes))


USES = {
    "multiply": lambda G: _core.multiply(G, np.ones((N, 2)), np.empty((N, 2)), 2),
    "mark_strongest": lambda G: _core.mark_strongest(G, 1, np.empty(2 * N, dtype=np.uint8), 1),
    "sample_entries": lambda G: _core.sample_entries(
        G, (1, 1), 0, 0, *np.empty((2, 2 * N), dtype=np.uint8), np.empty(N), 1
    ),
    "label_components": lambda G: _core.label_components(
        G, np.ones(N), 0.0, np.empty(N, dtype=np.int32)
    ),
    "approximate_cholesky": lambda G: _core.approximate_cholesky(G, np.ones(N), 0, None, None, 1),
    "mark_border": lambda G: _core.mark_border(G, np.zeros(N, dtype=np.int32), 1),
    "sum_edges": lambda G: _core.sum_edges(G, points(), points(), STUDENT, None, 1),
    "edge_weights": lambda G: _core.edge_weights(G, points(), STUDENT, np.empty(2 * N), 1),
    "place": lambda G: _core.place(G, points(), STUDENT, 0.1, 5, 1e-6, None, points(), 1),
}


@pytest.mark.parametrize("index", [-1, N, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_indices_out_of_range_are_refused_whoever_uses_them(use, index, dtype):
    indices = replaced(graph().indices, 3, index).astype(dtype)
    bad = _core.Graph(broken(indices=indices, indptr=graph().indptr.astype(dtype)))
    for _ in range(2):  # a failed check must not count as one
        with pytest.raises(ValueError, match="out of range"):
            use(bad)


@pytest.mark.parametrize("index", [-1, N])
def test_asymmetry_refuses_indices_out_of_range(index):
    bad = _core.Graph(broken(indices=replaced(graph().indices, 3, index)))
    with pytest.raises(ValueError, match="out of range"):
        _core.asymmetry(bad, 1)


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_matrices_must_fit_the_call(use):
    with pytest.raises(ValueError, match=r"must|match"):
        use(_core.Graph(graph(N + 1)))


def test_asymmetric_and_odd_weights_do_no_harm():
    rng = np.random.default_rng(0)
    odd = np.array([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 5e-324])
    for seed in range(20):
        dense = np.where(rng.random((20, 20)) < 0.3, rng.choice(odd, (20, 20)), 0.0)
        W = csr_matrix(dense)
        G = _core.Graph(W)
        _core.asymmetry(G, 2)
        _core.mark_strongest(G, 2, np.empty(W.nnz, dtype=np.uint8), 2)
        own, mirrored = np.empty((2, W.nnz), dtype=np.uint8)
        _core.sample_entries(G, (2, 3), seed, 0, own, mirrored, np.empty(20), 2)
        labels = np.empty(20, dtype=np.int32)
        assert _core.label_components(G, np.ones(20), 0.0, labels) == labels.max() + 1
        parts = np.arange(20, dtype=np.int32) // 7
        assert 0 <= _core.mark_border(G, parts, 2) <= 20
        factor = _core.approximate_cholesky(G, np.ones(20), seed, None, None, 1)
        again = _core.approximate_cholesky(G, np.ones(20), seed, factor, None, 1)
        again.solve(np.ones((20, 5)), np.empty((20, 5)), 2)


def test_graphs_can_be_pickled():
    import pickle

    copy = pickle.loads(pickle.dumps(_core.Graph(graph())))
    sums = np.empty(N)
    _core.sum_rows(copy, sums, 1)
    np.testing.assert_array_equal(sums, 2.0)


# Others


def test_sparse_rows_are_checked():
    good = sparse_rows(np.eye(3))
    for changes in (
        {"indptr": replaced(good["indptr"], 0, 1)},
        {"indptr": replaced(good["indptr"], 1, 3)},
        {"indptr": replaced(good["indptr"], -1, 4)},
        {"indptr": good["indptr"][:0]},
        {"indices": replaced(good["indices"], 0, 3)},
        {"indices": replaced(good["indices"], 0, -1)},
    ):
        with pytest.raises(REFUSED):
            _core.Rows(**{**good, **changes})


@pytest.mark.parametrize("missing", [0, 1])
def test_every_cell_needs_a_centre(missing):
    arguments = sketch_arguments(2, 1)
    arguments["points"] = np.where(arguments["points"] == missing, -1, arguments["points"])
    with pytest.raises(ValueError, match="must match the cells"):
        _core.SearchPoints(**{**search_points_arguments(), "centers": _core.Sketch(**arguments)})


def test_a_sketch_of_more_points_than_there_are_is_refused():
    with pytest.raises(ValueError, match="same points"):
        _core.SearchPoints(
            **{**search_points_arguments(), "sketch": _core.Sketch(**sketch_arguments(N + 1))}
        )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_searches_survive_what_is_no_number(value):
    queries = search_queries_arguments()
    queries["sketches"] = np.full((N, 3), value, dtype=np.float32)
    queries["sq_norms"] = np.full(N, value)
    indices = np.empty((N, 2), dtype=np.int32)
    _core.search_cells(
        _core.SearchPoints(**search_points_arguments()),
        _core.SearchQueries(**queries),
        search_plan(n_probes=2),
        (0, 2),
        indices,
        np.empty((N, 2)),
        np.empty(N, dtype=np.int64),
        1,
    )
    assert ((indices >= -1) & (indices < N)).all()


def test_points_that_moved_off_the_grid_are_noticed():
    X = points()
    moved = _core.SortedPoints(grid(), X, 1)
    X[3] = 100.0
    with pytest.raises(ValueError, match="outside the grid"):
        _core.spread(moved, None, np.empty((12, 14)), 1)
    with pytest.raises(ValueError, match="outside the grid"):
        _core.gather(field(), None, moved, None, np.empty(N), None, 1)


@pytest.mark.parametrize("degree", [3, 5])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_points_up_to_the_border_stay_on_the_grid(d, degree):
    """Weights that leave it would be lost, or written elsewhere."""
    below = (degree - 1) // 2
    lanes = {3: 4, 5: 8}[degree]
    cases = itertools.product([0.3, 0.1, 1.0, 1e-3, 7.7, 0.5**1.5], [0.7, -74.0, -13.0, -1.0, 1e4])
    for spacing, first in cases:
        origin = first * spacing
        size = np.full(d, 14)
        some = _core.Grid(np.full(d, origin), size, spacing, degree)
        last = np.full(d, 14.0 - degree - 1 + below)
        last[-1] = 14 - lanes + below
        inside = origin + spacing * np.array([np.full(d, below + 1e-9), last, last + 1 - 1e-9])
        nodes = np.empty(size)
        _core.spread(_core.SortedPoints(some, inside, 1), None, nodes, 1)
        assert nodes.sum() == pytest.approx(3.0)
        for outside in (origin + spacing * (below - 0.01), origin + spacing * (last[-1] + 1.01)):
            with pytest.raises(ValueError, match="outside the grid"):
                _core.SortedPoints(some, np.full((1, d), outside), 1)


def test_cells_take_whatever_is_no_number():
    X = np.array([[np.nan, 0.0], [np.inf, 1e300], [-np.inf, -1e300], [0.2, 0.2]])
    assert _core.crowding(cells(), X, 1) >= 1.0
    _core.add_close_pairs(
        cells(), (STUDENT, np.ones(4)), X, None, True, np.zeros(4), np.zeros((4, 2)), 1
    )
