"""Odd values for every parameter of every estimator: a sentence, or a fit.

``pytest tests/fuzz/test_parameters.py -s --fuzz-rounds 2000`` tries every value for each parameter.
"""

import inspect
import warnings

import numpy as np
import pytest

import closeknit as ck
from closeknit import affinities, graphs
from closeknit.exceptions import CloseknitError

#: What makes a fit quick, where a parameter is there.
QUICK = {"perplexity": 8.0, "max_iter": 3, "lam": 5.0, "random_state": 0, "n_clusters": 2}
ESTIMATORS = {
    estimator.__name__: estimator
    for estimator in (
        ck.EntropicAffinities,
        affinities.FixedAffinities,
        ck.TSNE,
        ck.SymmetricSNE,
        ck.SNE,
        ck.ElasticEmbedding,
        ck.TElasticEmbedding,
        ck.LaplacianEigenmaps,
        ck.SpectralClustering,
        ck.MeanShift,
        ck.BlurringMeanShift,
        ck.LabelSpreading,
        ck.LabelPropagation,
        graphs.EntropicSparsifier,
        graphs.KNNSparsifier,
        graphs.ViewerSparsifier,
        graphs.ResistanceSparsifier,
    )
}
VALUES = [
    *(None, True, False, -1, 0, 1, 2, 2.5, 1e18, 10**30, -(10**30), 2**31, 2**63, 1e-320),
    *(np.nan, np.inf, -np.inf, 1 + 2j, np.float32(3), np.int8(5), np.array(3)),
    *("x", "", "auto", b"x", [], [1], [None], ["a", "b"], (1, 2), {}, object),
    *(np.zeros(0), np.zeros((2, 2)), lambda *_: 1),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(np.arange(60) % 5 == 0, np.arange(60) % 2, -1)


def attempts(estimator):
    """Each parameter with each value, except those that only say more or may take any time."""
    left_out = ("verbose", "n_projections")
    names = [name for name in inspect.signature(estimator).parameters if name not in left_out]
    return [(name, value) for name in names for value in VALUES]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_odd_values(name, rounds):
    estimator = ESTIMATORS[name]
    known = inspect.signature(estimator).parameters
    quick = {key: value for key, value in QUICK.items() if key in known}
    chosen = attempts(estimator)
    if rounds < 2000:
        picked = np.random.default_rng(len(name)).permutation(len(chosen))[: rounds // 2]
        chosen = [chosen[i] for i in picked]
    before, refused = X.copy(), 0
    for parameter, value in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                estimator(**{**quick, parameter: value}).fit(X, Y)
            except (ValueError, TypeError, CloseknitError):
                refused += 1
            except Exception as error:
                error.add_note(f"{name}({parameter}={value!r})")
                raise
        np.testing.assert_array_equal(X, before)
    print(f"{name}: {len(chosen)} values, {refused} refused")
