"""Points numbered by their place on the map, and parts of the attraction."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import closeknit as ck
from closeknit import objectives
from closeknit.linalg import entry_rows, strongest_entries
from closeknit.repulsion import ExactRepulsion, GridRepulsion

MODELS = [
    objectives.TSNE,
    objectives.SymmetricSNE,
    objectives.ElasticEmbedding,
    objectives.TElasticEmbedding,
]
each_model = pytest.mark.parametrize("model", MODELS)
EXACT, GRID = ExactRepulsion(1), GridRepulsion(0.02, n_jobs=1)
each_repulsion = pytest.mark.parametrize("repulsion", [EXACT, GRID], ids=["exact", "grid"])
SUMS = [(model, repulsion) for model in MODELS for repulsion in (EXACT, GRID)]
each_sum = pytest.mark.parametrize(("model", "repulsion"), SUMS)


def affinities(n=300, seed=0):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.05), 1)
    W[:, -5:] = 0.0  # points without neighbours
    return csr_matrix((W + W.T) / (2.0 * W.sum()))


@pytest.fixture
def few_are_many(monkeypatch):
    monkeypatch.setattr("closeknit.objectives.base.MANY_POINTS", 10)


def numbered(objective):
    return objective._numbered is not None


@each_sum
@pytest.mark.parametrize("d", [1, 2, 3])
def test_neither_value_nor_gradient_changes(few_are_many, model, repulsion, d):
    """Beyond rounding, in double or single precision; and not where the map has moved on."""
    rng = np.random.default_rng(d)
    objective = model(affinities(), repulsion=repulsion, n_jobs=1)
    X = rng.normal(size=(300, d))
    maps = [X, X + 0.1 * rng.normal(size=X.shape)]
    before = [objective.value_and_gradient(Y, 0.7) for Y in maps]
    objective.renumber(X)
    assert numbered(objective)
    rounding = 1e-12 if repulsion.is_exact else 1e-5
    for Y, (value, gradient) in zip(maps, before, strict=True):
        again, turned = objective.value_and_gradient(Y, 0.7)
        assert again == pytest.approx(value, rel=rounding)
        assert again.parts == pytest.approx(value.parts, rel=rounding)
        atol = rounding * np.abs(gradient).max()
        np.testing.assert_allclose(turned, gradient, rtol=rounding, atol=atol)
        assert objective.value(Y, 0.7) == pytest.approx(value, rel=rounding)


def test_numbering_again_replaces_the_first(few_are_many):
    objective = objectives.TSNE(affinities(), n_jobs=1)
    X, Y = np.random.default_rng(0).normal(size=(2, 300, 2))
    expected = objective.value_and_gradient(Y, 1.0)[1]
    objective.renumber(X)
    first = objective._numbered[0]
    objective.renumber(Y)
    assert (objective._numbered[0] != first).any()
    np.testing.assert_allclose(objective.value_and_gradient(Y, 1.0)[1], expected, atol=1e-15)
    assert objective.weights.has_sorted_indices


def test_few_points_many_components_and_broken_maps_are_left_alone(monkeypatch):
    objective = objectives.TSNE(affinities(), n_jobs=1)
    objective.renumber(np.zeros((300, 2)))
    assert not numbered(objective)
    monkeypatch.setattr("closeknit.objectives.base.MANY_POINTS", 10)
    objective.renumber(np.zeros((300, 4)))
    objective.renumber(np.full((300, 2), np.nan))
    assert not numbered(objective)


@pytest.mark.parametrize("repulsion", ["exact", "grid"])
def test_the_embedding_comes_in_the_order_of_the_data(monkeypatch, repulsion):
    """Also its affinities; few iterations, after which rounding is not yet a difference."""
    X = np.random.default_rng(0).normal(size=(200, 5)) + 9.0 * np.eye(2, 5)[np.arange(200) % 2]
    options = {"repulsion": repulsion, "random_state": 0, "perplexity": 10.0, "n_jobs": 1}
    options |= {"exaggeration": ((4.0, 3),), "max_iter": 3}
    plain = ck.TSNE(**options).fit(X)
    monkeypatch.setattr("closeknit.objectives.base.MANY_POINTS", 10)
    seen = []
    real = objectives.Objective.renumber

    def renumber(self, X, edges=1.0):
        seen.append((len(X), edges))
        real(self, X)  # with all edges, so that the maps can be compared

    monkeypatch.setattr(objectives.Objective, "renumber", renumber)
    emb = ck.TSNE(**options).fit(X)
    assert seen == [(200, 0.25), (200, 1.0)]  # before each of the two stages
    scale = np.abs(plain.embedding_).max()
    tolerance = 1e-9 if repulsion == "exact" else 1e-3
    np.testing.assert_allclose(emb.embedding_, plain.embedding_, atol=tolerance * scale)
    np.testing.assert_array_equal(emb.affinities_.toarray(), plain.affinities_.toarray())


def test_strongest_edges_attract_until_the_next_numbering(few_are_many):
    """Those of either end, with the weight of all."""
    W = affinities()
    objective = objectives.TSNE(W, n_jobs=1)
    X = np.random.default_rng(0).normal(size=(300, 2))
    whole = objective.value_and_gradient(X, 1.0)[1]
    objective.renumber(X, edges=0.25)
    n_neighbors = int(np.ceil(0.25 * W.nnz / 300))
    strong = W.copy()
    strong.data[np.setdiff1d(np.arange(W.nnz), strongest_entries(W, n_neighbors))] = 0.0
    strong.eliminate_zeros()
    assert strong.nnz < 0.6 * W.nnz
    expected = objectives.TSNE(strong, n_jobs=1).value_and_gradient(X, 1.0)[1]
    np.testing.assert_allclose(objective.value_and_gradient(X, 1.0)[1], expected, atol=1e-15)
    objective.renumber(X)
    np.testing.assert_allclose(objective.value_and_gradient(X, 1.0)[1], whole, atol=1e-15)


# Parts


@each_model
@each_repulsion
@pytest.mark.parametrize("renumber", [False, True])
def test_a_part_has_the_entries_of_the_whole(few_are_many, model, repulsion, renumber):
    objective = model(affinities(), repulsion=repulsion, n_jobs=1)
    X = np.random.default_rng(0).normal(size=(300, 2))
    if renumber:
        objective.renumber(X)
    at = objective.at(1.0)
    whole = at.attractive_weights(X)
    for entries in (strongest_entries(whole, 3), np.arange(0, whole.nnz, 7), np.arange(0)):
        part = at.attractive_weights(X, entries)
        assert part.shape == whole.shape
        assert part.dtype == whole.dtype
        np.testing.assert_array_equal(part.data, whole.data[entries])
        np.testing.assert_array_equal(part.indices, whole.indices[entries])
        np.testing.assert_array_equal(entry_rows(part), entry_rows(whole)[entries])
    np.testing.assert_array_equal(at.attractive_weights(X, None).data, whole.data)


def test_two_parts_are_remembered():
    """As many as a direction asks for by turns; they work on as many threads as the whole."""
    objective = objectives.TSNE(affinities(), n_jobs=1)
    entries = [np.arange(0, 100, step) for step in (2, 3, 5)]
    first, second = (objective.part(some) for some in entries[:2])
    assert objective.part(entries[0]) is first
    assert objective.part(entries[1]) is second
    objective.part(entries[2])
    assert objective.part(entries[1]) is second
    assert objective.part(entries[0]) is not first
    assert objective.part(None) is objective.attraction
    assert first.n_jobs == 1
