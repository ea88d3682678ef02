"""The approximate factorisation: exact on trees, elsewhere positive definite and near."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.sparse import block_diag, csr_matrix, diags, random_array
from scipy.sparse.linalg import LinearOperator, cg, eigsh
from sklearn.datasets import load_digits, make_blobs
from sklearn.neighbors import kneighbors_graph

from closeknit.linalg import ApproximateCholesky, canonical


def laplacian(W):
    W = csr_matrix(W)
    return csr_matrix(diags(np.asarray(W.sum(axis=1)).ravel()) - W)


def of_matrix(L, random_state=0, **options):
    """Factorise a Laplacian with something or nothing added to its diagonal."""
    L = csr_matrix(L)
    weights = csr_matrix(diags(L.diagonal()) - L)
    excess = np.asarray(L.sum(axis=1)).ravel()
    excess[np.abs(excess) < 1e-12 * L.diagonal()] = 0.0
    return ApproximateCholesky(weights, excess, random_state, **options)


def symmetric(n, edges):
    i, j, w = zip(*edges, strict=True)
    W = csr_matrix((w, (i, j)), shape=(n, n))
    return csr_matrix(W + W.T)


def path(weights):
    return symmetric(len(weights) + 1, [(i, i + 1, w) for i, w in enumerate(weights)])


def star(n):
    return symmetric(n, [(n // 2, i, 1.0 + i) for i in range(n) if i != n // 2])


def random_tree(n, rng):
    return symmetric(n, [(rng.integers(i), i, 10.0 ** rng.uniform(-3, 3)) for i in range(1, n)])


def complete(n):
    return csr_matrix(np.ones((n, n)) - np.eye(n))


def random_graph(n, rng, density=0.2):
    W = random_array((n, n), density=density, random_state=rng).tocsr()
    W.setdiag(0.0)
    W.eliminate_zeros()
    return csr_matrix(W + W.T)


def neighbour_graph(X, k, weight=lambda d: np.exp(-d / np.median(d))):
    G = kneighbors_graph(X, k, mode="distance")
    G.data = weight(G.data)
    return csr_matrix(G.maximum(G.T))


def product(factor):
    """F D Fᵀ in the order of the points, from the compiled factor's columns."""
    offsets, rows, values, pivots = factor._factor.columns()
    n = len(factor.order)
    shares = csr_matrix((values, rows, offsets), shape=(n, n)).toarray().T
    assert not np.triu(shares).any()
    F = np.eye(n) - shares
    out = np.empty((n, n))
    out[np.ix_(factor.order, factor.order)] = F * pivots @ F.T
    return out


SQUARE = np.random.default_rng(0).random((200, 2))
TREES = {
    "one edge": path([3.0]),
    "path": path(np.arange(1.0, 30.0)),
    "star": star(20),
    "random tree": random_tree(50, np.random.default_rng(0)),
}
GRAPHS = {
    **TREES,
    "complete": complete(40),
    "ring": symmetric(30, [(i, (i + 1) % 30, 2.0) for i in range(30)]),
    "random": random_graph(60, np.random.default_rng(1)),
    "neighbours": neighbour_graph(SQUARE, 8),
    "ties": neighbour_graph(SQUARE, 8, np.ones_like),
}


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("ridge", [0.0, 1e-6, 1.0])
def test_exact_on_trees(name, ridge):
    L = laplacian(TREES[name]) + ridge * csr_matrix(np.eye(TREES[name].shape[0]))
    factor = of_matrix(csr_matrix(L))
    assert factor.nnz == 2 * L.shape[0] - 1  # no fill at all
    np.testing.assert_allclose(product(factor), L.toarray(), rtol=1e-9, atol=1e-12 * abs(L).max())
    rhs = np.random.default_rng(0).normal(size=(L.shape[0], 2))
    exact = np.linalg.pinv(L.toarray(), hermitian=True) @ rhs
    np.testing.assert_allclose(factor.solve(rhs), exact, atol=1e-7 * abs(exact).max())


def test_exact_over_24_orders_of_magnitude():
    rng = np.random.default_rng(0)
    weights = 10.0 ** rng.uniform(-12, 12, size=40)
    factor = ApproximateCholesky(path(weights), np.r_[1.0, np.zeros(40)])
    L = laplacian(path(weights)).toarray() + np.diag(np.r_[1.0, np.zeros(40)])
    np.testing.assert_allclose(product(factor), L, rtol=1e-12, atol=0)
    # A unit of current from the last point to the ground: resistances in series.
    current = np.r_[np.zeros(40), 1.0]
    potential = 1.0 + np.r_[0.0, np.cumsum(1.0 / weights)]
    np.testing.assert_allclose(factor.solve(current), potential, rtol=1e-12)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("seed", [0, 1])
def test_symmetric_and_positive_definite(name, seed):
    W = GRAPHS[name]
    n = W.shape[0]
    factor = ApproximateCholesky(W, np.full(n, 0.01), random_state=seed)
    inverse = factor.solve(np.eye(n))
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12 * abs(inverse).max())
    assert np.linalg.eigvalsh(inverse).min() > 0
    np.testing.assert_allclose(inverse @ product(factor), np.eye(n), atol=1e-9)


@pytest.mark.parametrize("name", GRAPHS)
def test_constants_see_only_the_excess(name):
    """Row sums are kept exactly, not only in the mean: sampling moves weights, never the ground."""
    W = GRAPHS[name]
    excess = np.random.default_rng(0).random(W.shape[0])
    assembled = product(ApproximateCholesky(W, excess))
    assert abs(assembled.sum() - excess.sum()) < 1e-10 * abs(assembled).sum()


@pytest.mark.parametrize("name", GRAPHS)
def test_pseudo_inverse_of_a_singular_matrix(name):
    L = laplacian(GRAPHS[name])
    n = L.shape[0]
    inverse = of_matrix(L).solve(np.eye(n))
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12 * abs(inverse).max())
    np.testing.assert_allclose(inverse @ np.ones(n), 0.0, atol=1e-12 * abs(inverse).max())
    values = np.linalg.eigvalsh(inverse)
    assert abs(values[0]) < 1e-14 * n * values[-1]
    assert values[1] > 1e-10 * values[-1]


def condition(L, factor):
    """Condition number of the preconditioned L, by ARPACK's Lanczos iteration.

    Both have the same little excess, so that constants are eigenvectors with eigenvalue 1, which
    lies between the others.
    """
    n = L.shape[0]
    L = L + 1e-9 * diags(L.diagonal())
    offsets, rows, values, pivots = factor._factor.columns()
    shares = csr_matrix((values, rows, offsets), shape=(n, n)).T
    F = diags(np.ones(n)) - shares
    place = csr_matrix((np.ones(n), (factor.order, np.arange(n))), shape=(n, n))
    B = place @ F @ diags(pivots) @ F.T @ place.T
    operator = LinearOperator((n, n), matvec=factor.solve, dtype=float)
    start = np.random.default_rng(0).normal(size=n)
    extremes = [
        eigsh(L, 1, csr_matrix(B), Minv=operator, which=which, v0=start, tol=1e-3)[0][0]
        for which in ("LA", "SA")
    ]
    return extremes[0] / extremes[1]


@pytest.mark.parametrize(
    ("X", "k"),
    [
        (load_digits().data, 5),
        (load_digits().data, 10),
        (np.random.default_rng(0).random((3000, 2)), 8),
        (np.random.default_rng(0).normal(size=(3000, 20)), 10),
        (make_blobs(3000, 5, centers=1, random_state=0)[0], 15),
    ],
    ids=["digits, 5", "digits, 10", "square", "Gaussian in 20-d", "blob in 5-d"],
)
@pytest.mark.parametrize("weight", [np.ones_like, lambda d: np.exp(-3 * d / np.median(d))])
def test_condition_number(X, k, weight):
    W = neighbour_graph(X, k, weight)
    L = laplacian(W)
    factor = ApproximateCholesky(W, 1e-9 * L.diagonal())
    assert condition(L, factor) < 20
    earlier = ApproximateCholesky(reweighted(W), 1e-9 * L.diagonal())
    assert condition(L, ApproximateCholesky(W, 1e-9 * L.diagonal(), like=earlier)) < 20


def reweighted(W):
    """Return the same edges with other weights."""
    scale = np.exp(np.random.default_rng(0).normal(size=W.shape[0]))
    return csr_matrix(diags(scale) @ W @ diags(scale))


@pytest.mark.parametrize("name", ["complete", "neighbours", "ties", "random"])
def test_condition_number_densely(name):
    """The same by a dense generalised eigenproblem, where ARPACK cannot be wrong."""
    L = laplacian(GRAPHS[name]).toarray()
    n = len(L)
    centred = np.linalg.qr(np.c_[np.ones(n), np.random.default_rng(0).normal(size=(n, n - 1))])[0]
    Q = centred[:, 1:]
    factor = of_matrix(csr_matrix(L))
    values = eigh(Q.T @ L @ Q, Q.T @ product(factor) @ Q, eigvals_only=True)
    assert values[-1] / values[0] < 20


def test_mean_over_seeds_is_the_matrix():
    W = random_graph(7, np.random.default_rng(3), density=0.6)
    L = laplacian(W).toarray() + np.diag(np.arange(7.0))
    draws = np.array([product(ApproximateCholesky(W, np.arange(7.0), s)) for s in range(4000)])
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert error.max() > 1e-3  # there is something random about it
    assert (abs(draws.mean(axis=0) - L) <= 4.5 * error + 1e-12).all()


def splitmix64(seed, vertex):
    mask, step = 2**64 - 1, 0x9E3779B97F4A7C15

    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        return z ^ (z >> 31)

    state = mix((seed + step * (vertex + 1)) & mask)
    while True:
        state = (state + step) & mask
        yield (mix(state) >> 11) * 2.0**-53


def plain_elimination(W, excess, order, seed):
    """Return F D Fᵀ by the same draws, in dictionaries."""
    graph = [dict(zip(*(W[i].indices, W[i].data), strict=True)) for i in range(W.shape[0])]
    excess, L = np.array(excess, dtype=float), np.zeros(W.shape)
    for v in order:
        star = sorted((w, u) for u, w in graph[v].items())
        total = excess[v] + sum(w for w, _ in star)
        column = np.zeros(len(order))
        column[v] = 1.0
        for w, u in star:
            column[u] = -w / total
            excess[u] += w / total * excess[v]
            del graph[u][v]
        L += total * np.outer(column, column)
        draw = splitmix64(seed, int(v))
        for i, (w, u) in enumerate(star[:-1]):
            heavier = star[i + 1 :]
            tails = np.cumsum([x for x, _ in heavier][::-1])[::-1]
            _, other = heavier[np.flatnonzero(tails > next(draw) * tails[0])[-1]]
            for a, b in ((u, other), (other, u)):
                graph[a][b] = graph[a].get(b, 0.0) + w * tails[0] / total
    return L


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 12), st.integers(0, 2**32), st.booleans())
def test_against_a_plain_twin(n, seed, ties):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.7), 1)
    W = csr_matrix(np.ceil(2 * (W + W.T)) if ties else W + W.T)
    excess = rng.random(n) * (rng.random(n) < 0.5)
    factor = ApproximateCholesky(W, excess, random_state=seed)
    assert sorted(factor.order) == list(range(n))
    twin = plain_elimination(W, excess, factor.order, seed)
    if ties:  # sums in another order may break ties the other way
        twin_sum, own_sum = twin.sum(), product(factor).sum()
        assert abs(twin_sum - own_sum) < 1e-10
    else:
        np.testing.assert_allclose(product(factor), twin, atol=1e-10)


def test_fewest_neighbours_first():
    factor = of_matrix(laplacian(star(20)))
    assert 10 in factor.order[-2:]  # the hub, or tied with the last of its leaves
    lollipop = block_diag([complete(10), csr_matrix((10, 10))]).tolil()
    for i in range(9, 19):
        lollipop[i, i + 1] = lollipop[i + 1, i] = 1.0
    order = of_matrix(laplacian(lollipop)).order
    assert set(order[:10]) == set(range(10, 20))


def test_components_and_isolated_points():
    parts = [TREES["path"], csr_matrix((3, 3)), GRAPHS["neighbours"], TREES["random tree"]]
    W = csr_matrix(block_diag(parts))
    n = W.shape[0]
    label = np.repeat([0, 1, 2, 3, 4, 5], [30, 1, 1, 1, 200, 50])
    factor = of_matrix(laplacian(W))
    rhs = np.random.default_rng(0).normal(size=(n, 3))
    x = factor.solve(rhs)
    for c in range(6):
        assert abs(x[label == c].mean(axis=0)).max() < 1e-10
    np.testing.assert_array_equal(x[30:33], 0.0)
    for c in (0, 5):  # the trees are exact
        L = laplacian(W).toarray()[np.ix_(label == c, label == c)]
        exact = np.linalg.pinv(L, hermitian=True) @ rhs[label == c]
        np.testing.assert_allclose(x[label == c], exact, atol=1e-8 * abs(exact).max())


def test_some_components_are_grounded():
    W = csr_matrix(block_diag([TREES["path"], TREES["star"], csr_matrix((2, 2))]))
    excess = np.zeros(52)
    excess[[3, 50]] = 2.0, 4.0
    L = laplacian(W) + diags(excess)
    rhs = np.random.default_rng(0).normal(size=52)
    x = of_matrix(csr_matrix(L)).solve(rhs)
    np.testing.assert_allclose(x, np.linalg.pinv(L.toarray(), hermitian=True) @ rhs, atol=1e-8)
    assert x[50] == rhs[50] / 4.0


def test_wildly_different_weights():
    rng = np.random.default_rng(0)
    W = random_graph(200, rng, density=0.05)
    W.data = 10.0 ** rng.uniform(-12, 12, size=W.nnz)
    W = csr_matrix(W.maximum(W.T))
    for excess in (np.zeros(200), np.full(200, 1e-12)):
        factor = ApproximateCholesky(W, excess)
        shares = factor._factor.columns()[2]
        assert (shares >= 0).all()
        assert (shares <= 1).all()
        rhs = rng.normal(size=(200, 20))
        rhs -= rhs.mean(axis=0)
        x = factor.solve(rhs)
        assert np.isfinite(x).all()
        assert ((rhs * x).sum(axis=0) > 0).all()


@pytest.mark.parametrize("n", [0, 1, 2])
def test_hardly_any_points(n):
    L = csr_matrix(2.0 * np.eye(n) - (np.ones((n, n)) - np.eye(n)))
    factor = of_matrix(L)
    np.testing.assert_allclose(factor.solve(np.ones(n)), np.linalg.solve(L.toarray(), np.ones(n)))
    assert factor.solve(np.ones((n, 0))).shape == (n, 0)


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 7])
def test_columns_are_solved_one_by_one(columns):
    factor = of_matrix(laplacian(GRAPHS["neighbours"]))
    rhs = np.random.default_rng(0).normal(size=(200, columns))
    together = factor.solve(np.asfortranarray(rhs))
    for i in range(columns):
        np.testing.assert_allclose(factor.solve(rhs[:, i]), together[:, i], rtol=1e-12, atol=1e-12)


def test_same_seed_same_bits():
    W = GRAPHS["neighbours"]
    L = laplacian(W)
    rhs = np.random.default_rng(0).normal(size=(200, 2))
    x = of_matrix(L, random_state=7).solve(rhs)
    np.testing.assert_array_equal(of_matrix(L, random_state=7).solve(rhs), x)
    assert (of_matrix(L, random_state=8).solve(rhs) != x).any()
    with ThreadPoolExecutor(4) as pool:  # the work is done without the interpreter's lock
        for y in pool.map(lambda _: of_matrix(L, random_state=7).solve(rhs), range(8)):
            np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 9])
def test_columns_are_solved_alike_on_any_number_of_threads(d):
    L = laplacian(GRAPHS["neighbours"])
    rhs = np.random.default_rng(0).normal(size=(200, d))
    one, two, many = (of_matrix(L, n_jobs=n).solve(rhs) for n in (1, 2, 8))
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, many)
    for i in range(d):
        alone = of_matrix(L, n_jobs=1).solve(rhs[:, i])
        np.testing.assert_allclose(one[:, i], alone, rtol=1e-12, atol=1e-12)


def test_seeds():
    L = laplacian(GRAPHS["neighbours"])
    rhs = np.arange(200.0)
    of_graph = ApproximateCholesky(GRAPHS["neighbours"], np.zeros(200), random_state=3)
    np.testing.assert_array_equal(of_graph.solve(rhs), of_matrix(L, 3).solve(rhs))
    drawn = [of_matrix(L, np.random.RandomState(3)).solve(rhs) for _ in range(2)]
    np.testing.assert_array_equal(*drawn)
    assert (of_matrix(L, None).solve(rhs) != of_matrix(L, None).solve(rhs)).any()
    with pytest.raises(ValueError, match="random_state=-1 must be from 0"):
        of_matrix(L, -1)


def test_underflow_cuts_edges_but_nothing_else():
    """A point held fast by the ground joins its neighbours by 1e-200 · 1e-200 / 1e200 = 0."""
    factor = ApproximateCholesky(csr_matrix(1e-200 * complete(6)), np.full(6, 1e200))
    x = factor.solve(np.eye(6))
    np.testing.assert_allclose(x, 1e-200 * np.eye(6), atol=1e-300)
    np.testing.assert_array_equal(x, x.T)


def test_any_index_type_order_of_entries_and_duplicates():
    L = laplacian(GRAPHS["neighbours"])
    rhs = np.random.default_rng(0).normal(size=200)
    x = of_matrix(L).solve(rhs)
    wide = csr_matrix(L)
    wide.indptr, wide.indices = L.indptr.astype(np.int64), L.indices.astype(np.int64)
    np.testing.assert_array_equal(of_matrix(wide).solve(rhs), x)
    backwards = L[:, ::-1].tocsr()
    backwards.indices = (199 - backwards.indices).astype(np.int32)
    backwards.has_sorted_indices = backwards.has_canonical_format = False
    np.testing.assert_array_equal(of_matrix(backwards).solve(rhs), x)
    twice = csr_matrix(
        (np.repeat(L.data / 2, 2), np.repeat(L.indices, 2), 2 * L.indptr),
        shape=L.shape,
    )
    before = twice.data.copy()
    np.testing.assert_array_equal(of_matrix(twice).solve(rhs), x)
    np.testing.assert_array_equal(twice.data, before)


def test_refreshed_keeps_the_order_and_the_old_factor():
    W = GRAPHS["neighbours"]
    excess = np.full(200, 0.1)
    factor = ApproximateCholesky(W, excess)
    rhs = np.random.default_rng(0).normal(size=(200, 2))
    x = factor.solve(rhs)
    again = ApproximateCholesky(W, excess, like=factor)
    np.testing.assert_allclose(again.solve(rhs), x, rtol=1e-9)  # the same draws
    other = ApproximateCholesky(reweighted(W), 2 * excess, like=factor)
    np.testing.assert_array_equal(other.order, factor.order)
    np.testing.assert_array_equal(factor.solve(rhs), x)
    inverse = other.solve(np.eye(200))
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12)
    np.testing.assert_allclose(inverse @ product(other), np.eye(200), atol=1e-9)


def test_refreshed_on_another_pattern():
    factor = ApproximateCholesky(TREES["random tree"], np.ones(50))
    W = random_graph(50, np.random.default_rng(0))
    inverse = ApproximateCholesky(W, np.ones(50), like=factor).solve(np.eye(50))
    np.testing.assert_allclose(inverse, inverse.T, atol=1e-12)
    assert np.linalg.eigvalsh(inverse).min() > 0


def test_preconditions_conjugate_gradients():
    L = csr_matrix(laplacian(neighbour_graph(load_digits().data, 10)) + 1e-8 * diags(np.ones(1797)))
    factor = of_matrix(L)
    rhs = np.random.default_rng(0).normal(size=1797)
    rhs -= rhs.mean()
    count = {}
    for name, M in (("plain", None), ("ours", LinearOperator(L.shape, matvec=factor.solve))):
        steps = []
        x, info = cg(L, rhs, rtol=1e-8, M=M, callback=steps.append)
        assert info == 0
        count[name] = len(steps)
        np.testing.assert_allclose(L @ x, rhs, atol=1e-7 * np.linalg.norm(rhs))
    assert count["ours"] < 30 < count["plain"]


@pytest.mark.parametrize(
    ("weights", "excess", "message"),
    [
        (path([1.0]), [1.0], r"excess has shape \(1,\), but there are 2 points"),
        (path([1.0]), [0.0, -1.0], r"excess\[1\] is negative"),
        (path([1.0]), [np.inf, 1.0], r"excess\[0\] is negative or not finite"),
        (path([-1.0]), [1.0, 1.0], "weights must be finite and not negative"),
        (path([np.inf]), [1.0, 1.0], "weights must be finite and not negative"),
        (path([np.nan]), [1.0, 1.0], "weights must be finite and not negative"),
        (
            path([1e308] * 2),
            [0.0] * 3,
            "not negative, and their sum finite",
        ),
    ],
)
def test_refuses_bad_graphs(weights, excess, message):
    with pytest.raises(ValueError, match=message):
        ApproximateCholesky(weights, excess)


def test_canonical_weights_need_no_second_look():
    """The factor is the same without it, and what leads nowhere is refused all the same."""
    W = canonical(GRAPHS["neighbours"])
    one, other = (ApproximateCholesky(W, np.ones(200), check=check) for check in (True, False))
    rhs = np.random.default_rng(0).normal(size=(200, 2))
    assert one.solve(rhs).tobytes() == other.solve(rhs).tobytes()
    damaged = W.copy()
    damaged.indices[0] = 200
    with pytest.raises(ValueError, match="out of range"):
        ApproximateCholesky(damaged, np.ones(200), check=False)


def test_refuses_other_sizes():
    factor = of_matrix(laplacian(TREES["path"]))
    with pytest.raises(ValueError, match=r"rhs has shape \(3, 2\), but there are 30 points"):
        factor.solve(np.ones((3, 2)))
    with pytest.raises(ValueError, match="earlier factor do not match"):
        ApproximateCholesky(path([1.0]), [1.0, 1.0], like=factor)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="Windows has no interval timers")
def test_heeds_signals_while_factorising():
    """Handlers run during the compiled work, so that Ctrl-C ends it."""
    W = path(np.ones(1_500_000))
    handled = []
    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)
        from closeknit import _core

        _core.approximate_cholesky(_core.Graph(W), np.zeros(W.shape[0]), 0, None, None, 1)
        count = len(handled)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert count >= 4
