"""Graphs of more than 2³¹ entries: offsets have 64 bits.

Nearly all entries are zeros at column 0, in memory that is never written: reading it needs none.
"""

import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from closeknit.kernels import STUDENT
from closeknit.linalg import check_structure, multiply
from closeknit.objectives import Attraction

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="elsewhere fresh memory may cost its size"
)

MANY = 2**31


def graph(dtype):
    """Three points; the last two have a weight of 5, stored behind the zeros of the first."""
    try:
        indices, data = np.zeros(MANY + 2, np.int64), np.zeros(MANY + 2, dtype)
    except MemoryError:
        pytest.skip("this system promises no more memory than it has")
    indices[MANY:], data[MANY:] = (2, 1), 5.0
    W = csr_matrix((3, 3), dtype=dtype)
    W.indptr = np.array([0, MANY, MANY + 1, MANY + 2])
    W.indices, W.data = indices, data
    return W


def test_products():
    X = np.array([[1.0], [2.0], [3.0]])
    np.testing.assert_array_equal(multiply(graph(np.float64), X, n_jobs=2), [[0.0], [15.0], [10.0]])


def test_attraction():
    X, force = np.array([[0.0, 0.0], [2.0, 0.0], [5.0, 4.0]]), np.empty((3, 2))
    value = Attraction(graph(np.float32), STUDENT, n_jobs=2).value(X, force)
    assert value == pytest.approx(10.0 * np.log(26.0), rel=1e-6)
    gap = np.array([3.0, 4.0])
    np.testing.assert_allclose(force, [[0.0, 0.0], -5 * gap / 26, 5 * gap / 26], rtol=1e-6)


def test_an_index_out_of_range_behind_the_others_is_found():
    W = graph(np.float32)
    W.indices[-1] = 3
    with pytest.raises(ValueError, match="column indices go up to 3"):
        check_structure(W)
    with pytest.raises(ValueError, match="out of range"):
        Attraction(W, STUDENT, n_jobs=1).value(np.zeros((3, 2)))
