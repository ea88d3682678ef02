"""Inputs of every kind × public functions: a clear error or a right answer, and inputs intact."""

import re
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import closeknit as ck
from closeknit import graphs, linalg, neighbors, objectives, plotting, quality
from closeknit.exceptions import CloseknitError, CloseknitWarning
from closeknit.kernels import STUDENT
from closeknit.repulsion import ExactRepulsion, GridRepulsion

N = 24
RNG = np.random.default_rng(15)
#: A third of a number is in single precision, so that no form of the data needs rounding.
POINTS = RNG.integers(-64, 65, size=(N, 3)) / 8.0
#: Symmetric with an empty diagonal: data, distances and weights.
SQUARE = np.abs(POINTS[:, None, 0] - POINTS[None, :, 0]) + 0.125 * (1.0 - np.eye(N))
LABELS = np.array([0, 1] * 3 + [-1] * (N - 6))
FEW = {"perplexity": 2.0, "n_neighbors": 5}


# The same numbers in other forms: the answer is the same, or the form is refused.


def strided(X):
    twice = np.zeros((2 * len(X), 2 * X.shape[1]))
    twice[::2, ::2] = X
    return twice[::2, ::2]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def swapped(X):
    return X.astype(X.dtype.newbyteorder())


FORMS = {
    "list": lambda X: X.tolist(),
    "tuple": lambda X: tuple(map(tuple, X.tolist())),
    "fortran": np.asfortranarray,
    "strided": strided,
    "reversed": lambda X: X[::-1].copy()[::-1],
    "read-only": read_only,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "other byte order": swapped,
    "objects": lambda X: X.astype(object),
    "matrix": np.matrix,
    "frame": pd.DataFrame,
    "masked, nothing masked": np.ma.masked_array,
    "csr": sp.csr_matrix,
    "csr_array": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "lil": sp.lil_matrix,
    "64-bit indices": lambda X: _wide(sp.csr_matrix(X)),
    "float32 csr": lambda X: sp.csr_matrix(X.astype(np.float32)),
}


def _wide(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


# Numbers that are hard or mean nothing: an error, or an answer that is finite.


def with_entry(value, dtype=float):
    def make(X):
        X = X.astype(dtype)
        X[3, 1] = X[1, 3 % X.shape[1]] = value
        return X

    return make


def unsorted(X):
    W = sp.csr_matrix(X)
    for a, b in zip(W.indptr, W.indptr[1:], strict=False):
        W.indices[a:b], W.data[a:b] = W.indices[a:b][::-1].copy(), W.data[a:b][::-1].copy()
    W.has_sorted_indices = False
    return W


def duplicated(X):
    W = sp.coo_matrix(X)
    double = [np.tile(part, 2) for part in (W.row, W.col)]
    return sp.coo_matrix((np.tile(W.data / 2, 2), double), shape=X.shape)


HARD = {
    "NaN": with_entry(np.nan),
    "inf": with_entry(np.inf),
    "minus inf": with_entry(-np.inf),
    "one of 1e300": with_entry(1e300),
    "one of 1e150": with_entry(1e150),
    "one of 1e30": with_entry(1e30),
    "one of -1e30": with_entry(-1e30),
    "one subnormal": with_entry(5e-324),
    "NaN in float32": with_entry(np.nan, np.float32),
    "1e38 in float32": with_entry(1e38, np.float32),
    "all 1e300": lambda X: X * 1e300,
    "all 1e152": lambda X: X * 1e152,
    "all 1e-152": lambda X: X * 1e-152,
    "all 1e-200": lambda X: X * 1e-200,
    "all subnormal": lambda X: X * 1e-320,
    "far away": lambda X: X + 1e12,
    "negative": lambda X: -np.abs(X) - 1.0,
    "zeros": np.zeros_like,
    "ones": np.ones_like,
    "minus zeros": lambda X: -np.zeros_like(X),
    "two groups": lambda X: np.sign(X),
    "all rows equal": lambda X: np.tile(X[:1], (len(X), 1)),
    "half the rows equal": lambda X: np.where(np.arange(len(X))[:, None] % 2, X, X[:1]),
    "bool": lambda X: X > 0,
    "int8": lambda X: (X * 8).astype(np.int8),
    "int64": lambda X: (X * 1e15).astype(np.int64),
    "uint64": lambda X: np.full(X.shape, 2**64 - 1, dtype=np.uint64),
    "complex": lambda X: X + 1j,
    "text": lambda X: X.astype(str),
    "words": lambda X: np.full(X.shape, "word"),
    "bytes": lambda X: X.astype("S8"),
    "dates": lambda X: X.astype("timedelta64[s]") + np.datetime64("2020-01-01"),
    "structured": lambda X: np.zeros(X.shape, dtype=[("a", float), ("b", int)]),
    "objects with None": with_entry(None, object),
    "objects with text": with_entry("x", object),
    "masked": lambda X: np.ma.masked_less(X, 0.0),
    "frame with text": lambda X: pd.DataFrame(X).assign(extra="word"),
    "frame with gaps": lambda X: pd.DataFrame(with_entry(np.nan)(X)),
    "empty": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "nothing": lambda X: X[:0, :0],
    "one row": lambda X: X[:1],
    "two rows": lambda X: X[:2],
    "three rows": lambda X: X[:3],
    "one column": lambda X: X[:, :1],
    "a vector": lambda X: X[:, 0],
    "a number": lambda X: 3.0,
    "three dimensions": lambda X: X[:, :, None],
    "four dimensions": lambda X: X[None, :, :, None],
    "ragged": lambda X: [[1.0, 2.0], [3.0]],
    "None": lambda X: None,
    "a word": lambda X: "word",
    "a dictionary": lambda X: {"a": X},
    "a set": lambda X: {1.0, 2.0},
    "an object": lambda X: object(),
    "a generator": lambda X: (row for row in X),
    "a function": lambda X: np.sin,
    "csr with NaN": lambda X: sp.csr_matrix(with_entry(np.nan)(X)),
    "csr with inf": lambda X: sp.csr_matrix(with_entry(np.inf)(X)),
    "csr of integers": lambda X: sp.csr_matrix((X * 8).astype(int)),
    "csr of complex": lambda X: sp.csr_matrix(X + 1j),
    "csr of bool": lambda X: sp.csr_matrix(X > 0),
    "csr without entries": lambda X: sp.csr_matrix(X.shape),
    "csr of no rows": lambda X: sp.csr_matrix((0, X.shape[1])),
    "csr unsorted": unsorted,
    "entries twice": duplicated,
}
INPUTS = {**FORMS, **HARD}


def fit(model, *more, **options):
    def run(X):
        estimator = model(**options).fit(X, *more)
        names = ("embedding_", "labels_", "label_distributions_", "graph_", "affinities_")
        return [getattr(estimator, name) for name in names if hasattr(estimator, name)]

    return run


def transform(model, **options):
    fitted = cache(lambda: model(**options).fit(POINTS))
    return lambda X: fitted().transform(X)


def sums(repulsion):
    def run(X):
        found = repulsion.sums(X, STUDENT)
        return found.value, found.force

    return run


def listed(found):
    return found.indices, found.sq_distances


def drawn(plot):
    def run(X):
        import matplotlib.pyplot as plt

        plot(X)
        plt.close("all")

    return run


def gradient(objective):
    def run(W):
        value, found = objective(W).value_and_gradient(POINTS[:, :2], 1.0)
        return float(value), found

    return run


QUICK = {"max_iter": 3, "random_state": 0, "init": "random"}
SPARSE = {"input": "affinities", "random_state": 0}
GIVEN = {"affinity": "precomputed"}
DISTANCES = {"metric": "precomputed", **FEW}


def of_sample(function, **options):
    """Functions of one column of numbers; what cannot be made one is passed as it is."""
    return lambda X: function(X.ravel() if hasattr(X, "ravel") else X, **options)


OF_POINTS = {
    "entropic_affinities": lambda X: ck.entropic_affinities(X, **FEW),
    "EntropicAffinities": fit(ck.EntropicAffinities, **FEW),
    "EntropicAffinities of all": fit(ck.EntropicAffinities, perplexity=2.0, n_neighbors=None),
    "EntropicAffinities approximate": fit(ck.EntropicAffinities, neighbors="approximate", **FEW),
    "EntropicAffinities.transform": transform(ck.EntropicAffinities, **FEW),
    "FixedAffinities": fit(ck.affinities.FixedAffinities, rank=2, n_neighbors=4),
    "find_neighbors": lambda X: listed(neighbors.find_neighbors(X, 3)),
    "find_neighbors, sketch": lambda X: listed(
        neighbors.ExactIndex(algorithm="sketch").fit(X).self_neighbors(3)
    ),
    "find_neighbors, cosine": lambda X: listed(neighbors.find_neighbors(X, 3, metric="cosine")),
    "find_neighbors, inner product": lambda X: listed(
        neighbors.find_neighbors(X, 3, metric="inner_product")
    ),
    "find_neighbors, manhattan": lambda X: listed(
        neighbors.find_neighbors(X, 3, metric="manhattan")
    ),
    "query": lambda X: listed(neighbors.ExactIndex().fit(POINTS).query(X, 3)),
    "approximate query": lambda X: listed(neighbors.ApproximateIndex().fit(POINTS).query(X, 3)),
    "TSNE": fit(ck.TSNE, **QUICK, **FEW),
    "TSNE.transform": transform(ck.TSNE, **QUICK, **FEW),
    "SymmetricSNE": fit(ck.SymmetricSNE, **QUICK, **FEW),
    "SNE": fit(ck.SNE, **QUICK, **FEW),
    "ElasticEmbedding": fit(ck.ElasticEmbedding, **QUICK, **FEW),
    "TElasticEmbedding": fit(ck.TElasticEmbedding, **QUICK, **FEW),
    "LaplacianEigenmaps": fit(ck.LaplacianEigenmaps, **FEW),
    "LaplacianEigenmaps.transform": transform(ck.LaplacianEigenmaps, **FEW),
    "SpectralClustering": fit(ck.SpectralClustering, n_clusters=2, random_state=0, **FEW),
    "LabelPropagation": fit(ck.LabelPropagation, LABELS, **FEW),
    "LabelSpreading": fit(ck.LabelSpreading, LABELS, **FEW),
    "MeanShift": fit(ck.MeanShift, **FEW),
    "EntropicSparsifier": fit(graphs.EntropicSparsifier, threshold=0.1, **FEW),
    "KNNSparsifier": fit(graphs.KNNSparsifier, n_neighbors=2),
    "ViewerSparsifier": fit(graphs.ViewerSparsifier, n_viewers=3, votes=1, random_state=0, **FEW),
    "ResistanceSparsifier": fit(
        graphs.ResistanceSparsifier, n_edges=9, n_projections=5, random_state=0, **FEW
    ),
    "neighbor_recall": lambda X: quality.neighbor_recall(X, POINTS[:, :2], 3),
    "trustworthiness": lambda X: quality.trustworthiness(X, POINTS[:, :2], 3),
    "knn_accuracy": lambda X: quality.knn_accuracy(X, np.arange(N) % 2, 3),
    "find_modes": of_sample(graphs.find_modes),
    "silverman_bandwidth": of_sample(graphs.silverman_bandwidth),
    "dip_statistic": of_sample(graphs.dip_statistic),
    "dip_modes": of_sample(graphs.dip_modes, n_samples=20),
}
OF_MAPS = {
    "neighbor_recall of a map": lambda Y: quality.neighbor_recall(POINTS, Y, 3),
    "init": lambda Y: ck.TSNE(init=Y, max_iter=3, **FEW).fit(POINTS).embedding_,
    "plot_embedding": drawn(plotting.plot_embedding),
}
#: Sums that minimisers take along their way: NaN in, NaN out.
OF_SUMS = {"ExactRepulsion": sums(ExactRepulsion()), "GridRepulsion": sums(GridRepulsion(0.01))}
OF_IMAGES = {
    "pixel_features": ck.apps.pixel_features,
    "image_affinities": lambda X: ck.image_affinities(X, perplexity=2.0, n_neighbors=5),
    "segment_image": lambda X: ck.segment_image(X, 2, perplexity=2.0, random_state=0),
}
OF_SQUARES = {
    "distances": fit(ck.EntropicAffinities, **DISTANCES),
    "all distances": fit(
        ck.EntropicAffinities, metric="precomputed", perplexity=2.0, n_neighbors=None
    ),
    "PrecomputedIndex": lambda D: listed(neighbors.PrecomputedIndex().fit(D).self_neighbors(3)),
    "Neighbors.from_distances": lambda D: listed(neighbors.Neighbors.from_distances(D, 3)),
    "recall of distances": lambda D: quality.neighbor_recall(
        D, POINTS[:, :2], 3, metric="precomputed"
    ),
    "solve_bandwidths": lambda D: ck.solve_bandwidths(D, 2.0).affinities,
    "bandwidth_bounds": lambda D: np.nan_to_num(ck.bandwidth_bounds(D, 2.0)),  # NaN: no root
    "entropy_derivatives": lambda D: ck.affinities.entropy_derivatives(D, 0.0),
    "TSNE of weights": fit(ck.TSNE, **QUICK, **GIVEN),
    "SNE of weights": fit(ck.SNE, **QUICK, **GIVEN),
    "ElasticEmbedding of weights": fit(ck.ElasticEmbedding, **QUICK, **GIVEN),
    "repulsive weights": fit(ck.ElasticEmbedding, lam=1.0, **QUICK, **GIVEN),
    "eigenmaps of weights": fit(ck.LaplacianEigenmaps, **GIVEN),
    "clusters of weights": fit(ck.SpectralClustering, n_clusters=2, random_state=0, **GIVEN),
    "labels of weights": fit(ck.LabelPropagation, LABELS, **GIVEN),
    "ResistanceSparsifier of weights": fit(
        graphs.ResistanceSparsifier, n_edges=9, n_projections=5, **SPARSE
    ),
    "ViewerSparsifier of weights": fit(graphs.ViewerSparsifier, n_viewers=3, votes=1, **SPARSE),
    "KNNSparsifier of weights": fit(graphs.KNNSparsifier, n_neighbors=2, input="affinities"),
    "symmetrize": graphs.symmetrize,
    "laplacian": graphs.laplacian,
    "sparsity": lambda W: np.nan_to_num(graphs.sparsity(W)),  # NaN: fewer than two points
    "connected_components": graphs.connected_components,
    "degrees": lambda W: graphs.degrees(W).mean_weight,
    "effective_resistances": lambda W: graphs.effective_resistances(
        W, n_projections=5, random_state=0
    ),
    "spectrum_distance": lambda W: graphs.spectrum_distance(SQUARE, W),
    "laplacian_distance": lambda W: graphs.laplacian_distance(SQUARE, W, n_eigenvectors=3),
    "graph_eigenvectors": lambda W: linalg.graph_eigenvectors(W, 2).vectors,
    "objectives.TSNE": gradient(objectives.TSNE),
    "objectives.SNE": gradient(objectives.SNE),
    "objectives.ElasticEmbedding": gradient(objectives.ElasticEmbedding),
    "plot_affinities": drawn(plotting.plot_affinities),
}
FUNCTIONS = {
    **{name: (run, POINTS) for name, run in OF_POINTS.items()},
    **{name: (run, SQUARE) for name, run in OF_SQUARES.items()},
    **{name: (run, POINTS[:, :2]) for name, run in {**OF_MAPS, **OF_SUMS}.items()},
    **{name: (run, np.abs(POINTS[:, :2]) / 8.0) for name, run in OF_IMAGES.items()},
}
#: What NumPy, SciPy and Python say when something inside went wrong.
INTERNAL = re.compile(
    r"broadcast|out of bounds|element with a sequence\.$|unsupported operand|not subscriptable|"
    r"has no attribute|zero-size array|unhashable|NoneType|ARPACK|SuperLU|LinAlg|axis \d|"
    r"incompatible function arguments|buffer|not iterable|reduction operation"
)


def snapshot(X):
    """What an input is made of, to the byte."""
    if sp.issparse(X):
        coordinates = X if X.format in ("csr", "csc", "coo") else X.tocoo()
        names = ("data", "indices", "indptr", "row", "col")
        parts = [getattr(coordinates, name) for name in names if hasattr(coordinates, name)]
        return [(part.dtype.str, part.tobytes()) for part in parts]
    if isinstance(X, pd.DataFrame):
        return X.to_csv()
    if isinstance(X, np.ndarray):
        return X.dtype.str, X.shape, repr(X.tolist()) if X.dtype == object else X.tobytes()
    return repr(X) if isinstance(X, list | tuple | str | float | set) else None


def flat(result):
    """All arrays in a result, dense."""
    if result is None:
        return []
    if sp.issparse(result):
        return [result.toarray()]
    if isinstance(result, tuple | list):
        return [array for part in result for array in flat(part)]
    return [np.asarray(result)]


def attempt(function, X):
    """Return the arrays of the answer, or the error if the input is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no RuntimeWarning from within
        for allowed in (CloseknitWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", allowed)
        try:
            return flat(function(X))
        except (ValueError, TypeError, CloseknitError) as error:
            return error


def check(name, kind):
    function, data = FUNCTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # of np.matrix
        X = INPUTS[kind](data)
    before = snapshot(X)
    found = attempt(function, X)
    assert snapshot(X) == before
    if isinstance(found, Exception):
        assert len(str(found)) > 15
        assert not INTERNAL.search(str(found))
        return "refused"
    for array in found:
        assert array.dtype != object
        assert name in OF_SUMS or not (array.dtype.kind == "f" and np.isnan(array).any())
    if kind in FORMS:
        for array, expected in zip(found, attempt(function, data), strict=True):
            error = 1e-6 * np.abs(expected).max(initial=0.0)
            np.testing.assert_allclose(array, expected, rtol=1e-6, atol=error)
    return "answered"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inputs(name, rounds):
    """A sample of the inputs; in long runs (--fuzz-rounds 200) all of them."""
    rng = np.random.default_rng(list(map(ord, name)))
    assert isinstance(attempt(*FUNCTIONS[name]), list)
    outcomes = []
    for kind in rng.permutation(list(INPUTS))[: max(1, rounds // 2)]:
        try:
            outcomes.append(check(name, kind))
        except Exception as error:
            raise AssertionError(f"{name} of {kind}: {error!r}") from error
    print(f"{name}: {outcomes.count('refused')} refused, {outcomes.count('answered')} answered")
