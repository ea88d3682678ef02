"""`save` and `load`: the same model to the bit or a clear refusal, and never code from the file."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import pickle
import sys
import threading
import zipfile

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, scalar_dtypes
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer

import closeknit as ck
from closeknit.affinities import EntropicAffinities, FixedAffinities
from closeknit.exceptions import ModelError, OutputError
from closeknit.io.describe import Description
from closeknit.io.registry import estimators, parameters_of, path_of, saveable
from closeknit.io.restore import restore
from closeknit.kernels import STUDENT, student
from closeknit.minimize import Momentum, SpectralDirection
from closeknit.neighbors import (
    ApproximateIndex,
    ExactIndex,
    PairwiseIndex,
    PrecomputedIndex,
    find_neighbors,
)
from closeknit.repulsion import ExactRepulsion, GridRepulsion

X = np.random.default_rng(0).normal(size=(80, 10)) + np.repeat(np.eye(4, 10) * 5.0, 20, axis=0)
NEW = np.random.default_rng(1).normal(size=(7, 10))
NEW[0] = X[3]  # one that coincides with a fitted point
ESTIMATORS = {cls.__name__: cls for cls in saveable().values() if cls.__name__ in estimators()}
INDICES = [ApproximateIndex, ExactIndex, PairwiseIndex, PrecomputedIndex]
FEW = {"perplexity": 5.0, "random_state": 0}
EMBEDDINGS = [ck.TSNE, ck.SymmetricSNE, ck.SNE, ck.ElasticEmbedding, ck.TElasticEmbedding]
SHIFTS = ("BlurringMeanShift", "MeanShift")
SPARSIFIERS = [name for name in ESTIMATORS if name.endswith("Sparsifier")]
LABELS = np.where(np.arange(80) % 5 == 0, np.repeat(np.arange(4), 20), -1)
SPARSE = sparse.random(80, 10, 0.5, random_state=0, format="csr")


def same(a, b, where="model"):
    """Assert that two things are equal to the bit, types and all, and return nothing."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape), where
        if a.flags.forc:  # views with gaps are stored without them
            assert a.flags.f_contiguous == b.flags.f_contiguous, where
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes(), where
    elif sparse.issparse(a):
        for name in ("data", "indices", "indptr"):
            same(getattr(a, name), getattr(b, name), f"{where}.{name}")
        assert a.shape == b.shape
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}[{i}]")
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for name in a:
            same(a[name], b[name], f"{where}.{name}")
    elif dataclasses.is_dataclass(a):
        for field in (field for field in dataclasses.fields(a) if field.init):
            same(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    elif isinstance(a, np.random.RandomState):
        same(a.get_state(legacy=False), b.get_state(legacy=False), where)
    elif isinstance(a, np.random.Generator):
        same(a.bit_generator.state, b.bit_generator.state, where)
    elif hasattr(a, "get_params"):
        assert vars(a).keys() == vars(b).keys(), where
        for name in vars(a):
            same(vars(a)[name], vars(b)[name], f"{where}.{name}")
    elif path_of(type(a)) is not None:
        assert vars(a).keys() == vars(b).keys(), where
        for name in (*parameters_of(type(a)), *type(a).saved_state):
            same(getattr(a, name, None), getattr(b, name, None), f"{where}.{name}")
    elif isinstance(a, float):
        assert np.float64(a).tobytes() == np.float64(b).tobytes(), where
    else:
        assert a == b, where


def round_trip(model, tmp_path):
    path = tmp_path / "model.closeknit"
    ck.io.save(model, path)
    assert list(tmp_path.iterdir()) == [path]
    return ck.io.load(path)


def assert_same_model(model, tmp_path, new=NEW):
    """Every parameter and attribute, and what is said of new points."""
    loaded = round_trip(model, tmp_path)
    same(model, loaded)
    if new is not None:
        for name in ("transform", "predict", "predict_proba"):
            if hasattr(model, name):
                same(getattr(model, name)(new), getattr(loaded, name)(new), name)
    return loaded


# ---- round trips ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("n_neighbors", ["auto", None])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_estimator(tmp_path, name, n_neighbors, dtype):
    model = make(name, n_neighbors=n_neighbors).fit(X.astype(dtype), LABELS)
    new = X if name in SPARSIFIERS else NEW  # a sparser graph has no rows for new points
    assert_same_model(model, tmp_path, new.astype(dtype))


def make(name, n_neighbors="auto", **options):
    cls = ESTIMATORS[name]
    known = cls().get_params()
    options = {"max_iter": 8, "n_clusters": 3, "n_neighbors": n_neighbors, **FEW, **options}
    if name in ("KNNSparsifier", *SHIFTS):  # where "auto" or None mean nothing
        options["n_neighbors"] = 20 if n_neighbors is None else known["n_neighbors"]
    if name in SHIFTS:
        options["max_iter"] = 300
    return cls(**{key: value for key, value in options.items() if key in known})


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_is_declared_is_what_is_fitted(name):
    """Public attributes of a fitted estimator are saved, and all that is to be saved is there."""
    for n_neighbors in ("auto", None):
        model = make(name, n_neighbors=n_neighbors).fit(X, LABELS)
        held = vars(model).keys() - model.get_params(deep=False).keys()
        public = {attribute for attribute in held if not attribute.startswith("_")}
        assert public <= {*model.saved_state} <= held


def test_all_public_estimators_can_be_saved():
    from sklearn.base import BaseEstimator

    modules = (ck, ck.graphs, ck.affinities, ck.neighbors)
    public = [getattr(module, name) for module in modules for name in module.__all__]
    found = {cls for cls in public if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    assert found == {*ESTIMATORS.values()}


@pytest.mark.parametrize("name", ["LabelPropagation", "LabelSpreading"])
@pytest.mark.parametrize(
    "classes", [np.array(["a", "b"]), np.array(["a", "b"], dtype=object), np.array([1.0, 3.0])]
)
def test_classes_of_any_type(tmp_path, name, classes):
    y = classes[(np.arange(80) >= 40).astype(int)]
    loaded = assert_same_model(make(name, max_iter=100).fit(X, y), tmp_path)
    assert loaded.classes_.dtype == classes.dtype


@pytest.mark.parametrize("name", ["LabelPropagation", "SpectralClustering"])
def test_applications_of_given_graphs_and_distances(tmp_path, name):
    P = EntropicAffinities(10).fit_transform(X)
    W, D = (P + P.T).tocsr(), pairwise_distances(X)
    for matrix, options in ((W, {"affinity": "precomputed"}), (D, {"metric": "precomputed"})):
        model = make(name, max_iter=200, **options).fit(matrix, LABELS)
        assert_same_model(model, tmp_path, matrix[:5])
    options = {"max_iter": 200, "affinity": FixedAffinities(rank=5)}
    assert_same_model(make(name, **options).fit(SPARSE, LABELS), tmp_path, SPARSE[:5])


@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@pytest.mark.parametrize("neighbors", ["exact", "approximate", ExactIndex(algorithm="sketch")])
def test_mean_shift_on_every_index(tmp_path, neighbors):
    crowded = np.concatenate([X, np.repeat(X[:1], 30, axis=0)])  # a place without a bandwidth
    model = make("MeanShift", neighbors=copy.deepcopy(neighbors)).fit(crowded)
    assert not np.isfinite(model.sigmas_).all()
    assert_same_model(model, tmp_path)


@pytest.mark.parametrize("kind", ["distances", "affinities"])
@pytest.mark.parametrize("name", ["EntropicSparsifier", "KNNSparsifier", "ViewerSparsifier"])
def test_sparsifiers_of_given_graphs(tmp_path, name, kind):
    matrix = pairwise_distances(X)
    if kind == "affinities":
        matrix = EntropicAffinities(10).fit_transform(X)
    loaded = assert_same_model(make(name, input=kind, sparsity=0.9).fit(matrix), tmp_path, matrix)
    assert not hasattr(loaded, "transform")


def test_several_perplexities(tmp_path):
    assert_same_model(ck.EntropicAffinities([3.0, 10.0]).fit(X), tmp_path)


@pytest.mark.parametrize("model", EMBEDDINGS)
def test_homotopy_and_objects_as_parameters(tmp_path, model):
    fitted = model(
        lam=np.array([0.1, 0.5, 1.0]),
        direction=SpectralDirection(n_neighbors=7),
        repulsion=ExactRepulsion(1),
        affinity=FixedAffinities(rank=np.int64(5)),
        init=np.asfortranarray(X[:, :2] * 1e-3),
        max_iter=4,
    ).fit(X)
    loaded = assert_same_model(fitted, tmp_path)
    same(fitted.path_.history, loaded.path_.history)
    same(fitted.path_.Xs, loaded.path_.Xs)
    assert loaded.path_.results[-1].X is loaded.embedding_  # one array, stored once


@pytest.mark.parametrize("model", EMBEDDINGS)
def test_models_on_a_grid(tmp_path, model):
    """A grid is its parameters; the transforms that it keeps are no part of it."""
    fitted = model(
        repulsion=GridRepulsion(0.05, max_memory=1e8, n_jobs=1),
        direction=Momentum(rate=0.5, early=3, n_jobs=1),
        max_iter=8,
        **FEW,
    ).fit(X)
    loaded = assert_same_model(fitted, tmp_path)
    assert loaded.repulsion_ == fitted.repulsion
    assert loaded.repulsion_ is loaded.repulsion


@pytest.mark.parametrize("repulsion", ["exact", "grid"])
def test_degrees_of_freedom(tmp_path, repulsion):
    fitted = ck.TSNE(dof=0.6, repulsion=repulsion, max_iter=5, **FEW).fit(X)
    loaded = assert_same_model(fitted, tmp_path)
    assert loaded.kernel_ == student(0.6)


def test_other_parameters(tmp_path):
    weights = pairwise_distances(X) ** 2
    for repulsive in (None, "sqdistances", weights):
        model = ck.ElasticEmbedding(repulsive_weights=repulsive, max_iter=3, **FEW).fit(X)
        assert_same_model(model, tmp_path)
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(10)])
    model = ck.TSNE(max_iter=3, **FEW).set_output(transform="pandas").fit(frame)
    loaded = round_trip(model, tmp_path)
    same(model, loaded)
    new = pd.DataFrame(NEW, columns=frame.columns)
    pd.testing.assert_frame_equal(loaded.transform(new), model.transform(new), check_exact=True)
    interrupted = ck.TSNE(max_iter=3, time_limit=0.0, tol=np.float64(1e-5), **FEW).fit(X)
    assert_same_model(interrupted, tmp_path)


@pytest.mark.parametrize("affinity", ["entropic", "precomputed"])
@pytest.mark.parametrize("name", ["TSNE", "LaplacianEigenmaps"])
def test_precomputed(tmp_path, name, affinity):
    P = EntropicAffinities(5).fit_transform(X)
    if affinity == "precomputed":
        W = (P + P.T).tocsr()
        assert_same_model(make(name, affinity=affinity).fit(W), tmp_path, W[:5])
        return
    D = pairwise_distances(X)
    assert_same_model(make(name, metric="precomputed").fit(D), tmp_path, D[:5])
    graph = KNeighborsTransformer(mode="distance", n_neighbors=20).fit_transform(X)
    assert_same_model(make(name, metric="precomputed").fit(graph), tmp_path, None)


CROWDED = np.repeat(X[:4], 20, axis=0) + 1e-3 * (np.arange(80) > 70)[:, None]
SEARCHES = {
    "cosine": (X, {"metric": "cosine"}),
    "inner product": (X, {"metric": "inner_product"}),
    "manhattan": (X, {"metric": "manhattan"}),
    "mahalanobis": (X, {"metric": "mahalanobis"}),
    "jaccard": (X > 0.5, {"metric": "jaccard"}),
    "few dimensions, a tree": (X[:, :3], {}),
    "approximate": (X, {"neighbors": "approximate"}),
    "approximate, seeded": (X, {"neighbors": "approximate", "random_state": 3}),
    "index": (X, {"neighbors": ExactIndex("cosine", algorithm="sketch")}),
    "crowded places": (CROWDED, {}),
    "sparse": (SPARSE, {}),
    "sparse cosine": (SPARSE, {"metric": "cosine"}),
    "sparse, all points": (SPARSE, {"n_neighbors": None}),
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")
@pytest.mark.filterwarnings("ignore:Data was converted to boolean")
def test_every_way_to_search(tmp_path, search):
    """Indices are built anew from the points they searched, with the same answers."""
    data, options = copy.deepcopy(SEARCHES[search])  # a given index is fitted
    data = data.astype(float)
    model = EntropicAffinities(5, **{"random_state": 0, **options}).fit(data)
    assert_same_model(model, tmp_path, data[:9])
    shifted = data[:9] if sparse.issparse(data) else data[:9] + 0.01
    same(model.transform(shifted), round_trip(model, tmp_path).transform(shifted))


@pytest.mark.parametrize("make_random", [np.random.RandomState, np.random.default_rng])
def test_random_states_go_on_where_they_were(tmp_path, make_random):
    """A search seeded by an object that has moved on since is rebuilt with the seed it drew."""
    rng = make_random(5)
    model = EntropicAffinities(5, neighbors="approximate", random_state=rng).fit(X)
    expected = model.transform(NEW)
    loaded = assert_same_model(model, tmp_path)
    same(loaded.transform(NEW), expected)
    assert loaded.random_state.random() == rng.random()


def test_given_neighbours(tmp_path):
    found = find_neighbors(X, 20)
    for given_neighbors in (found, (found.indices, np.sqrt(found.sq_distances))):
        model = EntropicAffinities(5, neighbors=given_neighbors).fit(X)
        loaded = assert_same_model(model, tmp_path, None)
        with pytest.raises(ValueError, match="given neighbours"):
            loaded.transform(NEW)


def test_an_index_given_by_the_user_is_one_index_again(tmp_path):
    model = EntropicAffinities(5, neighbors=ExactIndex()).fit(X)
    assert model.neighbors is model.index_
    loaded = assert_same_model(model, tmp_path)
    assert loaded.neighbors is loaded.index_


@pytest.mark.parametrize("cls", INDICES)
def test_unfitted_objects_stay_unfitted(tmp_path, cls):
    affinity = EntropicAffinities(5, neighbors=cls())
    model = ck.LaplacianEigenmaps(affinity=affinity)
    described = Description()
    described.add(model, "model")
    (loaded,) = restore(described.objects, None)[-1:]
    same(model, loaded)
    assert not hasattr(loaded.affinity, "affinities_")


def test_a_loaded_model_is_saved_as_the_same_bytes(tmp_path):
    model = ck.TSNE(max_iter=5, **FEW).fit(X)
    ck.io.save(model, tmp_path / "one")
    ck.io.save(ck.io.load(tmp_path / "one"), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_loaded_models_can_be_fitted_cloned_and_changed(tmp_path):
    from sklearn.base import clone

    model = ck.TSNE(max_iter=5, **FEW).fit(X)
    loaded = round_trip(model, tmp_path)
    same(clone(loaded).fit(X).embedding_, model.embedding_)
    loaded.embedding_[0] = 0.0
    loaded.set_params(max_iter=2).fit(X)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text()
        | arrays(scalar_dtypes(), array_shapes(min_dims=0, max_dims=3, min_side=0))
        | st.sampled_from([np.float32(1.5), np.int8(3), np.bool_(True), np.str_("x")]),
        lambda inner: (
            st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner)
        ),
        max_leaves=8,
    )
)
def test_any_plain_value(value):
    """Numbers with every bit, also NaN, −0 and huge integers; arrays of every type and shape."""
    described = Description()
    reference = described.add(value, "value")
    objects = json.loads(json.dumps(described.objects, allow_nan=False))
    made = restore(objects, lambda entry: described.arrays[entry["number"]].copy(order="K"))
    got = made[reference["ref"]] if isinstance(reference, dict) else reference
    same_value(value, got)


def same_value(a, b):
    assert type(a) is type(b)
    if isinstance(a, np.ndarray | np.generic):
        assert (np.dtype(a.dtype), a.shape) == (np.dtype(b.dtype), b.shape)
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, list | tuple):
        for x, y in zip(a, b, strict=True):
            same_value(x, y)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for name in a:
            same_value(a[name], b[name])
    else:
        assert repr(a) == repr(b)


def test_every_strategy_object():
    """All the small objects that parameters may be, with their defaults and with other values."""
    import closeknit.affinities.orders as orders

    objects = [cls() for cls in saveable().values() if has_defaults(cls)]
    objects += [SpectralDirection(n_neighbors=7, solver="dense"), orders.Raster((8, 10))]
    assert len(objects) > 15
    for value in objects:
        described = Description()
        described.add(value, "value")
        same(restore(described.objects, None)[-1], value)


def has_defaults(cls):
    import inspect

    if inspect.isabstract(cls) or not dataclasses.is_dataclass(cls):
        return False
    return all(
        field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        for field in dataclasses.fields(cls)
    )


# ---- what cannot be saved ------------------------------------------------------------------------


class Mine(EntropicAffinities):
    """Somebody's own estimator."""


@pytest.mark.parametrize(
    ("options", "saying"),
    [
        ({"callback": repr}, "TSNE.callback: <built-in function repr> is not one of closeknit's"),
        ({"affinity": Mine(5)}, "TSNE.affinity: Mine"),
        (
            {"affinity": EntropicAffinities(5, neighbors=KNeighborsTransformer(n_neighbors=15))},
            "TSNE.affinity.neighbors: KNeighborsTransformer",
        ),
    ],
)
def test_foreign_objects_are_refused(tmp_path, options, saying):
    model = ck.TSNE(**{"max_iter": 2, **FEW, **options}).fit(X)
    with pytest.raises(ModelError, match=saying) as caught:
        ck.io.save(model, tmp_path / "m")
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_callback_can_be_taken_off(tmp_path):
    model = ck.TSNE(max_iter=2, callback=lambda state: False, **FEW).fit(X)
    assert_same_model(model.set_params(callback=None), tmp_path)


def test_callbacks_of_scikit_learn_are_left_out(tmp_path):
    """They watch a fit, and are no part of what was fitted."""
    model = ck.TSNE(max_iter=2, **FEW).fit(X)
    expected = model.transform(NEW)
    model._skl_callbacks = [print]  # as set_callbacks does where scikit-learn has it
    loaded = round_trip(model, tmp_path)
    assert vars(model).keys() - vars(loaded).keys() == {"_skl_callbacks"}
    same(loaded.transform(NEW), expected)


def test_other_things_are_refused(tmp_path):
    with pytest.raises(ModelError, match="is not fitted; call fit"):
        ck.io.save(ck.TSNE(), tmp_path / "m")
    with pytest.raises(ModelError, match="type KNeighborsTransformer; save one of EntropicAff"):
        ck.io.save(KNeighborsTransformer().fit(X), tmp_path / "m")
    with pytest.raises(ModelError, match="type Mine"):
        ck.io.save(Mine(5).fit(X), tmp_path / "m")
    model = EntropicAffinities(5).fit(X)
    model.note_ = "added by hand"
    with pytest.raises(ModelError, match="it has the attribute 'note_'"):
        ck.io.save(model, tmp_path / "m")
    del model.note_, model.sigmas_
    with pytest.raises(ModelError, match="it lacks the attribute 'sigmas_'"):
        ck.io.save(model, tmp_path / "m")
    with pytest.raises(ModelError, match="init: it is an array of object"):
        ck.io.save(
            ck.TSNE(max_iter=2, **FEW).fit(X).set_params(init=np.array([object()])), tmp_path / "m"
        )
    with pytest.raises(ModelError, match=r"init: .* CSC format; convert it with tocsr"):
        ck.io.save(
            ck.TSNE(max_iter=2, **FEW).fit(X).set_params(init=sparse.csc_matrix(X)), tmp_path / "m"
        )
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path):
    model = EntropicAffinities(5).fit(X)
    with pytest.raises(OutputError, match="create the folder first"):
        ck.io.save(model, tmp_path / "missing" / "m")
    with pytest.raises(OutputError, match="it is a folder"):
        ck.io.save(model, tmp_path)


# ---- what cannot be loaded -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The parts of a saved model."""
    path = tmp_path_factory.mktemp("saved") / "model"
    ck.io.save(ck.TSNE(max_iter=3, **FEW).fit(X), path)
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def pack(path, parts, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def refuses(path, saying):
    with pytest.raises(ModelError, match=saying) as caught:
        ck.io.load(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"cannot read {path}: ")


def changed(saved, change):
    """The parts after `change` has been made to the description."""
    content = json.loads(saved["model.json"])
    objects = content["objects"]
    found = {entry["class"].split(".")[1]: entry for entry in objects if "class" in entry}
    change(content, found)
    return {**saved, "model.json": json.dumps(content)}


def set_in(name, part, key, value):
    def change(content, found):
        found[name][part][key] = value

    return change


def set_top(**values):
    return lambda content, found: content.update(values)


CHANGES = {
    "another version": (
        set_top(version=1),
        "version 1, written by closeknit 0.1.*reads version 2; fit the model again",
    ),
    "no version": (set_top(version=None), "version None"),
    "another format": (set_top(format="x"), "not a model that closeknit saved"),
    "no objects": (set_top(objects=[]), "damaged"),
    "objects are a word": (set_top(objects="abc"), "damaged"),
    "no such object": (set_top(model={"ref": 10_000}), "damaged"),
    "the model is an array": (set_top(model={"ref": 0}), "not a fitted model"),
    "unknown parameter": (set_in("TSNE", "parameters", "warp", 9), "the parameter 'warp', which"),
    "unknown attribute": (set_in("TSNE", "state", "evil_", 9), "has the attribute 'evil_'"),
    "a method replaced": (set_in("TSNE", "state", "fit", 9), "has the attribute 'fit'"),
    "dunder": (set_in("TSNE", "state", "__class__", 9), "has the attribute '__class__'"),
    "wrong count": (set_in("TSNE", "state", "_n_features_out", 3), "does not fit the rest"),
    "wrong affinities": (
        set_in("EntropicAffinities", "state", "_n_features_out", 81),
        "does not fit the rest",
    ),
    "wrong type": (set_in("TSNE", "state", "embedding_", "abc"), "damaged"),
    "a reference ahead": (
        set_in("EntropicAffinities", "state", "sigmas_", {"ref": 10_000}),
        "before that is described",
    ),
    "unknown index": (
        lambda content, found: found["ExactIndex"].update({"class": "EvilIndex"}),
        "unknown class 'EvilIndex'",
    ),
    "unknown metric": (set_in("ExactIndex", "parameters", "metric", "evil"), "damaged"),
    "not a dataclass": (
        lambda content, found: found["Neighbors"].update({"class": "os.system"}),
        "unknown class 'os.system'",
    ),
    "wrong number of targets": (
        set_in("Neighbors", "parameters", "n_targets", 9),
        "but there are only 9 points",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_descriptions(tmp_path, saved, name):
    change, saying = CHANGES[name]
    refuses(pack(tmp_path / "m", changed(saved, change)), saying)


def test_missing_attributes(tmp_path, saved):
    def change(content, found):
        del found["TSNE"]["state"]["embedding_"]

    refuses(pack(tmp_path / "m", changed(saved, change)), "lacks the attribute 'embedding_'")


def test_parameters_that_a_file_does_not_know_take_their_defaults(tmp_path, saved):
    """So that files stay readable when an estimator gets a new parameter."""

    def change(content, found):
        del found["TSNE"]["parameters"]["exaggeration"]

    loaded = ck.io.load(pack(tmp_path / "m", changed(saved, change)))
    assert loaded.exaggeration == ck.TSNE().exaggeration


@pytest.mark.parametrize("kind", ["module", "pickle", None, 3])
def test_unknown_kinds(tmp_path, saved, kind):
    def change(content, found):
        content["objects"][0]["kind"] = kind

    refuses(pack(tmp_path / "m", changed(saved, change)), "unknown kind")


FORGED = {"no such family": (99, 1.0, 1.0), "no scale": (1, 0.0, 1.0), "no power": (1, 1.0, -1.0)}


@pytest.mark.parametrize("name", FORGED)
def test_shapes_of_kernels_are_checked(tmp_path, saved, name):
    """Compiled sums take a kernel by its numbers, so a file may not make them up."""
    family, scale, power = FORGED[name]

    def forge(content, found):
        (entry,) = [entry for entry in content["objects"] if entry["kind"] == "kernel"]
        entry.update({"family": family, "scale": scale, "power": power})

    message = rf"unknown kernel \({family}, {scale}, {power}\)"
    refuses(pack(tmp_path / "m", changed(saved, forge)), message)


class MyKernel(type(STUDENT)):
    """Somebody's own kernel."""


def test_kernels_of_others_are_refused():
    with pytest.raises(ModelError, match="MyKernel"):
        Description().add(MyKernel("mine", 1), "kernel")


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def test_changed_arrays(tmp_path, saved):
    def with_part(content):
        return pack(tmp_path / "m", {**saved, "arrays/0.npy": content})

    shape = np.load(io.BytesIO(saved["arrays/0.npy"])).shape
    without = {name: part for name, part in saved.items() if name != "arrays/0.npy"}
    refuses(pack(tmp_path / "m", without), "its part arrays/0.npy is missing")
    refuses(with_part(npy(np.zeros((80, 9)))), r"shape \(80, 9\) and type float64, not \(")
    refuses(with_part(npy(np.zeros(shape, "f4"))), "type float32, not")
    refuses(with_part(saved["arrays/0.npy"][:-8]), "does not have the length")
    refuses(with_part(saved["arrays/0.npy"] + b"more"), "does not have the length")
    refuses(with_part(b"nonsense"), "damaged")
    huge = npy(np.zeros((80, 10))).replace(b"(80, 10)", b"(1<<40,)")
    refuses(with_part(huge), "damaged")


class Bomb:
    """Shows whether it was unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("code from the file was run",))


def test_nothing_is_unpickled(tmp_path, saved):
    bomb = npy(np.array([Bomb()] * 80, dtype=object), allow_pickle=True)
    refuses(pack(tmp_path / "m", {**saved, "arrays/0.npy": bomb}), "it holds Python objects")

    def change(content, found):
        content["objects"][0].update({"dtype": "|O", "shape": [80]})

    forged = changed({**saved, "arrays/0.npy": bomb}, change)
    refuses(pack(tmp_path / "m", forged), "it holds Python objects")
    (tmp_path / "m").write_bytes(pickle.dumps(Bomb()))
    refuses(tmp_path / "m", "damaged")


def test_indices_outside_a_matrix_are_refused(tmp_path):
    """Compiled code would read memory that is not the matrix's."""
    model = ck.TSNE(max_iter=2, **FEW).fit(X)
    model.affinities_.indices[0] = 1000
    ck.io.save(model, tmp_path / "m")
    refuses(tmp_path / "m", "damaged")
    model = EntropicAffinities(5).fit(X)
    indices = model.neighbors_.indices.copy()
    indices[0, 0] = 80
    object.__setattr__(model.neighbors_, "indices", indices)
    ck.io.save(model, tmp_path / "m")
    refuses(tmp_path / "m", "row 0 names point 80, but there are only 80 points")


def test_shapes_that_do_not_fit_each_other(tmp_path):
    model = ck.TSNE(max_iter=2, **FEW).fit(X)
    model.embedding_ = model.embedding_[:70]
    ck.io.save(model, tmp_path / "m")
    refuses(tmp_path / "m", r"TSNE.embedding_ has shape \(70, 2\), which does not fit the rest")
    model = ck.TSNE(max_iter=2, **FEW).fit(X)
    model.affinity_estimator_ = EntropicAffinities(5).fit(X[:70])
    ck.io.save(model, tmp_path / "m")
    refuses(tmp_path / "m", "does not fit the rest")
    model = EntropicAffinities(5).fit(X)
    model.index_ = ExactIndex().fit(X[:70])
    ck.io.save(model, tmp_path / "m")
    refuses(tmp_path / "m", r"EntropicAffinities.index_ has shape \(70, 10\)")


def test_densities_that_do_not_fit_their_index(tmp_path):
    """Neighbours outside the points would be read from memory that is not theirs."""

    def refused(saying, **parts):
        model = make("MeanShift").fit(X)
        vars(model.density_).update(parts)
        ck.io.save(model, tmp_path / "m")
        refuses(tmp_path / "m", saying)

    refused("points, bandwidths and index do not fit", index=ExactIndex().fit(NEW))
    refused("points, bandwidths and index do not fit", sigmas=np.ones(7))
    parts = {"index": ExactIndex().fit(NEW), "X": NEW, "sigmas": np.ones(7)}
    refused("the density and the labels do not fit", **parts)
    refused("damaged", index="abc")


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("LabelPropagation", "label_distributions_"),
        ("SpectralClustering", "labels_"),
        ("ViewerSparsifier", "votes_"),
    ],
)
def test_shapes_of_applications_and_sparsifiers(tmp_path, name, attribute):
    model = make(name, max_iter=100).fit(X, LABELS)
    setattr(model, attribute, getattr(model, attribute)[:70])
    ck.io.save(model, tmp_path / "m")
    refuses(tmp_path / "m", f"{name}.{attribute} has shape")


def test_compressed_parts_are_refused(tmp_path, saved):
    """They could be of any size once they are unpacked."""
    path = pack(tmp_path / "m", saved, compression=zipfile.ZIP_DEFLATED)
    refuses(path, "is compressed")


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_truncated_files(tmp_path, saved, share):
    path = pack(tmp_path / "m", saved)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    refuses(path, "damaged or incomplete")


def test_a_flipped_bit(tmp_path, saved):
    path = pack(tmp_path / "m", saved)
    content = bytearray(path.read_bytes())
    content[content.index(saved["arrays/0.npy"]) + 1000] ^= 1
    path.write_bytes(content)
    refuses(path, "damaged or incomplete .*CRC")


def test_other_files(tmp_path):
    refuses(tmp_path / "missing", "there is no such file")
    refuses(tmp_path, "it is a folder")
    np.savez(tmp_path / "a.npz", X=X)
    refuses(tmp_path / "a.npz", "has no model.json")
    refuses(pack(tmp_path / "m", {"model.json": "[1, 2]"}), "not a model that closeknit saved")
    refuses(pack(tmp_path / "m", {"model.json": "{"}), "damaged")


def test_classes_are_found_while_other_threads_import():
    done = threading.Event()

    def change():
        while not done.is_set():
            for number in range(100):
                sys.modules[f"no_module_{number}"] = sys
            for number in range(100):
                del sys.modules[f"no_module_{number}"]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(20):
            assert saveable.__wrapped__() == saveable()
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(interval)
