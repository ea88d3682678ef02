"""Parameters, affinities and data as people know them from other programs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.manifold import TSNE as SklearnTSNE
from sklearn.neighbors import kneighbors_graph

import closeknit as ck

X = load_iris().data


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ({"early_exaggeration": 4}, {"exaggeration": 4}),
        ({"n_iter": 300}, {"max_iter": 300}),
        ({"n_epochs": 300}, {"max_iter": 300}),
        ({"method": "exact"}, {"repulsion": "exact"}),
        ({"method": "barnes_hut"}, {"repulsion": "auto"}),
        ({"negative_gradient_method": "fft"}, {"repulsion": "auto"}),
        ({"initialization": "spectral"}, {"init": "eigenmaps"}),
        ({"initialization": "pca"}, {"init": "pca"}),
        ({"k_neighbors": 60}, {"n_neighbors": 60}),
        ({"learning_rate": "auto"}, {}),
    ],
)
def test_what_has_a_meaning_is_taken(theirs, ours):
    given, expected = ck.TSNE(**theirs), ck.TSNE(**ours)
    assert given.get_params() == expected.get_params()
    assert clone(given).get_params() == expected.get_params()


@pytest.mark.parametrize("name", sorted(SklearnTSNE().get_params()))
def test_parameters_of_scikit_learn_are_understood_or_answered(name):
    value = SklearnTSNE().get_params()[name]
    if name in ("angle", "min_grad_norm", "n_iter_without_progress"):
        with pytest.raises(TypeError, match=f"TSNE has no {name}: .*pass "):
            ck.TSNE(**{name: value})
    else:
        ck.TSNE(**{name: value})


@pytest.mark.parametrize(
    ("theirs", "words"),
    [
        ({"learning_rate": 200}, r"Momentum\(rate="),
        ({"angle": 0.5}, r"GridRepulsion\(accuracy="),
        ({"theta": 0.5}, r"repulsion='exact'"),
        ({"min_grad_norm": 1e-7}, "tol="),
        ({"n_iter_without_progress": 300}, "tol="),
        ({"early_exaggeration_iter": 250}, r"exaggeration=\(\(12, 250\),\)"),
        ({"callbacks": print}, "callback="),
        ({"min_dist": 0.1}, "dof="),
    ],
)
def test_the_rest_is_answered_by_what_takes_its_place(theirs, words):
    with pytest.raises(TypeError, match=words):
        ck.TSNE(**theirs)


def test_two_names_for_one_parameter():
    with pytest.raises(TypeError, match="n_iter is max_iter here; give one of them"):
        ck.TSNE(n_iter=300, max_iter=400)


def test_unknown_names_are_still_refused():
    with pytest.raises(TypeError, match="nonsense"):
        ck.TSNE(nonsense=1)


def test_declared_parameters_are_ours_alone():
    names = ck.TSNE().get_params()
    assert not {"n_iter", "early_exaggeration", "method", "learning_rate"} & set(names)
    with pytest.raises(ValueError, match="Invalid parameter"):
        ck.TSNE().set_params(n_iter=3)


@pytest.mark.parametrize(
    ("exaggeration", "lams"),
    [
        ("auto", [1 / 12, 1 / 6, 1 / 3, 1 / 1.5, 1 / 1.1, 1.0]),
        (12, [1 / 12, 1 / 6, 1 / 3, 1 / 1.5, 1 / 1.1, 1.0]),
        (4.0, [1 / 4, 1 / 3, 1 / 1.5, 1 / 1.1, 1.0]),
        (1.2, [1 / 1.2, 1 / 1.1, 1.0]),
        (1, [1.0]),
        (None, [1.0]),
        ((), [1.0]),
        ([(8, 3)], [1 / 8, 1.0]),
    ],
)
def test_exaggeration_is_what_a_reader_thinks(exaggeration, lams):
    tsne = ck.TSNE(exaggeration=exaggeration, max_iter=2, random_state=0).fit(X)
    np.testing.assert_allclose(tsne.path_.lams, lams)


@pytest.mark.parametrize("exaggeration", [0.5, -3, "much", True, [(1, 20)]])
def test_other_exaggerations_are_refused(exaggeration):
    with pytest.raises(ValueError, match=r"exaggeration=.*'auto', a factor above 1, None"):
        ck.TSNE(exaggeration=exaggeration).fit(X)


class Affinities:
    """What openTSNE's affinity objects have: P, and a way to new points."""

    def __init__(self, X):
        self.ours = ck.EntropicAffinities(20).fit(X)
        P = ck.graphs.symmetrize(self.ours.affinities_)
        self.P = P / P.sum()

    def to_new(self, X):
        return self.ours.transform(X)


def test_affinities_of_opentsne():
    given = ck.TSNE(affinity=Affinities(X[:140]), max_iter=20, init="pca", random_state=0)
    ours = ck.TSNE(perplexity=20, max_iter=20, init="pca", random_state=0).fit(X[:140])
    np.testing.assert_allclose(given.fit_transform(X[:140]), ours.embedding_, rtol=1e-6)
    np.testing.assert_allclose(given.transform(X[140:142]), ours.transform(X[140:142]), rtol=1e-5)


def test_affinities_of_other_points():
    with pytest.raises(ValueError, match="holds 140 points, but X 150"):
        ck.TSNE(affinity=Affinities(X[:140])).fit(X)


@pytest.mark.parametrize(
    "estimator", [ck.TSNE(), ck.EntropicAffinities(), ck.SpectralClustering(2), ck.MeanShift()]
)
def test_an_anndata_is_refused_at_once(estimator):
    anndata = pytest.importorskip("anndata")
    with pytest.raises(TypeError, match=r"io\.anndata\.tsne\(adata\)"):
        estimator.fit(anndata.AnnData(X))


@pytest.mark.parametrize("cls", [ck.TSNE, ck.LaplacianEigenmaps])
def test_single_precision_if_asked_for(cls):
    model = cls(dtype="float32", perplexity=10, random_state=0)
    Y = model.fit_transform(X)
    assert Y.dtype == model.transform(X[:3]).dtype == np.float32
    assert model.embedding_.dtype == np.float64
    np.testing.assert_array_equal(Y, model.embedding_.astype(np.float32))
    with pytest.raises(ValueError, match="dtype='int8' must be 'float64' or 'float32'"):
        cls(dtype="int8").fit(X)


# ---- graphs of few neighbours --------------------------------------------------------------------


def few_neighbors(kind, k=20):
    if kind == "graph":
        return {"metric": "precomputed"}, kneighbors_graph(X, k, mode="distance")
    return {"neighbors": ck.neighbors.find_neighbors(X, k)}, X


@pytest.mark.parametrize("kind", ["graph", "neighbors"])
@pytest.mark.parametrize("cls", [ck.TSNE, ck.EntropicAffinities, ck.LaplacianEigenmaps])
def test_a_graph_that_cannot_carry_the_perplexity_is_refused(cls, kind):
    options, data = few_neighbors(kind)
    words = r"perplexity=30 needs .* holds 20; .* perplexity='auto', which is 6.67 here"
    with pytest.raises(ValueError, match=words):
        cls(**options).fit(data)
    with pytest.raises(ValueError, match="perplexity=40"):
        cls(perplexity=[5, 40], **options).fit(data)


@pytest.mark.parametrize("kind", ["graph", "neighbors"])
def test_unless_the_perplexity_may_be_chosen(kind):
    options, data = few_neighbors(kind)
    ea = ck.EntropicAffinities("auto", **options).fit(data)
    assert ea.perplexity_ == pytest.approx(20 / 3)
    np.testing.assert_allclose(ea.perplexities_, 20 / 3, rtol=1e-8)
    assert clone(ea).perplexity == "auto"


def test_rows_of_few_neighbors_among_others_only_warn():
    graph = kneighbors_graph(X, 40, mode="distance").tolil()
    graph[0] = 0.0
    graph[0, 1:6] = 1.0
    graph = sparse.csr_matrix(graph)
    with pytest.warns(ck.exceptions.NoBandwidthWarning, match="1 of 150 points"):
        ea = ck.EntropicAffinities(30, metric="precomputed").fit(graph)
    assert ea.converged_.sum() == 149


@pytest.mark.parametrize(
    ("n", "options", "expected"),
    [(150, {}, 30.0), (31, {}, 10.0), (150, {"n_neighbors": 12}, 4.0)],
)
def test_the_automatic_perplexity_of_data(n, options, expected):
    ea = ck.EntropicAffinities("auto", **options).fit(X[:n] + np.arange(n)[:, None])
    assert ea.perplexity_ == pytest.approx(expected)
    assert ea.transform(X[:2] + 0.01).shape == (2, n)
