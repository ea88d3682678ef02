"""scikit-learn's conventions: its own checks, clones, pickles, names, pipelines, seeds."""

from __future__ import annotations

import inspect
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import closeknit as ck
from closeknit.affinities import FixedAffinities

X = np.random.default_rng(0).normal(size=(60, 4)) + np.repeat(np.eye(3, 4) * 6.0, 20, axis=0)
X.setflags(write=False)
X_NEW = np.random.default_rng(1).normal(size=(9, 4))
NORMALIZED = [ck.TSNE, ck.SymmetricSNE, ck.SNE]
ELASTIC = [ck.ElasticEmbedding, ck.TElasticEmbedding]
NONLINEAR = [*NORMALIZED, *ELASTIC]
ALL = [*NONLINEAR, ck.LaplacianEigenmaps]
each = pytest.mark.parametrize("model", ALL)
each_nonlinear = pytest.mark.parametrize("model", NONLINEAR)
ties = pytest.mark.filterwarnings("ignore::closeknit.exceptions.NoBandwidthWarning")


def make(model, **options):
    """The estimator with a small perplexity, few iterations and a seed."""
    options = {"perplexity": 5.0, "random_state": 0, **options}
    if model is not ck.LaplacianEigenmaps:
        options.setdefault("max_iter", 15)
    return model(**options)


@ties
@parametrize_with_checks(
    [
        ck.TSNE(perplexity=2, max_iter=5),
        ck.SymmetricSNE(perplexity=2, max_iter=5),
        ck.SNE(perplexity=2, max_iter=5),
        ck.ElasticEmbedding(perplexity=2, max_iter=5),
        ck.TElasticEmbedding(perplexity=2, max_iter=5),
        ck.LaplacianEigenmaps(perplexity=2),
    ]
)
def test_scikit_learn_checks(estimator, check):
    """`check_estimator` is clean. (The checks fit integer data, where ties have no bandwidth.)"""
    check(estimator)


@each
def test_same_seed_same_bits(model):
    options = {} if model is ck.LaplacianEigenmaps else {"init": "random"}
    one, two, again = (make(model, n_jobs=j, **options).fit(X) for j in (1, 2, 1))
    for other in (two, again):
        assert one.embedding_.tobytes() == other.embedding_.tobytes()
        assert one.transform(X_NEW).tobytes() == other.transform(X_NEW).tobytes()


@each_nonlinear
def test_another_seed_is_another_start(model):
    one, two = (make(model, init="random", random_state=s).fit_transform(X) for s in (0, 1))
    assert not np.array_equal(one, two)


@each
def test_fit_twice_is_fit_once(model):
    emb = make(model)
    first = emb.fit_transform(X).copy()
    emb.fit(X[:30] * 2.0)
    np.testing.assert_array_equal(emb.fit_transform(X), first)


@each
def test_clone_and_pickle(model):
    emb = make(model, n_components=3).fit(X)
    copy = clone(emb)
    assert not hasattr(copy, "embedding_")
    np.testing.assert_array_equal(copy.fit_transform(X), emb.embedding_)
    back = pickle.loads(pickle.dumps(emb))
    np.testing.assert_array_equal(back.embedding_, emb.embedding_)
    np.testing.assert_array_equal(back.transform(X_NEW), emb.transform(X_NEW))
    if model in NORMALIZED:
        assert back.kl_divergence_ == emb.kl_divergence_


@each
def test_pandas_output_and_names(model):
    emb = make(model).set_output(transform="pandas")
    frame = emb.fit_transform(pd.DataFrame(X, columns=list("abcd")))
    names = [model.__name__.lower() + str(i) for i in range(2)]
    assert list(frame.columns) == names
    assert list(emb.get_feature_names_out()) == names
    assert isinstance(emb.embedding_, np.ndarray)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # as of scikit-learn about names that are there, or are not
        placed = emb.transform(pd.DataFrame(X_NEW, columns=list("abcd"), index=range(9, 18)))
    assert list(placed.columns) == names
    assert list(placed.index) == list(range(9, 18))


@each
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_asked_of_scikit_learn_everywhere(model, kind):
    """`transform_output` is about what users get, not about the sparse matrices in between."""
    frame = pd.DataFrame(X, columns=list("abcd"))
    options = [
        {},
        {"neighbors": KNeighborsTransformer(n_neighbors=20)},
        {"affinity": FixedAffinities(1.0)},
    ]
    for given in options:
        plain = make(model, **given).fit(frame)
        with config_context(transform_output=kind):
            emb = make(model, **given)
            got = emb.fit_transform(frame)
            placed = emb.transform(frame.iloc[:5] + 0.01)
        assert type(got).__module__.startswith(kind)
        np.testing.assert_array_equal(got.to_numpy(), plain.embedding_)
        np.testing.assert_array_equal(placed.to_numpy(), plain.transform(frame.iloc[:5] + 0.01))


@each
def test_in_a_pipeline(model):
    pipeline = make_pipeline(StandardScaler(), make(model))
    assert pipeline.fit_transform(X).shape == (60, 2)
    assert pipeline.transform(X_NEW).shape == (9, 2)
    assert pipeline.get_feature_names_out()[0].endswith("0")


@each_nonlinear
def test_scikit_learn_s_progress_bar(model):
    """`sklearn.callback`, where the installed scikit-learn has it."""
    callback = pytest.importorskip("sklearn.callback")
    emb = make(model)
    assert isinstance(emb, callback.CallbackSupportMixin)
    emb.set_callbacks(callback.ProgressBar()).fit(X)
    np.testing.assert_array_equal(emb.embedding_, make(model).fit_transform(X))


@ties
@pytest.mark.filterwarnings("error::RuntimeWarning")
@each_nonlinear
@pytest.mark.parametrize(
    ("data", "options"),
    [
        (X, {"direction": "gradient"}),
        (np.ones((30, 4)), {}),
        (np.repeat(X[::20], 12, axis=0), {"direction": "cg"}),
    ],
    ids=["gradient", "identical", "repeated"],
)
def test_no_warnings_from_numpy(model, data, options):
    """What a line search tries and rejects raises no warnings."""
    make(model, **options).fit(data)


@each
def test_verbose_writes_to_stderr_only(model, capsys):
    make(model, verbose=True).fit(X)
    out, err = capsys.readouterr()
    assert out == ""
    assert err != ""
    make(model).fit(X)
    assert capsys.readouterr() == ("", "")


@each
def test_every_parameter_is_documented(model):
    """In the source, where a static reader sees it."""
    source = inspect.getsource(model)
    parameters = source.split("Parameters\n    ----------\n")[1].split("\n\n    Attributes")[0]
    documented = re.findall(r"^    (\w+) : ", parameters, flags=re.MULTILINE)
    assert sorted(documented) == sorted(inspect.signature(model).parameters)


@each
def test_every_fitted_attribute_is_documented(model):
    emb = make(model).fit(X)
    attributes = model.__doc__.split("Attributes\n    ----------\n")[1].split("\n\n")[0]
    documented = set(re.findall(r"^    (\w+) : ", attributes, flags=re.MULTILINE))
    fitted = {name for name in vars(emb) if name.endswith("_")}
    assert documented == fitted - {"n_features_in_"}
