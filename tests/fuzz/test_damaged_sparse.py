"""Sparse matrices whose indices lead nowhere are refused by every function that takes one.

SciPy builds such matrices without complaint, and its compiled routines, like ours, trust them.
"""

import numpy as np
import pytest
import scipy.sparse as sp

import closeknit as ck
from closeknit import graphs, linalg, neighbors, objectives, plotting, quality
from closeknit.linalg import check_structure

N = 12


def ring(n=N):
    """Return a symmetric graph in which each point has four neighbours."""
    i = np.arange(n)
    rows, columns = np.repeat(i, 4), ((i[:, None] + [1, 2, n - 2, n - 1]) % n).ravel()
    return sp.csr_matrix((1.0 + rows * columns % 7, (rows, columns)), shape=(n, n))


def set_entry(name, place, value):
    def damage(W):
        changed = getattr(W, name).copy()
        changed[place] = value
        setattr(W, name, changed)

    return damage


def shorten(name):
    def damage(W):
        setattr(W, name, getattr(W, name)[:-5].copy())

    return damage


def lengthen_last_row(W):
    W.indptr = W.indptr.copy()
    W.indptr[-1] += 10**8


def convert(name, kind):
    def damage(W):
        setattr(W, name, getattr(W, name).astype(kind))

    return damage


HUGE = 2**31 - 1
DAMAGES = {
    "column far away": set_entry("indices", 3, HUGE),
    "column just outside": set_entry("indices", -1, N),
    "column negative": set_entry("indices", 0, -1),
    "column very negative": set_entry("indices", 7, -HUGE),
    "pointer far away": set_entry("indptr", 5, HUGE),
    "pointer negative": set_entry("indptr", 5, -HUGE),
    "pointer descends": set_entry("indptr", 4, 40),
    "pointer begins late": set_entry("indptr", 0, 2),
    "last pointer too far": lengthen_last_row,
    "last pointer the least number": set_entry("indptr", -1, -(2**31)),
    "pointers without sign": convert("indptr", np.uint64),
    "pointers that are no integers": convert("indptr", np.float64),
    "columns of one byte": convert("indices", np.uint8),
    "too few indices": shorten("indices"),
    "too few values": shorten("data"),
    "too few pointers": shorten("indptr"),
}


def damaged(damage, kind="csr"):
    W = ring().asformat(kind)
    DAMAGES[damage](W)
    return W


def damaged_coo(name, value):
    W = ring().tocoo()
    getattr(W, name)[3] = value
    return W


def damaged_coo_length():
    W = ring().tocoo()
    W.row = W.row[:-1]
    return W


def damaged_lil(columns):
    W = ring().tolil()
    W.rows[3] = columns
    return W


def damaged_dia():
    W = ring().todia()
    W.offsets = np.arange(50)
    return W


MATRICES = {
    **{f"csr, {name}": (lambda name=name: damaged(name)) for name in DAMAGES},
    **{f"csc, {name}": (lambda name=name: damaged(name, "csc")) for name in DAMAGES},
    **{f"bsr, {name}": (lambda name=name: damaged(name, "bsr")) for name in DAMAGES},
    "coo, row": lambda: damaged_coo("row", HUGE),
    "coo, column": lambda: damaged_coo("col", -5),
    "coo, one row too few": damaged_coo_length,
    "lil, column": lambda: damaged_lil([1, 2, 4, HUGE]),
    "lil, a list too long": lambda: damaged_lil([1, 2, 4, 5, 6, 7]),
    "dia, more offsets than diagonals": damaged_dia,
}

Y = np.random.default_rng(0).normal(size=(N, 2))
LABELS = np.array([0, 1] * 2 + [-1] * (N - 4))
FEW = {"perplexity": 2.0, "n_neighbors": 4}


def query(X):
    return neighbors.ExactIndex().fit(sp.csr_matrix(np.eye(N))).query(X, 2)


def transform(X):
    model = ck.TSNE(max_iter=3, **FEW).fit(ring())
    return model.transform(X)


#: Everything public that takes data, distances, neighbours or weights as a sparse matrix.
TAKERS = {
    # data
    "entropic_affinities": lambda X: ck.entropic_affinities(X, **FEW),
    "EntropicAffinities": lambda X: ck.EntropicAffinities(**FEW).fit(X),
    "FixedAffinities": lambda X: ck.affinities.FixedAffinities(rank=2, n_neighbors=4).fit(X),
    "find_neighbors": lambda X: neighbors.find_neighbors(X, 3),
    "find_neighbors cosine": lambda X: neighbors.find_neighbors(X, 3, metric="cosine"),
    "find_neighbors manhattan": lambda X: neighbors.find_neighbors(X, 3, metric="manhattan"),
    "query": query,
    "TSNE": lambda X: ck.TSNE(max_iter=3, **FEW).fit(X),
    "SNE": lambda X: ck.SNE(max_iter=3, **FEW).fit(X),
    "LaplacianEigenmaps": lambda X: ck.LaplacianEigenmaps(**FEW).fit(X),
    "transform": transform,
    "SpectralClustering": lambda X: ck.SpectralClustering(2, **FEW).fit(X),
    "LabelPropagation": lambda X: ck.LabelPropagation(**FEW).fit(X, LABELS),
    "LabelSpreading": lambda X: ck.LabelSpreading(**FEW).fit(X, LABELS),
    "MeanShift": lambda X: ck.MeanShift(**FEW).fit(X),
    "EntropicSparsifier": lambda X: graphs.EntropicSparsifier(threshold=0.1, **FEW).fit(X),
    "KNNSparsifier": lambda X: graphs.KNNSparsifier(2).fit(X),
    "neighbor_recall": lambda X: quality.neighbor_recall(X, Y, 3),
    "trustworthiness": lambda X: quality.trustworthiness(X, Y, 3),
    "knn_accuracy": lambda X: quality.knn_accuracy(X, np.arange(N) % 2, 3),
    # distances and neighbours
    "precomputed distances": lambda D: ck.EntropicAffinities(metric="precomputed", **FEW).fit(D),
    "PrecomputedIndex": lambda D: neighbors.PrecomputedIndex().fit(D),
    "precomputed query": lambda D: neighbors.PrecomputedIndex().fit(ring()).query(D, 2),
    "Neighbors.from_graph": lambda D: neighbors.Neighbors.from_graph(D),
    "precomputed recall": lambda D: quality.neighbor_recall(D, Y, 3, metric="precomputed"),
    "solve_bandwidths": lambda D: ck.solve_bandwidths(D, 2.0),
    "bandwidth_bounds": lambda D: ck.bandwidth_bounds(D, 2.0),
    # weights
    "precomputed TSNE": lambda W: ck.TSNE(affinity="precomputed", max_iter=3).fit(W),
    "precomputed SNE": lambda W: ck.SNE(affinity="precomputed", max_iter=3).fit(W),
    "precomputed eigenmaps": lambda W: ck.LaplacianEigenmaps(affinity="precomputed").fit(W),
    "precomputed transform": lambda W: (
        ck.TSNE(affinity="precomputed", max_iter=3).fit(ring()).transform(W)
    ),
    "precomputed clustering": lambda W: ck.SpectralClustering(2, affinity="precomputed").fit(W),
    "precomputed labels": lambda W: ck.LabelPropagation(affinity="precomputed").fit(W, LABELS),
    "ResistanceSparsifier": lambda W: graphs.ResistanceSparsifier(9, input="affinities").fit(W),
    "ViewerSparsifier": lambda W: graphs.ViewerSparsifier(3, votes=1, input="affinities").fit(W),
    "KNNSparsifier of weights": lambda W: graphs.KNNSparsifier(2, input="affinities").fit(W),
    "symmetrize": graphs.symmetrize,
    "laplacian": graphs.laplacian,
    "compare": lambda W: graphs.compare({"a": ring(), "b": W}),
    "connected_components": graphs.connected_components,
    "degrees": graphs.degrees,
    "effective_resistances": graphs.effective_resistances,
    "sparsity": graphs.sparsity,
    "spectrum_distance": lambda W: graphs.spectrum_distance(ring(), W),
    "laplacian_distance": lambda W: graphs.laplacian_distance(ring(), W, n_eigenvectors=3),
    "graph_eigenvectors": lambda W: linalg.graph_eigenvectors(W, 2),
    "canonical": linalg.canonical,
    "check_weights": linalg.check_weights,
    "objectives.TSNE": objectives.TSNE,
    "objectives.SNE": objectives.SNE,
    "repulsive weights": lambda W: objectives.ElasticEmbedding(ring(), repulsive_weights=W),
    "plot_affinities": plotting.plot_affinities,
}
#: Those that take no sparse matrix after all.
DENSE = ["MeanShift", "solve_bandwidths", "bandwidth_bounds"]


@pytest.mark.parametrize("taker", TAKERS)
def test_damaged_matrices_are_refused(taker):
    for make in MATRICES.values():
        with pytest.raises(ValueError, match=r"of shape .* is damaged: "):
            TAKERS[taker](make())


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@pytest.mark.parametrize("taker", [name for name in TAKERS if name not in DENSE])
def test_arrays_with_gaps_are_whole(taker):
    """SciPy leaves slices such as ``data[::2]`` in a matrix; compiled code wants none."""
    W = ring()
    for name in ("indptr", "indices", "data"):
        setattr(W, name, np.repeat(getattr(W, name), 2)[::2])
    assert not W.data.flags.c_contiguous
    TAKERS[taker](W)


@pytest.mark.parametrize("taker", DENSE[1:])
def test_rows_of_distances_are_dense(taker):
    with pytest.raises(TypeError, match="sq_distances must be dense"):
        TAKERS[taker](ring())


@pytest.mark.parametrize("kind", ["csr", "csc", "bsr", "coo", "lil", "dia", "dok"])
def test_whole_ones_pass_in_every_format(kind):
    check_structure(ring().asformat(kind))
    check_structure(sp.csr_matrix((3, 4)).asformat(kind))


def test_a_sparse_vector_is_no_matrix():
    with pytest.raises(ValueError, match=r"must have two dimensions, got shape \(3,\)"):
        check_structure(sp.coo_array(np.ones(3)))


@pytest.mark.parametrize("taker", TAKERS)
def test_more_points_or_features_than_32_bits_can_number(taker):
    """Refused before anything is copied; the arrays here are views of one number."""
    wide = sp.coo_matrix(([1.0], ([0], [2**31])), shape=(N, 2**31 + 1))
    tall = sp.coo_matrix((2**31, 3))
    for X in (wide, tall, np.broadcast_to(np.zeros((1, 1)), (2**31, 3))):
        with pytest.raises((ValueError, TypeError), match=r"too large|sparse graph of distances"):
            TAKERS[taker](X)
