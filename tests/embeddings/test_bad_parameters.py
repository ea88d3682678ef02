"""Parameters and data that mean nothing are refused, by name and value, before any work."""

import numpy as np
import pytest

import closeknit as ck

X = np.random.default_rng(0).normal(size=(40, 4))
EMBEDDINGS = [
    ck.TSNE,
    ck.SymmetricSNE,
    ck.SNE,
    ck.ElasticEmbedding,
    ck.TElasticEmbedding,
    ck.LaplacianEigenmaps,
]
INTEGER = "must be an integer of at least"
NUMBER = "number of at least 0"
LAM = r"a finite number of at least 0 or an increasing list of numbers"
SHAPE = r"init has shape .*, but 40 points in 2 components need \(40, 2\)"
STAGES = r"must be 'auto', a factor above 1, None, or list pairs of a factor"
BAD = [
    *(("n_components", value, f"n_components={value!r} {INTEGER} 1") for value in (0, "2", None)),
    ("n_components", 2.0, f"n_components=2.0 {INTEGER} 1"),
    ("n_components", 50, "n_components=50 must be less than the number of points"),
    *(("perplexity", value, "must be one number or a list of them") for value in (None, "30")),
    *(("perplexity", value, "must be at least 1") for value in (0, -1, np.nan)),
    ("perplexity", [], "is empty; give one number"),
    ("perplexity", 1e9, "must be less than the number of other points"),
    *(
        ("max_iter", value, f"max_iter={value!r} {INTEGER} 0")
        for value in (None, "9", -1, 2.5, np.nan)
    ),
    *(("n_jobs", value, f"n_jobs={value!r} has no meaning; use -1") for value in (0, "2", 1.5)),
    *(("lam", value, LAM) for value in (None, "nonsense", -1, np.nan, np.inf, [[1.0]])),
    *(("lam", value, "strictly increasing") for value in ([], ["a"], [2.0, 1.0], [1.0, np.nan])),
    *(("init", value, "unknown init .*; use 'auto', 'pca'") for value in ("nonsense", None)),
    *(("init", value, SHAPE) for value in (np.zeros((40, 3)), np.zeros(40), 3)),
    ("init", np.full((40, 2), np.nan), "init contains NaN or infinite values"),
    ("init", [["a", "b"]] * 40, "init must hold numbers"),
    *(("exaggeration", value, STAGES) for value in ("x", 0.5, [12], [(12,)], [(12, None)])),
    *(("exaggeration", value, STAGES) for value in ([("a", 3)], [(12, 2.5)], [(-12, 3)])),
    ("exaggeration", [(1, 3)], STAGES),
    *(("tol", value, NUMBER) for value in (None, "x", -1, np.nan, [1])),
    *(("time_limit", value, f"None or a {NUMBER}") for value in ("x", -1, np.nan)),
    *(("dof", value, f"dof={value!r} must be") for value in (None, "x", 0, -1, np.nan)),
    *(("metric", value, f"metric={value!r} is unknown; choose") for value in (None, "x", 3)),
    *(("affinity", value, "affinity") for value in (None, "x", 3)),
    *(("n_neighbors", value, "must be 'auto', None or an integer") for value in ("x", 0, 1.5)),
    *(("direction", value, "unknown direction .*; use") for value in (None, "x", 3)),
    *(("repulsion", value, "unknown repulsion .*; use 'auto'") for value in (None, "x", 3)),
    *(("callback", value, "must be None or a function") for value in (3, "x")),
]


CASES = [(model, *case) for model in EMBEDDINGS for case in BAD if case[0] in model().get_params()]


@pytest.mark.parametrize(("model", "name", "value", "saying"), CASES)
def test_parameters(model, name, value, saying):
    known = model().get_params()
    options = {"perplexity": 5.0, "max_iter": 3, name: value}
    estimator = model(**{key: value for key, value in options.items() if key in known})
    with pytest.raises(TypeError if name == "callback" else ValueError, match=saying):
        estimator.fit(X)
    assert not hasattr(estimator, "embedding_")


DATA = {
    "NaN": (np.where(X > 1.0, np.nan, X), r"contains NaN, first in row \d+, column \d; fill"),
    "infinity": (np.where(X > 1.0, np.inf, X), "contains infinity, first in row"),
    "no samples": (np.zeros((0, 4)), r"0 sample\(s\) .* minimum of 2 is required"),
    "no features": (np.zeros((5, 0)), r"0 feature\(s\) .* minimum of 1 is required"),
    "one sample": (X[:1], r"1 sample\(s\) .* minimum of 2 is required"),
    "two samples": (X[:2], "n_components=2 must be less than the number of points"),
    "a vector": (X[:, 0], "Expected 2D array, got 1D array"),
    "three dimensions": (np.zeros((3, 3, 3)), "Found array with dim 3"),
    "text": ([["a", "b"]] * 5, "could not convert string to float: 'a'"),
    "nothing": (None, "Expected 2D array"),
    "complex numbers": (X + 1j, "Complex data not supported"),
}


@pytest.mark.parametrize("model", EMBEDDINGS)
@pytest.mark.parametrize("name", DATA)
def test_data(model, name):
    data, saying = DATA[name]
    with pytest.raises(ValueError, match=saying):
        model().fit(data)
